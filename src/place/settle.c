#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct settle {
    const place_view *v;
    const bool *open;
    int32_t locals;
    int32_t *cap;
    double *list; /* times that matter, ascending */
    size_t list_count;
} settle;

static void list_times(settle *s)
{
    const place_ground *gr = s->v->t->gr;
    for (size_t j = 0; j < gr->count; j++) {
        const double *chain = s->v->chain[j], *load = s->v->load[j];
        for (size_t w = 0; s->open[j] && w < gr->worker_count; w++) {
            if (chain[gr->workers[w]] < INFINITY)
                s->list[s->list_count++] = chain[gr->workers[w]];
            if (load[w + 1] < INFINITY)
                s->list[s->list_count++] = load[w + 1];
        }
    }
    qsort(s->list, s->list_count, sizeof *s->list, by_value);
}

/* Does everybody find a place within r_s? */
static bool fits(settle *s, place_match *match, double r_s)
{
    const place_ground *gr = s->v->t->gr;
    place_limits limits = place_whole_round(r_s);
    for (size_t j = 0; j < gr->count; j++) {
        s->cap[j] = 0;
        if (!s->open[j])
            continue;
        int32_t room = place_room(gr, s->v->global, s->locals, j);
        int32_t time = place_view_cap(s->v, &limits, j);
        s->cap[j] = room < time ? room : time;
    }
    return place_match_run(match, s->v->chain, r_s, s->cap) == gr->worker_count;
}

static void search(settle *s, place_match *match)
{
    size_t low = 0, high = s->list_count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (fits(s, match, s->list[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    fits(s, match, s->list[low]);
}

edgeps_err place_settle(place_view *v, const bool *open, place_match *match, plan *pl,
                        bool *settled)
{
    const place_ground *gr = v->t->gr;
    settle s = {.v = v, .open = open};
    edgeps_err err = EDGEPS_OK;
    for (size_t j = 0; j < gr->count; j++) {
        s.locals += open[j];
        if (!err && open[j])
            err = place_view_rows(v, j);
    }
    if (err)
        return err;
    err = EDGEPS_NOMEM;
    s.cap = mem_alloc(gr->count, sizeof *s.cap);
    s.list = mem_alloc(2 * (size_t)s.locals * gr->worker_count, sizeof *s.list);
    if (!s.cap || !s.list)
        goto out;
    err = EDGEPS_OK;
    list_times(&s);
    *settled =
        s.locals <= v->most_locals && s.list_count > 0 && fits(&s, match, s.list[s.list_count - 1]);
    if (!*settled)
        goto out;
    search(&s, match);
    pl->global = (int32_t)v->global;
    memcpy(pl->parent, match->parent, gr->count * sizeof *pl->parent);
out:
    mem_free(s.cap);
    mem_free(s.list);
    return err;
}
