/* p-center instances with all distances in memory: OR-Library's pmed files, points of TSPLIB, or
 * drawn. */
#ifndef EDGEPS_COVER_POINTS_H
#define EDGEPS_COVER_POINTS_H

#include "cover/pcenter.h"

#define POINTS_MOST 10000

typedef struct points {
    size_t count;
    size_t centers;
    double *distance; /* [center * count + point] */
} points;

/* pmedN.txt (Beasley 1985: number of points, of edges, and p, then an edge a line of which the last
 * of a pair counts; distances are shortest paths; p is the file's unless `centers` is given), or
 * NAME.tsp (TSPLIB: Euclidean distances rounded to whole numbers; `centers` >= 1). EDGEPS_USAGE
 * when there is no such file, EDGEPS_FORMAT names what is wrong in it. points_free releases it. */
edgeps_err points_load(const char *path, size_t centers, edgeps_diag *diag, points *out);

/* Shortest paths in a random graph of about four edges a point; with one-way streets they are
 * asymmetric. A metric in any case. O(count^3). */
edgeps_err points_draw(uint64_t seed, size_t count, size_t centers, bool one_way, points *out);

/* All distances between different points are INFINITY. */
edgeps_err points_blank(size_t count, size_t centers, points *out);

/* Makes the points Euclidean, rounded as TSPLIB says. */
void points_place(points *p, const double (*at)[2]);

void points_free(points *p);

/* Lends from `p`. */
pcenter_instance points_instance(const points *p);

#endif
