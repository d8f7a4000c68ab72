#include "place/explain.h"

#include "base/mem.h"
#include "base/parallel.h"
#include "place/place_int.h"

#include <math.h>
#include <stdlib.h>

#define SMALL_NODES 100 /* up to which every substitute is played that may be the best */
#define MOST_PLAYS 24   /* in a larger network, for one role */

typedef struct trial {
    double bound_s;
    uint32_t node;
} trial;

/* What one thread works with. */
typedef struct bench {
    place_moves moves;
    trial *trials; /* (nodes) */
} bench;

typedef struct study {
    const place_ground *gr;
    const plan *pl;
    bench *benches;
    size_t bench_count;
    place_role *roles;
} study;

static int by_bound(const void *a, const void *b)
{
    const trial *x = a, *y = b;
    if (x->bound_s != y->bound_s)
        return x->bound_s < y->bound_s ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static bool take_role(place_moves *m, const place_role *role, size_t node)
{
    return role->global ? place_move(m, PLACE_MOVE_GLOBAL, node, 0)
                        : place_move(m, PLACE_MOVE_SERVER, role->node, node);
}

/* The round of the plan as it was moved, when it may be below *best_s; takes the move back. */
static edgeps_err play_moved(place_moves *m, double *best_s)
{
    double round_s = INFINITY;
    edgeps_err err = EDGEPS_OK;
    if (cost_search_bound_s(m->search) < *best_s)
        err = cost_round_s(m->gr->p, cost_search_plan(m->search), &round_s);
    cost_search_undo(m->search);
    *best_s = fmin(*best_s, round_s);
    return err;
}

/* The nodes that could take the role, best bound first. An open local server is no substitute for
 * another one. */
static size_t list_trials(bench *b, const place_role *role)
{
    place_moves *m = &b->moves;
    size_t count = 0;
    for (uint32_t node = 0; node < m->gr->count; node++) {
        if (!role->global && cost_search_children(m->search, node) > 0)
            continue;
        if (!take_role(m, role, node))
            continue;
        b->trials[count++] = (trial){cost_search_bound_s(m->search), node};
        cost_search_undo(m->search);
    }
    qsort(b->trials, count, sizeof *b->trials, by_bound);
    return count;
}

static edgeps_err find_substitute(bench *b, place_role *role)
{
    place_moves *m = &b->moves;
    size_t played = 0;
    role->candidates = list_trials(b, role);
    role->substitute_s = INFINITY;
    for (size_t k = 0; k < role->candidates && b->trials[k].bound_s < role->substitute_s; k++) {
        double round_s = role->substitute_s;
        if (m->gr->count > SMALL_NODES && played == MOST_PLAYS) {
            role->left++;
            continue;
        }
        played++;
        take_role(m, role, b->trials[k].node);
        edgeps_err err = play_moved(m, &round_s);
        if (err)
            return err;
        if (round_s >= role->substitute_s)
            continue;
        role->substitute_s = round_s;
        role->substitute = (int32_t)b->trials[k].node;
    }
    return m->err;
}

static edgeps_err do_without(place_moves *m, place_role *role)
{
    edgeps_err err = EDGEPS_OK;
    role->without_s = INFINITY;
    if (role->global)
        return EDGEPS_OK;
    if (place_move(m, PLACE_MOVE_CLOSE, role->node, 0))
        err = play_moved(m, &role->without_s);
    for (size_t j = 0; !err && j < m->gr->count; j++)
        if (j != role->node && cost_search_children(m->search, j) > 0 &&
            place_move(m, PLACE_MOVE_SERVER, role->node, j))
            err = play_moved(m, &role->without_s);
    return err ? err : m->err;
}

static edgeps_err explain_role(void *context, size_t thread, size_t item)
{
    study *s = context;
    edgeps_err err = find_substitute(&s->benches[thread], &s->roles[item]);
    return err ? err : do_without(&s->benches[thread].moves, &s->roles[item]);
}

static edgeps_err make_benches(study *s, size_t roles)
{
    size_t threads = parallel_threads(roles);
    s->benches = mem_alloc(threads, sizeof *s->benches);
    if (!s->benches)
        return EDGEPS_NOMEM;
    for (; s->bench_count < threads; s->bench_count++) {
        bench *b = &s->benches[s->bench_count];
        b->trials = mem_alloc(s->gr->count, sizeof *b->trials);
        if (!b->trials || place_moves_make(s->gr, s->pl, &b->moves)) {
            mem_free(b->trials);
            return EDGEPS_NOMEM;
        }
    }
    return EDGEPS_OK;
}

static void free_benches(study *s)
{
    for (size_t b = 0; b < s->bench_count; b++) {
        place_moves_free(&s->benches[b].moves);
        mem_free(s->benches[b].trials);
    }
    mem_free(s->benches);
}

/* Nodes with a role, the global server's first; a node with both is listed twice. */
static edgeps_err list_roles(const plan *pl, place_reasons *out)
{
    int32_t *children = mem_alloc(pl->count, sizeof *children);
    out->roles = mem_alloc(pl->count + 1, sizeof *out->roles);
    if (!children || !out->roles) {
        mem_free(children);
        return EDGEPS_NOMEM;
    }
    plan_children(pl, children);
    out->roles[out->count++] =
        (place_role){.node = (uint32_t)pl->global, .global = true, .substitute = PLAN_NONE};
    for (uint32_t j = 0; j < pl->count; j++)
        if (children[j] > 0)
            out->roles[out->count++] = (place_role){.node = j, .substitute = PLAN_NONE};
    mem_free(children);
    return EDGEPS_OK;
}

edgeps_err place_explain(const problem *p, const plan *pl, place_reasons *out)
{
    place_ground gr = {0};
    place_reasons reasons = {0};
    study s = {.gr = &gr, .pl = pl};
    edgeps_err err = place_ground_make(p, &gr);
    if (!err)
        err = list_roles(pl, &reasons);
    if (!err)
        err = make_benches(&s, reasons.count);
    s.roles = reasons.roles;
    if (!err)
        err = parallel_run(s.bench_count, reasons.count, explain_role, &s, NULL);
    if (!err)
        *out = reasons;
    else
        place_reasons_free(&reasons);
    free_benches(&s);
    place_ground_free(&gr);
    return err;
}

void place_reasons_free(place_reasons *r)
{
    mem_free(r->roles);
    *r = (place_reasons){0};
}

edgeps_err place_improve(const problem *p, const place_options *options, plan *pl, double *round_s)
{
    place_ground gr;
    plan better = {0};
    double best_s = 0;
    place_watch watch = place_watch_start(options);
    edgeps_err err = place_ground_make(p, &gr);
    if (err)
        return err;
    err = plan_copy(pl, &better);
    if (!err)
        err = cost_round_s(p, &better, &best_s);
    if (!err)
        err = place_polish(&gr, options, &watch, 0, &better, &best_s);
    if (!err) {
        plan before = *pl;
        *pl = better;
        better = before;
        *round_s = best_s;
    }
    plan_free(&better);
    place_ground_free(&gr);
    return err;
}
