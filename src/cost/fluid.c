#include "cost/fluid_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* A flow is complete when what is left of it is rounding: of its bytes, or of the clock. */
#define BYTES_TOLERANCE 1e-11
#define CLOCK_TOLERANCE 1e-14
#define LEAST_ROOM 64

static bool grow(void **array, size_t room, size_t size)
{
    void *grown = mem_resize(*array, room, size);
    if (grown)
        *array = grown;
    return grown != NULL;
}

static bool grow_list(fluid_list *list, size_t room)
{
    return grow((void **)&list->items, room, sizeof *list->items);
}

static bool reserve_links(fluid *f, size_t wanted)
{
    if (wanted <= f->link_room)
        return true;
    size_t room = wanted + wanted / 2;
    if (!grow((void **)&f->links, room, sizeof *f->links) || !grow_list(&f->free_pairs, room) ||
        !grow_list(&f->dirty, room) || !grow_list(&f->region_links, room) ||
        rank_reserve(&f->shares, room))
        return false;
    f->link_room = room;
    return true;
}

static bool reserve_flows(fluid *f, size_t wanted)
{
    if (wanted <= f->flow_room)
        return true;
    size_t room = 2 * wanted > LEAST_ROOM ? 2 * wanted : LEAST_ROOM;
    if (!grow((void **)&f->flows, room, sizeof *f->flows) || !grow_list(&f->free, room) ||
        !grow_list(&f->vacant, room) || !grow_list(&f->region_flows, room) ||
        rank_reserve(&f->queue, room) || rank_reserve(&f->roofs, room))
        return false;
    f->flow_room = room;
    return true;
}

/* Completions that were not taken yet wait besides those of all flows under way. */
static bool reserve_completions(fluid *f)
{
    size_t wanted = f->flow_room + f->completed_count;
    if (wanted <= f->completed_room)
        return true;
    if (!grow((void **)&f->completed, 2 * wanted, sizeof *f->completed))
        return false;
    f->completed_room = 2 * wanted;
    return true;
}

static void add_new_link(fluid *f, double capacity_bytes_per_s)
{
    f->links[f->link_count++] =
        (fluid_link){.capacity_bytes_per_s = capacity_bytes_per_s, .first = FLUID_NONE};
}

edgeps_err fluid_make(size_t count, const double *up_bytes_per_s, const double *down_bytes_per_s,
                      fluid **out)
{
    fluid *f = mem_alloc(1, sizeof *f);
    if (!f || !reserve_links(f, 2 * count)) {
        fluid_free(f);
        return EDGEPS_NOMEM;
    }
    f->count = count;
    for (size_t i = 0; i < count; i++)
        add_new_link(f, up_bytes_per_s[i]);
    for (size_t i = 0; i < count; i++)
        add_new_link(f, down_bytes_per_s[i]);
    *out = f;
    return EDGEPS_OK;
}

void fluid_free(fluid *f)
{
    if (!f)
        return;
    mem_free(f->free.items);
    mem_free(f->vacant.items);
    mem_free(f->free_pairs.items);
    mem_free(f->dirty.items);
    mem_free(f->region_links.items);
    mem_free(f->region_flows.items);
    mem_free(f->flows);
    mem_free(f->links);
    mem_free(f->completed);
    rank_free(&f->queue);
    rank_free(&f->roofs);
    rank_free(&f->shares);
    mem_free(f);
}

static void soil(fluid *f, uint32_t link)
{
    if (f->links[link].dirty)
        return;
    f->links[link].dirty = true;
    f->dirty.items[f->dirty.count++] = link;
}

void fluid_set_node(fluid *f, size_t node, double up_bytes_per_s, double down_bytes_per_s)
{
    uint32_t up = (uint32_t)node, down = (uint32_t)(f->count + node);
    f->links[up].capacity_bytes_per_s = up_bytes_per_s;
    f->links[down].capacity_bytes_per_s = down_bytes_per_s;
    soil(f, up);
    soil(f, down);
}

bool fluid_up_has_limited(const fluid *f, size_t node) { return f->links[node].held; }

bool fluid_down_has_limited(const fluid *f, size_t node) { return f->links[f->count + node].held; }

double fluid_now_s(const fluid *f) { return f->now_s; }

