/* A plan under change, for local search: re-attach workers, move the global server, read the bound
 * of the round time, take the changes back. Only what a change touches is computed anew: a move
 * costs O(workers of the servers it touches + local servers), not O(nodes).
 *
 * The bound is that of cost_bound_s, up to rounding.
 */
#ifndef EDGEPS_COST_SEARCH_H
#define EDGEPS_COST_SEARCH_H

#include "base/err.h"
#include "plan/plan.h"
#include "problem/problem.h"

#include <stddef.h>
#include <stdint.h>

typedef struct cost_search cost_search;

/* cost_round_s that adds to *work_us about what it took, in microseconds, by counts that do not
 * depend on the machine: for searches whose runs repeat exactly. */
edgeps_err cost_round_counted_s(const problem *p, const plan *pl, double *round_s, double *work_us);

/* Starts from a plan that plan_check accepts; the problem is borrowed. cost_search_free releases
 * it. */
edgeps_err cost_search_make(const problem *p, const plan *pl, cost_search **out);
void cost_search_free(cost_search *s);

/* The plan as it stands; valid until the next change. */
const plan *cost_search_plan(const cost_search *s);

/* Starts anew from another plan of the same problem. O(nodes). */
void cost_search_set(cost_search *s, const plan *pl);

/* Workers of a node's local server, and the list of nodes with any, in no particular order. */
int32_t cost_search_children(const cost_search *s, size_t node);
const uint32_t *cost_search_locals(const cost_search *s, size_t *count);

/* The first worker of a local server and the one after `worker` of the same server; PLAN_NONE at
 * the end. Valid until the next change. */
int32_t cost_search_first(const cost_search *s, size_t server);
int32_t cost_search_next(const cost_search *s, size_t worker);

/* Changes; the worker must train, the nodes may serve. EDGEPS_NOMEM, and nothing changed, is the
 * only failure. */
edgeps_err cost_search_attach(cost_search *s, size_t worker, size_t server);
edgeps_err cost_search_move_global(cost_search *s, size_t node);

/* A lower bound of the round time of the plan as it stands; INFINITY where a path has rate 0. */
double cost_search_bound_s(cost_search *s);

/* How close to the bound the local servers are, by the last cost_search_bound_s: the sum of (time
 * of the server's own chain and links / bound) to the 16th power. Where several servers make the
 * bound, it tells whether a change made them fewer. */
double cost_search_strain(const cost_search *s);

/* Makes the changes so far final, or takes back those since the last cost_search_keep. */
void cost_search_keep(cost_search *s);
void cost_search_undo(cost_search *s);

/* Where a local search should look: the local server whose workers or links make the bound, and the
 * one whose sum comes last to the global server. PLAN_NONE: the global server's own links do. */
void cost_search_critical(cost_search *s, int32_t servers[2]);

#endif
