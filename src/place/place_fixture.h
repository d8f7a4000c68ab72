/* Random problems for the tests of this room, and an oracle that knows nothing of its bounds. */
#ifndef EDGEPS_PLACE_PLACE_FIXTURE_H
#define EDGEPS_PLACE_PLACE_FIXTURE_H

#include "base/rng.h"
#include "place/place.h"

typedef struct fixture_kind {
    size_t count;
    size_t max_locals;
    size_t chunks; /* 1: store-and-forward */
    bool uniform;  /* equal links and speeds; else drawn from a wide range */
    bool tight;    /* storage for few children, or for none */
    bool gaps;     /* some nodes do not train or serve, some pairs have no path */
    bool shorter;  /* the last of several chunks */
} fixture_kind;

/* Everything that the seed decides; fixture_free releases it. */
problem *fixture_problem(uint64_t seed, fixture_kind kind);

/* A mix of all kinds, `count` nodes. */
fixture_kind fixture_any_kind(uint64_t seed, size_t count);

problem *fixture_copy(const problem *p);
void fixture_free(problem *p);

/* The best round time of all plans that plan_check accepts, each played by the evaluator, without
 * any pruning; INFINITY when there is none. For 5 nodes at most. */
double fixture_best_of_all_s(const problem *p);

/* place_run with nothing but a seed; must not fail. */
place_result fixture_run(const char *algorithm, const problem *p, uint64_t seed);

/* Equal but for rounding: to 1e-9 of the larger. */
bool fixture_near(double a, double b);

#endif
