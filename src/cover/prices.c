/* Prices as a proof: the best servers of the budget, by what they cover, against all workers. */
#include "cover/question.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums of thousands of prices are exact to about 1e-13; a proof leaves a margin above that. */
#define PROOF_MARGIN 1e-9

typedef struct priced {
    double price;
    uint32_t worker;
} priced;

static int dearest_first(const void *a, const void *b)
{
    const priced *x = a, *y = b;
    if (x->price != y->price)
        return x->price > y->price ? -1 : 1;
    return (x->worker > y->worker) - (x->worker < y->worker);
}

void cover_prices_free(cover_prices *p)
{
    mem_free(p->price);
    mem_free(p->order);
    mem_free(p->worth);
    *p = (cover_prices){0};
}

edgeps_err cover_prices_make(const double *price, size_t worker_count, double toll,
                             cover_prices *out)
{
    cover_prices p = {.toll = toll};
    priced *list = mem_alloc(worker_count, sizeof *list);
    p.price = mem_alloc(worker_count, sizeof *p.price);
    p.order = mem_alloc(worker_count, sizeof *p.order);
    p.worth = mem_alloc(worker_count + 1, sizeof *p.worth);
    if (!list || !p.price || !p.order || !p.worth) {
        mem_free(list);
        cover_prices_free(&p);
        return EDGEPS_NOMEM;
    }
    memcpy(p.price, price, worker_count * sizeof *price);
    for (size_t i = 0; i < worker_count; i++)
        if (price[i] > 0)
            list[p.count++] = (priced){price[i], (uint32_t)i};
    qsort(list, p.count, sizeof *list, dearest_first);
    for (size_t o = 0; o < p.count; o++) {
        p.order[o] = list[o].worker;
        p.worth[o + 1] = p.worth[o] + list[o].price;
    }
    mem_free(list);
    *out = p;
    return EDGEPS_OK;
}

edgeps_err cover_top_make(size_t worker_count, size_t server_count, cover_top *out)
{
    cover_top t = {0};
    t.value = mem_alloc(server_count, sizeof *t.value);
    t.server = mem_alloc(server_count, sizeof *t.server);
    t.promise = mem_alloc(server_count, sizeof *t.promise);
    t.served = mem_alloc(worker_count, sizeof *t.served);
    if (!t.value || !t.server || !t.promise || !t.served) {
        cover_top_free(&t);
        return EDGEPS_NOMEM;
    }
    *out = t;
    return EDGEPS_OK;
}

void cover_top_free(cover_top *t)
{
    mem_free(t->value);
    mem_free(t->server);
    mem_free(t->promise);
    mem_free(t->served);
    *t = (cover_top){0};
}

/* Puts an entry at the root, in place of what stands there, where it belongs. */
static void sift_down(cover_top *t, double value, uint32_t server)
{
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < t->count && t->value[child + 1] < t->value[child])
            child++;
        if (child >= t->count || t->value[child] >= value)
            break;
        t->value[at] = t->value[child];
        t->server[at] = t->server[child];
        at = child;
    }
    t->value[at] = value;
    t->server[at] = server;
}

static void sift_up(cover_top *t, double value, uint32_t server)
{
    size_t at = t->count++;
    for (; at > 0 && t->value[(at - 1) / 2] > value; at = (at - 1) / 2) {
        t->value[at] = t->value[(at - 1) / 2];
        t->server[at] = t->server[(at - 1) / 2];
    }
    t->value[at] = value;
    t->server[at] = server;
}

/* The dearest workers that the server serves, as many as it may. */
static double worth_of(const cover_question *q, const cover_prices *p, size_t server,
                       uint32_t *served)
{
    cover_offer offer = q->offer(q->context, server);
    cover_list all = {p->order, p->count};
    bool aside = offer.aside != COVER_NOBODY;
    size_t count = q->serves(q->context, server, &all, offer.capacity + aside, served);
    double worth = aside ? p->price[offer.aside] : 0;
    for (size_t s = 0; s < count && offer.capacity > 0; s++) {
        if (served[s] == offer.aside)
            continue;
        worth += p->price[served[s]];
        offer.capacity--;
    }
    return worth;
}

/* ---- what servers are worth at most, the largest at the root of a heap ---- */

static bool dearer(const cover_promise *a, const cover_promise *b)
{
    return a->worth > b->worth || (a->worth == b->worth && a->server < b->server);
}

static void sink(cover_promise *heap, size_t count, size_t at)
{
    cover_promise moved = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < count && dearer(&heap[child + 1], &heap[child]))
            child++;
        if (child >= count || !dearer(&heap[child], &moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static size_t list_promises(const cover_question *q, const cover_prices *p, double toll,
                            cover_promise *heap)
{
    size_t count = 0;
    for (size_t j = 0; j < q->server_count; j++) {
        uint32_t most = q->most(q->context, j);
        double cost = toll > 0 ? toll * q->cost(q->context, j) : 0;
        double worth = p->worth[most < p->count ? most : p->count] - cost;
        if (worth > 0)
            heap[count++] = (cover_promise){worth, cost, (uint32_t)j};
    }
    for (size_t at = count / 2; at-- > 0;)
        sink(heap, count, at);
    return count;
}

/* The servers come by what they are worth at most, until the rest cannot be among the best. */
bool cover_prices_refute(const cover_question *q, const cover_prices *p, cover_top *top)
{
    size_t most_servers = q->budget < q->server_count ? q->budget : q->server_count;
    double toll = q->purse < INFINITY ? p->toll : 0;
    double enough = p->worth[p->count] * (1 - PROOF_MARGIN), sum = 0;
    if (toll > 0)
        enough -= toll * q->purse;
    top->count = 0;
    if (most_servers == 0 || enough <= 0)
        return p->count > 0 && most_servers == 0;
    for (size_t left = list_promises(q, p, toll, top->promise); left > 0; left--) {
        cover_promise next = top->promise[0];
        bool full = top->count == most_servers;
        double least = full ? top->value[0] : 0;
        if (next.worth <= least)
            break;
        top->promise[0] = top->promise[left - 1];
        sink(top->promise, left - 1, 0);
        double worth = worth_of(q, p, next.server, top->served) - next.cost;
        if (worth <= least)
            continue;
        sum += worth - least;
        if (full)
            sift_down(top, worth, next.server);
        else
            sift_up(top, worth, next.server);
        if (sum >= enough)
            return false;
    }
    return true;
}
