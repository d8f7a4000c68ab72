/* Sharded plans: several trees in one round. */
#include "cost/cost.h"

#include "base/mem.h"
#include "cost/cost_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MBIT 125000.0 /* bytes */
#define MOST_NODES 8
#define MOST_SHARDS 4
#define NO PLAN_NONE

static void assert_close(double got, double want)
{
    if (!(got == want || fabs(got - want) <= 1e-9 * fmax(1, fabs(want))))
        fail_msg("got %.17g, want %.17g", got, want);
}

static double round_of(const problem *p, const plan_set *set)
{
    double round_s = -1;
    assert_int_equal(cost_set_round_s(p, set, &round_s), EDGEPS_OK);
    return round_s;
}

static double bound_of(const problem *p, const plan_set *set)
{
    double scratch[COST_SET_SCRATCH * MOST_NODES];
    assert_true(p->count <= MOST_NODES);
    return cost_set_bound_s(p, set, scratch);
}

static plan_set make_set(size_t shards, size_t nodes)
{
    plan_set set;
    if (plan_set_make(shards, nodes, &set))
        abort();
    return set;
}

static void free_both(problem *p, plan_set *set)
{
    plan_set_free(set);
    problem_free(p);
}

/* Store-and-forward in `shards` shards of `wire_bytes` each. */
static problem *whole_shards(size_t nodes, int64_t shards, int64_t wire_bytes)
{
    problem *p = fixture_problem(nodes, 100000);
    p->job.transfer = JOB_STORE_AND_FORWARD;
    p->job.parameter_count = shards * (wire_bytes - JOB_FRAME_BYTES) / JOB_VALUE_BYTES;
    p->job.chunk_bytes = job_parameter_bytes(&p->job);
    return p;
}

/* Shard s of the set has its global server and only local server on node servers[s]. */
static void set_stars(const problem *p, const int32_t *servers, plan_set *set)
{
    for (size_t s = 0; s < set->count; s++) {
        set->shards[s].global = servers[s];
        for (size_t i = 0; i < p->count; i++)
            set->shards[s].parent[i] = p->nodes[i].train ? servers[s] : NO;
    }
}

/* Two shards of 5 Mbit; worker 0 has 10 Mbit/s both ways, server 1 receives 2.5 Mbit/s. The pushes
 * run at 2.5 and 7.5; that to server 2 ends at 2/3 s, its pull at 7/6; that to server 1 at 2 s, its
 * pull at 2.5. */
static void two_shards_share_the_links_of_their_worker(void **state)
{
    (void)state;
    problem *p = whole_shards(3, 2, (int64_t)(5 * MBIT));
    plan_set set = make_set(2, 3);
    p->nodes[1].train = p->nodes[2].train = false;
    fixture_links(p, 0, 10, 10);
    set_stars(p, (int32_t[]){2, 2}, &set);
    assert_close(round_of(p, &set), 2);
    set_stars(p, (int32_t[]){1, 2}, &set);
    assert_close(round_of(p, &set), 2);
    p->nodes[1].down_bytes_per_s = 2.5 * MBIT;
    assert_close(round_of(p, &set), 2.5);
    free_both(p, &set);
}

/* Without a common link each shard takes its own time: the slower one ends the round. Worker 0 is
 * quick; servers 1 and 2 have 5 Mbit/s and 2 Mbit/s up, and sum in 0 and 1 s. */
static void the_round_ends_with_the_last_shard(void **state)
{
    (void)state;
    problem *p = whole_shards(3, 2, (int64_t)(5 * MBIT));
    plan_set set = make_set(2, 3);
    p->nodes[1].train = p->nodes[2].train = false;
    fixture_links(p, 1, 5, INFINITY);
    fixture_links(p, 2, 2, INFINITY);
    p->nodes[2].sum_bytes_per_s = 0.5 * (double)job_parameter_bytes(&p->job);
    set_stars(p, (int32_t[]){1, 1}, &set);
    assert_close(round_of(p, &set), 2);
    /* The local and the global server each add for 1 s, then the pull takes 2.5 s. */
    set_stars(p, (int32_t[]){1, 2}, &set);
    assert_close(round_of(p, &set), 4.5);
    free_both(p, &set);
}

/* Of four equal nodes with N bytes to sum, each carries a quarter of the parameters: a link passes
 * 3N/4 of pushes and 3N/4 of pulls. With the shards on four further nodes it passes N each way. */
