/* The thesis' first algorithm: for every candidate global server the covering LP gives a proved
 * bound and fractional local servers, capturing vertices and the Expanding Front make them whole,
 * a flow assigns the workers. docs/algorithms/approx.md has the steps and their proofs. */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SOLVED_GLOBALS 8   /* candidates in networks that are too large for the front */
#define POLISHED_GLOBALS 3 /* of how many candidates the plan is polished on the way */
#define POLISH_US 50000
#define POLISH_LARGE_US 500000 /* ... in networks that are too large for the front */
#define POLISH_WITHIN 1.25     /* ... when it is no slower than this times the best */
#define SMALL_NODES 20         /* up to which servers that are not needed are closed one by one */
#define FRONT_NODES 200        /* up to which the front takes no longer than the rest */
#define PLAY_US 2000000        /* about the time for playing rounds, by a count ... */
#define LP_US 4000000          /* ... and for LPs: later candidates keep their first bounds */
#define LP_US_PER_PAIR 0.05

typedef struct approx {
    const place_ground *gr;
    const place_options *options;
    place_watch *watch;
    place_times times;
    place_refuter *refuter;
    place_match match;
    place_best best; /* of all candidates */
    place_best here; /* of the present one */
    plan trial;
    bool *open;
    bool settled; /* some plan for the present candidate was found */
    size_t polishes;
    double lp_us;
} approx;

static void approx_free(approx *a)
{
    place_refuter_free(a->refuter);
    place_times_free(&a->times);
    place_match_free(&a->match);
    place_best_free(&a->best);
    place_best_free(&a->here);
    plan_free(&a->trial);
    mem_free(a->open);
}

static edgeps_err approx_make(const place_ground *gr, const place_options *options, place_watch *w,
                              approx *out)
{
    approx a = {.gr = gr, .options = options, .watch = w};
    edgeps_err err = place_times_make(gr, &a.times);
    if (!err)
        err = place_refuter_make(gr, &a.refuter);
    if (!err)
        err = place_match_make(gr, &a.match);
    if (!err)
        err = place_best_make(gr->p, &a.best);
    if (!err)
        err = place_best_make(gr->p, &a.here);
    if (!err)
        err = plan_make(gr->count, &a.trial);
    a.open = mem_alloc(gr->count, sizeof *a.open);
    if (err || !a.open) {
        approx_free(&a);
        return EDGEPS_NOMEM;
    }
    *out = a;
    return EDGEPS_OK;
}

/* In a large problem, where a round takes long to play, a plan that cannot be the best is not
 * played at all; in a small one it may still be polished to become it. */
static edgeps_err offer(approx *a, const plan *pl)
{
    double round_s;
    a->settled = true;
    if (a->gr->count > SMALL_NODES &&
        (a->here.work_us + a->best.work_us > PLAY_US ||
         cost_bound_s(a->gr->p, pl, a->here.scratch) >= a->best.round_s))
        return EDGEPS_OK;
    /* What is no faster than the best plan of this candidate is not the best of all. */
    edgeps_err err = place_best_offer(&a->here, pl, &round_s);
    if (!err)
        place_best_keep(&a->best, pl, round_s);
    return err;
}

static size_t count_open(const approx *a)
{
    size_t count = 0;
    for (size_t j = 0; j < a->gr->count; j++)
        count += a->open[j];
    return count;
}

/* Opens the server with most room that the stuck workers can reach: it lifts the cut that keeps
 * them out. */
static bool open_for_stuck(approx *a, const place_view *v)
{
    size_t best = a->gr->count;
    int32_t best_room = 0;
    for (size_t j = 0; j < a->gr->count; j++) {
        int32_t room = place_room(a->gr, v->global, 1, j), reached = 0;
        if (!place_may_open(v, a->open, j))
            continue;
        for (size_t w = 0; w < a->match.stuck_count; w++)
            reached += place_path(a->gr, j, a->match.stuck[w]);
        if (room > reached)
            room = reached;
        if (room > best_room) {
            best = j;
            best_room = room;
        }
    }
    if (best < a->gr->count)
        a->open[best] = true;
    return best < a->gr->count;
}

static edgeps_err settle_within(approx *a, const place_view *v, const place_limits *limits,
                                bool *settled)
{
    edgeps_err err = place_settle(v, limits, a->open, &a->match, &a->trial, settled);
    return err || !*settled ? err : offer(a, &a->trial);
}

