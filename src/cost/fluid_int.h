/* The fluid's inside: flows on links, and the rates of max-min fairness (fill.c). Links
 * 0..count-1 are the nodes' up links, count..2*count-1 the down links, later ones node pairs.
 *
 * A flow keeps its place from start to removal and stands in the list of every link it crosses.
 * Room for everything is made when a flow starts, so that nothing after it can fail.
 */
#ifndef EDGEPS_COST_FLUID_INT_H
#define EDGEPS_COST_FLUID_INT_H

#include "base/err.h"
#include "base/rank.h"
#include "cost/fluid.h"

#include <stdbool.h>

#define FLUID_NONE UINT32_MAX
#define FLUID_LINKS 3

typedef struct fluid_flow {
    uint32_t link[FLUID_LINKS]; /* up, down, pair or FLUID_NONE */
    uint32_t next[FLUID_LINKS]; /* in the lists of these links */
    uint32_t previous[FLUID_LINKS];
    uint32_t limit; /* the link that holds the rate down; FLUID_NONE: none does */
    uint64_t tag;
    uint64_t order;
    double bytes;      /* 0: completed, or no flow at all */
    double left_bytes; /* at since_s */
    double since_s;
    double rate_bytes_per_s;
    double finish_s;

    /* While filling: */
    uint32_t region; /* the filling that found it last */
    bool filled;
    double filled_bytes_per_s;
    uint32_t filled_limit;
} fluid_flow;

typedef struct fluid_link {
    double capacity_bytes_per_s;
    uint32_t first; /* of its flows */
    uint32_t users;
    uint32_t limited; /* flows that it holds down */
    bool held;        /* has limited a flow at any time so far */
    bool dirty;       /* flows or capacity changed since the rates were computed */

    /* While filling: */
    uint32_t region;
    uint32_t open; /* flows without a rate */
    double left_bytes_per_s;
} fluid_link;

typedef struct fluid_list {
    uint32_t *items;
    size_t count;
} fluid_list;

typedef struct fluid_completion {
    uint64_t order;
    uint64_t tag;
} fluid_completion;

struct fluid {
    size_t count;
    double now_s;
    uint64_t started;
    uint64_t settled;

    fluid_flow *flows;
    size_t flow_count; /* places that were ever taken */
    size_t flow_room;
    fluid_list free;   /* places that are free again */
    fluid_list vacant; /* completed flows that keep their place: a connection that starts its next
                          chunk at once takes them over, and nobody's rate changes */

    fluid_link *links;
    size_t link_count;
    size_t link_room;
    fluid_list free_pairs;
    fluid_list dirty;

    /* Flows under way, by the time from which on what is left of them is rounding. */
    rank queue;
    fluid_completion *completed;
    size_t completed_head;
    size_t completed_count;
    size_t completed_room;

    uint32_t region; /* number of the filling */
    fluid_list region_links;
    fluid_list region_flows;
    rank roofs;  /* flows of the region whose limit lies outside, by the rate it leaves them */
    rank shares; /* links of the region by their fair share */
};

/* The flow after flow `id` in the list of `link`. */
static inline uint32_t fluid_after(const fluid *f, uint32_t id, uint32_t link)
{
    return f->flows[id].next[link < f->count ? 0 : link < 2 * f->count ? 1 : 2];
}

/* Gives every flow its max-min fair rate after the flows or capacities of the dirty links changed.
 * Only flows to which the change spreads are looked at. */
void fluid_fill(fluid *f);

/* From now on the flow has this rate, held down by `limit`. */
void fluid_set_rate(fluid *f, uint32_t flow, double rate_bytes_per_s, uint32_t limit);

#endif
