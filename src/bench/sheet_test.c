#include "bench/sheet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const columns[] = {"name", "size, cm", NULL};

static sheet three_rows(void)
{
    sheet s = sheet_make("Things", columns);
    sheet_text(&s, "a, \"b\"");
    sheet_number(&s, 1.5);
    sheet_text(&s, "c");
    sheet_number(&s, NAN);
    sheet_text(&s, "d");
    sheet_number(&s, 10000);
    return s;
}

static void check_written(void (*write)(const sheet *, FILE *), const char *expected)
{
    char *text = NULL;
    size_t length;
    sheet s = three_rows();
    FILE *out = open_memstream(&text, &length);
    write(&s, out);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
    sheet_free(&s);
}

static void a_sheet_becomes_csv_and_markdown(void **state)
{
    (void)state;
    check_written(sheet_csv, "name,\"size, cm\"\n\"a, \"\"b\"\"\",1.5\nc,\nd,10000\n");
    check_written(sheet_markdown, "## Things\n\n| name | size, cm |\n|---|---:|\n| a, \"b\" | 1.5 "
                                  "|\n| c |  |\n| d | 10000 |\n\n");
}

static void a_sheet_becomes_json_without_its_empty_cells(void **state)
{
    (void)state;
    sheet s = three_rows();
    json_t *rows = sheet_json(&s);
    assert_int_equal(json_array_size(rows), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "name")),
                        "a, \"b\"");
    assert_true(json_real_value(json_object_get(json_array_get(rows, 0), "size, cm")) == 1.5);
    assert_null(json_object_get(json_array_get(rows, 1), "size, cm"));
    json_decref(rows);
    sheet_free(&s);
}

static void a_lack_of_memory_shows(void **state)
{
    (void)state;
    for (long nth = 1; nth <= 3; nth++) {
        mem_fail_at(nth);
        sheet s = three_rows();
        mem_fail_at(0);
        assert_true(s.failed);
        sheet_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sheet_becomes_csv_and_markdown),
        cmocka_unit_test(a_sheet_becomes_json_without_its_empty_cells),
        cmocka_unit_test(a_lack_of_memory_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
