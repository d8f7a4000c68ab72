#include "cost/cost.h"

#include "base/mem.h"
#include "base/parallel.h"
#include "cost/round_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The round is re-played without each of this many most loaded resources, and without the most
 * loaded of each kind. */
#define TRIED_RESOURCES 6
#define RESOURCE_KINDS (COST_SUMMING + 1)
#define THREADS_NODES 200 /* with fewer, a round is played faster than a thread starts */

const char *cost_phase_name(cost_phase phase)
{
    static const char *const names[COST_PHASES] = {
        "compute",       "push to local", "sum at local",   "push to global",
        "sum at global", "pull to local", "pull to worker",
    };
    return names[phase];
}

/* A place on the critical path, which is read from its end to its start. */
typedef struct position {
    size_t chunk;
    double at_s;
} position;

/* The stage on the critical path that ends with `connection` having delivered the chunk at `at`:
 * back to when the first of the chunks that left without a gap became ready. A chunk that started
 * as soon as it was ready started at the very same clock value. */
static double connection_phase_s(const round_trace *trace, size_t connection, const double *ready_s,
                                 position *at)
{
    const double *start_s = trace->start_s + connection * trace->chunks;
    double end_s = at->at_s;
    while (at->chunk > 0 && start_s[at->chunk] > (ready_s ? ready_s[at->chunk] : start_s[0]))
        at->chunk--;
    at->at_s = start_s[at->chunk];
    return end_s - at->at_s;
}

/* The child among connections first..last-1 that delivered `chunk` last. */
static size_t last_child(const round_trace *trace, size_t first, size_t last, size_t chunk)
{
    size_t latest = first;
    for (size_t id = first + 1; id < last; id++)
        if (trace->arrive_s[id * trace->chunks + chunk] >
            trace->arrive_s[latest * trace->chunks + chunk])
            latest = id;
    return latest;
}

/* The same for the additions of server `s`; the child waited for in `*child`. */
static double sum_phase_s(const tree *t, const round_trace *trace, size_t s, position *at,
                          size_t *child)
{
    size_t first, last;
    tree_children(t, s, &first, &last);
    const double *start_s = trace->sum_start_s + s * trace->chunks;
    double end_s = at->at_s;
    *child = last_child(trace, first, last, at->chunk);
    while (at->chunk > 0 &&
           start_s[at->chunk] > trace->arrive_s[*child * trace->chunks + at->chunk]) {
        at->chunk--;
        *child = last_child(trace, first, last, at->chunk);
    }
    at->at_s = start_s[at->chunk];
    return end_s - at->at_s;
}

/* Reads the critical path back from the last worker's last chunk. */
static void read_phases(const tree *t, const round_trace *trace, double round_s, double *phase_s)
{
    size_t worker = trace->last_worker, l = t->worker_local[worker], shard = t->local_shard[l];
    size_t child, at_global = t->locals + shard;
    size_t pull_local = tree_connection(t, TREE_PULL_LOCAL, l);
    position at = {(size_t)job_chunk_count(&t->shard_job[shard]) - 1, round_s};

    phase_s[COST_PULL_WORKER] =
        connection_phase_s(trace, tree_connection(t, TREE_PULL_WORKER, worker),
                           trace->arrive_s + pull_local * trace->chunks, &at);
    phase_s[COST_PULL_LOCAL] =
        connection_phase_s(trace, pull_local, trace->sum_end_s + at_global * trace->chunks, &at);
    phase_s[COST_SUM_GLOBAL] = sum_phase_s(t, trace, at_global, &at, &child);
    l = child - tree_connection(t, TREE_PUSH_GLOBAL, 0);
    phase_s[COST_PUSH_GLOBAL] =
        connection_phase_s(trace, child, trace->sum_end_s + l * trace->chunks, &at);
    phase_s[COST_SUM_LOCAL] = sum_phase_s(t, trace, l, &at, &child);
    phase_s[COST_PUSH_LOCAL] = connection_phase_s(trace, child, NULL, &at);
    phase_s[COST_COMPUTE] = at.at_s;
}

typedef struct candidate {
    cost_bottleneck what;
    double load_s; /* time it is busy in a round if nothing else limits */
} candidate;

typedef struct candidates {
    candidate *items;
    size_t count;
} candidates;

