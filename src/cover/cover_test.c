#include "cover/cover.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST ((size_t)12) /* workers and servers of the random instances */

typedef struct world {
    cover_instance c;
    cover_server servers[MOST];
    cover_arc arcs[MOST][MOST];
} world;

static void draw_world(uint64_t seed, world *w)
{
    rng r = rng_make(seed, 5);
    size_t workers = 2 + rng_below(&r, MOST - 1), servers = 2 + rng_below(&r, MOST - 1);
    double density = 0.2 + 0.8 * rng_uniform(&r);
    w->c = (cover_instance){workers, servers, w->servers, 1 + 4 * rng_uniform(&r)};
    if (rng_below(&r, 2))
        w->c.budget = floor(w->c.budget);
    for (size_t j = 0; j < servers; j++) {
        size_t count = 0;
        for (size_t i = 0; i < workers; i++) {
            double size = rng_below(&r, 5) ? 1 : rng_below(&r, 2) ? 0 : 2 * rng_uniform(&r);
            if (rng_uniform(&r) < density)
                w->arcs[j][count++] = (cover_arc){(uint32_t)i, size};
        }
        w->servers[j] = (cover_server){w->arcs[j], count, (double)rng_below(&r, 7)};
    }
}

/* The most that any solution is worth at these prices, found another way than by sorting: the
 * knapsack's best filling is by repeated search for the best item left. */
static double best_filling(const cover_server *s, const double *price)
{
    bool taken[MOST] = {false};
    double left = s->capacity, value = 0;
    for (;;) {
        size_t best = MOST;
        double best_ratio = -1;
        for (size_t a = 0; a < s->arc_count; a++) {
            double size = s->arcs[a].size;
            double ratio = size > 0 ? price[s->arcs[a].worker] / size : 1e300;
            if (!taken[a] && ratio > best_ratio) {
                best = a;
                best_ratio = ratio;
            }
        }
        if (best == MOST)
            return value;
        taken[best] = true;
        double part = s->arcs[best].size <= left ? 1 : left / s->arcs[best].size;
        left -= part * s->arcs[best].size;
        value += part * price[s->arcs[best].worker];
        if (part < 1)
            return value;
    }
}

static double sum_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

/* The most that any fractional servers within the budget are worth at these prices. */
static double best_worth(const cover_instance *c, const double *price)
{
    double values[MOST] = {0}, best = 0, left = c->budget;
    for (size_t j = 0; j < c->server_count; j++)
        values[j] = best_filling(&c->servers[j], price);
    while (left > 0) {
        size_t top = 0;
        for (size_t j = 1; j < c->server_count; j++)
            if (values[j] > values[top])
                top = j;
        best += fmin(left, 1) * fmax(values[top], 0);
        values[top] = 0;
        left -= 1;
    }
    return best;
}

static bool certificate_holds(const cover_instance *c, const double *price)
{
    for (size_t i = 0; i < c->worker_count; i++)
        assert_true(price[i] >= 0);
    return best_worth(c, price) < sum_of(price, c->worker_count);
}

static void verdicts_equal_those_of_clp(void **state)
{
    (void)state;
    size_t decided = 0, no = 0, yes = 0;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        world w;
        cover_answer exact, quick;
        cover_options weights_only = {.epsilon = 0.05, .most_iterations = 2000};
        draw_world(seed, &w);
        assert_int_equal(cover_solve(&w.c, &exact), EDGEPS_OK);
        assert_int_equal(cover_decide(&w.c, &weights_only, &quick), EDGEPS_OK);
        assert_int_not_equal(exact.verdict, COVER_UNSURE);
        if (quick.verdict == COVER_NO) {
            assert_int_equal(exact.verdict, COVER_NO);
            assert_true(certificate_holds(&w.c, quick.weight));
        }
        if (exact.verdict == COVER_NO)
            assert_true(certificate_holds(&w.c, exact.weight));
        if (quick.verdict == COVER_YES) {
            /* A solution that covers each worker `coverage` times is worth that part of the
             * prices: CLP's certificate may refute full coverage, but not this one. */
            assert_true(quick.coverage >= 0.95);
            double worth = best_worth(&w.c, exact.weight);
            double claimed = quick.coverage * sum_of(exact.weight, w.c.worker_count);
            assert_true(claimed <= worth * (1 + 1e-6) + 1e-9);
        }
        decided += quick.verdict == exact.verdict;
        no += exact.verdict == COVER_NO;
        yes += exact.verdict == COVER_YES;
        cover_answer_free(&exact);
        cover_answer_free(&quick);
    }
    assert_in_range(no, 150, 400);
    assert_in_range(yes, 100, 400);
    assert_in_range(decided, 480, 500);
}

