#include "cost/cost.h"

#include "base/mem.h"
#include "cost/cost_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#define TEN_MBIT 1250000 /* bytes */
#define NO PLAN_NONE

static cost_result evaluate(const problem *p, const plan *pl)
{
    cost_result result;
    assert_int_equal(cost_evaluate(p, pl, &result), EDGEPS_OK);
    return result;
}

static void assert_close(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fmax(1, fabs(want))))
        fail_msg("got %.17g, want %.17g", got, want);
}

static problem *six_nodes(plan *pl)
{
    problem *p = fixture_problem(6, TEN_MBIT);
    static const double links[6][2] = {{20, 20}, {10, 20}, {8, 16}, {2, 10}, {4, 12}, {3, 8}};
    for (size_t i = 0; i < 6; i++)
        fixture_links(p, i, links[i][0], links[i][1]);
    *pl = fixture_plan(p, 0, (int32_t[]){NO, NO, NO, 1, 1, 2});
    return p;
}

/* Without the up link of node 3 (2 Mbit/s): node 1 has summed at 10/4 = 2.5 s and pushed by 3.5;
 * node 2 at 10/3 + 10/8 = 4.583 s; pulls 1 + 2: 7.583 s instead of 9. Without that of node 1: 7.75.
 */
static void six_node_case_names_phases_and_bottleneck(void **state)
{
    (void)state;
    plan pl;
    problem *p = six_nodes(&pl);
    p->rounds = 10;
    cost_result got = evaluate(p, &pl);
    assert_close(got.round_s, 9);
    assert_close(got.epoch_s, 90);
    static const double want[COST_PHASES] = {0, 5, 0, 1, 0, 1, 2};
    for (int k = 0; k < COST_PHASES; k++)
        assert_close(got.phase_s[k], want[k]);
    assert_int_equal(got.bottleneck.resource, COST_UP);
    assert_int_equal(got.bottleneck.node, 3);
    assert_int_equal(got.bottleneck.other, NO);
    assert_close(got.bottleneck.gain_s, 9 - (10.0 / 3 + 10.0 / 8 + 3));
    char text[128];
    cost_bottleneck_text(&got.bottleneck, p, text, sizeof text);
    assert_string_equal(text, "up link of n3 (without it the round takes 1.42 s less)");
    fixture_free(p, &pl);
}

/* One resource at a time is made to dominate a chain that is otherwise quick. */
static void each_kind_of_bottleneck_is_found(void **state)
{
    (void)state;
    for (int kind = COST_UP; kind <= COST_SUMMING; kind++) {
        problem *p = fixture_problem(3, TEN_MBIT);
        for (size_t i = 0; i < 3; i++)
            fixture_links(p, i, 100, 100);
        plan pl = fixture_plan(p, 2, (int32_t[]){1, NO, NO});
        cost_bottleneck want = {(cost_resource)kind, 1, NO, 0};
        switch ((cost_resource)kind) {
        case COST_UP:
            fixture_links(p, 1, 10, 100);
            break;
        case COST_DOWN:
            fixture_links(p, 1, 100, 10);
            break;
        case COST_PAIR:
            p->cap_bytes_per_s[1 * 3 + 2] = TEN_MBIT;
            want.other = 2;
            break;
        case COST_LATENCY:
            p->latency_s[1 * 3 + 0] = 3;
            want.other = 0;
            break;
        case COST_WORK:
            p->nodes[0].compute_s = 3;
            want.node = 0;
            break;
        case COST_SUMMING:
            p->nodes[1].sum_bytes_per_s = TEN_MBIT / 3.0;
            break;
        }
        cost_bottleneck got = evaluate(p, &pl).bottleneck;
        assert_int_equal(got.resource, want.resource);
        assert_int_equal(got.node, want.node);
        assert_int_equal(got.other, want.other);
        assert_true(got.gain_s > 0.8);
        fixture_free(p, &pl);
    }
}

