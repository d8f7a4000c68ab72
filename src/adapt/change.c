#include "adapt/search_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Broken servers whose changes are listed at once. */
#define MOST_BROKEN 2

/* A worker and what it loses by the change of server that is considered. */
typedef struct nearby {
    double loss_s;
    int32_t worker;
} nearby;

struct nearby *change_scratch(size_t count) { return mem_alloc(count, sizeof(nearby)); }

static void add(search *s, change c)
{
    changes *list = &s->changes;
    if (s->err)
        return;
    change *items = mem_grow(list->items, list->count + 1, sizeof *items, &list->room);
    if (!items) {
        s->err = EDGEPS_NOMEM;
        return;
    }
    list->items = items;
    list->items[list->count++] = c;
}

/* ---- constraints ---- */

bool change_unreached(const problem *p, size_t worker, int32_t server)
{
    return server == PLAN_NONE || !p->nodes[server].serve ||
           !problem_connected(p, worker, (size_t)server);
}

static int64_t need_bytes(const search *s, size_t node)
{
    size_t locals;
    int32_t children = cost_search_children(s->now, node);
    int64_t need = children > 0 ? job_local_need_bytes(&s->p->job, children) : 0;
    cost_search_locals(s->now, &locals);
    if (search_plan(s)->global == (int32_t)node)
        need += job_global_need_bytes(&s->p->job, (int64_t)locals);
    return need;
}

double change_server_broken(const search *s, size_t node)
{
    const problem *p = s->p;
    size_t global = (size_t)search_plan(s)->global;
    double broken = cost_search_children(s->now, node) > 0 && !problem_connected(p, node, global);
    int64_t need = need_bytes(s, node), offered = p->nodes[node].free_bytes;
    if (need > offered)
        broken += 1 + (double)(need - offered) / (double)job_parameter_bytes(&p->job);
    return broken;
}

/* ---- which changes there are ---- */

static bool is_open(const search *s, int32_t node)
{
    return cost_search_children(s->now, (size_t)node) > 0;
}

/* A local server with so many workers, and nothing else, fits there. */
static bool may_hold(const search *s, int32_t node, int32_t children)
{
    return s->p->nodes[node].serve &&
           job_local_need_bytes(&s->p->job, children) <= s->p->nodes[node].free_bytes;
}

static void list_global(search *s)
{
    int32_t global = search_plan(s)->global;
    for (int32_t to = 0; (size_t)to < s->p->count; to++)
        if (s->p->nodes[to].serve && to != global &&
            job_global_need_bytes(&s->p->job, 1) <= s->p->nodes[to].free_bytes)
            add(s, (change){CHANGE_GLOBAL, global, to});
}

/* A worker goes to any local server there is, or to one on its own node. */
static void list_worker(search *s, int32_t worker)
{
    size_t count;
    int32_t parent = search_plan(s)->parent[worker];
    const uint32_t *locals = cost_search_locals(s->now, &count);
    for (size_t l = 0; l < count; l++)
        if (s->p->nodes[locals[l]].serve && (int32_t)locals[l] != parent)
            add(s, (change){CHANGE_ATTACH, worker, (int32_t)locals[l]});
    if (parent != worker && !is_open(s, worker) && may_hold(s, worker, 1))
        add(s, (change){CHANGE_ATTACH, worker, worker});
}

/* Changes of the local server on `from` as a whole. */
static void list_server(search *s, int32_t from)
{
    int32_t children = cost_search_children(s->now, (size_t)from);
    add(s, (change){CHANGE_CLOSE, from, PLAN_NONE});
    for (int32_t to = 0; (size_t)to < s->p->count; to++) {
        int32_t there = cost_search_children(s->now, (size_t)to);
        if (to == from)
            continue;
        if (may_hold(s, to, children + there)) {
            add(s, (change){CHANGE_LOCAL, from, to});
            if (from == search_plan(s)->global)
                add(s, (change){CHANGE_BOTH, from, to});
        }
        if (there == 0 && children > 1 && may_hold(s, to, children / 2))
            add(s, (change){CHANGE_SPLIT, from, to});
    }
}

