#include "cost/cost.h"

#include "base/heap.h"
#include "base/mem.h"
#include "cost/fluid.h"
#include "cost/round_int.h"
#include "cost/search.h"

#include <math.h>
#include <stdbool.h>

/* About what a chunk sent and a rate worked out take, in microseconds, in a large network; in one
 * of so many nodes they take half, as the caches hold it. */
#define SEND_US 0.2
#define SETTLE_US 0.05
#define CACHED_NODES 45

typedef struct connection {
    tree_stage stage;
    uint32_t member; /* its worker or local server */
    uint32_t shard;
    uint32_t from; /* nodes */
    uint32_t to;
    double latency_s;
    double cap_bytes_per_s;
    size_t chunks;
    size_t ready; /* chunks that may leave, have left or are leaving, have arrived */
    size_t started;
    size_t arrived;
    bool busy;
} connection;

typedef struct server {
    double sum_bytes_per_s;
    const job *shard_job;
    uint32_t children;
    size_t complete; /* chunks that all children delivered; chunks summed */
    size_t summed;
    bool summing;
} server;

typedef enum event_kind { EVENT_COMPUTED, EVENT_ARRIVED, EVENT_SUMMED, EVENT_KINDS } event_kind;

typedef struct play {
    const problem *p;
    const tree *t;
    size_t chunks; /* of the largest shard */
    connection *connections;
    server *servers;
    uint32_t *missing; /* (servers, chunks) children that did not deliver a chunk yet */
    fluid *fluid;
    heap events;
    double now_s;
    size_t unfinished; /* workers that lack chunks */
    round_trace *trace;
} play;

static edgeps_err post(play *r, double at_s, event_kind kind, size_t subject)
{
    return heap_push(&r->events, at_s, subject * EVENT_KINDS + kind);
}

/* Lets the next ready chunk of a connection leave, if the previous one has left. */
static edgeps_err send_next(play *r, size_t id)
{
    connection *c = &r->connections[id];
    if (c->busy || c->started == c->ready)
        return EDGEPS_OK;
    size_t chunk = c->started++;
    if (r->trace)
        r->trace->start_s[id * r->chunks + chunk] = r->now_s;
    c->busy = true;
    double bytes = (double)job_chunk_wire_bytes(&r->t->shard_job[c->shard], (int64_t)chunk);
    return fluid_start(r->fluid, c->from, c->to, c->cap_bytes_per_s, bytes, id);
}

/* One more chunk may leave. Between roles of one node it is there at once. */
static edgeps_err offer(play *r, size_t id)
{
    connection *c = &r->connections[id];
    c->ready++;
    if (c->from != c->to)
        return send_next(r, id);
    if (r->trace)
        r->trace->start_s[id * r->chunks + c->started] = r->now_s;
    c->started++;
    return post(r, r->now_s, EVENT_ARRIVED, id);
}

static edgeps_err offer_to_workers(play *r, size_t l)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t w = r->t->local_first[l]; !err && w < r->t->local_first[l + 1]; w++)
        err = offer(r, tree_connection(r->t, TREE_PULL_WORKER, w));
    return err;
}

static edgeps_err offer_to_locals(play *r, size_t shard)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t l = r->t->shard_first[shard]; !err && l < r->t->shard_first[shard + 1]; l++)
        err = offer(r, tree_connection(r->t, TREE_PULL_LOCAL, l));
    return err;
}

static edgeps_err sum_next(play *r, size_t s)
{
    server *v = &r->servers[s];
    if (v->summing || v->summed == v->complete)
        return EDGEPS_OK;
    v->summing = true;
    if (r->trace)
        r->trace->sum_start_s[s * r->chunks + v->summed] = r->now_s;
    double bytes =
        (double)v->children * (double)job_chunk_payload_bytes(v->shard_job, (int64_t)v->summed);
    return post(r, r->now_s + bytes / v->sum_bytes_per_s, EVENT_SUMMED, s);
}

static edgeps_err deliver(play *r, size_t s, size_t chunk)
{
    if (--r->missing[s * r->chunks + chunk])
        return EDGEPS_OK;
    r->servers[s].complete++;
    return sum_next(r, s);
}

