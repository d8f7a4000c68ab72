/* The parts of proving bounds: refuting limits by prices, and round times by boxes of moments.
 * Private to place_refuter. */
#ifndef EDGEPS_PLACE_REFUTE_INT_H
#define EDGEPS_PLACE_REFUTE_INT_H

#include "cover/question.h"
#include "place/place_int.h"

#define REFUTE_SIDES 2 /* of a box (threshold.c) */
#define MOST_KEPT 64   /* proofs */

/* Prices that refuted something. */
typedef struct refute_proof {
    cover_prices prices;
    const place_refuter *owner;
} refute_proof;

struct place_refuter {
    const place_ground *gr;
    uint32_t *number;    /* per node: which worker it is */
    refute_proof **kept; /* those that served last come first */
    size_t kept_count, kept_room;
    size_t served; /* how many of them did since refuter_copy */
    cover_top top;
    int32_t *cap; /* per node, for the limits asked about; negative: not known yet */
    size_t lps;
    uint64_t asked;                 /* times that a server's offer or reach was worked out */
    double open_part[REFUTE_SIDES]; /* where along each side of the whole a box stayed open last */
    bool by_lp;                     /* where no proof serves */
    size_t threads;                 /* for place_raise_bounds; 0: as many as the machine has */
};

/* Makes `twin` know what `of` knows, whose proofs it borrows: `of` must keep them for as long as
 * the twin is used, that is not be used itself. What the twin has learned is lost. */
edgeps_err refuter_copy(place_refuter *twin, const place_refuter *of);

/* Takes over what the twins have learned and counted since refuter_copy, in this order. */
edgeps_err refuter_learn(place_refuter *rf, place_refuter *const *twins, size_t count);

/* Is there no plan within at->limits that has at most at->locals local servers? By prices kept so
 * far, or else, with `lp`, by an LP, whose shares are put into at->open (unless that is NULL) when
 * it does not refute them. */
edgeps_err place_refute(place_refuter *rf, const place_view *v, bool lp, place_threshold *at,
                        bool *refuted);

#endif
