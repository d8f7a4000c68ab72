#include "adapt/search_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STEPS 60
/* Changes per step that are evaluated exactly, best bound first. */
#define SHORTLIST 24
/* ... and after the first that is better. */
#define MORE_TRIES 4

typedef struct ranked {
    double bound_s;
    bool apart;
    uint32_t change;
} ranked;

static bool better(const verdict *a, const verdict *b)
{
    if (a->broken != b->broken)
        return a->broken < b->broken;
    if (a->apart != b->apart)
        return !a->apart;
    return a->objective_s < b->objective_s;
}

edgeps_err search_make(const problem *p, const plan *old, const adapt_options *options, search *out)
{
    double horizon = options->horizon_epochs > 0 ? options->horizon_epochs : 1;
    double hysteresis = options->hysteresis > 0 ? options->hysteresis : 0.1;
    search s = {
        .p = p,
        .old = old,
        .round_weight = (double)p->rounds * horizon,
        .move_weight = 1 + hysteresis,
        .old_children = mem_alloc(p->count, sizeof(int32_t)),
        .children = mem_alloc(p->count, sizeof(int32_t)),
        .base_children = mem_alloc(p->count, sizeof(int32_t)),
        .order = mem_alloc(p->count, sizeof(int32_t)),
        .scratch = mem_alloc(4 * p->count, sizeof(double)),
        .moves = mem_alloc(p->count + 1, sizeof(adapt_move)),
    };
    edgeps_err err = plan_copy(old, &s.base);
    if (!err)
        err = plan_make(p->count, &s.trial);
    if (!err)
        err = plan_make(p->count, &s.best);
    if (!s.old_children || !s.children || !s.base_children || !s.order || !s.scratch || !s.moves)
        err = EDGEPS_NOMEM;
    if (err) {
        search_free(&s);
        return err;
    }
    plan_children(old, s.old_children);
    s.old_locals = plan_local_count(old);
    for (size_t i = 0; i < p->count; i++)
        if (!p->nodes[i].train)
            s.base.parent[i] = PLAN_NONE;
    *out = s;
    return EDGEPS_OK;
}

void search_free(search *s)
{
    mem_free(s->old_children);
    mem_free(s->children);
    mem_free(s->base_children);
    mem_free(s->order);
    mem_free(s->scratch);
    mem_free(s->moves);
    mem_free(s->changes.items);
    mem_free(s->ranked);
    plan_free(&s->base);
    plan_free(&s->trial);
    plan_free(&s->best);
}

static void copy_plan(const plan *from, plan *to)
{
    to->generation = from->generation;
    to->global = from->global;
    memcpy(to->parent, from->parent, from->count * sizeof *from->parent);
}

transition search_transition(search *s, const plan *next)
{
    size_t locals = 0;
    plan_children(next, s->children);
    for (size_t v = 0; v < s->p->count; v++)
        locals += s->children[v] > 0;
    return (transition){s->p, s->old, next, s->old_children, s->children, s->old_locals, locals};
}

/* One for each worker that cannot reach a server, each server without path to the global one, each
 * local server beyond the limit; for full nodes one and the excess. 0 exactly when plan_check
 * accepts the plan. */
static double count_broken(const transition *t)
{
    const problem *p = t->p;
    const plan *pl = t->next;
    bool served = pl->global != PLAN_NONE && p->nodes[pl->global].serve;
    double broken = served ? 0 : 1;
    for (size_t i = 0; i < p->count; i++) {
        int32_t j = pl->parent[i];
        broken += p->nodes[i].train &&
                  (j == PLAN_NONE || !p->nodes[j].serve || !problem_connected(p, i, (size_t)j));
        if (t->next_children[i] > 0 && pl->global != PLAN_NONE)
            broken += !problem_connected(p, i, (size_t)pl->global);
        int64_t need =
            moves_local_need(t, t->next_children[i]) + moves_global_need(t, pl, t->next_locals, i);
        if (need > p->nodes[i].free_bytes)
            broken +=
                1 + (double)(need - p->nodes[i].free_bytes) / (double)job_parameter_bytes(&p->job);
    }
    if (t->next_locals > p->max_locals)
        broken += (double)(t->next_locals - p->max_locals);
    return broken;
}

/* With a bound for the round time. */
static verdict weigh(search *s, const plan *pl)
{
    transition t = search_transition(s, pl);
    verdict v = {.broken = count_broken(&t), .apart = !moves_coexist(&t)};
    if (pl->global == PLAN_NONE)
        return v;
    moves_list(&t, s->moves, &v.move_s);
    v.objective_s = s->move_weight * v.move_s;
    if (v.broken == 0) {
        v.round_s = cost_bound_s(s->p, pl, s->scratch);
        v.objective_s += s->round_weight * v.round_s;
    }
    return v;
}