static void add_candidate(candidates *list, cost_resource resource, uint32_t node, int32_t other,
                          double load_s)
{
    if (load_s > 0)
        list->items[list->count++] = (candidate){{resource, (int32_t)node, other, 0}, load_s};
}

static void add_nodes(const problem *p, const tree *t, const double *up_bytes,
                      const double *down_bytes, candidates *list)
{
    for (uint32_t i = 0; i < p->count; i++) {
        add_candidate(list, COST_UP, i, PLAN_NONE, up_bytes[i] / p->nodes[i].up_bytes_per_s);
        add_candidate(list, COST_DOWN, i, PLAN_NONE, down_bytes[i] / p->nodes[i].down_bytes_per_s);
    }
    for (size_t w = 0; w < t->workers; w++) {
        uint32_t i = t->worker_node[w];
        add_candidate(list, COST_WORK, i, PLAN_NONE, p->nodes[i].compute_s);
    }
    for (size_t s = 0; s < tree_server_count(t); s++) {
        uint32_t node = tree_server_node(t, s);
        double payload_bytes = (double)job_parameter_bytes(&t->shard_job[tree_server_shard(t, s)]);
        size_t first, last;
        tree_children(t, s, &first, &last);
        add_candidate(list, COST_SUMMING, node, PLAN_NONE,
                      (double)(last - first) * payload_bytes / p->nodes[node].sum_bytes_per_s);
    }
}

/* Every resource that the plan uses, with its load. `bytes` holds 2 x count zeros. */
static void list_candidates(const problem *p, const tree *t, double *bytes, candidates *list)
{
    for (size_t id = 0; id < tree_connection_count(t); id++) {
        tree_stage stage;
        size_t member;
        uint32_t from, to;
        tree_ends(t, id, &stage, &member, &from, &to);
        if (from == to)
            continue;
        size_t shard = tree_connection_shard(t, stage, member);
        double wire_bytes = (double)job_wire_bytes(&t->shard_job[shard]);
        bytes[from] += wire_bytes;
        bytes[p->count + to] += wire_bytes;
        add_candidate(list, COST_PAIR, from, (int32_t)to,
                      wire_bytes / problem_cap_bytes_per_s(p, from, to));
        add_candidate(list, COST_LATENCY, from, (int32_t)to, problem_latency_s(p, from, to));
    }
    add_nodes(p, t, bytes, bytes + p->count, list);
}

static int by_load(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->load_s != y->load_s)
        return x->load_s > y->load_s ? -1 : 1;
    if (x->what.resource != y->what.resource)
        return x->what.resource < y->what.resource ? -1 : 1;
    return x->what.node != y->what.node ? x->what.node - y->what.node
                                        : x->what.other - y->what.other;
}

/* The problem's number that a resource stands for, and in `*unlimited` its value without limit. */
static double *resource_field(problem *p, const cost_bottleneck *what, double *unlimited)
{
    problem_node *node = &p->nodes[what->node];
    *unlimited = INFINITY;
    switch (what->resource) {
    case COST_UP:
        return &node->up_bytes_per_s;
    case COST_DOWN:
        return &node->down_bytes_per_s;
    case COST_PAIR:
        return &p->cap_bytes_per_s[problem_site_pair(p, (size_t)what->node, (size_t)what->other)];
    case COST_SUMMING:
        return &node->sum_bytes_per_s;
    case COST_LATENCY:
        *unlimited = 0;
        return &p->latency_s[problem_site_pair(p, (size_t)what->node, (size_t)what->other)];
    case COST_WORK:
        break;
    }
    *unlimited = 0;
    return &node->compute_s;
}

/* The resources that the round is re-played without, each by itself. */
typedef struct trials {
    const problem *p;
    const tree *t;
    double round_s;
    cost_bottleneck what[TRIED_RESOURCES + RESOURCE_KINDS];
    size_t count;
} trials;

static void choose_trials(const candidates *list, trials *out)
{
    bool tried[RESOURCE_KINDS] = {false};
    for (size_t k = 0; k < list->count; k++) {
        cost_resource resource = list->items[k].what.resource;
        if (k >= TRIED_RESOURCES && tried[resource])
            continue;
        tried[resource] = true;
        out->what[out->count++] = list->items[k].what;
    }
}

