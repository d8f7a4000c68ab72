#include "lab/relay_int.h"

#include "lab/flow.h"
#include "lab/lab_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#define FRAME 60
#define ATTEMPTS 10

/* An Ethernet frame of this type with an address in the place where the type has it. */
static void make_frame(uint8_t frame[FRAME], uint16_t type, size_t at, const uint8_t address[4])
{
    memset(frame, 0, FRAME);
    frame[12] = (uint8_t)(type >> 8);
    frame[13] = (uint8_t)type;
    memcpy(frame + at, address, 4);
}

static void frames_go_to_the_node_whose_address_they_carry(void **state)
{
    (void)state;
    uint8_t frame[FRAME];
    const uint8_t third[4] = {10, 77, 0, 3}, far[4] = {10, 77, 1, 44}, hub[4] = {10, 77, 255, 254},
                  none[4] = {10, 77, 0, 0};
    make_frame(frame, 0x0800, 30, third); /* IPv4: destination */
    assert_int_equal(relay_target(frame, FRAME, 3), 2);
    assert_int_equal(relay_target(frame, FRAME, 2), -1); /* there are but two */
    assert_int_equal(relay_target(frame, 41, 3), -1);    /* cut short */
    make_frame(frame, 0x0806, 38, third);                /* ARP: target protocol address */
    assert_int_equal(relay_target(frame, FRAME, 3), 2);
    make_frame(frame, 0x0800, 30, far);
    assert_int_equal(relay_target(frame, FRAME, 300), 299);
    make_frame(frame, 0x0800, 30, hub);
    assert_int_equal(relay_target(frame, FRAME, 300), 300);
    make_frame(frame, 0x0800, 30, none);
    assert_int_equal(relay_target(frame, FRAME, 300), -1);
    make_frame(frame, 0x86dd, 30, third); /* IPv6 */
    assert_int_equal(relay_target(frame, FRAME, 3), -1);
}

static void a_relay_is_needed_where_nodes_with_a_path_are_apart(void **state)
{
    (void)state;
    network *net = fixture_network(2, MBIT);
    assert_false(relay_is_needed(net));
    network_set_latency_s(net, 0, 1, 0.01);
    assert_true(relay_is_needed(net));
    network_set_cap_bytes_per_s(net, 0, 1, 0);
    assert_false(relay_is_needed(net));
    network_free(net);
}

/* Never less than asked; what is more is the time to wake up, which on a machine that is busy with
 * other things is short only now and then. */
static void expect_latencies(const lab *l, const network *net)
{
    double least_s[9], latency_s[9];
    bool close = false;
    for (size_t k = 0; k < 9; k++)
        least_s[k] = INFINITY;
    for (int attempt = 0; !close && attempt < ATTEMPTS; attempt++) {
        assert_int_equal(flow_latencies(l, (const size_t[]){0, 1, 2}, 3, 0.2, NULL, latency_s),
                         EDGEPS_OK);
        close = true;
        for (size_t k = 0; k < 9; k++) {
            double asked_s = network_latency_s(net, k / 3, k % 3);
            assert_true(latency_s[k] >= asked_s);
            least_s[k] = fmin(least_s[k], latency_s[k]);
            close &= least_s[k] < asked_s + 2e-3;
        }
    }
    for (size_t k = 0; !close && k < 9; k++)
        print_message("%zu to %zu: asked %g s, measured %g s\n", k / 3, k % 3,
                      network_latency_s(net, k / 3, k % 3), least_s[k]);
    assert_true(close);
}

/* From a to b, 40 ms there and back. */
static void expect_rate(const lab *l, double expected_bytes_per_s)
{
    flow f = {
        .from = 0, .to = 1, .bytes = FLOW_ENDLESS, .expected_bytes_per_s = expected_bytes_per_s};
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        assert_int_equal(flow_run(l, &f, 1, 0.6, 1.4, NULL), EDGEPS_OK);
        if (fabs(f.rate_bytes_per_s / (50 * MBIT) - 1) <= 0.03)
            return;
    }
    fail_msg("%g bytes/s where %g are asked", f.rate_bytes_per_s, 50 * MBIT);
}

/* Rates hold on the long way, too. */
static void latencies_are_those_of_the_file_each_way_its_own(void **state)
{
    (void)state;
    char dir[64];
    lab *l = NULL;
    network *net = fixture_network(3, 50 * MBIT);
    network_set_latency_s(net, 0, 1, 0.01);
    network_set_latency_s(net, 1, 0, 0.03);
    network_set_latency_s(net, 1, 2, 0.005);
    fixture_up(net, dir, &l);
    assert_true(lab_is_relayed(l));
    expect_latencies(l, net);
    expect_rate(l, 0); /* as TCP decides */
    expect_rate(l, 50 * MBIT);
    lab_close(l);
    assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_go_to_the_node_whose_address_they_carry),
        cmocka_unit_test(a_relay_is_needed_where_nodes_with_a_path_are_apart),
        cmocka_unit_test(latencies_are_those_of_the_file_each_way_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