static void list_server_and_workers(search *s, int32_t from)
{
    list_server(s, from);
    for (int32_t i = cost_search_first(s->now, (size_t)from); i != PLAN_NONE;
         i = cost_search_next(s->now, (size_t)i))
        list_worker(s, i);
}

edgeps_err change_list_all(search *s)
{
    s->changes.count = 0;
    list_global(s);
    for (int32_t v = 0; (size_t)v < s->p->count; v++) {
        if (is_open(s, v))
            list_server(s, v);
        if (s->p->nodes[v].train)
            list_worker(s, v);
    }
    return s->err;
}

/* All local servers may close, or join another. */
static void list_closing(search *s)
{
    size_t count;
    const uint32_t *locals = cost_search_locals(s->now, &count);
    for (size_t l = 0; l < count; l++)
        add(s, (change){CHANGE_CLOSE, (int32_t)locals[l], PLAN_NONE});
}

edgeps_err change_list_broken(search *s)
{
    const problem *p = s->p;
    const plan *pl = search_plan(s);
    int servers = 0, workers = 0;
    size_t locals;
    cost_search_locals(s->now, &locals);
    s->changes.count = 0;
    if (!p->nodes[pl->global].serve || change_server_broken(s, (size_t)pl->global) > 0)
        list_global(s);
    if (locals > p->max_locals)
        list_closing(s);
    for (int32_t v = 0; (size_t)v < p->count; v++) {
        bool broken =
            is_open(s, v) && (!p->nodes[v].serve || change_server_broken(s, (size_t)v) > 0);
        if (broken && servers++ < MOST_BROKEN)
            list_server_and_workers(s, v);
        if (p->nodes[v].train && change_unreached(p, (size_t)v, pl->parent[v]) &&
            workers++ < MOST_BROKEN)
            list_worker(s, v);
    }
    return s->err;
}

edgeps_err change_list_critical(search *s)
{
    int32_t servers[2], global = search_plan(s)->global;
    s->changes.count = 0;
    cost_search_critical(s->now, servers);
    list_global(s);
    list_closing(s);
    for (int k = 0; k < 2; k++)
        if (servers[k] != PLAN_NONE && (k == 0 || servers[k] != servers[0]))
            list_server_and_workers(s, servers[k]);
    if (is_open(s, global) && servers[0] != global && servers[1] != global)
        list_server_and_workers(s, global);
    return s->err;
}

/* ---- making one ---- */

static void attach(search *s, int32_t worker, int32_t server)
{
    size_t i = (size_t)worker;
    if (s->err)
        return;
    s->unreached -= change_unreached(s->p, i, search_plan(s)->parent[worker]);
    s->unreached += change_unreached(s->p, i, server);
    s->err = cost_search_attach(s->now, i, (size_t)server);
}

static void move_global(search *s, int32_t to)
{
    if (!s->err)
        s->err = cost_search_move_global(s->now, (size_t)to);
}

/* Push and pull of one worker to and from a server that serves `children` alike. */
static double exchange_s(const problem *p, int32_t worker, int32_t server, int32_t children)
{
    size_t w = (size_t)worker, j = (size_t)server;
    double bytes = (double)job_wire_bytes(&p->job), all = bytes * children;
    double push_s = w == j ? 0 : bytes / problem_rate_bytes_per_s(p, w, j);
    double pull_s = w == j ? 0 : bytes / problem_rate_bytes_per_s(p, j, w);
    double latency_s = problem_latency_s(p, w, j) + problem_latency_s(p, j, w);
    return fmax(push_s, all / p->nodes[j].down_bytes_per_s) +
           fmax(pull_s, all / p->nodes[j].up_bytes_per_s) + latency_s;
}

