/* From chosen servers to the best plan: the frame of every algorithm that only chooses. */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define CHOICE_US 3000000 /* about the time for all plans, by a count */
#define LP_US_PER_PAIR 0.1
#define PLAYED_WORKERS 1000 /* with more of them, rounds are judged by their bound */

static void choice_free(place_choice *c)
{
    if (c->viewed)
        place_view_free(&c->view);
    place_refuter_free(c->refuter);
    place_times_free(&c->times);
    place_match_free(&c->match);
    plan_free(&c->trial);
    plan_free(&c->best);
    mem_free(c->tried);
    mem_free(c->servers);
    mem_free(c->scratch);
}

static edgeps_err choice_make(const place_ground *gr, place_watch *w, place_choice *out)
{
    place_choice c = {.gr = gr, .watch = w, .best_s = INFINITY};
    edgeps_err err = place_times_make(gr, &c.times);
    if (!err)
        err = place_match_make(gr, &c.match);
    if (!err)
        err = plan_make(gr->count, &c.trial);
    if (!err)
        err = plan_make(gr->count, &c.best);
    c.tried = mem_alloc(gr->count, sizeof *c.tried);
    c.servers = mem_alloc(gr->count, sizeof *c.servers);
    c.scratch = mem_alloc(COST_SCRATCH * gr->count, sizeof *c.scratch);
    if (err || !c.tried || !c.servers || !c.scratch) {
        choice_free(&c);
        return EDGEPS_NOMEM;
    }
    for (size_t j = 0; j < gr->count; j++)
        if (gr->room[j] > 0 || gr->fan[j] > 0)
            c.servers[c.server_count++] = (uint32_t)j;
    *out = c;
    return EDGEPS_OK;
}

bool place_choice_go_on(place_choice *c, double done_fraction)
{
    return place_watch_go_on(c->watch, done_fraction) && c->work_us < CHOICE_US;
}

edgeps_err place_choice_offer(place_choice *c, double *round_s)
{
    const problem *p = c->gr->p;
    double time_s = cost_bound_s(p, &c->trial, c->scratch);
    if (time_s < c->best_s && c->gr->worker_count <= PLAYED_WORKERS) {
        edgeps_err err = cost_round_counted_s(p, &c->trial, &time_s, &c->work_us);
        if (err)
            return err;
        place_watch_best(c->watch, time_s);
    }
    if (time_s < c->best_s) {
        c->best_s = time_s;
        c->best.global = c->trial.global;
        memcpy(c->best.parent, c->trial.parent, p->count * sizeof *c->best.parent);
    }
    *round_s = time_s;
    return EDGEPS_OK;
}

/* Storage is asked for a plan with one local server. */
static bool may_open(const place_choice *c, size_t global, size_t server)
{
    return place_joins(c->gr, global, server) && place_room(c->gr, global, 1, server) > 0;
}

bool place_choice_relieve(const place_choice *c, size_t global, bool *open)
{
    const place_ground *gr = c->gr;
    size_t best = gr->count;
    int32_t best_room = 0, opened = 0;
    for (size_t j = 0; j < gr->count; j++)
        opened += open[j];
    for (size_t j = 0; j < gr->count && opened < gr->fan[global]; j++) {
        int32_t room = place_room(gr, global, 1, j), reached = 0;
        if (open[j] || !may_open(c, global, j))
            continue;
        for (size_t w = 0; w < c->match.stuck_count; w++)
            reached += place_path(gr, j, c->match.stuck[w]);
        room = room < reached ? room : reached;
        if (room > best_room) {
            best = j;
            best_room = room;
        }
    }
    if (best < gr->count)
        open[best] = true;
    return best < gr->count;
}

/* Closes what may not be open, and the servers of least room beyond the most there may be; opens
 * the roomiest when that leaves none. */
static void trim(const place_choice *c, size_t global, bool *open)
{
    const place_ground *gr = c->gr;
    int32_t opened = 0;
    size_t roomiest = gr->count;
    for (size_t j = 0; j < gr->count; j++) {
        bool may = may_open(c, global, j);
        open[j] &= may;
        opened += open[j];
        if (may && (roomiest == gr->count || gr->room[j] > gr->room[roomiest]))
            roomiest = j;
    }
    if (opened == 0 && roomiest < gr->count)
        open[roomiest] = true;
    for (; opened > gr->fan[global]; opened--) {
        size_t least = gr->count;
        for (size_t j = 0; j < gr->count; j++)
            if (open[j] && (least == gr->count || gr->room[j] < gr->room[least]))
                least = j;
        open[least] = false;
    }
}

edgeps_err place_choice_view(place_choice *c, size_t global)
{
    if (c->viewed && c->view.global == global)
        return EDGEPS_OK;
    if (c->viewed)
        place_view_free(&c->view);
    c->viewed = false;
    edgeps_err err = place_view_make(&c->times, global, &c->view);
    c->viewed = !err;
    c->tried[global] = true;
    c->work_us += (double)c->gr->count * (double)c->gr->count / 20;
    return err;
}

