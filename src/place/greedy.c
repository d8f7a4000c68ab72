#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_EXACT_NODES 30 /* up to which the exact time of a single chunk is cheap */
#define TRIALS_PER_LOOK 16  /* between two looks at the clock */
#define GREEDY_US 3000000   /* about the time for all candidates, by a count; the first is free */
#define START_US 300000     /* ... where its plan is but the start of another algorithm */
#define ATTACHED 32000      /* workers attached in the trials for one addition, about ... */
#define LEAST_TRIALS 8      /* ... but at least so many servers are tried */

/* A server that may be opened, and the time that it can promise. */
typedef struct promise {
    double time_s;
    uint32_t server;
} promise;

typedef struct greedy {
    const place_ground *gr;
    place_view *view;
    place_best best;
    uint32_t *open; /* servers, ascending */
    size_t open_count;
    int32_t *children; /* per server, own worker included */
    int32_t *remote;   /* without it */
    uint32_t *order;   /* workers, slowest computation first */
    uint32_t last;     /* worker that came off worst in the last attachment */
    promise *promises; /* of the servers that may be opened */
    plan trial;
    double work_us;
    double limit_us;
} greedy;

static void greedy_free(greedy *s)
{
    place_best_free(&s->best);
    mem_free(s->open);
    mem_free(s->children);
    mem_free(s->remote);
    mem_free(s->order);
    mem_free(s->promises);
    plan_free(&s->trial);
}

