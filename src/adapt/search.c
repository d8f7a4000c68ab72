#include "adapt/search_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Changes per step that are evaluated exactly, best bound first. */
#define SHORTLIST 24
/* ... and after the first that is better. */
#define MORE_TRIES 4
/* The effort of one descent, in microseconds about: so much for each node, within limits. */
#define WORK_US_PER_NODE 1500
#define LEAST_WORK_US 150000
#define MOST_WORK_US 1500000
/* All changes are listed where the focused ones are of no help, if they are not more than these. */
#define MOST_CHANGES 100000
/* Relative; smaller gains are rounding. */
#define LEAST_GAIN 1e-9

typedef struct ranked {
    verdict bound;
    uint32_t change;
} ranked;

static int compare(const verdict *a, const verdict *b)
{
    if (a->broken != b->broken)
        return a->broken < b->broken ? -1 : 1;
    if (a->tight != b->tight)
        return a->tight < b->tight ? -1 : 1;
    if (a->apart != b->apart)
        return a->apart ? 1 : -1;
    if (a->objective_s != b->objective_s)
        return a->objective_s < b->objective_s ? -1 : 1;
    return 0;
}

static bool better(const verdict *a, const verdict *b)
{
    verdict least = *b;
    least.objective_s -= LEAST_GAIN * fabs(least.objective_s);
    return compare(a, &least) < 0;
}

static int32_t first_server(const problem *p)
{
    for (size_t v = 0; v < p->count; v++)
        if (p->nodes[v].serve)
            return (int32_t)v;
    return 0;
}

/* The plan in force, without workers that are no more and with those that are new: every worker
 * there is has some server, and there is a global one. */
static edgeps_err complete(const problem *p, const plan *old, plan *out)
{
    plan whole;
    edgeps_err err = plan_copy(old, &whole);
    if (err)
        return err;
    if (whole.global == PLAN_NONE)
        whole.global = first_server(p);
    int32_t any = whole.global;
    for (size_t i = 0; i < p->count; i++)
        if (whole.parent[i] != PLAN_NONE && p->nodes[whole.parent[i]].serve)
            any = whole.parent[i];
    for (size_t i = 0; i < p->count; i++) {
        if (!p->nodes[i].train)
            whole.parent[i] = PLAN_NONE;
        else if (whole.parent[i] == PLAN_NONE)
            whole.parent[i] = any;
    }
    *out = whole;
    return EDGEPS_OK;
}

static void count_unreached(search *s)
{
    const plan *pl = search_plan(s);
    s->unreached = 0;
    for (size_t i = 0; i < s->p->count; i++)
        s->unreached += s->p->nodes[i].train && change_unreached(s->p, i, pl->parent[i]);
    s->base_unreached = s->unreached;
}

/* The moves of a plan take at least this long for each local server that opens on a node. */
static void measure_ways(search *s)
{
    adapt_move m = {.role = ADAPT_LOCAL, .bytes = job_local_state_bytes(&s->p->job)};
    transition t = {.p = s->p, .old = s->old, .old_children = s->old_children};
    for (size_t to = 0; to < s->p->count; to++) {
        m.to = (int32_t)to;
        m.from = PLAN_NONE;
        s->bring_s[to] = moves_gone(&t, s->old->global) ? 0 : moves_transfer_s(&t, &m);
    }
    for (size_t from = 0; from < s->p->count; from++) {
        bool has = s->old_children[from] > 0 || s->old->global == (int32_t)from;
        if (!has || !s->p->nodes[from].serve)
            continue;
        m.from = (int32_t)from;
        for (size_t to = 0; to < s->p->count; to++) {
            m.to = (int32_t)to;
            s->bring_s[to] = fmin(s->bring_s[to], moves_transfer_s(&t, &m));
        }
    }
}

edgeps_err search_make(const problem *p, const plan *old, const adapt_options *options, search *out)
{
    double horizon = options->horizon_epochs > 0 ? options->horizon_epochs : 1;
    double hysteresis = options->hysteresis > 0 ? options->hysteresis : 0.1;
    plan whole = {.global = PLAN_NONE};
    search s = {
        .p = p,
        .old = old,
        .options = options,
        .round_weight = (double)p->rounds * horizon,
        .move_weight = 1 + hysteresis,
        .base = {.broken = INFINITY}, /* until it is judged */
        .old_children = mem_alloc(p->count, sizeof(int32_t)),
        .bring_s = mem_alloc(p->count, sizeof(double)),
        .children = mem_alloc(p->count, sizeof(int32_t)),
        .workers = change_scratch(p->count),
        .moves = mem_alloc(p->count + 1, sizeof(adapt_move)),
    };
    edgeps_err err = complete(p, old, &whole);
    if (!err)
        err = cost_search_make(p, &whole, &s.now);
    if (!s.old_children || !s.bring_s || !s.children || !s.workers || !s.moves)
        err = EDGEPS_NOMEM;
    plan_free(&whole);
    if (err) {
        search_free(&s);
        return err;
    }
    plan_children(old, s.old_children);
    for (size_t v = 0; v < p->count; v++)
        s.old_locals += s.old_children[v] > 0;
    count_unreached(&s);
    measure_ways(&s);
    *out = s;
    return EDGEPS_OK;
}

