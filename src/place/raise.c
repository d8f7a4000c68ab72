/* The bounds of all global servers, raised together: in blocks, whose candidates are looked at on
 * several threads. Each sees the proofs and the mark from before its block, and what it learns is
 * taken over when the block is done, in the order of the candidates, so that the number of threads
 * makes no difference. As most are refuted by the proofs of others, an LP is asked only about those
 * that are not, a few at a time. */
#include "place/refute_int.h"

#include "base/mem.h"
#include "base/parallel.h"

#include <math.h>

#define RAISE_US 12000000 /* about the time for all candidates, by a count of ... */
#define ASKED_US 0.035    /* ... what is asked about servers, which takes longer ... */
#define ASKED_NODES 5000  /* ... where the nodes no longer fit the cache */
#define SLACK 0.002       /* of the least threshold: so much lower ones are not told apart */
#define MOST_BLOCK 32     /* candidates tried by the proofs there are ... */
#define PAIR 2            /* ... and of those that stay open, by LPs: they learn from each other */
#define THREADS_NODES 200 /* with fewer, candidates take less time than threads take to start */

typedef struct raiser {
    place_refuter *rf;
    const place_times *t;
    place_watch *watch;
    double least_s; /* threshold, so far */
    bool by_lp;
    place_candidate *block[MOST_BLOCK]; /* at work ... */
    size_t count;
    place_refuter *twins[MOST_BLOCK]; /* ... each with one of these */
    size_t twin_count;
} raiser;

static bool go_on(void *context, double done_fraction)
{
    (void)done_fraction;
    return place_watch_go_on(((raiser *)context)->watch, 0);
}

/* Raises one candidate's bound to the mark, the least threshold of those before its block less the
 * slack, or, by LPs, to its own threshold if that is less. */
static edgeps_err raise_bound(void *context, size_t thread, size_t item)
{
    raiser *r = context;
    place_candidate *c = r->block[item];
    place_refuter *rf = r->twins[item];
    place_view v;
    place_threshold th = {0};
    bool refuted = false;
    double mark_s = r->least_s * (1 - SLACK);
    (void)thread;
    edgeps_err err = place_view_make(r->t, c->global, &v);
    if (err)
        return err;
    rf->by_lp = r->by_lp;
    if (mark_s < INFINITY)
        err = place_refute_round(rf, &v, mark_s, PLACE_FINE, &refuted);
    if (!err && !refuted && r->by_lp)
        err = place_threshold_search(rf, &v,
                                     &(place_hunt){.lower_s = c->bound_s, .upper_s = mark_s}, &th);
    if (!err) {
        c->bound_s = larger_of(c->bound_s, refuted ? mark_s : th.bound_s);
        c->open_s = th.locals > 0 ? th.r_s : INFINITY;
        mem_free(th.open);
    }
    place_view_free(&v);
    return err;
}

/* One for each candidate of the block, as r->rf is. */
static edgeps_err ready_twins(raiser *r)
{
    edgeps_err err = EDGEPS_OK;
    for (; !err && r->twin_count < r->count; r->twin_count += !err)
        err = place_refuter_make(r->rf->gr, &r->twins[r->twin_count]);
    for (size_t k = 0; !err && k < r->count; k++)
        err = refuter_copy(r->twins[k], r->rf);
    return err;
}

static edgeps_err raise_block(raiser *r, bool by_lp)
{
    const parallel_watch watch = {go_on, r};
    size_t threads = r->rf->threads ? r->rf->threads : parallel_threads(r->count);
    if (!r->rf->threads && r->rf->gr->count < THREADS_NODES)
        threads = 1;
    r->by_lp = by_lp;
    edgeps_err err = ready_twins(r);
    if (!err)
        err = parallel_run(threads, r->count, raise_bound, r, &watch);
    for (size_t k = 0; k < r->count; k++)
        if (r->block[k]->open_s < INFINITY)
            r->least_s = smaller_of(r->least_s, r->block[k]->bound_s);
    return err ? err : refuter_learn(r->rf, r->twins, r->count);
}

/* The candidates of the list, of which there are at most MOST_BLOCK. */
static edgeps_err raise_list(raiser *r, place_candidate *list, size_t count)
{
    r->count = 0;
    while (r->count < count)
        r->block[r->count] = &list[r->count], r->count++;
    edgeps_err err = raise_block(r, false);
    for (size_t k = 0; !err && k < count && !r->watch->stopped;) {
        double mark_s = r->least_s * (1 - SLACK);
        for (r->count = 0; r->count < PAIR && k < count; k++)
            if (list[k].bound_s < mark_s)
                r->block[r->count++] = &list[k];
        err = r->count > 0 ? raise_block(r, true) : EDGEPS_OK;
    }
    return err;
}

edgeps_err place_raise_bounds(place_refuter *rf, const place_times *t, place_watch *w,
                              double upper_s, place_candidate *list, size_t count)
{
    raiser r = {.rf = rf, .t = t, .watch = w, .least_s = upper_s};
    double each_us = ASKED_US * (1 + (double)rf->gr->count / ASKED_NODES);
    uint64_t before = rf->asked;
    edgeps_err err = EDGEPS_OK;
    for (size_t c = 0, size = 0; !err && c < count && !w->stopped; c += size) {
        /* The first by itself, as nothing is known before that. */
        size_t most = c == 0 ? 1 : MOST_BLOCK;
        size = 0;
        while (size < most && c + size < count && list[c + size].bound_s < r.least_s * (1 - SLACK))
            size++;
        if (size == 0 || each_us * (double)(rf->asked - before) > RAISE_US)
            break;
        err = raise_list(&r, list + c, size);
    }
    for (size_t k = 0; k < r.twin_count; k++)
        place_refuter_free(r.twins[k]);
    if (!err)
        place_sort_candidates(list, count);
    return err;
}
