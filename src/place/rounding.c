/* Randomised rounding of a placement LP (Raghavan and Thompson 1987): a server opens with the
 * chance min(1, alpha y), alpha growing from 1; what is violated then is repaired. Three ways: by
 * drawing, by conditional expectations, and by drawing from the LP whose variable is the time. */
#include "place/place_int.h"

#include "base/mem.h"
#include "cover/cover.h"

#include <math.h>
#include <string.h>

#define ROUNDING_STREAM 9
#define ALPHAS 4
#define ALPHA_GROWTH 1.5
#define DRAWS 6             /* for each alpha */
#define MOST_TIMED_NODES 60 /* for the LP whose variable is the time */
#define TIMED_US_PER_PAIR 20.0

typedef edgeps_err shares_of_global(place_choice *c, size_t global, place_threshold *out);

typedef struct rounding {
    place_choice *c;
    shares_of_global *shares;
    bool expect; /* by conditional expectations instead of draws */
    rng r;
    place_draw draw; /* of the present global server */
    double *chance;
    bool *reach;
    int32_t *cap;
    bool *open;
    bool *trial;
    int32_t *servers_of; /* per worker: open servers in reach */
} rounding;

static void rounding_free(rounding *x)
{
    mem_free(x->chance);
    mem_free(x->reach);
    mem_free(x->cap);
    mem_free(x->open);
    mem_free(x->trial);
    mem_free(x->servers_of);
}

static edgeps_err rounding_make(place_choice *c, uint64_t seed, rounding *x)
{
    size_t n = c->gr->count, workers = c->gr->worker_count;
    x->c = c;
    x->r = rng_make(seed, ROUNDING_STREAM);
    x->chance = mem_alloc(n, sizeof *x->chance);
    x->reach = mem_alloc(n * workers, sizeof *x->reach);
    x->cap = mem_alloc(n, sizeof *x->cap);
    x->open = mem_alloc(n, sizeof *x->open);
    x->trial = mem_alloc(n, sizeof *x->trial);
    x->servers_of = mem_alloc(workers, sizeof *x->servers_of);
    x->draw = (place_draw){n, workers, x->chance, x->reach, x->cap, 0};
    bool made = x->chance && x->reach && x->cap && x->open && x->trial && x->servers_of;
    return made ? EDGEPS_OK : EDGEPS_NOMEM;
}

/* Who reaches whom, and how many, within the threshold. */
static void fill_draw(rounding *x, const place_threshold *th)
{
    const place_view *v = &x->c->view;
    const place_ground *gr = x->c->gr;
    for (size_t j = 0; j < gr->count; j++) {
        x->cap[j] = place_view_cap(v, &th->limits, j);
        for (size_t w = 0; w < gr->worker_count; w++)
            x->reach[j * gr->worker_count + w] =
                x->cap[j] > 0 && place_view_serves(v, &th->limits, j, gr->workers[w]);
    }
    x->draw.most = (size_t)th->locals;
}

static size_t count_servers(rounding *x)
{
    size_t workers = x->draw.worker_count, opened = 0;
    memset(x->servers_of, 0, workers * sizeof *x->servers_of);
    for (size_t j = 0; j < x->draw.server_count; j++) {
        opened += x->open[j];
        for (size_t w = 0; x->open[j] && w < workers; w++)
            x->servers_of[w] += x->reach[j * workers + w];
    }
    return opened;
}

/* Workers in reach of server j who have `others` open servers in reach. */
static size_t workers_with(const rounding *x, size_t j, int32_t others)
{
    size_t count = 0, workers = x->draw.worker_count;
    for (size_t w = 0; w < workers; w++)
        count += x->reach[j * workers + w] && x->servers_of[w] == others;
    return count;
}

/* Closes the server that fewest workers have as their only one; of these, the least likely. */
static void close_least_useful(rounding *x)
{
    size_t least = x->draw.server_count, least_use = SIZE_MAX;
    for (size_t j = 0; j < x->draw.server_count; j++) {
        size_t use = x->open[j] ? workers_with(x, j, 1) : SIZE_MAX;
        if (use < least_use ||
            (use == least_use && x->open[j] && x->chance[j] < x->chance[least])) {
            least = j;
            least_use = use;
        }
    }
    x->open[least] = false;
}

/* Opens the server that reaches most workers with none; false when nobody reaches any. */
static bool open_most_useful(rounding *x)
{
    size_t most = 0, most_use = 0;
    for (size_t j = 0; j < x->draw.server_count; j++) {
        size_t use = x->open[j] ? 0 : workers_with(x, j, 0);
        if (use > most_use) {
            most = j;
            most_use = use;
        }
    }
    if (most_use > 0)
        x->open[most] = true;
    return most_use > 0;
}

/* Closes every server that the plan is faster without. */
static edgeps_err drop_redundant(rounding *x, size_t global, double round_s)
{
    for (size_t j = 0; j < x->draw.server_count && count_servers(x) > 1; j++) {
        double without_s;
        if (!x->open[j])
            continue;
        if (!place_choice_go_on(x->c, 0))
            break;
        memcpy(x->trial, x->open, x->draw.server_count * sizeof *x->trial);
        x->trial[j] = false;
        edgeps_err err = place_choice_try(x->c, global, x->trial, &without_s);
        if (err)
            return err;
        if (without_s < round_s) {
            round_s = without_s;
            memcpy(x->open, x->trial, x->draw.server_count * sizeof *x->trial);
        }
    }
    return EDGEPS_OK;
}

/* Keeps to the most servers, reaches who can be reached, and makes a plan of it. */
static edgeps_err repair(rounding *x, size_t global)
{
    double round_s;
    while (count_servers(x) > x->draw.most)
        close_least_useful(x);
    while (count_servers(x) < x->draw.most && open_most_useful(x))
        continue;
    edgeps_err err = place_choice_try(x->c, global, x->open, &round_s);
    return err ? err : drop_redundant(x, global, round_s);
}

