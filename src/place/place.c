#include "place/place_int.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A bound proves a plan optimal up to the rounding of the evaluator's sums. */
#define PROOF_TOLERANCE 1e-9

#define EXEC "exec:" /* and a command, in place of a name */

#define RUNNER_UP_US 100000 /* about the time for comparing global servers, by a count */

const place_algorithm place_algorithms[] = {
    {"approx", "threshold search with a covering LP for every global server; proves a bound",
     place_approx},
    {"rounding", "the covering LP made whole by chance, and repaired", place_rounding},
    {"rounding-derandomized", "... by conditional expectations", place_rounding_derandomized},
    {"rounding-min-t", "... from the LP whose variable is the time; at most 60 nodes",
     place_rounding_min_t},
    {"greedy", "adds the local server that helps most, for every global server", place_greedy},
    {"random", "a random feasible plan of the seed", place_random},
    {"uniform", "servers at equal distances in the list, workers in turn", place_uniform},
    {"degree", "the best connected nodes first", place_degree},
    {"storage", "the largest free storage first", place_storage},
    {"gonzalez", "the server that the farthest worker is nearest to, again and again",
     place_gonzalez},
    {"kmedian", "least sum of transfer times, by swaps of servers", place_kmedian},
    {"genetic", "a genetic algorithm on sets of servers", place_genetic},
    {"pso", "particle swarm, as Flag-Swap places aggregators", place_pso},
    {"exact", "the best plan, proved, or the best so far and how far it can be from it",
     place_exact},
    {"brute", "the best of all plans, proved; at most 12 nodes", place_brute},
};
const size_t place_algorithm_count = sizeof place_algorithms / sizeof *place_algorithms;

static const place_algorithm *find_algorithm(const char *name)
{
    for (size_t a = 0; a < place_algorithm_count; a++)
        if (strcmp(place_algorithms[a].name, name) == 0)
            return &place_algorithms[a];
    return NULL;
}

static edgeps_err unknown_algorithm(const char *name, edgeps_diag *diag)
{
    char names[256] = "";
    size_t used = 0;
    for (size_t a = 0; a < place_algorithm_count; a++) {
        int length = snprintf(names + used, sizeof names - used, "%s%s", a ? ", " : "",
                              place_algorithms[a].name);
        if (length > 0 && used + (size_t)length < sizeof names)
            used += (size_t)length;
    }
    return diag_fail(diag, EDGEPS_USAGE,
                     "algorithm '%s' is not known; choose one of: %s, " EXEC "COMMAND", name,
                     names);
}

static const char *command_of(const char *name)
{
    return strncmp(name, EXEC, strlen(EXEC)) == 0 ? name + strlen(EXEC) : NULL;
}

edgeps_err place_check_request(const char *name, const problem *p, const place_options *o,
                               edgeps_diag *diag)
{
    if (!find_algorithm(name) && !command_of(name))
        return unknown_algorithm(name, diag);
    if (p->count == 0 || p->worker_count == 0 || p->max_locals == 0)
        return diag_fail(diag, EDGEPS_INFEASIBLE, "a problem without nodes or workers");
    if (!(o->deadline_s >= 0))
        return diag_fail(diag, EDGEPS_USAGE, "deadline: must be 0 (none) or more seconds, not %g",
                         o->deadline_s);
    if (!(o->gap >= 0 && o->gap < 1))
        return diag_fail(diag, EDGEPS_USAGE, "gap: must be 0 (none) or more, and below 1, not %g",
                         o->gap);
    return EDGEPS_OK;
}

static edgeps_err polish_result(const place_ground *gr, const place_options *o, place_watch *w,
                                place_result *r)
{
    double round_s;
    edgeps_err err = cost_round_s(gr->p, &r->plan, &round_s);
    w->now = (place_progress){"polish", 0, round_s, r->lower_bound_s};
    if (!err)
        err = place_polish(gr, o, w, 0, &r->plan, &round_s);
    return err;
}

static edgeps_err fill_bound(const place_ground *gr, place_watch *w, place_result *r)
{
    place_times t;
    place_refuter *rf = NULL;
    place_candidate *list = NULL;
    size_t count = 0;
    edgeps_err err = place_times_make(gr, &t);
    w->now.phase = "bound";
    if (err)
        return err;
    err = place_refuter_make(gr, &rf);
    if (!err)
        err = place_candidates(&t, &list, &count);
    if (!err)
        err = place_raise_bounds(rf, &t, w, r->cost.round_s, list, count);
    if (!err && count > 0)
        r->lower_bound_s = list[0].bound_s;
    mem_free(list);
    place_refuter_free(rf);
    place_times_free(&t);
    return err;
}

/* Can the node be the global server of local servers with so many children each? */
static bool may_be_global(const place_ground *gr, const int32_t *children, size_t node)
{
    int32_t locals = 0;
    for (size_t j = 0; j < gr->count; j++)
        locals += children[j] > 0;
    if (!gr->p->nodes[node].serve || locals > gr->fan[node])
        return false;
    for (size_t j = 0; j < gr->count; j++)
        if (children[j] > 0 &&
            (!place_joins(gr, node, j) || children[j] > place_room(gr, node, locals, j)))
            return false;
    return true;
}

