/* The lab against what it promises, over the whole range of rates. */
#include "lab/flow_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void links_from_1_to_1000_mbit_carry_what_was_asked(void **state)
{
    (void)state;
    static const double mbit[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
    fixture_expect_rates(mbit, sizeof mbit / sizeof *mbit, 0.03);
}

static void eight_senders_share_links_of_all_sizes_max_min_fairly(void **state)
{
    (void)state;
    static const double mbit[] = {4, 20, 100, 500};
    for (size_t k = 0; k < sizeof mbit / sizeof *mbit; k++)
        fixture_expect_max_min(mbit[k], 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_from_1_to_1000_mbit_carry_what_was_asked),
        cmocka_unit_test(eight_senders_share_links_of_all_sizes_max_min_fairly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
