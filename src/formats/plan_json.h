/* The plan as JSON of version "plan/1", described in docs/plan-file.md: what `edgeps plan --json`
 * prints and a run keeps, and the roles read back from it. */
#ifndef EDGEPS_FORMATS_PLAN_JSON_H
#define EDGEPS_FORMATS_PLAN_JSON_H

#include "base/api.h"
#include "base/err.h"
#include "job/job.h"
#include "network/network.h"
#include "plan/plan.h"
#include "problem/problem.h"

#include <stddef.h>
#include <stdint.h>

EDGEPS_API_BEGIN

/* What is said of a plan. All pointers are borrowed; NULL and 0 leave a field out. */
typedef struct plan_json_facts {
    const struct network *network;
    const struct plan *plan; /* the first of shard_count */
    size_t shard_count;      /* 0, 1: the model is whole */
    const struct job *job;
    const char *algorithm;
    const char *status;  /* "optimal", "feasible" */
    const char *stopped; /* why the search ended early: "deadline", "cancelled" */
    uint64_t seed;
    size_t max_locals;
    double round_s;
    double epoch_s;
    const char *const *phase_names; /* phase_count of them */
    const double *phase_s;
    size_t phase_count;
    const char *bottleneck;
    double lower_bound_s; /* 0: none is known */
    const char *const *reasons;
    size_t reason_count;
} plan_json_facts;

/* The caller frees `text` with mem_free. */
edgeps_err plan_json_text(const plan_json_facts *facts, char **text);

/* Reads generation, global and parent of a plan for the nodes of this problem. EDGEPS_FORMAT names
 * the place, and refuses a plan in several shards; the constraints of the problem are plan_check's
 * affair. */
edgeps_err plan_json_parse(const char *text, size_t length, const problem *p, edgeps_diag *diag,
                           plan *out);

/* The same from a file; EDGEPS_USAGE when it cannot be read. */
edgeps_err plan_json_load(const char *path, const problem *p, edgeps_diag *diag, plan *out);

/* What a plan file says of the problem that it answers; empty and 0 where it says nothing. */
typedef struct plan_json_origin {
    char model[32];
    char transfer[32];
    int64_t max_locals;
} plan_json_origin;

edgeps_err plan_json_load_origin(const char *path, edgeps_diag *diag, plan_json_origin *out);

EDGEPS_API_END

#endif
