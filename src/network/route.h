/* Routes through a graph of directed links: what a network's pairs see of the links between.
 *
 * Among all routes from one node to another the best is taken, and its latency and its narrowest
 * link are told. ROUTE_LATENCY takes the lowest latency, then the fewest hops, then the widest;
 * ROUTE_HOPS the fewest hops, then the lowest latency, then the widest. Latencies are compared in
 * whole nanoseconds, so that sums are exact and equal routes are found equal on every machine.
 * Source: Dijkstra, Numerische Mathematik 1 (1959), on lexicographic labels; components after
 * Tarjan, SIAM J. Comput. 1 (1972).
 */
#ifndef EDGEPS_NETWORK_ROUTE_H
#define EDGEPS_NETWORK_ROUTE_H

#include "base/api.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

EDGEPS_API_BEGIN

typedef enum route_metric { ROUTE_LATENCY, ROUTE_HOPS } route_metric;

#define ROUTE_MAX_LATENCY_S 86400.0

typedef struct route_link {
    uint32_t from;
    uint32_t to;
    double latency_s; /* 0 to ROUTE_MAX_LATENCY_S */
    double bytes_per_s;
} route_link;

typedef struct route_graph route_graph;

/* A graph of `node_count` nodes (up to UINT32_MAX - 1); the links are copied. EDGEPS_NOMEM. The
 * caller frees with route_free. */
edgeps_err route_make(size_t node_count, const route_link *links, size_t link_count,
                      route_metric metric, route_graph **out);

void route_free(route_graph *graph);

/* From `source` to every node: the latency and the rate of the narrowest link of its best route
 * into the two arrays of node_count. Without a route INFINITY and 0; to itself 0 and INFINITY.
 * O(links log nodes). */
void route_from(route_graph *graph, size_t source, double *latency_s, double *bytes_per_s);

/* Numbers the strongly connected components: component[v] for every node, below `*count`. Two nodes
 * have the same number where each has a route to the other. EDGEPS_NOMEM. O(nodes + links). */
edgeps_err route_components(const route_graph *graph, uint32_t *component, size_t *count);

EDGEPS_API_END

#endif
