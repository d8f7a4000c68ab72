#include "cost/cost.h"

#include "cost/load_int.h"

#include <math.h>
#include <stdint.h>

#define NOBODY SIZE_MAX

/* Lists of the workers of each local server, in the caller's scratch; the numbers are nodes. */
typedef struct groups {
    const problem *p;
    const plan *pl;
    amounts wire, added;
    double *head;    /* first worker of the node's local server, -1: none */
    double *next;    /* next worker of the same server, -1: none */
    double *first_s; /* a local server's earliest time to have summed the first chunk, ... */
    double *body_s;  /* ... all but the last, ... */
    double *all_s;   /* ... and all */
} groups;

static void list_workers(groups *g)
{
    for (size_t i = 0; i < g->pl->count; i++)
        g->head[i] = g->next[i] = -1;
    for (size_t i = g->pl->count; i-- > 0;) {
        int32_t j = g->pl->parent[i];
        if (j == PLAN_NONE)
            continue;
        g->next[i] = g->head[j];
        g->head[j] = (double)i;
    }
}

/* The lists as numbers of nodes, NOBODY at their end. */
static size_t node_of(double link) { return link < 0 ? NOBODY : (size_t)link; }
static size_t first_worker(const groups *g, size_t j) { return node_of(g->head[j]); }
static size_t next_worker(const groups *g, size_t i) { return node_of(g->next[i]); }

/* Through one connection, latency included. */
static moment cross(const groups *g, moment ready, size_t from, size_t to)
{
    if (from == to)
        return ready;
    double pace_s = 1 / problem_rate_bytes_per_s(g->p, from, to);
    return moment_plus(moment_through(&g->wire, ready, 1, pace_s),
                       problem_latency_s(g->p, from, to));
}

/* Several connections that share a link of one node: the earliest start among them, the least that
 * the round still takes once they have passed, and their number. */
typedef struct bundle {
    moment ready;
    moment rest;
    double count;
} bundle;

static const bundle empty_bundle = {
    {INFINITY, INFINITY, INFINITY}, {INFINITY, INFINITY, INFINITY}, 0};

static void join(bundle *b, moment ready, moment rest)
{
    b->ready = moment_earlier(b->ready, ready);
    b->rest = moment_earlier(b->rest, rest);
    b->count++;
}

static moment pass(const groups *g, const bundle *b, double rate)
{
    return moment_through(&g->wire, b->ready, b->count, 1 / rate);
}

static moment latency(const groups *g, size_t from, size_t to)
{
    return moment_at(problem_latency_s(g->p, from, to));
}

static moment summed_at(const groups *g, size_t j)
{
    return (moment){g->first_s[j], g->body_s[j], g->all_s[j]};
}

/* What the workers of local server `j` on other nodes push to it. */
static bundle worker_pushes(const groups *g, size_t j)
{
    bundle b = empty_bundle;
    for (size_t i = first_worker(g, j); i != NOBODY; i = next_worker(g, i))
        if (i != j)
            join(&b, moment_at(g->p->nodes[i].compute_s), latency(g, i, j));
    return b;
}

/* Not before all of a bundle has arrived. */
static void await(const groups *g, const bundle *b, double rate, moment *complete)
{
    if (b->count > 0)
        *complete = moment_later(*complete, moment_plus(pass(g, b, rate), b->rest.all_s));
}

/* Fills in when local server `j` has summed its workers' chunks. */
static void bound_local(groups *g, size_t j)
{
    const problem_node *node = &g->p->nodes[j];
    bundle pushes = worker_pushes(g, j);
    moment complete = moment_at(0);
    double children = 0;
    await(g, &pushes, node->down_bytes_per_s, &complete);
    for (size_t i = first_worker(g, j); i != NOBODY; i = next_worker(g, i)) {
        moment ready = moment_at(g->p->nodes[i].compute_s);
        complete = moment_later(complete, cross(g, ready, i, j));
        children++;
    }
    moment summed = moment_through(&g->added, complete, children, 1 / node->sum_bytes_per_s);
    g->first_s[j] = summed.first_s;
    g->body_s[j] = summed.body_s;
    g->all_s[j] = summed.all_s;
}

