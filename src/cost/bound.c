#include "cost/cost.h"

#include <math.h>
#include <stdint.h>

/* What a round cannot beat, from facts that hold for any sharing of links: a chunk is not earlier
 * than a lone chunk on its path, a link carries all bytes that must cross it, an adder adds one
 * chunk at a time. "First", "last" and "all" speak of the chunks of one gradient: whoever needs
 * all of them waits for the first to come and all to pass, and for the last to come and to pass. */

typedef struct amounts {
    double first_bytes; /* on the wire */
    double last_bytes;
    double all_bytes;
    double first_payload_bytes;
    double last_payload_bytes;
    double all_payload_bytes;
} amounts;

/* The earliest times at which the first chunk, and all of them, are somewhere. */
typedef struct times {
    double first_s;
    double all_s;
} times;

#define NOBODY SIZE_MAX

/* Lists of the workers of each local server, in the caller's scratch; the numbers are nodes. */
typedef struct groups {
    const problem *p;
    const plan *pl;
    amounts a;
    double *head;    /* first worker of the node's local server, -1: none */
    double *next;    /* next worker of the same server, -1: none */
    double *first_s; /* a local server's earliest time to have summed the first chunk */
    double *all_s;   /* ... and all */
} groups;

static amounts amounts_of(const job *j)
{
    int64_t last = job_chunk_count(j) - 1;
    return (amounts){
        .first_bytes = (double)job_chunk_wire_bytes(j, 0),
        .last_bytes = (double)job_chunk_wire_bytes(j, last),
        .all_bytes = (double)job_wire_bytes(j),
        .first_payload_bytes = (double)job_chunk_payload_bytes(j, 0),
        .last_payload_bytes = (double)job_chunk_payload_bytes(j, last),
        .all_payload_bytes = (double)job_parameter_bytes(j),
    };
}

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

/* Through one connection: from when the first and the last chunk are ready to when the first and
 * all have arrived. */
static times cross(const groups *g, times ready, size_t from, size_t to)
{
    if (from == to)
        return ready;
    double rate = problem_rate_bytes_per_s(g->p, from, to);
    double latency_s = problem_latency_s(g->p, from, to);
    return (times){
        .first_s = ready.first_s + g->a.first_bytes / rate + latency_s,
        .all_s = fmax(ready.first_s + g->a.all_bytes / rate, ready.all_s + g->a.last_bytes / rate) +
                 latency_s,
    };
}

/* Through a server's adder. */
static times add_up(const groups *g, times complete, double children, size_t node)
{
    double rate = g->p->nodes[node].sum_bytes_per_s;
    return (times){
        .first_s = complete.first_s + children * g->a.first_payload_bytes / rate,
        .all_s = fmax(complete.first_s + children * g->a.all_payload_bytes / rate,
                      complete.all_s + children * g->a.last_payload_bytes / rate),
    };
}

/* Several connections that share a link of one node: the earliest start and shortest latency among
 * them, and their number. */
typedef struct bundle {
    times ready;
    double tail_s;
    double count;
} bundle;

static const bundle empty_bundle = {{INFINITY, INFINITY}, INFINITY, 0};

static void join(bundle *b, times ready, double tail_s)
{
    b->ready.first_s = fmin(b->ready.first_s, ready.first_s);
    b->ready.all_s = fmin(b->ready.all_s, ready.all_s);
    b->tail_s = fmin(b->tail_s, tail_s);
    b->count++;
}

/* All that a bundle carries cannot have passed the link earlier. */
static times pass(const groups *g, const bundle *b, double rate)
{
    if (b->count == 0)
        return (times){0, 0};
    return (times){
        .first_s = b->ready.first_s + b->count * g->a.first_bytes / rate + b->tail_s,
        .all_s = fmax(b->ready.first_s + b->count * g->a.all_bytes / rate,
                      b->ready.all_s + b->count * g->a.last_bytes / rate) +
                 b->tail_s,
    };
}

static void raise(times *t, times other)
{
    t->first_s = fmax(t->first_s, other.first_s);
    t->all_s = fmax(t->all_s, other.all_s);
}

static double latency(const groups *g, size_t from, size_t to)
{
    return problem_latency_s(g->p, from, to);
}

