/* Neighbours of a plan, made in place on the incremental bound. */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct place_near {
    double distance_s;
    uint32_t worker;
} place_near;

edgeps_err place_moves_make(const place_ground *gr, const plan *pl, place_moves *out)
{
    place_moves m = {.gr = gr};
    m.near = mem_alloc(gr->worker_count, sizeof *m.near);
    edgeps_err err = m.near ? cost_search_make(gr->p, pl, &m.search) : EDGEPS_NOMEM;
    if (err)
        place_moves_free(&m);
    else
        *out = m;
    return err;
}

void place_moves_free(place_moves *m)
{
    cost_search_free(m->search);
    mem_free(m->near);
    *m = (place_moves){0};
}

static int32_t parent_of(const place_moves *m, size_t worker)
{
    return cost_search_plan(m->search)->parent[worker];
}

static void attach(place_moves *m, size_t worker, size_t server)
{
    if (!m->err)
        m->err = cost_search_attach(m->search, worker, server);
}

/* Storage and paths between the servers, of the plan as it stands. O(local servers). */
static bool servers_fit(const place_moves *m)
{
    const place_ground *gr = m->gr;
    size_t global = (size_t)cost_search_plan(m->search)->global, count;
    const uint32_t *locals = cost_search_locals(m->search, &count);
    if (count > (size_t)gr->fan[global])
        return false;
    for (size_t l = 0; l < count; l++)
        if (!place_joins(gr, global, locals[l]) ||
            cost_search_children(m->search, locals[l]) >
                place_room(gr, global, (int32_t)count, locals[l]))
            return false;
    return true;
}

static bool reaches(const place_moves *m, size_t worker, size_t server)
{
    const problem *p = m->gr->p;
    return p->nodes[server].serve && (worker == server || problem_connected(p, worker, server));
}

static bool move_worker(place_moves *m, size_t worker, size_t server)
{
    if (parent_of(m, worker) == PLAN_NONE || parent_of(m, worker) == (int32_t)server ||
        !reaches(m, worker, server))
        return false;
    attach(m, worker, server);
    return true;
}

static bool swap_workers(place_moves *m, size_t a, size_t b)
{
    int32_t of_a = parent_of(m, a), of_b = parent_of(m, b);
    return of_a != of_b && of_a != PLAN_NONE && of_b != PLAN_NONE &&
           move_worker(m, a, (size_t)of_b) && move_worker(m, b, (size_t)of_a);
}

/* The workers of a server into m->near, with their distance to `to`. */
static size_t list_workers(place_moves *m, size_t server, size_t to)
{
    size_t count = 0;
    for (int32_t i = cost_search_first(m->search, server); i != PLAN_NONE;
         i = cost_search_next(m->search, (size_t)i))
        m->near[count++] = (place_near){place_distance_s(m->gr->p, (size_t)i, to), (uint32_t)i};
    return count;
}

static bool move_server(place_moves *m, size_t from, size_t to)
{
    size_t count = from == to ? 0 : list_workers(m, from, to);
    for (size_t k = 0; k < count; k++)
        if (!move_worker(m, m->near[k].worker, to))
            return false;
    return count > 0;
}

static int by_distance(const void *a, const void *b)
{
    const place_near *x = a, *y = b;
    if (x->distance_s != y->distance_s)
        return x->distance_s < y->distance_s ? -1 : 1;
    return (x->worker > y->worker) - (x->worker < y->worker);
}

/* The first `count` of m->near that have a path move to the server. */
static bool take_nearest(place_moves *m, size_t listed, size_t server, size_t count)
{
    size_t taken = 0;
    qsort(m->near, listed, sizeof *m->near, by_distance);
    for (size_t k = 0; k < listed && taken < count; k++)
        taken += move_worker(m, m->near[k].worker, server);
    return taken > 0;
}

static bool split_server(place_moves *m, size_t from, size_t to)
{
    size_t count = from == to ? 0 : list_workers(m, from, to);
    return count > 1 && take_nearest(m, count, to, count / 2);
}

static bool open_server(place_moves *m, size_t server)
{
    const place_ground *gr = m->gr;
    size_t locals;
    cost_search_locals(m->search, &locals);
    if (gr->room[server] < 1 || cost_search_children(m->search, server) > 0)
        return false;
    size_t share = (gr->worker_count + locals) / (locals + 1);
    if (share > (size_t)gr->room[server])
        share = (size_t)gr->room[server];
    for (size_t w = 0; w < gr->worker_count; w++)
        m->near[w] =
            (place_near){place_distance_s(m->gr->p, gr->workers[w], server), gr->workers[w]};
    return take_nearest(m, gr->worker_count, server, share);
}

/* The open server with room that is nearest to the worker, or PLAN_NONE. */
static int32_t nearest_open(const place_moves *m, size_t worker, size_t closed)
{
    size_t count, global = (size_t)cost_search_plan(m->search)->global;
    const uint32_t *locals = cost_search_locals(m->search, &count);
    int32_t best = PLAN_NONE;
    double best_s = INFINITY;
    for (size_t l = 0; l < count; l++) {
        size_t j = locals[l];
        double distance = place_distance_s(m->gr->p, worker, j);
        if (j == closed || distance >= best_s || !reaches(m, worker, j) ||
            cost_search_children(m->search, j) >= place_room(m->gr, global, (int32_t)count - 1, j))
            continue;
        best_s = distance;
        best = (int32_t)j;
    }
    return best;
}

static bool close_server(place_moves *m, size_t server)
{
    size_t listed = list_workers(m, server, server);
    for (size_t k = 0; k < listed; k++) {
        int32_t to = nearest_open(m, m->near[k].worker, server);
        if (to == PLAN_NONE)
            return false;
        attach(m, m->near[k].worker, (size_t)to);
    }
    return listed > 0;
}

static bool move_global(place_moves *m, size_t node)
{
    if (cost_search_plan(m->search)->global == (int32_t)node || m->gr->fan[node] < 1)
        return false;
    if (!m->err)
        m->err = cost_search_move_global(m->search, node);
    return true;
}

static bool make(place_moves *m, place_move_kind kind, size_t a, size_t b)
{
    switch (kind) {
    case PLACE_MOVE_ATTACH:
        return move_worker(m, a, b);
    case PLACE_MOVE_SWAP:
        return swap_workers(m, a, b);
    case PLACE_MOVE_SERVER:
        return move_server(m, a, b);
    case PLACE_MOVE_SPLIT:
        return split_server(m, a, b);
    case PLACE_MOVE_CLOSE:
        return close_server(m, a);
    case PLACE_MOVE_OPEN:
        return open_server(m, a);
    default:
        return move_global(m, a);
    }
}

bool place_move(place_moves *m, place_move_kind kind, size_t a, size_t b)
{
    if (make(m, kind, a, b) && !m->err && servers_fit(m))
        return true;
    cost_search_undo(m->search);
    return false;
}
