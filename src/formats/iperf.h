/* A network from measurements: a folder of what `iperf3 --json` prints at the client, a file per
 * result. docs/topologies.md tells how hosts are named and what is taken. */
#ifndef EDGEPS_FORMATS_IPERF_H
#define EDGEPS_FORMATS_IPERF_H

#include "base/api.h"
#include "formats/topology.h"
#include "network/network.h"

#include <stdbool.h>

EDGEPS_API_BEGIN

/* Whether the folder holds a *.json. */
bool network_iperf_in(const char *folder);

/* Reads every *.json of the folder, and its nodes.csv where there is one. What was not measured is
 * filled from `options` and reported. EDGEPS_FORMAT names the file, what is wrong with the result,
 * and the remedy; EDGEPS_USAGE: something cannot be read, or there is no result. The caller frees
 * the report with topology_report_free. */
edgeps_err network_iperf_load(const char *folder, const topology_options *options,
                              edgeps_diag *diag, network **out, topology_report *report);

EDGEPS_API_END

#endif