uint64_t fluid_settled(const fluid *f) { return f->settled; }

/* Files the flow under the time at which it completes. */
static void set_finish(fluid *f, uint32_t i)
{
    fluid_flow *w = &f->flows[i];
    double rate = w->rate_bytes_per_s;
    w->finish_s = w->since_s;
    if (w->left_bytes > 0)
        w->finish_s += rate > 0 ? w->left_bytes / rate : INFINITY;
    double slack_s = BYTES_TOLERANCE * w->bytes / rate + CLOCK_TOLERANCE * w->finish_s;
    if (w->finish_s < INFINITY)
        rank_set(&f->queue, i, w->finish_s - slack_s);
    else
        rank_remove(&f->queue, i);
}

static void set_limit(fluid *f, fluid_flow *w, uint32_t limit)
{
    if (w->limit != FLUID_NONE)
        f->links[w->limit].limited--;
    if (limit != FLUID_NONE) {
        f->links[limit].limited++;
        f->links[limit].held = true;
    }
    w->limit = limit;
}

void fluid_set_rate(fluid *f, uint32_t flow, double rate_bytes_per_s, uint32_t limit)
{
    fluid_flow *w = &f->flows[flow];
    set_limit(f, w, limit);
    if (rate_bytes_per_s == w->rate_bytes_per_s)
        return;
    if (f->now_s > w->since_s)
        w->left_bytes = fmax(0, w->left_bytes - w->rate_bytes_per_s * (f->now_s - w->since_s));
    w->since_s = f->now_s;
    w->rate_bytes_per_s = rate_bytes_per_s;
    set_finish(f, flow);
}

/* Puts the flow at the head of its links' lists. */
static void join_links(fluid *f, uint32_t i)
{
    fluid_flow *w = &f->flows[i];
    for (int k = 0; k < FLUID_LINKS; k++) {
        uint32_t link = w->link[k];
        if (link == FLUID_NONE)
            continue;
        fluid_link *l = &f->links[link];
        w->previous[k] = FLUID_NONE;
        w->next[k] = l->first;
        if (l->first != FLUID_NONE)
            f->flows[l->first].previous[k] = i;
        l->first = i;
        l->users++;
        soil(f, link);
    }
}

static void leave_link(fluid *f, const fluid_flow *w, int k)
{
    uint32_t link = w->link[k], before = w->previous[k], after = w->next[k];
    if (before == FLUID_NONE)
        f->links[link].first = after;
    else
        f->flows[before].next[k] = after;
    if (after != FLUID_NONE)
        f->flows[after].previous[k] = before;
    f->links[link].users--;
    soil(f, link);
}

static void remove_flow(fluid *f, uint32_t i)
{
    fluid_flow *w = &f->flows[i];
    set_limit(f, w, FLUID_NONE);
    for (int k = 0; k < FLUID_LINKS; k++)
        if (w->link[k] != FLUID_NONE)
            leave_link(f, w, k);
    if (w->link[2] != FLUID_NONE && f->links[w->link[2]].users == 0)
        f->free_pairs.items[f->free_pairs.count++] = w->link[2];
    rank_remove(&f->queue, i);
    w->bytes = 0;
    f->free.items[f->free.count++] = i;
}

static void drop_vacant(fluid *f)
{
    for (size_t k = 0; k < f->vacant.count; k++)
        remove_flow(f, f->vacant.items[k]);
    f->vacant.count = 0;
}

static void refresh(fluid *f)
{
    drop_vacant(f);
    if (f->dirty.count > 0)
        fluid_fill(f);
}

/* A flow between the two nodes, or FLUID_NONE: found in the shorter of their lists. */
static uint32_t find_between(const fluid *f, uint32_t up, uint32_t down, bool vacant)
{
    uint32_t link = f->links[up].users < f->links[down].users ? up : down;
    for (uint32_t i = f->links[link].first; i != FLUID_NONE; i = fluid_after(f, i, link)) {
        const fluid_flow *w = &f->flows[i];
        if (w->link[0] == up && w->link[1] == down && (!vacant || w->bytes == 0))
            return i;
    }
    return FLUID_NONE;
}

