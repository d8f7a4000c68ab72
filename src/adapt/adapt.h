/* The continuous stage: after each epoch, the plan in force and the problem as measured give the
 * next plan and an ordered list of moves (docs/algorithms/adjust.md).
 *
 * 1. repair: a server whose need no longer fits, or whose node is gone, must go, whatever it costs;
 * 2. improve: a change is made only when the epoch time it saves over the horizon exceeds the time
 *    to move the state, by the hysteresis factor;
 * 3. order: moves run one after another; each target has room when its turn comes.
 */
#ifndef EDGEPS_ADAPT_ADAPT_H
#define EDGEPS_ADAPT_ADAPT_H

#include "base/api.h"
#include "base/err.h"
#include "cost/cost.h"
#include "plan/plan.h"
#include "problem/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

EDGEPS_API_BEGIN

typedef enum adapt_mode {
    ADAPT_OFF,    /* keep the plan; say what would have been done */
    ADAPT_REPLAN, /* place from scratch */
    ADAPT_ADJUST, /* repair, then paid improvements */
    ADAPT_REPAIR  /* repair only */
} adapt_mode;

typedef enum adapt_role { ADAPT_LOCAL, ADAPT_GLOBAL } adapt_role;

/* One server's state on its way: the target receives `bytes` from `from` before the new generation
 * is committed. from == PLAN_NONE: the owner is gone, the state comes from elsewhere. */
typedef struct adapt_move {
    adapt_role role;
    int32_t from;
    int32_t to;
    int64_t bytes;
    double transfer_s; /* predicted */
    bool releases;     /* later moves need the room: once this one is done, the server (or waiting
                          state) that it came from must go, before the commit */
} adapt_move;

typedef struct adapt_options {
    adapt_mode mode;
    const char *algorithm; /* for ADAPT_REPLAN and a repair from scratch; NULL: the table's first */
    uint64_t seed;
    double horizon_epochs; /* epochs that conditions are expected to hold; 0: 1 */
    double hysteresis;     /* fraction by which the gain must exceed the cost; 0: 0.1 */
    double pause_s;        /* the job stands still so long for a change of plan, moves aside */
    const int64_t *forecast_bytes; /* per node: free storage expected soon; NULL: as it is now */
    double margin;                 /* a server that opens or grows leaves this part of it free */
    double effort; /* of the search for improvements, as a part of the usual one; 0: 1 */
} adapt_options;

/* adapt_result_free releases it. */
typedef struct adapt_result {
    struct plan plan; /* generation = old + 1 when changed, else a copy of the old plan */
    bool changed;
    bool repair;       /* the old plan broke a constraint */
    bool infeasible;   /* it does, and no plan keeps all of them: the old one stays */
    adapt_move *moves; /* in a safe order */
    size_t move_count;
    double old_epoch_s; /* predicted under the measured problem; INFINITY if it cannot run */
    double new_epoch_s;
    double move_s;    /* all transfers, one after another */
    char reason[256]; /* "storage of lyon: its servers need ...", "saves 1.2 s of 9.0 s", ... */
} adapt_result;

/* `p` is the problem as measured now (absent nodes carry no roles), `current` the plan in force.
 * EDGEPS_FORMAT when that is no plan of these nodes; that no plan is feasible is no error: see
 * `infeasible`. A local search: every step tries O(nodes x locals) changes, O(nodes) each, and
 * plays the rounds of a few. Deterministic for a seed. */
edgeps_err adapt_step(const problem *p, const plan *current, const adapt_options *options,
                      edgeps_diag *diag, adapt_result *out);

void adapt_result_free(adapt_result *r);

EDGEPS_API_END

#endif
