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
    static const double mbit[] = {10, 200};
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

static void change(lab *l, network_change what, double value)
{
    network_event event = {.node = 1, .change = what, .value = value};
    edgeps_diag diag = {.text = ""};
    if (lab_change(l, &event, &diag))
        fail_msg("%s", diag.text);
}

static void expect_rate(const lab *l, size_t from, size_t to, double asked)
{
    flow f = {.from = from, .to = to, .bytes = FLOW_ENDLESS, .expected_bytes_per_s = asked};
    for (int attempt = 0; attempt < 3; attempt++) {
        assert_int_equal(flow_run(l, &f, 1, 0.2, 0.5, NULL), EDGEPS_OK);
        if (fabs(f.rate_bytes_per_s / asked - 1) <= 0.03)
            return;
    }
    fail_msg("%zu -> %zu: %g bytes/s, not %g", from, to, f.rate_bytes_per_s, asked);
}

static bool passes(const lab *l, size_t from, size_t to)
{
    double latency_s[4];
    assert_int_equal(flow_latencies(l, (const size_t[]){from, to}, 2, 0.1, NULL, latency_s),
                     EDGEPS_OK);
    return !isnan(latency_s[1]);
}

static void rates_change_while_the_lab_runs(void **state)
{
    (void)state;
    char dir[64];
    lab *l = NULL;
    network *net = fixture_network(3, 100 * MBIT);
    fixture_up(net, dir, &l);
    change(l, NETWORK_UP, 20 * MBIT);
    change(l, NETWORK_DOWN, 50 * MBIT);
    change(l, NETWORK_FREE, 1); /* not of the links */
    expect_rate(l, 1, 0, 20 * MBIT);
    expect_rate(l, 0, 1, 50 * MBIT);
    change(l, NETWORK_UP, 0);
    assert_false(passes(l, 1, 0));
    assert_true(passes(l, 0, 1) && passes(l, 0, 2));
    change(l, NETWORK_UP, 40 * MBIT);
    expect_rate(l, 1, 2, 40 * MBIT);
    lab_close(l);
    assert_int_equal(lab_open(dir, NULL, &l), EDGEPS_OK); /* who opens it later sees the same */
    assert_true(lab_network(l)->nodes[1].up_bytes_per_s == 40 * MBIT);
    lab_close(l);
    assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    network_free(net);
}

static void nothing_reaches_a_node_that_is_cut_until_it_heals(void **state)
{
    (void)state;
    char dir[64];
    lab *l = NULL;
    network *net = fixture_network(3, 100 * MBIT);
    fixture_up(net, dir, &l);
    change(l, NETWORK_CUT, 0);
    change(l, NETWORK_CUT, 0); /* twice is as good as once */
    assert_false(passes(l, 1, 0) || passes(l, 0, 1));
    assert_true(passes(l, 0, 2));
    change(l, NETWORK_UP, 20 * MBIT);
    assert_false(passes(l, 1, 0));
    change(l, NETWORK_HEAL, 0);
    expect_rate(l, 1, 0, 20 * MBIT);
    expect_rate(l, 0, 1, 100 * MBIT);
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
        if (!err)
            err = lab_change(l, &(network_event){.change = NETWORK_UP, .value = MBIT}, NULL);
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
        cmocka_unit_test(rates_change_while_the_lab_runs),
        cmocka_unit_test(nothing_reaches_a_node_that_is_cut_until_it_heals),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