void search_free(search *s)
{
    cost_search_free(s->now);
    mem_free(s->old_children);
    mem_free(s->bring_s);
    mem_free(s->children);
    mem_free(s->workers);
    mem_free(s->moves);
    mem_free(s->changes.items);
    mem_free(s->ranked);
}

const plan *search_plan(const search *s) { return cost_search_plan(s->now); }

transition search_transition(search *s, const plan *next)
{
    size_t locals = 0;
    plan_children(next, s->children);
    for (size_t v = 0; v < s->p->count; v++)
        locals += s->children[v] > 0;
    return (transition){s->p, s->old, next, s->old_children, s->children, s->old_locals, locals};
}

/* ---- verdicts ---- */

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* One node's servers, before and after. */
static void weigh_node(const search *s, size_t v, size_t locals, verdict *out)
{
    const job *j = &s->p->job;
    int64_t offered = s->p->nodes[v].free_bytes;
    int32_t children = cost_search_children(s->now, v), before = s->old_children[v];
    int64_t local = children > 0 ? job_local_need_bytes(j, children) : 0, global = 0;
    int64_t old_local = before > 0 ? job_local_need_bytes(j, before) : 0, old_global = 0;
    if (search_plan(s)->global == (int32_t)v)
        global = job_global_need_bytes(j, (int64_t)locals);
    if (s->old->global == (int32_t)v)
        old_global = job_global_need_bytes(j, (int64_t)s->old_locals);
    bool grows = local > old_local || global > old_global;
    out->broken += change_server_broken(s, v);
    if (grows && larger(local, old_local) + larger(global, old_global) > offered)
        out->apart = true;
    if (s->options->forecast_bytes) {
        double expected = (double)s->options->forecast_bytes[v];
        out->tight += (double)(local + global) > expected * (grows ? 1 - s->options->margin : 1);
    }
    if (children > 0 && before == 0)
        out->move_s += s->bring_s[v];
}

static double global_move_s(const search *s)
{
    const plan *next = search_plan(s);
    transition t = {.p = s->p, .old = s->old, .next = next};
    if (next->global == s->old->global)
        return 0;
    adapt_move m = {.role = ADAPT_GLOBAL,
                    .from = moves_global_source(&t),
                    .to = next->global,
                    .bytes = job_global_state_bytes(&s->p->job)};
    return moves_transfer_s(&t, &m);
}

static void weigh_times(const search *s, verdict *v)
{
    double pause_s = s->options->pause_s;
    if (pause_s > 0 && plan_equal(search_plan(s), s->old))
        pause_s = 0;
    v->objective_s = s->move_weight * (v->move_s + pause_s) + s->round_weight * v->round_s;
}

verdict search_weigh(search *s)
{
    size_t count;
    size_t global = (size_t)search_plan(s)->global;
    const uint32_t *locals = cost_search_locals(s->now, &count);
    verdict v = {.broken = (double)s->unreached + !s->p->nodes[global].serve};
    if (count > s->p->max_locals)
        v.broken += (double)(count - s->p->max_locals);
    v.move_s = global_move_s(s);
    for (size_t l = 0; l < count; l++)
        weigh_node(s, locals[l], count, &v);
    if (cost_search_children(s->now, global) == 0)
        weigh_node(s, global, count, &v);
    v.round_s = cost_search_bound_s(s->now);
    if (v.broken > 0 && !(v.round_s < INFINITY))
        v.round_s = 0;
    weigh_times(s, &v);
    return v;
}

/* Replaces the bounds by the times. */
static edgeps_err weigh_exactly(search *s, verdict *v)
{
    double work_us = 0;
    const plan *pl = search_plan(s);
    transition t = search_transition(s, pl);
    moves_list(&t, s->moves, &v->move_s);
    edgeps_err err = cost_round_counted_s(s->p, pl, &v->round_s, &work_us);
    s->work_left_us -= work_us;
    weigh_times(s, v);
    return err;
}

static edgeps_err weigh_base(search *s)
{
    verdict v = search_weigh(s);
    edgeps_err err = v.broken == 0 ? weigh_exactly(s, &v) : EDGEPS_OK;
    if (!err)
        s->base = v;
    return err;
}

edgeps_err search_stand(search *s, const plan *pl)
{
    cost_search_set(s->now, pl);
    count_unreached(s);
    return weigh_base(s);
}

void search_take_back(search *s)
{
    cost_search_undo(s->now);
    s->unreached = s->base_unreached;
}

static void keep(search *s, const verdict *v)
{
    cost_search_keep(s->now);
    s->base_unreached = s->unreached;
    s->base = *v;
}

