/* The optimum with a proof, anytime. Every candidate for the global server has a bound; the one
 * with the least is always the next to be worked on, by the next of five steps: the threshold
 * search with the covering LP alone, the same with whole servers, that of the round in halves, the
 * same at the target alone and more finely, and branch and bound on the evaluator. The least bound
 * of all candidates is a bound for every plan at any moment. docs/algorithms/exact.md has the
 * proofs. */
#include "place/exact_int.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define ROUNDING 5e-10 /* relative, of the evaluator's sums */
#define FIRST_POLISH_US 200000
#define POLISH_US 20000
#define POLISH_WITHIN 1.1   /* plans that are no slower than this times the best */
#define START_US 150000     /* a local search from what the LP of a candidate opens, ... */
#define START_WITHIN 1.3    /* ... if that is no slower than this times the best ... */
#define MOST_STARTS 24      /* ... from so many candidates */
#define MOST_TWIN_NODES 300 /* looked for in smaller problems only */
#define SMALL_NODES 12      /* up to which branch and bound ends sooner than local search */
#define IMPROVE_US 1000000  /* one more local search ... */
#define MOST_IMPROVEMENTS 6 /* ... of so many */
#define FINEST 0.0005       /* of the round: moments told apart at the target */
#define LAST_STEP 0.01 /* of the gap: a branch and bound that closes no more goes all the way */

typedef enum step { STEP_LP, STEP_WHOLE, STEP_HALVES, STEP_FINE, STEP_BRANCH } step;

typedef struct exact {
    const place_ground *gr;
    const place_options *options;
    place_watch *watch;
    place_times times;
    place_refuter *refuter;
    place_match match;
    place_best best;
    plan trial;
    place_candidate *list;
    step *next; /* per node: what its candidate waits for */
    size_t count;
    uint32_t *twin;
    bool *open;
    bool settled;        /* the threshold problem is solved */
    bool *started;       /* per node: its candidate had a local search of its own */
    size_t starts;       /* ... so many */
    size_t improvements; /* local searches from the best plan so far */
} exact;

static void exact_free(exact *e)
{
    place_refuter_free(e->refuter);
    place_times_free(&e->times);
    place_match_free(&e->match);
    place_best_free(&e->best);
    plan_free(&e->trial);
    mem_free(e->list);
    mem_free(e->next);
    mem_free(e->twin);
    mem_free(e->open);
    mem_free(e->started);
}

static edgeps_err exact_make(const place_ground *gr, const place_options *options, place_watch *w,
                             exact *out)
{
    exact e = {.gr = gr, .options = options, .watch = w};
    edgeps_err err = place_times_make(gr, &e.times);
    if (!err)
        err = place_refuter_make(gr, &e.refuter);
    if (!err)
        err = place_match_make(gr, &e.match);
    if (!err)
        err = place_best_make(gr->p, &e.best);
    e.best.watch = w;
    if (!err)
        err = plan_make(gr->count, &e.trial);
    if (!err)
        err = place_candidates(&e.times, &e.list, &e.count);
    e.next = mem_alloc(gr->count, sizeof *e.next);
    e.twin = mem_alloc(gr->count, sizeof *e.twin);
    e.open = mem_alloc(gr->count, sizeof *e.open);
    e.started = mem_alloc(gr->count, sizeof *e.started);
    if (err || !e.next || !e.twin || !e.open || !e.started) {
        exact_free(&e);
        return EDGEPS_NOMEM;
    }
    if (gr->count <= MOST_TWIN_NODES)
        place_twins(gr->p, e.twin);
    for (uint32_t i = 0; gr->count > MOST_TWIN_NODES && i < gr->count; i++)
        e.twin[i] = i;
    *out = e;
    return EDGEPS_OK;
}

/* What is not faster than this needs no search: the best time, less the gap asked for. */
static double target_s(const exact *e)
{
    return e->best.round_s * (1 - fmax(e->options->gap, ROUNDING));
}

