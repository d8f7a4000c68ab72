#include "bench/predict_int.h"

#include "cost/cost.h"
#include "network/generate.h"
#include "place/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NODES 6
#define DILATION 3.0

typedef struct fixture {
    network *net;
    job job;
    problem *p;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    const generate_options o = generate_defaults(GENERATE_TWO_TIER, NODES, 5);
    const problem_options po = {.max_locals = 3};
    assert_int_equal(generate_network(&o, NULL, &f.net), EDGEPS_OK);
    assert_int_equal(job_make("lenet5", 960, 32, JOB_PIPELINED, NULL, &f.job), EDGEPS_OK);
    assert_int_equal(problem_make(f.net, &f.job, &po, NULL, &f.p), EDGEPS_OK);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    problem_free(f->p);
    network_free(f->net);
    return 0;
}

/* The cost model has no time of its own: every plan's round takes DILATION times as long. */
static void a_slower_network_slows_every_plan_down_alike(void **state)
{
    fixture *f = *state;
    network *slow = NULL;
    problem *p = NULL;
    const problem_options po = {.max_locals = 3};
    network_set_cap_bytes_per_s(f->net, 0, 1, 1e5);
    problem_free(f->p);
    assert_int_equal(problem_make(f->net, &f->job, &po, NULL, &f->p), EDGEPS_OK);
    assert_int_equal(network_copy(f->net, &slow), EDGEPS_OK);
    predict_slow_down(slow, DILATION);
    assert_int_equal(problem_make(slow, &f->job, &po, NULL, &p), EDGEPS_OK);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        predict_choice c = {.name = NULL};
        double round_s;
        assert_int_equal(predict_random(f->p, seed, NULL, &c), EDGEPS_OK);
        assert_int_equal(cost_round_s(p, &c.plan, &round_s), EDGEPS_OK);
        assert_true(fabs(round_s / c.round_s - DILATION) < 1e-9);
        plan_free(&c.plan);
    }
    problem_free(p);
    network_free(slow);
}

static void the_four_plans_are_what_they_are_called(void **state)
{
    fixture *f = *state;
    const predict_request r = {.seed = 1, .seeds = 9};
    predict_choice c[PREDICT_PLANS] = {{.name = NULL}};
    place_result brute;
    size_t count, faster = 0, slower = 0;
    assert_int_equal(predict_choose(f->p, &r, NULL, c, &count), EDGEPS_OK);
    assert_int_equal(count, 4);
    assert_int_equal(place_run("brute", f->p, &(place_options){0}, NULL, &brute), EDGEPS_OK);
    assert_true(fabs(c[0].round_s / brute.cost.round_s - 1) < 1e-9);
    place_result_free(&brute);
    for (uint64_t seed = 1; seed <= 9; seed++) {
        predict_choice drawn = {.name = NULL};
        assert_int_equal(predict_random(f->p, seed, NULL, &drawn), EDGEPS_OK);
        faster += drawn.round_s < c[1].round_s;
        slower += drawn.round_s > c[1].round_s;
        assert_true(drawn.round_s <= c[2].round_s);
        plan_free(&drawn.plan);
    }
    assert_true(faster <= 4 && slower <= 4);
    assert_int_equal(plan_local_count(&c[3].plan), 1);
    for (size_t k = 0; k < count; k++) {
        double round_s;
        assert_int_equal(plan_check(&c[k].plan, f->p, NULL), EDGEPS_OK);
        assert_int_equal(cost_round_s(f->p, &c[k].plan, &round_s), EDGEPS_OK);
        assert_true(fabs(round_s / c[k].round_s - 1) < 1e-12);
    }
    predict_choices_free(c, count);
}

static predict_row row_of(predict_table table, double predicted_s, double emulated_s)
{
    return (predict_row){.table = table,
                         .network = "six",
                         .nodes = 6,
                         .plan = "best",
                         .dilation = 2,
                         .predicted_s = predicted_s,
                         .simulated_s = NAN,
                         .emulated_s = emulated_s,
                         .fastest_s = emulated_s - 0.5,
                         .slowest_s = emulated_s + 0.5};
}

static double number_at(const sheet *s, size_t row, const char *column)
{
    for (size_t k = 0; k < s->width; k++)
        if (strcmp(s->columns[k], column) == 0)
            return s->cells[row * s->width + k].number;
    fail_msg("no column %s", column);
    return NAN;
}

static void the_summary_holds_errors_and_the_order(void **state)
{
    (void)state;
    predict_row rows[] = {
        row_of(PREDICT_EPOCHS, 100, 101), row_of(PREDICT_EPOCHS, 100, 96),
        row_of(PREDICT_EPOCHS, 100, 102), row_of(PREDICT_ORDER, 10, 10),
        row_of(PREDICT_ORDER, 20, 31),    row_of(PREDICT_ORDER, 30, 30),
    };
    rows[1].simulated_s = 100.5;
    sheet s = predict_summary_sheet(rows, 6), all = predict_rows_sheet(rows, 6, PREDICT_ORDER);
    assert_int_equal(s.count, 3 * s.width);
    assert_true(fabs(number_at(&s, 0, "median off, percent") - 2) < 1e-9);
    assert_true(fabs(number_at(&s, 0, "worst off, percent") - 4) < 1e-9);
    assert_true(isnan(number_at(&s, 0, "Kendall's tau")));
    assert_true(fabs(number_at(&s, 0, "simgrid: worst off, percent") - 0.5) < 1e-9);
    assert_true(fabs(number_at(&s, 1, "Kendall's tau") - 1.0 / 3) < 1e-9);
    assert_true(fabs(number_at(&s, 2, "worst off, percent") - 55) < 1e-9);
    assert_int_equal(all.count, 3 * all.width);
    assert_true(fabs(number_at(&all, 1, "emulated off, percent") - 55) < 1e-9);
    sheet_free(&s);
    sheet_free(&all);
}

static void the_figure_has_the_points_of_its_table(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length;
    const predict_row rows[] = {row_of(PREDICT_EPOCHS, 100, 101), row_of(PREDICT_ORDER, 10, 12)};
    FILE *out = open_memstream(&text, &length);
    predict_figure(rows, 2, PREDICT_ORDER, out);
    fclose(out);
    assert_non_null(strstr(text, "\n10 12 11.5 12.5\n"));
    assert_null(strstr(text, "100 101"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_slower_network_slows_every_plan_down_alike, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_four_plans_are_what_they_are_called, set_up, tear_down),
        cmocka_unit_test(the_summary_holds_errors_and_the_order),
        cmocka_unit_test(the_figure_has_the_points_of_its_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
