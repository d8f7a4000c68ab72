/* The covering LP by generated rows and columns. With y the shares of the servers, all workers can
 * be covered exactly when for every set S of workers
 *
 *     sum_j y_j a_j(S) >= |S|,  a_j(S) = min(capacity_j, workers of S that j serves) (+ 1 if the
 * one aside is in S)
 *
 * (minimum cut of the flow from workers to servers). The LP over some sets and some servers asks
 * for the shares that cover a part t of every set, t as large as can be. If t < 1, its prices,
 * spread over the workers of their sets, refute the question or name servers that are missing; if t
 * = 1, the flow covers everybody or names a set that is missing. */
#include "cover/cover_int.h"
#include "cover/question_int.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define TOLERANCE 1e-7
#define MOST_ROUNDS 400
#define MOST_ROWS 400
#define FIRST_SET_ROW 2

typedef struct decide {
    const cover_question *q;
    size_t words;
    cover_column *columns;
    size_t column_count, column_room;
    uint64_t *sets; /* MOST_ROWS x words */
    size_t set_count;
    bool *in; /* per server: it has a column */
    Clp_Simplex *model;
    uint32_t *all; /* workers */
    double *price; /* per worker */
    double toll;
    cover_top top;
    double *value; /* scratch for a row or a column of the LP */
    int *index;
} decide;

static void decide_free(decide *d)
{
    for (size_t c = 0; c < d->column_count; c++)
        mem_free(d->columns[c].serves);
    mem_free(d->columns);
    mem_free(d->sets);
    mem_free(d->in);
    mem_free(d->all);
    mem_free(d->price);
    mem_free(d->value);
    mem_free(d->index);
    cover_top_free(&d->top);
    if (d->model)
        Clp_deleteModel(d->model);
}

/* Column 0 is t, row 0 the budget, row 1 the purse. */
static edgeps_err decide_make(const cover_question *q, decide *out)
{
    decide d = {.q = q, .words = q->worker_count / COVER_WORD + 1};
    size_t longest = (q->server_count > MOST_ROWS ? q->server_count : MOST_ROWS) + FIRST_SET_ROW;
    d.sets = mem_alloc(MOST_ROWS * d.words, sizeof *d.sets);
    d.in = mem_alloc(q->server_count, sizeof *d.in);
    d.all = mem_alloc(q->worker_count, sizeof *d.all);
    d.price = mem_alloc(q->worker_count, sizeof *d.price);
    d.value = mem_alloc(longest, sizeof *d.value);
    d.index = mem_alloc(longest, sizeof *d.index);
    edgeps_err err = cover_top_make(q->worker_count, q->server_count, &d.top);
    d.model = err ? NULL : Clp_newModel();
    if (!d.sets || !d.in || !d.all || !d.price || !d.value || !d.index || !d.model) {
        decide_free(&d);
        return EDGEPS_NOMEM;
    }
    for (size_t i = 0; i < q->worker_count; i++)
        d.all[i] = (uint32_t)i;
    double zero = 0, one = 1, least[] = {-INFINITY, -INFINITY};
    double most[] = {(double)q->budget, q->purse};
    CoinBigIndex starts[] = {0, 0, 0};
    Clp_setLogLevel(d.model, 0);
    Clp_setObjSense(d.model, -1);
    Clp_addRows(d.model, FIRST_SET_ROW, least, most, starts, d.index, d.value);
    Clp_addColumns(d.model, 1, &zero, &one, &one, starts, d.index, d.value);
    *out = d;
    return EDGEPS_OK;
}

static double covers(const decide *d, const cover_column *c, const uint64_t *set)
{
    uint32_t reached = 0;
    for (size_t w = 0; w < d->words; w++)
        reached += (uint32_t)__builtin_popcountll(c->serves[w] & set[w]);
    bool aside = c->aside != COVER_NOBODY && cover_has(set, c->aside);
    return (reached < c->capacity ? reached : c->capacity) + (double)aside;
}

static double size_of(const decide *d, const uint64_t *set)
{
    double size = 0;
    for (size_t w = 0; w < d->words; w++)
        size += __builtin_popcountll(set[w]);
    return size;
}

