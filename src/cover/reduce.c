/* Rows and columns of a covering problem that need not be looked at.
 *
 * A worker's row falls away when another worker's servers are all its servers too. A server falls
 * away when another one, whose capacity never binds, serves all that it serves: exchange the two in
 * any solution. A server is forced when some worker has no other. Where no capacity binds at all,
 * only the remaining rows count in this, and what forced servers serve falls away as well. */
#include "cover/cover_int.h"

#include "base/mem.h"

#include <string.h>

#define WORD_BITS 64
#define MOST_PASSES 4
#define MOST_WORDS 200000000 /* compared in a pass; larger problems are left as they are */

/* A 0-1 matrix and its lines' sums. */
typedef struct bits {
    uint64_t *word;
    size_t words; /* of a line */
    uint32_t *sum;
} bits;

typedef struct reduction {
    const cover_assign *a;
    bits by_worker; /* lines: workers, over servers */
    bits by_server;
    bool *wide; /* per server: its capacity never binds */
    bool pure;  /* all are wide */
    cover_reduced r;
} reduction;

static void bits_free(bits *b)
{
    mem_free(b->word);
    mem_free(b->sum);
}

static bool bits_make(size_t lines, size_t width, bits *b)
{
    b->words = (width + WORD_BITS - 1) / WORD_BITS;
    b->word = mem_alloc(lines * b->words, sizeof *b->word);
    b->sum = mem_alloc(lines, sizeof *b->sum);
    return b->word && b->sum;
}

static void set_bit(bits *b, size_t line, size_t at)
{
    b->word[line * b->words + at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
    b->sum[line]++;
}

/* Are all bits of one line set in another? */
static bool within(const bits *b, size_t line, size_t other)
{
    const uint64_t *x = b->word + line * b->words, *y = b->word + other * b->words;
    if (b->sum[line] > b->sum[other])
        return false;
    for (size_t w = 0; w < b->words; w++)
        if (x[w] & ~y[w])
            return false;
    return true;
}

void cover_reduced_free(cover_reduced *r)
{
    mem_free(r->row);
    mem_free(r->column);
    mem_free(r->forced);
    *r = (cover_reduced){0};
}

static void reduction_free(reduction *d)
{
    bits_free(&d->by_worker);
    bits_free(&d->by_server);
    mem_free(d->wide);
    cover_reduced_free(&d->r);
}

static edgeps_err reduction_make(const cover_assign *a, reduction *out)
{
    size_t workers = a->c->worker_count, servers = a->c->server_count;
    reduction d = {.a = a, .pure = true};
    d.wide = mem_alloc(servers, sizeof *d.wide);
    d.r.row = mem_alloc(workers, sizeof *d.r.row);
    d.r.column = mem_alloc(servers, sizeof *d.r.column);
    d.r.forced = mem_alloc(servers, sizeof *d.r.forced);
    if (!bits_make(workers, servers, &d.by_worker) || !bits_make(servers, workers, &d.by_server) ||
        !d.wide || !d.r.row || !d.r.column || !d.r.forced) {
        reduction_free(&d);
        return EDGEPS_NOMEM;
    }
    for (size_t j = 0; j < servers; j++) {
        d.wide[j] = a->c->servers[j].capacity >= (double)a->c->servers[j].arc_count;
        d.pure &= d.wide[j];
        d.r.column[j] = true;
    }
    for (size_t i = 0; i < workers; i++)
        d.r.row[i] = true;
    *out = d;
    return EDGEPS_OK;
}

/* The matrices of what remains. */
static void fill(reduction *d)
{
    const cover_instance *c = d->a->c;
    memset(d->by_worker.word, 0, c->worker_count * d->by_worker.words * sizeof(uint64_t));
    memset(d->by_worker.sum, 0, c->worker_count * sizeof *d->by_worker.sum);
    memset(d->by_server.word, 0, c->server_count * d->by_server.words * sizeof(uint64_t));
    memset(d->by_server.sum, 0, c->server_count * sizeof *d->by_server.sum);
    for (size_t j = 0; j < c->server_count; j++) {
        for (size_t k = 0; k < c->servers[j].arc_count; k++) {
            uint32_t i = c->servers[j].arcs[k].worker;
            if (d->r.column[j])
                set_bit(&d->by_worker, i, j);
            if (d->r.row[i] || !d->pure)
                set_bit(&d->by_server, j, i);
        }
    }
}

/* Of two equal lines the first stays. */
static bool drop_columns(reduction *d)
{
    const bits *b = &d->by_server;
    bool changed = false;
    for (size_t j = 0; j < d->a->c->server_count; j++) {
        for (size_t other = 0; d->r.column[j] && other < d->a->c->server_count; other++) {
            if (other == j || !d->r.column[other] || !d->wide[other] || !within(b, j, other))
                continue;
            if (b->sum[j] == b->sum[other] && d->wide[j] && j < other)
                continue;
            d->r.column[j] = false;
            changed = true;
        }
    }
    return changed;
}

static bool drop_rows(reduction *d)
{
    const bits *b = &d->by_worker;
    bool changed = false;
    for (size_t i = 0; i < d->a->c->worker_count; i++) {
        for (size_t other = 0; d->r.row[i] && other < d->a->c->worker_count; other++) {
            if (other == i || !d->r.row[other] || !within(b, other, i) ||
                (b->sum[i] == b->sum[other] && i < other))
                continue;
            d->r.row[i] = false;
            changed = true;
        }
    }
    return changed;
}

static uint32_t only_server(const reduction *d, size_t worker)
{
    const uint64_t *line = d->by_worker.word + worker * d->by_worker.words;
    size_t w = 0;
    while (!line[w])
        w++;
    return (uint32_t)(w * WORD_BITS + (size_t)__builtin_ctzll(line[w]));
}

static bool force(reduction *d)
{
    bool changed = false;
    for (size_t i = 0; i < d->a->c->worker_count; i++) {
        if (!d->r.row[i] || d->by_worker.sum[i] != 1)
            continue;
        uint32_t j = only_server(d, i);
        changed |= !d->r.forced[j];
        d->r.forced[j] = true;
        const cover_server *s = &d->a->c->servers[j];
        for (size_t k = 0; d->pure && k < s->arc_count; k++)
            d->r.row[s->arcs[k].worker] = false;
    }
    return changed;
}

edgeps_err cover_reduce(const cover_assign *a, cover_reduced *out)
{
    reduction d;
    edgeps_err err = reduction_make(a, &d);
    if (err)
        return err;
    size_t workers = a->c->worker_count, servers = a->c->server_count;
    bool changed = (double)workers * (double)workers * (double)d.by_worker.words +
                       (double)servers * (double)servers * (double)d.by_server.words <
                   MOST_WORDS;
    for (int pass = 0; changed && pass < MOST_PASSES; pass++) {
        fill(&d);
        changed = drop_columns(&d);
        fill(&d);
        changed |= drop_rows(&d);
        changed |= force(&d);
    }
    *out = d.r;
    d.r = (cover_reduced){0};
    reduction_free(&d);
    return EDGEPS_OK;
}
