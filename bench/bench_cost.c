/* Evaluations of a plan per second, beside the rate of a plain memory copy so that numbers of
 * different machines can be compared. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cost/cost.h"
#include "cost/search.h"

#include <stdio.h>
#include <string.h>

#define MEASURE_NS (CLOCK_NS_PER_S / 2)
#define MOST_SITES 1000

static network *make_network(size_t count, rng *r)
{
    network *net = NULL;
    size_t sites = count < MOST_SITES ? count : MOST_SITES;
    if (network_make_sites(count, sites, NULL, &net))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        net->nodes[i].up_bytes_per_s = 1e6 * (1 + 9 * rng_uniform(r));
        net->nodes[i].down_bytes_per_s = 1e6 * (1 + 9 * rng_uniform(r));
        net->nodes[i].compute_samples_per_s = 500 * (1 + rng_uniform(r));
        net->nodes[i].free_bytes = INT64_MAX;
        net->nodes[i].site = (uint32_t)(i % sites);
    }
    for (size_t a = 0; a < sites; a++)
        for (size_t b = 0; b < sites; b++)
            network_set_latency_s(net, a, b, a == b ? 0 : 0.001 + 0.01 * rng_uniform(r));
    return net;
}

static void report(const char *what, size_t count, long calls, int64_t spent_ns)
{
    printf("%-28s n = %5zu: %11.4g per second\n", what, count,
           (double)calls * CLOCK_NS_PER_S / (double)spent_ns);
}

static void measure_rounds(const problem *p, const plan *pl, const char *what)
{
    double round_s = 0;
    long calls = 0;
    int64_t start_ns = clock_now_ns(), spent_ns;
    do {
        if (cost_round_s(p, pl, &round_s))
            return;
        calls++;
        spent_ns = clock_now_ns() - start_ns;
    } while (spent_ns < MEASURE_NS);
    report(what, p->count, calls, spent_ns);
}

static void measure_bounds(const problem *p, const plan *pl, double *scratch)
{
    volatile double sink = 0;
    long calls = 0;
    int64_t start_ns = clock_now_ns(), spent_ns;
    do {
        for (int k = 0; k < 100; k++)
            sink = sink + cost_bound_s(p, pl, scratch);
        calls += 100;
        spent_ns = clock_now_ns() - start_ns;
    } while (spent_ns < MEASURE_NS);
    report("bounds", p->count, calls, spent_ns);
}

/* Re-attach a worker to another local server, read the bound, take it back. */
static void measure_moves(const problem *p, const plan *pl)
{
    volatile double sink = 0;
    cost_search *s = NULL;
    rng r = rng_make(2, 0);
    long calls = 0;
    size_t locals;
    if (cost_search_make(p, pl, &s))
        return;
    const uint32_t *local = cost_search_locals(s, &locals);
    int64_t start_ns = clock_now_ns(), spent_ns;
    do {
        for (int k = 0; k < 100; k++) {
            if (cost_search_attach(s, rng_below(&r, p->count), local[rng_below(&r, locals)]))
                return;
            sink = sink + cost_search_bound_s(s);
            cost_search_undo(s);
        }
        calls += 100;
        spent_ns = clock_now_ns() - start_ns;
    } while (spent_ns < MEASURE_NS);
    report("moves", p->count, calls, spent_ns);
    cost_search_free(s);
}

/* About 30 workers to each of 30 local servers in a large network, 5 in a small one. */
static size_t most_locals(size_t count)
{
    size_t square = 1;
    while (square * square < count)
        square++;
    return count < 400 ? count / 5 : square;
}

static void measure_network(size_t count, job_transfer transfer)
{
    rng r = rng_make(1, count);
    network *net = make_network(count, &r);
    problem *p = NULL;
    plan pl = {0};
    double *scratch = mem_alloc(4 * count, sizeof *scratch);
    job j;
    if (!net || !scratch || job_make("mlp", 60000, 32, transfer, NULL, &j) ||
        problem_make(net, &j, NULL, NULL, &p) || plan_make(count, &pl))
        goto out;
    pl.global = 0;
    for (size_t i = 0; i < count; i++)
        pl.parent[i] = (int32_t)(i % most_locals(count));
    measure_rounds(p, &pl, job_transfer_name(transfer));
    measure_bounds(p, &pl, scratch);
    measure_moves(p, &pl);
out:
    mem_free(scratch);
    plan_free(&pl);
    problem_free(p);
    network_free(net);
}

static void measure_copy(void)
{
    size_t bytes = 64 << 20;
    char *from = mem_alloc(bytes, 1), *to = mem_alloc(bytes, 1);
    if (from && to) {
        memset(from, 1, bytes);
        int64_t best_ns = INT64_MAX;
        for (int k = 0; k < 10; k++) {
            int64_t start_ns = clock_now_ns();
            memcpy(to, from, bytes);
            int64_t spent_ns = clock_now_ns() - start_ns;
            best_ns = spent_ns < best_ns ? spent_ns : best_ns;
        }
        printf("memory copy of %zu MiB: %.1f GB/s\n", bytes >> 20, (double)bytes / (double)best_ns);
    }
    mem_free(from);
    mem_free(to);
}

int main(void)
{
    measure_copy();
    for (int transfer = JOB_PIPELINED; transfer <= JOB_STORE_AND_FORWARD; transfer++) {
        measure_network(20, (job_transfer)transfer);
        measure_network(100, (job_transfer)transfer);
        measure_network(1000, (job_transfer)transfer);
        measure_network(10000, (job_transfer)transfer);
    }
    return 0;
}