static edgeps_err add_column(decide *d, uint32_t server)
{
    const cover_question *q = d->q;
    cover_offer offer = q->offer(q->context, server);
    cover_column *columns =
        mem_grow(d->columns, d->column_count + 1, sizeof *columns, &d->column_room);
    if (!columns)
        return EDGEPS_NOMEM;
    d->columns = columns;
    cover_column *c = &columns[d->column_count];
    *c = (cover_column){.server = server, .capacity = offer.capacity, .aside = offer.aside};
    c->serves = mem_alloc(d->words, sizeof *c->serves);
    if (!c->serves)
        return EDGEPS_NOMEM;
    d->column_count++;
    d->in[server] = true;
    cover_list all = {d->all, q->worker_count};
    size_t served = q->serves(q->context, server, &all, q->worker_count, d->top.served);
    for (size_t s = 0; s < served; s++)
        if (d->top.served[s] != offer.aside)
            cover_put(c->serves, d->top.served[s]);
    int entries = 1;
    d->index[0] = 0;
    d->value[0] = 1;
    if (q->purse < INFINITY) {
        d->index[entries] = 1;
        d->value[entries++] = q->cost(q->context, server);
    }
    for (size_t s = 0; s < d->set_count; s++) {
        const uint64_t *set = d->sets + s * d->words;
        double covered = covers(d, c, set);
        if (covered > 0) {
            d->index[entries] = (int)s + FIRST_SET_ROW;
            d->value[entries++] = covered / size_of(d, set);
        }
    }
    double zero = 0, one = 1;
    CoinBigIndex starts[] = {0, entries};
    Clp_addColumns(d->model, 1, &zero, &one, &zero, starts, d->index, d->value);
    return EDGEPS_OK;
}

/* Takes d->sets[set_count], which the caller has filled in, into the LP. */
static void add_set(decide *d)
{
    const uint64_t *set = d->sets + d->set_count * d->words;
    double size = size_of(d, set), zero = 0, none = INFINITY;
    int entries = 1;
    d->index[0] = 0;
    d->value[0] = -1;
    for (size_t c = 0; c < d->column_count; c++) {
        double covered = covers(d, &d->columns[c], set);
        if (covered > 0) {
            d->index[entries] = (int)c + 1;
            d->value[entries++] = covered / size;
        }
    }
    CoinBigIndex starts[] = {0, entries};
    Clp_addRows(d->model, 1, &zero, &none, starts, d->index, d->value);
    d->set_count++;
}

static uint64_t *next_set(decide *d)
{
    uint64_t *set = d->sets + d->set_count * d->words;
    memset(set, 0, d->words * sizeof *set);
    return set;
}

static edgeps_err add_top(decide *d, size_t *added)
{
    *added = 0;
    for (size_t k = 0; k < d->top.count; k++) {
        if (d->in[d->top.server[k]])
            continue;
        edgeps_err err = add_column(d, d->top.server[k]);
        if (err)
            return err;
        ++*added;
    }
    return EDGEPS_OK;
}

/* The set of the workers with a price, and the servers that cover it best. */
static edgeps_err start_with(decide *d, const cover_prices *hint, bool *refuted)
{
    size_t added;
    *refuted = cover_prices_refute(d->q, hint, &d->top);
    if (*refuted)
        memcpy(d->price, hint->price, d->q->worker_count * sizeof *d->price);
    if (*refuted)
        d->toll = hint->toll;
    if (*refuted || d->set_count == MOST_ROWS / 2 || hint->count == 0)
        return EDGEPS_OK;
    uint64_t *set = next_set(d);
    for (size_t o = 0; o < hint->count; o++)
        cover_put(set, hint->order[o]);
    add_set(d);
    return add_top(d, &added);
}

static edgeps_err start(decide *d, const cover_prices *hints, size_t hint_count, bool *refuted)
{
    cover_prices all;
    for (size_t i = 0; i < d->q->worker_count; i++)
        d->price[i] = 1;
    edgeps_err err = cover_prices_make(d->price, d->q->worker_count, 0, &all);
    if (err)
        return err;
    err = start_with(d, &all, refuted);
    for (size_t h = 0; !err && !*refuted && h < hint_count; h++)
        err = start_with(d, &hints[h], refuted);
    cover_prices_free(&all);
    return err;
}

