#include "place/place_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

static void finds_the_best_of_all_plans(void **state)
{
    (void)state;
    int infeasible = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        problem *p = fixture_problem(seed, fixture_any_kind(seed, seed % 10 ? 4 : 5));
        double best_s = fixture_best_of_all_s(p);
        place_result r = fixture_run("brute", p, seed);
        if (best_s == INFINITY) {
            assert_int_equal(r.status, PLACE_INFEASIBLE);
            infeasible++;
        } else {
            assert_int_equal(r.status, PLACE_OPTIMAL);
            assert_true(fixture_near(r.cost.round_s, best_s));
            assert_true(fixture_near(r.lower_bound_s, best_s));
        }
        place_result_free(&r);
        fixture_free(p);
    }
    assert_in_range(infeasible, 1, 30);
}

static void refuses_more_nodes_than_it_can_enumerate(void **state)
{
    (void)state;
    problem *p = fixture_problem(1, (fixture_kind){.count = 13, .max_locals = 2, .chunks = 1});
    edgeps_diag diag = {0};
    place_result r;
    assert_int_equal(place_run("brute", p, NULL, &diag, &r), EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "at most 12 nodes, not 13"));
    fixture_free(p);
}

static bool stop_at_once(void *context, const place_progress *now)
{
    (void)context;
    (void)now;
    return false;
}

static void a_stopped_search_claims_no_optimum(void **state)
{
    (void)state;
    problem *p = fixture_problem(3, (fixture_kind){.count = 9, .max_locals = 3, .chunks = 4});
    place_options options = {.progress = stop_at_once};
    place_result r;
    assert_int_equal(place_run("brute", p, &options, NULL, &r), EDGEPS_OK);
    assert_true(r.stopped);
    assert_int_equal(plan_check(&r.plan, p, NULL), EDGEPS_OK);
    place_result_free(&r);
    fixture_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_best_of_all_plans),
        cmocka_unit_test(refuses_more_nodes_than_it_can_enumerate),
        cmocka_unit_test(a_stopped_search_claims_no_optimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
