#include "formats/event_json.h"

#include "base/mem.h"
#include "formats/event_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static char *text_of(const meter_event *event)
{
    char *line = NULL;
    assert_int_equal(event_json_text(event, NULL, &line), EDGEPS_OK);
    return line;
}

static void assert_text(const meter_event *event, const char *expected)
{
    char *line = text_of(event);
    assert_string_equal(line, expected);
    mem_free(line);
}

static void writes_the_fields_of_the_kind_in_a_fixed_order(void **state)
{
    (void)state;
    assert_text(&event_fixture[METER_START],
                "{\"event\":\"start\",\"time_s\":0.25,\"network\":\"métropole\",\"model\":"
                "\"lenet5\",\"seed\":7,\"epochs\":5,\"rounds\":40,\"workers\":6,\"text\":"
                "\"pipelined\"}");
    assert_text(&event_fixture[METER_MOVE],
                "{\"event\":\"move\",\"time_s\":9.5,\"epoch\":2,\"generation\":2,\"role\":"
                "\"global\",\"from\":\"lyon\",\"to\":\"paris\",\"bytes\":5497558138880,"
                "\"seconds\":0.1,\"frozen_s\":0.01,\"text\":\"storage of lyon: 1 MiB\\tfree\"}");
    assert_text(&event_fixture[METER_EPOCH],
                "{\"event\":\"epoch\",\"time_s\":12.125,\"epoch\":2,\"generation\":2,\"rounds\":40,"
                "\"workers\":6,\"samples\":60000,\"measured_s\":3.4,\"predicted_s\":3.36,"
                "\"compute_s\":1.1,\"push_s\":1.2,\"sum_s\":0.3,\"pull_s\":0.7,\"wait_s\":0.2,"
                "\"move_s\":0.1,\"loss\":0.5,\"accuracy\":0.9714}");
}

static void every_kind_reads_back_as_it_was(void **state)
{
    (void)state;
    for (int kind = 0; kind < EVENT_FIXTURE_COUNT; kind++) {
        meter_kept kept;
        char *line = text_of(&event_fixture[kind]);
        assert_int_equal(event_json_parse(line, strlen(line), NULL, &kept), EDGEPS_OK);
        mem_free(line);
        assert_int_equal(event_fixture[kind].kind, kind);
        assert_same_event(&event_fixture[kind], &kept.event);
        meter_kept_free(&kept);
    }
}

static void what_is_not_finite_is_null_and_reads_back_as_nan(void **state)
{
    (void)state;
    const double odd[] = {NAN, INFINITY, -INFINITY, 1.7976931348623157e308};
    for (size_t i = 0; i < 4; i++) {
        meter_event event = {.kind = METER_END, .time_s = 1, .accuracy = odd[i], .text = "done"};
        meter_kept kept;
        char *line = text_of(&event);
        assert_non_null(strstr(line, "\"accuracy\":null"));
        assert_int_equal(event_json_parse(line, strlen(line), NULL, &kept), EDGEPS_OK);
        assert_true(isnan(kept.event.accuracy));
        meter_kept_free(&kept);
        mem_free(line);
    }
}

static void a_missing_text_is_empty_and_bytes_that_are_no_utf8_become_question_marks(void **state)
{
    (void)state;
    meter_event event = {.kind = METER_WARNING};
    assert_text(&event, "{\"event\":\"warning\",\"time_s\":0.0,\"text\":\"\"}");
    event.text = "/srv/d\xe9p\xf4t";
    assert_text(&event, "{\"event\":\"warning\",\"time_s\":0.0,\"text\":\"/srv/d?p?t\"}");
}

static void the_largest_counts_survive_and_larger_ones_are_refused(void **state)
{
    (void)state;
    meter_event event = {.kind = METER_START, .seed = INT64_MAX, .epochs = INT64_MAX};
    meter_kept kept;
    char *line = text_of(&event);
    assert_int_equal(event_json_parse(line, strlen(line), NULL, &kept), EDGEPS_OK);
    assert_true(kept.event.seed == INT64_MAX && kept.event.epochs == INT64_MAX);
    meter_kept_free(&kept);
    mem_free(line);

    edgeps_diag diag;
    line = NULL;
    event.seed = (uint64_t)INT64_MAX + 1;
    assert_int_equal(event_json_text(&event, &diag, &line), EDGEPS_FORMAT);
    assert_non_null(strstr(diag.text, "start: seed"));
    event.seed = 0;
    event.epochs = -1;
    assert_int_equal(event_json_text(&event, &diag, &line), EDGEPS_FORMAT);
    assert_non_null(strstr(diag.text, "start: epochs"));
    assert_null(line);
}

static void refuse(const char *line, const char *reason)
{
    edgeps_diag diag = {0};
    meter_kept kept = {.texts = "untouched"};
    assert_int_equal(event_json_parse(line, strlen(line), &diag, &kept), EDGEPS_FORMAT);
    assert_string_equal(kept.texts, "untouched");
    if (!strstr(diag.text, reason))
        fail_msg("'%s' does not say '%s'", diag.text, reason);
}

static void refuses_what_is_no_event(void **state)
{
    (void)state;
    refuse("", "column 0");
    refuse("{", "column 1");
    refuse("nothing", "column 7");
    refuse("[]", "no event");
    refuse("{}", "no event");
    refuse("{\"event\":3}", "no event");
    refuse("{\"event\":\"END\"}", "no kind is called \"END\"");
    refuse("{\"event\":\"warning\",\"time_s\":1,\"text\":\"a\"} {}", "end of file expected");
    refuse("{\"event\":\"warning\",\"time_s\":1,\"time_s\":2,\"text\":\"a\"}", "duplicate");
    refuse("{\"event\":\"warning\",\"time_s\":1e999,\"text\":\"a\"}", "overflow");
    refuse("{\"event\":\"warning\",\"time_s\":1,\"text\":\"\xff\"}", "column");
    refuse("{\"event\":\"warning\",\"time_s\":1,\"text\":\"a\\u0000b\"}", "column");
}

