#include "place/place_fixture.h"
#include "place/place_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define MOST ((size_t)9)

typedef struct world {
    place_draw d;
    double chance[MOST];
    bool reach[MOST * MOST];
    int32_t cap[MOST];
} world;

static void draw_world(uint64_t seed, world *w)
{
    rng r = rng_make(seed, 3);
    size_t servers = 1 + rng_below(&r, MOST), workers = 1 + rng_below(&r, MOST);
    w->d = (place_draw){servers, workers, w->chance, w->reach, w->cap, rng_below(&r, 4)};
    for (size_t j = 0; j < servers; j++) {
        uint64_t kind = rng_below(&r, 5);
        w->chance[j] = kind == 0 ? 0 : kind == 1 ? 1 : rng_uniform(&r);
        w->cap[j] = (int32_t)rng_below(&r, 5);
        for (size_t i = 0; i < workers; i++)
            w->reach[j * workers + i] = rng_below(&r, 3) == 0;
    }
}

static double violation(const world *w, const bool *open)
{
    double uncovered = 0, places = 0, opened = 0;
    size_t workers = w->d.worker_count;
    for (size_t i = 0; i < workers; i++) {
        bool covered = false;
        for (size_t j = 0; j < w->d.server_count; j++)
            covered |= open[j] && w->reach[j * workers + i];
        uncovered += !covered;
    }
    for (size_t j = 0; j < w->d.server_count; j++) {
        opened += open[j];
        places += open[j] ? w->cap[j] : 0;
    }
    return uncovered + fmax(0, (double)workers - places) + fmax(0, opened - (double)w->d.most);
}

/* Over all outcomes. */
static double mean_violation(const world *w)
{
    double mean = 0;
    for (size_t set = 0; set < (size_t)1 << w->d.server_count; set++) {
        bool open[MOST];
        double chance = 1;
        for (size_t j = 0; j < w->d.server_count; j++) {
            open[j] = set >> j & 1;
            chance *= open[j] ? w->chance[j] : 1 - w->chance[j];
        }
        mean += chance * violation(w, open);
    }
    return mean;
}

static void conditional_expectations_never_end_above_the_mean(void **state)
{
    (void)state;
    size_t lower = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        world w;
        bool open[MOST];
        double before, after;
        draw_world(seed, &w);
        assert_int_equal(place_draw_expected(&w.d, open, &before, &after), EDGEPS_OK);
        assert_true(fabs(before - mean_violation(&w)) < 1e-9);
        assert_true(fabs(after - violation(&w, open)) < 1e-9);
        assert_true(after <= before + 1e-9);
        lower += after < before - 0.1;
        for (size_t j = 0; j < w.d.server_count; j++)
            assert_true(!open[j] || w.chance[j] > 0);
    }
    assert_in_range(lower, 100, 200);
}

static void conditional_expectations_survive_each_allocation_failing(void **state)
{
    (void)state;
    world w;
    bool open[MOST];
    double before = -1, after = -1;
    edgeps_err err = EDGEPS_NOMEM;
    long nth = 0;
    draw_world(4, &w);
    while (err == EDGEPS_NOMEM) {
        mem_fail_at(++nth);
        err = place_draw_expected(&w.d, open, &before, &after);
        mem_fail_at(0);
        assert_true(err != EDGEPS_NOMEM || before == -1);
    }
    assert_int_equal(err, EDGEPS_OK);
    assert_int_equal(nth, 6);
}

static double mean_ratio(const char *name)
{
    double sum = 0;
    size_t count = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        problem *p = fixture_problem(seed, (fixture_kind){.count = 7,
                                                          .max_locals = 1 + seed % 3,
                                                          .chunks = 1 + 3 * (seed % 2),
                                                          .tight = seed % 4 < 2});
        place_options options = {.seed = seed, .no_polish = true};
        place_result best = fixture_run("brute", p, seed), r;
        assert_int_equal(place_run(name, p, &options, NULL, &r), EDGEPS_OK);
        assert_int_equal(r.status == PLACE_INFEASIBLE, best.status == PLACE_INFEASIBLE);
        if (r.status != PLACE_INFEASIBLE) {
            assert_int_equal(plan_check(&r.plan, p, NULL), EDGEPS_OK);
            sum += r.cost.round_s / best.cost.round_s;
            count++;
        }
        place_result_free(&best);
        place_result_free(&r);
        fixture_free(p);
    }
    print_message("%s, not polished: mean ratio to the optimum %.4f on %d instances\n", name,
                  sum / (double)count, (int)count);
    assert_in_range(count, 10, 20);
    return sum / (double)count;
}

static void comes_close_to_the_optimum_without_polish(void **state)
{
    (void)state;
    assert_true(mean_ratio("rounding") < 1.12);
    assert_true(mean_ratio("rounding-derandomized") < 1.12);
    assert_true(mean_ratio("rounding-min-t") < 1.12);
}

static void the_lp_with_the_time_as_variable_is_for_small_networks(void **state)
{
    (void)state;
    problem *p = fixture_problem(1, (fixture_kind){.count = 61, .max_locals = 2, .chunks = 1});
    edgeps_diag diag = {0};
    place_result r;
    assert_int_equal(place_run("rounding-min-t", p, NULL, &diag, &r), EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "at most 60 nodes, not 61"));
    fixture_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditional_expectations_never_end_above_the_mean),
        cmocka_unit_test(conditional_expectations_survive_each_allocation_failing),
        cmocka_unit_test(comes_close_to_the_optimum_without_polish),
        cmocka_unit_test(the_lp_with_the_time_as_variable_is_for_small_networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
