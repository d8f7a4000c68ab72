#include "cost/sensitivity.h"

#include "base/mem.h"
#include "cost/cost_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#define NO PLAN_NONE
#define TEN_MBIT 1250000 /* bytes */
#define MBIT 125000.0    /* bytes */

static const cost_step step = {.rate_bytes_per_s = 1e5, .speed_factor = 1.5};

static cost_sensitivity find_gains(const problem *p, const plan *pl, const cost_step *by)
{
    cost_sensitivity s;
    assert_int_equal(cost_find_gains(p, pl, by, NULL, NULL, &s), EDGEPS_OK);
    return s;
}

/* The gain of a resource; 0 for one that was not played. */
static double gain_of(const cost_sensitivity *s, cost_resource resource, int32_t node)
{
    for (size_t k = 0; k < s->count; k++)
        if (s->gains[k].resource == resource && s->gains[k].node == node)
            return s->gains[k].gain_s;
    return 0;
}

static void assert_close(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12))
        fail_msg("got %.17g, want %.17g", got, want);
}

/* Nodes 1 and 2 push 10 Mbit at 2 and 5 Mbit/s to node 0, which receives and sends without limit;
 * they receive at 10 and 8 Mbit/s: a round of 10/2 + 10/8 s. */
static void the_slowest_link_gains_by_formula_and_others_nothing(void **state)
{
    (void)state;
    problem *p = fixture_problem(3, TEN_MBIT);
    fixture_links(p, 1, 2, 10);
    fixture_links(p, 2, 5, 8);
    plan pl = fixture_plan(p, 0, (int32_t[]){NO, 0, 0});
    cost_sensitivity s = find_gains(p, &pl, &(cost_step){.rate_bytes_per_s = MBIT});
    assert_close(s.round_s, 10 / 2.0 + 10 / 8.0);
    assert_close(gain_of(&s, COST_UP, 1), 10 / 2.0 - 10 / 3.0);
    assert_close(gain_of(&s, COST_DOWN, 2), 10 / 8.0 - 10 / 9.0);
    assert_true(gain_of(&s, COST_UP, 2) == 0);
    assert_true(gain_of(&s, COST_DOWN, 1) == 0);
    assert_int_equal(s.count + s.idle, 4);
    assert_int_equal(s.gains[0].node, 1);
    cost_sensitivity_free(&s);
    fixture_free(p, &pl);
}

/* Two workers share node 0's down link of 4 Mbit/s, 2 each; their own up links of 3 and 5 Mbit/s
 * hold down nothing, so that only the down link is played at all. */
static void a_link_that_is_never_full_is_not_played(void **state)
{
    (void)state;
    problem *p = fixture_problem(3, TEN_MBIT);
    fixture_links(p, 0, INFINITY, 4);
    fixture_links(p, 1, 3, INFINITY);
    fixture_links(p, 2, 5, INFINITY);
    plan pl = fixture_plan(p, 0, (int32_t[]){NO, 0, 0});
    cost_sensitivity s = find_gains(p, &pl, &(cost_step){.rate_bytes_per_s = MBIT});
    assert_int_equal(s.count, 1);
    assert_int_equal(s.idle, 2);
    assert_int_equal(s.gains[0].resource, COST_DOWN);
    assert_int_equal(s.gains[0].node, 0);
    assert_close(s.gains[0].gain_s, 20 / 4.0 - 20 / 5.0);
    cost_sensitivity_free(&s);
    fixture_free(p, &pl);
}

/* Node 0 computes 1 s for itself, node 1 2 s for it: who waits for whom decides. */
static void a_computation_nobody_waits_for_is_not_played(void **state)
{
    (void)state;
    problem *p = fixture_problem(2, TEN_MBIT);
    p->nodes[0].compute_s = 1;
    p->nodes[1].compute_s = 2;
    plan pl = fixture_plan(p, 0, (int32_t[]){0, 0});
    cost_sensitivity s = find_gains(p, &pl, &(cost_step){.speed_factor = 2});
    assert_int_equal(s.idle, 1);
    assert_int_equal(s.count, 1);
    assert_close(gain_of(&s, COST_WORK, 1), 1);
    cost_sensitivity_free(&s);
    p->nodes[0].compute_s = 3;
    s = find_gains(p, &pl, &(cost_step){.speed_factor = 2});
    assert_close(gain_of(&s, COST_WORK, 0), 1); /* then node 1 is waited for */
    cost_sensitivity_free(&s);
    fixture_free(p, &pl);
}