static double change_us(const search *s)
{
    size_t locals;
    cost_search_locals(s->now, &locals);
    return 1 + 0.15 * sqrt((double)s->p->count) + 0.04 * (double)locals;
}

static void set_out(search *s)
{
    double work_us = WORK_US_PER_NODE * (double)s->p->count;
    double effort = s->options->effort > 0 ? s->options->effort : 1;
    s->work_left_us = effort * fmin(fmax(work_us, LEAST_WORK_US), MOST_WORK_US);
}

/* ---- repair ---- */

/* Takes the listed change that leaves least broken, then the one that costs least. */
static edgeps_err take_least_broken(search *s, bool *found)
{
    verdict best = s->base;
    const change *taken = NULL;
    for (size_t k = 0; k < s->changes.count && !s->err; k++) {
        change_make(s, &s->changes.items[k]);
        verdict v = search_weigh(s);
        search_take_back(s);
        if (v.broken < s->base.broken && compare(&v, &best) < 0) {
            best = v;
            taken = &s->changes.items[k];
        }
    }
    *found = taken != NULL;
    if (!s->err && taken) {
        change_make(s, taken);
        keep(s, &best);
    }
    return s->err;
}

edgeps_err search_repair(search *s)
{
    bool found = true;
    edgeps_err err = weigh_base(s);
    while (!err && found && s->base.broken > 0) {
        err = change_list_broken(s);
        if (!err)
            err = take_least_broken(s, &found);
        if (err || found)
            continue;
        err = change_list_all(s);
        if (!err && s->changes.count <= MOST_CHANGES)
            err = take_least_broken(s, &found);
    }
    return err || s->base.broken > 0 ? err : weigh_base(s);
}

/* ---- improve ---- */

static int by_bound(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    int order = compare(&x->bound, &y->bound);
    if (order != 0)
        return order;
    return (x->change > y->change) - (x->change < y->change);
}

/* The listed changes that could be better than the base, best bound first. */
static edgeps_err rank_changes(search *s, size_t *ranked_count)
{
    edgeps_err err = EDGEPS_OK;
    ranked *grown = mem_grow(s->ranked, s->changes.count, sizeof *grown, &s->ranked_room);
    if (!grown)
        return EDGEPS_NOMEM;
    s->ranked = grown;
    *ranked_count = 0;
    for (size_t k = 0; !err && k < s->changes.count; k++) {
        change_make(s, &s->changes.items[k]);
        err = s->err;
        verdict v = search_weigh(s);
        search_take_back(s);
        s->work_left_us -= change_us(s);
        if (v.broken == 0 && better(&v, &s->base))
            s->ranked[(*ranked_count)++] = (ranked){v, (uint32_t)k};
    }
    if (!err)
        qsort(s->ranked, *ranked_count, sizeof *s->ranked, by_bound);
    return err;
}

/* Takes the best of the shortlist; *found is false if none beats the base. */
static edgeps_err take_best(search *s, size_t ranked_count, bool *found)
{
    verdict best = s->base;
    const change *taken = NULL;
    size_t end = ranked_count < SHORTLIST ? ranked_count : SHORTLIST;
    for (size_t k = 0; k < end && s->work_left_us > 0; k++) {
        const ranked *r = &s->ranked[k];
        if (!better(&r->bound, &best))
            break;
        verdict v = r->bound;
        change_make(s, &s->changes.items[r->change]);
        edgeps_err err = s->err ? s->err : weigh_exactly(s, &v);
        search_take_back(s);
        if (err)
            return err;
        if (!better(&v, &best))
            continue;
        if (!taken && k + 1 + MORE_TRIES < end)
            end = k + 1 + MORE_TRIES;
        best = v;
        taken = &s->changes.items[r->change];
    }
    *found = taken != NULL;
    if (taken) {
        change_make(s, taken);
        if (!s->err)
            keep(s, &best);
    }
    return s->err;
}

static edgeps_err take_listed(search *s, bool *found)
{
    size_t count;
    edgeps_err err = rank_changes(s, &count);
    return err ? err : take_best(s, count, found);
}

edgeps_err search_improve(search *s)
{
    edgeps_err err = EDGEPS_OK;
    bool found = true;
    set_out(s);
    while (!err && found && s->work_left_us > 0) {
        err = change_list_critical(s);
        if (!err)
            err = take_listed(s, &found);
        if (err || found)
            continue;
        err = change_list_all(s);
        if (!err && change_us(s) * (double)s->changes.count < s->work_left_us)
            err = take_listed(s, &found);
    }
    return err;
}

edgeps_err search_try(search *s, const plan *other)
{
    plan kept;
    verdict before = s->base;
    edgeps_err err = plan_copy(search_plan(s), &kept);
    if (err)
        return err;
    err = search_stand(s, other);
    if (!err && s->base.broken == 0)
        err = search_improve(s);
    if (!err && !better(&s->base, &before)) {
        cost_search_set(s->now, &kept);
        count_unreached(s);
        s->base = before;
    }
    plan_free(&kept);
    return err;
}
