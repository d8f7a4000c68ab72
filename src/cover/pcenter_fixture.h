/* p-center instances for tests and measurements: drawn, small by hand, and read from OR-Library's
 * pmed files or TSPLIB. */
#ifndef EDGEPS_COVER_PCENTER_FIXTURE_H
#define EDGEPS_COVER_PCENTER_FIXTURE_H

#include "cover/pcenter.h"

typedef struct points {
    size_t count;
    size_t centers;
    double *distance; /* [center * count + point] */
} points;

#define POINTS_TINY ((size_t)3)

/* The instances that come with the product: a street, a one-way ring, two villages. */
points points_tiny(size_t k);

/* Shortest paths in a random graph; one-way streets make them asymmetric. A metric in any case. */
points points_random(uint64_t seed, size_t count, size_t centers, bool one_way);

/* pmedN.txt (shortest paths over edges; p is the file's unless `centers` is given) or NAME.tsp
 * (Euclidean, rounded as TSPLIB says). False when there is no such file. */
bool points_load(const char *path, size_t centers, points *out);

void points_free(points *p);

pcenter_instance points_instance(const points *p);

/* The radius of these centers. */
double points_radius(const points *p, const uint32_t *center, size_t count);

/* The least radius by trying every set of p centers. For 20 points at most. */
double points_best_radius(const points *p);

#endif