static void colocated_shards_put_three_halves_of_the_gradient_on_a_link(void **state)
{
    (void)state;
    const double whole_s = 4; /* N through a link: four shards of 10 Mbit at 10 Mbit/s */
    problem *p = whole_shards(8, 4, (int64_t)(10 * MBIT));
    plan_set set = make_set(4, 8);
    for (size_t i = 0; i < 8; i++) {
        fixture_links(p, i, 10, 10);
        p->nodes[i].train = i < 4;
    }
    set_stars(p, (int32_t[]){0, 1, 2, 3}, &set);
    assert_close(bound_of(p, &set), 1.5 * whole_s);
    assert_close(round_of(p, &set), 1.5 * whole_s);
    set_stars(p, (int32_t[]){4, 5, 6, 7}, &set);
    assert_close(bound_of(p, &set), 2 * whole_s);
    assert_close(round_of(p, &set), 2 * whole_s);

    /* Pipelined, pushes and pulls overlap: N instead of 3N/2 on separate nodes, but for filling the
     * pipe (a chunk is N / 256). */
    p->job.transfer = JOB_PIPELINED;
    p->job.chunk_bytes = (job_parameter_bytes(&p->job) + 255) / 256;
    p->job.chunk_bytes -= p->job.chunk_bytes % JOB_VALUE_BYTES;
    double separate_s = round_of(p, &set);
    assert_true(separate_s >= whole_s && separate_s < 1.05 * whole_s);
    set_stars(p, (int32_t[]){0, 1, 2, 3}, &set);
    double colocated_s = round_of(p, &set);
    assert_true(colocated_s >= 1.5 * whole_s * (1 - 1e-9) && colocated_s < 1.55 * whole_s);
    free_both(p, &set);
}

static plan_set random_set(rng *r, const problem *p)
{
    size_t most = (size_t)job_most_shards(&p->job);
    size_t shards = 1 + rng_below(r, most < MOST_SHARDS ? most : MOST_SHARDS);
    plan_set set = make_set(shards, p->count);
    for (size_t s = 0; s < shards; s++) {
        plan pl = fixture_random_plan(r, p);
        set.shards[s].global = pl.global;
        memcpy(set.shards[s].parent, pl.parent, p->count * sizeof *pl.parent);
        plan_free(&pl);
    }
    return set;
}

static problem *random_problem(rng *r)
{
    problem *p = fixture_random_problem(r, 1 + rng_below(r, MOST_NODES));
    if (rng_below(r, 3) == 0) {
        p->job.transfer = JOB_STORE_AND_FORWARD;
        p->job.chunk_bytes = job_parameter_bytes(&p->job);
    }
    return p;
}

static void one_shard_is_the_plan_itself(void **state)
{
    (void)state;
    rng r = rng_make(11, 0);
    for (int k = 0; k < 300; k++) {
        problem *p = random_problem(&r);
        plan pl = fixture_random_plan(&r, p);
        plan_set set = {1, &pl};
        double round_s, scratch[COST_SCRATCH * MOST_NODES];
        cost_result of_plan, of_set;
        assert_int_equal(cost_round_s(p, &pl, &round_s), EDGEPS_OK);
        assert_true(round_of(p, &set) == round_s);
        assert_true(bound_of(p, &set) >= cost_bound_s(p, &pl, scratch));
        assert_int_equal(cost_evaluate(p, &pl, &of_plan), EDGEPS_OK);
        assert_int_equal(cost_set_evaluate(p, &set, &of_set), EDGEPS_OK);
        assert_true(of_plan.round_s == of_set.round_s);
        assert_true(of_plan.bottleneck.gain_s == of_set.bottleneck.gain_s);
        assert_memory_equal(of_plan.phase_s, of_set.phase_s, sizeof of_plan.phase_s);
        fixture_free(p, &pl);
    }
}

/* ---- an evaluator of its own for stars: one chunk, global and local server on one node ---- */

typedef struct star_flow {
    size_t shard;
    size_t from, to;
    double start_s, left_bytes, rate;
    bool pull, done, seen;
} star_flow;

typedef struct star_shard {
    size_t server;
    job part;
    size_t pushes; /* that have arrived */
    double ready_s;
    bool pulled;
} star_shard;

typedef struct star {
    const problem *p;
    size_t workers;
    star_shard shards[MOST_SHARDS];
    size_t shard_count;
    star_flow flows[2 * MOST_SHARDS * MOST_NODES];
    size_t count;
    double now_s;
    double round_s;
} star;

