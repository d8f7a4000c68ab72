/* Networks that were measured or written down pair by pair, with gaps: what nobody has told is NAN
 * (free_bytes: -1), until gaps_fill puts something there and says so. */
#ifndef EDGEPS_FORMATS_GAPS_INT_H
#define EDGEPS_FORMATS_GAPS_INT_H

#include "formats/topology.h"
#include "network/network.h"

/* A network of nameless nodes of which nothing is known; with `pairs` each is a site of its own. */
edgeps_err gaps_make(size_t count, bool pairs, edgeps_diag *diag, network **out);

/* The nodes of the folder's nodes.csv, or NULL where there is none; as gaps_make with pairs. */
edgeps_err gaps_read_nodes(const char *folder, edgeps_diag *diag, network **out);

/* Fills every gap, checks the network, and adds a line per kind of gap and per node or direction to
 * the report. Up and down: the best of the node's pairs, else options.host_bytes_per_s. Latency:
 * the sum of both nodes' own, which are 0 unless told, else options.link_latency_s. Caps: none.
 * Speed and storage: as in topology_options. EDGEPS_FORMAT: a node whose rate nothing tells. */
edgeps_err gaps_fill(network *net, const topology_options *options, edgeps_diag *diag,
                     topology_report *report);

#endif
