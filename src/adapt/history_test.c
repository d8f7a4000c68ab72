#include "adapt/history.h"

#include "adapt/adapt_fixture.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define NODES 4

static adapt_history *empty(void)
{
    adapt_history *h;
    assert_int_equal(adapt_history_make(NODES, &h), EDGEPS_OK);
    return h;
}

static void conditions_that_hold_are_expected_to_hold_as_long_again(void **state)
{
    (void)state;
    problem *p = fixture_problem(NODES);
    adapt_history *h = empty();
    for (int epoch = 0; epoch < 6; epoch++) {
        adapt_history_add(h, p);
        assert_true(adapt_history_horizon(h, 2) == 1 + epoch);
    }
    adapt_history_free(h);
    problem_free(p);
}

static void what_changes_in_every_epoch_is_expected_to_change(void **state)
{
    (void)state;
    problem *p = fixture_problem(NODES);
    adapt_history *h = empty();
    for (int epoch = 0; epoch < 6; epoch++) {
        adapt_history_add(h, p);
        assert_true(adapt_history_horizon(h, 1) == 1);
        for (size_t v = 0; v < NODES; v++)
            p->nodes[v].up_bytes_per_s *= epoch % 2 ? 2 : 0.5;
    }
    adapt_history_free(h);
    problem_free(p);
}

/* Six transitions, three changes of four nodes: two servers would have met 1.5 of them. */
static void few_changes_lie_between(void **state)
{
    (void)state;
    problem *p = fixture_problem(NODES);
    adapt_history *h = empty();
    for (int epoch = 0; epoch < 7; epoch++) {
        adapt_history_add(h, p);
        if (epoch % 2 == 0)
            p->nodes[1].compute_s *= 1.2;
    }
    assert_true(adapt_history_horizon(h, 2) == 7 / 2.5);
    adapt_history_free(h);
    problem_free(p);
}

static void noise_is_no_change_but_a_drift_is(void **state)
{
    (void)state;
    problem *p = fixture_problem(NODES);
    adapt_history *noise = empty(), *drift = empty();
    for (int epoch = 0; epoch < 9; epoch++) {
        p->nodes[0].up_bytes_per_s = epoch % 2 ? 1.05e6 : 1e6;
        adapt_history_add(noise, p);
        p->nodes[0].up_bytes_per_s = 1e6 * (1 + 0.05 * epoch);
        adapt_history_add(drift, p);
    }
    assert_true(adapt_history_horizon(noise, NODES) == 9);
    assert_true(adapt_history_horizon(drift, NODES) < 4);
    adapt_history_free(noise);
    adapt_history_free(drift);
    problem_free(p);
}

static void storage_counts_where_another_kind_of_server_fits(void **state)
{
    (void)state;
    problem *p = fixture_problem(NODES);
    adapt_history *h = empty();
    int64_t local = job_local_need_bytes(&p->job, 1), global = job_global_need_bytes(&p->job, 1);
    int64_t offered[] = {global + 9, global, local, local + 7, local - 1, 0, local};
    double changes[] = {0, 0, 1, 1, 2, 2, 3};
    for (int epoch = 0; epoch < 7; epoch++) {
        p->nodes[2].free_bytes = offered[epoch];
        adapt_history_add(h, p);
        double expected = (epoch + 1) / (changes[epoch] + 1);
        assert_true(adapt_history_horizon(h, NODES) == (expected > 1 ? expected : 1));
    }
    adapt_history_free(h);
    problem_free(p);
}

/* Halves of 1000: trends -500, -750, -875; noise 500, 500, 375. */
static void a_steady_fall_is_continued(void **state)
{
    (void)state;
    problem *p = fixture_problem(NODES);
    adapt_history *h = empty();
    int64_t free_bytes[NODES], wanted[] = {9000, 8000, 7000, 5125};
    for (int epoch = 0; epoch < 4; epoch++) {
        p->nodes[1].free_bytes = 9000 - 1000 * epoch;
        adapt_history_add(h, p);
        adapt_history_forecast(h, free_bytes);
        assert_int_equal(free_bytes[1], wanted[epoch]);
        assert_int_equal(free_bytes[0], p->nodes[0].free_bytes);
    }
    adapt_history_free(h);
    problem_free(p);
}

static void neither_noise_nor_growth_nor_a_single_fall_is_continued(void **state)
{
    (void)state;
    problem *p = fixture_problem(NODES);
    adapt_history *h = empty();
    int64_t free_bytes[NODES];
    for (int epoch = 0; epoch < 12; epoch++) {
        p->nodes[0].free_bytes = 100000 + (epoch % 2 ? 900 : 0);
        p->nodes[1].free_bytes = 100000 + 1000 * epoch;
        p->nodes[2].free_bytes = epoch < 5 ? 100000 : 50000;
        p->nodes[3].free_bytes = 2000 - 500 * epoch > 0 ? 2000 - 500 * epoch : 0;
        adapt_history_add(h, p);
        adapt_history_forecast(h, free_bytes);
        for (size_t v = 0; v < 3; v++)
            assert_int_equal(free_bytes[v], p->nodes[v].free_bytes);
        assert_true(free_bytes[3] >= 0 && free_bytes[3] <= p->nodes[3].free_bytes);
    }
    adapt_history_free(h);
    problem_free(p);
}

static void advice_looks_no_further_than_the_last_epoch(void **state)
{
    (void)state;
    problem *p = fixture_problem(NODES);
    adapt_history *h = empty();
    plan pl = fixture_plan(0, NODES, (int32_t[]){0, 0, 0, 0});
    int64_t forecast[NODES] = {0};
    adapt_options o = {.mode = ADAPT_ADJUST};
    for (int epoch = 0; epoch < 6; epoch++)
        adapt_history_add(h, p);
    adapt_history_advise(h, &pl, 10, forecast, &o);
    assert_true(o.horizon_epochs == 6 && o.margin > 0);
    assert_ptr_equal(o.forecast_bytes, forecast);
    assert_int_equal(forecast[3], p->nodes[3].free_bytes);
    adapt_history_advise(h, &pl, 1, forecast, &o);
    assert_true(o.horizon_epochs == 1);
    assert_null(o.forecast_bytes);
    adapt_history_free(h);
    fixture_free(p, &pl);
}

static void without_memory_there_is_no_history(void **state)
{
    (void)state;
    adapt_history *h = NULL;
    mem_fail_at(1);
    assert_int_equal(adapt_history_make(NODES, &h), EDGEPS_NOMEM);
    mem_fail_at(0);
    assert_null(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_that_hold_are_expected_to_hold_as_long_again),
        cmocka_unit_test(what_changes_in_every_epoch_is_expected_to_change),
        cmocka_unit_test(few_changes_lie_between),
        cmocka_unit_test(noise_is_no_change_but_a_drift_is),
        cmocka_unit_test(storage_counts_where_another_kind_of_server_fits),
        cmocka_unit_test(a_steady_fall_is_continued),
        cmocka_unit_test(neither_noise_nor_growth_nor_a_single_fall_is_continued),
        cmocka_unit_test(advice_looks_no_further_than_the_last_epoch),
        cmocka_unit_test(without_memory_there_is_no_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
