/* Scenarios from files of other tools, put behind the scenario of a network; docs/scenarios.md. */
#ifndef EDGEPS_FORMATS_SCENARIO_FILE_H
#define EDGEPS_FORMATS_SCENARIO_FILE_H

#include "base/err.h"
#include "network/network.h"

/* A table with a column "at" or "epoch", one "node", and one for each key of a scenario's line that
 * it speaks of; an empty field says nothing. EDGEPS_FORMAT with the line. */
edgeps_err scenario_read_csv(const char *path, edgeps_diag *diag, network *net);

/* A table of what is stored: a column that numbers the rows, then one for each place, amounts in
 * any unit. Node i follows column i, and when these run out the first one again: at the column's
 * peak others take `share` of the node's free storage, otherwise in proportion. Row k (from 0) is
 * at the start of epoch k + 1, or where `step_s` is above 0 at k of these. EDGEPS_FORMAT with the
 * line. */
edgeps_err scenario_read_churn(const char *path, double share, double step_s, edgeps_diag *diag,
                               network *net);

/* How a trace of mahimahi is read. */
typedef struct scenario_trace {
    uint32_t node;
    network_change what; /* NETWORK_UP or NETWORK_DOWN */
    double step_s;       /* rates are means over so long */
    double until_s;      /* the trace begins anew until then; 0: once */
} scenario_trace;

/* A line for each packet of 1500 bytes, of which 1448 are payload, that may pass: milliseconds
 * since the trace began, which do not fall. EDGEPS_FORMAT with the line.
 * Source: Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015. */
edgeps_err scenario_read_mahimahi(const char *path, const scenario_trace *t, edgeps_diag *diag,
                                  network *net);

#endif