/* The workers of a server into s->workers. */
static size_t list_workers(search *s, int32_t server)
{
    size_t count = 0;
    for (int32_t i = cost_search_first(s->now, (size_t)server); i != PLAN_NONE;
         i = cost_search_next(s->now, (size_t)i))
        s->workers[count++] = (nearby){0, i};
    return count;
}

static void move_local(search *s, int32_t from, int32_t to)
{
    size_t count = list_workers(s, from);
    for (size_t k = 0; k < count; k++)
        attach(s, s->workers[k].worker, to);
}

static bool has_room(const search *s, int32_t server, int32_t children)
{
    int64_t need = job_local_need_bytes(&s->p->job, children);
    if (search_plan(s)->global == server)
        need += job_global_need_bytes(&s->p->job, (int64_t)s->p->max_locals);
    return need <= s->p->nodes[server].free_bytes;
}

/* The other local server that serves the worker soonest; one with room if there is any. */
static int32_t best_local(const search *s, int32_t worker, int32_t except)
{
    size_t count;
    const uint32_t *locals = cost_search_locals(s->now, &count);
    int32_t best = PLAN_NONE;
    double least_s = INFINITY;
    bool best_has_room = false;
    for (size_t l = 0; l < count; l++) {
        int32_t j = (int32_t)locals[l], children = cost_search_children(s->now, locals[l]) + 1;
        if (j == except || !s->p->nodes[j].serve)
            continue;
        bool room = has_room(s, j, children);
        double time_s = exchange_s(s->p, worker, j, children);
        bool sooner = time_s < least_s || (time_s == least_s && j < best);
        if (time_s < INFINITY && room >= best_has_room && (room > best_has_room || sooner)) {
            best = j;
            least_s = time_s;
            best_has_room = room;
        }
    }
    return best;
}

static int by_worker(const void *a, const void *b)
{
    const nearby *x = a, *y = b;
    return (x->worker > y->worker) - (x->worker < y->worker);
}

static void close_local(search *s, int32_t from)
{
    size_t count = list_workers(s, from);
    qsort(s->workers, count, sizeof *s->workers, by_worker);
    for (size_t k = 0; k < count; k++) {
        int32_t to = best_local(s, s->workers[k].worker, from);
        if (to != PLAN_NONE)
            attach(s, s->workers[k].worker, to);
    }
}

static int by_loss(const void *a, const void *b)
{
    const nearby *x = a, *y = b;
    if (x->loss_s != y->loss_s)
        return x->loss_s < y->loss_s ? -1 : 1;
    return by_worker(a, b);
}

/* Those who gain most (or lose least) by the change of server go first. */
static void split_local(search *s, int32_t from, int32_t to)
{
    size_t listed = list_workers(s, from), count = 0;
    for (size_t k = 0; k < listed; k++) {
        int32_t i = s->workers[k].worker;
        double there_s = exchange_s(s->p, i, to, 1);
        if (there_s < INFINITY)
            s->workers[count++] = (nearby){there_s - exchange_s(s->p, i, from, 1), i};
    }
    qsort(s->workers, count, sizeof *s->workers, by_loss);
    for (size_t k = 0; k < count && k < listed / 2; k++)
        attach(s, s->workers[k].worker, to);
}

void change_make(search *s, const change *c)
{
    switch (c->kind) {
    case CHANGE_GLOBAL:
        move_global(s, c->to);
        break;
    case CHANGE_LOCAL:
        move_local(s, c->from, c->to);
        break;
    case CHANGE_BOTH:
        move_global(s, c->to);
        move_local(s, c->from, c->to);
        break;
    case CHANGE_CLOSE:
        close_local(s, c->from);
        break;
    case CHANGE_SPLIT:
        split_local(s, c->from, c->to);
        break;
    case CHANGE_ATTACH:
        attach(s, c->from, c->to);
        break;
    }
}
