#include "cost/fluid.h"

#include "base/mem.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Links whose fair shares agree to this fraction saturate in the same step. */
#define SHARE_TOLERANCE 1e-12
/* A flow is complete when what is left of it is rounding: of its bytes, or of the clock. */
#define BYTES_TOLERANCE 1e-11
#define CLOCK_TOLERANCE 1e-14

/* Links 0..count-1 are the up links, count..2*count-1 the down links, later ones node pairs. */
#define NO_LINK UINT32_MAX
#define FLOW_LINKS 3

typedef struct flow {
    uint32_t link[FLOW_LINKS]; /* up, down, pair or NO_LINK */
    uint64_t tag;
    uint64_t order;
    double bytes;
    double left_bytes; /* at since_s */
    double since_s;
    double rate_bytes_per_s;
} flow;

typedef struct link_state {
    double capacity_bytes_per_s;
    double left_bytes_per_s; /* while filling: capacity of the flows without a rate */
    uint32_t open;           /* while filling: flows without a rate */
    uint32_t users;          /* of a pair link: flows that hold it */
    bool tight;
} link_state;

typedef struct completion {
    uint64_t tag;
    uint64_t order;
} completion;

struct fluid {
    size_t count;
    double now_s;
    uint64_t started;
    bool stale; /* the set of flows or a link changed since the rates were computed */

    flow *flows;
    double *finish_s; /* per flow; INFINITY for a vacant one */
    double *done_s;   /* per flow: from here on what is left is rounding */
    uint32_t *filling;
    size_t flow_count;
    size_t flow_room; /* of all arrays of flows and of completions */

    /* Completed flows keep their place and rate until rates are due: a connection that starts its
     * next chunk at once takes them over, and nobody's rate changes. */
    uint32_t *vacant;
    size_t vacant_count;

    link_state *links;
    uint32_t *used;
    size_t link_count;
    size_t link_room;

    completion *completed;
    size_t completed_head;
    size_t completed_count;
};

static bool grow(void **array, size_t room, size_t size)
{
    void *grown = mem_resize(*array, room, size);
    if (grown)
        *array = grown;
    return grown != NULL;
}

static bool reserve_links(fluid *f, size_t wanted)
{
    if (wanted <= f->link_room)
        return true;
    size_t room = 2 * wanted;
    if (!grow((void **)&f->links, room, sizeof *f->links) ||
        !grow((void **)&f->used, room, sizeof *f->used))
        return false;
    memset(f->links + f->link_room, 0, (room - f->link_room) * sizeof *f->links);
    f->link_room = room;
    return true;
}

/* Room for one more flow, and for all flows as completions, so that advancing cannot fail. */
static bool reserve_flow(fluid *f)
{
    size_t wanted = f->flow_count + f->completed_count + 1;
    if (wanted <= f->flow_room)
        return true;
    size_t room = 2 * wanted > 64 ? 2 * wanted : 64;
    if (!grow((void **)&f->flows, room, sizeof *f->flows) ||
        !grow((void **)&f->finish_s, room, sizeof *f->finish_s) ||
        !grow((void **)&f->done_s, room, sizeof *f->done_s) ||
        !grow((void **)&f->filling, room, sizeof *f->filling) ||
        !grow((void **)&f->vacant, room, sizeof *f->vacant) ||
        !grow((void **)&f->completed, room, sizeof *f->completed))
        return false;
    f->flow_room = room;
    return true;
}

edgeps_err fluid_make(size_t count, const double *up_bytes_per_s, const double *down_bytes_per_s,
                      fluid **out)
{
    fluid *f = mem_alloc(1, sizeof *f);
    if (!f || !reserve_links(f, 2 * count))
        goto nomem;
    f->count = count;
    f->link_count = 2 * count;
    for (size_t i = 0; i < count; i++) {
        f->links[i].capacity_bytes_per_s = up_bytes_per_s[i];
        f->links[count + i].capacity_bytes_per_s = down_bytes_per_s[i];
    }
    *out = f;
    return EDGEPS_OK;
nomem:
    fluid_free(f);
    return EDGEPS_NOMEM;
}

void fluid_free(fluid *f)
{
    if (!f)
        return;
    mem_free(f->flows);
    mem_free(f->finish_s);
    mem_free(f->done_s);
    mem_free(f->filling);
    mem_free(f->vacant);
    mem_free(f->links);
    mem_free(f->used);
    mem_free(f->completed);
    mem_free(f);
}

