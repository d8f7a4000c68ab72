/* Placement: problem in, plan out. One table of algorithms, one signature, one judge (cost).
 *
 * Every algorithm is deterministic for a seed, honours the deadline, asks `progress` now and then
 * whether to go on, and never returns a plan that plan_check refuses. Nothing is shared between
 * runs: any number of threads may place at the same time, also the same problem.
 */
#ifndef EDGEPS_PLACE_PLACE_H
#define EDGEPS_PLACE_PLACE_H

#include "base/api.h"
#include "base/err.h"
#include "cost/cost.h"
#include "plan/plan.h"
#include "problem/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

EDGEPS_API_BEGIN

/* How far a run has come. */
typedef struct place_progress {
    const char *phase;    /* "search", "polish", "bound" */
    double done_fraction; /* of the phase, about */
    double best_s;        /* round time of the best plan so far; INFINITY: none yet */
    double bound_s;       /* proved so far for every plan of the problem; 0: none yet */
} place_progress;

typedef struct place_options {
    uint64_t seed;
    double deadline_s; /* 0: none */
    double gap;        /* `exact` is done when (time - bound) / time is not larger; 0: to the end */
    bool no_polish;    /* leave the local search out */
    /* Called now and then by the thread that runs the algorithm; false: stop with the best plan so
     * far. NULL: none. */
    bool (*progress)(void *context, const place_progress *now);
    void *context;
} place_options;

typedef enum place_stop {
    PLACE_STOPPED_NOT,       /* the algorithm was done */
    PLACE_STOPPED_DEADLINE,  /* it stopped at the deadline ... */
    PLACE_STOPPED_CANCELLED, /* ... or because `progress` said so */
} place_stop;

typedef enum place_status {
    PLACE_OPTIMAL,   /* proved: nothing is better than the plan */
    PLACE_FEASIBLE,  /* a plan that keeps all constraints */
    PLACE_INFEASIBLE /* proved or found that none does; `reason` names the constraint */
} place_status;

/* place_result_free releases the plan. */
typedef struct place_result {
    place_status status;
    struct plan plan;
    cost_result cost;
    double lower_bound_s;  /* proved for every plan of the problem; 0 where none is known */
    size_t globals_solved; /* candidate global servers searched ... */
    size_t globals_pruned; /* ... and excluded by their bound or for lack of storage */
    bool threshold_solved; /* by `exact`: to the optimum, its problem without contention in time */
    place_stop stopped;    /* why the search ended before it was done */
    char reason[256];      /* why this global server; or which constraint binds */
} place_result;

typedef edgeps_err place_function(const problem *p, const place_options *options, edgeps_diag *diag,
                                  place_result *out);

typedef struct place_algorithm {
    const char *name;
    const char *summary;
    place_function *run;
} place_algorithm;

extern const place_algorithm place_algorithms[];
extern const size_t place_algorithm_count;

/* Runs the algorithm called `name`, or the command of "exec:COMMAND" (docs/problem-file.md), then
 * (unless no_polish) the local search, and fills in cost and bound. Unknown names: EDGEPS_USAGE
 * with the names there are. No feasible plan is not an error of the call: see status. Generation of
 * the plan: 1. */
edgeps_err place_run(const char *name, const problem *p, const place_options *options,
                     edgeps_diag *diag, place_result *out);

/* Any feasible plan, whatever its time, or which constraint leaves none: fills in status, plan and
 * reason. Where the search gave up, which happens in large problems with hardly any room, the
 * reason says that it "found no" plan. EDGEPS_NOMEM. */
edgeps_err place_any(const problem *p, place_result *out);

/* "deadline", "cancelled"; NULL for PLACE_STOPPED_NOT. */
const char *place_stop_name(place_stop stopped);

void place_result_free(place_result *r);

EDGEPS_API_END

#endif