static void sort_slowest_first(const place_ground *gr, uint32_t *order)
{
    for (size_t w = 0; w < gr->worker_count; w++) {
        uint32_t i = gr->workers[w];
        double compute_s = gr->p->nodes[i].compute_s;
        size_t at = w;
        for (; at > 0 && gr->p->nodes[order[at - 1]].compute_s < compute_s; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static edgeps_err greedy_make(const place_ground *gr, double limit_us, greedy *out)
{
    greedy s = {.gr = gr, .limit_us = limit_us};
    edgeps_err err = place_best_make(gr->p, &s.best);
    if (!err)
        err = plan_make(gr->count, &s.trial);
    s.open = mem_alloc(gr->count, sizeof *s.open);
    s.children = mem_alloc(gr->count, sizeof *s.children);
    s.remote = mem_alloc(gr->count, sizeof *s.remote);
    s.order = mem_alloc(gr->count, sizeof *s.order);
    s.promises = mem_alloc(gr->count, sizeof *s.promises);
    if (err || !s.open || !s.children || !s.remote || !s.order || !s.promises) {
        greedy_free(&s);
        return EDGEPS_NOMEM;
    }
    sort_slowest_first(gr, s.order);
    *out = s;
    return EDGEPS_OK;
}

static void open_server(greedy *s, uint32_t server)
{
    size_t at = s->open_count++;
    for (; at > 0 && s->open[at - 1] > server; at--)
        s->open[at] = s->open[at - 1];
    s->open[at] = server;
}

static bool is_open(const greedy *s, uint32_t server)
{
    for (size_t k = 0; k < s->open_count; k++)
        if (s->open[k] == server)
            return true;
    return false;
}

static void close_server(greedy *s, uint32_t server)
{
    size_t kept = 0;
    for (size_t k = 0; k < s->open_count; k++)
        if (s->open[k] != server)
            s->open[kept++] = s->open[k];
    s->open_count = kept;
}

/* Each worker to the open server where its chain and the server's load stay shortest. Returns the
 * number of workers that found no room. */
static size_t attach(greedy *s, int32_t locals)
{
    const place_ground *gr = s->gr;
    size_t unserved = 0;
    double last_s = -1;
    memset(s->children, 0, gr->count * sizeof *s->children);
    memset(s->remote, 0, gr->count * sizeof *s->remote);
    for (size_t w = 0; w < gr->worker_count; w++) {
        size_t i = s->order[w];
        int32_t to = PLAN_NONE;
        double best_s = INFINITY;
        for (size_t k = 0; k < s->open_count; k++) {
            size_t j = s->open[k];
            double chain_s = s->view->chain[j][i];
            if (chain_s == INFINITY || s->children[j] >= place_room(gr, s->view->global, locals, j))
                continue;
            int32_t remote = s->remote[j] + (i != j);
            double time_s = fmax(chain_s, s->view->load[j][remote]);
            if (time_s < best_s) {
                best_s = time_s;
                to = (int32_t)j;
            }
        }
        s->trial.parent[i] = to;
        unserved += to == PLAN_NONE;
        if (best_s > last_s) {
            last_s = best_s;
            s->last = (uint32_t)i;
        }
        if (to != PLAN_NONE) {
            s->children[to]++;
            s->remote[to] += (size_t)to != i;
        }
    }
    return unserved;
}

typedef struct score {
    size_t unserved;
    double time_s;
} score;

static bool better(score a, score b)
{
    return a.unserved != b.unserved ? a.unserved < b.unserved : a.time_s < b.time_s;
}

/* With many chunks the exact time is dear and the bound close to it; with one it is the reverse. */
static edgeps_err judge(greedy *s, int32_t locals, score *out)
{
    out->unserved = attach(s, locals);
    s->work_us += (double)s->gr->count * (4 + (double)locals) / 20;
    out->time_s = INFINITY;
    if (out->unserved)
        return EDGEPS_OK;
    if (job_chunk_count(&s->gr->p->job) == 1 && s->gr->count <= MOST_EXACT_NODES)
        return cost_round_s(s->gr->p, &s->trial, &out->time_s);
    out->time_s = cost_bound_s(s->gr->p, &s->trial, s->best.scratch);
    return EDGEPS_OK;
}

/* With its share of all workers, and the one that is worst off, the server takes at least so long;
 * the longer, the fewer of its share its storage holds. */
static double promised_s(const greedy *s, size_t server, int32_t room, int32_t share)
{
    int32_t held = room < share ? room : share;
    place_limits load = place_view_load(s->view, 0, server, (size_t)held);
    place_limits chain = place_view_chain(s->view, 0, server, s->last);
    return fmax(load.round_s, chain.round_s) * share / held;
}

static int by_promise(const void *a, const void *b)
{
    const promise *x = a, *y = b;
    if (x->time_s != y->time_s)
        return x->time_s < y->time_s ? -1 : 1;
    return (x->server > y->server) - (x->server < y->server);
}

/* Lists the servers to try: all that may be opened, or in large networks the most promising. */
static size_t list_promises(greedy *s, int32_t locals)
{
    const place_ground *gr = s->gr;
    size_t count = 0, trials = ATTACHED / gr->worker_count;
    int32_t share = (int32_t)((gr->worker_count + (size_t)locals - 1) / (size_t)locals);
    trials = trials > LEAST_TRIALS ? trials : LEAST_TRIALS;
    for (size_t j = 0; j < gr->count; j++) {
        int32_t room = place_room(gr, s->view->global, locals, j);
        if (!is_open(s, (uint32_t)j) && place_joins(gr, s->view->global, j) && room > 0)
            s->promises[count++] = (promise){.server = (uint32_t)j};
    }
    if (count <= trials)
        return count;
    for (size_t k = 0; k < count; k++) {
        size_t j = s->promises[k].server;
        s->promises[k].time_s = promised_s(s, j, place_room(gr, s->view->global, locals, j), share);
    }
    qsort(s->promises, count, sizeof *s->promises, by_promise);
    return trials;
}

/* Finds the server whose opening helps most; PLAN_NONE when none improves on *now. */
static edgeps_err best_addition(greedy *s, place_watch *w, int32_t locals, score *now,
                                int32_t *server)
{
    size_t count = list_promises(s, locals);
    *server = PLAN_NONE;
    for (size_t k = 0; k < count; k++) {
        score one;
        uint32_t j = s->promises[k].server;
        if (k % TRIALS_PER_LOOK == TRIALS_PER_LOOK - 1 && !place_watch_go_on(w, 0))
            return EDGEPS_OK;
        edgeps_err err = place_view_rows(s->view, j);
        if (err)
            return err;
        open_server(s, j);
        err = judge(s, locals, &one);
        close_server(s, j);
        if (err)
            return err;
        if (better(one, *now)) {
            *now = one;
            *server = (int32_t)j;
        }
    }
    return EDGEPS_OK;
}

/* Where the bound does not tell which of the growing plans is the best. */
static bool plays_each(const greedy *s)
{
    return job_chunk_count(&s->gr->p->job) == 1 || s->gr->count <= MOST_EXACT_NODES;
}

static edgeps_err grow(greedy *s, place_watch *w)
{
    const place_ground *gr = s->gr;
    double round_s;
    score now = {.unserved = gr->worker_count + 1, .time_s = INFINITY};
    s->trial.global = (int32_t)s->view->global;
    s->open_count = 0;
    s->last = s->order[0];
    for (int32_t k = 1; k <= gr->fan[s->view->global] && !w->stopped; k++) {
        int32_t server;
        edgeps_err err = best_addition(s, w, k, &now, &server);
        if (err)
            return err;
        if (server == PLAN_NONE)
            break;
        open_server(s, (uint32_t)server);
        if (attach(s, k) == 0 && plays_each(s))
            err = place_best_offer(&s->best, &s->trial, &round_s);
        if (err)
            return err;
        place_watch_go_on(w, 0);
    }
    if (s->open_count == 0 || plays_each(s) || attach(s, (int32_t)s->open_count) > 0)
        return EDGEPS_OK;
    return place_best_offer(&s->best, &s->trial, &round_s);
}

static edgeps_err visit_candidates(greedy *s, const place_times *t, place_watch *w, place_result *r)
{
    place_candidate *list;
    size_t count;
    edgeps_err err = place_candidates(t, &list, &count);
    if (err)
        return err;
    size_t c = 0;
    for (; !err && c < count && list[c].bound_s < s->best.round_s && s->work_us < s->limit_us;
         c++) {
        place_view view;
        if (c > 0 && !place_watch_go_on(w, (double)c / (double)count))
            break;
        err = place_view_make(t, list[c].global, &view);
        if (err)
            break;
        s->view = &view;
        err = grow(s, w);
        s->view = NULL;
        place_view_free(&view);
    }
    r->globals_solved = c;
    r->globals_pruned = s->gr->count - c;
    mem_free(list);
    return err;
}

/* Greedy's plan, or any feasible one where greed runs into a dead end, into the best of `s`. */
static edgeps_err search(greedy *s, const place_times *t, place_watch *w, place_result *r,
                         place_found *found)
{
    *found = PLACE_FOUND;
    edgeps_err err = visit_candidates(s, t, w, r);
    if (err || s->best.round_s < INFINITY)
        return err;
    err = place_find_any(s->gr, &s->trial, found);
    if (!err && *found == PLACE_FOUND) {
        double round_s;
        err = place_best_offer(&s->best, &s->trial, &round_s);
    }
    return err;
}

/* *round_s: what r->plan takes. */
static edgeps_err run(const place_ground *gr, double limit_us, place_watch *w, place_result *r,
                      place_found *found, double *round_s)
{
    place_times t = {0};
    greedy s = {0};
    edgeps_err err = place_times_make(gr, &t);
    if (!err)
        err = greedy_make(gr, limit_us, &s);
    s.best.watch = w;
    if (!err)
        err = search(&s, &t, w, r, found);
    if (!err)
        err = plan_copy(&s.best.plan, &r->plan);
    *round_s = s.best.round_s;
    r->stopped = w->stopped;
    r->status = !err && *found == PLACE_FOUND ? PLACE_FEASIBLE : PLACE_INFEASIBLE;
    greedy_free(&s);
    place_times_free(&t);
    return err;
}

edgeps_err place_best_start(place_best *b, const place_ground *gr, const place_options *options,
                            place_watch *w, double work_us, place_found *found)
{
    double round_s;
    place_result first = {.plan.global = PLAN_NONE};
    b->watch = w;
    edgeps_err err = run(gr, START_US, w, &first, found, &round_s);
    if (!err && *found == PLACE_FOUND && work_us > 0)
        err = place_polish(gr, options, w, work_us, &first.plan, &round_s);
    if (!err && *found == PLACE_FOUND)
        place_best_keep(b, &first.plan, round_s);
    plan_free(&first.plan);
    return err;
}

edgeps_err place_greedy(const problem *p, const place_options *options, edgeps_diag *diag,
                        place_result *out)
{
    (void)diag;
    place_ground gr;
    place_found found;
    double round_s;
    place_watch w = place_watch_start(options);
    place_result r = {.plan.global = PLAN_NONE};
    edgeps_err err = place_ground_make(p, &gr);
    if (err)
        return err;
    err = run(&gr, GREEDY_US, &w, &r, &found, &round_s);
    if (!err && found != PLACE_FOUND)
        place_infeasible_reason(&gr, found, r.reason, sizeof r.reason);
    if (!err)
        *out = r;
    else
        plan_free(&r.plan);
    place_ground_free(&gr);
    return err;
}