/* Closes every server that the plan is faster without. Polishing does the same more slowly, which
 * is why large problems leave it to that. */
static edgeps_err drop_redundant(approx *a, const place_view *v)
{
    place_limits seconds = place_whole_round(1);
    for (size_t j = 0; j < a->gr->count && count_open(a) > 1; j++) {
        bool settled;
        double before_s = a->here.round_s;
        if (!a->open[j])
            continue;
        a->open[j] = false;
        edgeps_err err = settle_within(a, v, &seconds, &settled);
        if (err)
            return err;
        a->open[j] = a->here.round_s >= before_s;
    }
    return EDGEPS_OK;
}

/* What the LP does not see: a global server that is a local one, too, sends to its own workers and
 * to the other local servers at the same time, and with one chunk all of these pulls end together.
 * So plans without it, one by the LP's halves, and one in which each pull waits for all. */
static edgeps_err settle_without_global(approx *a, const place_view *v, const place_limits *halves)
{
    bool settled, open = a->open[v->global];
    edgeps_err err = EDGEPS_OK;
    a->open[v->global] = false;
    if (open)
        err = settle_within(a, v, halves, &settled);
    if (!err && v->t->one_chunk) {
        place_limits waiting = place_waiting(v, halves, a->open);
        err = settle_within(a, v, &waiting, &settled);
    }
    a->open[v->global] = open;
    return err;
}

/* Makes plans of the open servers, with more of them where these cannot hold all workers: by the
 * halves that the LP was solved for, and by the round as a whole. */
static edgeps_err settle_open(approx *a, const place_view *v, const place_threshold *th)
{
    bool settled = false;
    place_limits seconds = place_whole_round(1);
    for (;;) {
        edgeps_err err = settle_within(a, v, &th->limits, &settled);
        if (err)
            return err;
        if (settled || count_open(a) >= (size_t)v->most_locals || !open_for_stuck(a, v))
            break;
    }
    edgeps_err err = settle_without_global(a, v, &th->limits);
    if (!err && settled)
        err = settle_within(a, v, &seconds, &settled);
    return err || !settled || a->gr->count > SMALL_NODES ? err : drop_redundant(a, v);
}

static edgeps_err round_by_front(approx *a, place_view *v, const place_threshold *th)
{
    place_front front;
    edgeps_err err = place_view_all_rows(v);
    if (!err)
        err = place_front_run(a->gr, v->chain, th->r_s, (size_t)th->locals, &front);
    if (err)
        return err;
    memset(a->open, 0, a->gr->count * sizeof *a->open);
    for (size_t f = 0; f < front.pick_count && count_open(a) < (size_t)th->locals; f++)
        a->open[front.picks[f]] =
            place_may_open(v, a->open, front.picks[f]) || a->open[front.picks[f]];
    mem_free(front.picks);
    place_open_by_share(v, th, a->open);
    return settle_open(a, v, th);
}

static edgeps_err round_by_share(approx *a, const place_view *v, const place_threshold *th)
{
    memset(a->open, 0, a->gr->count * sizeof *a->open);
    place_open_by_share(v, th, a->open);
    return settle_open(a, v, th);
}

/* When neither rounding found a plan: any feasible one. */
static edgeps_err round_by_search(approx *a, size_t global)
{
    place_found found;
    edgeps_err err = place_find(a->gr, global, NULL, &a->trial, &found);
    return err || found != PLACE_FOUND ? err : offer(a, &a->trial);
}

static edgeps_err polish_here(approx *a)
{
    if (a->options->no_polish || a->polishes == POLISHED_GLOBALS ||
        a->here.round_s > POLISH_WITHIN * a->best.round_s)
        return EDGEPS_OK;
    a->polishes++;
    double work_us = a->gr->count > FRONT_NODES ? POLISH_LARGE_US : POLISH_US;
    edgeps_err err =
        place_polish(a->gr, a->options, a->watch, work_us, &a->here.plan, &a->here.round_s);
    if (!err)
        place_best_keep(&a->best, &a->here.plan, a->here.round_s);
    return err;
}

