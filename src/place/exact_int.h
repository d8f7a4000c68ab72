/* The parts of `exact`: whole local servers for a threshold, and branch and bound on the evaluator.
 * Private to the algorithm. */
#ifndef EDGEPS_PLACE_EXACT_INT_H
#define EDGEPS_PLACE_EXACT_INT_H

#include "cover/cover.h"
#include "place/place_int.h"

typedef struct place_whole {
    cover_verdict verdict; /* of the last threshold tried */
    double bound_s;        /* no plan with this global server is faster: proved */
    bool settled;          /* no threshold stayed open: bound_s is the least one */
    bool found;            /* `open` covers all workers within some threshold below the limit */
    bool *open;            /* per node; the caller's */
} place_whole;

/* Searches the least threshold of a covering with whole servers; all below limits->lower_s is
 * refuted already, what is not below upper_s does not matter. Unless limits->exact, thresholds that
 * the LP and its rounding do not decide count as not refuted. When `w` stops it, the bound is as
 * far as it came. */
edgeps_err place_whole_search(place_view *v, const place_hunt *limits, place_watch *w,
                              place_whole *out);

/* Nodes that can exchange all their roles without any time or constraint changing: per node the
 * first such node. O(count^3) comparisons at worst; `twin` has count entries. */
void place_twins(const problem *p, uint32_t *twin);

/* Branch and bound over the parents of all workers of one global server: offers every plan below
 * cutoff_s that it meets to `best`, and afterwards no plan of this global server is faster than the
 * lesser of cutoff_s and best's time, unless `w` stopped it. */
edgeps_err place_branch(place_view *v, const uint32_t *twin, double cutoff_s, place_best *best,
                        place_watch *w);

#endif
