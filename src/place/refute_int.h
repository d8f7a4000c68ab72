/* The parts of proving bounds: refuting limits by prices, and round times by boxes of moments.
 * Private to place_refuter. */
#ifndef EDGEPS_PLACE_REFUTE_INT_H
#define EDGEPS_PLACE_REFUTE_INT_H

#include "cover/question.h"
#include "place/place_int.h"

#define REFUTE_SIDES 2 /* of a box (threshold.c) */
#define MOST_KEPT 64   /* prices; those that served last come first */

struct place_refuter {
    const place_ground *gr;
    uint32_t *number; /* per node: which worker it is */
    cover_prices kept[MOST_KEPT];
    size_t kept_count;
    cover_top top;
    int32_t *cap; /* per node, for the limits asked about; negative: not known yet */
    size_t lps;
    uint64_t asked;                 /* times that a server's offer or reach was worked out */
    double open_part[REFUTE_SIDES]; /* where along each side of the whole a box stayed open last */
};

/* Is there no plan within at->limits that has at most at->locals local servers? By prices kept so
 * far, or else, with `lp`, by an LP, whose shares are put into at->open (unless that is NULL) when
 * it does not refute them. */
edgeps_err place_refute(place_refuter *rf, const place_view *v, bool lp, place_threshold *at,
                        bool *refuted);

#endif
