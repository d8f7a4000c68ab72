/* The links of a fleet measured by its agents, which call here as they would call a coordinator.
 *
 * Of each node the way out is measured by sending to the others at once, and the way in by letting
 * them send to it at once, one node after the other, so that nothing else is under way; then the
 * times there and back between all pairs. Half of that is taken for the latency of a direction,
 * as the clocks of a fleet do not agree better than that. A fleet has 2 to 64 nodes.
 */
#ifndef EDGEPS_NODE_PROBER_H
#define EDGEPS_NODE_PROBER_H

#include "base/err.h"
#include "network/network.h"

#include <stdbool.h>

#define PROBER_MOST_PEERS 16 /* that send to, or hear from, one node at once */

typedef struct prober_options {
    const network *net;  /* names and addresses; what it says of links is not looked at */
    const char *address; /* where agents call */
    int port;
    const char *certs; /* folder of certificates for TLS; NULL: plain */
    const char *model; /* to be timed on each node; NULL: none is */
    double settle_s;
    double window_s;
    double most_bytes_per_s;
    double patience_s; /* for agents to come, and for each answer */
} prober_options;

/* One of each per node, and latencies node by node; owned. */
typedef struct prober_found {
    double *up_bytes_per_s;
    double *down_bytes_per_s;
    double *samples_per_s; /* zeros where no model was timed */
    double *free_bytes;    /* of the file system in which the agent runs */
    double *latency_s;     /* one way, n x n, row-major; 0 on the diagonal */
} prober_found;

/* EDGEPS_IO: a node did not come, was lost or cannot measure, with its name. */
edgeps_err prober_run(const prober_options *options, edgeps_diag *diag, prober_found *out);

void prober_free(prober_found *found);

#endif
