#include "lab/flow.h"

#include "base/mem.h"
#include "lab/flow_fixture.h"
#include "lab/lab_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

static void links_carry_what_was_asked(void **state)
{
    (void)state;
    static const double mbit[] = {2, 100};
    fixture_expect_rates(mbit, 2, 0.03);
}

static void senders_into_one_link_share_it_max_min_fairly(void **state)
{
    (void)state;
    fixture_expect_max_min(40, 0.05);
}

static void caps_cuts_and_times_are_those_of_the_file(void **state)
{
    (void)state;
    char dir[64];
    lab *l = NULL;
    const size_t nodes[] = {0, 1, 2};
    double latency_s[9];
    network *net = fixture_network(3, 100 * MBIT);
    network_set_cap_bytes_per_s(net, 0, 1, 5 * MBIT);
    network_set_cap_bytes_per_s(net, 0, 2, 0);
    fixture_up(net, dir, &l);
    flow flows[] = {{.from = 0, .to = 1, .bytes = FLOW_ENDLESS},
                    {.from = 1, .to = 0, .bytes = FLOW_ENDLESS}};
    for (int attempt = 0; attempt < 3; attempt++) {
        assert_int_equal(flow_run(l, flows, 2, 0.3, 0.8, NULL), EDGEPS_OK);
        if (fabs(flows[0].rate_bytes_per_s / (5 * MBIT) - 1) <= 0.03)
            break;
    }
    assert_true(fabs(flows[0].rate_bytes_per_s / (5 * MBIT) - 1) <= 0.03);
    assert_true(flows[1].rate_bytes_per_s > 50 * MBIT); /* the cap is of the other direction */
    assert_int_equal(flow_latencies(l, nodes, 3, 0.2, NULL, latency_s), EDGEPS_OK);
    assert_true(isnan(latency_s[2])); /* 0 to 2: no path, but there is one back */
    assert_true(latency_s[6] < 0.01 && latency_s[1] < 0.01 && latency_s[3] < 0.01);
    lab_close(l);
    assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    network_free(net);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    char dir[64];
    lab *l = NULL;
    network *net = fixture_network(2, 100 * MBIT);
    fixture_up(net, dir, &l);
    edgeps_err err = EDGEPS_NOMEM;
    for (long n = 1; err == EDGEPS_NOMEM; n++) {
        flow f = {.from = 0, .to = 1, .bytes = 1000};
        double latency_s[4];
        mem_fail_at(n);
        err = flow_run(l, &f, 1, 0, 5, NULL);
        if (!err)
            err = flow_latencies(l, (const size_t[]){0, 1}, 2, 1, NULL, latency_s);
        mem_fail_at(0);
    }
    assert_int_equal(err, EDGEPS_OK);
    lab_close(l);
    assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_carry_what_was_asked),
        cmocka_unit_test(senders_into_one_link_share_it_max_min_fairly),
        cmocka_unit_test(caps_cuts_and_times_are_those_of_the_file),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
