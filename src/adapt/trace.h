/* A trace: a network whose storage, rates and speeds differ from epoch to epoch, and what policies
 * of re-placement make of it, in predicted time.
 *
 * All policies start with the same plan in force and are judged alike. An epoch takes the moves
 * to its plan, one after another, a pause if the plan changed, and its rounds. A plan may be
 * changed for one that can run, and whose servers fit beside those in force unless these cannot run
 * any more. An epoch whose plan cannot run is lost: the time goes by and it has to be made up for,
 * so it takes twice what a plan from scratch would have taken.
 */
#ifndef EDGEPS_ADAPT_TRACE_H
#define EDGEPS_ADAPT_TRACE_H

#include "base/api.h"
#include "base/err.h"
#include "plan/plan.h"
#include "problem/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

EDGEPS_API_BEGIN

typedef struct adapt_trace adapt_trace;

typedef struct adapt_trace_options {
    const char *algorithm; /* for plans from scratch; NULL: the table's first */
    uint64_t seed;
    double hysteresis; /* as in adapt_options */
    double pause_s;
    /* Called before each decision; epochs count from 1. false: stop. NULL: none. */
    bool (*progress)(void *context, const char *policy, size_t epoch);
    void *context;
} adapt_trace_options;

/* What the plans of a trace come to. */
typedef struct adapt_account {
    double
        total_s; /* the sum of the next three; INFINITY if a plan was changed against the rules */
    double train_s;
    double move_s; /* with pauses */
    double lost_s;
    size_t changes;      /* epochs with another plan than the one before */
    size_t moves;        /* servers' states that travelled */
    int64_t moved_bytes; /* by them */
    size_t lost_epochs;
} adapt_account;

/* Decides the plan of each epoch: `plans` holds one for each, all equal to the plan in force at
 * first, and takes the decisions. Only `offline` looks at later epochs than the one it decides. */
typedef edgeps_err adapt_policy_function(adapt_trace *t, edgeps_diag *diag, plan *plans);

typedef struct adapt_policy {
    const char *name;
    const char *summary;
    adapt_policy_function *decide;
} adapt_policy;

extern const adapt_policy adapt_policies[];
extern const size_t adapt_policy_count;

/* `epochs` are `count` >= 1 problems of the same nodes, each as measured when its epoch begins;
 * they and what the options point to are borrowed. Places every epoch from scratch; the first
 * epoch's plan is the one in force. EDGEPS_INFEASIBLE when there is none. adapt_trace_free releases
 * it. */
edgeps_err adapt_trace_make(const problem *const *epochs, size_t count,
                            const adapt_trace_options *options, edgeps_diag *diag,
                            adapt_trace **out);
void adapt_trace_free(adapt_trace *t);

/* The plans of a policy, one for each epoch, decided at the first call; `policy` is an index of
 * adapt_policies. They belong to the trace. EDGEPS_CANCELLED when `progress` said stop. */
edgeps_err adapt_trace_plans(adapt_trace *t, size_t policy, edgeps_diag *diag, const plan **plans);

/* Judges one plan for each epoch. O(epochs) rounds are played. */
edgeps_err adapt_trace_judge(const adapt_trace *t, const plan *plans, adapt_account *out);

/* True when `offline` looked at all plans there are, so that nothing is better. */
bool adapt_trace_offline_is_exact(const adapt_trace *t);

EDGEPS_API_END

#endif
