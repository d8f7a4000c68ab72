#include "adapt/search_int.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

static edgeps_err add(changes *list, change c)
{
    change *items = mem_grow(list->items, list->count + 1, sizeof *items, &list->room);
    if (!items)
        return EDGEPS_NOMEM;
    list->items = items;
    list->items[list->count++] = c;
    return EDGEPS_OK;
}

/* Changes of the local server on `from`. */
static edgeps_err list_local(const problem *p, const plan *pl, const int32_t *children,
                             int32_t from, changes *list)
{
    edgeps_err err = add(list, (change){CHANGE_CLOSE, from, PLAN_NONE});
    for (int32_t to = 0; !err && (size_t)to < p->count; to++) {
        if (!p->nodes[to].serve || to == from)
            continue;
        err = add(list, (change){CHANGE_LOCAL, from, to});
        if (!err && from == pl->global)
            err = add(list, (change){CHANGE_BOTH, from, to});
        if (!err && children[to] == 0 && children[from] > 1)
            err = add(list, (change){CHANGE_SPLIT, from, to});
    }
    return err;
}

/* A worker goes to any local server there is, or to one on its own node. */
static edgeps_err list_worker(const problem *p, const plan *pl, const int32_t *children,
                              int32_t worker, changes *list)
{
    edgeps_err err = EDGEPS_OK;
    for (int32_t to = 0; !err && (size_t)to < p->count; to++)
        if (p->nodes[to].serve && to != pl->parent[worker] && (children[to] > 0 || to == worker))
            err = add(list, (change){CHANGE_ATTACH, worker, to});
    return err;
}

edgeps_err change_list(const problem *p, const plan *pl, const int32_t *children, changes *list)
{
    edgeps_err err = EDGEPS_OK;
    list->count = 0;
    for (int32_t v = 0; !err && (size_t)v < p->count; v++) {
        if (p->nodes[v].serve && v != pl->global)
            err = add(list, (change){CHANGE_GLOBAL, pl->global, v});
        if (!err && children[v] > 0)
            err = list_local(p, pl, children, v, list);
        if (!err && p->nodes[v].train)
            err = list_worker(p, pl, children, v, list);
    }
    return err;
}

static void replace_local(plan *pl, int32_t from, int32_t to)
{
    for (size_t i = 0; i < pl->count; i++)
        if (pl->parent[i] == from)
            pl->parent[i] = to;
}

/* Push and pull of one worker to and from a server that serves `children` alike. */
static double exchange_s(const problem *p, int32_t worker, int32_t server, int32_t children)
{
    size_t w = (size_t)worker, j = (size_t)server;
    double bytes = (double)job_wire_bytes(&p->job), all = bytes * children;
    double push_s = w == j ? 0 : bytes / problem_rate_bytes_per_s(p, w, j);
    double pull_s = w == j ? 0 : bytes / problem_rate_bytes_per_s(p, j, w);
    double latency_s = w == j ? 0 : problem_latency_s(p, w, j) + problem_latency_s(p, j, w);
    return fmax(push_s, all / p->nodes[j].down_bytes_per_s) +
           fmax(pull_s, all / p->nodes[j].up_bytes_per_s) + latency_s;
}

static bool has_room(const problem *p, const plan *pl, int32_t server, int32_t children)
{
    int64_t need = job_local_need_bytes(&p->job, children);
    if (pl->global == server)
        need += job_global_need_bytes(&p->job, (int64_t)p->max_locals);
    return need <= p->nodes[server].free_bytes;
}

/* The other local server that serves the worker soonest; one with room if there is any. */
static int32_t best_local(const problem *p, const plan *pl, const int32_t *children, int32_t worker,
                          int32_t except)
{
    int32_t best = PLAN_NONE;
    double least_s = INFINITY;
    bool best_has_room = false;
    for (int32_t j = 0; (size_t)j < p->count; j++) {
        if (children[j] == 0 || j == except || !p->nodes[j].serve)
            continue;
        bool room = has_room(p, pl, j, children[j] + 1);
        double time_s = exchange_s(p, worker, j, children[j] + 1);
        if (time_s < INFINITY && room >= best_has_room &&
            (room > best_has_room || time_s < least_s)) {
            best = j;
            least_s = time_s;
            best_has_room = room;
        }
    }
    return best;
}

static void close_local(const problem *p, const change *c, int32_t *children, plan *out)
{
    for (int32_t i = 0; (size_t)i < p->count; i++) {
        if (out->parent[i] != c->from)
            continue;
        int32_t to = best_local(p, out, children, i, c->from);
        if (to == PLAN_NONE)
            continue;
        out->parent[i] = to;
        children[to]++;
    }
}

/* Those who gain most (or lose least) by the change of server go first. */
static void split_local(const problem *p, const change *c, const int32_t *children, int32_t *order,
                        plan *out)
{
    size_t count = 0, half = (size_t)children[c->from] / 2;
    for (int32_t i = 0; (size_t)i < p->count; i++) {
        if (out->parent[i] != c->from || !(exchange_s(p, i, c->to, 1) < INFINITY))
            continue;
        double loss_s = exchange_s(p, i, c->to, 1) - exchange_s(p, i, c->from, 1);
        size_t at = count++;
        for (; at > 0 &&
               exchange_s(p, order[at - 1], c->to, 1) - exchange_s(p, order[at - 1], c->from, 1) >
                   loss_s;
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (size_t k = 0; k < count && k < half; k++)
        out->parent[order[k]] = c->to;
}

void change_apply(const problem *p, const plan *pl, const change *c, int32_t *children,
                  int32_t *order, plan *out)
{
    out->generation = pl->generation;
    out->global = pl->global;
    memcpy(out->parent, pl->parent, pl->count * sizeof *pl->parent);
    switch (c->kind) {
    case CHANGE_GLOBAL:
        out->global = c->to;
        break;
    case CHANGE_LOCAL:
        replace_local(out, c->from, c->to);
        break;
    case CHANGE_BOTH:
        out->global = c->to;
        replace_local(out, c->from, c->to);
        break;
    case CHANGE_CLOSE:
        close_local(p, c, children, out);
        break;
    case CHANGE_SPLIT:
        split_local(p, c, children, order, out);
        break;
    case CHANGE_ATTACH:
        out->parent[c->from] = c->to;
        break;
    }
}
