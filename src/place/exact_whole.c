/* The threshold problem of one global server with whole local servers: the least R at which some
 * set of them covers every worker. */
#include "place/exact_int.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cover/cover.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BISECTIONS 50

typedef struct whole {
    const place_view *v;
    place_watch *watch;
    cover_server *servers;
    cover_arc *arcs;
} whole;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void whole_free(whole *h)
{
    mem_free(h->servers);
    mem_free(h->arcs);
}

static edgeps_err whole_make(place_view *v, place_watch *w, whole *out)
{
    const place_ground *gr = v->t->gr;
    whole h = {.v = v, .watch = w};
    edgeps_err err = place_view_all_rows(v);
    if (err)
        return err;
    h.servers = mem_alloc(gr->count, sizeof *h.servers);
    h.arcs = mem_alloc(gr->count * gr->worker_count, sizeof *h.arcs);
    if (!h.servers || !h.arcs) {
        whole_free(&h);
        return EDGEPS_NOMEM;
    }
    *out = h;
    return EDGEPS_OK;
}

/* The covering problem within r_s. A worker on the server's own node takes no network: it is of
 * size 0 where the network and not the storage limits the server. */
static void pose(whole *h, double r_s)
{
    const place_ground *gr = h->v->t->gr;
    place_limits limits = place_whole_round(r_s);
    size_t at = 0;
    for (size_t j = 0; j < gr->count; j++) {
        int32_t cap = place_view_cap(h->v, &limits, j);
        bool own_is_free = h->v->chain[j][j] <= r_s && cap < place_room(gr, h->v->global, 1, j);
        cover_server *s = &h->servers[j];
        *s = (cover_server){h->arcs + at, 0, (double)cap - (cap > 0 && own_is_free)};
        for (size_t w = 0; cap > 0 && w < gr->worker_count; w++) {
            size_t i = gr->workers[w];
            if (h->v->chain[j][i] <= r_s)
                h->arcs[at + s->arc_count++] =
                    (cover_arc){(uint32_t)w, i == j && own_is_free ? 0 : 1};
        }
        at += s->arc_count;
    }
}

static bool go_on(void *context)
{
    place_watch *w = context;
    return place_watch_go_on(w, w->now.done_fraction);
}

/* Asks for at most `locals` servers within r_s, as the options say. */
static edgeps_err ask(whole *h, double r_s, int32_t locals, cover_whole_options options,
                      cover_whole *out)
{
    const place_ground *gr = h->v->t->gr;
    cover_instance c = {gr->worker_count, gr->count, h->servers, (double)locals};
    options.go_on = go_on;
    options.context = h->watch;
    options.deadline_s = place_watch_share_s(h->watch, 1);
    pose(h, r_s);
    return cover_whole_solve(&c, &options, out);
}

static void take(double value, double low_s, double high_s, double *list, size_t *count)
{
    if (value > low_s && value < high_s)
        list[(*count)++] = value;
}

/* Where chains, loads and fan change between the limits, and low_s itself; ascending. */
static edgeps_err list_thresholds(const whole *h, double low_s, double high_s, double **out,
                                  size_t *out_count)
{
    const place_ground *gr = h->v->t->gr;
    size_t count = 0, distinct = 1;
    double *list =
        mem_alloc(2 * gr->count * gr->worker_count + (size_t)h->v->most_locals + 1, sizeof *list);
    if (!list)
        return EDGEPS_NOMEM;
    list[count++] = low_s;
    for (size_t j = 0; j < gr->count; j++) {
        if (place_room(gr, h->v->global, 1, j) < 1)
            continue;
        for (size_t w = 0; w < gr->worker_count; w++) {
            take(h->v->chain[j][gr->workers[w]], low_s, high_s, list, &count);
            take(h->v->load[j][w + 1], low_s, high_s, list, &count);
        }
    }
    for (int32_t k = 1; k <= h->v->most_locals; k++)
        take(h->v->fan[k].round_s, low_s, high_s, list, &count);
    qsort(list, count, sizeof *list, by_value);
    for (size_t l = 1; l < count; l++)
        if (list[l] > list[distinct - 1])
            list[distinct++] = list[l];
    *out = list;
    *out_count = distinct;
    return EDGEPS_OK;
}

