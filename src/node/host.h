/* The coordinator's process: members over control connections, the coordinator's state machine, the
 * planner after each epoch with what was measured, moves of servers, and the record of the run. */
#ifndef EDGEPS_NODE_HOST_H
#define EDGEPS_NODE_HOST_H

#include "adapt/adapt.h"
#include "base/err.h"
#include "job/job.h"
#include "meter/event.h"
#include "network/network.h"
#include "proto/proto.h"

#include <stdbool.h>
#include <stdint.h>

#define HOST_LOOPBACK "127.0.0.1"

typedef struct host_options {
    const network *net;
    job job;
    int64_t epochs;
    const char *algorithm;
    bool no_polish; /* of the plans that are placed anew */
    size_t max_locals;
    uint64_t seed;
    double rate; /* learning rate */
    double momentum;
    proto_patience patience;
    bool dirichlet;
    double alpha;
    bool reference_backend;
    bool emulate; /* keep the network file's rates, latencies and speeds */
    adapt_mode adjust;
    double hysteresis;
    const char *data_dir;
    const char *out_dir; /* exists; gets events, plans, checkpoints, the model */
    const char *address; /* where the coordinator listens; NULL: loopback */
    int port;            /* of the control plane; 0: any free one */
    /* Where each node's agent listens, in networks that nobody else is in; NULL: as the network
     * says. */
    const char *const *node_addresses;
    const char *const *node_storage; /* folders, likewise; NULL: in out_dir */
    const char *certs;               /* folder of certificates for TLS; NULL: plain */
    bool insecure;                   /* plain beyond loopback, too */
    bool resume;      /* take over the agents of a killed coordinator, or else go on from the newest
                         checkpoint in out_dir */
    double suspect_s; /* a node that is not heard for so long is suspected */
    double silent_s;  /* a node that is not heard for so long is gone */
    double orphan_s;  /* agents live so long without a coordinator; 0: they end with it */
    meter_observer *observe;
    void *observer;
    /* Starts an agent for every node; they shall join at `port`. Not called where the agents of a
     * killed coordinator are still there. */
    edgeps_err (*launch)(void *launcher, int port, edgeps_diag *diag);
    /* Sends a signal to a node's agent: the scenario's kill and stop. */
    void (*signal_node)(void *launcher, size_t node, int signo);
    /* Changes a link's rate, a node's free storage or its speed as the scenario says; NULL: the
     * agents keep rates, latencies, caps and storage themselves where they emulate. */
    edgeps_err (*change_lab)(void *launcher, const network_event *event, edgeps_diag *diag);
    void *launcher;
} host_options;

/* Runs the job to its end. EDGEPS_CANCELLED after SIGINT or SIGTERM. */
edgeps_err host_run(const host_options *options, edgeps_diag *diag);

#endif
