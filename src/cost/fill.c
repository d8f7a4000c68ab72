/* Max-min fair rates by progressive filling (Bertsekas and Gallager 1992, section 6.5.2), within a
 * region: the links that changed, and those to which the change spreads.
 *
 * Rates are max-min fair exactly when no link is overfull and every flow has a limit: a full link
 * on which no flow is faster. A flow of the region whose limit lies outside keeps it as a roof over
 * its rate. When the region is filled, a link outside is drawn in if it limits flows and one of its
 * flows became slower, or if a faster one overfills it; then the region is filled again. When none
 * is left to draw in, all flows have a limit: those of the region by the filling, the others
 * because nothing changed on the links that limit them. */
#include "cost/fluid_int.h"

#include <math.h>

/* Rates that agree to this fraction are the same; a link is full up to it. */
#define RATE_TOLERANCE 1e-12

static bool in_region(const fluid *f, uint32_t link) { return f->links[link].region == f->region; }

static bool can_limit(const fluid *f, uint32_t link)
{
    return link != FLUID_NONE && f->links[link].capacity_bytes_per_s < INFINITY;
}

static void add_link(fluid *f, uint32_t link)
{
    if (in_region(f, link))
        return;
    f->links[link].region = f->region;
    f->region_links.items[f->region_links.count++] = link;
    for (uint32_t i = f->links[link].first; i != FLUID_NONE; i = fluid_after(f, i, link)) {
        if (f->flows[i].region == f->region)
            continue;
        f->flows[i].region = f->region;
        f->region_flows.items[f->region_flows.count++] = i;
    }
}

static void open_region(fluid *f)
{
    rank_clear(&f->roofs);
    rank_clear(&f->shares);
    for (size_t k = 0; k < f->region_flows.count; k++) {
        uint32_t i = f->region_flows.items[k];
        fluid_flow *w = &f->flows[i];
        w->filled = false;
        if (can_limit(f, w->limit) && !in_region(f, w->limit))
            rank_set(&f->roofs, i, w->rate_bytes_per_s);
    }
    for (size_t k = 0; k < f->region_links.count; k++) {
        uint32_t link = f->region_links.items[k];
        fluid_link *l = &f->links[link];
        l->open = l->users;
        l->left_bytes_per_s = l->capacity_bytes_per_s;
        if (l->open > 0 && can_limit(f, link))
            rank_set(&f->shares, link, l->left_bytes_per_s / l->open);
    }
}

/* The flow's rate is settled; the links of the region have so much less for the others. */
static void settle(fluid *f, uint32_t flow, double rate_bytes_per_s, uint32_t limit)
{
    fluid_flow *w = &f->flows[flow];
    f->settled++;
    w->filled = true;
    w->filled_bytes_per_s = rate_bytes_per_s;
    w->filled_limit = limit;
    for (int k = 0; k < FLUID_LINKS; k++) {
        uint32_t link = w->link[k];
        if (!can_limit(f, link) || !in_region(f, link))
            continue;
        fluid_link *l = &f->links[link];
        l->left_bytes_per_s = fmax(0, l->left_bytes_per_s - rate_bytes_per_s);
        l->open--;
        if (link == limit)
            continue;
        if (l->open == 0)
            rank_remove(&f->shares, link);
        else
            rank_set(&f->shares, link, l->left_bytes_per_s / l->open);
    }
}

static void settle_link(fluid *f, uint32_t link, double share)
{
    rank_remove(&f->shares, link);
    for (uint32_t i = f->links[link].first; i != FLUID_NONE; i = fluid_after(f, i, link))
        if (!f->flows[i].filled)
            settle(f, i, share, link);
}

/* All flows of the region grow alike; one stops at its roof, all of a link when it is full. */
static void fill_region(fluid *f)
{
    open_region(f);
    while (f->roofs.count > 0 || f->shares.count > 0) {
        double roof = f->roofs.count > 0 ? f->roofs.items[0].key : INFINITY;
        double share = f->shares.count > 0 ? f->shares.items[0].key : INFINITY;
        if (share < roof) {
            settle_link(f, f->shares.items[0].id, share);
            continue;
        }
        uint32_t flow = f->roofs.items[0].id;
        rank_remove(&f->roofs, flow);
        if (!f->flows[flow].filled)
            settle(f, flow, roof, f->flows[flow].limit);
    }
    for (size_t k = 0; k < f->region_flows.count; k++)
        if (!f->flows[f->region_flows.items[k]].filled)
            settle(f, f->region_flows.items[k], INFINITY, FLUID_NONE);
}

static bool same_rate(double a, double b)
{
    return a == b || fabs(a - b) <= RATE_TOLERANCE * fmin(a, b);
}

static bool overfull(const fluid *f, uint32_t link)
{
    double sum = 0;
    for (uint32_t i = f->links[link].first; i != FLUID_NONE; i = fluid_after(f, i, link)) {
        const fluid_flow *w = &f->flows[i];
        sum += w->region == f->region ? w->filled_bytes_per_s : w->rate_bytes_per_s;
    }
    return sum > f->links[link].capacity_bytes_per_s * (1 + RATE_TOLERANCE);
}

/* Draws in the links to which the change spreads; false when there are none. */
static bool spread_region(fluid *f)
{
    bool spread = false;
    for (size_t k = 0, count = f->region_flows.count; k < count; k++) {
        const fluid_flow *w = &f->flows[f->region_flows.items[k]];
        double before = w->rate_bytes_per_s, after = w->filled_bytes_per_s;
        for (int e = 0; !same_rate(before, after) && e < FLUID_LINKS; e++) {
            uint32_t link = w->link[e];
            if (!can_limit(f, link) || in_region(f, link) ||
                !(after < before ? f->links[link].limited > 0 : overfull(f, link)))
                continue;
            add_link(f, link);
            spread = true;
        }
    }
    return spread;
}

static void take_rates(fluid *f)
{
    for (size_t k = 0; k < f->region_flows.count; k++) {
        uint32_t i = f->region_flows.items[k];
        const fluid_flow *w = &f->flows[i];
        double before = w->rate_bytes_per_s, after = w->filled_bytes_per_s;
        fluid_set_rate(f, i, same_rate(before, after) ? before : after, w->filled_limit);
    }
}

void fluid_fill(fluid *f)
{
    f->region++;
    f->region_links.count = f->region_flows.count = 0;
    for (size_t k = 0; k < f->dirty.count; k++) {
        f->links[f->dirty.items[k]].dirty = false;
        add_link(f, f->dirty.items[k]);
    }
    f->dirty.count = 0;
    do
        fill_region(f);
    while (spread_region(f));
    take_rates(f);
}