static edgeps_err on_arrived(play *r, size_t id)
{
    connection *c = &r->connections[id];
    size_t chunk = c->arrived++;
    if (r->trace)
        r->trace->arrive_s[id * r->chunks + chunk] = r->now_s;
    switch (c->stage) {
    case TREE_PUSH_LOCAL:
        return deliver(r, r->t->worker_local[c->member], chunk);
    case TREE_PUSH_GLOBAL:
        return deliver(r, r->t->locals + c->shard, chunk);
    case TREE_PULL_LOCAL:
        return offer_to_workers(r, c->member);
    case TREE_PULL_WORKER:
        if (c->arrived == c->chunks && --r->unfinished == 0 && r->trace)
            r->trace->last_worker = c->member;
        break;
    }
    return EDGEPS_OK;
}

static edgeps_err on_summed(play *r, size_t s)
{
    server *v = &r->servers[s];
    edgeps_err err = EDGEPS_OK;
    if (r->trace)
        r->trace->sum_end_s[s * r->chunks + v->summed] = r->now_s;
    v->summed++;
    v->summing = false;
    if (s < r->t->locals)
        err = offer(r, tree_connection(r->t, TREE_PUSH_GLOBAL, s));
    else
        err = offer_to_locals(r, s - r->t->locals);
    return err ? err : sum_next(r, s);
}

static edgeps_err on_computed(play *r, size_t worker)
{
    edgeps_err err = EDGEPS_OK;
    size_t id = tree_connection(r->t, TREE_PUSH_LOCAL, worker);
    for (size_t c = 0; !err && c < r->connections[id].chunks; c++)
        err = offer(r, id);
    return err;
}

static edgeps_err on_sent(play *r, size_t id)
{
    connection *c = &r->connections[id];
    c->busy = false;
    edgeps_err err = post(r, r->now_s + c->latency_s, EVENT_ARRIVED, id);
    return err ? err : send_next(r, id);
}

static edgeps_err dispatch(play *r, uint64_t event)
{
    size_t subject = (size_t)(event / EVENT_KINDS);
    switch ((event_kind)(event % EVENT_KINDS)) {
    case EVENT_COMPUTED:
        return on_computed(r, subject);
    case EVENT_ARRIVED:
        return on_arrived(r, subject);
    default:
        return on_summed(r, subject);
    }
}

/* Everything that happens at one instant, so that rates are computed once for it. */
static edgeps_err play_instant(play *r)
{
    edgeps_err err = EDGEPS_OK;
    uint64_t id;
    heap_item item;
    fluid_advance(r->fluid, r->now_s);
    while (!err && fluid_take(r->fluid, &id))
        err = on_sent(r, (size_t)id);
    while (!err && r->events.count && r->events.items[0].key <= r->now_s) {
        heap_pop(&r->events, &item);
        err = dispatch(r, item.id);
    }
    return err;
}

static edgeps_err play_events(play *r, double *round_s)
{
    while (r->unfinished) {
        double next_s = r->events.count ? r->events.items[0].key : INFINITY;
        next_s = fmin(next_s, fluid_next_s(r->fluid));
        if (next_s == INFINITY) {
            *round_s = INFINITY;
            return EDGEPS_OK;
        }
        r->now_s = next_s;
        edgeps_err err = play_instant(r);
        if (err)
            return err;
    }
    *round_s = r->now_s;
    return EDGEPS_OK;
}

static void open_connections(play *r)
{
    for (size_t id = 0; id < tree_connection_count(r->t); id++) {
        connection *c = &r->connections[id];
        size_t member;
        tree_ends(r->t, id, &c->stage, &member, &c->from, &c->to);
        c->member = (uint32_t)member;
        c->shard = (uint32_t)tree_connection_shard(r->t, c->stage, member);
        c->chunks = (size_t)job_chunk_count(&r->t->shard_job[c->shard]);
        c->latency_s = problem_latency_s(r->p, c->from, c->to);
        c->cap_bytes_per_s = problem_cap_bytes_per_s(r->p, c->from, c->to);
    }
}

static void open_servers(play *r)
{
    const tree *t = r->t;
    for (size_t s = 0; s < tree_server_count(t); s++) {
        size_t first, last;
        tree_children(t, s, &first, &last);
        r->servers[s].sum_bytes_per_s = r->p->nodes[tree_server_node(t, s)].sum_bytes_per_s;
        r->servers[s].shard_job = &t->shard_job[tree_server_shard(t, s)];
        r->servers[s].children = (uint32_t)(last - first);
        for (size_t c = 0; c < r->chunks; c++)
            r->missing[s * r->chunks + c] = r->servers[s].children;
    }
}

