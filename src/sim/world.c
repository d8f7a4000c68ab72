#include "sim/world.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Events of one instant stay in the order of the file. */
static int by_time(const void *a, const void *b)
{
    const network_event *x = *(const network_event *const *)a;
    const network_event *y = *(const network_event *const *)b;
    if (x->at_s != y->at_s)
        return x->at_s < y->at_s ? -1 : 1;
    return (x > y) - (x < y);
}

edgeps_err world_make(const network *file, double silent_s, world *out)
{
    world w = {.file = file, .silent_s = silent_s};
    edgeps_err err = network_copy(file, &w.net);
    w.nodes = mem_alloc(file->count, sizeof *w.nodes);
    w.timed = mem_alloc(file->event_count, sizeof(network_event *));
    if (err || !w.nodes || !w.timed) {
        world_free(&w);
        return EDGEPS_NOMEM;
    }
    for (size_t k = 0; k < file->event_count; k++)
        if (file->events[k].epoch == 0)
            w.timed[w.timed_count++] = &file->events[k];
    qsort(w.timed, w.timed_count, sizeof(network_event *), by_time);
    w.changed = true;
    *out = w;
    return EDGEPS_OK;
}

void world_free(world *w)
{
    network_free(w->net);
    mem_free(w->nodes);
    mem_free(w->timed);
    *w = (world){0};
}

bool world_is_down(const world *w, size_t node) { return network_is_away(&w->nodes[node].is); }

static void happen(world *w, const network_event *e)
{
    world_node *node = &w->nodes[e->node];
    w->changed = true;
    if (!world_is_down(w, e->node))
        node->heard_s = w->now_s;
    network_follow(&node->is, e);
    network_apply(w->net, e);
}

static void happen_at_epoch(world *w, int64_t epoch, bool strike)
{
    for (size_t k = 0; k < w->file->event_count; k++) {
        const network_event *e = &w->file->events[k];
        if (e->epoch == epoch && network_strikes(e) == strike)
            happen(w, e);
    }
}

void world_set_epoch(world *w, int64_t epoch) { happen_at_epoch(w, epoch, false); }

void world_strike_epoch(world *w, int64_t epoch) { happen_at_epoch(w, epoch, true); }

static double noticed_s(const world *w, size_t node)
{
    const world_node *n = &w->nodes[node];
    if (n->lost || !world_is_down(w, node))
        return INFINITY;
    return n->is.dead ? w->now_s : n->heard_s + w->silent_s;
}

double world_next_s(const world *w)
{
    double next_s = INFINITY;
    if (w->timed_next < w->timed_count)
        next_s = fmax(w->now_s, w->timed[w->timed_next]->at_s);
    for (size_t i = 0; i < w->net->count; i++)
        next_s = fmin(next_s, noticed_s(w, i));
    return next_s;
}

static void notice(world *w)
{
    for (size_t i = 0; i < w->net->count; i++)
        if (noticed_s(w, i) <= w->now_s)
            w->changed = w->nodes[i].lost = true;
}

void world_advance(world *w, double time_s)
{
    while (world_next_s(w) <= time_s) {
        w->now_s = world_next_s(w);
        while (w->timed_next < w->timed_count && w->timed[w->timed_next]->at_s <= w->now_s)
            happen(w, w->timed[w->timed_next++]);
        notice(w);
    }
    w->now_s = fmax(w->now_s, time_s);
}

void world_take_back(world *w)
{
    for (size_t i = 0; i < w->net->count; i++) {
        w->changed |= w->nodes[i].lost && !world_is_down(w, i);
        w->nodes[i].lost &= world_is_down(w, i);
    }
}

edgeps_err world_problem(world *w, const job *j, size_t max_locals, int64_t rounds,
                         edgeps_diag *diag, problem **out)
{
    bool *absent = mem_alloc(w->net->count, sizeof *absent);
    if (!absent)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for %zu nodes", w->net->count);
    for (size_t i = 0; i < w->net->count; i++)
        absent[i] = w->nodes[i].lost;
    problem_options o = {.max_locals = max_locals, .absent = absent, .rounds = rounds};
    edgeps_err err = problem_make(w->net, j, &o, diag, out);
    mem_free(absent);
    w->changed = false;
    return err;
}
