#include "cost/fluid.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define NODES ((size_t)5)
#define MAX_FLOWS 12

static void assert_close(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fmax(1, fabs(want))))
        fail_msg("got %.17g, want %.17g", got, want);
}

/* An independent, plainly written network: rates as a matrix problem, links by number. */
typedef struct world {
    double up[NODES], down[NODES], cap[NODES * NODES];
    size_t flows;
    size_t from[MAX_FLOWS], to[MAX_FLOWS];
    double bytes[MAX_FLOWS], start_s[MAX_FLOWS];
    bool active[MAX_FLOWS];
} world;

#define LINKS (2 * NODES + NODES * NODES)

static edgeps_err start(fluid *f, const world *w, size_t k, double bytes)
{
    double cap = w->cap[w->from[k] * NODES + w->to[k]];
    return fluid_start(f, w->from[k], w->to[k], cap, bytes, k);
}

static double capacity(const world *w, size_t link)
{
    if (link < NODES)
        return w->up[link];
    if (link < 2 * NODES)
        return w->down[link - NODES];
    return w->cap[link - 2 * NODES];
}

static bool crosses(const world *w, size_t f, size_t link)
{
    return link == w->from[f] || link == NODES + w->to[f] ||
           link == 2 * NODES + w->from[f] * NODES + w->to[f];
}

static double used(const world *w, const double *rate, size_t link)
{
    double sum = 0;
    for (size_t f = 0; f < w->flows; f++)
        if (w->active[f] && crosses(w, f, link))
            sum += rate[f];
    return sum;
}

static size_t growing_on(const world *w, const bool *growing, size_t link)
{
    size_t n = 0;
    for (size_t f = 0; f < w->flows; f++)
        n += growing[f] && crosses(w, f, link);
    return n;
}

/* Water filling: all growing flows rise together by the smallest step that fills a link. */
static void naive_rates(const world *w, double *rate)
{
    bool growing[MAX_FLOWS];
    memcpy(growing, w->active, sizeof growing);
    for (size_t f = 0; f < MAX_FLOWS; f++)
        rate[f] = 0;
    for (;;) {
        double step = INFINITY;
        for (size_t l = 0; l < LINKS; l++) {
            size_t n = growing_on(w, growing, l);
            if (n)
                step = fmin(step, (capacity(w, l) - used(w, rate, l)) / (double)n);
        }
        if (step == INFINITY)
            return;
        for (size_t f = 0; f < w->flows; f++)
            if (growing[f])
                rate[f] += fmax(0, step);
        for (size_t l = 0; l < LINKS; l++)
            if (used(w, rate, l) >= capacity(w, l) * (1 - 1e-12))
                for (size_t f = 0; f < w->flows; f++)
                    growing[f] = growing[f] && !crosses(w, f, l);
    }
}

static world random_world(rng *r)
{
    world w = {.flows = 1 + rng_below(r, MAX_FLOWS)};
    /* Few distinct values, so that ties are common. */
    for (size_t i = 0; i < NODES; i++) {
        w.up[i] = (double)(1 + rng_below(r, 6));
        w.down[i] = (double)(1 + rng_below(r, 6));
    }
    for (size_t k = 0; k < NODES * NODES; k++)
        w.cap[k] = rng_below(r, 3) ? INFINITY : (double)(1 + rng_below(r, 3)) / 2;
    for (size_t f = 0; f < w.flows; f++) {
        w.from[f] = rng_below(r, NODES);
        w.to[f] = (w.from[f] + 1 + rng_below(r, NODES - 1)) % NODES;
        w.bytes[f] = (double)(1 + rng_below(r, 20));
        w.start_s[f] = (double)rng_below(r, 4);
        w.active[f] = true;
    }
    return w;
}

static fluid *fluid_of(const world *w)
{
    fluid *f = NULL;
    assert_int_equal(fluid_make(NODES, w->up, w->down, &f), EDGEPS_OK);
    return f;
}

/* The rate of flow `k` among all: the others are so large that it completes first. */
static double measured_rate(const world *w, size_t k)
{
    fluid *f = fluid_of(w);
    for (size_t i = 0; i < w->flows; i++)
        assert_int_equal(start(f, w, i, i == k ? 1 : 1e9), EDGEPS_OK);
    double rate = 1 / fluid_next_s(f);
    fluid_free(f);
    return rate;
}