/* When the global server has summed what the local servers sent; their pushes that cross its down
 * link into `pushes`. */
static moment bound_global(const groups *g, bundle *pushes)
{
    size_t global = (size_t)g->pl->global;
    const problem_node *node = &g->p->nodes[global];
    moment complete = moment_at(0);
    double locals = 0;
    *pushes = empty_bundle;
    for (size_t j = 0; j < g->p->count; j++) {
        if (g->head[j] < 0)
            continue;
        complete = moment_later(complete, cross(g, summed_at(g, j), j, global));
        if (j != global)
            join(pushes, summed_at(g, j), latency(g, j, global));
        locals++;
    }
    await(g, pushes, node->down_bytes_per_s, &complete);
    return moment_through(&g->added, complete, locals, 1 / node->sum_bytes_per_s);
}

/* What local server `j` sends to its workers on other nodes, from when it has it. */
static bundle worker_pulls(const groups *g, size_t j, moment ready)
{
    bundle b = empty_bundle;
    for (size_t i = first_worker(g, j); i != NOBODY; i = next_worker(g, i))
        if (i != j)
            join(&b, ready, latency(g, j, i));
    return b;
}

/* From what local server `j` has to the end of its last worker. */
static moment rest_of(const groups *g, size_t j)
{
    bundle pulls = worker_pulls(g, j, moment_at(0));
    moment rest = {-INFINITY, -INFINITY, 0};
    if (pulls.count > 0)
        rest = moment_later(
            rest, moment_plus(moment_rest(&g->wire, pulls.count, 1 / g->p->nodes[j].up_bytes_per_s),
                              pulls.rest.all_s));
    for (size_t i = first_worker(g, j); i != NOBODY; i = next_worker(g, i))
        if (i != j)
            rest = moment_later(
                rest,
                moment_plus(moment_rest(&g->wire, 1, 1 / problem_rate_bytes_per_s(g->p, j, i)),
                            problem_latency_s(g->p, j, i)));
    return rest;
}

/* From when a pull to local server `j` has left to the end of its last worker; what is left of the
 * pull still has to leave. */
static moment rest_behind(const groups *g, size_t j)
{
    size_t global = (size_t)g->pl->global;
    moment rest = rest_of(g, j);
    double pace_s = 1 / problem_rate_bytes_per_s(g->p, global, j);
    return moment_plus(moment_later(rest, moment_plus(moment_left(&g->wire, pace_s), rest.all_s)),
                       problem_latency_s(g->p, global, j));
}

/* What the global server sends to the local servers on other nodes. */
static bundle local_pulls(const groups *g, moment summed)
{
    bundle b = empty_bundle;
    for (size_t j = 0; j < g->p->count; j++)
        if (g->head[j] >= 0 && j != (size_t)g->pl->global)
            join(&b, summed, rest_behind(g, j));
    return b;
}

static void add_pushes(load *l, const bundle *b) { load_push(l, b->ready.first_s, b->count); }

static void add_pulls(load *l, const bundle *b)
{
    load_pull(l, b->ready.first_s, b->rest, b->count);
}

/* What one node's links carry in a round. */
typedef struct node_load {
    load up;
    load down;
} node_load;

static node_load load_of(const groups *g, size_t v, moment summed, const bundle *pushes,
                         const bundle *pulls)
{
    size_t global = (size_t)g->pl->global;
    node_load l = {no_load, no_load};
    int32_t parent = g->pl->parent[v];
    if (parent != PLAN_NONE && (size_t)parent != v) {
        load_push(&l.up, g->p->nodes[v].compute_s, 1);
        load_pull(&l.down, cross(g, summed, global, (size_t)parent).first_s,
                  latency(g, (size_t)parent, v), 1);
    }
    if (g->head[v] >= 0) {
        bundle gathered = worker_pushes(g, v);
        bundle spread = worker_pulls(g, v, cross(g, summed, global, v));
        add_pushes(&l.down, &gathered);
        add_pulls(&l.up, &spread);
    }
    if (g->head[v] >= 0 && v != global) {
        load_push(&l.up, g->first_s[v], 1);
        load_pull(&l.down, summed.first_s, rest_behind(g, v), 1);
    }
    if (v == global) {
        add_pushes(&l.down, pushes);
        add_pulls(&l.up, pulls);
    }
    return l;
}

