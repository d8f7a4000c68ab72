/* Problems and plans for the tests of this room. */
#ifndef EDGEPS_ADAPT_ADAPT_FIXTURE_H
#define EDGEPS_ADAPT_ADAPT_FIXTURE_H

#include "adapt/adapt.h"
#include "base/rng.h"

/* `count` nodes n0, n1, ... that train and serve, links of 1 MB/s, 100 samples/s, storage without
 * limit, training "mlp" in chunks; 10 rounds an epoch. */
problem *fixture_problem(size_t count);

/* Different links and latencies; storage for 0, some or all servers; some nodes do not serve or
 * train. */
problem *fixture_random_problem(rng *r, size_t count);

plan fixture_plan(int32_t global, size_t count, const int32_t *parents);
plan fixture_random_plan(rng *r, const problem *p);

/* Takes a node away, as when its process has died. */
void fixture_kill(problem *p, size_t node);

/* adapt_step with `greedy` for plans from scratch; must not fail. */
adapt_result fixture_step(const problem *p, const plan *current, adapt_options options);

void fixture_free(problem *p, plan *pl);

#endif
