#include "adapt/trace_int.h"

#include "adapt/moves_int.h"
#include "base/mem.h"
#include "place/place.h"

#include <math.h>
#include <string.h>

/* A lost epoch's time goes by, and it has to be made up for. */
#define LOST_EPOCH 2

void trace_set(plan *to, const plan *from)
{
    to->generation = from->generation;
    to->global = from->global;
    memcpy(to->parent, from->parent, from->count * sizeof *from->parent);
}

void trace_free_plans(plan *plans, size_t count)
{
    for (size_t e = 0; plans && e < count; e++)
        plan_free(&plans[e]);
    mem_free(plans);
}

edgeps_err trace_make_plans(size_t count, const plan *like, plan **out)
{
    plan *plans = mem_alloc(count, sizeof *plans);
    edgeps_err err = plans ? EDGEPS_OK : EDGEPS_NOMEM;
    for (size_t e = 0; !err && e < count; e++)
        err = plan_copy(like, &plans[e]);
    if (err)
        trace_free_plans(plans, count);
    else
        *out = plans;
    return err;
}

edgeps_err trace_report(const adapt_trace *t, const char *policy, size_t epoch, edgeps_diag *diag)
{
    const adapt_trace_options *o = &t->options;
    if (o->progress && !o->progress(o->context, policy, epoch + 1))
        return diag_fail(diag, EDGEPS_CANCELLED, "interrupted in epoch %zu of %s", epoch + 1,
                         policy);
    return EDGEPS_OK;
}

/* ---- what plans and changes take ---- */

edgeps_err trace_train_s(const adapt_trace *t, size_t epoch, const plan *pl, double *train_s)
{
    const problem *p = t->epochs[epoch];
    double round_s = INFINITY;
    edgeps_err err = EDGEPS_OK;
    if (pl->global != PLAN_NONE && plan_check(pl, p, NULL) == EDGEPS_OK)
        err = cost_round_s(p, pl, &round_s);
    if (!err)
        *train_s = (double)p->rounds * round_s;
    return err;
}

static size_t count_locals(const int32_t *children, size_t count)
{
    size_t locals = 0;
    for (size_t v = 0; v < count; v++)
        locals += children[v] > 0;
    return locals;
}

static void add_up(const adapt_move *moves, size_t count, trace_change *out)
{
    for (size_t k = 0; k < count; k++) {
        out->move_s += moves[k].transfer_s;
        if (moves[k].from == moves[k].to)
            continue; /* the state is there already */
        out->moves++;
        out->bytes += moves[k].bytes;
    }
}

static edgeps_err measure(const adapt_trace *t, const transition *way, bool old_runs,
                          trace_change *out)
{
    trace_change c = {.allowed = !old_runs || moves_coexist(way), .move_s = t->options.pause_s};
    moves_order_kind kind;
    double move_s;
    adapt_move *moves = mem_alloc(moves_room(way), sizeof *moves);
    if (!moves)
        return EDGEPS_NOMEM;
    size_t count = moves_list(way, moves, &move_s);
    edgeps_err err = c.allowed ? moves_order(way, moves, &count, &kind) : EDGEPS_OK;
    add_up(moves, count, &c);
    mem_free(moves);
    if (!err)
        *out = c;
    return err;
}

edgeps_err trace_change_of(const adapt_trace *t, size_t epoch, const plan *old, bool old_runs,
                           const plan *next, trace_change *out)
{
    const problem *p = t->epochs[epoch];
    if (plan_equal(old, next)) {
        *out = (trace_change){.allowed = true};
        return EDGEPS_OK;
    }
    edgeps_err err = EDGEPS_NOMEM;
    int32_t *before = mem_alloc(p->count, sizeof *before);
    int32_t *after = mem_alloc(p->count, sizeof *after);
    if (before && after) {
        plan_children(old, before);
        plan_children(next, after);
        transition way = {p,
                          old,
                          next,
                          before,
                          after,
                          count_locals(before, p->count),
                          count_locals(after, p->count)};
        err = measure(t, &way, old_runs, out);
    }
    mem_free(before);
    mem_free(after);
    return err;
}

/* One epoch's part of the account. `old_runs` is about the plan before. */
static edgeps_err judge_epoch(const adapt_trace *t, size_t epoch, const plan *old, const plan *next,
                              adapt_account *sum)
{
    trace_change c = {.allowed = true};
    double old_s, train_s;
    bool changed = !plan_equal(old, next);
    edgeps_err err = trace_train_s(t, epoch, next, &train_s);
    if (!err && changed)
        err = trace_train_s(t, epoch, old, &old_s);
    if (!err && changed)
        err = trace_change_of(t, epoch, old, old_s < INFINITY, next, &c);
    if (err)
        return err;
    bool runs = train_s < INFINITY;
    if (changed && (!c.allowed || !runs))
        sum->total_s = INFINITY;
    sum->changes += changed;
    sum->moves += c.moves;
    sum->moved_bytes += c.bytes;
    sum->move_s += c.move_s;
    sum->lost_epochs += !runs;
    if (runs)
        sum->train_s += train_s;
    else
        sum->lost_s += t->lost_s[epoch];
    return EDGEPS_OK;
}