static double round_with(const problem *p, const plan *pl, cost_resource resource, size_t node)
{
    problem *copy;
    double round_s;
    assert_int_equal(problem_copy(p, &copy), EDGEPS_OK);
    problem_node *changed = &copy->nodes[node];
    if (resource == COST_UP)
        changed->up_bytes_per_s += step.rate_bytes_per_s;
    else if (resource == COST_DOWN)
        changed->down_bytes_per_s += step.rate_bytes_per_s;
    else if (resource == COST_WORK)
        changed->compute_s /= step.speed_factor;
    else
        changed->sum_bytes_per_s *= step.speed_factor;
    assert_int_equal(cost_round_s(copy, pl, &round_s), EDGEPS_OK);
    problem_free(copy);
    return round_s;
}

/* Every resource of every node, whether the shortlist has it or not. */
static void every_gain_is_that_of_playing_the_changed_round(void **state)
{
    (void)state;
    static const cost_resource kinds[] = {COST_UP, COST_DOWN, COST_WORK, COST_SUMMING};
    rng r = rng_make(11, 0);
    size_t idle = 0, played = 0;
    for (int k = 0; k < 300; k++) {
        problem *p = fixture_random_problem(&r, 1 + rng_below(&r, 8));
        plan pl = fixture_random_plan(&r, p);
        cost_sensitivity s = find_gains(p, &pl, &step);
        for (size_t i = 0; i < p->count; i++)
            for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
                double want_s = s.round_s - round_with(p, &pl, kinds[kind], i);
                double got_s = gain_of(&s, kinds[kind], (int32_t)i);
                if (!(fabs(got_s - want_s) <= 1e-12 * s.round_s))
                    fail_msg("case %d, node %zu, resource %zu: %.17g, not %.17g", k, i, kind, got_s,
                             want_s);
            }
        for (size_t g = 1; g < s.count; g++)
            assert_true(s.gains[g - 1].gain_s >= s.gains[g].gain_s);
        assert_int_equal(s.left, 0);
        idle += s.idle;
        played += s.count;
        cost_sensitivity_free(&s);
        fixture_free(p, &pl);
    }
    assert_true(idle > 300 && played > 300);
}

static bool stop_at_once(void *context, double done_fraction)
{
    (void)context;
    (void)done_fraction;
    return false;
}

static void what_was_not_played_is_told(void **state)
{
    (void)state;
    rng r = rng_make(12, 0);
    problem *p = fixture_random_problem(&r, 8);
    plan pl = fixture_random_plan(&r, p);
    cost_sensitivity all = find_gains(p, &pl, &step), s;
    assert_int_equal(cost_find_gains(p, &pl, &step, stop_at_once, NULL, &s), EDGEPS_OK);
    assert_true(all.count > 0);
    assert_int_equal(s.count, 0);
    assert_int_equal(s.left, all.count);
    assert_int_equal(s.idle, all.idle);
    cost_sensitivity_free(&all);
    cost_sensitivity_free(&s);
    fixture_free(p, &pl);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    rng r = rng_make(13, 0);
    problem *p = fixture_random_problem(&r, 5);
    plan pl = fixture_random_plan(&r, p);
    for (long nth = 1;; nth++) {
        cost_sensitivity s = {.idle = 77};
        mem_fail_at(nth);
        edgeps_err err = cost_find_gains(p, &pl, &step, NULL, NULL, &s);
        mem_fail_at(0);
        if (!err) {
            cost_sensitivity_free(&s);
            break;
        }
        assert_int_equal(err, EDGEPS_NOMEM);
        assert_int_equal(s.idle, 77);
    }
    fixture_free(p, &pl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slowest_link_gains_by_formula_and_others_nothing),
        cmocka_unit_test(a_link_that_is_never_full_is_not_played),
        cmocka_unit_test(a_computation_nobody_waits_for_is_not_played),
        cmocka_unit_test(every_gain_is_that_of_playing_the_changed_round),
        cmocka_unit_test(what_was_not_played_is_told),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