static void refuses_missing_fields_and_other_types(void **state)
{
    (void)state;
    refuse("{\"event\":\"warning\",\"text\":\"a\"}", "warning: time_s: missing");
    refuse("{\"event\":\"warning\",\"time_s\":1}", "warning: text: missing");
    refuse("{\"event\":\"warning\",\"time_s\":1,\"text\":null}", "text: must be a text");
    refuse("{\"event\":\"warning\",\"time_s\":\"1\",\"text\":\"\"}", "time_s: must be a number");
    refuse("{\"event\":\"warning\",\"time_s\":true,\"text\":\"\"}", "time_s: must be a number");
    const char *epochs[] = {"-1", "1.0", "null", "\"1\"", "true", "[1]"};
    for (size_t i = 0; i < 6; i++) {
        char line[128];
        snprintf(line, sizeof line,
                 "{\"event\":\"advice\",\"time_s\":1,\"epoch\":%s,\"text\":\"\"}", epochs[i]);
        refuse(line, "advice: epoch: must be a whole number");
    }
    refuse("{\"event\":\"advice\",\"time_s\":1,\"epoch\":9223372036854775808,\"text\":\"\"}",
           "column");
    refuse("{\"event\":\"end\",\"time_s\":1,\"generation\":1,\"seconds\":1,\"accuracy\":1,"
           "\"status\":2147483648,\"text\":\"\"}",
           "status: must be a whole number");
}

static void whole_numbers_serve_as_reals_and_unknown_fields_are_passed_over(void **state)
{
    (void)state;
    const char *line = "{\"later\":[1],\"time_s\":3,\"event\":\"warning\",\"text\":\"a\"}\n";
    meter_kept kept;
    assert_int_equal(event_json_parse(line, strlen(line), NULL, &kept), EDGEPS_OK);
    assert_true(kept.event.time_s == 3);
    assert_string_equal(kept.event.text, "a");
    meter_kept_free(&kept);
}

static void messages_carry_no_control_characters(void **state)
{
    (void)state;
    const char *lines[] = {"{\"event\":\"\\u001b[2J\"}", "{\"event\":\"x\x1b[2J\"}", "\x1b[2J"};
    for (size_t i = 0; i < 3; i++) {
        edgeps_diag diag = {0};
        meter_kept kept;
        assert_int_equal(event_json_parse(lines[i], strlen(lines[i]), &diag, &kept), EDGEPS_FORMAT);
        assert_true(strlen(diag.text) > 0);
        assert_null(strpbrk(diag.text, "\x1b\n\r"));
    }
}

/* The examples of the manual are the contract for readers in other languages. */
static void the_examples_of_the_manual_are_what_is_written(void **state)
{
    (void)state;
    FILE *file = fopen(EDGEPS_SOURCE_DIR "/docs/events.md", "r");
    assert_non_null(file);
    char line[1024];
    unsigned seen = 0;
    while (fgets(line, sizeof line, file)) {
        meter_kept kept;
        if (strncmp(line, "{\"event\":", 9) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        assert_int_equal(event_json_parse(line, strlen(line), NULL, &kept), EDGEPS_OK);
        assert_text(&kept.event, line);
        seen |= 1u << kept.event.kind;
        meter_kept_free(&kept);
    }
    fclose(file);
    assert_int_equal(seen, (1u << EVENT_FIXTURE_COUNT) - 1);
}

/* Both directions while the n-th allocation fails; true when all of them succeeded. */
static bool round_trip(const meter_event *event, const char *line, long n)
{
    char *text = NULL;
    meter_kept kept = {0};
    mem_fail_at(n);
    edgeps_err written = event_json_text(event, NULL, &text);
    edgeps_err read = event_json_parse(line, strlen(line), NULL, &kept);
    mem_fail_at(0);
    assert_int_equal(written == EDGEPS_OK, text != NULL);
    assert_int_equal(read == EDGEPS_OK, kept.texts != NULL);
    assert_true(written == EDGEPS_OK || written == EDGEPS_NOMEM);
    /* The JSON reader takes the loss of a token's copy for a bad token. */
    assert_true(read == EDGEPS_OK || read == EDGEPS_NOMEM || read == EDGEPS_FORMAT);
    mem_free(text);
    meter_kept_free(&kept);
    return !written && !read;
}

static void *json_allocate(size_t size) { return mem_alloc(size, 1); }

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    json_set_alloc_funcs(json_allocate, mem_free);
    char *line = text_of(&event_fixture[METER_MOVE]);
    long n = 1;
    while (!round_trip(&event_fixture[METER_MOVE], line, n))
        n++;
    assert_true(n > 20);
    mem_free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_the_fields_of_the_kind_in_a_fixed_order),
        cmocka_unit_test(every_kind_reads_back_as_it_was),
        cmocka_unit_test(what_is_not_finite_is_null_and_reads_back_as_nan),
        cmocka_unit_test(a_missing_text_is_empty_and_bytes_that_are_no_utf8_become_question_marks),
        cmocka_unit_test(the_largest_counts_survive_and_larger_ones_are_refused),
        cmocka_unit_test(refuses_what_is_no_event),
        cmocka_unit_test(refuses_missing_fields_and_other_types),
        cmocka_unit_test(whole_numbers_serve_as_reals_and_unknown_fields_are_passed_over),
        cmocka_unit_test(messages_carry_no_control_characters),
        cmocka_unit_test(the_examples_of_the_manual_are_what_is_written),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
