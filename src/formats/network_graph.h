/* A network as a directed graph of its nodes, for other programs: an edge is a pair with a path. */
#ifndef EDGEPS_FORMATS_NETWORK_GRAPH_H
#define EDGEPS_FORMATS_NETWORK_GRAPH_H

#include "network/network.h"

#include <stdio.h>

/* Node-link JSON, as NetworkX and `edgeps topo import` read it: host_bandwidth_up and _down of
 * nodes, latency and bandwidth of edges; the other keys are those of a network file. */
void network_node_link_write(const network *net, FILE *file);

#endif
