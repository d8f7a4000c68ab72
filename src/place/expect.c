/* The method of conditional expectations (Erdos and Selfridge 1973; Raghavan 1988) for servers that
 * open independently with given chances: they are decided one by one, each so that the expected
 * violation does not grow. It counts workers without an open server in reach, places missing for
 * all workers together, and servers above the most; each expectation is exact: a product, and two
 * distributions of sums of independent whole numbers. */
#include "place/place_int.h"

#include "base/mem.h"

#include <string.h>

/* What the servers from the s-th on, all undecided, contribute; [s] rows, 0..drawn. */
typedef struct tails {
    const place_draw *d;
    uint32_t *drawn; /* servers with a chance */
    size_t count;
    double *miss;   /* [s * workers + w]: none of them reaches the worker */
    double *places; /* [s * (workers + 1) + c]: together they have c places; the last: or more */
    double *number; /* [s * (count + 1) + k]: k of them open */
} tails;

static void tails_free(tails *t)
{
    mem_free(t->drawn);
    mem_free(t->miss);
    mem_free(t->places);
    mem_free(t->number);
}

/* The distribution after one more server that opens with `chance` and then adds `step`. */
static void convolve(const double *after, size_t most, size_t step, double chance, double *out)
{
    for (size_t c = 0; c <= most; c++)
        out[c] = (1 - chance) * after[c];
    for (size_t c = 0; c <= most; c++)
        out[c + step < most ? c + step : most] += chance * after[c];
}

static void fill(tails *t)
{
    const place_draw *d = t->d;
    size_t workers = d->worker_count, n = t->count;
    for (size_t w = 0; w < workers; w++)
        t->miss[n * workers + w] = 1;
    t->places[n * (workers + 1)] = t->number[n * (n + 1)] = 1;
    for (size_t s = n; s-- > 0;) {
        size_t j = t->drawn[s];
        for (size_t w = 0; w < workers; w++)
            t->miss[s * workers + w] =
                t->miss[(s + 1) * workers + w] * (d->reach[j * workers + w] ? 1 - d->chance[j] : 1);
        convolve(t->places + (s + 1) * (workers + 1), workers, (size_t)d->cap[j], d->chance[j],
                 t->places + s * (workers + 1));
        convolve(t->number + (s + 1) * (n + 1), n, 1, d->chance[j], t->number + s * (n + 1));
    }
}

static edgeps_err tails_make(const place_draw *d, tails *out)
{
    size_t workers = d->worker_count, n = 0;
    tails t = {.d = d};
    t.drawn = mem_alloc(d->server_count, sizeof *t.drawn);
    for (size_t j = 0; t.drawn && j < d->server_count; j++)
        if (d->chance[j] > 0)
            t.drawn[n++] = (uint32_t)j;
    t.count = n;
    t.miss = mem_alloc((n + 1) * workers, sizeof *t.miss);
    t.places = mem_alloc((n + 1) * (workers + 1), sizeof *t.places);
    t.number = mem_alloc((n + 1) * (n + 1), sizeof *t.number);
    if (!t.drawn || !t.miss || !t.places || !t.number) {
        tails_free(&t);
        return EDGEPS_NOMEM;
    }
    fill(&t);
    *out = t;
    return EDGEPS_OK;
}

/* What has been decided about the servers before the s-th. */
typedef struct decided {
    size_t s;
    size_t places;
    size_t opened;
    bool *reached; /* per worker */
} decided;

/* With server j open, too, unless it is SIZE_MAX. */
static double expected_violation(const tails *t, const decided *so_far, size_t j)
{
    const place_draw *d = t->d;
    bool more = j != SIZE_MAX;
    size_t workers = d->worker_count;
    size_t places = so_far->places + (more ? (size_t)d->cap[j] : 0);
    size_t opened = so_far->opened + more;
    const double *miss = t->miss + so_far->s * workers;
    const double *rest = t->places + so_far->s * (workers + 1);
    const double *number = t->number + so_far->s * (t->count + 1);
    double violation = 0;
    for (size_t w = 0; w < workers; w++)
        if (!so_far->reached[w] && !(more && d->reach[j * workers + w]))
            violation += miss[w];
    for (size_t c = 0; places + c < workers; c++)
        violation += (double)(workers - places - c) * rest[c];
    for (size_t k = 0; k <= t->count; k++)
        if (opened + k > d->most)
            violation += (double)(opened + k - d->most) * number[k];
    return violation;
}

edgeps_err place_draw_expected(const place_draw *d, bool *open, double *before, double *after)
{
    tails t;
    decided so_far = {0};
    edgeps_err err = tails_make(d, &t);
    if (err)
        return err;
    so_far.reached = mem_alloc(d->worker_count, sizeof *so_far.reached);
    if (!so_far.reached) {
        tails_free(&t);
        return EDGEPS_NOMEM;
    }
    memset(open, 0, d->server_count * sizeof *open);
    *before = *after = expected_violation(&t, &so_far, SIZE_MAX);
    for (size_t s = 0; s < t.count; s++) {
        size_t j = t.drawn[s];
        so_far.s = s + 1;
        double with = expected_violation(&t, &so_far, j);
        double without = expected_violation(&t, &so_far, SIZE_MAX);
        open[j] = with <= without;
        *after = open[j] ? with : without;
        so_far.places += open[j] ? (size_t)d->cap[j] : 0;
        so_far.opened += open[j];
        for (size_t w = 0; open[j] && w < d->worker_count; w++)
            so_far.reached[w] |= d->reach[j * d->worker_count + w];
    }
    mem_free(so_far.reached);
    tails_free(&t);
    return EDGEPS_OK;
}
