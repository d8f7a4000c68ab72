/* Prices that refute one global server are tried on the others before any LP is solved: what
 * workers and local servers do among themselves is nearly the same for all of them. */
#include "place/refute_int.h"

#include "base/mem.h"

#include <string.h>

#define MOST_HINTS 16
#define MOST_TRIED 4      /* where failing costs no LP */
#define RAISE_US 12000000 /* about the time for all candidates, by a count of ... */
#define ASKED_US 0.035    /* ... what is asked about servers, which takes longer ... */
#define ASKED_NODES 5000  /* ... where the nodes no longer fit the cache */
#define SLACK 0.002       /* of the least threshold: so much lower ones are not told apart */

void place_refuter_free(place_refuter *rf)
{
    if (!rf)
        return;
    for (size_t k = 0; k < rf->kept_count; k++)
        cover_prices_free(&rf->kept[k]);
    cover_top_free(&rf->top);
    mem_free(rf->number);
    mem_free(rf->cap);
    mem_free(rf);
}

edgeps_err place_refuter_make(const place_ground *gr, place_refuter **out)
{
    place_refuter *rf = mem_alloc(1, sizeof *rf);
    if (!rf)
        return EDGEPS_NOMEM;
    rf->gr = gr;
    rf->number = mem_alloc(gr->count, sizeof *rf->number);
    rf->cap = mem_alloc(gr->count, sizeof *rf->cap);
    if (!rf->number || !rf->cap ||
        cover_top_make(gr->worker_count, gr->count, &rf->top) != EDGEPS_OK) {
        place_refuter_free(rf);
        return EDGEPS_NOMEM;
    }
    for (size_t i = 0; i < gr->count; i++)
        rf->number[i] = COVER_NOBODY;
    for (size_t w = 0; w < gr->worker_count; w++)
        rf->number[gr->workers[w]] = (uint32_t)w;
    *out = rf;
    return EDGEPS_OK;
}

size_t place_refuter_lps(const place_refuter *rf) { return rf->lps; }

/* ---- one set of limits as a covering question ---- */

typedef struct within {
    const place_view *v;
    const place_limits *limits;
    const uint32_t *number;
    int32_t *cap;
    uint64_t *asked;
} within;

static uint32_t most(const void *context, size_t server)
{
    const within *w = context;
    ++*w->asked;
    return (uint32_t)place_view_most(w->v, w->limits, server);
}

/* A worker on the server's own node takes no network: where the network limits the number, it is
 * served aside; where the storage does, it counts. */
static cover_offer offer(const void *context, size_t server)
{
    const within *w = context;
    const place_view *v = w->v;
    ++*w->asked;
    if (w->cap[server] < 0)
        w->cap[server] = place_view_cap(v, w->limits, server);
    uint32_t cap = (uint32_t)w->cap[server];
    bool own = cap > 0 && w->number[server] != COVER_NOBODY &&
               cap < (uint32_t)place_room(v->t->gr, v->global, 1, server) &&
               place_view_serves(v, w->limits, server, server);
    return (cover_offer){cap - own, own ? w->number[server] : COVER_NOBODY};
}

static size_t serves(const void *context, size_t server, const cover_list *of, size_t most_served,
                     uint32_t *served)
{
    const within *w = context;
    size_t count = place_view_reach(w->v, w->limits, server, of, most_served, served);
    *w->asked += count < most_served ? of->count : count;
    return count;
}

static double cost(const void *context, size_t server)
{
    return ((const within *)context)->v->relay[server].share;
}

/* To the front with what has just served. */
static void keep_first(place_refuter *rf, cover_prices p, size_t at)
{
    memmove(rf->kept + 1, rf->kept, at * sizeof *rf->kept);
    rf->kept[0] = p;
}

