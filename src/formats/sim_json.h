/* What the simulator found, for machines: docs/simulation.md, and in docs/schema
 * simulation-1.schema.json for a training, fault-search-1.schema.json for a search. */
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

typedef struct sim_json_search {
    uint64_t seed; /* of the first run */
    size_t most_nodes;
    size_t most_faults;
    size_t runs;   /* that were made */
    size_t faults; /* in them */
    uint64_t found_seed;
    const char *broken; /* the invariant; NULL: none broke */
    const char *script; /* the smallest that breaks it */
} sim_json_search;

/* The texts end without newline and are freed with mem_free. EDGEPS_NOMEM. */
edgeps_err sim_json_text(const sim_json_facts *facts, char **text);
edgeps_err sim_json_search_text(const sim_json_search *search, char **text);

#endif