static void with_clp_behind_the_weights_every_verdict_is_exact(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        world w;
        cover_answer exact, both;
        cover_options options = {.most_iterations = 20, .most_exact_arcs = MOST * MOST};
        draw_world(seed, &w);
        assert_int_equal(cover_solve(&w.c, &exact), EDGEPS_OK);
        assert_int_equal(cover_decide(&w.c, &options, &both), EDGEPS_OK);
        assert_int_equal(both.verdict, exact.verdict);
        cover_answer_free(&exact);
        cover_answer_free(&both);
    }
}

static const cover_arc triangle[3][2] = {{{0, 1}, {1, 1}}, {{1, 1}, {2, 1}}, {{2, 1}, {0, 1}}};

/* Three workers, three servers, each server serves two of them: fractional 3/2, whole 2. */
static cover_instance triangle_of(cover_server servers[3], double capacity, double budget)
{
    for (size_t j = 0; j < 3; j++)
        servers[j] = (cover_server){triangle[j], 2, capacity};
    return (cover_instance){3, 3, servers, budget};
}

static cover_verdict verdict_of(const cover_instance *c)
{
    cover_answer a;
    cover_options options = {.most_exact_arcs = 100};
    assert_int_equal(cover_decide(c, &options, &a), EDGEPS_OK);
    cover_verdict verdict = a.verdict;
    cover_answer_free(&a);
    return verdict;
}

static void half_of_each_server_covers_the_triangle(void **state)
{
    (void)state;
    cover_server servers[3];
    double open[3], mass;
    cover_instance c = triangle_of(servers, 2, 1.5);
    assert_int_equal(verdict_of(&c), COVER_YES);
    c.budget = 1.49;
    assert_int_equal(verdict_of(&c), COVER_NO);
    c = triangle_of(servers, 1, 2.99);
    assert_int_equal(verdict_of(&c), COVER_NO);
    c.budget = 3;
    assert_int_equal(verdict_of(&c), COVER_YES);
    assert_int_equal(cover_least_mass(&c, open, &mass), EDGEPS_OK);
    assert_true(fabs(mass - 1.5) < 1e-6);
    for (size_t j = 0; j < 3; j++)
        assert_true(fabs(open[j] - 0.5) < 1e-6);
}

static void a_worker_without_arc_is_never_covered(void **state)
{
    (void)state;
    cover_server servers[3];
    double open[3] = {7, 7, 7}, mass = 0;
    cover_instance c = triangle_of(servers, 2, 3);
    c.worker_count = 4;
    assert_int_equal(verdict_of(&c), COVER_NO);
    assert_int_equal(cover_least_mass(&c, open, &mass), EDGEPS_OK);
    assert_true(mass == INFINITY);
    assert_true(open[0] == 7);
}

static void weights_that_prove_nothing_are_refused(void **state)
{
    (void)state;
    cover_server servers[3];
    bool refutes = true;
    cover_instance c = triangle_of(servers, 2, 1.4);
    assert_int_equal(cover_refutes(&c, (double[]){1, 0, 0}, &refutes), EDGEPS_OK);
    assert_false(refutes);
    assert_int_equal(cover_refutes(&c, (double[]){1, 1, 1}, &refutes), EDGEPS_OK);
    assert_true(refutes);
}

static void a_worker_of_size_zero_takes_no_capacity(void **state)
{
    (void)state;
    const cover_arc arcs[] = {{0, 1}, {1, 0}, {2, 1}};
    cover_server server = {arcs, 3, 2};
    cover_instance c = {3, 1, &server, 1};
    assert_int_equal(verdict_of(&c), COVER_YES);
    server.capacity = 1.9;
    assert_int_equal(verdict_of(&c), COVER_NO);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    world w;
    draw_world(4, &w);
    for (int way = 0; way < 2; way++) {
        edgeps_err err = EDGEPS_NOMEM;
        for (long nth = 1; err == EDGEPS_NOMEM; nth++) {
            cover_options options = {.most_iterations = 2, .most_exact_arcs = 1000};
            cover_answer a = {.coverage = 42};
            double open[MOST], mass = 42;
            mem_fail_at(nth);
            err = way ? cover_least_mass(&w.c, open, &mass) : cover_decide(&w.c, &options, &a);
            mem_fail_at(0);
            if (err)
                assert_true(a.coverage == 42 && mass == 42);
            cover_answer_free(&a);
        }
        assert_int_equal(err, EDGEPS_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_equal_those_of_clp),
        cmocka_unit_test(with_clp_behind_the_weights_every_verdict_is_exact),
        cmocka_unit_test(half_of_each_server_covers_the_triangle),
        cmocka_unit_test(a_worker_without_arc_is_never_covered),
        cmocka_unit_test(weights_that_prove_nothing_are_refused),
        cmocka_unit_test(a_worker_of_size_zero_takes_no_capacity),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