static edgeps_err solve_view(approx *a, place_view *v, place_candidate *c)
{
    place_threshold th;
    place_hunt limits = {.lower_s = c->bound_s, .upper_s = a->best.round_s, .first_s = c->open_s};
    size_t before = place_refuter_lps(a->refuter);
    edgeps_err err = place_threshold_search(a->refuter, v, &limits, &th);
    if (err)
        return err;
    a->lp_us += LP_US_PER_PAIR *
                (double)((place_refuter_lps(a->refuter) - before) * a->gr->count * a->gr->count);
    c->bound_s = fmax(c->bound_s, th.bound_s);
    a->here.round_s = INFINITY;
    a->settled = false;
    if (th.locals > 0) {
        if (a->gr->count <= FRONT_NODES)
            err = round_by_front(a, v, &th);
        if (!err)
            err = round_by_share(a, v, &th);
        if (!err && !a->settled)
            err = round_by_search(a, v->global);
        if (!err && a->here.round_s < INFINITY)
            err = polish_here(a);
    }
    mem_free(th.open);
    return err;
}

static edgeps_err solve_global(approx *a, place_candidate *c)
{
    place_view view;
    edgeps_err err = place_view_make(&a->times, c->global, &view);
    if (err)
        return err;
    err = solve_view(a, &view, c);
    place_view_free(&view);
    return err;
}

/* The best plan and all plans not yet excluded take at least this long. */
static double least_bound_s(const approx *a, const place_candidate *list, size_t count)
{
    double least_s = a->best.round_s;
    for (size_t c = 0; c < count; c++)
        least_s = fmin(least_s, list[c].bound_s);
    return least_s;
}

/* Candidates whose thresholds are known, least first, are better than those that are only known to
 * be no better than the best. */
static int most_promising_first(const void *a, const void *b)
{
    const place_candidate *x = a, *y = b;
    if (x->open_s != y->open_s)
        return x->open_s < y->open_s ? -1 : 1;
    if (x->bound_s != y->bound_s)
        return x->bound_s < y->bound_s ? -1 : 1;
    return (x->global > y->global) - (x->global < y->global);
}

static edgeps_err visit_candidates(approx *a, place_result *r)
{
    place_candidate *list;
    size_t count, c = 0;
    edgeps_err err = place_candidates(&a->times, &list, &count);
    if (err)
        return err;
    err = place_raise_bounds(a->refuter, &a->times, a->watch, a->best.round_s, list, count);
    size_t most = a->gr->count > FRONT_NODES && count > SOLVED_GLOBALS ? SOLVED_GLOBALS : count;
    qsort(list, count, sizeof *list, most_promising_first);
    for (; !err && c < most && list[c].bound_s < a->best.round_s && a->lp_us < LP_US; c++) {
        a->watch->now.bound_s = least_bound_s(a, list, count);
        if (!place_watch_go_on(a->watch, (double)c / (double)count))
            break;
        err = solve_global(a, &list[c]);
    }
    r->globals_solved = c;
    r->globals_pruned = a->gr->count - c;
    r->lower_bound_s = least_bound_s(a, list, count);
    mem_free(list);
    return err;
}

static edgeps_err search(approx *a, place_result *r)
{
    place_found found = PLACE_FOUND;
    edgeps_err err = place_best_start(&a->best, a->gr, a->options, a->watch, 0, &found);
    if (!err && found != PLACE_NONE)
        err = visit_candidates(a, r);
    if (!err)
        err = plan_copy(&a->best.plan, &r->plan);
    if (!err && a->best.round_s == INFINITY) {
        r->status = PLACE_INFEASIBLE;
        place_infeasible_reason(a->gr, found, r->reason, sizeof r->reason);
    }
    r->stopped = a->watch->stopped;
    return err;
}

edgeps_err place_approx(const problem *p, const place_options *options, edgeps_diag *diag,
                        place_result *out)
{
    (void)diag;
    place_ground gr;
    approx a = {0};
    place_watch w = place_watch_start(options);
    place_result r = {.plan.global = PLAN_NONE, .status = PLACE_FEASIBLE};
    edgeps_err err = place_ground_make(p, &gr);
    if (err)
        return err;
    err = approx_make(&gr, options, &w, &a);
    if (!err)
        err = search(&a, &r);
    if (!err)
        *out = r;
    else
        plan_free(&r.plan);
    approx_free(&a);
    place_ground_free(&gr);
    return err;
}
