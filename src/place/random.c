#include "place/place_int.h"

#include "base/mem.h"

#include <string.h>

#define RANDOM_STREAM 1

typedef struct draw {
    const place_ground *gr;
    rng r;
    double *prefer;  /* a random rank per node */
    double **time_s; /* a random number per pair: the assignment prefers small ones */
    uint32_t *order; /* of the global servers to try */
    int32_t *cap;
    place_match match;
} draw;

static void draw_free(draw *d)
{
    mem_free(d->prefer);
    for (size_t j = 0; d->time_s && j < d->gr->count; j++)
        mem_free(d->time_s[j]);
    mem_free(d->time_s);
    mem_free(d->order);
    mem_free(d->cap);
    place_match_free(&d->match);
}

static edgeps_err draw_make(const place_ground *gr, uint64_t seed, draw *out)
{
    size_t n = gr->count;
    draw d = {.gr = gr, .r = rng_make(seed, RANDOM_STREAM)};
    edgeps_err err = place_match_make(gr, &d.match);
    d.prefer = mem_alloc(n, sizeof *d.prefer);
    d.time_s = mem_alloc(n, sizeof *d.time_s);
    d.order = mem_alloc(n, sizeof *d.order);
    d.cap = mem_alloc(n, sizeof *d.cap);
    if (err || !d.prefer || !d.time_s || !d.order || !d.cap) {
        draw_free(&d);
        return EDGEPS_NOMEM;
    }
    rng_permutation(&d.r, n, d.order);
    for (size_t j = 0; j < n; j++)
        d.prefer[j] = rng_uniform(&d.r);
    for (size_t j = 0; j < n; j++) {
        d.time_s[j] = mem_alloc(n, sizeof **d.time_s);
        if (!d.time_s[j]) {
            draw_free(&d);
            return EDGEPS_NOMEM;
        }
        for (size_t i = 0; i < n; i++)
            d.time_s[j][i] = rng_uniform(&d.r);
    }
    *out = d;
    return EDGEPS_OK;
}

/* Opens more servers up to a random number and assigns at random; the plan that was found stays
 * where this leaves a worker unserved. */
static void scatter(draw *d, plan *pl)
{
    const place_ground *gr = d->gr;
    size_t global = (size_t)pl->global;
    size_t want = 1 + rng_below(&d->r, (uint64_t)gr->fan[global]);
    size_t open = 0;
    memset(d->cap, 0, gr->count * sizeof *d->cap);
    for (size_t w = 0; w < gr->worker_count; w++) {
        int32_t j = pl->parent[gr->workers[w]];
        open += d->cap[j] == 0;
        d->cap[j] = 1;
    }
    rng_permutation(&d->r, gr->count, d->order);
    for (size_t o = 0; o < gr->count && open < want; o++) {
        size_t j = d->order[o];
        if (d->cap[j] || !place_joins(gr, global, j) || place_room(gr, global, 1, j) < 1)
            continue;
        d->cap[j] = 1;
        open++;
    }
    for (size_t j = 0; j < gr->count; j++)
        if (d->cap[j])
            d->cap[j] = place_room(gr, global, (int32_t)open, j);
    if (place_match_run(&d->match, d->time_s, 1, d->cap) == gr->worker_count)
        memcpy(pl->parent, d->match.parent, gr->count * sizeof *pl->parent);
}

static edgeps_err draw_plan(draw *d, plan *pl, place_result *r, place_found *answer)
{
    *answer = PLACE_NONE;
    for (size_t o = 0; o < d->gr->count; o++) {
        place_found one;
        edgeps_err err = place_find(d->gr, d->order[o], d->prefer, pl, &one);
        if (err)
            return err;
        r->globals_solved++;
        if (one != PLACE_NONE)
            *answer = one;
        if (one == PLACE_FOUND) {
            scatter(d, pl);
            break;
        }
    }
    /* A search that random ranks led astray may still succeed by room. */
    return *answer == PLACE_GAVE_UP ? place_find_any(d->gr, pl, answer) : EDGEPS_OK;
}

edgeps_err place_random(const problem *p, const place_options *options, edgeps_diag *diag,
                        place_result *out)
{
    (void)diag;
    place_ground gr = {0};
    draw d = {0};
    place_result r = {.plan.global = PLAN_NONE, .status = PLACE_FEASIBLE};
    place_found found;
    edgeps_err err = place_ground_make(p, &gr);
    if (!err)
        err = draw_make(&gr, options->seed, &d);
    if (!err)
        err = plan_make(p->count, &r.plan);
    if (!err)
        err = draw_plan(&d, &r.plan, &r, &found);
    if (!err && found != PLACE_FOUND) {
        r.status = PLACE_INFEASIBLE;
        place_infeasible_reason(&gr, found, r.reason, sizeof r.reason);
    }
    if (!err) {
        *out = r;
        r.plan = (plan){0};
    }
    plan_free(&r.plan);
    draw_free(&d);
    place_ground_free(&gr);
    return err;
}
