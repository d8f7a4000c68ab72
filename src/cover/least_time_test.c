#include "cover/cover.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>

#define MOST 6

typedef struct world {
    cover_timed c;
    double time[MOST * MOST];
    double capacity[MOST];
} world;

static void draw_world(uint64_t seed, world *w)
{
    rng r = rng_make(seed, 9);
    size_t workers = 1 + rng_below(&r, MOST), servers = 1 + rng_below(&r, MOST);
    w->c = (cover_timed){workers, servers, w->time, w->capacity, (double)(1 + rng_below(&r, 3))};
    for (size_t a = 0; a < workers * servers; a++)
        w->time[a] = rng_below(&r, 6) ? 0.01 + rng_uniform(&r) : INFINITY;
    for (size_t j = 0; j < servers; j++)
        w->capacity[j] = (double)rng_below(&r, 5);
}

/* The largest time of an assignment, counted up like a number; INFINITY where it breaks a limit. */
static double largest_time(const world *w, const size_t *server)
{
    size_t load[MOST] = {0}, opened = 0;
    double worst = 0;
    for (size_t i = 0; i < w->c.worker_count; i++) {
        opened += load[server[i]]++ == 0;
        worst = fmax(worst, w->time[server[i] * w->c.worker_count + i]);
        if ((double)load[server[i]] > w->capacity[server[i]])
            return INFINITY;
    }
    return (double)opened <= w->c.budget ? worst : INFINITY;
}

static double best_of_all(const world *w)
{
    size_t server[MOST] = {0}, at = 0;
    double best = INFINITY;
    while (at < w->c.worker_count) {
        best = fmin(best, largest_time(w, server));
        for (at = 0; at < w->c.worker_count && ++server[at] == w->c.server_count; at++)
            server[at] = 0;
    }
    return best;
}

static void is_a_lower_bound_of_whole_servers(void **state)
{
    (void)state;
    size_t bounded = 0, refused = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        world w;
        double open[MOST] = {0}, time, mass = 0;
        draw_world(seed, &w);
        double best = best_of_all(&w);
        assert_int_equal(cover_least_time(&w.c, open, &time), EDGEPS_OK);
        if (time > best * (1 + 1e-6))
            fail_msg("seed %d: %.9g above the best %.9g", (int)seed, time, best);
        for (size_t j = 0; j < w.c.server_count; j++) {
            assert_true(open[j] >= 0 && open[j] <= 1);
            mass += open[j];
        }
        assert_true(mass <= w.c.budget + 1e-6);
        bounded += time < INFINITY;
        refused += time == INFINITY;
    }
    assert_in_range(bounded, 50, 290);
    assert_in_range(refused, 10, 250);
}

/* One server for two workers that are each at home: half of each server, and half of the way. */
static void mixes_a_near_server_with_a_far_one(void **state)
{
    (void)state;
    double time[] = {0, 8, 8, 0}, capacity[] = {2, 2}, open[2], least;
    cover_timed c = {2, 2, time, capacity, 1};
    assert_int_equal(cover_least_time(&c, open, &least), EDGEPS_OK);
    assert_true(fabs(least - 4) < 1e-6);
    assert_true(fabs(open[0] - 0.5) < 1e-6 && fabs(open[1] - 0.5) < 1e-6);
    c.budget = 2;
    assert_int_equal(cover_least_time(&c, open, &least), EDGEPS_OK);
    assert_true(fabs(least) < 1e-6);
    capacity[0] = capacity[1] = 0.5;
    open[0] = 7;
    assert_int_equal(cover_least_time(&c, open, &least), EDGEPS_OK);
    assert_true(least == INFINITY && open[0] == 7);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    world w;
    double open[MOST], time = -1;
    edgeps_err err = EDGEPS_NOMEM;
    long nth = 0;
    draw_world(3, &w);
    while (err == EDGEPS_NOMEM) {
        mem_fail_at(++nth);
        err = cover_least_time(&w.c, open, &time);
        mem_fail_at(0);
        if (err == EDGEPS_NOMEM)
            assert_true(time == -1);
    }
    assert_int_equal(err, EDGEPS_OK);
    assert_in_range(nth, 5, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_a_lower_bound_of_whole_servers),
        cmocka_unit_test(mixes_a_near_server_with_a_far_one),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