static void rates_equal_those_of_plain_water_filling(void **state)
{
    (void)state;
    rng r = rng_make(1, 0);
    for (int round = 0; round < 500; round++) {
        world w = random_world(&r);
        double want[MAX_FLOWS];
        naive_rates(&w, want);
        for (size_t k = 0; k < w.flows; k++)
            assert_close(measured_rate(&w, k), want[k]);
    }
}

static bool limited_by(const world *w, const double *rate, size_t f, size_t link)
{
    if (!crosses(w, f, link) || used(w, rate, link) < capacity(w, link) * (1 - 1e-9))
        return false;
    for (size_t other = 0; other < w->flows; other++)
        if (crosses(w, other, link) && rate[other] > rate[f] * (1 + 1e-9))
            return false;
    return true;
}

/* The definition of max-min fairness: no link carries more than it can, and each flow has a full
 * link on which nobody is faster (Bertsekas and Gallager, section 6.5.2). */
static void every_flow_has_a_full_link_on_which_none_is_faster(void **state)
{
    (void)state;
    rng r = rng_make(2, 0);
    for (int round = 0; round < 500; round++) {
        world w = random_world(&r);
        double rate[MAX_FLOWS];
        for (size_t k = 0; k < w.flows; k++)
            rate[k] = measured_rate(&w, k);
        for (size_t l = 0; l < LINKS; l++)
            assert_true(used(&w, rate, l) <= capacity(&w, l) * (1 + 1e-9));
        for (size_t k = 0; k < w.flows; k++) {
            bool limited = false;
            for (size_t l = 0; l < LINKS; l++)
                limited |= limited_by(&w, rate, k, l);
            assert_true(limited);
        }
    }
}

/* Completion times of a world, event by event, with naive rates. */
static void naive_run(world w, double *end_s)
{
    double left[MAX_FLOWS], rate[MAX_FLOWS], now = 0;
    bool started[MAX_FLOWS] = {false};
    size_t open = w.flows;
    memcpy(left, w.bytes, sizeof left);
    memset(w.active, 0, sizeof w.active);
    while (open) {
        double step = INFINITY;
        for (size_t f = 0; f < w.flows; f++)
            if (!started[f] && w.start_s[f] <= now)
                started[f] = w.active[f] = true;
        naive_rates(&w, rate);
        for (size_t f = 0; f < w.flows; f++)
            step = fmin(step, w.active[f]  ? left[f] / rate[f]
                              : started[f] ? INFINITY
                                           : w.start_s[f] - now);
        now += step;
        for (size_t f = 0; f < w.flows; f++) {
            left[f] -= w.active[f] ? rate[f] * step : 0;
            if (w.active[f] && left[f] < 1e-9) {
                w.active[f] = false;
                end_s[f] = now;
                open--;
            }
        }
    }
}

static void run(const world *w, double *end_s)
{
    fluid *f = fluid_of(w);
    double next_start = 0;
    for (size_t open = w->flows; open;) {
        for (size_t k = 0; k < w->flows; k++)
            if (w->start_s[k] == next_start && next_start == fluid_now_s(f))
                assert_int_equal(start(f, w, k, w->bytes[k]), EDGEPS_OK);
        if (next_start == fluid_now_s(f))
            next_start++;
        double next = fmin(next_start, fluid_next_s(f));
        fluid_advance(f, next);
        uint64_t tag;
        while (fluid_take(f, &tag)) {
            end_s[tag] = fluid_now_s(f);
            open--;
        }
    }
    assert_true(fluid_next_s(f) == INFINITY);
    fluid_free(f);
}

static void completions_equal_those_of_a_plain_event_loop(void **state)
{
    (void)state;
    rng r = rng_make(3, 0);
    for (int round = 0; round < 1000; round++) {
        world w = random_world(&r);
        double got[MAX_FLOWS] = {0}, want[MAX_FLOWS] = {0};
        run(&w, got);
        naive_run(w, want);
        for (size_t k = 0; k < w.flows; k++)
            assert_close(got[k], want[k]);
    }
}

