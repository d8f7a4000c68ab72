/* Flows through a lab, sent and received by this process: sockets belong to the network that their
 * maker is in, so one process has some in every node. */
#ifndef EDGEPS_LAB_FLOW_H
#define EDGEPS_LAB_FLOW_H

#include "lab/lab.h"

#include <stdint.h>

#define FLOW_ENDLESS INT64_MAX

/* One TCP connection over the shaped links. */
typedef struct flow {
    size_t from; /* a node or LAB_HUB */
    size_t to;
    int64_t bytes; /* to send; FLOW_ENDLESS: until time is up */
    /* what the link is expected to carry: sent evenly and without overflowing any queue, to
     * measure the link and not TCP; 0: as TCP decides, losses and all */
    double expected_bytes_per_s;
    /* what came of it, times since all flows began */
    int64_t received;
    double finish_s;         /* when the last byte came */
    double rate_bytes_per_s; /* of what came after the time to settle; 0: too little came */
} flow;

/* Starts all flows at once and returns when all their bytes have arrived or `most_s` have passed.
 * EDGEPS_IO: a connection cannot be made or breaks. */
edgeps_err flow_run(const lab *l, flow *flows, size_t count, double settle_s, double most_s,
                    edgeps_diag *diag);

/* One-way times in seconds between the nodes listed, count x count, row-major, from row to column:
 * the least of a few datagrams that nothing else delays. NAN: none arrived within `most_s`. */
edgeps_err flow_latencies(const lab *l, const size_t *nodes, size_t count, double most_s,
                          edgeps_diag *diag, double *latency_s);

#endif
