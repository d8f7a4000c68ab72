#include "formats/trace_json.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <string.h>

static const trace_json_row two_rows[] = {
    {"adjust", 12.5 / 3, 4, 0.1, 0, 2, 3, INT64_C(1) << 40, 0, 0.25},
    {"static", INFINITY, 5, 0, INFINITY, 0, 0, 0, 1, INFINITY},
};

static edgeps_err write_rows(char **text)
{
    job j;
    assert_int_equal(job_make("mlp", 100, 10, JOB_STORE_AND_FORWARD, NULL, &j), EDGEPS_OK);
    trace_json_facts facts = {.network = "n\"1",
                              .job = &j,
                              .algorithm = "exact",
                              .seed = 7,
                              .max_locals = 4,
                              .epochs = 9,
                              .exact = true,
                              .rows = two_rows,
                              .row_count = 2};
    return trace_json_text(&facts, text);
}

static double real(const json_t *row, const char *key)
{
    return json_real_value(json_object_get(row, key));
}

static void every_number_reads_back(void **state)
{
    (void)state;
    char *text = NULL;
    assert_int_equal(write_rows(&text), EDGEPS_OK);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "edgeps")), "trace/1");
    assert_string_equal(json_string_value(json_object_get(root, "network")), "n\"1");
    assert_int_equal(json_integer_value(json_object_get(root, "epochs")), 9);
    assert_true(json_is_true(json_object_get(root, "offline_exact")));
    const json_t *rows = json_object_get(root, "policies");
    assert_int_equal(json_array_size(rows), 2);
    const json_t *first = json_array_get(rows, 0), *second = json_array_get(rows, 1);
    assert_string_equal(json_string_value(json_object_get(first, "policy")), "adjust");
    assert_true(real(first, "total_s") == 12.5 / 3 && real(first, "train_s") == 4);
    assert_true(real(first, "move_s") == 0.1 && real(first, "lost_s") == 0);
    assert_true(real(first, "regret_s") == 0.25);
    assert_int_equal(json_integer_value(json_object_get(first, "changes")), 2);
    assert_int_equal(json_integer_value(json_object_get(first, "moves")), 3);
    assert_true(json_integer_value(json_object_get(first, "moved_bytes")) == INT64_C(1) << 40);
    assert_int_equal(json_integer_value(json_object_get(second, "lost_epochs")), 1);
    assert_true(json_is_null(json_object_get(second, "total_s")));
    assert_true(json_is_null(json_object_get(second, "regret_s")));
    json_decref(root);
    mem_free(text);
}

static void without_memory_there_is_no_text(void **state)
{
    (void)state;
    char *text = NULL;
    mem_fail_at(1);
    assert_int_equal(write_rows(&text), EDGEPS_NOMEM);
    mem_fail_at(0);
    assert_null(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_reads_back),
        cmocka_unit_test(without_memory_there_is_no_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