void fluid_set_node(fluid *f, size_t node, double up_bytes_per_s, double down_bytes_per_s)
{
    f->links[node].capacity_bytes_per_s = up_bytes_per_s;
    f->links[f->count + node].capacity_bytes_per_s = down_bytes_per_s;
    f->stale = true;
}

double fluid_now_s(const fluid *f) { return f->now_s; }

static void set_finish(fluid *f, size_t i)
{
    const flow *w = &f->flows[i];
    double duration_s = w->rate_bytes_per_s > 0 ? w->left_bytes / w->rate_bytes_per_s : INFINITY;
    double finish_s = w->left_bytes > 0 ? w->since_s + duration_s : w->since_s;
    f->finish_s[i] = f->done_s[i] = finish_s;
    if (finish_s < INFINITY)
        f->done_s[i] -=
            BYTES_TOLERANCE * w->bytes / w->rate_bytes_per_s + CLOCK_TOLERANCE * finish_s;
}

static void set_rate(fluid *f, size_t i, double rate_bytes_per_s)
{
    flow *w = &f->flows[i];
    if (rate_bytes_per_s == w->rate_bytes_per_s)
        return;
    if (f->now_s > w->since_s)
        w->left_bytes = fmax(0, w->left_bytes - w->rate_bytes_per_s * (f->now_s - w->since_s));
    w->since_s = f->now_s;
    w->rate_bytes_per_s = rate_bytes_per_s;
    set_finish(f, i);
}

static void remove_flow(fluid *f, size_t i)
{
    if (f->flows[i].link[2] != NO_LINK)
        f->links[f->flows[i].link[2]].users--;
    size_t last = --f->flow_count;
    f->flows[i] = f->flows[last];
    f->finish_s[i] = f->finish_s[last];
    f->done_s[i] = f->done_s[last];
    f->stale = true;
}

static void drop_vacant(fluid *f)
{
    f->vacant_count = 0;
    for (size_t i = f->flow_count; i-- > 0;)
        if (f->flows[i].bytes == 0)
            remove_flow(f, i);
}

/* Puts every flow on its finite links and all flows among those without a rate; returns how many
 * links are in use. */
static size_t open_links(fluid *f)
{
    size_t used = 0;
    for (size_t i = 0; i < f->flow_count; i++) {
        f->filling[i] = (uint32_t)i;
        for (int k = 0; k < FLOW_LINKS; k++) {
            uint32_t id = f->flows[i].link[k];
            if (id == NO_LINK || f->links[id].capacity_bytes_per_s == INFINITY)
                continue;
            link_state *l = &f->links[id];
            if (l->open++ == 0) {
                l->left_bytes_per_s = l->capacity_bytes_per_s;
                f->used[used++] = id;
            }
        }
    }
    return used;
}

/* The smallest fair share of the links in use, which are marked tight; links without open flows
 * leave the list. */
static double smallest_share(fluid *f, size_t *used)
{
    double share = INFINITY;
    size_t kept = 0;
    for (size_t k = 0; k < *used; k++) {
        const link_state *l = &f->links[f->used[k]];
        if (!l->open)
            continue;
        f->used[kept++] = f->used[k];
        share = fmin(share, l->left_bytes_per_s / l->open);
    }
    *used = kept;
    for (size_t k = 0; k < kept; k++) {
        link_state *l = &f->links[f->used[k]];
        l->tight = l->left_bytes_per_s / l->open <= share * (1 + SHARE_TOLERANCE);
    }
    return share;
}

static bool on_tight_link(const fluid *f, const flow *w)
{
    for (int k = 0; k < FLOW_LINKS; k++) {
        if (w->link[k] == NO_LINK)
            continue;
        const link_state *l = &f->links[w->link[k]];
        if (l->open && l->tight)
            return true;
    }
    return false;
}

static void take_share(fluid *f, const flow *w, double share)
{
    for (int k = 0; k < FLOW_LINKS; k++) {
        link_state *l = w->link[k] == NO_LINK ? NULL : &f->links[w->link[k]];
        if (!l || !l->open)
            continue;
        l->left_bytes_per_s = fmax(0, l->left_bytes_per_s - share);
        l->open--;
    }
}

/* Progressive filling: all flows grow alike until a link is full, its flows keep their rate, the
 * others go on. */
