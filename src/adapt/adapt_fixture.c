#include "adapt/adapt_fixture.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

problem *fixture_problem(size_t count)
{
    static const char *const names[] = {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"};
    problem *p;
    if (problem_blank(count, &p))
        abort();
    p->worker_count = p->max_locals = count;
    p->rounds = 10;
    for (size_t i = 0; i < count; i++)
        p->nodes[i] = (problem_node){
            .name = names[i % 8],
            .train = true,
            .serve = true,
            .up_bytes_per_s = 1e6,
            .down_bytes_per_s = 1e6,
            .compute_s = 0.1,
            .sum_bytes_per_s = INFINITY,
            .free_bytes = INT64_MAX / 2,
            .site = (uint32_t)i,
        };
    if (job_make("mlp", 1000, 10, JOB_PIPELINED, NULL, &p->job))
        abort();
    return p;
}

problem *fixture_random_problem(rng *r, size_t count)
{
    problem *p = fixture_problem(count);
    int64_t local = job_local_need_bytes(&p->job, 1);
    int64_t global = job_global_need_bytes(&p->job, 1);
    p->max_locals = 1 + rng_below(r, count);
    for (size_t i = 0; i < count; i++) {
        problem_node *node = &p->nodes[i];
        node->up_bytes_per_s = 1e5 * (double)(1 + rng_below(r, 30));
        node->down_bytes_per_s = 1e5 * (double)(1 + rng_below(r, 30));
        node->serve = rng_below(r, 6) != 0;
        node->train = rng_below(r, 6) != 0;
        int64_t amounts[] = {0, local, global, local + global};
        node->free_bytes = amounts[rng_below(r, 4)];
        node->free_bytes += (int64_t)rng_below(r, 3) * p->job.chunk_bytes;
    }
    p->nodes[rng_below(r, count)].train = true;
    p->nodes[rng_below(r, count)].serve = true;
    for (size_t k = 0; k < count * count; k++) {
        p->latency_s[k] = 0.01 * (double)rng_below(r, 5);
        if (rng_below(r, 10) == 0)
            p->cap_bytes_per_s[k] = 0;
    }
    return p;
}

plan fixture_plan(int32_t global, size_t count, const int32_t *parents)
{
    plan pl;
    if (plan_make(count, &pl))
        abort();
    pl.generation = 7;
    pl.global = global;
    for (size_t i = 0; i < count; i++)
        pl.parent[i] = parents[i];
    return pl;
}

plan fixture_random_plan(rng *r, const problem *p)
{
    int32_t parents[64];
    uint64_t locals = 1 + rng_below(r, p->count);
    for (size_t i = 0; i < p->count; i++)
        parents[i] = p->nodes[i].train ? (int32_t)rng_below(r, locals) : PLAN_NONE;
    return fixture_plan((int32_t)rng_below(r, p->count), p->count, parents);
}

void fixture_kill(problem *p, size_t node)
{
    p->worker_count -= p->nodes[node].train;
    p->nodes[node].train = p->nodes[node].serve = false;
}

adapt_result fixture_step(const problem *p, const plan *current, adapt_options options)
{
    adapt_result result;
    edgeps_diag diag;
    if (!options.algorithm)
        options.algorithm = "greedy";
    if (adapt_step(p, current, &options, &diag, &result)) {
        fprintf(stderr, "%s\n", diag.text);
        abort();
    }
    return result;
}

void fixture_free(problem *p, plan *pl)
{
    plan_free(pl);
    problem_free(p);
}
