/* The agent: one process per node. It joins its coordinator, hosts the roles that the plan gives to
 * its node (the state machines of `proto` over sockets, storage and gradients), and reports. */
#ifndef EDGEPS_NODE_AGENT_H
#define EDGEPS_NODE_AGENT_H

#include "base/err.h"

#include <stdbool.h>

typedef struct agent_options {
    const char *name; /* of the node, as in the network file */
    const char *host; /* of the coordinator */
    int port;
    const char *certs;   /* folder of certificates for TLS; NULL: plain */
    bool insecure;       /* plain beyond loopback, too, with a warning */
    bool enclosed;       /* likewise, in a network that nobody else is in */
    const char *storage; /* where its server state goes; NULL: where the coordinator says */
    double wait_s; /* how long it calls for a first coordinator, and for another after one that
                      has only probed it */
} agent_options;

/* Runs until the coordinator says stop (EDGEPS_OK), or is gone and none takes over in the time that
 * the welcome says. */
edgeps_err agent_run(const agent_options *options, edgeps_diag *diag);

#endif