edgeps_err adapt_trace_judge(const adapt_trace *t, const plan *plans, adapt_account *out)
{
    adapt_account sum = {0};
    for (size_t e = 0; e < t->count; e++) {
        edgeps_err err = judge_epoch(t, e, e ? &plans[e - 1] : &t->fresh[0], &plans[e], &sum);
        if (err)
            return err;
    }
    sum.total_s += sum.train_s + sum.move_s + sum.lost_s;
    *out = sum;
    return EDGEPS_OK;
}

/* ---- the trace ---- */

/* The plan from scratch, and what the epoch takes with it. */
static edgeps_err place_epoch(adapt_trace *t, size_t epoch, edgeps_diag *diag)
{
    const char *algorithm = t->options.algorithm;
    place_options options = {.seed = t->options.seed};
    place_result placed;
    edgeps_err err = trace_report(t, "placement", epoch, diag);
    if (!err)
        err = place_run(algorithm ? algorithm : place_algorithms[0].name, t->epochs[epoch],
                        &options, diag, &placed);
    if (err)
        return err;
    if (placed.status != PLACE_INFEASIBLE) {
        t->fresh[epoch] = placed.plan;
        placed.plan = (plan){.global = PLAN_NONE};
        t->lost_s[epoch] = LOST_EPOCH * (double)t->epochs[epoch]->rounds * placed.cost.round_s;
    } else if (epoch == 0) {
        err = diag_fail(diag, EDGEPS_INFEASIBLE, "epoch 1: %s", placed.reason);
    } else {
        err = plan_make(t->epochs[epoch]->count, &t->fresh[epoch]);
    }
    place_result_free(&placed);
    return err;
}

/* Where no plan was found, an epoch takes as long as the longest. */
static void fill_lost(adapt_trace *t)
{
    double longest_s = 0;
    for (size_t e = 0; e < t->count; e++)
        if (t->lost_s[e] < INFINITY)
            longest_s = fmax(longest_s, t->lost_s[e]);
    for (size_t e = 0; e < t->count; e++)
        if (t->fresh[e].global == PLAN_NONE || !(t->lost_s[e] < INFINITY))
            t->lost_s[e] = longest_s;
}

edgeps_err adapt_trace_make(const problem *const *epochs, size_t count,
                            const adapt_trace_options *options, edgeps_diag *diag,
                            adapt_trace **out)
{
    edgeps_err err = EDGEPS_NOMEM;
    adapt_trace *t = mem_alloc(1, sizeof *t);
    if (!t)
        return diag_fail(diag, err, "no memory for a trace");
    *t = (adapt_trace){.epochs = epochs, .count = count, .options = *options};
    t->fresh = mem_alloc(count, sizeof *t->fresh);
    t->lost_s = mem_alloc(count, sizeof *t->lost_s);
    if (t->fresh && t->lost_s)
        err = EDGEPS_OK;
    for (size_t e = 0; !err && e < count; e++)
        err = place_epoch(t, e, diag);
    if (err) {
        adapt_trace_free(t);
        return err == EDGEPS_NOMEM ? diag_fail(diag, err, "no memory for a trace") : err;
    }
    fill_lost(t);
    *out = t;
    return EDGEPS_OK;
}

void adapt_trace_free(adapt_trace *t)
{
    if (!t)
        return;
    for (size_t k = 0; k < adapt_policy_count; k++)
        trace_free_plans(t->decided[k], t->count);
    trace_free_plans(t->fresh, t->count);
    mem_free(t->lost_s);
    mem_free(t);
}

edgeps_err adapt_trace_plans(adapt_trace *t, size_t policy, edgeps_diag *diag, const plan **plans)
{
    plan *made = NULL;
    edgeps_err err = EDGEPS_OK;
    if (!t->decided[policy]) {
        err = trace_make_plans(t->count, &t->fresh[0], &made);
        if (!err)
            err = adapt_policies[policy].decide(t, diag, made);
        if (err == EDGEPS_NOMEM)
            diag_fail(diag, err, "no memory for a trace");
        if (err)
            trace_free_plans(made, t->count);
        else
            t->decided[policy] = made;
    }
    if (!err)
        *plans = t->decided[policy];
    return err;
}

bool adapt_trace_offline_is_exact(const adapt_trace *t) { return t->exact; }
