#include "base/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

static void quantiles_lie_between_neighbours(void **state)
{
    (void)state;
    double values[] = {8, 1, 4, 2};
    stats_sort(values, 4);
    assert_true(values[0] == 1 && values[1] == 2 && values[2] == 4 && values[3] == 8);
    assert_true(stats_quantile(values, 4, 0) == 1);
    assert_true(stats_quantile(values, 4, 0.5) == 3);
    assert_true(fabs(stats_quantile(values, 4, 0.9) - 6.8) < 1e-12);
    assert_true(stats_quantile(values, 4, 1) == 8);
    assert_true(stats_quantile(values, 1, 0.5) == 1);
    assert_true(stats_mean(values, 4) == 3.75);
}

/* Anscombe's first quartet (1973): y = 3.00 + 0.500 x. */
static void the_slope_is_that_of_anscombe(void **state)
{
    (void)state;
    static const double x[] = {10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5};
    static const double y[] = {8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68};
    assert_true(fabs(stats_slope(x, y, 11) - 0.5001) < 5e-5);
    assert_true(isnan(stats_slope(x, y, 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_lie_between_neighbours),
        cmocka_unit_test(the_slope_is_that_of_anscombe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
