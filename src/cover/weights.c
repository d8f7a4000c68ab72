#include "cover/cover.h"

#include "base/mem.h"
#include "cover/cover_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums of thousands of weights are exact to about 1e-13; a proof leaves a margin above that. */
#define PROOF_MARGIN 1e-9

typedef struct item {
    double value_per_size;
    double size;
    uint32_t worker;
} item;

typedef struct ranked {
    double value;
    uint32_t server;
} ranked;

/* The oracle's scratch. */
typedef struct oracle {
    item *items;     /* of one server */
    ranked *servers; /* by value */
    double *covered; /* per worker, by the last answer */
} oracle;

static void oracle_free(oracle *o)
{
    mem_free(o->items);
    mem_free(o->servers);
    mem_free(o->covered);
}

static edgeps_err oracle_make(const cover_instance *c, oracle *out)
{
    oracle o = {0};
    size_t most = 0;
    for (size_t j = 0; j < c->server_count; j++)
        if (c->servers[j].arc_count > most)
            most = c->servers[j].arc_count;
    o.items = mem_alloc(most, sizeof *o.items);
    o.servers = mem_alloc(c->server_count, sizeof *o.servers);
    o.covered = mem_alloc(c->worker_count, sizeof *o.covered);
    if (!o.items || !o.servers || !o.covered) {
        oracle_free(&o);
        return EDGEPS_NOMEM;
    }
    *out = o;
    return EDGEPS_OK;
}

static void swap_items(item *a, item *b)
{
    item keep = *a;
    *a = *b;
    *b = keep;
}

/* Three parts by value per size: dearer than the pivot up to *dearer, as dear up to *equal. */
static void split(item *items, size_t low, size_t high, size_t *dearer, size_t *equal)
{
    double pivot = items[low + (high - low) / 2].value_per_size;
    size_t front = low, at = low, back = high;
    while (at < back) {
        if (items[at].value_per_size > pivot)
            swap_items(&items[front++], &items[at++]);
        else if (items[at].value_per_size < pivot)
            swap_items(&items[at], &items[--back]);
        else
            at++;
    }
    *dearer = front;
    *equal = back;
}

static double size_of(const item *items, size_t from, size_t to)
{
    double size = 0;
    for (size_t a = from; a < to; a++)
        size += items[a].size;
    return size;
}

/* Brings the items that fill the capacity at the best value to the front, by selection instead of
 * sorting: O(count) on average. */
static void bring_dearest_forward(item *items, size_t count, double capacity)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t dearer, equal;
        split(items, low, high, &dearer, &equal);
        double size = size_of(items, low, dearer);
        if (size > capacity) {
            high = dearer;
            continue;
        }
        capacity -= size + size_of(items, dearer, equal);
        if (capacity < 0)
            return;
        low = equal;
    }
}

static int richest_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->server > y->server) - (x->server < y->server);
}

/* The fractional knapsack of one server: its value; with share > 0 also adds share x z to the
 * workers' coverage. */
static double fill_server(const cover_server *s, const double *weight, item *items, double share,
                          double *covered)
{
    double total_size = 0, left = s->capacity, value = 0;
    for (size_t a = 0; a < s->arc_count; a++) {
        const cover_arc *arc = &s->arcs[a];
        double per_size = arc->size > 0 ? weight[arc->worker] / arc->size : INFINITY;
        items[a] = (item){per_size, arc->size, arc->worker};
        total_size += arc->size;
    }
    if (total_size > left)
        bring_dearest_forward(items, s->arc_count, left);
    for (size_t a = 0; a < s->arc_count; a++) {
        double part = items[a].size <= left ? 1 : left / items[a].size;
        left -= part * items[a].size;
        value += part * weight[items[a].worker];
        if (share > 0)
            covered[items[a].worker] += share * part;
        if (part < 1)
            break;
    }
    return value;
}

/* The best answer to the weights; its value. Leaves the servers ranked in o->servers. */
static double answer_weights(const cover_instance *c, const double *weight, oracle *o)
{
    double left = c->budget, value = 0;
    for (size_t j = 0; j < c->server_count; j++)
        o->servers[j] =
            (ranked){fill_server(&c->servers[j], weight, o->items, 0, NULL), (uint32_t)j};
    qsort(o->servers, c->server_count, sizeof *o->servers, richest_first);
    for (size_t r = 0; r < c->server_count && left > 0; r++) {
        value += fmin(left, 1) * o->servers[r].value;
        left -= 1;
    }
    return value;
}