/* The pair link of a capped pair: the one that a flow of this pair holds, or a free one. */
static edgeps_err find_pair_link(fluid *f, uint32_t up, uint32_t down, double cap_bytes_per_s,
                                 uint32_t *out)
{
    *out = FLUID_NONE;
    if (cap_bytes_per_s == INFINITY)
        return EDGEPS_OK;
    uint32_t other = find_between(f, up, down, false);
    if (other != FLUID_NONE) {
        *out = f->flows[other].link[2];
        return EDGEPS_OK;
    }
    if (f->free_pairs.count == 0) {
        if (!reserve_links(f, f->link_count + 1))
            return EDGEPS_NOMEM;
        f->free_pairs.items[f->free_pairs.count++] = (uint32_t)f->link_count;
        add_new_link(f, cap_bytes_per_s);
    }
    *out = f->free_pairs.items[--f->free_pairs.count];
    f->links[*out].capacity_bytes_per_s = cap_bytes_per_s;
    return EDGEPS_OK;
}

/* The next chunk of a connection at the moment at which the last one completed. */
static bool take_over(fluid *f, uint32_t up, uint32_t down, double bytes, uint64_t tag)
{
    if (f->vacant.count == 0)
        return false;
    uint32_t i = find_between(f, up, down, true);
    if (i == FLUID_NONE)
        return false;
    fluid_flow *w = &f->flows[i];
    w->tag = tag;
    w->order = f->started++;
    w->bytes = w->left_bytes = bytes;
    w->since_s = f->now_s;
    set_finish(f, i);
    size_t k = 0;
    while (f->vacant.items[k] != i)
        k++;
    f->vacant.items[k] = f->vacant.items[--f->vacant.count];
    return true;
}

edgeps_err fluid_start(fluid *f, size_t from, size_t to, double cap_bytes_per_s, double bytes,
                       uint64_t tag)
{
    uint32_t up = (uint32_t)from, down = (uint32_t)(f->count + to), pair;
    if (!reserve_flows(f, f->flow_count + 1) || !reserve_completions(f))
        return EDGEPS_NOMEM;
    if (take_over(f, up, down, bytes, tag))
        return EDGEPS_OK;
    edgeps_err err = find_pair_link(f, up, down, cap_bytes_per_s, &pair);
    if (err)
        return err;
    uint32_t i = f->free.count > 0 ? f->free.items[--f->free.count] : (uint32_t)f->flow_count++;
    f->flows[i] = (fluid_flow){
        .link = {up, down, pair},
        .limit = FLUID_NONE,
        .tag = tag,
        .order = f->started++,
        .bytes = bytes,
        .left_bytes = bytes,
        .since_s = f->now_s,
        .finish_s = INFINITY,
    };
    join_links(f, i);
    return EDGEPS_OK;
}

void fluid_cancel(fluid *f, uint64_t tag)
{
    drop_vacant(f);
    for (uint32_t i = 0; i < f->flow_count; i++)
        if (f->flows[i].bytes > 0 && f->flows[i].tag == tag)
            remove_flow(f, i);
}

double fluid_next_s(fluid *f)
{
    refresh(f);
    return f->queue.count > 0 ? f->flows[f->queue.items[0].id].finish_s : INFINITY;
}

static int by_order(const void *a, const void *b)
{
    const fluid_completion *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

void fluid_advance(fluid *f, double time_s)
{
    refresh(f);
    f->now_s = time_s;
    size_t first = f->completed_count;
    while (f->queue.count > 0 && f->queue.items[0].key <= time_s) {
        uint32_t i = f->queue.items[0].id;
        fluid_flow *w = &f->flows[i];
        f->completed[f->completed_count++] = (fluid_completion){w->order, w->tag};
        w->bytes = w->left_bytes = 0;
        f->vacant.items[f->vacant.count++] = i;
        rank_remove(&f->queue, i);
    }
    if (f->completed_count > first)
        qsort(f->completed + first, f->completed_count - first, sizeof *f->completed, by_order);
}

int fluid_take(fluid *f, uint64_t *tag)
{
    if (f->completed_head == f->completed_count) {
        f->completed_head = f->completed_count = 0;
        return 0;
    }
    *tag = f->completed[f->completed_head++].tag;
    return 1;
}
