#include "cost/cost_fixture.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define BYTES_PER_MBIT 125000.0

problem *fixture_problem(size_t count, int64_t wire_bytes)
{
    problem *p;
    if (problem_blank(count, &p))
        abort();
    p->worker_count = p->max_locals = count;
    p->rounds = 1;
    static const char *const names[] = {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"};
    for (size_t i = 0; i < count; i++)
        p->nodes[i] = (problem_node){
            .name = names[i % 8],
            .train = true,
            .serve = true,
            .up_bytes_per_s = INFINITY,
            .down_bytes_per_s = INFINITY,
            .sum_bytes_per_s = INFINITY,
            .free_bytes = INT64_MAX,
            .site = (uint32_t)i,
        };
    fixture_chunks(p, 1, wire_bytes);
    return p;
}

void fixture_chunks(problem *p, int64_t chunks, int64_t wire_bytes)
{
    p->job.chunk_bytes = wire_bytes - JOB_FRAME_BYTES;
    p->job.parameter_count = chunks * p->job.chunk_bytes / JOB_VALUE_BYTES;
}

void fixture_links(problem *p, size_t i, double up_mbit, double down_mbit)
{
    p->nodes[i].up_bytes_per_s = up_mbit * BYTES_PER_MBIT;
    p->nodes[i].down_bytes_per_s = down_mbit * BYTES_PER_MBIT;
}

plan fixture_plan(problem *p, int32_t global, const int32_t *parents)
{
    plan pl;
    if (plan_make(p->count, &pl))
        abort();
    pl.global = global;
    for (size_t i = 0; i < p->count; i++) {
        pl.parent[i] = parents[i];
        p->nodes[i].train = parents[i] != PLAN_NONE;
    }
    return pl;
}

static double between(rng *r, double low, double high)
{
    return low + (high - low) * rng_uniform(r);
}

problem *fixture_random_problem(rng *r, size_t count)
{
    problem *p = fixture_problem(count, 100000);
    fixture_chunks(p, 1 + (int64_t)rng_below(r, 6), 64 + 4 * (int64_t)(1 + rng_below(r, 30000)));
    /* A shorter last chunk, now and then. */
    p->job.parameter_count -= (int64_t)rng_below(r, (uint64_t)p->job.chunk_bytes / 4);
    for (size_t i = 0; i < count; i++) {
        fixture_links(p, i, between(r, 0.5, 20), between(r, 0.5, 20));
        p->nodes[i].compute_s = rng_below(r, 3) ? between(r, 0, 1) : 0;
        if (rng_below(r, 2))
            p->nodes[i].sum_bytes_per_s = between(r, 1e5, 1e7);
        p->nodes[i].train = rng_below(r, 5) != 0;
    }
    p->nodes[rng_below(r, count)].train = true;
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < count; b++) {
            if (a == b)
                continue;
            p->latency_s[a * count + b] = rng_below(r, 2) ? between(r, 0, 0.2) : 0;
            if (rng_below(r, 4) == 0)
                p->cap_bytes_per_s[a * count + b] = between(r, 1e5, 1e6);
        }
    return p;
}

plan fixture_random_plan(rng *r, const problem *p)
{
    plan pl;
    if (plan_make(p->count, &pl))
        abort();
    uint64_t locals = 1 + rng_below(r, p->count);
    pl.global = (int32_t)rng_below(r, p->count);
    for (size_t i = 0; i < p->count; i++)
        if (p->nodes[i].train)
            pl.parent[i] = (int32_t)rng_below(r, locals);
    return pl;
}

void fixture_free(problem *p, plan *pl)
{
    plan_free(pl);
    problem_free(p);
}
