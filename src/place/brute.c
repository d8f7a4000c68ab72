#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define BRUTE_MOST_NODES 12
#define FIRST_POLISH_US 2000
#define STEPS_PER_LOOK 4096 /* between two looks at the clock */

/* Depth-first enumeration of the parents of all workers for one global server. A branch ends early
 * only when a closed-form bound that holds for all its plans reaches the best time. */
typedef struct brute {
    const place_ground *gr;
    const place_view *view;
    place_best best;
    plan trial;
    int32_t *children;
    int32_t *remote;
    int32_t *choice; /* per depth: the parent of that worker, PLAN_NONE before the first */
    int32_t locals;
    uint64_t steps;
} brute;

static void brute_free(brute *b)
{
    place_best_free(&b->best);
    plan_free(&b->trial);
    mem_free(b->children);
    mem_free(b->remote);
    mem_free(b->choice);
}

static edgeps_err brute_make(const place_ground *gr, brute *out)
{
    brute b = {.gr = gr};
    edgeps_err err = place_best_make(gr->p, &b.best);
    if (!err)
        err = plan_make(gr->count, &b.trial);
    b.children = mem_alloc(gr->count, sizeof *b.children);
    b.remote = mem_alloc(gr->count, sizeof *b.remote);
    b.choice = mem_alloc(gr->count, sizeof *b.choice);
    if (err || !b.children || !b.remote || !b.choice) {
        brute_free(&b);
        return EDGEPS_NOMEM;
    }
    *out = b;
    return EDGEPS_OK;
}

static void detach(brute *b, size_t worker, size_t server)
{
    b->locals -= --b->children[server] == 0;
    b->remote[server] -= worker != server;
    b->trial.parent[worker] = PLAN_NONE;
}

static void attach(brute *b, size_t worker, size_t server)
{
    b->locals += b->children[server]++ == 0;
    b->remote[server] += worker != server;
    b->trial.parent[worker] = (int32_t)server;
}

/* Could a plan with the attachments made so far, `server`'s last, be feasible and better? */
static bool promising(const brute *b, size_t worker, size_t server)
{
    const place_view *v = b->view;
    double best_s = b->best.round_s;
    if (b->locals > v->most_locals)
        return false;
    if (b->children[server] > place_room(b->gr, v->global, b->locals, server) ||
        (b->children[v->global] > 0 &&
         b->children[v->global] > place_room(b->gr, v->global, b->locals, v->global)))
        return false;
    return v->chain[server][worker] < best_s && v->fan[b->locals].round_s < best_s &&
           v->load[server][b->remote[server]] < best_s;
}

static edgeps_err enumerate(brute *b, place_watch *w)
{
    const place_ground *gr = b->gr;
    size_t depth = 0;
    double round_s;
    b->trial.global = (int32_t)b->view->global;
    b->choice[0] = PLAN_NONE;
    for (;;) {
        size_t worker = gr->workers[depth];
        if (b->choice[depth] != PLAN_NONE)
            detach(b, worker, (size_t)b->choice[depth]);
        if (++b->choice[depth] == (int32_t)gr->count) {
            if (depth-- == 0)
                return EDGEPS_OK;
            continue;
        }
        size_t server = (size_t)b->choice[depth];
        attach(b, worker, server);
        if (++b->steps % STEPS_PER_LOOK == 0 && !place_watch_go_on(w, 0))
            return EDGEPS_OK;
        if (b->view->chain[server][worker] == INFINITY || !promising(b, worker, server))
            continue;
        if (depth + 1 < gr->worker_count) {
            b->choice[++depth] = PLAN_NONE;
            continue;
        }
        edgeps_err err = place_best_offer(&b->best, &b->trial, &round_s);
        if (err)
            return err;
    }
}

static edgeps_err visit_candidates(brute *b, const place_times *t, place_watch *w, place_result *r)
{
    place_candidate *list;
    size_t count, c = 0;
    edgeps_err err = place_candidates(t, &list, &count);
    if (err)
        return err;
    for (; !err && c < count && list[c].bound_s < b->best.round_s && !w->stopped; c++) {
        place_view view;
        err = place_view_make(t, list[c].global, &view);
        if (err)
            break;
        b->view = &view;
        err = place_view_all_rows(&view);
        if (!err)
            err = enumerate(b, w);
        b->view = NULL;
        place_view_free(&view);
    }
    r->globals_solved = c;
    r->globals_pruned = b->gr->count - c;
    mem_free(list);
    return err;
}

static edgeps_err search(const place_ground *gr, const place_options *options, place_watch *w,
                         place_result *r)
{
    place_times t = {0};
    brute b = {0};
    place_found found;
    edgeps_err err = place_times_make(gr, &t);
    if (!err)
        err = brute_make(gr, &b);
    if (!err)
        err = place_best_start(&b.best, gr, options, w, FIRST_POLISH_US, &found);
    if (!err)
        err = visit_candidates(&b, &t, w, r);
    if (!err)
        err = plan_copy(&b.best.plan, &r->plan);
    r->stopped = w->stopped;
    r->status = w->stopped ? PLACE_FEASIBLE : PLACE_OPTIMAL;
    if (!err && b.best.round_s == INFINITY) {
        r->status = PLACE_INFEASIBLE;
        place_infeasible_reason(gr, w->stopped ? PLACE_GAVE_UP : PLACE_NONE, r->reason,
                                sizeof r->reason);
    }
    if (r->status == PLACE_OPTIMAL)
        r->lower_bound_s = b.best.round_s;
    brute_free(&b);
    place_times_free(&t);
    return err;
}

edgeps_err place_brute(const problem *p, const place_options *options, edgeps_diag *diag,
                       place_result *out)
{
    place_ground gr;
    place_watch w = place_watch_start(options);
    place_result r = {.plan.global = PLAN_NONE};
    if (p->count > BRUTE_MOST_NODES)
        return diag_fail(diag, EDGEPS_USAGE,
                         "brute enumerates all plans and takes at most %d nodes, not %zu; choose "
                         "another algorithm",
                         BRUTE_MOST_NODES, p->count);
    edgeps_err err = place_ground_make(p, &gr);
    if (err)
        return err;
    err = search(&gr, options, &w, &r);
    if (!err)
        *out = r;
    else
        plan_free(&r.plan);
    place_ground_free(&gr);
    return err;
}
