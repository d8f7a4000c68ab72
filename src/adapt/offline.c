/* The best way through a trace that is known beforehand: dynamic programming over epochs and
 * candidate plans (Bellman 1957). After epoch e, for each candidate c,
 *
 *     best(e, c) = min over a of best(e - 1, a) + change(a, c) + train(e, c)
 *
 * Candidates are the plans from scratch of all epochs and whatever the other policies did, so that
 * none of them is better; in tiny networks all plans there are, which makes the result the
 * optimum. */
#include "adapt/trace_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ENUMERATED 1200

/* A candidate before the epoch, and what led to it. */
typedef struct standing {
    double best_s;
    uint32_t candidate;
} standing;

typedef struct offline {
    adapt_trace *t;
    plan *candidates;
    size_t count, room;
    double *best_s;    /* per candidate: the least time to stand there ... */
    double *reached_s; /* ... after the epoch at hand */
    double *train_s;   /* in this epoch; INFINITY: it cannot run */
    standing *before;  /* ascending */
    uint32_t *from;    /* epochs x candidates */
} offline;

static edgeps_err add_candidate(offline *o, const plan *pl)
{
    if (pl->global == PLAN_NONE)
        return EDGEPS_OK;
    for (size_t c = 0; c < o->count; c++)
        if (plan_equal(&o->candidates[c], pl))
            return EDGEPS_OK;
    plan *grown = mem_grow(o->candidates, o->count + 1, sizeof *grown, &o->room);
    if (!grown)
        return EDGEPS_NOMEM;
    o->candidates = grown;
    edgeps_err err = plan_copy(pl, &o->candidates[o->count]);
    o->count += !err;
    return err;
}

/* ---- all plans of a tiny network ---- */

static double count_plans(const problem *p)
{
    double servers = 0, plans = 1;
    for (size_t v = 0; v < p->count; v++)
        servers += p->nodes[v].serve;
    for (size_t v = 0; v < p->count; v++)
        plans *= p->nodes[v].train ? servers : 1;
    return servers * plans;
}

static bool same_roles(const problem *a, const problem *b)
{
    for (size_t v = 0; v < a->count; v++)
        if (a->nodes[v].train != b->nodes[v].train || a->nodes[v].serve != b->nodes[v].serve)
            return false;
    return true;
}

static bool is_repeated(const adapt_trace *t, size_t epoch)
{
    for (size_t e = 0; e < epoch; e++)
        if (same_roles(t->epochs[e], t->epochs[epoch]))
            return true;
    return false;
}

/* The next node that serves, from `v` on; count: none. */
static size_t server_from(const problem *p, size_t v)
{
    while (v < p->count && !p->nodes[v].serve)
        v++;
    return v;
}

/* Counts up like a number whose digits are the workers' servers and the global one. */
static bool next_plan(const problem *p, plan *pl)
{
    int32_t first = (int32_t)server_from(p, 0);
    for (size_t i = 0; i < p->count; i++) {
        if (!p->nodes[i].train)
            continue;
        size_t next = server_from(p, (size_t)pl->parent[i] + 1);
        pl->parent[i] = next < p->count ? (int32_t)next : first;
        if (next < p->count)
            return true;
    }
    pl->global = (int32_t)server_from(p, (size_t)pl->global + 1);
    return (size_t)pl->global < p->count;
}

static edgeps_err enumerate(offline *o, const problem *p)
{
    plan pl;
    edgeps_err err = plan_make(p->count, &pl);
    if (err)
        return err;
    int32_t first = (int32_t)server_from(p, 0);
    pl.global = first;
    for (size_t i = 0; i < p->count; i++)
        pl.parent[i] = p->nodes[i].train ? first : PLAN_NONE;
    do
        err = add_candidate(o, &pl);
    while (!err && next_plan(p, &pl));
    plan_free(&pl);
    return err;
}

static edgeps_err enumerate_all(offline *o)
{
    edgeps_err err = EDGEPS_OK;
    double plans = 0;
    for (size_t e = 0; e < o->t->count; e++)
        plans += is_repeated(o->t, e) ? 0 : count_plans(o->t->epochs[e]);
    o->t->exact = plans <= MOST_ENUMERATED;
    for (size_t e = 0; !err && o->t->exact && e < o->t->count; e++)
        if (!is_repeated(o->t, e))
            err = enumerate(o, o->t->epochs[e]);
    return err;
}

