#include "formats/summary_json.h"

#include "base/mem.h"
#include "formats/event_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <string.h>

static void fill(meter_history *history)
{
    for (size_t i = 0; i < EVENT_FIXTURE_COUNT; i++)
        assert_int_equal(meter_history_add(history, &event_fixture[i]), EDGEPS_OK);
}

static json_t *summary_of(const meter_history *history)
{
    char *text = NULL;
    assert_int_equal(summary_json_text(history, NULL, &text), EDGEPS_OK);
    json_t *object = json_loads(text, 0, NULL);
    assert_non_null(object);
    mem_free(text);
    return object;
}

static double number(const json_t *object, const char *key)
{
    assert_true(json_is_number(json_object_get(object, key)));
    return json_number_value(json_object_get(object, key));
}

static const json_t *only(const json_t *object, const char *key)
{
    const json_t *list = json_object_get(object, key);
    assert_int_equal(json_array_size(list), 1);
    return json_array_get(list, 0);
}

static void holds_every_event_under_its_kind(void **state)
{
    (void)state;
    meter_history history = {0};
    fill(&history);
    json_t *s = summary_of(&history);
    assert_true(json_is_true(json_object_get(s, "complete")));
    assert_true(number(s, "seconds") == 17.75);
    assert_true(number(s, "accuracy") == 0.9853);
    assert_true(number(s, "moved_bytes") == 5497558138880.0);
    assert_true(number(s, "moved_s") == 0.1);
    assert_true(fabs(number(s, "prediction_error") - (3.4 / 3.36 - 1)) < 1e-12);
    assert_true(number(json_object_get(s, "start"), "workers") == 6);
    assert_true(number(json_object_get(s, "end"), "status") == 130);
    assert_true(number(only(s, "plans"), "predicted_round_s") == 0.084);
    assert_true(number(only(s, "moves"), "bytes") == 5497558138880.0);
    assert_true(number(only(s, "epochs"), "accuracy") == 0.9714);
    assert_string_equal(json_string_value(json_object_get(only(s, "lost"), "node")), "nice");
    assert_string_equal(json_string_value(json_object_get(only(s, "changes"), "node")), "lyon");
    assert_non_null(only(s, "suspects"));
    assert_non_null(only(s, "cleared"));
    assert_non_null(only(s, "troubles"));
    assert_true(number(only(s, "recoveries"), "seconds") == 3.5);
    const json_t *silent = json_object_get(json_object_get(s, "faults"), "silent");
    assert_true(number(silent, "count") == 1 && number(silent, "recovered") == 1);
    assert_true(number(silent, "median_s") == 3.5 && number(silent, "most_s") == 3.5);
    assert_non_null(only(s, "advice"));
    assert_non_null(only(s, "warnings"));
    assert_non_null(only(s, "checkpoints"));
    json_decref(s);
    meter_history_free(&history);
}

static void what_a_run_does_not_have_is_null_or_empty(void **state)
{
    (void)state;
    meter_history history = {0};
    json_t *s = summary_of(&history);
    assert_true(json_is_false(json_object_get(s, "complete")));
    assert_true(number(s, "seconds") == 0);
    for (size_t i = 0; i < 4; i++) {
        const char *keys[] = {"start", "end", "accuracy", "prediction_error"};
        assert_true(json_is_null(json_object_get(s, keys[i])));
    }
    assert_int_equal(json_array_size(json_object_get(s, "epochs")), 0);
    assert_true(json_is_array(json_object_get(s, "epochs")));
    json_decref(s);
}

static void *json_allocate(size_t size) { return mem_alloc(size, 1); }

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    json_set_alloc_funcs(json_allocate, mem_free);
    meter_history history = {0};
    fill(&history);
    long n = 1;
    for (edgeps_err err = EDGEPS_NOMEM; err; n++) {
        char *text = NULL;
        mem_fail_at(n);
        err = summary_json_text(&history, NULL, &text);
        mem_fail_at(0);
        assert_true(err == EDGEPS_OK || err == EDGEPS_NOMEM);
        assert_int_equal(err == EDGEPS_OK, text != NULL);
        mem_free(text);
    }
    assert_true(n > 100);
    meter_history_free(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_every_event_under_its_kind),
        cmocka_unit_test(what_a_run_does_not_have_is_null_or_empty),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