static edgeps_err open_fluid(play *r)
{
    const problem *p = r->p;
    double *rates = mem_alloc(2 * p->count, sizeof *rates);
    if (!rates)
        return EDGEPS_NOMEM;
    for (size_t i = 0; i < p->count; i++) {
        rates[i] = p->nodes[i].up_bytes_per_s;
        rates[p->count + i] = p->nodes[i].down_bytes_per_s;
    }
    edgeps_err err = fluid_make(p->count, rates, rates + p->count, &r->fluid);
    mem_free(rates);
    return err;
}

static void note_limits(const play *r)
{
    for (size_t i = 0; i < r->p->count; i++) {
        r->trace->up_limited[i] = fluid_up_has_limited(r->fluid, i);
        r->trace->down_limited[i] = fluid_down_has_limited(r->fluid, i);
    }
}

edgeps_err round_play(const problem *p, const tree *t, round_trace *trace, double *round_s,
                      uint64_t *settled)
{
    play r = {.p = p, .t = t, .chunks = t->chunks, .trace = trace};
    edgeps_err err = EDGEPS_NOMEM;
    r.unfinished = t->workers;
    r.connections = mem_alloc(tree_connection_count(t), sizeof *r.connections);
    r.servers = mem_alloc(tree_server_count(t), sizeof *r.servers);
    r.missing = mem_alloc(tree_server_count(t) * r.chunks, sizeof *r.missing);
    if (!r.connections || !r.servers || !r.missing)
        goto out;
    open_connections(&r);
    open_servers(&r);
    err = open_fluid(&r);
    for (size_t w = 0; !err && w < t->workers; w++)
        err = post(&r, p->nodes[t->worker_node[w]].compute_s, EVENT_COMPUTED, w);
    if (!err)
        err = play_events(&r, round_s);
    if (!err && trace)
        note_limits(&r);
    if (!err && settled)
        *settled = fluid_settled(r.fluid);
out:
    mem_free(r.connections);
    mem_free(r.servers);
    mem_free(r.missing);
    fluid_free(r.fluid);
    heap_free(&r.events);
    return err;
}

edgeps_err round_trace_make(const problem *p, const tree *t, round_trace *out)
{
    size_t sent = tree_connection_count(t) * t->chunks;
    size_t summed = tree_server_count(t) * t->chunks;
    round_trace trace = {
        .chunks = t->chunks,
        .start_s = mem_alloc(sent, sizeof(double)),
        .arrive_s = mem_alloc(sent, sizeof(double)),
        .sum_start_s = mem_alloc(summed, sizeof(double)),
        .sum_end_s = mem_alloc(summed, sizeof(double)),
        .up_limited = mem_alloc(p->count, sizeof(bool)),
        .down_limited = mem_alloc(p->count, sizeof(bool)),
    };
    if (!trace.start_s || !trace.arrive_s || !trace.sum_start_s || !trace.sum_end_s ||
        !trace.up_limited || !trace.down_limited) {
        round_trace_free(&trace);
        return EDGEPS_NOMEM;
    }
    *out = trace;
    return EDGEPS_OK;
}

void round_trace_free(round_trace *trace)
{
    mem_free(trace->start_s);
    mem_free(trace->arrive_s);
    mem_free(trace->sum_start_s);
    mem_free(trace->sum_end_s);
    mem_free(trace->up_limited);
    mem_free(trace->down_limited);
    *trace = (round_trace){0};
}

static edgeps_err play_plans(const problem *p, const plan *plans, size_t shards, double *round_s,
                             double *work_us)
{
    tree t;
    double played_s;
    uint64_t settled = 0;
    edgeps_err err = tree_make(&p->job, plans, shards, &t);
    if (err)
        return err;
    err = round_play(p, &t, NULL, &played_s, &settled);
    if (!err) {
        double sent = (double)(tree_connection_count(&t) * t.chunks);
        *round_s = played_s;
        *work_us += (SEND_US * sent + SETTLE_US * (double)settled) * (double)p->count /
                    (double)(p->count + CACHED_NODES);
    }
    tree_free(&t);
    return err;
}

edgeps_err cost_round_s(const problem *p, const plan *pl, double *round_s)
{
    double work_us = 0;
    return play_plans(p, pl, 1, round_s, &work_us);
}

edgeps_err cost_round_counted_s(const problem *p, const plan *pl, double *round_s, double *work_us)
{
    return play_plans(p, pl, 1, round_s, work_us);
}

edgeps_err cost_set_round_s(const problem *p, const plan_set *set, double *round_s)
{
    double work_us = 0;
    return play_plans(p, set->shards, set->count, round_s, &work_us);
}
