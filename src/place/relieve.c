/* A descent on the bound that looks where the bound is made. The round is as long as its slowest
 * part, so a move that leaves that part alone cannot help: what is tried are the workers, the place
 * and the size of the servers that hold the round up, and the place of the global server.
 *
 * Many servers may be equally slow. Then no single move lowers the bound, and the second measure
 * counts: the strain, in which every server weighs by its own time to the 16th power. */
#include "place/place_int.h"

#define TARGETS 48      /* servers that are tried for a worker, or nodes for a server */
#define SWAPS 8         /* workers that are tried for a swap with one worker */
#define LEAST_GAIN 1e-9 /* relative; smaller ones are rounding */

typedef struct relief {
    place_moves *m;
    rng *r;
    place_watch *watch;
    double *effort;
    double bound_s; /* of the plan that is kept */
    double strain;
} relief;

static void measure(relief *f)
{
    f->bound_s = cost_search_bound_s(f->m->search);
    f->strain = cost_search_strain(f->m->search);
}

/* Makes the move if it relieves. */
static bool try_move(relief *f, place_move_kind kind, size_t a, size_t b)
{
    --*f->effort;
    if (!place_move(f->m, kind, a, b))
        return false;
    double bound_s = cost_search_bound_s(f->m->search);
    bool lower = bound_s < f->bound_s * (1 - LEAST_GAIN);
    bool eased =
        bound_s <= f->bound_s && cost_search_strain(f->m->search) < f->strain * (1 - LEAST_GAIN);
    if (!lower && !eased) {
        cost_search_undo(f->m->search);
        return false;
    }
    cost_search_keep(f->m->search);
    measure(f);
    return true;
}

static size_t pick(relief *f, size_t count) { return (size_t)rng_below(f->r, count); }

/* An open server: all of them in turn when they are few, else one by lot. */
static size_t some_local(relief *f, size_t k)
{
    size_t count;
    const uint32_t *locals = cost_search_locals(f->m->search, &count);
    return locals[count <= TARGETS ? k % count : pick(f, count)];
}

static bool relieve_worker(relief *f, size_t worker)
{
    const place_ground *gr = f->m->gr;
    size_t locals;
    cost_search_locals(f->m->search, &locals);
    for (size_t k = 0; k < TARGETS && k < locals; k++)
        if (try_move(f, PLACE_MOVE_ATTACH, worker, some_local(f, k)))
            return true;
    for (size_t k = 0; k < SWAPS; k++)
        if (try_move(f, PLACE_MOVE_SWAP, worker, gr->workers[pick(f, gr->worker_count)]))
            return true;
    return false;
}

static bool relieve_workers(relief *f, size_t server)
{
    size_t children = (size_t)cost_search_children(f->m->search, server), skip = 0;
    if (children > 0)
        skip = pick(f, children);
    int32_t worker = cost_search_first(f->m->search, server);
    while (skip-- > 0)
        worker = cost_search_next(f->m->search, (size_t)worker);
    for (size_t k = 0; k<children && * f->effort> 0; k++) {
        if (relieve_worker(f, (size_t)worker))
            return true;
        worker = cost_search_next(f->m->search, (size_t)worker);
        if (worker == PLAN_NONE)
            worker = cost_search_first(f->m->search, server);
    }
    return false;
}

/* A node by lot; all in turn when they are few. */
static size_t some_node(relief *f, size_t k)
{
    size_t count = f->m->gr->count;
    return count <= TARGETS ? k : pick(f, count);
}

static bool relieve_server(relief *f, size_t server)
{
    size_t count = f->m->gr->count;
    if (relieve_workers(f, server) || try_move(f, PLACE_MOVE_CLOSE, server, 0))
        return true;
    for (size_t k = 0; k < TARGETS && k < count; k++) {
        size_t node = some_node(f, k);
        if (try_move(f, PLACE_MOVE_SPLIT, server, node) ||
            try_move(f, PLACE_MOVE_SERVER, server, node))
            return true;
    }
    return false;
}

static bool relieve_global(relief *f)
{
    size_t locals, count = f->m->gr->count;
    for (size_t k = 0; k < TARGETS && k < count; k++)
        if (try_move(f, PLACE_MOVE_GLOBAL, some_node(f, k), 0))
            return true;
    cost_search_locals(f->m->search, &locals);
    for (size_t k = 0; k < TARGETS && k < locals; k++)
        if (try_move(f, PLACE_MOVE_CLOSE, some_local(f, k), 0))
            return true;
    for (size_t k = 0; k < TARGETS && k < count; k++)
        if (try_move(f, PLACE_MOVE_OPEN, some_node(f, k), 0))
            return true;
    return false;
}

void place_relieve(place_moves *m, rng *r, place_watch *w, double *effort)
{
    relief f = {.m = m, .r = r, .watch = w, .effort = effort};
    bool moved = true;
    measure(&f);
    while (moved && !m->err && *effort > 0 && place_watch_go_on(w, 1)) {
        int32_t servers[2];
        cost_search_critical(m->search, servers);
        moved = false;
        for (int k = 0; k < 2 && !moved; k++)
            if (servers[k] != PLAN_NONE && (k == 0 || servers[1] != servers[0]))
                moved = relieve_server(&f, (size_t)servers[k]);
        moved = moved || relieve_global(&f);
    }
}
