/* Foreign topologies: graphs as other tools write them, read as they stand and then made networks.
 *
 * A topology holds what the file says and marks what it does not say with NAN; nothing is guessed
 * while reading. network_from_topology fills the gaps from the options, finds routes, and reports
 * every gap that it filled and every node and link that it left out. docs/topologies.md tells what
 * is read from each format.
 */
#ifndef EDGEPS_FORMATS_TOPOLOGY_H
#define EDGEPS_FORMATS_TOPOLOGY_H

#include "base/api.h"
#include "base/err.h"
#include "network/network.h"
#include "network/route.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

EDGEPS_API_BEGIN

#define TOPOLOGY_MAX_NODES NETWORK_MAX_NODES
#define TOPOLOGY_MAX_EDGES 10000000

/* Signal speed in fibre: two thirds of that of light in vacuum. */
#define TOPOLOGY_SIGNAL_M_PER_S 2e8

typedef enum topology_format {
    TOPOLOGY_AUTO, /* told by the first bytes */
    TOPOLOGY_GRAPHML,
    TOPOLOGY_GML,
    TOPOLOGY_NODELINK,
    TOPOLOGY_REPETITA,
} topology_format;

/* Lines for a person; a zeroed one is empty. */
typedef struct topology_report {
    char **lines;
    size_t count;
    size_t room;
} topology_report;

typedef struct topology_node {
    char *name;          /* its id in the file; unique */
    char *label;         /* NULL where none is given */
    bool external;       /* stands for another network */
    bool junction;       /* links meet here, but nothing can run here */
    double latitude_deg; /* NAN where not given, like all that follow */
    double longitude_deg;
    double up_bytes_per_s; /* of a host at this place */
    double down_bytes_per_s;
} topology_node;

/* One direction of a link. Parallel edges and loops stand as in the file. */
typedef struct topology_edge {
    uint32_t from;
    uint32_t to;
    double bytes_per_s; /* INFINITY: only its ends limit it; NAN: not given */
    double latency_s;   /* one way; NAN: not given */
} topology_edge;

typedef struct topology {
    char *name; /* NULL where none is given */
    size_t node_count;
    size_t node_room;
    topology_node *nodes;
    size_t edge_count;
    size_t edge_room;
    topology_edge *edges;
    size_t lossy_count; /* links with packet loss or jitter, which a network does not hold */
} topology;

/* A zeroed struct holds all defaults. */
typedef struct topology_options {
    double link_bytes_per_s; /* of links without a speed; 0: such links are refused */
    double link_latency_s;   /* of links without a latency: 0 */
    /* Length of cable per great-circle distance, such as 1.5: links without a latency between nodes
     * with coordinates take the time of a signal; 0: coordinates are not used. */
    double cable_factor;
    double host_bytes_per_s;      /* up and down of nodes without; 0: what their links sum up to */
    double compute_samples_per_s; /* of every node; 0: TOPOLOGY_COMPUTE_SAMPLES_PER_S */
    int64_t free_bytes;           /* of every node; 0: TOPOLOGY_FREE_BYTES */
    size_t nodes_per_site;        /* 0: one */
    route_metric metric;
    bool keep_external; /* false: nodes of other networks are left out, with their links */
    /* What is outside of the largest set of nodes that all reach each other. Neither: refused as
     * EDGEPS_INFEASIBLE. Kept, it has pairs with a cap of 0. */
    bool drop_disconnected;
    bool keep_disconnected;
} topology_options;

#define TOPOLOGY_COMPUTE_SAMPLES_PER_S 1000.0
#define TOPOLOGY_FREE_BYTES (INT64_C(1) << 30)

/* The format of this name ("graphml", "gml", "node-link", "repetita", "auto"); false: there is
 * none. */
bool topology_format_named(const char *name, topology_format *out);

/* Reads a graph; `source` names the text in messages. A broken text, an id used twice, an edge to a
 * node that is not there, an amount without unit, more nodes or edges than a topology holds:
 * EDGEPS_FORMAT with the place and the remedy. */
edgeps_err topology_parse(const char *text, size_t length, topology_format format,
                          const char *source, edgeps_diag *diag, topology **out);

/* The same from a file; EDGEPS_USAGE when it cannot be read. */
edgeps_err topology_read(const char *path, topology_format format, edgeps_diag *diag,
                         topology **out);

/* A topology without nodes, to be filled by the two functions below; NULL: no memory. */
topology *topology_make(void);

void topology_free(topology *graph);

/* Appends a node of this name, with nothing given; `*out` is valid until the next one. The caller
 * sees to it that names are unique. */
edgeps_err topology_add_node(topology *graph, const char *name, edgeps_diag *diag,
                             topology_node **out);

edgeps_err topology_add_edge(topology *graph, topology_edge edge, edgeps_diag *diag);

/* The network that the hosts of a topology see: every node that is no junction becomes a site with
 * `nodes_per_site` nodes, named after its label where no other has the same, else with its id.
 * Parallel edges are one link with the sum of their rates. The best route between two sites gives
 * their latency and, by its narrowest link, their cap; a loop gives those between nodes of one
 * site. EDGEPS_FORMAT: links without a speed and no default, or a node whose rates nothing tells;
 * EDGEPS_INFEASIBLE: disconnected nodes that the options neither drop nor keep. The
 * caller frees the report with topology_report_free. */
edgeps_err network_from_topology(const topology *graph, const topology_options *options,
                                 edgeps_diag *diag, network **out, topology_report *report);

/* Appends a line. EDGEPS_NOMEM. */
edgeps_err topology_report_add(topology_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void topology_report_free(topology_report *report);

EDGEPS_API_END

#endif