static int32_t locals_within(const whole *h, double r_s, double turns_s)
{
    place_limits limits = place_whole_round(r_s), turns = place_whole_round(turns_s);
    return place_view_locals(h->v, &limits, &turns);
}

/* Between r_s and next_s only the turns at the global server change what is allowed: the least time
 * at which they allow `locals`. */
static double turns_allow_s(const whole *h, double r_s, double next_s, int32_t locals)
{
    double low_s = r_s, high_s = next_s;
    if (next_s == INFINITY || locals_within(h, r_s, r_s) >= locals)
        return r_s;
    for (int b = 0; b < BISECTIONS; b++) {
        double middle_s = low_s + (high_s - low_s) / 2;
        if (locals_within(h, r_s, middle_s) >= locals)
            high_s = middle_s;
        else
            low_s = middle_s;
    }
    return low_s;
}

/* Asks at r_s, next_s the next threshold; the bound rises when the answer is no, open is filled in
 * when it is yes. */
static edgeps_err try_threshold(whole *h, double r_s, double next_s, bool whole_servers,
                                place_whole *out)
{
    cover_whole answer;
    cover_whole_options options = {.fractional = !whole_servers};
    int32_t locals = locals_within(h, r_s, next_s);
    out->verdict = COVER_NO;
    if (locals < 1)
        return EDGEPS_OK;
    edgeps_err err = ask(h, r_s, locals, options, &answer);
    if (err)
        return err;
    out->verdict = answer.verdict;
    out->found |= answer.verdict == COVER_YES;
    if (answer.verdict == COVER_YES)
        memcpy(out->open, answer.open, h->v->t->gr->count * sizeof *out->open);
    cover_whole_free(&answer);
    return EDGEPS_OK;
}

/* Yes at r_s: the turns may still ask for more time before as many servers are allowed as the LP
 * proves to be needed there. */
static edgeps_err raise_by_turns(whole *h, double r_s, double next_s, double *bound_s)
{
    cover_whole answer;
    cover_whole_options few = {.least = true, .fractional = true};
    int32_t locals = locals_within(h, r_s, next_s);
    if (locals_within(h, r_s, r_s) >= locals)
        return EDGEPS_OK;
    edgeps_err err = ask(h, r_s, locals, few, &answer);
    if (err)
        return err;
    if (answer.at_least <= (size_t)locals)
        *bound_s = fmax(*bound_s, turns_allow_s(h, r_s, next_s, (int32_t)answer.at_least));
    cover_whole_free(&answer);
    return EDGEPS_OK;
}

/* Binary search: all before list[low] is refuted, list[high] is not. What stays open counts as not
 * refuted. */
static edgeps_err search(whole *h, const double *list, size_t count, const place_hunt *limits,
                         place_whole *out)
{
    size_t low = 0, high = count;
    while (low < high && !h->watch->stopped) {
        size_t middle = low + (high - low) / 2;
        double next_s = middle + 1 < count ? list[middle + 1] : limits->upper_s;
        edgeps_err err = try_threshold(h, list[middle], next_s, limits->exact, out);
        if (err)
            return err;
        out->settled &= out->verdict != COVER_UNSURE;
        if (out->verdict == COVER_NO)
            low = middle + 1;
        else
            high = middle;
    }
    out->settled &= low == high;
    out->bound_s = low < count ? list[low] : limits->upper_s;
    if (!out->settled || low == count)
        return EDGEPS_OK;
    double next_s = low + 1 < count ? list[low + 1] : limits->upper_s;
    return raise_by_turns(h, list[low], next_s, &out->bound_s);
}

edgeps_err place_whole_search(place_view *v, const place_hunt *limits, place_watch *w,
                              place_whole *out)
{
    whole h = {0};
    double *list = NULL;
    size_t count;
    out->found = false;
    out->settled = true;
    out->bound_s = limits->lower_s;
    edgeps_err err = whole_make(v, w, &h);
    if (!err)
        err = list_thresholds(&h, limits->lower_s, limits->upper_s, &list, &count);
    if (!err)
        err = search(&h, list, count, limits, out);
    mem_free(list);
    whole_free(&h);
    return err;
}
