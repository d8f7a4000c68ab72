/* The capacitated p-median of the transfer times by local search with single swaps (Arya, Garg,
 * Khandekar, Meyerson, Munagala, Pandit 2004), for p = 1, 2, ...; each p starts from the one before
 * and the server that helps most. */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define BETTER 0.999 /* a swap must save a thousandth, so that there are few */

typedef struct median {
    place_choice *c;
    double **way_s;    /* [server][worker], of those that may serve */
    double unserved_s; /* what a worker without room counts */
    bool *open;
    bool *trial; /* a copy of `open` that may be repaired */
    int32_t *cap;
    place_candidate *globals;
} median;

static void median_free(median *m)
{
    for (size_t s = 0; m->way_s && s < m->c->server_count; s++)
        mem_free(m->way_s[m->c->servers[s]]);
    mem_free(m->way_s);
    mem_free(m->open);
    mem_free(m->trial);
    mem_free(m->cap);
    mem_free(m->globals);
}

static edgeps_err median_make(place_choice *c, median *out)
{
    const place_ground *gr = c->gr;
    size_t n = gr->count;
    median m = {.c = c};
    m.way_s = mem_alloc(n, sizeof *m.way_s);
    m.open = mem_alloc(n, sizeof *m.open);
    m.trial = mem_alloc(n, sizeof *m.trial);
    m.cap = mem_alloc(n, sizeof *m.cap);
    m.globals = mem_alloc(n, sizeof *m.globals);
    if (!m.way_s || !m.open || !m.trial || !m.cap || !m.globals) {
        median_free(&m);
        return EDGEPS_NOMEM;
    }
    for (size_t s = 0; s < c->server_count; s++) {
        size_t j = c->servers[s];
        m.way_s[j] = mem_alloc(n, sizeof **m.way_s);
        if (!m.way_s[j]) {
            median_free(&m);
            return EDGEPS_NOMEM;
        }
        for (size_t w = 0; w < gr->worker_count; w++) {
            size_t i = gr->workers[w];
            double way_s = place_path(gr, j, i) ? place_distance_s(gr->p, i, j) : INFINITY;
            m.way_s[j][i] = way_s;
            if (way_s < INFINITY)
                m.unserved_s += way_s;
        }
    }
    *out = m;
    return EDGEPS_OK;
}

/* Sum of the ways from all workers to their servers under the capacities. */
static double sum_s(median *m)
{
    place_choice *c = m->c;
    const place_ground *gr = c->gr;
    double total_s = 0, opened = 0;
    for (size_t j = 0; j < gr->count; j++) {
        m->cap[j] = m->open[j] ? gr->room[j] : 0;
        opened += m->open[j];
    }
    place_match_run(&c->match, m->way_s, INFINITY, m->cap);
    c->work_us += opened * (double)gr->worker_count / 50;
    for (size_t w = 0; w < gr->worker_count; w++) {
        int32_t j = c->match.parent[gr->workers[w]];
        total_s += j == PLAN_NONE ? m->unserved_s : m->way_s[j][gr->workers[w]];
    }
    return total_s;
}

/* Opens the server that saves most. */
static void add(median *m, double *now_s)
{
    const place_choice *c = m->c;
    size_t best = c->gr->count;
    *now_s = INFINITY;
    for (size_t s = 0; s < c->server_count; s++) {
        size_t j = c->servers[s];
        if (m->open[j])
            continue;
        m->open[j] = true;
        double trial_s = sum_s(m);
        m->open[j] = false;
        if (trial_s < *now_s) {
            best = j;
            *now_s = trial_s;
        }
    }
    if (best < c->gr->count)
        m->open[best] = true;
}

/* Takes the first swap of an open for a closed server that saves enough; false when none does. */
static bool swap(median *m, double *now_s)
{
    const place_choice *c = m->c;
    for (size_t s = 0; s < c->server_count; s++) {
        size_t out = c->servers[s];
        for (size_t t = 0; m->open[out] && t < c->server_count; t++) {
            size_t in = c->servers[t];
            if (m->open[in])
                continue;
            if (!place_choice_go_on(m->c, 0))
                return false;
            m->open[out] = false;
            m->open[in] = true;
            double trial_s = sum_s(m);
            if (trial_s < BETTER * *now_s) {
                *now_s = trial_s;
                return true;
            }
            m->open[in] = false;
            m->open[out] = true;
        }
    }
    return false;
}

/* Tries global servers in the order of their ways to the open servers, until one has a plan. */
static edgeps_err offer(median *m)
{
    place_choice *c = m->c;
    const place_ground *gr = c->gr;
    size_t count = 0;
    double round_s = INFINITY;
    edgeps_err err = EDGEPS_OK;
    for (size_t g = 0; g < gr->count; g++) {
        double ways_s = 0;
        for (size_t j = 0; j < gr->count; j++)
            if (m->open[j])
                ways_s += place_distance_s(gr->p, j, g);
        if (gr->fan[g] > 0 && ways_s < INFINITY)
            m->globals[count++] = (place_candidate){(uint32_t)g, ways_s, INFINITY};
    }
    place_sort_candidates(m->globals, count);
    for (size_t g = 0; !err && g < count && round_s == INFINITY; g++) {
        memcpy(m->trial, m->open, gr->count * sizeof *m->trial);
        err = place_choice_try(c, m->globals[g].global, m->trial, &round_s);
    }
    return err;
}

static edgeps_err choose(place_choice *c, uint64_t seed)
{
    (void)seed;
    median m;
    edgeps_err err = median_make(c, &m);
    if (err)
        return err;
    size_t most = c->gr->p->max_locals;
    most = most < c->server_count ? most : c->server_count;
    for (size_t p = 1; !err && p <= most; p++) {
        double now_s;
        if (!place_choice_go_on(c, (double)p / (double)most))
            break;
        add(&m, &now_s);
        while (swap(&m, &now_s))
            continue;
        err = offer(&m);
    }
    median_free(&m);
    return err;
}

edgeps_err place_kmedian(const problem *p, const place_options *options, edgeps_diag *diag,
                         place_result *out)
{
    (void)diag;
    return place_choose(p, options, choose, out);
}