/* The load of a link from all shards. The last byte that leaves may be a push only where a shard
 * sends no pulls through the link; then nothing is known of what follows. */
typedef struct set_load {
    double *start_s; /* (count) earliest start */
    double *rest_s;  /* (count) least that follows */
    double *bytes;   /* (count) */
} set_load;

static void add_set_load(const groups *g, const set_load *sum, size_t v, const load *l)
{
    if (l->count == 0)
        return;
    sum->start_s[v] = smaller_of(sum->start_s[v], l->start_s);
    sum->rest_s[v] = smaller_of(sum->rest_s[v], l->rest.all_s < INFINITY ? l->rest.all_s : 0);
    sum->bytes[v] += l->count * (g->wire.all);
}

static double set_load_end_s(const set_load *sum, size_t v, double rate)
{
    return sum->bytes[v] > 0 ? sum->start_s[v] + sum->bytes[v] / rate + sum->rest_s[v] : 0;
}

/* The bound of one plan; adds what it puts on the links to `up` and `down`, where these are not
 * NULL. */
static double bound_plan_s(const problem *p, const plan *pl, double *scratch, const set_load *up,
                           const set_load *down)
{
    size_t n = p->count, global = (size_t)pl->global;
    groups g = {.p = p,
                .pl = pl,
                .wire = amounts_sent(&p->job),
                .added = amounts_added(&p->job),
                .head = scratch,
                .next = scratch + n,
                .first_s = scratch + 2 * n,
                .body_s = scratch + 3 * n,
                .all_s = scratch + 4 * n};
    list_workers(&g);
    for (size_t j = 0; j < n; j++)
        if (g.head[j] >= 0)
            bound_local(&g, j);
    bundle pushes;
    moment summed = bound_global(&g, &pushes);
    bundle pulls = local_pulls(&g, summed);
    double round_s = 0;
    if (pulls.count > 0)
        round_s = moment_end_s(pass(&g, &pulls, p->nodes[global].up_bytes_per_s), pulls.rest);
    for (size_t v = 0; v < n; v++) {
        if (g.head[v] >= 0)
            round_s =
                larger_of(round_s, moment_end_s(cross(&g, summed, global, v), rest_of(&g, v)));
        node_load l = load_of(&g, v, summed, &pushes, &pulls);
        round_s = larger_of(round_s, load_end_s(&g.wire, &l.up, p->nodes[v].up_bytes_per_s));
        round_s = larger_of(round_s, load_end_s(&g.wire, &l.down, p->nodes[v].down_bytes_per_s));
        if (up)
            add_set_load(&g, up, v, &l.up);
        if (down)
            add_set_load(&g, down, v, &l.down);
    }
    return round_s;
}

double cost_bound_s(const problem *p, const plan *pl, double *scratch)
{
    return bound_plan_s(p, pl, scratch, NULL, NULL);
}

double cost_set_bound_s(const problem *p, const plan_set *set, double *scratch)
{
    size_t n = p->count;
    double *next = scratch + COST_SCRATCH * n;
    set_load up = {next, next + n, next + 2 * n};
    set_load down = {next + 3 * n, next + 4 * n, next + 5 * n};
    double round_s = 0;
    for (size_t v = 0; v < n; v++) {
        up.start_s[v] = up.rest_s[v] = down.start_s[v] = down.rest_s[v] = INFINITY;
        up.bytes[v] = down.bytes[v] = 0;
    }
    for (size_t s = 0; s < set->count; s++) {
        problem part = problem_shard(p, s, set->count);
        round_s = larger_of(round_s, bound_plan_s(&part, &set->shards[s], scratch, &up, &down));
    }
    for (size_t v = 0; v < n; v++) {
        round_s = larger_of(round_s, set_load_end_s(&up, v, p->nodes[v].up_bytes_per_s));
        round_s = larger_of(round_s, set_load_end_s(&down, v, p->nodes[v].down_bytes_per_s));
    }
    return round_s;
}
