#include "meter/history.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

static void add(meter_history *history, meter_event event)
{
    assert_int_equal(meter_history_add(history, &event), EDGEPS_OK);
}

static meter_event epoch_event(int64_t epoch, double measured_s, double predicted_s,
                               double accuracy)
{
    return (meter_event){
        .kind = METER_EPOCH,
        .time_s = 10.0 * (double)epoch,
        .measured = {.epoch = epoch,
                     .measured_s = measured_s,
                     .predicted_s = predicted_s,
                     .accuracy = accuracy},
    };
}

static meter_event move_event(int64_t bytes, double seconds)
{
    return (meter_event){.kind = METER_MOVE, .bytes = bytes, .seconds = seconds};
}

static void a_kept_event_does_not_need_the_texts_it_was_made_of(void **state)
{
    (void)state;
    char node[] = "lyon", text[] = "silent";
    meter_event event = {.kind = METER_LOST, .epoch = 3, .node = node, .text = text, .from = ""};
    meter_kept kept;
    assert_int_equal(meter_keep(&event, &kept), EDGEPS_OK);
    memset(node, 'x', sizeof node);
    memset(text, 'x', sizeof text);
    assert_int_equal(kept.event.epoch, 3);
    assert_string_equal(kept.event.node, "lyon");
    assert_string_equal(kept.event.text, "silent");
    assert_string_equal(kept.event.from, "");
    assert_null(kept.event.global);
    meter_kept_free(&kept);
    assert_null(kept.event.node);
}

static void finds_the_events_of_a_kind_in_order_and_keeps_no_rounds(void **state)
{
    (void)state;
    meter_history history = {0};
    for (int64_t epoch = 1; epoch <= 100; epoch++) {
        add(&history, (meter_event){.kind = METER_ROUND, .epoch = epoch});
        add(&history, epoch_event(epoch, 1, 1, NAN));
        add(&history, (meter_event){.kind = METER_WARNING, .text = "late"});
    }
    assert_int_equal(history.count, 200);
    size_t at = 0;
    for (int64_t epoch = 1; epoch <= 100; epoch++)
        assert_int_equal(meter_history_next(&history, METER_EPOCH, &at)->measured.epoch, epoch);
    assert_null(meter_history_next(&history, METER_EPOCH, &at));
    at = 0;
    assert_null(meter_history_next(&history, METER_ROUND, &at));
    meter_history_free(&history);
    assert_int_equal(history.count, 0);
}

static void sums_up_a_run(void **state)
{
    (void)state;
    meter_history history = {0};
    add(&history, (meter_event){.kind = METER_START, .network = "east"});
    add(&history, (meter_event){.kind = METER_PLAN});
    add(&history, epoch_event(1, 11, 10, 0.5));
    add(&history, move_event(1000, 0.5));
    add(&history, move_event(24, 0.25));
    add(&history, (meter_event){.kind = METER_LOST, .node = "nice"});
    add(&history, (meter_event){.kind = METER_CHECKPOINT, .text = "one"});
    add(&history, (meter_event){.kind = METER_CHECKPOINT, .text = "two"});
    add(&history, epoch_event(2, 7, 10, 0.75));
    add(&history, epoch_event(3, 7, NAN, NAN));
    meter_summary s = meter_summarize(&history);
    assert_string_equal(s.start->network, "east");
    assert_null(s.end);
    assert_string_equal(s.checkpoint->text, "two");
    assert_int_equal(s.last_epoch, 3);
    assert_int_equal(s.moves, 2);
    assert_int_equal(s.lost, 1);
    assert_int_equal(s.moved_bytes, 1024);
    assert_true(s.moved_s == 0.75);
    assert_true(s.seconds == 30);
    assert_true(s.accuracy == 0.75);
    assert_true(fabs(s.prediction_error - 0.2) < 1e-12); /* (0.1 + 0.3) / 2 */
    meter_history_free(&history);
}

static void the_end_has_the_last_word_on_time_and_accuracy(void **state)
{
    (void)state;
    meter_history history = {0};
    add(&history, epoch_event(1, 1, 0, 0.5));
    add(&history, (meter_event){.kind = METER_END, .time_s = 99, .seconds = 12, .accuracy = 0.9});
    meter_summary s = meter_summarize(&history);
    assert_true(s.seconds == 12);
    assert_true(s.accuracy == 0.9);
    assert_true(isnan(s.prediction_error));
    assert_int_equal(s.end->kind, METER_END);
    meter_history_free(&history);

    add(&history, epoch_event(1, 1, 0, 0.5));
    add(&history, (meter_event){.kind = METER_END, .time_s = 99, .seconds = NAN, .accuracy = NAN});
    s = meter_summarize(&history);
    assert_true(s.seconds == 99);
    assert_true(s.accuracy == 0.5);
    meter_history_free(&history);
}