/* What the links of `f` leave to each of the flows without a rate. */
static double share_of(const star *w, const star_flow *f)
{
    double up = w->p->nodes[f->from].up_bytes_per_s, down = w->p->nodes[f->to].down_bytes_per_s;
    double pair = problem_cap_bytes_per_s(w->p, f->from, f->to);
    double open_up = 0, open_down = 0, open_pair = 0;
    for (size_t k = 0; k < w->count; k++) {
        const star_flow *o = &w->flows[k];
        bool open = o->rate < 0, same_up = o->from == f->from, same_down = o->to == f->to;
        double taken = open ? 0 : o->rate;
        up -= same_up ? taken : 0;
        down -= same_down ? taken : 0;
        pair -= same_up && same_down ? taken : 0;
        open_up += same_up && open;
        open_down += same_down && open;
        open_pair += same_up && same_down && open;
    }
    return fmin(up / open_up, fmin(down / open_down, pair / open_pair));
}

/* Fixes the flow with the least share, again and again. */
static void fill(star *w)
{
    for (size_t k = 0; k < w->count; k++)
        w->flows[k].rate = w->flows[k].done || w->flows[k].start_s > w->now_s ? 0 : -1;
    for (;;) {
        star_flow *least = NULL;
        double least_share = INFINITY;
        for (size_t k = 0; k < w->count; k++) {
            double share = w->flows[k].rate < 0 ? share_of(w, &w->flows[k]) : INFINITY;
            if (share < least_share) {
                least = &w->flows[k];
                least_share = share;
            }
        }
        if (!least)
            return;
        least->rate = fmax(0, least_share);
    }
}

/* To the next start or end of a flow. */
static void step(star *w)
{
    double next_s = INFINITY, from_s = w->now_s;
    fill(w);
    for (size_t k = 0; k < w->count; k++) {
        const star_flow *f = &w->flows[k];
        if (!f->done)
            next_s =
                fmin(next_s, f->start_s > from_s ? f->start_s : from_s + f->left_bytes / f->rate);
    }
    for (size_t k = 0; k < w->count; k++) {
        star_flow *f = &w->flows[k];
        if (f->done || f->start_s > from_s)
            continue;
        f->left_bytes -= f->rate * (next_s - from_s);
        f->done = f->left_bytes <= 1e-6;
    }
    w->now_s = next_s;
}

static void add_star_flow(star *w, size_t shard, size_t worker, bool pull, double start_s)
{
    size_t server = w->shards[shard].server;
    w->flows[w->count++] = (star_flow){.shard = shard,
                                       .from = pull ? server : worker,
                                       .to = pull ? worker : server,
                                       .start_s = start_s,
                                       .left_bytes = (double)job_wire_bytes(&w->shards[shard].part),
                                       .pull = pull};
}

static void open_star(star *w, size_t s)
{
    star_shard *shard = &w->shards[s];
    shard->part = job_shard(&w->p->job, (int64_t)s, (int64_t)w->shard_count);
    for (size_t i = 0; i < w->p->count; i++) {
        const problem_node *node = &w->p->nodes[i];
        if (node->train && i == shard->server) {
            shard->ready_s = fmax(shard->ready_s, node->compute_s);
            shard->pushes++;
        } else if (node->train) {
            add_star_flow(w, s, i, false, node->compute_s);
        }
    }
}

static void see_ends(star *w)
{
    for (size_t k = 0; k < w->count; k++) {
        star_flow *f = &w->flows[k];
        star_shard *shard = &w->shards[f->shard];
        if (!f->done || f->seen)
            continue;
        double there_s = w->now_s + problem_latency_s(w->p, f->from, f->to);
        double *end_s = f->pull ? &w->round_s : &shard->ready_s;
        *end_s = fmax(*end_s, there_s);
        shard->pushes += !f->pull;
        f->seen = true;
    }
}

/* The local server adds what the workers sent, then the global one what one local server sent. */
static void start_pulls(star *w, size_t s)
{
    star_shard *shard = &w->shards[s];
    const problem_node *server = &w->p->nodes[shard->server];
    if (shard->pulled || shard->pushes < w->workers)
        return;
    double bytes = (double)(w->workers + 1) * (double)job_parameter_bytes(&shard->part);
    double start_s = shard->ready_s + bytes / server->sum_bytes_per_s;
    shard->pulled = true;
    for (size_t i = 0; i < w->p->count; i++)
        if (w->p->nodes[i].train && i != shard->server)
            add_star_flow(w, s, i, true, start_s);
    if (server->train)
        w->round_s = fmax(w->round_s, start_s);
}

static double star_round_s(const problem *p, const int32_t *servers, size_t shards)
{
    star w = {.p = p, .shard_count = shards};
    for (size_t i = 0; i < p->count; i++)
        w.workers += p->nodes[i].train;
    for (size_t s = 0; s < shards; s++) {
        w.shards[s].server = (size_t)servers[s];
        open_star(&w, s);
    }
    for (;;) {
        size_t ended = 0;
        see_ends(&w);
        for (size_t s = 0; s < shards; s++)
            start_pulls(&w, s);
        for (size_t k = 0; k < w.count; k++)
            ended += w.flows[k].done;
        if (ended == w.count)
            return w.round_s;
        step(&w);
    }
}

