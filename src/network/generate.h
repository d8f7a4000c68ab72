/* Networks drawn at random, for experiments and tests; docs/generators.md has the formulas.
 *
 * Every value of a node is drawn log-uniformly around a middle: the largest that can come out is
 * `spread` times the smallest, so that 1 makes all nodes equal. Values are rounded to three digits,
 * and the same options give the same network with every compiler. Drawn one node after the other
 * from streams of their own, the nodes of a small network are the first ones of a larger one.
 *
 * - two-tier: sites in a plane. Inside a site nodes reach each other at the full rate of their
 *   links; between two sites a pair of nodes gets the lower of the sender's site's up and the
 *   receiver's site's down rate, and waits as light in fibre does over that distance.
 * - waxman, barabasi-albert: sites in a plane that are joined by a random graph of links. Between
 *   two sites a pair of nodes gets the narrowest link of the route of least latency.
 * - thesis: nodes behind links of unequal up and down rates, speeds and storage, nothing between
 *   them; free storage is drawn anew for every epoch.
 */
#ifndef EDGEPS_NETWORK_GENERATE_H
#define EDGEPS_NETWORK_GENERATE_H

#include "base/api.h"
#include "base/err.h"
#include "network/network.h"

#include <stddef.h>
#include <stdint.h>

EDGEPS_API_BEGIN

#define GENERATE_MAX_SPREAD 1e6
#define GENERATE_MAX_EVENTS 10000000

typedef enum generate_kind {
    GENERATE_TWO_TIER,
    GENERATE_THESIS,
    GENERATE_WAXMAN,
    GENERATE_BARABASI_ALBERT,
} generate_kind;

/* In the order of the kinds, NULL at the end. */
extern const char *const generate_kind_names[];

typedef struct generate_options {
    generate_kind kind;
    size_t nodes;
    uint64_t seed;
    double spread;                /* 1 to GENERATE_MAX_SPREAD, of what has none of its own: */
    double rate_spread;           /* of down rates, nodes' and sites'; 0, as below: `spread` */
    double asymmetry;             /* up rates are 1/asymmetry to 1 of the down rates */
    double compute_spread;        /* of speeds */
    double free_spread;           /* of free storage */
    double rate_bytes_per_s;      /* middle of the nodes' down rates */
    double wan_bytes_per_s;       /* the same of a site in two-tier; middle of links in graphs */
    double compute_samples_per_s; /* middle */
    int64_t free_bytes;           /* middle */
    int epochs;                   /* free storage is drawn anew at the start of epochs 2..epochs */
    size_t sites;                 /* 0: in two-tier the square root of `nodes`, in graphs all */
    size_t links;                 /* barabasi-albert: of a node that joins */
    double alpha;                 /* waxman: as in random_graph.h */
    double beta;
} generate_options;

/* What the kind draws from where nobody says otherwise. */
generate_options generate_defaults(generate_kind kind, size_t nodes, uint64_t seed);

/* EDGEPS_USAGE names the option that is out of range, EDGEPS_FORMAT a count of nodes that no
 * network has. The caller frees the network. */
edgeps_err generate_network(const generate_options *o, edgeps_diag *diag, network **out);

EDGEPS_API_END

#endif
