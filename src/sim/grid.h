/* The second network: one round of a plan in SimGrid 3.32, beside the fluid of the cost room. What
 * is asked of it is the cost model (docs/model.md) again, played by actors of SimGrid over its own
 * max-min solver: model CM02 without TCP's window, factors and cross traffic.
 *
 * Source: Casanova, Giersch, Legrand, Quinson, Suter, J. Parallel Distrib. Comput. 74 (2014).
 */
#ifndef EDGEPS_SIM_GRID_H
#define EDGEPS_SIM_GRID_H

#include "base/err.h"
#include "plan/plan.h"
#include "problem/problem.h"

#include <stdbool.h>

/* Whether this program was built with SimGrid. */
bool grid_is_there(void);

/* A training_network: as cost_round_s, INFINITY where a path that the plan uses has rate 0. Runs in
 * a process of its own, as SimGrid has one simulation in a process. EDGEPS_UNSUPPORTED without
 * SimGrid, EDGEPS_IO when that process cannot be started, EDGEPS_INTERNAL when it breaks off. */
edgeps_err grid_round_s(const problem *p, const plan *pl, double *round_s);

#endif
