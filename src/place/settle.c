#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define PRECISION 1e-6 /* relative, of the factor on the limits */
#define SHORTEST 1e-9
#define LONGEST 1e300
#define FIRST_STEP 0.01

/* Open servers, and how far the limits must be stretched for what. */
typedef struct settle {
    const place_view *v;
    const place_limits *limits;
    const bool *open;
    int32_t locals;
    int32_t *cap;
    double **factor; /* per open server: per worker's node */
} settle;

static double ratio(double need_s, double limit_s)
{
    if (limit_s == INFINITY || need_s <= 0)
        return 0;
    return limit_s > 0 ? need_s / limit_s : INFINITY;
}

static double moment_ratio(moment need, moment limit)
{
    return larger_of(
        larger_of(ratio(need.first_s, limit.first_s), ratio(need.body_s, limit.body_s)),
        ratio(need.all_s, limit.all_s));
}

static double factor_of(const place_limits *need, const place_limits *limits)
{
    return larger_of(ratio(need->round_s, limits->round_s),
                     larger_of(moment_ratio(need->in_s, limits->in_s),
                               moment_ratio(need->out_s, limits->out_s)));
}

static moment times(moment m, double factor)
{
    return (moment){m.first_s * factor, m.body_s * factor, m.all_s * factor};
}

static place_limits stretched(const place_limits *limits, double factor)
{
    place_limits l = *limits;
    l.round_s *= factor;
    l.in_s = times(l.in_s, factor);
    l.out_s = times(l.out_s, factor);
    return l;
}

static void settle_free(settle *s)
{
    for (size_t j = 0; s->factor && j < s->v->t->gr->count; j++)
        mem_free(s->factor[j]);
    mem_free(s->factor);
    mem_free(s->cap);
}

static edgeps_err settle_make(const place_view *v, const place_limits *limits, const bool *open,
                              settle *out)
{
    const place_ground *gr = v->t->gr;
    settle s = {.v = v, .limits = limits, .open = open};
    edgeps_err err = EDGEPS_OK;
    s.cap = mem_alloc(gr->count, sizeof *s.cap);
    s.factor = mem_alloc(gr->count, sizeof *s.factor);
    if (!s.cap || !s.factor)
        err = EDGEPS_NOMEM;
    for (size_t j = 0; !err && j < gr->count; j++) {
        if (!open[j])
            continue;
        s.locals++;
        s.factor[j] = mem_alloc(gr->count, sizeof **s.factor);
        if (!s.factor[j])
            err = EDGEPS_NOMEM;
        for (size_t w = 0; !err && w < gr->worker_count; w++) {
            place_limits need = place_view_chain(v, limits->spread_s, j, gr->workers[w]);
            s.factor[j][gr->workers[w]] = factor_of(&need, limits);
        }
    }
    if (err)
        settle_free(&s);
    else
        *out = s;
    return err;
}

/* Does everybody find a place within the limits stretched so far? */
static bool fits(settle *s, place_match *match, double factor)
{
    const place_ground *gr = s->v->t->gr;
    place_limits limits = stretched(s->limits, factor);
    for (size_t j = 0; j < gr->count; j++) {
        s->cap[j] = 0;
        if (!s->open[j])
            continue;
        int32_t room = place_room(gr, s->v->global, s->locals, j);
        int32_t time = place_view_cap(s->v, &limits, j);
        s->cap[j] = room < time ? room : time;
    }
    return place_match_run(match, s->factor, factor, s->cap) == gr->worker_count;
}

/* The least factor for the worker for whom it is largest. */
static double least_factor(const settle *s)
{
    const place_ground *gr = s->v->t->gr;
    double worst = SHORTEST;
    for (size_t w = 0; w < gr->worker_count; w++) {
        double best = INFINITY;
        for (size_t j = 0; j < gr->count; j++)
            if (s->open[j])
                best = smaller_of(best, s->factor[j][gr->workers[w]]);
        worst = larger_of(worst, best);
    }
    return worst;
}

/* In growing steps, then by halves; the match is that of the least factor that fits. */
static void search(settle *s, place_match *match)
{
    double low = least_factor(s), high = low, step = FIRST_STEP;
    while (!fits(s, match, high)) {
        low = high;
        high *= 1 + step;
        step *= 2;
    }
    while (high - low > PRECISION * high) {
        double middle = low + (high - low) / 2;
        if (fits(s, match, middle))
            high = middle;
        else
            low = middle;
    }
    fits(s, match, high);
}

bool place_may_open(const place_view *v, const bool *open, size_t server)
{
    return !open[server] && place_joins(v->t->gr, v->global, server) &&
           place_room(v->t->gr, v->global, 1, server) > 0;
}

void place_open_by_share(const place_view *v, const place_threshold *th, bool *open)
{
    size_t count = v->t->gr->count, opened = 0;
    for (size_t j = 0; j < count; j++)
        opened += open[j];
    for (; opened < (size_t)th->locals; opened++) {
        size_t best = count;
        for (size_t j = 0; j < count; j++)
            if (th->open[j] > 0 && place_may_open(v, open, j) &&
                (best == count || th->open[j] > th->open[best]))
                best = j;
        if (best == count)
            return;
        open[best] = true;
    }
}

edgeps_err place_settle(const place_view *v, const place_limits *limits, const bool *open,
                        place_match *match, plan *pl, bool *settled)
{
    const place_ground *gr = v->t->gr;
    settle s;
    edgeps_err err = settle_make(v, limits, open, &s);
    if (err)
        return err;
    *settled = s.locals <= v->most_locals && fits(&s, match, LONGEST);
    if (*settled) {
        search(&s, match);
        pl->global = (int32_t)v->global;
        memcpy(pl->parent, match->parent, gr->count * sizeof *pl->parent);
    }
    settle_free(&s);
    return EDGEPS_OK;
}
