#include "place/place_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test_draws.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* approx against the optimum of brute on random instances of every kind. */
static void is_close_to_the_optimum_and_its_bound_below(void **state)
{
    (void)state;
    double ratios[200], gaps[200];
    const size_t draws = test_draws(200);
    size_t feasible = 0, refused = 0, proved = 0;
    for (uint64_t seed = 1; seed <= draws; seed++) {
        size_t count = seed % 20 == 0 ? 9 : 4 + seed % 5;
        fixture_kind kind = fixture_any_kind(1000 + seed, count);
        if (kind.uniform && count > 7)
            kind.count = 7; /* equal nodes make equal plans, which no bound tells apart */
        problem *p = fixture_problem(1000 + seed, kind);
        place_result best = fixture_run("brute", p, seed), r = fixture_run("approx", p, seed);
        assert_int_equal(r.status == PLACE_INFEASIBLE, best.status == PLACE_INFEASIBLE);
        if (r.status == PLACE_INFEASIBLE) {
            refused++;
        } else {
            if (r.lower_bound_s > best.cost.round_s * (1 + 1e-9))
                fail_msg("seed %d: bound %.17g above the optimum %.17g", (int)seed, r.lower_bound_s,
                         best.cost.round_s);
            proved += r.status == PLACE_OPTIMAL;
            gaps[feasible] = r.lower_bound_s / best.cost.round_s;
            ratios[feasible++] = r.cost.round_s / best.cost.round_s;
        }
        place_result_free(&best);
        place_result_free(&r);
        fixture_free(p);
    }
    qsort(ratios, feasible, sizeof *ratios, by_value);
    qsort(gaps, feasible, sizeof *gaps, by_value);
    print_message("ratio median %.4f, 90th percentile %.4f, worst %.4f; bound/optimum median %.3f, "
                  "least %.3f; %d optimal of %d, %d infeasible\n",
                  ratios[feasible / 2], ratios[feasible * 9 / 10], ratios[feasible - 1],
                  gaps[feasible / 2], gaps[0], (int)proved, (int)feasible, (int)refused);
    assert_true(ratios[feasible / 2] <= 1.01);
    assert_true(ratios[feasible * 9 / 10] <= 1.05);
    assert_in_range(feasible, draws * 3 / 5, draws - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_close_to_the_optimum_and_its_bound_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