static edgeps_err round_once(rounding *x, size_t global)
{
    double before, after;
    edgeps_err err = EDGEPS_OK;
    if (x->expect)
        err = place_draw_expected(&x->draw, x->open, &before, &after);
    for (size_t j = 0; !x->expect && j < x->draw.server_count; j++)
        x->open[j] = x->chance[j] > 0 && rng_uniform(&x->r) < x->chance[j];
    return err ? err : repair(x, global);
}

static edgeps_err round_shares(rounding *x, size_t global, const place_threshold *th)
{
    double alpha = 1;
    edgeps_err err = EDGEPS_OK;
    fill_draw(x, th);
    for (int a = 0; a < ALPHAS; a++) {
        for (size_t j = 0; j < x->draw.server_count; j++)
            x->chance[j] = x->cap[j] > 0 ? fmin(1, alpha * th->open[j]) : 0;
        for (int d = 0; !err && d < (x->expect ? 1 : DRAWS); d++) {
            if (x->c->best_s < INFINITY && !place_choice_go_on(x->c, 0))
                return err;
            err = round_once(x, global);
        }
        alpha *= ALPHA_GROWTH;
    }
    return err;
}

static edgeps_err round_globals(rounding *x)
{
    place_choice *c = x->c;
    place_candidate *list;
    size_t count;
    edgeps_err err = place_candidates(&c->times, &list, &count);
    if (err)
        return err;
    for (size_t g = 0; !err && g < count && list[g].bound_s < c->best_s; g++) {
        place_threshold th;
        if (!place_choice_go_on(c, (double)g / (double)count))
            break;
        err = x->shares(c, list[g].global, &th);
        if (err)
            break;
        if (th.locals > 0)
            err = round_shares(x, list[g].global, &th);
        mem_free(th.open);
    }
    mem_free(list);
    return err;
}

static edgeps_err round_all(place_choice *c, uint64_t seed, shares_of_global *shares, bool expect)
{
    rounding x = {.shares = shares, .expect = expect};
    edgeps_err err = rounding_make(c, seed, &x);
    if (!err)
        err = round_globals(&x);
    rounding_free(&x);
    return err;
}

/* ---- the LP whose variable is the time ---- */

static edgeps_err pose_timed(place_choice *c, size_t global, cover_timed *lp, double *time,
                             double *capacity)
{
    const place_ground *gr = c->gr;
    edgeps_err err = place_choice_view(c, global);
    if (err)
        return err;
    for (size_t j = 0; j < gr->count; j++) {
        capacity[j] = place_joins(gr, global, j) ? place_room(gr, global, 1, j) : 0;
        for (size_t w = 0; w < gr->worker_count; w++)
            time[j * gr->worker_count + w] =
                capacity[j] > 0 ? place_view_chain(&c->view, 0, j, gr->workers[w]).round_s
                                : INFINITY;
    }
    *lp = (cover_timed){gr->worker_count, gr->count, time, capacity, gr->fan[global]};
    return EDGEPS_OK;
}

/* At least half of each worker's share is at servers within twice its mean time (Markov): that is
 * the threshold. */
static edgeps_err timed_shares(place_choice *c, size_t global, place_threshold *out)
{
    size_t n = c->gr->count, workers = c->gr->worker_count;
    cover_timed lp;
    place_threshold th = {.locals = c->gr->fan[global]};
    double least_s = INFINITY;
    double *time = mem_alloc(n * workers, sizeof *time);
    double *capacity = mem_alloc(n, sizeof *capacity);
    th.open = mem_alloc(n, sizeof *th.open);
    edgeps_err err = time && capacity && th.open ? EDGEPS_OK : EDGEPS_NOMEM;
    if (!err)
        err = pose_timed(c, global, &lp, time, capacity);
    if (!err)
        err = cover_least_time(&lp, th.open, &least_s);
    mem_free(time);
    mem_free(capacity);
    if (err) {
        mem_free(th.open);
        return err;
    }
    c->work_us += TIMED_US_PER_PAIR * (double)n * (double)workers;
    if (least_s == INFINITY)
        th.locals = 0;
    th.bound_s = least_s;
    th.r_s = 2 * least_s;
    th.limits = place_whole_round(th.r_s);
    *out = th;
    return EDGEPS_OK;
}

static edgeps_err draw(place_choice *c, uint64_t seed)
{
    return round_all(c, seed, place_choice_threshold, false);
}

static edgeps_err expect(place_choice *c, uint64_t seed)
{
    return round_all(c, seed, place_choice_threshold, true);
}

static edgeps_err draw_timed(place_choice *c, uint64_t seed)
{
    return round_all(c, seed, timed_shares, false);
}

edgeps_err place_rounding(const problem *p, const place_options *options, edgeps_diag *diag,
                          place_result *out)
{
    (void)diag;
    return place_choose(p, options, draw, out);
}

edgeps_err place_rounding_derandomized(const problem *p, const place_options *options,
                                       edgeps_diag *diag, place_result *out)
{
    (void)diag;
    return place_choose(p, options, expect, out);
}

edgeps_err place_rounding_min_t(const problem *p, const place_options *options, edgeps_diag *diag,
                                place_result *out)
{
    if (p->count > MOST_TIMED_NODES)
        return diag_fail(diag, EDGEPS_USAGE,
                         "rounding-min-t solves an LP of workers x servers rows and takes at most "
                         "%d nodes, not %zu; choose rounding",
                         MOST_TIMED_NODES, p->count);
    return place_choose(p, options, draw_timed, out);
}