static double lower_s(const exact *e)
{
    double least_s = e->best.round_s;
    for (size_t c = 0; c < e->count; c++)
        least_s = fmin(least_s, e->list[c].bound_s);
    return least_s;
}

/* Reports the bounds; false: stop. */
static bool go_on(exact *e)
{
    e->watch->now.bound_s = lower_s(e);
    return place_watch_go_on(e->watch, (e->settled + e->watch->now.bound_s / e->best.round_s) / 2);
}

/* Makes the open servers a plan within limits as these, polished where that takes no longer than
 * `within` times the best. */
static edgeps_err offer_open(exact *e, const place_view *v, const place_limits *limits,
                             double within, double polish_us)
{
    bool settled;
    double round_s;
    edgeps_err err = place_settle(v, limits, e->open, &e->match, &e->trial, &settled);
    if (!err && settled)
        err = place_best_offer(&e->best, &e->trial, &round_s);
    if (err || !settled || e->options->no_polish || !(round_s < e->best.round_s * within))
        return err;
    err = cost_round_s(e->gr->p, &e->trial, &round_s);
    if (!err)
        err = place_polish(e->gr, e->options, e->watch, polish_us, &e->trial, &round_s);
    return err ? err : place_best_offer(&e->best, &e->trial, &round_s);
}

static edgeps_err search_thresholds(exact *e, place_view *v, bool whole, place_candidate *c)
{
    place_whole found = {.open = e->open};
    place_hunt limits = {.lower_s = c->bound_s, .upper_s = target_s(e), .exact = whole};
    edgeps_err err = place_whole_search(v, &limits, e->watch, &found);
    if (err)
        return err;
    c->bound_s = fmax(c->bound_s, found.bound_s);
    if (found.settled)
        e->next[c->global] = STEP_HALVES;
    place_limits seconds = place_whole_round(1);
    return found.found ? offer_open(e, v, &seconds, POLISH_WITHIN, POLISH_US) : EDGEPS_OK;
}

static edgeps_err search_lp(exact *e, place_view *v, place_candidate *c)
{
    return search_thresholds(e, v, false, c);
}

static edgeps_err search_whole(exact *e, place_view *v, place_candidate *c)
{
    return search_thresholds(e, v, true, c);
}

static edgeps_err search_halves(exact *e, place_view *v, place_candidate *c)
{
    place_threshold found;
    place_hunt limits = {.lower_s = c->bound_s, .upper_s = target_s(e)};
    edgeps_err err = place_threshold_search(e->refuter, v, &limits, &found);
    if (err)
        return err;
    c->bound_s = fmax(c->bound_s, found.bound_s);
    mem_free(found.open);
    return EDGEPS_OK;
}

/* The target alone, with moments told apart more finely. */
static edgeps_err search_finely(exact *e, place_view *v, place_candidate *c)
{
    bool refuted = false;
    double target = target_s(e);
    if (target == INFINITY)
        return EDGEPS_OK;
    edgeps_err err = place_refute_round(e->refuter, v, target, FINEST, &refuted);
    if (!err && refuted)
        c->bound_s = fmax(c->bound_s, target);
    return err;
}

/* Goes a part of the way to the target, so that the bound rises before the search is done; all of
 * it when little is left. */
static edgeps_err search_branches(exact *e, place_view *v, place_candidate *c)
{
    double target = target_s(e), cutoff = c->bound_s + (target - c->bound_s) / 8;
    if (target - cutoff < LAST_STEP * target)
        cutoff = target;
    edgeps_err err = place_branch(v, e->twin, cutoff, &e->best, e->watch);
    if (!err && !e->watch->stopped)
        c->bound_s = fmax(c->bound_s, fmin(cutoff, e->best.round_s));
    return err;
}

