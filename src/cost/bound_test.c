#include "cost/cost.h"

#include "cost/cost_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#define MAX_NODES 10
#define TEN_MBIT 1250000 /* bytes */
#define NO PLAN_NONE

static double bound_of(const problem *p, const plan *pl)
{
    double scratch[COST_SCRATCH * MAX_NODES];
    return cost_bound_s(p, pl, scratch);
}

static double ratio_of_random_plan(rng *r)
{
    problem *p = fixture_random_problem(r, 1 + rng_below(r, MAX_NODES));
    plan pl = fixture_random_plan(r, p);
    double round_s, bound_s = bound_of(p, &pl);
    assert_int_equal(cost_round_s(p, &pl, &round_s), EDGEPS_OK);
    if (!(bound_s <= round_s * (1 + 1e-9)))
        fail_msg("bound %.17g, round %.17g", bound_s, round_s);
    fixture_free(p, &pl);
    return round_s > 0 ? bound_s / round_s : 1;
}

static void never_exceeds_the_round_and_mostly_comes_close(void **state)
{
    (void)state;
    rng r = rng_make(1, 0);
    double sum = 0;
    int plans = 5000;
    for (int k = 0; k < plans; k++)
        sum += ratio_of_random_plan(&r);
    print_message("bound / round: %.3f on average\n", sum / plans);
    assert_true(sum / plans > 0.8);
}

/* Where nothing is shared the bound is the round: a chain of single connections, one chunk. */
static void equals_the_round_of_a_lone_chunk(void **state)
{
    (void)state;
    rng r = rng_make(2, 0);
    for (int round = 0; round < 300; round++) {
        problem *p = fixture_random_problem(&r, 3);
        fixture_chunks(p, 1, 64 + 4 * (int64_t)(1 + rng_below(&r, 30000)));
        plan pl = fixture_plan(p, 2, (int32_t[]){1, NO, NO});
        double round_s;
        assert_int_equal(cost_round_s(p, &pl, &round_s), EDGEPS_OK);
        assert_true(fabs(bound_of(p, &pl) - round_s) <= 1e-9 * round_s);
        fixture_free(p, &pl);
    }
}

/* Nor does anything share where each direction has a limit of its own: then several chunks, the
 * last one shorter, take what the bound says, too. */
static void equals_the_round_of_a_lone_chain_of_chunks(void **state)
{
    (void)state;
    rng r = rng_make(3, 0);
    for (int round = 0; round < 1000; round++) {
        problem *p = fixture_random_problem(&r, 3);
        for (size_t i = 0; i < 3; i++)
            p->nodes[i].up_bytes_per_s = p->nodes[i].down_bytes_per_s = INFINITY;
        for (size_t pair = 0; pair < 9; pair++)
            p->cap_bytes_per_s[pair] = 1e5 * (1 + 9 * rng_uniform(&r));
        plan pl = fixture_plan(p, 2, (int32_t[]){1, NO, NO});
        double round_s;
        assert_int_equal(cost_round_s(p, &pl, &round_s), EDGEPS_OK);
        assert_true(fabs(bound_of(p, &pl) - round_s) <= 1e-9 * round_s);
        fixture_free(p, &pl);
    }
}

/* Four workers on quick links under one server whose down link takes 4 s, then hops of 1 s, 1 s,
 * and 4 s through its up link. */
static void sees_the_shared_links_of_a_server(void **state)
{
    (void)state;
    problem *p = fixture_problem(6, TEN_MBIT);
    fixture_links(p, 4, 10, 10);
    plan pl = fixture_plan(p, 5, (int32_t[]){4, 4, 4, 4, NO, NO});
    assert_true(fabs(bound_of(p, &pl) - 10) < 1e-9);
    fixture_free(p, &pl);
}

static void is_infinite_where_there_is_no_path(void **state)
{
    (void)state;
    problem *p = fixture_problem(3, TEN_MBIT);
    p->nodes[1].up_bytes_per_s = 0;
    plan pl = fixture_plan(p, 2, (int32_t[]){1, NO, NO});
    assert_true(bound_of(p, &pl) == INFINITY);
    fixture_free(p, &pl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_exceeds_the_round_and_mostly_comes_close),
        cmocka_unit_test(equals_the_round_of_a_lone_chunk),
        cmocka_unit_test(equals_the_round_of_a_lone_chain_of_chunks),
        cmocka_unit_test(sees_the_shared_links_of_a_server),
        cmocka_unit_test(is_infinite_where_there_is_no_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
