/* The least round time that the covering LP cannot refute for one global server. A round time is
 * refuted when it is for every pair of moments at which the global server has the sums of the first
 * and of the last chunk: for boxes of such moments, each refuted as a whole. */
#include "place/refute_int.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define PRECISION 0.001 /* of thresholds, relative */
#define COARSE 0.02     /* of the round: a box that is wider is halved before an LP is solved */
#define FIRST_STEP 0.005
#define SHORTEST_S 1e-9
#define MOST_SPLITS 64

/* When the global server has its sum of the first chunk; with one chunk, how long the pulls of the
 * local servers take, too. */
enum { SIDE_FIRST, SIDE_SPREAD };
static const double counts[REFUTE_SIDES] = {1, 0.05}; /* a second of one against the other's */

typedef struct box {
    double round_s;
    double fine_s; /* a box that is narrower is not halved any more */
    double side[REFUTE_SIDES][2];
} box;

/* All that a plan can have, by the needs of every plan. */
static box whole_box(const place_view *v, double r_s, double fine)
{
    const place_times *t = v->t;
    const place_limits *least = &v->least;
    box b = {.round_s = r_s,
             .fine_s = fine * r_s,
             .side[SIDE_FIRST] = {least->in_s.first_s, r_s - least->out_s.first_s}};
    if (t->one_chunk) {
        double up = t->gr->p->nodes[v->global].up_bytes_per_s;
        double longest_s = (double)v->most_locals * t->sent.all / up;
        b.side[SIDE_SPREAD][1] = smaller_of(longest_s, larger_of(r_s - least->in_s.first_s, 0));
    }
    return b;
}

/* Asks about a box; `lp`: by an LP if need be. What was asked is left in *out. */
static edgeps_err refute_box(place_refuter *rf, const place_view *v, const box *b, bool lp,
                             place_threshold *out, bool *refuted)
{
    const place_limits *least = &v->least;
    moment from = moment_at(b->side[SIDE_FIRST][0]), to = moment_at(b->side[SIDE_FIRST][1]);
    if (!v->t->one_chunk) {
        from = moment_later(from, least->in_s);
        to.body_s = b->round_s - least->out_s.body_s;
        to.all_s = b->round_s - least->out_s.all_s;
    }
    *refuted = from.first_s > to.first_s || from.body_s > to.body_s || from.all_s > to.all_s;
    if (*refuted)
        return EDGEPS_OK;
    out->limits = place_halves(b->round_s, from, to);
    if (v->t->one_chunk)
        out->limits = place_spread(v, out->limits, b->side[SIDE_SPREAD]);
    out->locals = place_view_locals(v, &out->limits, &out->limits);
    return place_refute(rf, v, lp, out, refuted);
}

static double width_of(const double range[2]) { return range[1] - range[0]; }

/* The side along which the box is longest. */
static size_t longest_side(const box *b)
{
    size_t longest = 0;
    for (size_t s = 1; s < REFUTE_SIDES; s++)
        if (counts[s] * width_of(b->side[s]) > counts[longest] * width_of(b->side[longest]))
            longest = s;
    return longest;
}

/* The second half of the box along a side; *b keeps the first. */
static box split(box *b, size_t side)
{
    box second = *b;
    double *low = b->side[side], *high = second.side[side];
    low[1] = high[0] = low[0] + width_of(low) / 2;
    return second;
}

/* Where in the whole a box is that stayed open. */
static void note_open(place_refuter *rf, const box *b, const box *whole)
{
    for (size_t s = 0; s < REFUTE_SIDES; s++)
        rf->open_part[s] =
            (b->side[s][0] - whole->side[s][0]) / larger_of(width_of(whole->side[s]), SHORTEST_S);
}

/* Halves what is not refuted, until a box stays open that is small. */
static edgeps_err sweep(place_refuter *rf, const place_view *v, const box *whole,
                        place_threshold *out, bool *refuted)
{
    box stack[MOST_SPLITS];
    size_t depth = 0;
    stack[depth++] = *whole;
    *refuted = true;
    while (depth > 0) {
        box b = stack[--depth];
        size_t side = longest_side(&b);
        double width_s = counts[side] * width_of(b.side[side]);
        bool lp = width_s <= COARSE * b.round_s;
        edgeps_err err = refute_box(rf, v, &b, lp, out, refuted);
        if (err)
            return err;
        if (*refuted)
            continue;
        bool given_up = lp && !rf->by_lp;
        if (given_up || width_s <= b.fine_s || depth + 2 > MOST_SPLITS) {
            note_open(rf, &b, whole);
            return EDGEPS_OK;
        }
        stack[depth + 1] = split(&b, side);
        stack[depth] = stack[depth + 1];
        stack[depth + 1] = b;
        depth += 2;
    }
    return EDGEPS_OK;
}

/* All moments of a round. First those in the place of the box that stayed open last: mostly it does
 * again. */
static edgeps_err refute_boxes(place_refuter *rf, const place_view *v, const box *whole,
                               place_threshold *out, bool *refuted)
{
    box hint = *whole;
    *refuted = width_of(whole->side[SIDE_FIRST]) < 0;
    if (*refuted)
        return EDGEPS_OK;
    for (size_t s = 0; s < REFUTE_SIDES; s++) {
        double *range = hint.side[s];
        range[0] += rf->open_part[s] * width_of(range);
        range[1] = smaller_of(range[0] + hint.fine_s, range[1]);
    }
    edgeps_err err = refute_box(rf, v, &hint, true, out, refuted);
    return err || !*refuted ? err : sweep(rf, v, whole, out, refuted);
}

/* The bounds of every plan before any search. */
static double least_s(const place_view *v)
{
    return larger_of(v->least.round_s, moment_end_s(v->least.in_s, v->least.out_s));
}

edgeps_err place_refute_round(place_refuter *rf, const place_view *v, double r_s, double fine,
                              bool *refuted)
{
    place_threshold none = {0};
    box all = whole_box(v, r_s, fine);
    *refuted = r_s <= least_s(v);
    return *refuted ? EDGEPS_OK : refute_boxes(rf, v, &all, &none, refuted);
}

/* In growing steps from the end that is known, below where there is no upper one, then by halves.
 */
static edgeps_err search(place_refuter *rf, const place_view *v, const place_hunt *limits,
                         place_threshold *trial, place_threshold *found)
{
    double low_s = larger_of(limits->lower_s, least_s(v)), high_s = limits->upper_s;
    double first_s = limits->first_s, step = FIRST_STEP;
    bool down = high_s < INFINITY;
    while (low_s < high_s * (1 - PRECISION) && low_s < INFINITY) {
        bool refuted = true;
        double middle_s = low_s + (high_s - low_s) / 2;
        if (first_s > low_s && first_s < high_s)
            middle_s = first_s;
        else if (step > 0 && down)
            middle_s = larger_of(middle_s, high_s * (1 - step));
        else if (step > 0)
            middle_s = (low_s + SHORTEST_S) * (1 + step);
        box all = whole_box(v, middle_s, PLACE_FINE);
        edgeps_err err =
            middle_s < INFINITY ? refute_boxes(rf, v, &all, trial, &refuted) : EDGEPS_OK;
        if (err)
            return err;
        step = refuted == down || first_s > 0 ? 0 : 2 * step;
        first_s = 0;
        if (refuted) {
            low_s = middle_s;
            continue;
        }
        high_s = middle_s;
        double *open = found->open;
        *found = *trial;
        trial->open = open;
    }
    found->bound_s = smaller_of(low_s, limits->upper_s);
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
