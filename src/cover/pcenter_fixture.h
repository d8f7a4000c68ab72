/* p-center instances for tests, and an oracle. */
#ifndef EDGEPS_COVER_PCENTER_FIXTURE_H
#define EDGEPS_COVER_PCENTER_FIXTURE_H

#include "cover/points.h"

#define POINTS_TINY ((size_t)3)

/* The instances that come with the product: a street, a one-way ring, two villages. */
points points_tiny(size_t k);

/* points_draw, which must not fail. */
points points_random(uint64_t seed, size_t count, size_t centers, bool one_way);

/* The radius of these centers. */
double points_radius(const points *p, const uint32_t *center, size_t count);

/* The least radius by trying every set of p centers. For 20 points at most. */
double points_best_radius(const points *p);

#endif
