/* The edge network as a value: nodes, links, and what happens to them in time.
 *
 * Rates are bytes per second of goodput, latencies one-way seconds, storage bytes. What lies
 * between two nodes is kept per pair of their sites, so that ten thousand nodes at a hundred sites
 * need a matrix of a hundred; where every node is a site of its own, the pairs are those of the
 * nodes. The struct owns all it points to; network_free takes a whole network. Readers and writers
 * of files are in `formats`.
 */
#ifndef EDGEPS_NETWORK_NETWORK_H
#define EDGEPS_NETWORK_NETWORK_H

#include "base/api.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

EDGEPS_API_BEGIN

#define NETWORK_MAX_NODES 100000
#define NETWORK_MAX_NAME 63
#define NETWORK_MAX_SITES 10000

typedef struct network_node {
    char *name;
    char *address; /* where a fleet finds it; NULL: loopback */
    double up_bytes_per_s;
    double down_bytes_per_s;
    double compute_samples_per_s;
    double sum_bytes_per_s; /* INFINITY where the file says nothing */
    int64_t free_bytes;
    uint32_t site;
    double access_s; /* latency of its own link, on every path from and to it */
    bool train;      /* may carry a worker */
    bool serve;      /* may carry a local or the global server */
} network_node;

typedef enum network_change {
    NETWORK_FREE,     /* value: free bytes */
    NETWORK_UP,       /* value: bytes/s */
    NETWORK_DOWN,     /* value: bytes/s */
    NETWORK_COMPUTE,  /* value: samples/s */
    NETWORK_KILL,     /* the node's process dies */
    NETWORK_STOP,     /* the node's process freezes: silent, not dead */
    NETWORK_LATENCY,  /* value: seconds, of the node's own link */
    NETWORK_FILL,     /* value: bytes that others store there; free falls by them, at most to 0 */
    NETWORK_CONTINUE, /* a frozen process goes on */
    NETWORK_CUT,      /* nothing gets to the node or away from it */
    NETWORK_HEAL,     /* its links are as before the cut */
} network_change;

/* One line of the scenario; due at the start of `epoch` (from 1), or when that is 0, `at_s` seconds
 * after training began. */
typedef struct network_event {
    uint32_t node;
    network_change change;
    int epoch;
    double at_s;
    double value;
} network_event;

typedef struct network {
    char *name;
    size_t count;
    network_node *nodes;
    size_t site_count;
    char **site_names;       /* NULL where every node is a site of its own */
    double *latency_s;       /* site_count x site_count, row-major, from row to column */
    double *cap_bytes_per_s; /* the same; of each pair of nodes; INFINITY: none set, 0: no path */
    network_event *events;   /* in the order of the file */
    size_t event_count;
} network;

/* A network of `count` nameless nodes, each a site of its own: rates 0, no latency, no pair caps,
 * train and serve. */
edgeps_err network_make(size_t count, edgeps_diag *diag, network **out);

/* The same with `site_count` nameless sites; all nodes are at the first. */
edgeps_err network_make_sites(size_t count, size_t site_count, edgeps_diag *diag, network **out);

edgeps_err network_copy(const network *net, network **out);

void network_free(network *net);

/* The index of the node called `name`, or -1. */
int64_t network_find(const network *net, const char *name);

/* Between two nodes: 0 and INFINITY on one node. */
double network_latency_s(const network *net, size_t from, size_t to);
double network_cap_bytes_per_s(const network *net, size_t from, size_t to);

/* For all pairs of nodes at the sites of `from` and `to`, in this direction. The latency is that
 * between the sites, without the nodes' own. */
void network_set_latency_s(network *net, size_t from, size_t to, double latency_s);
void network_set_cap_bytes_per_s(network *net, size_t from, size_t to, double cap_bytes_per_s);

/* Goodput a single flow from `from` to `to` can reach; INFINITY on one node. */
double network_rate_bytes_per_s(const network *net, size_t from, size_t to);

/* Carries out one event's lasting effect on rates, latency, speed or storage. What takes nodes away
 * and gives them back changes nothing here: see network_presence. */
void network_apply(network *net, const network_event *event);

/* Whether the event takes its node away: a kill, a stop or a cut. */
bool network_strikes(const network_event *event);

/* What keeps a node away, event after event; all false: nothing. A dead one stays dead. */
typedef struct network_presence {
    bool dead;
    bool frozen;
    bool cut;
} network_presence;

void network_follow(network_presence *node, const network_event *event);
bool network_is_away(const network_presence *node);

/* Follows what is due at the start of that epoch, and says who is away then. */
void network_follow_epoch(const network *net, int epoch, network_presence *nodes, bool *away);

/* Applies, in order, every event that is due at the start of epochs 1..epoch. */
void network_apply_epochs(network *net, int epoch);

/* Puts events behind those that are there; all stays as it was where there is no memory. */
edgeps_err network_add_events(network *net, const network_event *events, size_t count);

/* Refuses what no reader may let through: a node without name, with a taken or an
 * unprintable one, a rate that is
 * negative or not a number, a sum rate of 0, fewer than one node that trains or serves. */
edgeps_err network_check(const network *net, edgeps_diag *diag);

EDGEPS_API_END

#endif