static void fill_rates(fluid *f)
{
    size_t used = open_links(f);
    size_t filling = f->flow_count;
    while (filling) {
        double share = smallest_share(f, &used);
        size_t kept = 0;
        for (size_t k = 0; k < filling; k++) {
            uint32_t i = f->filling[k];
            if (share < INFINITY && !on_tight_link(f, &f->flows[i])) {
                f->filling[kept++] = i;
                continue;
            }
            take_share(f, &f->flows[i], share);
            set_rate(f, i, share);
        }
        filling = kept;
    }
}

static void refresh(fluid *f)
{
    if (!f->stale && !f->vacant_count)
        return;
    drop_vacant(f);
    fill_rates(f);
    f->stale = false;
}

/* The pair link of a capped pair: the one that a flow of this pair holds, or a free one. */
static edgeps_err find_pair_link(fluid *f, size_t from, size_t to, double cap, uint32_t *out)
{
    *out = NO_LINK;
    if (cap == INFINITY)
        return EDGEPS_OK;
    size_t id = 2 * f->count;
    for (size_t i = 0; i < f->flow_count; i++) {
        const flow *w = &f->flows[i];
        if (w->link[0] == from && w->link[1] == f->count + to) {
            *out = w->link[2];
            return EDGEPS_OK;
        }
    }
    while (id < f->link_count && f->links[id].users)
        id++;
    if (id == f->link_count) {
        if (!reserve_links(f, f->link_count + 1))
            return EDGEPS_NOMEM;
        f->link_count++;
    }
    f->links[id].capacity_bytes_per_s = cap;
    *out = (uint32_t)id;
    return EDGEPS_OK;
}

static bool take_over_vacant(fluid *f, size_t from, size_t to, double bytes, uint64_t tag)
{
    for (size_t k = 0; k < f->vacant_count; k++) {
        size_t i = f->vacant[k];
        flow *w = &f->flows[i];
        if (w->link[0] != from || w->link[1] != f->count + to)
            continue;
        w->tag = tag;
        w->order = f->started++;
        w->bytes = w->left_bytes = bytes;
        w->since_s = f->now_s;
        set_finish(f, i);
        f->vacant[k] = f->vacant[--f->vacant_count];
        return true;
    }
    return false;
}

edgeps_err fluid_start(fluid *f, size_t from, size_t to, double cap_bytes_per_s, double bytes,
                       uint64_t tag)
{
    if (!reserve_flow(f))
        return EDGEPS_NOMEM;
    if (take_over_vacant(f, from, to, bytes, tag))
        return EDGEPS_OK;
    uint32_t pair;
    edgeps_err err = find_pair_link(f, from, to, cap_bytes_per_s, &pair);
    if (err)
        return err;
    if (pair != NO_LINK)
        f->links[pair].users++;
    size_t i = f->flow_count++;
    f->flows[i] = (flow){
        .link = {(uint32_t)from, (uint32_t)(f->count + to), pair},
        .tag = tag,
        .order = f->started++,
        .bytes = bytes,
        .left_bytes = bytes,
        .since_s = f->now_s,
    };
    f->finish_s[i] = f->done_s[i] = INFINITY;
    f->stale = true;
    return EDGEPS_OK;
}

void fluid_cancel(fluid *f, uint64_t tag)
{
    drop_vacant(f);
    for (size_t i = f->flow_count; i-- > 0;)
        if (f->flows[i].tag == tag)
            remove_flow(f, i);
}

double fluid_next_s(fluid *f)
{
    refresh(f);
    double next_s = INFINITY;
    for (size_t i = 0; i < f->flow_count; i++)
        next_s = fmin(next_s, f->finish_s[i]);
    return next_s;
}

/* Files a completion among those from `first` on, which completed at the same time. */
static void complete(fluid *f, size_t i, size_t first)
{
    flow *w = &f->flows[i];
    size_t at = f->completed_count++;
    for (; at > first && f->completed[at - 1].order > w->order; at--)
        f->completed[at] = f->completed[at - 1];
    f->completed[at] = (completion){w->tag, w->order};
    w->bytes = w->left_bytes = 0;
    f->finish_s[i] = f->done_s[i] = INFINITY;
    f->vacant[f->vacant_count++] = (uint32_t)i;
}

void fluid_advance(fluid *f, double time_s)
{
    refresh(f);
    f->now_s = time_s;
    size_t first = f->completed_count;
    for (size_t i = 0; i < f->flow_count; i++)
        if (f->done_s[i] <= time_s)
            complete(f, i, first);
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
