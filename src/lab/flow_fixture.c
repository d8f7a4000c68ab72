#include "lab/flow_fixture.h"

#include "lab/flow.h"
#include "lab/lab_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

#define ATTEMPTS 3
#define SENDERS 8

static void take_down(lab *l, const char *dir, network *net)
{
    lab_close(l);
    assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    network_free(net);
}

static void run(const lab *l, flow *flows, size_t count, double settle_s, double most_s)
{
    edgeps_diag diag = {.text = ""};
    if (flow_run(l, flows, count, settle_s, most_s, &diag))
        fail_msg("%s", diag.text);
}

static void expect_rate(const lab *l, flow f, double asked, double share)
{
    double most_s = fmax(0.8, 0.3 + 1.5e5 / asked), off = INFINITY;
    f.expected_bytes_per_s = asked;
    for (int attempt = 0; attempt < ATTEMPTS && fabs(off) > share; attempt++) {
        run(l, &f, 1, 0.3, most_s);
        off = f.rate_bytes_per_s / asked - 1;
    }
    print_message("%s: asked %.0f Mbit/s, got %.2f (%+.2f %%)\n", f.to == LAB_HUB ? "up" : "down",
                  asked / MBIT, f.rate_bytes_per_s / MBIT, 100 * off);
    assert_true(fabs(off) <= share);
}

void fixture_expect_rates(const double *mbit, size_t count, double share)
{
    char dir[64];
    lab *l = NULL;
    network *net = fixture_network(count, MBIT);
    for (size_t i = 0; i < count; i++)
        net->nodes[i].up_bytes_per_s = net->nodes[count - 1 - i].down_bytes_per_s = mbit[i] * MBIT;
    fixture_up(net, dir, &l);
    for (size_t i = 0; i < count; i++) {
        expect_rate(l, (flow){.from = i, .to = LAB_HUB, .bytes = FLOW_ENDLESS},
                    net->nodes[i].up_bytes_per_s, share);
        expect_rate(l, (flow){.from = LAB_HUB, .to = i, .bytes = FLOW_ENDLESS},
                    net->nodes[i].down_bytes_per_s, share);
    }
    take_down(l, dir, net);
}

/* The rate of each that shares evenly, none above its own: progressive filling of one link. */
static void fill(const double *own, const double *left, double link, double *rate)
{
    bool set[SENDERS] = {false};
    for (bool more = true; more;) {
        double room = link, sharers = 0;
        more = false;
        for (int k = 0; k < SENDERS; k++) {
            room -= set[k] ? rate[k] : 0;
            sharers += !set[k] && left[k] > 0;
        }
        for (int k = 0; k < SENDERS; k++) {
            if (set[k])
                continue;
            rate[k] = left[k] > 0 ? room / sharers : 0;
            if (rate[k] >= own[k] || left[k] <= 0) {
                rate[k] = left[k] > 0 ? own[k] : 0;
                set[k] = more = true;
            }
        }
    }
}

/* When the last of them is through, in seconds. */
static double fluid_s(const double *own, const double *bytes, double link)
{
    double left[SENDERS], rate[SENDERS], now_s = 0;
    for (int k = 0; k < SENDERS; k++)
        left[k] = bytes[k];
    for (;;) {
        double step_s = INFINITY;
        fill(own, left, link, rate);
        for (int k = 0; k < SENDERS; k++)
            if (rate[k] > 0)
                step_s = fmin(step_s, left[k] / rate[k]);
        if (isinf(step_s))
            return now_s;
        now_s += step_s;
        for (int k = 0; k < SENDERS; k++)
            left[k] = left[k] - rate[k] * step_s < 0.5 ? 0 : left[k] - rate[k] * step_s;
    }
}

/* One in four senders is slower than its share, the longest load is not the slowest sender's. */
void fixture_expect_max_min(double mbit, double share)
{
    char dir[64];
    lab *l = NULL;
    flow flows[SENDERS];
    double own[SENDERS], bytes[SENDERS], off = INFINITY;
    network *net = fixture_network(SENDERS + 1, mbit * MBIT);
    for (size_t k = 0; k < SENDERS; k++) {
        own[k] = mbit * MBIT * (k % 4 == 0 ? 0.05 : 0.5);
        bytes[k] = mbit * MBIT * (k % 4 == 0 ? 0.04 : 0.05 + 0.02 * (double)k);
        net->nodes[k].up_bytes_per_s = own[k];
        flows[k] = (flow){.from = k, .to = SENDERS, .bytes = (int64_t)bytes[k]};
    }
    double expected_s = fluid_s(own, bytes, mbit * MBIT);
    fixture_up(net, dir, &l);
    for (int attempt = 0; attempt < ATTEMPTS && fabs(off) > share; attempt++) {
        double last_s = 0;
        run(l, flows, SENDERS, 0, 10 * expected_s);
        for (size_t k = 0; k < SENDERS; k++) {
            assert_true(flows[k].received == flows[k].bytes);
            last_s = fmax(last_s, flows[k].finish_s);
        }
        off = last_s / expected_s - 1;
    }
    print_message("eight senders into %.0f Mbit/s: max-min fair %.3f s, %+.2f %%\n", mbit,
                  expected_s, 100 * off);
    assert_true(fabs(off) <= share);
    take_down(l, dir, net);
}
