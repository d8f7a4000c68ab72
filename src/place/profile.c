/* The first stage for all candidates at once: R1(k), a lower bound of the round time of every plan
 * with k local servers, whichever node is the global server. */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The LPs of larger problems take longer than the rest of a placement. */
#define MOST_PROFILED_NODES 400
/* Larger problems ask for the most local servers only: R1 is least there. */
#define MOST_SEARCHED_NODES 200

typedef struct profile {
    const place_times *t;
    place_view view;  /* chains and loads that end at the local server */
    double *stage1_s; /* R1 by number of local servers; negative: not known yet */
    double upper_s;
} profile;

static void profile_free(profile *f)
{
    place_view_free(&f->view);
    mem_free(f->stage1_s);
}

static edgeps_err profile_make(const place_times *t, profile *out)
{
    const place_ground *gr = t->gr;
    size_t n = gr->count, most = gr->p->max_locals;
    profile f = {.t = t, .view = {.global = PLACE_ANY_GLOBAL}};
    f.view.chain = mem_alloc(n * n, sizeof *f.view.chain);
    f.view.load = mem_alloc(n * (n + 1), sizeof *f.view.load);
    f.view.fan = mem_alloc(most + 1, sizeof *f.view.fan);
    f.stage1_s = mem_alloc(most + 1, sizeof *f.stage1_s);
    if (!f.view.chain || !f.view.load || !f.view.fan || !f.stage1_s) {
        profile_free(&f);
        return EDGEPS_NOMEM;
    }
    for (size_t k = 0; k <= most; k++)
        f.stage1_s[k] = -1;
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < n; i++) {
            bool path = gr->path[j * n + i] && gr->room[j] > 0;
            f.view.chain[j * n + i] = path ? t->base[j * n + i] : INFINITY;
        }
        place_load_s(t, PLACE_ANY_GLOBAL, j, n, f.view.load + j * (n + 1));
    }
    *out = f;
    return EDGEPS_OK;
}

static edgeps_err stage1(profile *f, size_t locals, double *r_s)
{
    if (f->stage1_s[locals] < 0) {
        place_threshold th;
        f->view.most_locals = (int32_t)locals;
        edgeps_err err =
            place_threshold_search(f->t, &f->view, &(place_hunt){.upper_s = INFINITY}, &th);
        if (err)
            return err;
        f->stage1_s[locals] = th.bound_s;
        mem_free(th.open);
    }
    *r_s = f->stage1_s[locals];
    return EDGEPS_OK;
}

/* The least over k of max(R1(k) + tail, fan(k)): R1 falls with k, fan grows, so it is where they
 * cross. */
static edgeps_err raise_bound(profile *f, double *fan, place_candidate *c)
{
    size_t high = (size_t)f->t->gr->fan[c->global];
    bool searched = f->t->gr->count <= MOST_SEARCHED_NODES;
    size_t low = searched ? 1 : high;
    double tail_s = place_least_tail_s(f->t, c->global), stage1_s;
    edgeps_err err = place_fan_s(f->t, c->global, high, fan);
    while (!err && low < high) {
        size_t middle = low + (high - low) / 2;
        err = stage1(f, middle, &stage1_s);
        if (err)
            return err;
        if (stage1_s + tail_s <= fan[middle])
            high = middle;
        else
            low = middle + 1;
    }
    if (!err)
        err = stage1(f, low, &stage1_s);
    if (err)
        return err;
    double least_s = fmax(stage1_s + tail_s, fan[searched ? low : 1]);
    if (low > 1 && searched) {
        err = stage1(f, low - 1, &stage1_s);
        least_s = fmin(least_s, fmax(stage1_s + tail_s, fan[low - 1]));
    }
    c->bound_s = fmax(c->bound_s, least_s);
    return err;
}

edgeps_err place_raise_bounds(const place_times *t, place_watch *w, place_candidate *list,
                              size_t count)
{
    if (t->gr->count > MOST_PROFILED_NODES)
        return EDGEPS_OK;
    profile f = {0};
    double *fan = mem_alloc(t->gr->p->max_locals + 1, sizeof *fan);
    edgeps_err err = fan ? profile_make(t, &f) : EDGEPS_NOMEM;
    for (size_t c = 0; !err && c < count && place_watch_go_on(w, 0); c++)
        err = raise_bound(&f, fan, &list[c]);
    if (!err)
        place_sort_candidates(list, count);
    profile_free(&f);
    mem_free(fan);
    return err;
}
