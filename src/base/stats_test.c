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

/* The exchanges of neighbours by which a bubble sort puts the values in order: the pairs that stand
 * the wrong way round. */
static int exchanges(double *values, size_t count)
{
    int done = 0;
    for (size_t pass = 0; pass < count; pass++)
        for (size_t k = 0; k + 1 < count; k++)
            if (values[k] > values[k + 1]) {
                double high = values[k];
                values[k] = values[k + 1];
                values[k + 1] = high;
                done++;
            }
    return done;
}

static void tau_counts_pairs_that_stand_the_wrong_way_round(void **state)
{
    (void)state;
    static const double order[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    static const double tied[] = {1, 1, 2};
    double other[] = {5, 7, 3, 10, 1, 9, 6, 2, 8, 4}, swapped[] = {1, 3, 2, 4};
    assert_true(fabs(stats_kendall(order, swapped, 4) - 4.0 / 6) < 1e-12);
    assert_true(fabs(stats_kendall(tied, order, 3) - 2.0 / 3) < 1e-12);
    assert_true(isnan(stats_kendall(order, order, 1)));
    double tau = stats_kendall(order, other, 10);
    assert_true(fabs(tau - (1 - 2 * exchanges(other, 10) / 45.0)) < 1e-12);
    assert_true(stats_kendall(order, other, 10) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_lie_between_neighbours),
        cmocka_unit_test(the_slope_is_that_of_anscombe),
        cmocka_unit_test(tau_counts_pairs_that_stand_the_wrong_way_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
