/* What the round of a plan would gain if one link or one node were faster, everything else and the
 * plan being as they are. Every gain is exact: the round is played again with the change. Links
 * that hold down no flow, and computations nobody waits for, are known to gain nothing without
 * that.
 */
#ifndef EDGEPS_COST_SENSITIVITY_H
#define EDGEPS_COST_SENSITIVITY_H

#include "base/api.h"
#include "base/err.h"
#include "cost/cost.h"
#include "plan/plan.h"
#include "problem/problem.h"

#include <stdbool.h>
#include <stddef.h>

EDGEPS_API_BEGIN

/* How much better one resource becomes. */
typedef struct cost_step {
    double rate_bytes_per_s; /* more on an up or a down link; 0: links are left out */
    double speed_factor;     /* times faster gradient work and additions; 1: these are left out */
} cost_step;

typedef struct cost_gain {
    cost_resource resource; /* COST_UP, COST_DOWN, COST_WORK, COST_SUMMING */
    int32_t node;
    double gain_s; /* of the round; below 0 where the change makes it longer: a flow that is let go
                      can hold up another one that matters more */
} cost_gain;

/* cost_sensitivity_free releases it. */
typedef struct cost_sensitivity {
    double round_s;   /* as it is */
    cost_gain *gains; /* of the changes that were played; the largest first */
    size_t count;
    size_t idle; /* changes that are proved to gain exactly nothing */
    size_t left; /* changes that were not played when `go_on` said stop; servers come first */
} cost_sensitivity;

/* Asked now and then by the calling thread; false: stop. NULL: never stop. */
typedef bool cost_go_on(void *context, double done_fraction);

/* Of a plan that plan_check accepts. Plays the round up to 3 x nodes times, on all processors; the
 * answer does not depend on their number. EDGEPS_NOMEM is the only failure. */
edgeps_err cost_find_gains(const problem *p, const plan *pl, const cost_step *step,
                           cost_go_on *go_on, void *context, cost_sensitivity *out);
void cost_sensitivity_free(cost_sensitivity *s);

/* Makes the one resource of the node better. */
void cost_improve(problem_node *node, cost_resource resource, const cost_step *step);

EDGEPS_API_END

#endif
