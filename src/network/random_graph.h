/* Random graphs over points in a plane: the models that network generators draw from.
 *
 * Graphs are undirected, without loops and parallel edges. The same generator state gives the same
 * graph with every compiler. A graph owns its edges; random_graph_free releases them.
 */
#ifndef EDGEPS_NETWORK_RANDOM_GRAPH_H
#define EDGEPS_NETWORK_RANDOM_GRAPH_H

#include "base/err.h"
#include "base/rng.h"

#include <stddef.h>
#include <stdint.h>

#define RANDOM_PLANE_KM 2000 /* side of the square in which points lie */
#define RANDOM_MAX_EDGES 10000000

typedef struct random_point {
    int32_t x_km;
    int32_t y_km;
} random_point;

typedef struct random_edge {
    uint32_t a;
    uint32_t b;
} random_edge;

/* A zeroed one has no edges. */
typedef struct random_graph {
    random_edge *edges;
    size_t edge_count;
} random_graph;

/* Uniform in the square. */
random_point random_point_draw(rng *r);

double random_distance_km(random_point a, random_point b);

/* Joins each pair with probability beta exp(-d / (alpha L)), where d is its distance and L the
 * square's diagonal: alpha, above 0, makes long edges likelier, beta, 0 to 1, all edges.
 * EDGEPS_FORMAT: more than RANDOM_MAX_EDGES. O(count^2).
 * Source: Waxman, IEEE J. Sel. Areas Commun. 6 (1988). */
edgeps_err random_waxman(const random_point *points, size_t count, double alpha, double beta,
                         rng *r, random_graph *out);

/* Begins with `links` + 1 nodes that are all joined; every further node is joined to `links`
 * others, each chosen with a probability in proportion to its degree. `links` is at least 1.
 * EDGEPS_FORMAT: more than RANDOM_MAX_EDGES. O(count links).
 * Source: Barabasi and Albert, Science 286 (1999), drawn as by Batagelj and Brandes, Phys. Rev. E
 * 71 (2005): an end of a uniform edge is a node by its degree. */
edgeps_err random_barabasi_albert(size_t count, size_t links, rng *r, random_graph *out);

/* Joins what is not connected to the first node, always by the shortest edge that there is.
 * EDGEPS_FORMAT as above. O(count^2). */
edgeps_err random_connect(const random_point *points, size_t count, random_graph *graph);

void random_graph_free(random_graph *graph);

#endif