static void flows_that_should_end_together_do(void **state)
{
    (void)state;
    /* 0.1 is no binary fraction: seven equal flows and seven others of thrice the size join. */
    double up[8], down[8];
    for (int i = 0; i < 8; i++)
        up[i] = down[i] = i == 7 ? 0.7 : 0.1;
    fluid *f = NULL;
    assert_int_equal(fluid_make(8, up, down, &f), EDGEPS_OK);
    for (uint64_t i = 0; i < 7; i++)
        assert_int_equal(fluid_start(f, i, 7, INFINITY, 0.3, i), EDGEPS_OK);
    fluid_advance(f, 1.1);
    for (uint64_t i = 0; i < 7; i++)
        assert_int_equal(fluid_start(f, 7, i, INFINITY, 0.19, 7 + i), EDGEPS_OK);
    assert_close(fluid_next_s(f), 3);
    fluid_advance(f, fluid_next_s(f));
    for (uint64_t i = 0, tag; i < 14; i++) {
        assert_int_equal(fluid_take(f, &tag), 1);
        assert_int_equal(tag, i);
    }
    assert_true(fluid_next_s(f) == INFINITY);
    fluid_free(f);
}

static void clocks_far_from_zero_make_no_empty_steps(void **state)
{
    (void)state;
    double rate[2] = {1e9, 1e9};
    fluid *f = NULL;
    assert_int_equal(fluid_make(2, rate, rate, &f), EDGEPS_OK);
    fluid_advance(f, 1e9);
    int completed = 0;
    uint64_t tag;
    assert_int_equal(fluid_start(f, 0, 1, INFINITY, 1, 0), EDGEPS_OK);
    for (int step = 0; step < 100; step++) {
        fluid_advance(f, fluid_next_s(f));
        while (fluid_take(f, &tag)) {
            completed++;
            assert_int_equal(fluid_start(f, 0, 1, INFINITY, 1, 0), EDGEPS_OK);
        }
    }
    assert_int_equal(completed, 100);
    fluid_free(f);
}

static void a_cancelled_flow_gives_its_share_away(void **state)
{
    (void)state;
    double up[3] = {2, 2, 2}, down[3] = {2, 2, 2};
    fluid *f = NULL;
    assert_int_equal(fluid_make(3, up, down, &f), EDGEPS_OK);
    assert_int_equal(fluid_start(f, 0, 2, INFINITY, 10, 1), EDGEPS_OK);
    assert_int_equal(fluid_start(f, 1, 2, INFINITY, 10, 2), EDGEPS_OK);
    fluid_advance(f, 4);
    fluid_cancel(f, 1);
    assert_close(fluid_next_s(f), 7);
    fluid_advance(f, fluid_next_s(f));
    uint64_t tag;
    assert_int_equal(fluid_take(f, &tag), 1);
    assert_int_equal(tag, 2);
    assert_int_equal(fluid_take(f, &tag), 0);
    fluid_free(f);
}

static void a_changed_link_counts_from_then_on(void **state)
{
    (void)state;
    double up[2] = {4, 4}, down[2] = {4, 4};
    fluid *f = NULL;
    assert_int_equal(fluid_make(2, up, down, &f), EDGEPS_OK);
    assert_int_equal(fluid_start(f, 0, 1, INFINITY, 12, 1), EDGEPS_OK);
    fluid_advance(f, 1);
    fluid_set_node(f, 0, 0, 4);
    assert_true(fluid_next_s(f) == INFINITY);
    fluid_advance(f, 5);
    fluid_set_node(f, 0, 2, 4);
    assert_close(fluid_next_s(f), 9);
    fluid_set_node(f, 0, INFINITY, 4);
    fluid_set_node(f, 1, 4, INFINITY);
    assert_close(fluid_next_s(f), 5);
    fluid_free(f);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    rng r = rng_make(4, 0);
    world w = random_world(&r);
    w.flows = MAX_FLOWS;
    for (long n = 1;; n++) {
        fluid *f = NULL;
        mem_fail_at(n);
        edgeps_err err = fluid_make(NODES, w.up, w.down, &f);
        for (size_t k = 0; !err && k < 200; k++)
            err = fluid_start(f, k % NODES, (k + 1) % NODES, 2, 1, k);
        mem_fail_at(0);
        if (f)
            assert_true(fluid_next_s(f) > 0);
        fluid_free(f);
        if (!err) {
            assert_true(n > 10);
            return;
        }
        assert_int_equal(err, EDGEPS_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_equal_those_of_plain_water_filling),
        cmocka_unit_test(every_flow_has_a_full_link_on_which_none_is_faster),
        cmocka_unit_test(completions_equal_those_of_a_plain_event_loop),
        cmocka_unit_test(flows_that_should_end_together_do),
        cmocka_unit_test(clocks_far_from_zero_make_no_empty_steps),
        cmocka_unit_test(a_cancelled_flow_gives_its_share_away),
        cmocka_unit_test(a_changed_link_counts_from_then_on),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
