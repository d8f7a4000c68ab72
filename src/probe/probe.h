/* What lies between two machines of a fleet, measured by programs on both: the rate of a few
 * seconds of TCP and the time there and back. One end serves, the other measures.
 *
 * Probes are short, and no faster than they are told to be. With the keys of both ends each
 * connection is a TLS session of two members of one job, else it is plain. Who measures shows a
 * number that is told to the fleet that is probed now; servers send back nothing but counts and
 * what they were sent. Rates are of what TLS carries, without its own bytes (22 per 16 KiB).
 * The receiver reckons the rate from what arrives after the time in which flows settle, so that
 * slow start and what queues hold do not count (the goodput of RFC 6349's transfers).
 */
#ifndef EDGEPS_PROBE_PROBE_H
#define EDGEPS_PROBE_PROBE_H

#include "base/err.h"
#include "trust/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_MOST_PEERS 64

typedef struct probe_server probe_server;

/* Listens on this address with a thread of its own, for whoever shows the token; with `keys`, which
 * are lent (NULL: plain), for members of the job only. Who is refused is logged. EDGEPS_IO. */
edgeps_err probe_serve(const char *address, uint64_t token, const trust *keys, edgeps_diag *diag,
                       probe_server **out);

int probe_port(const probe_server *s);

/* Ends the thread and all probes under way; NULL is fine. */
void probe_stop(probe_server *s);

/* A server, and what was measured to it. */
typedef struct probe_peer {
    const char *node; /* its name: the only one whose certificate is good here */
    const char *address;
    int port;
    double pace_bytes_per_s; /* its flow is no faster */
    double rate_bytes_per_s;
    double there_and_back_s;
} probe_peer;

typedef struct probe_how {
    uint64_t token;
    const trust *keys; /* lent; NULL: plain */
    double settle_s;
    double window_s; /* in which it counts */
    /* The paces are not far above what comes through: then flows are kept from filling queues,
     * whose losses take TCP longer to get over than a probe lasts. */
    bool restrained;
} probe_how;

/* Sends to all peers (at most PROBE_MOST_PEERS) at once; each one's rate is what it received. What
 * they got together is what the way out of here carries, where they have room enough. Blocks.
 * EDGEPS_IO: a peer cannot be reached, refuses, is another one or falls silent. */
edgeps_err probe_send(const probe_how *how, probe_peer *peers, size_t count, edgeps_diag *diag);

/* The least of a few times there and back, of each peer after the other. Likewise. */
edgeps_err probe_ping(const probe_how *how, probe_peer *peers, size_t count, edgeps_diag *diag);

#endif
