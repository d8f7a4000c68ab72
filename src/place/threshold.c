/* The least round time that the covering LP cannot refute for one global server. A round time is
 * refuted when it is for every pair of moments at which the global server has the sums of the first
 * and of the last chunk: for boxes of such moments, each refuted as a whole. */
#include "place/refute_int.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define PRECISION 0.001 /* of thresholds, relative */
#define COARSE 0.125    /* of the round: a box that is wider is halved before an LP is solved */
#define FINE 0.004      /* ... and one that is narrower is not halved any more */

typedef struct box {
    double first_s[2], last_s[2];
} box;

/* All moments at which the global server may have the sum of the first chunk by the needs of every
 * plan, between from_s and to_s, and the moments of the last that go with them. */
static box box_of(const place_view *v, double r_s, double from_s, double to_s)
{
    const place_limits *least = &v->least;
    bool single = v->t->first_wire == v->t->all_wire;
    box b = {{from_s, to_s}, {fmax(from_s, least->all_in_s), r_s - least->last_out_s}};
    if (single)
        memcpy(b.last_s, b.first_s, sizeof b.last_s);
    return b;
}

/* Boxes from the left: halved where that fails, doubled where it succeeds. What was not refuted is
 * left in *out. */
static edgeps_err refute_boxes(place_refuter *rf, const place_view *v, double r_s,
                               place_threshold *out, bool *refuted)
{
    double from_s = v->least.first_in_s, end_s = r_s - v->least.all_out_s;
    double step_s = end_s - from_s;
    *refuted = true;
    while (from_s <= end_s) {
        double to_s = fmin(from_s + step_s, end_s);
        box b = box_of(v, r_s, from_s, to_s);
        out->limits = place_halves(r_s, b.first_s, b.last_s);
        out->locals = place_view_locals(v, &out->limits, &out->limits);
        bool lp = to_s - from_s <= COARSE * r_s;
        edgeps_err err = place_refute(rf, v, lp, out, refuted);
        if (err || (!*refuted && to_s - from_s <= FINE * r_s) || (*refuted && to_s >= end_s))
            return err;
        if (*refuted)
            from_s = to_s;
        step_s = *refuted ? 2 * step_s : (to_s - from_s) / 2;
    }
    return EDGEPS_OK;
}

/* The bounds of every plan before any search. */
static double least_s(const place_view *v)
{
    double first_s = v->least.first_in_s + v->least.all_out_s;
    double last_s = v->least.all_in_s + v->least.last_out_s;
    return fmax(v->least.round_s, fmax(first_s, last_s));
}

edgeps_err place_refute_round(place_refuter *rf, const place_view *v, double r_s, bool *refuted)
{
    place_threshold none = {0};
    *refuted = r_s <= least_s(v);
    return *refuted ? EDGEPS_OK : refute_boxes(rf, v, r_s, &none, refuted);
}

/* In growing steps from below, then by halves. */
static edgeps_err search(place_refuter *rf, const place_view *v, const place_hunt *limits,
                         place_threshold *trial, place_threshold *found)
{
    double low_s = fmax(limits->lower_s, least_s(v)), high_s = limits->upper_s, step = 0.02;
    while (low_s < high_s * (1 - PRECISION) && low_s < INFINITY) {
        bool refuted = true;
        double middle_s = fmin(low_s * (1 + step), low_s + (high_s - low_s) / 2);
        edgeps_err err =
            middle_s < INFINITY ? refute_boxes(rf, v, middle_s, trial, &refuted) : EDGEPS_OK;
        if (err)
            return err;
        if (refuted) {
            low_s = middle_s;
            step *= 2;
            continue;
        }
        high_s = middle_s;
        double *open = found->open;
        *found = *trial;
        trial->open = open;
    }
    found->bound_s = fmin(low_s, limits->upper_s);
    found->r_s = high_s;
    return EDGEPS_OK;
}

edgeps_err place_threshold_search(place_refuter *rf, const place_view *v, const place_hunt *limits,
                                  place_threshold *out)
{
    place_threshold trial = {.open = mem_alloc(v->t->gr->count, sizeof *trial.open)};
    place_threshold found = {.open = mem_alloc(v->t->gr->count, sizeof *found.open)};
    edgeps_err err =
        trial.open && found.open ? search(rf, v, limits, &trial, &found) : EDGEPS_NOMEM;
    mem_free(trial.open);
    if (err)
        mem_free(found.open);
    else
        *out = found;
    return err;
}
