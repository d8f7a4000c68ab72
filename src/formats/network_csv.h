/* A network as tables for spreadsheets: a folder with nodes.csv, rates.csv and latency.csv, any of
 * which may be missing. docs/topologies.md describes them. */
#ifndef EDGEPS_FORMATS_NETWORK_CSV_H
#define EDGEPS_FORMATS_NETWORK_CSV_H

#include "base/api.h"
#include "formats/topology.h"
#include "network/network.h"

#include <stdbool.h>

EDGEPS_API_BEGIN

/* Whether the folder holds a matrix: rates.csv or latency.csv. */
bool network_csv_in(const char *folder);

/* Reads the folder's tables; what they do not say is filled from `options` and reported.
 * EDGEPS_FORMAT names the file, its line and the remedy; EDGEPS_USAGE: a file cannot be read. The
 * caller frees the report with topology_report_free. */
edgeps_err network_csv_load(const char *folder, const topology_options *options, edgeps_diag *diag,
                            network **out, topology_report *report);

/* Writes all three, so that they read back the same nodes, rates and latencies; makes the folder
 * when it is not there. Sites and the scenario have no place in tables. EDGEPS_IO. */
edgeps_err network_csv_save(const network *net, const char *folder, edgeps_diag *diag);

EDGEPS_API_END

#endif