static edgeps_err advance(exact *e, place_candidate *c)
{
    static edgeps_err (*const steps[])(exact *, place_view *,
                                       place_candidate *) = {[STEP_LP] = search_lp,
                                                             [STEP_WHOLE] = search_whole,
                                                             [STEP_HALVES] = search_halves,
                                                             [STEP_FINE] = search_finely,
                                                             [STEP_BRANCH] = search_branches};
    place_view view;
    step now = e->next[c->global];
    edgeps_err err = place_view_make(&e->times, c->global, &view);
    if (err)
        return err;
    if (now < STEP_BRANCH)
        e->next[c->global]++;
    err = steps[now](e, &view, c);
    place_view_free(&view);
    return err;
}

/* The candidate with the least bound that had no local search of its own; NULL: there is none that
 * could be faster, or there were enough. */
static place_candidate *next_start(const exact *e)
{
    place_candidate *least = NULL;
    for (size_t c = 0; c < e->count && e->starts < MOST_STARTS; c++)
        if (!e->started[e->list[c].global] && e->list[c].bound_s < e->best.round_s &&
            (!least || e->list[c].bound_s < least->bound_s))
            least = &e->list[c];
    return least;
}

/* Local searches from the servers that the LP of the candidate's halves opens; a global server
 * among them makes all other pulls wait for those of its own workers. */
static edgeps_err offer_shares(exact *e, const place_view *v, const place_threshold *found)
{
    memset(e->open, 0, e->gr->count * sizeof *e->open);
    place_open_by_share(v, found, e->open);
    edgeps_err err = offer_open(e, v, &found->limits, START_WITHIN, START_US);
    if (err || !e->times.one_chunk || !e->open[v->global])
        return err;
    e->open[v->global] = false;
    place_limits waiting = place_waiting(v, &found->limits, e->open);
    return offer_open(e, v, &waiting, START_WITHIN, START_US);
}

static edgeps_err improve_candidate(exact *e, place_candidate *c)
{
    place_view v;
    place_threshold found = {0};
    place_hunt limits = {.lower_s = c->bound_s, .upper_s = e->best.round_s};
    edgeps_err err = place_view_make(&e->times, c->global, &v);
    if (err)
        return err;
    e->started[c->global] = true;
    err = place_threshold_search(e->refuter, &v, &limits, &found);
    if (!err)
        c->bound_s = fmax(c->bound_s, found.bound_s);
    if (!err && found.locals > 0) {
        e->starts++;
        err = offer_shares(e, &v, &found);
    }
    mem_free(found.open);
    place_view_free(&v);
    return err;
}

/* One more local search from the best plan, by its own seed. */
static edgeps_err improve_best(exact *e)
{
    double round_s = e->best.round_s;
    place_options options = {.seed = e->options->seed + ++e->improvements};
    if (round_s == INFINITY)
        return EDGEPS_OK;
    e->trial.global = e->best.plan.global;
    memcpy(e->trial.parent, e->best.plan.parent, e->gr->count * sizeof *e->trial.parent);
    edgeps_err err = place_polish(e->gr, &options, e->watch, IMPROVE_US, &e->trial, &round_s);
    return err ? err : place_best_offer(&e->best, &e->trial, &round_s);
}

/* First from several plans, then from the best of them. A lower target may be refuted where the one
 * before was not. */
static edgeps_err improve(exact *e)
{
    double before_s = e->best.round_s;
    place_candidate *start = next_start(e);
    edgeps_err err = start ? improve_candidate(e, start) : improve_best(e);
    for (size_t c = 0; e->best.round_s < before_s && c < e->count; c++)
        if (e->next[e->list[c].global] == STEP_BRANCH)
            e->next[e->list[c].global] = STEP_FINE;
    return err;
}

/* Where the next step of the least candidate is branch and bound, which has no end in larger
 * networks, the plan is improved first. */
static bool should_improve(const exact *e, const place_candidate *least)
{
    return e->next[least->global] == STEP_BRANCH && e->gr->count > SMALL_NODES &&
           !e->options->no_polish && e->improvements < MOST_IMPROVEMENTS;
}