/* What the best other node would make of the role of the global server, all else equal. Looks at a
 * few nodes only where rounds take long to play. */
static edgeps_err find_runner_up(const place_ground *gr, const plan *from, place_best *others,
                                 size_t *candidates)
{
    plan pl;
    double bounds_us = 0;
    int32_t *children = mem_alloc(gr->count, sizeof *children);
    edgeps_err err = children ? plan_copy(from, &pl) : EDGEPS_NOMEM;
    if (err)
        goto out;
    plan_children(from, children);
    *candidates = 1;
    for (size_t g = 0; !err && g < gr->count && others->work_us + bounds_us < RUNNER_UP_US; g++) {
        double round_s;
        pl.global = (int32_t)g;
        if (pl.global == from->global || !may_be_global(gr, children, g))
            continue;
        ++*candidates;
        bounds_us += PLACE_BOUND_US * (double)gr->count;
        err = place_best_offer(others, &pl, &round_s);
    }
    plan_free(&pl);
out:
    mem_free(children);
    return err;
}

static void write_reason(const problem *p, place_result *r, size_t candidates,
                         const place_best *second)
{
    double round_s = r->cost.round_s;
    const char *name = p->nodes[r->plan.global].name;
    if (candidates == 1) {
        snprintf(r->reason, sizeof r->reason,
                 "%s alone can be the global server of these local servers: %.4g s", name, round_s);
        return;
    }
    const char *other = p->nodes[second->plan.global].name;
    if (second->round_s < round_s)
        snprintf(r->reason, sizeof r->reason,
                 "as the algorithm left it: %.4g s; with %s as global server it takes %.4g s",
                 round_s, other, second->round_s);
    else
        snprintf(r->reason, sizeof r->reason,
                 "best of %zu candidates: %.4g s; the runner-up %s takes %.4g s", candidates,
                 round_s, other, second->round_s);
}

/* Fills in the cost and why this global server. Should the runner-up win after all (the search was
 * cut short before it came to it), the two change places. */
static edgeps_err explain_global(const place_ground *gr, bool fixed, place_result *r)
{
    const problem *p = gr->p;
    place_best others;
    size_t candidates = 0;
    edgeps_err err = place_best_make(p, &others);
    if (err)
        return err;
    err = cost_evaluate(p, &r->plan, &r->cost);
    if (!err)
        err = find_runner_up(gr, &r->plan, &others, &candidates);
    if (!err && !fixed && others.round_s < r->cost.round_s) {
        int32_t second = r->plan.global;
        r->plan.global = others.plan.global;
        others.plan.global = second;
        others.round_s = r->cost.round_s;
        err = cost_evaluate(p, &r->plan, &r->cost);
    }
    if (!err)
        write_reason(p, r, candidates, &others);
    place_best_free(&others);
    return err;
}

static edgeps_err finish(const place_ground *gr, const place_options *o, place_watch *w,
                         edgeps_diag *diag, place_result *r)
{
    edgeps_err err = EDGEPS_OK;
    if (!o->no_polish && r->status != PLACE_OPTIMAL)
        err = polish_result(gr, o, w, r);
    if (!err && plan_check(&r->plan, gr->p, diag) != EDGEPS_OK)
        return diag_wrap(diag, EDGEPS_INTERNAL, "placement made a plan that breaks a constraint");
    if (!err)
        err = explain_global(gr, o->no_polish, r);
    if (!err && r->lower_bound_s <= 0)
        err = fill_bound(gr, w, r);
    if (err)
        return err;
    r->plan.generation = 1;
    if (!r->stopped)
        r->stopped = w->stopped;
    r->lower_bound_s = fmin(r->lower_bound_s, r->cost.round_s);
    if (r->lower_bound_s >= r->cost.round_s * (1 - PROOF_TOLERANCE))
        r->status = PLACE_OPTIMAL;
    return EDGEPS_OK;
}

edgeps_err place_run(const char *name, const problem *p, const place_options *options,
                     edgeps_diag *diag, place_result *out)
{
    static const place_options defaults;
    const place_options *o = options ? options : &defaults;
    const place_algorithm *algorithm = find_algorithm(name);
    const char *command = command_of(name);
    place_ground gr = {0};
    place_result r = {.plan.global = PLAN_NONE};
    edgeps_err err = place_check_request(name, p, o, diag);
    if (err)
        return err;
    place_watch w = place_watch_start(o);
    err = place_ground_make(p, &gr);
    if (!err)
        err = command ? place_exec(command, p, o, diag, &r) : algorithm->run(p, o, diag, &r);
    if (!err && r.status != PLACE_INFEASIBLE)
        err = finish(&gr, o, &w, diag, &r);
    if (!err) {
        *out = r;
        r = (place_result){.plan.global = PLAN_NONE};
    }
    place_result_free(&r);
    place_ground_free(&gr);
    if (err == EDGEPS_NOMEM)
        diag_fail(diag, err, "no memory to place the servers of %zu nodes", p->count);
    return err;
}

const char *place_stop_name(place_stop stopped)
{
    return stopped == PLACE_STOPPED_DEADLINE    ? "deadline"
           : stopped == PLACE_STOPPED_CANCELLED ? "cancelled"
                                                : NULL;
}

void place_result_free(place_result *r) { plan_free(&r->plan); }
