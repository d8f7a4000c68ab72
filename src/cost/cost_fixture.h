/* Problems and plans for the tests of this room, made by hand or at random. */
#ifndef EDGEPS_COST_COST_FIXTURE_H
#define EDGEPS_COST_COST_FIXTURE_H

#include "base/rng.h"
#include "cost/cost.h"

/* `count` nodes that train and serve, all rates infinite, no latency, no compute; one chunk of
 * `wire_bytes`. fixture_free releases it. */
problem *fixture_problem(size_t count, int64_t wire_bytes);

/* Cuts the gradient into `chunks` equal chunks of `wire_bytes` each. */
void fixture_chunks(problem *p, int64_t chunks, int64_t wire_bytes);

/* Rates of node `i` in Mbit/s. */
void fixture_links(problem *p, size_t i, double up_mbit, double down_mbit);

/* A plan with the given parents (PLAN_NONE: no worker; the node's train flag follows). */
plan fixture_plan(problem *p, int32_t global, const int32_t *parents);

/* Heterogeneous rates, latencies, some pair caps, compute and summing times, 1..6 chunks. */
problem *fixture_random_problem(rng *r, size_t count);

/* Random roles; every node of the problem that trains gets a parent. */
plan fixture_random_plan(rng *r, const problem *p);

void fixture_free(problem *p, plan *pl);

#endif