static void stars_agree_with_an_evaluator_of_their_own(void **state)
{
    (void)state;
    rng r = rng_make(12, 0);
    for (int k = 0; k < 400; k++) {
        problem *p = fixture_random_problem(&r, 2 + rng_below(&r, 5));
        p->job.transfer = JOB_STORE_AND_FORWARD;
        p->job.chunk_bytes = job_parameter_bytes(&p->job);
        size_t shards = 1 + rng_below(&r, MOST_SHARDS);
        int32_t servers[MOST_SHARDS];
        for (size_t s = 0; s < shards; s++)
            servers[s] = (int32_t)rng_below(&r, p->count);
        plan_set set = make_set(shards, p->count);
        set_stars(p, servers, &set);
        double want = star_round_s(p, servers, shards), got = round_of(p, &set);
        if (!(fabs(got - want) <= 1e-7 * fmax(1, want)))
            fail_msg("instance %d: got %.17g, want %.17g", k, got, want);
        free_both(p, &set);
    }
}

static void the_bound_never_exceeds_the_round(void **state)
{
    (void)state;
    rng r = rng_make(13, 0);
    double sum = 0;
    int sets = 2000;
    for (int k = 0; k < sets; k++) {
        problem *p = random_problem(&r);
        plan_set set = random_set(&r, p);
        double round_s = round_of(p, &set), bound_s = bound_of(p, &set);
        if (!(bound_s <= round_s * (1 + 1e-9)))
            fail_msg("set %d: bound %.17g, round %.17g", k, bound_s, round_s);
        sum += round_s > 0 ? bound_s / round_s : 1;
        free_both(p, &set);
    }
    print_message("bound / round of sharded plans: %.3f on average\n", sum / sets);
    assert_true(sum / sets > 0.75);
}

static void phases_add_up_to_the_round(void **state)
{
    (void)state;
    rng r = rng_make(14, 0);
    for (int k = 0; k < 300; k++) {
        problem *p = random_problem(&r);
        plan_set set = random_set(&r, p);
        cost_result got;
        double sum = 0;
        assert_int_equal(cost_set_evaluate(p, &set, &got), EDGEPS_OK);
        assert_true(got.round_s == round_of(p, &set));
        for (int phase = 0; phase < COST_PHASES; phase++) {
            assert_true(got.phase_s[phase] >= 0);
            sum += got.phase_s[phase];
        }
        assert_close(sum, got.round_s);
        free_both(p, &set);
    }
}

static void faster_by_a_factor_is_shorter_by_it(void **state)
{
    (void)state;
    rng r = rng_make(15, 0);
    for (int k = 0; k < 100; k++) {
        problem *p = random_problem(&r);
        plan_set set = random_set(&r, p);
        double before_s = round_of(p, &set);
        for (size_t i = 0; i < p->count; i++) {
            p->nodes[i].up_bytes_per_s *= 2;
            p->nodes[i].down_bytes_per_s *= 2;
            p->nodes[i].sum_bytes_per_s *= 2;
            p->nodes[i].compute_s /= 2;
        }
        for (size_t e = 0; e < p->count * p->count; e++) {
            p->latency_s[e] /= 2;
            p->cap_bytes_per_s[e] *= 2;
        }
        assert_close(round_of(p, &set), before_s / 2);
        free_both(p, &set);
    }
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    problem *p = whole_shards(6, 3, 100000);
    plan_set set = make_set(3, 6);
    set_stars(p, (int32_t[MOST_SHARDS]){0, 2, 4}, &set);
    for (size_t i = 0; i < 6; i++)
        fixture_links(p, i, 10, 10);
    for (long n = 1;; n++) {
        double round_s = -1;
        mem_fail_at(n);
        edgeps_err err = cost_set_round_s(p, &set, &round_s);
        mem_fail_at(0);
        if (!err)
            break;
        assert_int_equal(err, EDGEPS_NOMEM);
        assert_true(round_s == -1);
    }
    free_both(p, &set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_shards_share_the_links_of_their_worker),
        cmocka_unit_test(the_round_ends_with_the_last_shard),
        cmocka_unit_test(colocated_shards_put_three_halves_of_the_gradient_on_a_link),
        cmocka_unit_test(one_shard_is_the_plan_itself),
        cmocka_unit_test(stars_agree_with_an_evaluator_of_their_own),
        cmocka_unit_test(the_bound_never_exceeds_the_round),
        cmocka_unit_test(phases_add_up_to_the_round),
        cmocka_unit_test(faster_by_a_factor_is_shorter_by_it),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