/* Nodes that can change places with a candidate make no better global servers. */
static void drop_twins(exact *e)
{
    size_t kept = 0;
    for (size_t c = 0; c < e->count; c++)
        if (e->twin[e->list[c].global] == e->list[c].global)
            e->list[kept++] = e->list[c];
    e->count = kept;
}

static edgeps_err search_candidates(exact *e, place_result *r)
{
    drop_twins(e);
    edgeps_err err =
        place_raise_bounds(e->refuter, &e->times, e->watch, target_s(e), e->list, e->count);
    while (!err && e->count > 0) {
        place_candidate *least = e->list;
        for (size_t c = 1; c < e->count; c++)
            if (e->list[c].bound_s < least->bound_s)
                least = &e->list[c];
        e->settled |= e->next[least->global] >= STEP_HALVES;
        if (!go_on(e) || least->bound_s >= target_s(e))
            break;
        err = should_improve(e, least) ? improve(e) : advance(e, least);
    }
    for (size_t g = 0; g < e->gr->count; g++)
        r->globals_solved += e->next[g] != STEP_LP;
    r->globals_pruned = e->gr->count - r->globals_solved;
    r->lower_bound_s = lower_s(e);
    return err;
}

/* Goes on as long as the search itself may, and reports what the search has. */
static bool ask_search(void *context, const place_progress *now)
{
    exact *e = context;
    (void)now;
    return place_watch_go_on(e->watch, 0);
}

/* The plan and the bound of `approx`; one more local search where they do not come within the gap.
 */
static edgeps_err start_from_approx(exact *e)
{
    double round_s;
    place_result first;
    place_options options = {.seed = e->options->seed,
                             .no_polish = e->options->no_polish,
                             .progress = ask_search,
                             .context = e};
    edgeps_err err = place_approx(e->gr->p, &options, NULL, &first);
    if (err)
        return err;
    if (first.status != PLACE_INFEASIBLE)
        err = place_best_offer(&e->best, &first.plan, &round_s);
    for (size_t c = 0; c < e->count; c++)
        e->list[c].bound_s = fmax(e->list[c].bound_s, first.lower_bound_s);
    place_result_free(&first);
    return err || e->options->no_polish || lower_s(e) >= target_s(e) ? err : improve_best(e);
}

static edgeps_err search(exact *e, place_result *r)
{
    place_found found;
    edgeps_err err =
        place_best_start(&e->best, e->gr, e->options, e->watch, FIRST_POLISH_US, &found);
    if (!err && found != PLACE_NONE && e->gr->count > SMALL_NODES)
        err = start_from_approx(e);
    if (!err && found != PLACE_NONE)
        err = search_candidates(e, r);
    if (!err)
        err = plan_copy(&e->best.plan, &r->plan);
    if (!err && e->best.round_s == INFINITY) {
        r->status = PLACE_INFEASIBLE;
        if (found != PLACE_NONE && !e->watch->stopped)
            found = PLACE_NONE;
        place_infeasible_reason(e->gr, found, r->reason, sizeof r->reason);
    }
    r->threshold_solved = e->settled;
    r->stopped = e->watch->stopped;
    return err;
}

edgeps_err place_exact(const problem *p, const place_options *options, edgeps_diag *diag,
                       place_result *out)
{
    (void)diag;
    place_ground gr;
    exact e = {0};
    place_watch w = place_watch_start(options);
    place_result r = {.plan.global = PLAN_NONE, .status = PLACE_FEASIBLE};
    edgeps_err err = place_ground_make(p, &gr);
    if (err)
        return err;
    err = exact_make(&gr, options, &w, &e);
    if (!err)
        err = search(&e, &r);
    if (!err)
        *out = r;
    else
        plan_free(&r.plan);
    exact_free(&e);
    place_ground_free(&gr);
    return err;
}