/* The part of every set that the columns can cover; their shares, and the prices of the workers. */
static edgeps_err solve(decide *d, double *part)
{
    Clp_primal(d->model, 0);
    if (Clp_status(d->model) != 0)
        return EDGEPS_INTERNAL;
    const double *share = Clp_getColSolution(d->model), *price = Clp_getRowPrice(d->model);
    *part = share[0];
    d->toll = fabs(price[1]);
    for (size_t c = 0; c < d->column_count; c++)
        d->columns[c].share = fmin(fmax(share[c + 1], 0), 1);
    memset(d->price, 0, d->q->worker_count * sizeof *d->price);
    for (size_t s = 0; s < d->set_count; s++) {
        const uint64_t *set = d->sets + s * d->words;
        double each = fabs(price[s + FIRST_SET_ROW]) / size_of(d, set);
        for (size_t i = 0; each > 0 && i < d->q->worker_count; i++)
            d->price[i] += cover_has(set, i) ? each : 0;
    }
    return EDGEPS_OK;
}

/* t < 1: the prices prove a no, or ask for servers. */
static edgeps_err ask_servers(decide *d, bool *done, cover_verdict *verdict)
{
    cover_prices p;
    size_t added = 0;
    edgeps_err err = cover_prices_make(d->price, d->q->worker_count, d->toll, &p);
    if (err)
        return err;
    if (cover_prices_refute(d->q, &p, &d->top)) {
        *verdict = COVER_NO;
        *done = true;
    } else {
        err = add_top(d, &added);
        *done = added == 0;
    }
    cover_prices_free(&p);
    return err;
}

/* t = 1: the shares cover everybody, or a set is missing. */
static edgeps_err ask_workers(decide *d, bool *done, cover_verdict *verdict)
{
    cover_flow f;
    size_t open = 0;
    cover_column *columns = mem_alloc(d->column_count, sizeof *columns);
    if (!columns)
        return EDGEPS_NOMEM;
    for (size_t c = 0; c < d->column_count; c++)
        if (d->columns[c].share > 0)
            columns[open++] = d->columns[c];
    edgeps_err err = cover_flow_make(d->q->worker_count, open, &f);
    if (err) {
        mem_free(columns);
        return err;
    }
    double unserved = cover_flow_run(&f, columns, open);
    *done = unserved <= TOLERANCE * (double)d->q->worker_count;
    if (*done) {
        *verdict = COVER_YES;
    } else if (d->set_count == MOST_ROWS) {
        *done = true;
    } else {
        uint64_t *set = next_set(d);
        for (size_t i = 0; i < d->q->worker_count; i++)
            if (cover_flow_stuck(&f, i))
                cover_put(set, i);
        add_set(d);
    }
    cover_flow_free(&f);
    mem_free(columns);
    return EDGEPS_OK;
}

static edgeps_err run(decide *d, const cover_prices *hints, size_t hint_count, cover_reply *r)
{
    bool done = false;
    edgeps_err err = start(d, hints, hint_count, &done);
    if (done)
        r->verdict = COVER_NO;
    for (; !err && !done && r->rounds < MOST_ROUNDS; r->rounds++) {
        double part;
        err = solve(d, &part);
        if (!err)
            err = part < 1 - TOLERANCE ? ask_servers(d, &done, &r->verdict)
                                       : ask_workers(d, &done, &r->verdict);
    }
    return err;
}

void cover_reply_free(cover_reply *r)
{
    mem_free(r->price);
    mem_free(r->open);
    *r = (cover_reply){0};
}

edgeps_err cover_decide_question(const cover_question *q, const cover_prices *hints,
                                 size_t hint_count, cover_reply *out)
{
    decide d;
    cover_reply r = {.verdict = COVER_UNSURE};
    edgeps_err err = decide_make(q, &d);
    if (err)
        return err;
    r.open = mem_alloc(q->server_count, sizeof *r.open);
    err = r.open ? run(&d, hints, hint_count, &r) : EDGEPS_NOMEM;
    for (size_t c = 0; !err && c < d.column_count; c++)
        r.open[d.columns[c].server] = d.columns[c].share;
    if (!err) {
        r.price = d.price;
        r.toll = d.toll;
        d.price = NULL;
        *out = r;
        r = (cover_reply){0};
    }
    cover_reply_free(&r);
    decide_free(&d);
    return err;
}
