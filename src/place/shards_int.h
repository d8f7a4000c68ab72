/* The search for a plan in a given number of shards. Private to the placement of shards. */
#ifndef EDGEPS_PLACE_SHARDS_INT_H
#define EDGEPS_PLACE_SHARDS_INT_H

#include "place/place_int.h"
#include "place/shards.h"

typedef struct shards_search {
    const char *algorithm;
    const problem *p;
    place_watch *watch;
    edgeps_diag *diag;
    plan_set now; /* where the search is */
    double now_s; /* its round time; INFINITY: some shard has no place yet */
    plan_set best;
    double best_s;     /* INFINITY: none yet */
    double bound_s;    /* proved for every plan in so many shards; 0: none is known */
    place_found found; /* PLACE_NONE: it is proved that there is no set */
    rng r;
    problem beside; /* what the other shards leave to one */
    double *shared_caps;
    int32_t *children;
    double *up_bytes; /* per node: what the other shards put on its links in a round */
    double *down_bytes;
    double *scratch; /* for cost_set_bound_s */
} shards_search;

edgeps_err shards_search_make(const problem *p, size_t shards, shards_search *out);
void shards_search_free(shards_search *q);

/* Room for all servers of set->count shards, whatever the time; the set is touched unless there is
 * proved to be none. */
edgeps_err shards_find(const problem *p, const place_watch *watch, plan_set *set,
                       place_found *found);

/* Looks for the fastest set; q->best_s stays INFINITY where none is found. */
edgeps_err shards_search_run(shards_search *q);

#endif
