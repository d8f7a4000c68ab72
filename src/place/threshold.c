/* The least round time that the covering LP cannot refute for one global server, by binary search
 * over the distinct values at which the LP changes. */
#include "place/place_int.h"

#include "base/mem.h"
#include "cover/cover.h"

#include <math.h>
#include <stdlib.h>

#define MOST_LISTED 4096         /* thresholds that are sorted; more are halved by value first */
#define WEIGHTS_WORK 4000000     /* arcs touched by the weights per LP */
#define MOST_EXACT_ARCS 450      /* larger LPs go to CLP only when exactness is asked for ... */
#define LARGEST_EXACT_ARCS 20000 /* ... and larger ones never */
#define BISECTIONS 50

typedef struct hunt {
    const place_times *t;
    const place_view *v;
    size_t exact_arcs;
    cover_server *servers;
    cover_arc *arcs;
    double *open; /* of the last LP that was not refuted */
    size_t lp_count;
} hunt;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Arcs and capacity of one server within r_s; `at` is its place in the pool of arcs. A worker on
 * the server's own node takes no network: where the network limits the number, it is free; where
 * the storage does, it counts. */
static size_t pose_server(hunt *h, size_t server, double r_s, size_t at)
{
    const place_ground *gr = h->t->gr;
    int32_t room = place_room(gr, h->v->global, 1, server);
    int32_t cap = place_view_cap(h->t, h->v, server, r_s);
    bool own = h->v->chain[server * gr->count + server] <= r_s;
    bool own_is_free = own && cap < room;
    cover_server *s = &h->servers[server];
    *s = (cover_server){h->arcs + at, 0, (double)cap - own_is_free};
    for (size_t w = 0; cap > 0 && w < gr->worker_count; w++) {
        size_t i = gr->workers[w];
        if (h->v->chain[server * gr->count + i] <= r_s)
            h->arcs[at + s->arc_count++] =
                (cover_arc){(uint32_t)w, i == server && own_is_free ? 0 : 1};
    }
    return s->arc_count;
}

/* Is a round time of r_s refuted for every plan with at most `locals` local servers? */
static edgeps_err refute(hunt *h, double r_s, int32_t locals, bool *refuted)
{
    const place_ground *gr = h->t->gr;
    size_t arcs = 0;
    cover_answer answer;
    *refuted = true;
    if (locals < 1)
        return EDGEPS_OK;
    for (size_t j = 0; j < gr->count; j++)
        arcs += pose_server(h, j, r_s, arcs);
    cover_instance c = {gr->worker_count, gr->count, h->servers, (double)locals};
    cover_options options = {.most_exact_arcs = h->exact_arcs, .most_iterations = 100};
    if (arcs > WEIGHTS_WORK / options.most_iterations)
        options.most_iterations = WEIGHTS_WORK / arcs + 1;
    edgeps_err err = cover_decide(&c, &options, &answer);
    if (err)
        return err;
    h->lp_count++;
    *refuted = answer.verdict == COVER_NO;
    for (size_t j = 0; j < gr->count && !*refuted; j++)
        h->open[j] = answer.open[j];
    cover_answer_free(&answer);
    return EDGEPS_OK;
}

static void take(double value, double low_s, double high_s, double *list, size_t *count)
{
    if (value < low_s || value >= high_s)
        return;
    if (list)
        list[*count] = value;
    ++*count;
}

/* The thresholds from low_s to below high_s into `list` (NULL: only counted). low_s itself is one:
 * what was refuted there must be asked again for the turns up to the next. */
static size_t list_thresholds(const hunt *h, double low_s, double high_s, double *list)
{
    const place_ground *gr = h->t->gr;
    size_t count = 0;
    take(low_s, low_s, high_s, list, &count);
    for (size_t j = 0; j < gr->count; j++) {
        const double *chain = h->v->chain + j * gr->count;
        const double *load = h->v->load + j * (gr->count + 1);
        if (place_room(gr, h->v->global, 1, j) < 1)
            continue;
        for (size_t w = 0; w < gr->worker_count; w++)
            take(chain[gr->workers[w]], low_s, high_s, list, &count);
        for (size_t m = 1; m <= gr->worker_count; m++)
            take(load[m], low_s, high_s, list, &count);
    }
    for (int32_t k = 1; k <= h->v->most_locals; k++)
        take(h->v->fan[k], low_s, high_s, list, &count);
    return count;
}

static edgeps_err make_list(const hunt *h, double low_s, double high_s, double **out, size_t *count)
{
    size_t found = list_thresholds(h, low_s, high_s, NULL), distinct = 0;
    double *list = mem_alloc(found + 1, sizeof *list);
    if (!list)
        return EDGEPS_NOMEM;
    list_thresholds(h, low_s, high_s, list);
    qsort(list, found, sizeof *list, by_value);
    for (size_t l = 0; l < found; l++)
        if (l == 0 || list[l] > list[distinct - 1])
            list[distinct++] = list[l];
    *out = list;
    *count = distinct;
    return EDGEPS_OK;
}

