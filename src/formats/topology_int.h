/* What the readers of foreign topologies share. */
#ifndef EDGEPS_FORMATS_TOPOLOGY_INT_H
#define EDGEPS_FORMATS_TOPOLOGY_INT_H

#include "formats/topology.h"

#include <jansson.h>

/* One reader per format: appends to an empty `graph`. EDGEPS_FORMAT with the place. */
edgeps_err graphml_read(const char *text, size_t length, edgeps_diag *diag, topology *graph);
edgeps_err gml_read(const char *text, size_t length, edgeps_diag *diag, topology *graph);
edgeps_err nodelink_read(const char *text, size_t length, edgeps_diag *diag, topology *graph);
edgeps_err repetita_read(const char *text, size_t length, edgeps_diag *diag, topology *graph);

/* The nodes by name, to be let go with json_decref. EDGEPS_FORMAT where two nodes have one name. */
edgeps_err topology_index(const topology *graph, edgeps_diag *diag, json_t **out);

/* The node of this name, or -1. */
int64_t topology_index_find(const json_t *index, const char *name);

/* What a file says of an edge, as its attributes come. */
typedef struct topology_link {
    int64_t from; /* node; -1: not given */
    int64_t to;
    bool directed;
    bool lossy;                   /* has a packet_loss or a jitter above 0 */
    double raw_bytes_per_s;       /* LinkSpeedRaw; NAN where not given, like all that follow */
    double speed;                 /* LinkSpeed ... */
    double speed_unit;            /* ... times LinkSpeedUnits, in bytes/s */
    double bandwidth_bytes_per_s; /* bandwidth */
    double label_bytes_per_s;     /* LinkLabel, label */
    double latency_s;
} topology_link;

topology_link topology_link_start(bool directed);

/* Whose attributes come: the node's, else the link's, else the graph's. */
typedef struct topology_owner {
    topology *graph;
    topology_node *node;
    topology_link *link;
} topology_owner;

/* Takes one attribute from its text; a key that says nothing of interest is passed over. The keys
 * are those of docs/topologies.md, the same in GraphML, GML and node-link JSON. EDGEPS_FORMAT with
 * the key: an amount that is none, or has no unit where one is wanted. */
edgeps_err topology_take(const topology_owner *owner, const char *key, const char *value,
                         edgeps_diag *diag);

/* Appends the link's one or two edges. EDGEPS_FORMAT where an end is not given. */
edgeps_err topology_add_link(topology *graph, const topology_link *link, edgeps_diag *diag);

/* A rate in free text, such as "Peering, 2.5 Gbps", "10GE" or "OC-48c"; NAN where there is none, or
 * more than one, or only a bound or a range. */
double topology_label_rate(const char *text);

/* A network in the making. */
typedef struct topology_draft {
    const topology *graph;
    const topology_options *options;
    topology_report report;
    bool *kept;           /* per node */
    topology_edge *edges; /* between kept nodes, gaps filled, by ends; parallel ones are one */
    size_t edge_count;
    double *out_bytes_per_s; /* per node: the sums of its links */
    double *in_bytes_per_s;
    uint32_t *sites; /* nodes of the topology that are sites of the network */
    size_t site_count;
    char **names; /* per site */
} topology_draft;

edgeps_err topology_no_memory(edgeps_diag *diag);

/* The label of a node where it has one. */
const char *topology_shown(const topology *graph, uint32_t v);

/* From the topology and the options: kept, edges, and the sums per node. */
edgeps_err topology_fill(topology_draft *draft, edgeps_diag *diag);

#endif
