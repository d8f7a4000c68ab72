/* Prices that refute one global server are tried on the others before any LP is solved: what
 * workers and local servers do among themselves is nearly the same for all of them. */
#include "place/refute_int.h"

#include "base/mem.h"

#include <string.h>

#define MOST_HINTS 16
#define MOST_TRIED 4 /* where failing costs no LP */

/* The proofs from number `from` on. */
static void forget(place_refuter *rf, size_t from)
{
    while (rf->kept_count > from) {
        refute_proof *proof = rf->kept[--rf->kept_count];
        if (proof->owner != rf)
            continue;
        cover_prices_free(&proof->prices);
        mem_free(proof);
    }
    rf->served = rf->served < from ? rf->served : from;
}

void place_refuter_free(place_refuter *rf)
{
    if (!rf)
        return;
    forget(rf, 0);
    mem_free(rf->kept);
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
    rf->by_lp = true;
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
static void keep_first(place_refuter *rf, size_t at)
{
    refute_proof *proof = rf->kept[at];
    memmove(rf->kept + 1, rf->kept, at * sizeof(refute_proof *));
    rf->kept[0] = proof;
    rf->served += at >= rf->served;
}

/* Not at the front, nor with regard to how many are kept. */
static edgeps_err add(place_refuter *rf, refute_proof *proof)
{
    refute_proof **kept =
        mem_grow(rf->kept, rf->kept_count + 1, sizeof(refute_proof *), &rf->kept_room);
    if (!kept)
        return EDGEPS_NOMEM;
    rf->kept = kept;
    kept[rf->kept_count++] = proof;
    return EDGEPS_OK;
}

static edgeps_err keep(place_refuter *rf, const cover_reply *reply)
{
    refute_proof *proof = mem_alloc(1, sizeof *proof);
    if (!proof)
        return EDGEPS_NOMEM;
    proof->owner = rf;
    edgeps_err err =
        cover_prices_make(reply->price, rf->gr->worker_count, reply->toll, &proof->prices);
    if (!err)
        err = add(rf, proof);
    if (err) {
        cover_prices_free(&proof->prices);
        mem_free(proof);
        return err;
    }
    keep_first(rf, rf->kept_count - 1);
    forget(rf, MOST_KEPT);
    return EDGEPS_OK;
}

static edgeps_err ask(place_refuter *rf, const cover_question *q, double *open, bool *refuted)
{
    cover_reply reply;
    cover_prices hints[MOST_HINTS];
    size_t hint_count = rf->kept_count < MOST_HINTS ? rf->kept_count : MOST_HINTS;
    for (size_t h = 0; h < hint_count; h++)
        hints[h] = rf->kept[h]->prices;
    edgeps_err err = cover_decide_question(q, hints, hint_count, &reply);
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
        if (!cover_prices_refute(&q, &rf->kept[k]->prices, &rf->top))
            continue;
        keep_first(rf, k);
        return EDGEPS_OK;
    }
    *refuted = false;
    return lp && rf->by_lp ? ask(rf, &q, at->open, refuted) : EDGEPS_OK;
}

/* ---- several at work ---- */

edgeps_err refuter_copy(place_refuter *twin, const place_refuter *of)
{
    edgeps_err err = EDGEPS_OK;
    forget(twin, 0);
    for (size_t k = 0; !err && k < of->kept_count; k++)
        err = add(twin, of->kept[k]);
    memcpy(twin->open_part, of->open_part, sizeof twin->open_part);
    twin->lps = 0;
    twin->asked = 0;
    return err;
}

/* Proofs that served, last the one that did last, to the front. */
static edgeps_err learn(place_refuter *rf, const place_refuter *twin)
{
    for (size_t s = twin->served; s-- > 0;) {
        refute_proof *proof = twin->kept[s];
        size_t at = 0;
        while (at < rf->kept_count && rf->kept[at] != proof)
            at++;
        edgeps_err err = at == rf->kept_count ? add(rf, proof) : EDGEPS_OK;
        if (err)
            return err;
        proof->owner = rf;
        keep_first(rf, at);
    }
    if (twin->asked > 0)
        memcpy(rf->open_part, twin->open_part, sizeof rf->open_part);
    rf->lps += twin->lps;
    rf->asked += twin->asked;
    return EDGEPS_OK;
}

edgeps_err refuter_learn(place_refuter *rf, place_refuter *const *twins, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        edgeps_err err = learn(rf, twins[k]);
        if (err)
            return err;
    }
    /* Only when no twin looks at them any more. */
    for (size_t k = 0; k < count; k++)
        forget(twins[k], 0);
    forget(rf, MOST_KEPT);
    return EDGEPS_OK;
}