/* The first part ran for 12 s, the second was cut off after 10 s, the third ended after 5 s. */
static void the_parts_of_a_resumed_run_add_up(void **state)
{
    (void)state;
    meter_history history = {0};
    add(&history, (meter_event){.kind = METER_START, .seed = 1});
    add(&history, (meter_event){.kind = METER_END, .time_s = 12.5, .seconds = 12, .status = 130});
    add(&history, (meter_event){.kind = METER_START, .seed = 2});
    add(&history, epoch_event(1, 1, 1, 0.5));
    meter_summary s = meter_summarize(&history);
    assert_null(s.end);
    assert_true(s.seconds == 22);
    add(&history, (meter_event){.kind = METER_START, .seed = 3});
    add(&history, (meter_event){.kind = METER_END, .seconds = 5, .accuracy = 0.75});
    s = meter_summarize(&history);
    assert_int_equal(s.start->seed, 1);
    assert_int_equal(s.end->status, 0);
    assert_true(s.seconds == 27);
    assert_true(s.accuracy == 0.75);
    meter_history_free(&history);
}

static void recovered(meter_history *history, const char *fault, double seconds)
{
    add(history, (meter_event){.kind = METER_RECOVERED, .fault = fault, .seconds = seconds});
}

static void sums_up_faults_by_kind(void **state)
{
    (void)state;
    meter_history history = {0};
    const double dead_s[] = {0.4, 0.1, 0.3, 0.1};
    for (size_t k = 0; k < 4; k++) {
        add(&history, (meter_event){.kind = METER_LOST, .fault = "dead"});
        recovered(&history, "dead", dead_s[k]);
        if (k == 2) {
            meter_summary s = meter_summarize(&history);
            assert_true(s.faults[METER_DEAD].median_s == 0.3); /* of 0.1, 0.3, 0.4 */
        }
    }
    add(&history, (meter_event){.kind = METER_LOST, .fault = "silent"});
    add(&history, (meter_event){.kind = METER_FAULT, .fault = "slow"});
    add(&history, (meter_event){.kind = METER_SUSPECT, .node = "nice", .seconds = 1});
    meter_summary s = meter_summarize(&history);
    assert_int_equal(s.faults[METER_DEAD].count, 4);
    assert_int_equal(s.faults[METER_DEAD].recovered, 4);
    assert_true(s.faults[METER_DEAD].median_s == 0.2); /* of 0.1, 0.1, 0.3, 0.4 */
    assert_true(s.faults[METER_DEAD].most_s == 0.4);
    assert_int_equal(s.faults[METER_SILENT].count, 1);
    assert_int_equal(s.faults[METER_SILENT].recovered, 0);
    assert_true(isnan(s.faults[METER_SILENT].median_s));
    assert_int_equal(s.faults[METER_SLOW].count, 1);
    assert_int_equal(s.faults[METER_FULL].count, 0);
    meter_history_free(&history);
}

static void nothing_happened_sums_up_to_nothing(void **state)
{
    (void)state;
    meter_history history = {0};
    meter_summary s = meter_summarize(&history);
    assert_null(s.start);
    assert_null(s.end);
    assert_true(isnan(s.accuracy) && isnan(s.prediction_error));
    assert_true(s.seconds == 0);
    assert_int_equal(s.last_epoch, 0);
}

static void absurd_numbers_do_not_overflow_the_sums(void **state)
{
    (void)state;
    meter_history history = {0};
    add(&history, move_event(INT64_MAX, INFINITY));
    add(&history, move_event(INT64_MAX, 1));
    meter_summary s = meter_summarize(&history);
    assert_true(s.moved_bytes == INT64_MAX);
    assert_true(s.moved_s == 1);
    meter_history_free(&history);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    for (long n = 1;; n++) {
        meter_history history = {0};
        meter_event event = {.kind = METER_WARNING, .text = "late"};
        edgeps_err err = EDGEPS_OK;
        mem_fail_at(n);
        for (int i = 0; i < 40 && !err; i++) {
            size_t before = history.count;
            err = meter_history_add(&history, &event);
            assert_int_equal(history.count, before + (err ? 0 : 1));
        }
        mem_fail_at(0);
        meter_history_free(&history);
        if (!err) {
            assert_true(n > 40);
            break;
        }
        assert_int_equal(err, EDGEPS_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kept_event_does_not_need_the_texts_it_was_made_of),
        cmocka_unit_test(finds_the_events_of_a_kind_in_order_and_keeps_no_rounds),
        cmocka_unit_test(sums_up_a_run),
        cmocka_unit_test(the_end_has_the_last_word_on_time_and_accuracy),
        cmocka_unit_test(the_parts_of_a_resumed_run_add_up),
        cmocka_unit_test(sums_up_faults_by_kind),
        cmocka_unit_test(nothing_happened_sums_up_to_nothing),
        cmocka_unit_test(absurd_numbers_do_not_overflow_the_sums),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