/* Replaces the bound by the round time. */
static edgeps_err weigh_exactly(search *s, const plan *pl, verdict *v)
{
    edgeps_err err = cost_round_s(s->p, pl, &v->round_s);
    v->objective_s = s->move_weight * v->move_s + s->round_weight * v->round_s;
    return err;
}

edgeps_err search_stand(search *s, const plan *pl)
{
    verdict v = weigh(s, pl);
    edgeps_err err = v.broken == 0 ? weigh_exactly(s, pl, &v) : EDGEPS_OK;
    if (err)
        return err;
    s->base_verdict = v;
    if (pl != &s->base)
        copy_plan(pl, &s->base);
    return EDGEPS_OK;
}

/* The changed base in s->trial. */
static void try_change(search *s, const change *c)
{
    memcpy(s->children, s->base_children, s->p->count * sizeof *s->children);
    change_apply(s->p, &s->base, c, s->children, s->order, &s->trial);
}

static edgeps_err list_changes(search *s)
{
    plan_children(&s->base, s->base_children);
    return change_list(s->p, &s->base, s->base_children, &s->changes);
}

edgeps_err search_repair(search *s)
{
    edgeps_err err = search_stand(s, &s->base);
    for (int step = 0; !err && step < MOST_STEPS && s->base_verdict.broken > 0; step++) {
        err = list_changes(s);
        if (err)
            return err;
        verdict best = s->base_verdict;
        for (size_t k = 0; k < s->changes.count; k++) {
            try_change(s, &s->changes.items[k]);
            verdict v = weigh(s, &s->trial);
            if (better(&v, &best)) {
                best = v;
                copy_plan(&s->trial, &s->best);
            }
        }
        if (best.broken >= s->base_verdict.broken)
            return EDGEPS_OK;
        err = search_stand(s, &s->best);
    }
    return err;
}

static int by_bound(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->apart != y->apart)
        return x->apart ? 1 : -1;
    if (x->bound_s != y->bound_s)
        return x->bound_s < y->bound_s ? -1 : 1;
    return x->change < y->change ? -1 : 1;
}

/* The changes that could be better than the base, best bound first. */
static edgeps_err rank_changes(search *s, size_t *ranked_count)
{
    *ranked_count = 0;
    edgeps_err err = list_changes(s);
    if (err)
        return err;
    if (!s->ranked || s->ranked_room < s->changes.room) {
        ranked *grown = mem_resize(s->ranked, s->changes.room, sizeof *grown);
        if (!grown)
            return EDGEPS_NOMEM;
        s->ranked = grown;
        s->ranked_room = s->changes.room;
    }
    for (size_t k = 0; k < s->changes.count; k++) {
        try_change(s, &s->changes.items[k]);
        verdict v = weigh(s, &s->trial);
        if (v.broken == 0 && better(&v, &s->base_verdict))
            s->ranked[(*ranked_count)++] = (ranked){v.objective_s, v.apart, (uint32_t)k};
    }
    qsort(s->ranked, *ranked_count, sizeof *s->ranked, by_bound);
    return EDGEPS_OK;
}

/* The best of the shortlist goes to s->best; *better_found is false if none beats the base. */
static edgeps_err take_best(search *s, size_t ranked_count, bool *better_found)
{
    verdict best = s->base_verdict;
    size_t end = ranked_count < SHORTLIST ? ranked_count : SHORTLIST;
    *better_found = false;
    for (size_t k = 0; k < end; k++) {
        const ranked *r = &s->ranked[k];
        if (r->apart == best.apart && r->bound_s >= best.objective_s)
            break;
        try_change(s, &s->changes.items[r->change]);
        verdict v = weigh(s, &s->trial);
        edgeps_err err = weigh_exactly(s, &s->trial, &v);
        if (err)
            return err;
        if (!better(&v, &best))
            continue;
        if (!*better_found && k + 1 + MORE_TRIES < end)
            end = k + 1 + MORE_TRIES;
        best = v;
        copy_plan(&s->trial, &s->best);
        *better_found = true;
    }
    return EDGEPS_OK;
}

edgeps_err search_improve(search *s)
{
    edgeps_err err = EDGEPS_OK;
    bool found = true;
    for (int step = 0; !err && found && step < MOST_STEPS; step++) {
        size_t count;
        err = rank_changes(s, &count);
        if (!err)
            err = take_best(s, count, &found);
        if (!err && found)
            err = search_stand(s, &s->best);
    }
    return err;
}

edgeps_err search_try(search *s, const plan *other)
{
    plan kept;
    verdict before = s->base_verdict;
    edgeps_err err = plan_copy(&s->base, &kept);
    if (err)
        return err;
    err = search_stand(s, other);
    if (!err && s->base_verdict.broken == 0)
        err = search_improve(s);
    if (!err && !better(&s->base_verdict, &before)) {
        copy_plan(&kept, &s->base);
        s->base_verdict = before;
    }
    plan_free(&kept);
    return err;
}
