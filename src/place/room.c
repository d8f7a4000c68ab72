/* What more storage would be good for. More room changes no time by itself: it allows plans. A plan
 * that one node's storage alone forbids needs more there than is free, so only nodes that some role
 * does not fit on are looked at, and of the changes only those that put more on the node than it
 * holds. */
#include "place/explain.h"

#include "base/mem.h"
#include "base/parallel.h"
#include "place/place_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct change {
    double bound_s;
    place_move_kind kind;
    uint32_t a;
    uint32_t b;
} change;

/* What one thread works with: nodes and room of its own, the rest of ground and problem lent. */
typedef struct bench {
    problem p;
    place_ground gr;
    place_moves moves;
    change *list;
    size_t count;
    size_t room;
    bool short_of_memory;
} bench;

typedef struct study {
    const problem *p;
    const plan *pl;
    int64_t more_bytes;
    double round_s;
    parallel_watch watch;
    place_ground gr;
    bench *benches;
    size_t bench_count;
    bool *seen; /* per gain */
    place_room_gains result;
} study;

static int by_bound(const void *a, const void *b)
{
    const change *x = a, *y = b;
    if (x->bound_s != y->bound_s)
        return x->bound_s < y->bound_s ? -1 : 1;
    if (x->kind != y->kind)
        return (int)x->kind - (int)y->kind;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

/* Bytes that the plan as it stands puts on the node. */
static int64_t need_bytes(const bench *b, size_t node)
{
    const job *j = &b->p.job;
    int64_t children = cost_search_children(b->moves.search, node), need = 0;
    size_t locals;
    cost_search_locals(b->moves.search, &locals);
    if (children > 0)
        need = job_local_need_bytes(j, children);
    if (cost_search_plan(b->moves.search)->global == (int32_t)node)
        need += job_global_need_bytes(j, (int64_t)locals);
    return need;
}

static void keep_change(bench *b, change c)
{
    if (b->count == b->room) {
        size_t room = 2 * b->room + 16;
        change *grown = mem_resize(b->list, room, sizeof *grown);
        b->short_of_memory |= !grown;
        if (!grown)
            return;
        b->list = grown;
        b->room = room;
    }
    b->list[b->count++] = c;
}

/* Lists the change if it shortens the round by its bound and is one that `node` had no room for. */
static void try_change(const study *s, bench *b, size_t node, change c)
{
    if (!place_move(&b->moves, c.kind, c.a, c.b))
        return;
    c.bound_s = cost_search_bound_s(b->moves.search);
    if (c.bound_s < s->round_s && need_bytes(b, node) > s->p->nodes[node].free_bytes)
        keep_change(b, c);
    cost_search_undo(b->moves.search);
}

/* Changes that put more on the node itself. */
static void try_at_node(const study *s, bench *b, uint32_t node)
{
    for (size_t w = 0; w < s->gr.worker_count; w++)
        try_change(s, b, node,
                   (change){.kind = PLACE_MOVE_ATTACH, .a = s->gr.workers[w], .b = node});
    for (uint32_t j = 0; j < s->gr.count; j++) {
        if (cost_search_children(b->moves.search, j) == 0)
            continue;
        try_change(s, b, node, (change){.kind = PLACE_MOVE_SERVER, .a = j, .b = node});
        try_change(s, b, node, (change){.kind = PLACE_MOVE_SPLIT, .a = j, .b = node});
        try_change(s, b, node, (change){.kind = PLACE_MOVE_CLOSE, .a = j});
    }
    try_change(s, b, node, (change){.kind = PLACE_MOVE_OPEN, .a = node});
    try_change(s, b, node, (change){.kind = PLACE_MOVE_GLOBAL, .a = node});
}

/* One more local server somewhere needs room on the global one. */
static void try_more_locals(const study *s, bench *b, uint32_t global)
{
    for (uint32_t to = 0; to < s->gr.count; to++) {
        if (to == global || cost_search_children(b->moves.search, to) > 0)
            continue;
        try_change(s, b, global, (change){.kind = PLACE_MOVE_OPEN, .a = to});
        for (uint32_t from = 0; from < s->gr.count; from++)
            if (cost_search_children(b->moves.search, from) > 0)
                try_change(s, b, global, (change){.kind = PLACE_MOVE_SPLIT, .a = from, .b = to});
    }
}

static void describe(const problem *p, const change *c, char *text, size_t size)
{
    const char *a = p->nodes[c->a].name, *b = p->nodes[c->b].name;
    switch (c->kind) {
    case PLACE_MOVE_ATTACH:
        snprintf(text, size, "worker %s changes to %s", a, b);
        break;
    case PLACE_MOVE_SERVER:
        snprintf(text, size, "%s takes all workers of %s", b, a);
        break;
    case PLACE_MOVE_SPLIT:
        snprintf(text, size, "%s takes half of the workers of %s", b, a);
        break;
    case PLACE_MOVE_CLOSE:
        snprintf(text, size, "local server %s closes", a);
        break;
    case PLACE_MOVE_OPEN:
        snprintf(text, size, "%s becomes a local server", a);
        break;
    default:
        snprintf(text, size, "%s becomes the global server", a);
    }
}

/* Plays the listed changes, best bound first, until none can be better than the best. */
static edgeps_err play_changes(const study *s, bench *b, place_room_gain *gain)
{
    double best_s = s->round_s;
    const change *best = NULL;
    if (b->count > 0)
        qsort(b->list, b->count, sizeof *b->list, by_bound);
    for (size_t k = 0; k < b->count && b->list[k].bound_s < best_s; k++) {
        const change *c = &b->list[k];
        double round_s;
        if (!place_move(&b->moves, c->kind, c->a, c->b))
            continue;
        edgeps_err err = cost_round_s(&b->p, cost_search_plan(b->moves.search), &round_s);
        cost_search_undo(b->moves.search);
        if (err)
            return err;
        if (round_s >= best_s)
            continue;
        best_s = round_s;
        best = c;
    }
    gain->gain_s = s->round_s - best_s;
    if (best)
        describe(s->p, best, gain->change, sizeof gain->change);
    return EDGEPS_OK;
}

static edgeps_err find_room_gain(void *context, size_t thread, size_t item)
{
    study *s = context;
    bench *b = &s->benches[thread];
    place_room_gain *gain = &s->result.gains[item];
    uint32_t node = gain->node;
    b->count = 0;
    b->p.nodes[node].free_bytes += s->more_bytes;
    place_ground_room(&b->gr, node);
    try_at_node(s, b, node);
    if (s->pl->global == (int32_t)node)
        try_more_locals(s, b, node);
    edgeps_err err = play_changes(s, b, gain);
    b->p.nodes[node].free_bytes = s->p->nodes[node].free_bytes;
    place_ground_room(&b->gr, node);
    s->seen[item] = true;
    if (!err)
        err = b->short_of_memory ? EDGEPS_NOMEM : b->moves.err;
    return err;
}

/* The nodes that some role does not fit on. */
static edgeps_err list_nodes(study *s)
{
    const problem *p = s->p;
    int64_t most = job_local_need_bytes(&p->job, (int64_t)p->worker_count) +
                   job_global_need_bytes(&p->job, (int64_t)p->max_locals);
    s->result.gains = mem_alloc(p->count, sizeof *s->result.gains);
    s->seen = mem_alloc(p->count, sizeof *s->seen);
    if (!s->result.gains || !s->seen)
        return EDGEPS_NOMEM;
    for (uint32_t j = 0; j < p->count; j++) {
        if (!p->nodes[j].serve)
            continue;
        if (p->nodes[j].free_bytes >= most)
            s->result.idle++;
        else
            s->result.gains[s->result.count++] = (place_room_gain){.node = j};
    }
    return EDGEPS_OK;
}

static edgeps_err make_bench(const study *s, bench *b)
{
    size_t n = s->p->count;
    edgeps_err err = problem_lend(s->p, &b->p);
    b->gr = s->gr;
    b->gr.p = &b->p;
    b->gr.room = mem_alloc(n, sizeof *b->gr.room);
    b->gr.fan = mem_alloc(n, sizeof *b->gr.fan);
    if (err || !b->gr.room || !b->gr.fan)
        return EDGEPS_NOMEM;
    memcpy(b->gr.room, s->gr.room, n * sizeof *b->gr.room);
    memcpy(b->gr.fan, s->gr.fan, n * sizeof *b->gr.fan);
    return place_moves_make(&b->gr, s->pl, &b->moves);
}

static void free_benches(study *s)
{
    for (size_t k = 0; k < s->bench_count; k++) {
        bench *b = &s->benches[k];
        place_moves_free(&b->moves);
        problem_unlend(&b->p);
        mem_free(b->gr.room);
        mem_free(b->gr.fan);
        mem_free(b->list);
    }
    mem_free(s->benches);
}

static edgeps_err make_benches(study *s)
{
    size_t threads = parallel_threads(s->result.count);
    s->benches = mem_alloc(threads, sizeof *s->benches);
    if (!s->benches)
        return EDGEPS_NOMEM;
    while (s->bench_count < threads) {
        edgeps_err err = make_bench(s, &s->benches[s->bench_count++]);
        if (err)
            return err;
    }
    return EDGEPS_OK;
}

static int by_gain(const void *a, const void *b)
{
    const place_room_gain *x = a, *y = b;
    if (x->gain_s != y->gain_s)
        return x->gain_s > y->gain_s ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static void sort_gains(study *s)
{
    place_room_gains *r = &s->result;
    size_t kept = 0;
    for (size_t k = 0; k < r->count; k++)
        if (s->seen[k])
            r->gains[kept++] = r->gains[k];
    r->left = r->count - kept;
    r->count = kept;
    qsort(r->gains, kept, sizeof *r->gains, by_gain);
}

edgeps_err place_find_room_gains(const problem *p, const plan *pl, int64_t more_bytes,
                                 cost_go_on *go_on, void *context, place_room_gains *out)
{
    study s = {.p = p, .pl = pl, .more_bytes = more_bytes, .watch = {go_on, context}};
    edgeps_err err = place_ground_make(p, &s.gr);
    if (!err)
        err = cost_round_s(p, pl, &s.round_s);
    if (!err)
        err = list_nodes(&s);
    if (!err)
        err = make_benches(&s);
    if (!err)
        err = parallel_run(s.bench_count, s.result.count, find_room_gain, &s, &s.watch);
    if (!err) {
        sort_gains(&s);
        *out = s.result;
    } else {
        place_room_gains_free(&s.result);
    }
    free_benches(&s);
    mem_free(s.seen);
    place_ground_free(&s.gr);
    return err;
}

void place_room_gains_free(place_room_gains *g)
{
    mem_free(g->gains);
    *g = (place_room_gains){0};
}
