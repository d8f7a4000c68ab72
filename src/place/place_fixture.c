#include "place/place_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define CHUNK_BYTES 4000
#define SHORTER_BYTES 3200

/* Log-uniform, so that small and large values are equally likely. */
static double spread(rng *r, double low, double high)
{
    return low * pow(high / low, rng_uniform(r));
}

static problem *bare_problem(fixture_kind kind)
{
    static const char *const names[] = {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"};
    size_t n = kind.count;
    problem *p;
    if (problem_blank(n, &p))
        abort();
    p->max_locals = kind.max_locals < n ? kind.max_locals : n;
    p->rounds = 3;
    p->job.chunk_bytes = CHUNK_BYTES;
    p->job.parameter_count = (int64_t)kind.chunks * CHUNK_BYTES / JOB_VALUE_BYTES;
    if (kind.shorter && kind.chunks > 1)
        p->job.parameter_count -= SHORTER_BYTES / JOB_VALUE_BYTES;
    p->job.transfer = kind.chunks == 1 ? JOB_STORE_AND_FORWARD : JOB_PIPELINED;
    for (size_t i = 0; i < n; i++)
        p->nodes[i] = (problem_node){
            .name = names[i % 10], .train = true, .serve = true, .site = (uint32_t)i};
    return p;
}

static int64_t draw_free_bytes(rng *r, const problem *p, fixture_kind kind)
{
    int64_t global = job_global_need_bytes(&p->job, (int64_t)p->max_locals);
    int64_t children = (int64_t)rng_below(r, (uint64_t)p->count / 2 + 2);
    if (!kind.tight)
        return 2 * global + job_local_need_bytes(&p->job, (int64_t)p->count);
    int64_t local = job_local_need_bytes(&p->job, children) - (children == 0);
    return local + (rng_below(r, 3) ? 0 : global);
}

static void draw_nodes(rng *r, problem *p, fixture_kind kind)
{
    for (size_t i = 0; i < p->count; i++) {
        problem_node *node = &p->nodes[i];
        node->up_bytes_per_s = kind.uniform ? 1e5 : spread(r, 2e4, 1e6);
        node->down_bytes_per_s = kind.uniform ? 1e5 : spread(r, 2e4, 1e6);
        node->sum_bytes_per_s = rng_below(r, 2) ? INFINITY : spread(r, 1e5, 1e7);
        node->compute_s = kind.uniform ? 0.1 : spread(r, 0.001, 0.5);
        node->free_bytes = draw_free_bytes(r, p, kind);
        if (kind.gaps && i >= 2) {
            node->train = rng_below(r, 4) != 0;
            node->serve = rng_below(r, 4) != 0;
        }
        if (!node->train)
            node->compute_s = 0;
        p->worker_count += node->train;
    }
}

static void draw_pairs(rng *r, problem *p, fixture_kind kind)
{
    for (size_t a = 0; a < p->count; a++) {
        for (size_t b = 0; b < p->count; b++) {
            double cap = INFINITY;
            if (a == b)
                continue;
            problem_set_latency_s(p, a, b, kind.uniform ? 0.005 : spread(r, 0.0005, 0.05));
            if (!kind.uniform && rng_below(r, 4) == 0)
                cap = spread(r, 1e4, 3e5);
            if (kind.gaps && rng_below(r, 8) == 0)
                cap = 0;
            problem_set_cap_bytes_per_s(p, a, b, cap);
        }
    }
}

problem *fixture_problem(uint64_t seed, fixture_kind kind)
{
    rng r = rng_make(seed, 77);
    problem *p = bare_problem(kind);
    draw_nodes(&r, p, kind);
    draw_pairs(&r, p, kind);
    return p;
}

fixture_kind fixture_any_kind(uint64_t seed, size_t count)
{
    rng r = rng_make(seed, 78);
    return (fixture_kind){
        .count = count,
        .max_locals = 1 + rng_below(&r, 3),
        .chunks = rng_below(&r, 2) ? 1 : 2 + rng_below(&r, 6),
        .uniform = rng_below(&r, 3) == 0,
        .tight = rng_below(&r, 2) == 0,
        .gaps = rng_below(&r, 3) == 0,
        .shorter = rng_below(&r, 2) == 0,
    };
}

problem *fixture_copy(const problem *p)
{
    problem *copy;
    if (problem_copy(p, &copy))
        abort();
    return copy;
}

void fixture_free(problem *p) { problem_free(p); }

/* Counts the parents up like a number of `count` digits; false after the last. */
static bool next_parents(const problem *p, plan *pl)
{
    for (size_t i = 0; i < p->count; i++) {
        if (!p->nodes[i].train)
            continue;
        if (++pl->parent[i] < (int32_t)p->count)
            return true;
        pl->parent[i] = 0;
    }
    return false;
}

double fixture_best_of_all_s(const problem *p)
{
    double best_s = INFINITY;
    plan pl;
    if (p->count > 5 || plan_make(p->count, &pl))
        abort();
    for (size_t i = 0; i < p->count; i++)
        pl.parent[i] = p->nodes[i].train ? 0 : PLAN_NONE;
    do {
        for (pl.global = 0; pl.global < (int32_t)p->count; pl.global++) {
            double round_s;
            if (plan_check(&pl, p, NULL) != EDGEPS_OK)
                continue;
            if (cost_round_s(p, &pl, &round_s))
                abort();
            best_s = fmin(best_s, round_s);
        }
    } while (next_parents(p, &pl));
    plan_free(&pl);
    return best_s;
}

place_result fixture_run(const char *algorithm, const problem *p, uint64_t seed)
{
    place_result r;
    edgeps_diag diag = {0};
    place_options options = {.seed = seed};
    if (place_run(algorithm, p, &options, &diag, &r)) {
        fprintf(stderr, "%s: %s\n", algorithm, diag.text);
        abort();
    }
    return r;
}

bool fixture_near(double a, double b) { return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)); }