/* Halves by value until few thresholds lie between the limits: all up to low_s is refuted, high_s
 * is not (or is the upper limit). */
static edgeps_err narrow(hunt *h, double *low_s, double *high_s)
{
    while (list_thresholds(h, *low_s, *high_s, NULL) > MOST_LISTED) {
        double middle_s = *high_s < INFINITY ? (*low_s + *high_s) / 2 : 2 * *low_s + 1;
        bool refuted;
        if (!(middle_s > *low_s && middle_s < *high_s))
            break;
        int32_t locals = place_view_locals(h->t, h->v, middle_s, middle_s);
        edgeps_err err = refute(h, middle_s, locals, &refuted);
        if (err)
            return err;
        *(refuted ? low_s : high_s) = middle_s;
    }
    return EDGEPS_OK;
}

/* The least time above r_s at which the turns at the global server allow `locals`. */
static double turns_allow_s(const hunt *h, double r_s, double high_s, int32_t locals)
{
    double low_s = r_s;
    if (place_view_locals(h->t, h->v, r_s, low_s) >= locals)
        return r_s;
    for (int b = 0; b < BISECTIONS; b++) {
        double middle_s = low_s + (high_s - low_s) / 2;
        if (place_view_locals(h->t, h->v, r_s, middle_s) >= locals)
            high_s = middle_s;
        else
            low_s = middle_s;
    }
    return low_s;
}

/* Between r_s and the next threshold only the turns change the LP: raises the bound to where they
 * allow as many local servers as it needs. */
static edgeps_err raise_by_turns(hunt *h, double next_s, place_threshold *out)
{
    int32_t least = place_view_locals(h->t, h->v, out->r_s, out->r_s);
    int32_t most = out->locals;
    if (next_s == INFINITY)
        return EDGEPS_OK;
    while (least < most) {
        bool refuted;
        int32_t middle = least + (most - least) / 2;
        edgeps_err err = refute(h, out->r_s, middle, &refuted);
        if (err)
            return err;
        if (refuted)
            least = middle + 1;
        else
            most = middle;
    }
    out->bound_s = fmax(out->bound_s, turns_allow_s(h, out->r_s, next_s, most));
    return EDGEPS_OK;
}

/* Binary search over the list: list[low - 1] and all before is refuted, list[high] is not. */
static edgeps_err search_list(hunt *h, const double *list, size_t count, double upper_s,
                              place_threshold *out)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        double next_s = middle + 1 < count ? list[middle + 1] : upper_s;
        int32_t locals = place_view_locals(h->t, h->v, list[middle], next_s);
        bool refuted;
        edgeps_err err = refute(h, list[middle], locals, &refuted);
        if (err)
            return err;
        if (refuted)
            low = middle + 1;
        else
            high = middle;
    }
    out->bound_s = low < count ? list[low] : upper_s;
    out->r_s = out->bound_s;
    if (low == count)
        return EDGEPS_OK;
    double next_s = low + 1 < count ? list[low + 1] : upper_s;
    out->locals = place_view_locals(h->t, h->v, out->r_s, next_s);
    return raise_by_turns(h, next_s, out);
}

static void hunt_free(hunt *h)
{
    mem_free(h->servers);
    mem_free(h->arcs);
    mem_free(h->open);
}

static edgeps_err hunt_make(const place_times *t, const place_view *v, hunt *out)
{
    hunt h = {.t = t, .v = v};
    h.servers = mem_alloc(t->gr->count, sizeof *h.servers);
    h.arcs = mem_alloc(t->gr->count * t->gr->worker_count, sizeof *h.arcs);
    h.open = mem_alloc(t->gr->count, sizeof *h.open);
    if (!h.servers || !h.arcs || !h.open) {
        hunt_free(&h);
        return EDGEPS_NOMEM;
    }
    *out = h;
    return EDGEPS_OK;
}

edgeps_err place_threshold_search(const place_times *t, const place_view *v,
                                  const place_hunt *limits, place_threshold *out)
{
    hunt h = {0};
    place_threshold found = {0};
    double *list = NULL;
    size_t count;
    double low_s = limits->lower_s, high_s = limits->upper_s;
    edgeps_err err = hunt_make(t, v, &h);
    h.exact_arcs = limits->exact ? LARGEST_EXACT_ARCS : MOST_EXACT_ARCS;
    if (!err)
        err = narrow(&h, &low_s, &high_s);
    if (!err)
        err = make_list(&h, low_s, high_s, &list, &count);
    if (!err)
        err = search_list(&h, list, count, high_s, &found);
    if (!err) {
        if (!found.locals && high_s < limits->upper_s)
            found.locals = place_view_locals(t, v, high_s, high_s);
        found.open = h.open;
        found.lp_count = h.lp_count;
        h.open = NULL;
        *out = found;
    }
    mem_free(list);
    hunt_free(&h);
    return err;
}