static edgeps_err keep(place_refuter *rf, const cover_reply *reply)
{
    cover_prices p;
    edgeps_err err = cover_prices_make(reply->price, rf->gr->worker_count, reply->toll, &p);
    if (err)
        return err;
    if (rf->kept_count == MOST_KEPT)
        cover_prices_free(&rf->kept[--rf->kept_count]);
    keep_first(rf, p, rf->kept_count++);
    return EDGEPS_OK;
}

static edgeps_err ask(place_refuter *rf, const cover_question *q, double *open, bool *refuted)
{
    cover_reply reply;
    size_t hints = rf->kept_count < MOST_HINTS ? rf->kept_count : MOST_HINTS;
    edgeps_err err = cover_decide_question(q, rf->kept, hints, &reply);
    if (err)
        return err;
    rf->lps++;
    *refuted = reply.verdict == COVER_NO;
    if (*refuted)
        err = keep(rf, &reply);
    else if (open)
        memcpy(open, reply.open, q->server_count * sizeof *open);
    cover_reply_free(&reply);
    return err;
}

edgeps_err place_refute(place_refuter *rf, const place_view *v, bool lp, place_threshold *at,
                        bool *refuted)
{
    const place_ground *gr = v->t->gr;
    within w = {v, &at->limits, rf->number, rf->cap, &rf->asked};
    cover_question q = {gr->worker_count, gr->count, 0, at->limits.purse, &w, most, offer,
                        serves,           cost};
    *refuted = true;
    if (at->locals < 1)
        return EDGEPS_OK;
    q.budget = (size_t)at->locals;
    for (size_t j = 0; j < gr->count; j++)
        rf->cap[j] = -1;
    size_t tried = lp || rf->kept_count < MOST_TRIED ? rf->kept_count : MOST_TRIED;
    for (size_t k = 0; k < tried; k++) {
        if (!cover_prices_refute(&q, &rf->kept[k], &rf->top))
            continue;
        keep_first(rf, rf->kept[k], k);
        return EDGEPS_OK;
    }
    *refuted = false;
    return lp ? ask(rf, &q, at->open, refuted) : EDGEPS_OK;
}

/* ---- all global servers ---- */

/* Raises one candidate's bound to the least threshold of those before it, less the slack, or to its
 * own if that is less. */
static edgeps_err raise_bound(place_refuter *rf, const place_times *t, double *least_s,
                              place_candidate *c)
{
    place_view v;
    place_threshold th = {0};
    bool refuted = false;
    double mark_s = *least_s * (1 - SLACK);
    edgeps_err err = place_view_make(t, c->global, &v);
    if (err)
        return err;
    if (mark_s < INFINITY)
        err = place_refute_round(rf, &v, mark_s, PLACE_FINE, &refuted);
    if (!err && !refuted)
        err = place_threshold_search(rf, &v,
                                     &(place_hunt){.lower_s = c->bound_s, .upper_s = mark_s}, &th);
    if (!err) {
        c->bound_s = larger_of(c->bound_s, refuted ? mark_s : th.bound_s);
        if (th.locals > 0) {
            *least_s = smaller_of(*least_s, c->bound_s);
            c->open_s = th.r_s;
        }
        mem_free(th.open);
    }
    place_view_free(&v);
    return err;
}

edgeps_err place_raise_bounds(place_refuter *rf, const place_times *t, place_watch *w,
                              double upper_s, place_candidate *list, size_t count)
{
    double least_s = upper_s;
    double each_us = ASKED_US * (1 + (double)rf->gr->count / ASKED_NODES);
    uint64_t before = rf->asked;
    edgeps_err err = EDGEPS_OK;
    for (size_t c = 0; !err && c < count && list[c].bound_s < least_s * (1 - SLACK); c++) {
        if (each_us * (double)(rf->asked - before) > RAISE_US || !place_watch_go_on(w, 0))
            break;
        err = raise_bound(rf, t, &least_s, &list[c]);
    }
    if (!err)
        place_sort_candidates(list, count);
    return err;
}
