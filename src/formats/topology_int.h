/* What the readers of foreign topologies share. */
#ifndef EDGEPS_FORMATS_TOPOLOGY_INT_H
#define EDGEPS_FORMATS_TOPOLOGY_INT_H

#include "formats/topology.h"

/* One reader per format: appends to an empty `graph`. EDGEPS_FORMAT with the place. */
edgeps_err graphml_read(const char *text, size_t length, edgeps_diag *diag, topology *graph);
edgeps_err gml_read(const char *text, size_t length, edgeps_diag *diag, topology *graph);
edgeps_err nodelink_read(const char *text, size_t length, edgeps_diag *diag, topology *graph);
edgeps_err repetita_read(const char *text, size_t length, edgeps_diag *diag, topology *graph);

/* The nodes by name; freed with mem_free. */
typedef uint32_t topology_index;

/* EDGEPS_FORMAT where two nodes have one name. The index holds while no node is added. */
edgeps_err topology_index_make(const topology *graph, edgeps_diag *diag, topology_index **out);

/* The node of this name, or -1. O(log nodes). */
int64_t topology_index_find(const topology *graph, const topology_index *index, const char *name);

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