/* Latency 0.2, then a sum that waits: chunk 1 of 2 waits for the adder, which takes 1 s a chunk. */
static void time_behind_an_earlier_chunk_belongs_to_that_stage(void **state)
{
    (void)state;
    problem *p = fixture_problem(3, TEN_MBIT);
    fixture_chunks(p, 2, TEN_MBIT);
    p->latency_s[0 * 3 + 1] = 0.2;
    p->latency_s[2 * 3 + 1] = 0.3;
    p->nodes[0].compute_s = 0.5;
    p->nodes[1].sum_bytes_per_s = TEN_MBIT - JOB_FRAME_BYTES;
    plan pl = fixture_plan(p, 2, (int32_t[]){1, NO, NO});
    cost_result got = evaluate(p, &pl);
    static const double want[COST_PHASES] = {0.5, 0.2, 2, 0, 0, 0.3, 0};
    for (int k = 0; k < COST_PHASES; k++)
        assert_close(got.phase_s[k], want[k]);
    fixture_free(p, &pl);
}

static void phases_add_up_to_the_round(void **state)
{
    (void)state;
    rng r = rng_make(1, 0);
    for (int round = 0; round < 500; round++) {
        problem *p = fixture_random_problem(&r, 1 + rng_below(&r, 8));
        plan pl = fixture_random_plan(&r, p);
        cost_result got = evaluate(p, &pl);
        double sum = 0, round_s;
        assert_int_equal(cost_round_s(p, &pl, &round_s), EDGEPS_OK);
        assert_true(got.round_s == round_s);
        for (int k = 0; k < COST_PHASES; k++) {
            assert_true(got.phase_s[k] >= 0);
            sum += got.phase_s[k];
        }
        assert_close(sum, got.round_s);
        assert_true(got.bottleneck.gain_s >= 0 && got.bottleneck.gain_s <= got.round_s);
        fixture_free(p, &pl);
    }
}

static void a_round_that_never_ends_names_the_dead_link(void **state)
{
    (void)state;
    plan pl;
    problem *p = six_nodes(&pl);
    p->nodes[4].up_bytes_per_s = 0;
    cost_result got = evaluate(p, &pl);
    assert_true(got.round_s == INFINITY);
    assert_int_equal(got.bottleneck.resource, COST_UP);
    assert_int_equal(got.bottleneck.node, 4);
    fixture_free(p, &pl);
}

static void a_round_without_any_cost_has_no_bottleneck(void **state)
{
    (void)state;
    problem *p = fixture_problem(1, TEN_MBIT);
    plan pl = fixture_plan(p, 0, (int32_t[]){0});
    cost_result got = evaluate(p, &pl);
    char text[64];
    assert_close(got.round_s, 0);
    cost_bottleneck_text(&got.bottleneck, p, text, sizeof text);
    assert_string_equal(text, "nothing limits the round");
    fixture_free(p, &pl);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    plan pl;
    problem *p = six_nodes(&pl);
    for (long n = 1;; n++) {
        cost_result got;
        memset(&got, 0x5a, sizeof got);
        cost_result untouched = got;
        mem_fail_at(n);
        edgeps_err err = cost_evaluate(p, &pl, &got);
        mem_fail_at(0);
        if (!err)
            break;
        assert_int_equal(err, EDGEPS_NOMEM);
        assert_memory_equal(&got, &untouched, sizeof got);
    }
    fixture_free(p, &pl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(six_node_case_names_phases_and_bottleneck),
        cmocka_unit_test(each_kind_of_bottleneck_is_found),
        cmocka_unit_test(time_behind_an_earlier_chunk_belongs_to_that_stage),
        cmocka_unit_test(phases_add_up_to_the_round),
        cmocka_unit_test(a_round_that_never_ends_names_the_dead_link),
        cmocka_unit_test(a_round_without_any_cost_has_no_bottleneck),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
