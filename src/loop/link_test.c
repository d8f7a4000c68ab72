#include "loop/link.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS 1000000ll

/* Sends `bytes` in quanta as soon as the clock allows; returns when the last one has passed. */
static int64_t transfer(link_clock *k, int64_t bytes, int64_t start_ns)
{
    int64_t now_ns = start_ns;
    while (bytes > 0) {
        int64_t quantum = link_quantum_bytes(k);
        int64_t n = bytes < quantum ? bytes : quantum;
        int64_t ready_ns = link_ready_ns(k, n, now_ns);
        if (ready_ns > now_ns)
            now_ns = ready_ns;
        link_spend(k, n, now_ns);
        bytes -= n;
    }
    return now_ns;
}

static void a_transfer_takes_bytes_over_rate(void **state)
{
    (void)state;
    link_clock k = {.bytes_per_s = 1e6};
    assert_in_range(transfer(&k, 250000, 5000 * MS), 5250 * MS - 1000, 5250 * MS + 1000);
}

static void an_idle_link_saves_nothing_up(void **state)
{
    (void)state;
    link_clock k = {.bytes_per_s = 1e6};
    transfer(&k, 250000, 0);
    link_rest(&k, false);
    assert_in_range(transfer(&k, 100000, 9000 * MS), 9100 * MS - 1000, 9100 * MS + 1000);
}

static void waking_late_costs_nothing(void **state)
{
    (void)state;
    link_clock k = {.bytes_per_s = 1e6};
    int64_t now_ns = 1000 * MS, passed = 0;
    /* Woken each 20 ms although a quantum passes in 4. */
    for (int i = 0; i < 100; i++, now_ns += 20 * MS) {
        while (link_ready_ns(&k, 4096, now_ns) <= now_ns) {
            link_spend(&k, 4096, now_ns);
            passed += 4096;
        }
    }
    assert_in_range(passed, 1980000 - 2 * 4096, 1980000);
}

static void a_lenient_rest_gives_back_one_turn(void **state)
{
    (void)state;
    link_clock k = {.bytes_per_s = 1e6};
    transfer(&k, 100000, 0);
    link_rest(&k, true);
    int64_t now_ns = 1000 * MS, passed = 0;
    while (link_ready_ns(&k, 1000, now_ns) <= now_ns) {
        link_spend(&k, 1000, now_ns);
        passed += 1000;
    }
    assert_in_range(passed, 4096 + 2000 - 1000, 4096 + 2000);
}

static void a_short_gap_does_not_end_a_busy_time(void **state)
{
    (void)state;
    link_clock k = {.bytes_per_s = 1e6};
    int64_t now_ns = 1000 * MS, passed = 0;
    /* Each 20 ms the process wakes and finds 10 kB; 2 ms later it finds more than it may pass. */
    for (int i = 0; i < 200; i++, now_ns += i % 2 ? 2 * MS : 18 * MS) {
        int64_t there = i % 2 ? 100000 : 10000;
        while (there > 0 && link_ready_ns(&k, 1000, now_ns) <= now_ns) {
            link_spend(&k, 1000, now_ns);
            there -= 1000;
            passed += 1000;
        }
        if (there == 0)
            link_rest(&k, false);
    }
    assert_in_range(passed, 1980000, 2000000);
}

static void rate_zero_passes_nothing_and_recovers(void **state)
{
    (void)state;
    link_clock k = {.bytes_per_s = 0};
    assert_true(link_ready_ns(&k, 1, 1000 * MS) == LINK_NEVER);
    k.bytes_per_s = 1e6;
    assert_in_range(transfer(&k, 100000, 2000 * MS), 2050 * MS, 2100 * MS + 1000);
}

static void no_limit_means_at_once(void **state)
{
    (void)state;
    link_clock k = {.bytes_per_s = INFINITY};
    assert_true(link_ready_ns(&k, INT64_MAX, 7) == 7);
    link_spend(&k, INT64_MAX, 7);
    assert_true(link_ready_ns(&k, 1, 8) == 8);
    assert_false(link_is_limited(&k));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transfer_takes_bytes_over_rate),
        cmocka_unit_test(an_idle_link_saves_nothing_up),
        cmocka_unit_test(waking_late_costs_nothing),
        cmocka_unit_test(a_lenient_rest_gives_back_one_turn),
        cmocka_unit_test(a_short_gap_does_not_end_a_busy_time),
        cmocka_unit_test(rate_zero_passes_nothing_and_recovers),
        cmocka_unit_test(no_limit_means_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
