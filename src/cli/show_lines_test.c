#include "cli/show_int.h"

#include "base/mem.h"
#include "cli/show_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

static void expect_seconds(double seconds, const char *expected)
{
    char text[32];
    show_seconds(seconds, text, sizeof text);
    assert_string_equal(text, expected);
}

static void seconds_keep_three_digits(void **state)
{
    (void)state;
    expect_seconds(0, "0 s");
    expect_seconds(0.00012345, "0.12 ms");
    expect_seconds(0.0844, "0.0844 s");
    expect_seconds(12.34, "12.3 s");
    expect_seconds(4321.6, "4322 s");
    expect_seconds(NAN, "?");
    expect_seconds(INFINITY, "?");
}

static void expect_bytes(int64_t bytes, const char *expected)
{
    char text[32];
    show_bytes(bytes, text, sizeof text);
    assert_string_equal(text, expected);
}

static void bytes_take_the_largest_unit_that_fits(void **state)
{
    (void)state;
    expect_bytes(0, "0 B");
    expect_bytes(1023, "1023 B");
    expect_bytes(1024, "1.0 KiB");
    expect_bytes(1258291, "1.2 MiB");
    expect_bytes(((int64_t)1 << 30) - 1, "1.0 GiB");
    expect_bytes(INT64_MAX, "8.0 EiB");
}

static void expect_event(meter_event event, const char *expected)
{
    page p;
    page_open(&p);
    show_event_lines(p.out, &event, false);
    page_expect(&p, expected);
    page_close(&p);
}

static void the_proof_says_how_far_the_best_plan_may_be(void **state)
{
    (void)state;
    meter_event plan = {.kind = METER_PLAN,
                        .generation = 1,
                        .global = "a",
                        .locals = "b, c",
                        .predicted_round_s = 3,
                        .bound_s = 2};
    expect_event(plan, "plan 1: global server a; local servers b, c; predicted 3 s a round "
                       "(proved within a factor 1.50 of the best)\n");
    plan.bound_s = 3;
    plan.locals = "b";
    expect_event(plan, "plan 1: global server a; local server b; predicted 3 s a round "
                       "(proved to be the best)\n");
    plan.bound_s = 0;
    plan.text = "why";
    expect_event(plan, "plan 1: global server a; local server b; predicted 3 s a round\n  why\n");
}

static void a_move_from_nowhere_is_a_restoration(void **state)
{
    (void)state;
    meter_event move = {.kind = METER_MOVE, .role = "global", .to = "b", .bytes = 1, .seconds = 1};
    expect_event(move, "restored the global server on b from the checkpoint: 1 B in 1 s\n");
    move.from = "b";
    expect_event(move,
                 "restored the global server on b from what it kept in reserve: 1 B in 1 s\n");
    move.from = "a";
    move.frozen_s = 0.5;
    move.text = "full";
    expect_event(move, "moved the global server a -> b: 1 B in 1 s, still for 0.5 s (full)\n");
}

static void missing_texts_are_no_obstacle(void **state)
{
    (void)state;
    expect_event((meter_event){.kind = METER_START, .workers = 1, .epochs = 1, .rounds = 1},
                 "training : 1 worker, 1 epoch of 1 round, , seed 0\n");
    expect_event((meter_event){.kind = METER_LOST}, "lost : \n");
    expect_event((meter_event){.kind = METER_SUSPECT}, " is suspected: not heard for 0 s\n");
    expect_event((meter_event){.kind = METER_CLEARED}, " is heard again\n");
    expect_event((meter_event){.kind = METER_FAULT}, " is : \n");
    expect_event((meter_event){.kind = METER_RECOVERED},
                 "rounds go on, 0 s after  was last well\n");
    expect_event((meter_event){.kind = METER_LATE}, "round 0 goes on without : \n");
    expect_event((meter_event){.kind = METER_SCENARIO}, ": \n");
    expect_event((meter_event){.kind = METER_ADVICE}, "advice: \n");
    expect_event((meter_event){.kind = METER_WARNING}, "warning: \n");
    expect_event((meter_event){.kind = METER_CHECKPOINT}, "");
}

/* A name in a file must not be able to command the terminal. */
static void control_characters_are_disarmed_and_letters_are_not(void **state)
{
    (void)state;
    meter_event lost = {.kind = METER_LOST,
                        .node = "\xc3\xa9t\xc3\xa9",
                        .text = "a\x1b[2Jb\nc\rd\x7f"
                                "e\xc2\x9b"
                                "f\xc2\xa0g\xc2"};
    expect_event(lost, "lost \xc3\xa9t\xc3\xa9: a?[2Jb?c?d?e??f\xc2\xa0g\xc2\n");
}

static void long_lines_come_whole_and_without_memory_say_so(void **state)
{
    (void)state;
    page p;
    page_open(&p);
    char text[20001], expected[20002];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    snprintf(expected, sizeof expected, "%s\n", text);
    show_line(p.out, "%s", text);
    page_expect(&p, expected);
    mem_fail_at(1);
    show_line(p.out, "%s", text);
    mem_fail_at(0);
    page_expect(&p, "(no memory for this line)\n");
    page_close(&p);
}

/* Each row is as wide as the header, whatever the size of its numbers. */
static void the_table_stays_aligned_within_80_columns(void **state)
{
    (void)state;
    const double sizes[] = {0, 9.9994, 9.9996, 99.994, 99.996, 999.94, 999.96, 99999.4, NAN};
    page p;
    page_open(&p);
    show_epoch_header(p.out);
    fflush(p.out);
    size_t width = strlen(strchr(p.text, '\n') + 1);
    assert_true(width <= 81);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        page row;
        page_open(&row);
        double s = sizes[i];
        meter_event event = {.measured = {.epoch = 1,
                                          .measured_s = s,
                                          .predicted_s = s,
                                          .compute_s = s,
                                          .push_s = s,
                                          .sum_s = s,
                                          .pull_s = s,
                                          .wait_s = s,
                                          .move_s = s,
                                          .loss = s,
                                          .accuracy = 1}};
        show_epoch_row(row.out, &event);
        fflush(row.out);
        assert_int_equal(strlen(row.text), width);
        page_close(&row);
    }
    page_close(&p);
}

static void what_was_not_measured_is_a_dash(void **state)
{
    (void)state;
    meter_event event = {
        .generation = 2,
        .measured = {
            .epoch = 12, .measured_s = 123.456, .predicted_s = NAN, .loss = NAN, .accuracy = NAN}};
    page p;
    page_open(&p);
    show_epoch_row(p.out, &event);
    page_expect(&p, "   12    2 123.5         -   0.000 0.000 0.000 0.000 0.000 0.000      -"
                    "        -\n");
    page_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds_keep_three_digits),
        cmocka_unit_test(bytes_take_the_largest_unit_that_fits),
        cmocka_unit_test(the_proof_says_how_far_the_best_plan_may_be),
        cmocka_unit_test(a_move_from_nowhere_is_a_restoration),
        cmocka_unit_test(missing_texts_are_no_obstacle),
        cmocka_unit_test(control_characters_are_disarmed_and_letters_are_not),
        cmocka_unit_test(long_lines_come_whole_and_without_memory_say_so),
        cmocka_unit_test(the_table_stays_aligned_within_80_columns),
        cmocka_unit_test(what_was_not_measured_is_a_dash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