/* What the workers of local server `j` on other nodes push to it. */
static bundle worker_pushes(const groups *g, size_t j)
{
    bundle b = empty_bundle;
    for (size_t i = first_worker(g, j); i != NOBODY; i = next_worker(g, i)) {
        double compute_s = g->p->nodes[i].compute_s;
        if (i != j)
            join(&b, (times){compute_s, compute_s}, latency(g, i, j));
    }
    return b;
}

/* Fills in when local server `j` has summed its workers' chunks. */
static void bound_local(groups *g, size_t j)
{
    bundle pushes = worker_pushes(g, j);
    times complete = pass(g, &pushes, g->p->nodes[j].down_bytes_per_s);
    double children = 0;
    for (size_t i = first_worker(g, j); i != NOBODY; i = next_worker(g, i)) {
        double compute_s = g->p->nodes[i].compute_s;
        raise(&complete, cross(g, (times){compute_s, compute_s}, i, j));
        children++;
    }
    times summed = add_up(g, complete, children, j);
    g->first_s[j] = summed.first_s;
    g->all_s[j] = summed.all_s;
}

/* When the global server has summed what the local servers sent; their pushes that cross its down
 * link into `pushes`. */
static times bound_global(const groups *g, bundle *pushes)
{
    size_t global = (size_t)g->pl->global;
    times complete = {0, 0};
    double locals = 0;
    *pushes = empty_bundle;
    for (size_t j = 0; j < g->p->count; j++) {
        if (g->head[j] < 0)
            continue;
        times summed = {g->first_s[j], g->all_s[j]};
        raise(&complete, cross(g, summed, j, global));
        if (j != global)
            join(pushes, summed, latency(g, j, global));
        locals++;
    }
    raise(&complete, pass(g, pushes, g->p->nodes[global].down_bytes_per_s));
    return add_up(g, complete, locals, global);
}

/* What local server `j` sends to its workers on other nodes, from when it has it. */
static bundle worker_pulls(const groups *g, size_t j, times ready)
{
    bundle b = empty_bundle;
    for (size_t i = first_worker(g, j); i != NOBODY; i = next_worker(g, i))
        if (i != j)
            join(&b, ready, latency(g, j, i));
    return b;
}

/* When the last of the workers of local server `j` has all. */
static double bound_group_s(const groups *g, size_t j, times ready)
{
    bundle pulls = worker_pulls(g, j, ready);
    times end = {-INFINITY, ready.all_s};
    if (pulls.count > 0)
        raise(&end, pass(g, &pulls, g->p->nodes[j].up_bytes_per_s));
    for (size_t i = first_worker(g, j); i != NOBODY; i = next_worker(g, i))
        raise(&end, cross(g, ready, j, i));
    return end.all_s;
}

/* From the arrival of the last chunk at local server `j` to its arrival at its last worker. */
static double rest_s(const groups *g, size_t j)
{
    return bound_group_s(g, j, (times){-INFINITY, 0});
}

/* What the global server sends to the local servers on other nodes; a chunk that has left still
 * has to reach the workers. */
static bundle local_pulls(const groups *g, times summed)
{
    size_t global = (size_t)g->pl->global;
    bundle b = empty_bundle;
    for (size_t j = 0; j < g->p->count; j++)
        if (g->head[j] >= 0 && j != global)
            join(&b, summed, latency(g, global, j) + rest_s(g, j));
    return b;
}

/* Everything that shares one link in a round. Pushes may be joined with pulls: whoever pushes the
 * last chunk waits for the pulls that follow, so the shortest tail is that of a pull. */
typedef struct load {
    double start_s;
    double tail_s; /* of the pulls; INFINITY without any */
    double count;
} load;

static void add_load(load *l, const bundle *b, bool pull)
{
    l->start_s = fmin(l->start_s, b->ready.first_s);
    l->count += b->count;
    if (pull)
        l->tail_s = fmin(l->tail_s, b->tail_s);
}

static bundle lone(times ready, double tail_s)
{
    bundle b = empty_bundle;
    join(&b, ready, tail_s);
    return b;
}

/* What one node's links carry in a round. */
typedef struct node_load {
    load up;
    load down;
} node_load;