edgeps_err place_choice_threshold(place_choice *c, size_t global, place_threshold *out)
{
    double pairs = (double)c->gr->count * (double)c->gr->worker_count;
    place_hunt limits = {.upper_s = c->best_s};
    edgeps_err err = place_choice_view(c, global);
    if (!err && !c->refuter)
        err = place_refuter_make(c->gr, &c->refuter);
    size_t before = err ? 0 : place_refuter_lps(c->refuter);
    if (!err)
        err = place_threshold_search(c->refuter, &c->view, &limits, out);
    if (!err)
        c->work_us += LP_US_PER_PAIR * pairs * (double)(place_refuter_lps(c->refuter) - before);
    return err;
}

edgeps_err place_choice_try(place_choice *c, size_t global, bool *open, double *round_s)
{
    bool settled = false;
    *round_s = INFINITY;
    if (c->gr->fan[global] < 1)
        return EDGEPS_OK;
    edgeps_err err = place_choice_view(c, global);
    if (err)
        return err;
    place_limits seconds = place_whole_round(1);
    trim(c, global, open);
    do {
        err = place_settle(&c->view, &seconds, open, &c->match, &c->trial, &settled);
        c->work_us += (double)c->gr->count * (double)(c->gr->fan[global]) / 10;
    } while (!err && !settled && place_choice_relieve(c, global, open));
    return err || !settled ? err : place_choice_offer(c, round_s);
}

void place_choice_rank(place_choice *c, const double *value)
{
    for (size_t s = 0; s < c->server_count; s++) {
        uint32_t server = c->servers[s];
        size_t at = s;
        for (; at > 0 && value[c->servers[at - 1]] < value[server]; at--)
            c->servers[at] = c->servers[at - 1];
        c->servers[at] = server;
    }
}

/* Opens the first k of the order that may be local servers; returns how many there were. */
static size_t open_first(const place_choice *c, size_t global, const uint32_t *order, size_t count,
                         size_t k, bool *open)
{
    size_t opened = 0;
    memset(open, 0, c->gr->count * sizeof *open);
    for (size_t o = 0; o < count && opened < k; o++) {
        open[order[o]] = may_open(c, global, order[o]);
        opened += open[order[o]];
    }
    return opened;
}

/* All prefixes for one global server; larger ones in larger steps. */
static edgeps_err try_prefixes(place_choice *c, size_t global, const uint32_t *order, size_t count,
                               bool *open)
{
    size_t most = (size_t)c->gr->fan[global];
    for (size_t k = 1; k <= most; k += 1 + k / 16) {
        double round_s;
        if (!place_choice_go_on(c, (double)k / (double)most) ||
            (open_first(c, global, order, count, k, open) < k && k > 1))
            return EDGEPS_OK;
        edgeps_err err = place_choice_try(c, global, open, &round_s);
        if (err)
            return err;
    }
    return EDGEPS_OK;
}

edgeps_err place_choice_prefixes(place_choice *c, const uint32_t *order, size_t count)
{
    edgeps_err err = EDGEPS_OK;
    bool *open = mem_alloc(c->gr->count, sizeof *open);
    if (!open)
        return EDGEPS_NOMEM;
    for (size_t o = 0; !err && o < count && c->best_s == INFINITY; o++)
        err = try_prefixes(c, order[o], order, count, open);
    mem_free(open);
    return err;
}

/* Any feasible plan where the choices led to none. */
static edgeps_err conclude(place_choice *c, place_result *r)
{
    place_found found = PLACE_FOUND;
    edgeps_err err = EDGEPS_OK;
    if (c->best_s == INFINITY)
        err = place_find_any(c->gr, &c->best, &found);
    if (!err)
        err = plan_copy(&c->best, &r->plan);
    for (size_t g = 0; g < c->gr->count; g++)
        r->globals_solved += c->tried[g];
    r->stopped = c->watch->stopped;
    r->status = found == PLACE_FOUND ? PLACE_FEASIBLE : PLACE_INFEASIBLE;
    if (!err && found != PLACE_FOUND)
        place_infeasible_reason(c->gr, found, r->reason, sizeof r->reason);
    return err;
}

edgeps_err place_choose(const problem *p, const place_options *options, place_chooser *choose,
                        place_result *out)
{
    place_ground gr;
    place_choice c = {0};
    place_watch w = place_watch_start(options);
    place_result r = {.plan.global = PLAN_NONE};
    edgeps_err err = place_ground_make(p, &gr);
    if (err)
        return err;
    err = choice_make(&gr, &w, &c);
    if (!err)
        err = choose(&c, options->seed);
    if (!err)
        err = conclude(&c, &r);
    if (!err)
        *out = r;
    else
        plan_free(&r.plan);
    choice_free(&c);
    place_ground_free(&gr);
    return err;
}