static edgeps_err collect(offline *o, edgeps_diag *diag)
{
    adapt_trace *t = o->t;
    edgeps_err err = EDGEPS_OK;
    for (size_t e = 0; !err && e < t->count; e++)
        err = add_candidate(o, &t->fresh[e]);
    for (size_t k = 0; !err && k < adapt_policy_count; k++) {
        const plan *plans = NULL;
        if (adapt_policies[k].decide == trace_offline)
            continue;
        err = adapt_trace_plans(t, k, diag, &plans);
        for (size_t e = 0; !err && e < t->count; e++)
            err = add_candidate(o, &plans[e]);
    }
    return err ? err : enumerate_all(o);
}

/* ---- the recursion ---- */

static int by_best(const void *a, const void *b)
{
    const standing *x = a, *y = b;
    if (x->best_s != y->best_s)
        return x->best_s < y->best_s ? -1 : 1;
    return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

/* The cheapest way to candidate `c`, which can run; as no change is for nothing, those who stand
 * too high already are not asked. */
static edgeps_err come_from(offline *o, size_t epoch, size_t c, double *reached_s, uint32_t *from)
{
    double least_s = o->best_s[c];
    *from = (uint32_t)c;
    for (size_t k = 0; k < o->count && o->before[k].best_s < least_s; k++) {
        size_t a = o->before[k].candidate;
        trace_change change;
        edgeps_err err = trace_change_of(o->t, epoch, &o->candidates[a], o->train_s[a] < INFINITY,
                                         &o->candidates[c], &change);
        if (err)
            return err;
        if (change.allowed && o->before[k].best_s + change.move_s < least_s) {
            least_s = o->before[k].best_s + change.move_s;
            *from = (uint32_t)a;
        }
    }
    *reached_s = least_s;
    return EDGEPS_OK;
}

static edgeps_err pass_epoch(offline *o, size_t epoch, edgeps_diag *diag)
{
    edgeps_err err = trace_report(o->t, "offline", epoch, diag);
    for (size_t c = 0; !err && c < o->count; c++) {
        err = trace_train_s(o->t, epoch, &o->candidates[c], &o->train_s[c]);
        o->before[c] = (standing){o->best_s[c], (uint32_t)c};
    }
    if (!err)
        qsort(o->before, o->count, sizeof *o->before, by_best);
    for (size_t c = 0; !err && c < o->count; c++) {
        uint32_t *from = &o->from[epoch * o->count + c];
        bool runs = o->train_s[c] < INFINITY;
        o->reached_s[c] = o->best_s[c];
        *from = (uint32_t)c;
        if (runs)
            err = come_from(o, epoch, c, &o->reached_s[c], from);
        o->reached_s[c] += runs ? o->train_s[c] : o->t->lost_s[epoch];
    }
    memcpy(o->best_s, o->reached_s, o->count * sizeof *o->best_s);
    return err;
}

static edgeps_err make_tables(offline *o)
{
    o->best_s = mem_alloc(o->count, sizeof *o->best_s);
    o->reached_s = mem_alloc(o->count, sizeof *o->reached_s);
    o->train_s = mem_alloc(o->count, sizeof *o->train_s);
    o->before = mem_alloc(o->count, sizeof *o->before);
    o->from = mem_alloc(o->t->count * o->count, sizeof *o->from);
    if (!o->best_s || !o->reached_s || !o->train_s || !o->before || !o->from)
        return EDGEPS_NOMEM;
    /* The plan in force is the first that was added. */
    for (size_t c = 0; c < o->count; c++)
        o->best_s[c] = c == 0 ? 0 : INFINITY;
    return EDGEPS_OK;
}

static void trace_back(const offline *o, plan *plans)
{
    uint32_t at = 0;
    for (size_t c = 1; c < o->count; c++)
        if (o->best_s[c] < o->best_s[at])
            at = (uint32_t)c;
    for (size_t e = o->t->count; e-- > 0;) {
        trace_set(&plans[e], &o->candidates[at]);
        at = o->from[e * o->count + at];
    }
}

edgeps_err trace_offline(adapt_trace *t, edgeps_diag *diag, plan *plans)
{
    offline o = {.t = t};
    edgeps_err err = collect(&o, diag);
    if (!err)
        err = make_tables(&o);
    for (size_t e = 0; !err && e < t->count; e++)
        err = pass_epoch(&o, e, diag);
    if (!err)
        trace_back(&o, plans);
    trace_free_plans(o.candidates, o.count);
    mem_free(o.best_s);
    mem_free(o.reached_s);
    mem_free(o.train_s);
    mem_free(o.before);
    mem_free(o.from);
    return err;
}