static node_load load_of(const groups *g, size_t v, times summed, const bundle *pushes,
                         const bundle *pulls)
{
    size_t global = (size_t)g->pl->global;
    node_load l = {{INFINITY, INFINITY, 0}, {INFINITY, INFINITY, 0}};
    int32_t parent = g->pl->parent[v];
    if (parent != PLAN_NONE && (size_t)parent != v) {
        double compute_s = g->p->nodes[v].compute_s;
        bundle push = lone((times){compute_s, compute_s}, INFINITY);
        bundle pull = lone(cross(g, summed, global, (size_t)parent), latency(g, (size_t)parent, v));
        add_load(&l.up, &push, false);
        add_load(&l.down, &pull, true);
    }
    if (g->head[v] >= 0) {
        bundle gathered = worker_pushes(g, v);
        bundle spread = worker_pulls(g, v, cross(g, summed, global, v));
        add_load(&l.down, &gathered, false);
        add_load(&l.up, &spread, true);
    }
    if (g->head[v] >= 0 && v != global) {
        bundle push = lone((times){g->first_s[v], g->all_s[v]}, INFINITY);
        bundle pull = lone(summed, latency(g, global, v) + rest_s(g, v));
        add_load(&l.up, &push, false);
        add_load(&l.down, &pull, true);
    }
    if (v == global) {
        add_load(&l.down, pushes, false);
        add_load(&l.up, pulls, true);
    }
    return l;
}

static double load_end_s(const groups *g, const load *l, double rate)
{
    if (l->count == 0 || l->tail_s == INFINITY)
        return 0;
    return l->start_s + l->count * g->a.all_bytes / rate + l->tail_s;
}

/* The load of a link from all shards. The last byte that leaves may be a push only where a shard
 * sends no pulls through the link; then nothing is known of what follows. */
typedef struct set_load {
    double *start_s; /* (count) earliest start */
    double *tail_s;  /* (count) shortest tail */
    double *bytes;   /* (count) */
} set_load;

static void add_set_load(const groups *g, const set_load *sum, size_t v, const load *l)
{
    if (l->count == 0)
        return;
    sum->start_s[v] = fmin(sum->start_s[v], l->start_s);
    sum->tail_s[v] = fmin(sum->tail_s[v], l->tail_s < INFINITY ? l->tail_s : 0);
    sum->bytes[v] += l->count * g->a.all_bytes;
}

static double set_load_end_s(const set_load *sum, size_t v, double rate)
{
    return sum->bytes[v] > 0 ? sum->start_s[v] + sum->bytes[v] / rate + sum->tail_s[v] : 0;
}

/* The bound of one plan; adds what it puts on the links to `up` and `down`, where these are not
 * NULL. */
static double bound_plan_s(const problem *p, const plan *pl, double *scratch, const set_load *up,
                           const set_load *down)
{
    size_t n = p->count, global = (size_t)pl->global;
    groups g = {p, pl, amounts_of(&p->job), scratch, scratch + n, scratch + 2 * n, scratch + 3 * n};
    list_workers(&g);
    for (size_t j = 0; j < n; j++)
        if (g.head[j] >= 0)
            bound_local(&g, j);
    bundle pushes;
    times summed = bound_global(&g, &pushes);
    bundle pulls = local_pulls(&g, summed);
    double round_s = pulls.count > 0 ? pass(&g, &pulls, p->nodes[global].up_bytes_per_s).all_s : 0;
    for (size_t v = 0; v < n; v++) {
        if (g.head[v] >= 0)
            round_s = fmax(round_s, bound_group_s(&g, v, cross(&g, summed, global, v)));
        node_load l = load_of(&g, v, summed, &pushes, &pulls);
        round_s = fmax(round_s, load_end_s(&g, &l.up, p->nodes[v].up_bytes_per_s));
        round_s = fmax(round_s, load_end_s(&g, &l.down, p->nodes[v].down_bytes_per_s));
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
    double *next = scratch + 4 * n;
    set_load up = {next, next + n, next + 2 * n};
    set_load down = {next + 3 * n, next + 4 * n, next + 5 * n};
    double round_s = 0;
    for (size_t v = 0; v < n; v++) {
        up.start_s[v] = up.tail_s[v] = down.start_s[v] = down.tail_s[v] = INFINITY;
        up.bytes[v] = down.bytes[v] = 0;
    }
    for (size_t s = 0; s < set->count; s++) {
        problem part = problem_shard(p, s, set->count);
        round_s = fmax(round_s, bound_plan_s(&part, &set->shards[s], scratch, &up, &down));
    }
    for (size_t v = 0; v < n; v++) {
        round_s = fmax(round_s, set_load_end_s(&up, v, p->nodes[v].up_bytes_per_s));
        round_s = fmax(round_s, set_load_end_s(&down, v, p->nodes[v].down_bytes_per_s));
    }
    return round_s;
}