static double sum_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

static bool proves(double best_value, double weights_sum)
{
    return best_value < weights_sum * (1 - PROOF_MARGIN);
}

edgeps_err cover_refutes(const cover_instance *c, const double *weight, bool *refutes)
{
    oracle o;
    edgeps_err err = oracle_make(c, &o);
    if (err)
        return err;
    *refutes = proves(answer_weights(c, weight, &o), sum_of(weight, c->worker_count));
    oracle_free(&o);
    return EDGEPS_OK;
}

/* Adds the answer to the average: y to `open`, coverage to o->covered. */
static void take_answer(const cover_instance *c, const double *weight, oracle *o, double *open)
{
    double left = c->budget;
    memset(o->covered, 0, c->worker_count * sizeof *o->covered);
    for (size_t r = 0; r < c->server_count && left > 0; r++) {
        uint32_t j = o->servers[r].server;
        double share = fmin(left, 1);
        fill_server(&c->servers[j], weight, o->items, share, o->covered);
        open[j] += share;
        left -= 1;
    }
}

static void normalize(double *weight, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, weight[i]);
    for (size_t i = 0; i < count; i++)
        weight[i] /= most;
}

/* One round of the weights; true when it settled the matter. `total` is the coverage so far. */
static bool improve_weights(const cover_instance *c, double epsilon, oracle *o, double *total,
                            cover_answer *a)
{
    double value = answer_weights(c, a->weight, o);
    double least = INFINITY;
    a->iterations++;
    if (proves(value, sum_of(a->weight, c->worker_count))) {
        a->verdict = COVER_NO;
        return true;
    }
    take_answer(c, a->weight, o, a->open);
    for (size_t i = 0; i < c->worker_count; i++) {
        total[i] += o->covered[i];
        least = fmin(least, total[i]);
        a->weight[i] *= exp(-epsilon * (o->covered[i] - 1));
    }
    normalize(a->weight, c->worker_count);
    a->coverage = least / (double)a->iterations;
    if (a->coverage >= 1 - epsilon)
        a->verdict = COVER_YES;
    return a->verdict == COVER_YES;
}

edgeps_err cover_answer_make(const cover_instance *c, cover_answer *out)
{
    cover_answer a = {.verdict = COVER_UNSURE};
    a.weight = mem_alloc(c->worker_count, sizeof *a.weight);
    a.open = mem_alloc(c->server_count, sizeof *a.open);
    if (!a.weight || !a.open) {
        cover_answer_free(&a);
        return EDGEPS_NOMEM;
    }
    *out = a;
    return EDGEPS_OK;
}

void cover_answer_free(cover_answer *a)
{
    mem_free(a->weight);
    mem_free(a->open);
    *a = (cover_answer){0};
}

static edgeps_err run_weights(const cover_instance *c, const cover_options *o, cover_answer *a)
{
    double epsilon = o->epsilon > 0 ? o->epsilon : 0.1;
    size_t most = o->most_iterations ? o->most_iterations : 200;
    oracle scratch = {0};
    double *total = mem_alloc(c->worker_count, sizeof *total);
    edgeps_err err = total ? oracle_make(c, &scratch) : EDGEPS_NOMEM;
    if (err)
        goto out;
    for (size_t i = 0; i < c->worker_count; i++)
        a->weight[i] = 1;
    while (a->iterations < most && !improve_weights(c, epsilon, &scratch, total, a))
        ;
    for (size_t j = 0; j < c->server_count && a->verdict != COVER_NO; j++)
        a->open[j] /= (double)a->iterations;
out:
    oracle_free(&scratch);
    mem_free(total);
    return err;
}

static size_t count_arcs(const cover_instance *c)
{
    size_t arcs = 0;
    for (size_t j = 0; j < c->server_count; j++)
        arcs += c->servers[j].arc_count;
    return arcs;
}

edgeps_err cover_decide(const cover_instance *c, const cover_options *options, cover_answer *out)
{
    cover_answer a;
    edgeps_err err = cover_answer_make(c, &a);
    if (err)
        return err;
    err = run_weights(c, options, &a);
    if (!err && a.verdict != COVER_NO && count_arcs(c) <= options->most_exact_arcs) {
        cover_answer exact;
        err = cover_solve(c, &exact);
        if (!err) {
            exact.iterations = a.iterations;
            cover_answer_free(&a);
            a = exact;
        }
    }
    if (err)
        cover_answer_free(&a);
    else
        *out = a;
    return err;
}
