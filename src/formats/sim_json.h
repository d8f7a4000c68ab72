/* A simulated training for machines: docs/simulation.md, docs/schema/simulation-1.schema.json. */
#ifndef EDGEPS_FORMATS_SIM_JSON_H
#define EDGEPS_FORMATS_SIM_JSON_H

#include "base/err.h"
#include "job/job.h"

#include <stddef.h>
#include <stdint.h>

/* Times are virtual seconds. */
typedef struct sim_json_epoch {
    int64_t epoch;
    double begin_s;
    double train_s;
    double move_s;
    double wait_s;
    double lost_s;
    uint64_t generation;
    const char *global;
    size_t locals;
    size_t workers;
    size_t moves;
    int64_t moved_bytes;
    size_t losses;
    char reason[256];
} sim_json_epoch;

typedef struct sim_json_facts {
    const char *network; /* NULL: it has no name */
    const job *job;
    const char *algorithm;
    const char *policy;
    const char *model; /* of the network */
    uint64_t seed;
    size_t max_locals;
    int64_t rounds;
    double total_s;
    const sim_json_epoch *epochs;
    size_t epoch_count;
} sim_json_facts;

/* The text ends without newline and is freed with mem_free. EDGEPS_NOMEM. */
edgeps_err sim_json_text(const sim_json_facts *facts, char **text);

#endif