/* Fills in what the round gains without the resource. */
static edgeps_err measure_gain(void *context, size_t thread, size_t item)
{
    trials *tr = context;
    cost_bottleneck *what = &tr->what[item];
    problem *copy;
    double unlimited, without_s;
    (void)thread;
    edgeps_err err = problem_copy(tr->p, &copy);
    if (err)
        return err;
    double *field = resource_field(copy, what, &unlimited);
    *field = unlimited;
    err = round_play(copy, tr->t, NULL, &without_s, NULL);
    if (!err)
        what->gain_s = without_s < tr->round_s ? tr->round_s - without_s : 0;
    problem_free(copy);
    return err;
}

static edgeps_err find_bottleneck(const problem *p, const tree *t, double round_s,
                                  const candidates *list, cost_bottleneck *best)
{
    trials tr = {.p = p, .t = t, .round_s = round_s};
    choose_trials(list, &tr);
    size_t threads = p->count < THREADS_NODES ? 1 : parallel_threads(tr.count);
    edgeps_err err = parallel_run(threads, tr.count, measure_gain, &tr, NULL);
    for (size_t k = 0; !err && k < tr.count; k++)
        if (k == 0 || tr.what[k].gain_s > best->gain_s)
            *best = tr.what[k];
    return err;
}

static edgeps_err name_bottleneck(const problem *p, const tree *t, cost_result *result)
{
    edgeps_err err = EDGEPS_NOMEM;
    candidates list = {0};
    double *bytes = mem_alloc(2 * p->count, sizeof *bytes);
    /* At most two of each node's links, two of each connection, one of each worker and server. */
    size_t most = 2 * p->count + 2 * tree_connection_count(t) + t->workers + tree_server_count(t);
    list.items = mem_alloc(most, sizeof *list.items);
    if (!bytes || !list.items)
        goto out;
    list_candidates(p, t, bytes, &list);
    qsort(list.items, list.count, sizeof *list.items, by_load);
    err = find_bottleneck(p, t, result->round_s, &list, &result->bottleneck);
out:
    mem_free(bytes);
    mem_free(list.items);
    return err;
}

static edgeps_err evaluate(const problem *p, const plan *plans, size_t shards, cost_result *out)
{
    cost_result result = {.bottleneck = {.node = PLAN_NONE, .other = PLAN_NONE}};
    tree t = {0};
    round_trace trace = {0};
    edgeps_err err = tree_make(&p->job, plans, shards, &t);
    if (!err)
        err = round_trace_make(p, &t, &trace);
    if (!err)
        err = round_play(p, &t, &trace, &result.round_s, NULL);
    if (err)
        goto out;
    result.epoch_s = (double)p->rounds * result.round_s;
    if (t.workers && result.round_s < INFINITY)
        read_phases(&t, &trace, result.round_s, result.phase_s);
    err = name_bottleneck(p, &t, &result);
    if (!err)
        *out = result;
out:
    tree_free(&t);
    round_trace_free(&trace);
    return err;
}

edgeps_err cost_evaluate(const problem *p, const plan *pl, cost_result *out)
{
    return evaluate(p, pl, 1, out);
}

edgeps_err cost_set_evaluate(const problem *p, const plan_set *set, cost_result *out)
{
    return evaluate(p, set->shards, set->count, out);
}

void cost_bottleneck_text(const cost_bottleneck *b, const problem *p, char *text, size_t size)
{
    static const char *const kinds[RESOURCE_KINDS] = {
        [COST_UP] = "up link of",         [COST_DOWN] = "down link of",
        [COST_PAIR] = "pair cap from",    [COST_LATENCY] = "latency from",
        [COST_WORK] = "gradient work of", [COST_SUMMING] = "additions on",
    };
    if (b->node == PLAN_NONE) {
        snprintf(text, size, "nothing limits the round");
        return;
    }
    char where[2 * NETWORK_MAX_NAME + 8];
    if (b->other == PLAN_NONE)
        snprintf(where, sizeof where, "%s", p->nodes[b->node].name);
    else
        snprintf(where, sizeof where, "%s to %s", p->nodes[b->node].name, p->nodes[b->other].name);
    if (b->gain_s > 0)
        snprintf(text, size, "%s %s (without it the round takes %.3g s less)", kinds[b->resource],
                 where, b->gain_s);
    else
        snprintf(text, size, "%s %s is loaded most, but no resource alone holds the round up",
                 kinds[b->resource], where);
}
