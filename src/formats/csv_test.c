#include "formats/csv_int.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static csv_table parse(const char *text)
{
    csv_table table;
    edgeps_diag diag = {.text = ""};
    if (csv_parse(text, strlen(text), &diag, &table))
        fail_msg("%s", diag.text);
    return table;
}

/* All fields, "|" between columns and "/" behind rows. */
static void expect(const char *text, const char *joined)
{
    char found[256] = "";
    csv_table table = parse(text);
    for (size_t r = 0; r < table.rows; r++)
        for (size_t c = 0; c < table.columns; c++) {
            strcat(found, csv_field(&table, r, c));
            strcat(found, c + 1 < table.columns ? "|" : "/");
        }
    csv_free(&table);
    assert_string_equal(found, joined);
}

static void fields_are_what_spreadsheets_mean(void **state)
{
    (void)state;
    expect("a,b\n1,2\n", "a|b/1|2/");
    expect("a,b\r\n1,2", "a|b/1|2/");
    expect("\xef\xbb\xbf\n\na;b,c\n\n1; 2 \n", "a|b,c/1|2/");
    expect("a\tb;c\n1\t\n", "a|b;c/1|/");
    expect("\"a,\"\"b\"\"\",\"\"\n\"1\n2\" ,\n", "a,\"b\"|/1\n2|/");
    expect("\"a;b\",c\n ,\n", "a;b|c/|/");
    expect(",\n", "|/");
    expect("x", "x/");
}

static void lines_are_counted_through_quotes(void **state)
{
    (void)state;
    csv_table table = parse("a\n\n\"1\n\n2\"\nb\n");
    assert_int_equal(table.rows, 3);
    assert_int_equal(table.lines[1], 3);
    assert_int_equal(table.lines[2], 6);
    csv_free(&table);
}

static void refuses(const char *text, size_t length, const char *words)
{
    csv_table table = {0};
    edgeps_diag diag = {.text = ""};
    assert_int_equal(csv_parse(text, length, &diag, &table), EDGEPS_FORMAT);
    assert_null(table.text);
    if (!strstr(diag.text, words))
        fail_msg("'%s' lacks '%s'", diag.text, words);
}

static void broken_tables_are_refused_with_the_line(void **state)
{
    (void)state;
    refuses("", 0, "is empty");
    refuses("\n\r\n", 3, "is empty");
    refuses("a,b\n1\n", 6, "line 2: has 1 fields, the first line 2");
    refuses("a,b\n\n1,2,3", 10, "line 3: has 3 fields, the first line 2");
    refuses("a\n\"1\n2\n", 7, "line 2: a quote is not closed");
    refuses("\"a\"b", 4, "line 1: text follows a closing quote");
    refuses("a\0b", 3, "has a NUL byte");
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    rng r = rng_make(3, 0);
    for (int run = 0; run < 200; run++) {
        static const char letters[] = "ab,;\t\"\n\r ";
        char fields[6][8] = {""}, *text = NULL;
        size_t length = 0;
        FILE *file = open_memstream(&text, &length);
        for (size_t k = 0; k < 6; k++) {
            size_t count = (size_t)rng_below(&r, 7);
            for (size_t at = 0; at < count; at++)
                fields[k][at] = letters[rng_below(&r, sizeof letters - 1)];
            csv_put(file, fields[k]);
            fputc(k % 3 == 2 ? '\n' : ',', file);
        }
        fclose(file);
        csv_table table;
        edgeps_diag diag = {.text = ""};
        if (csv_parse(text, length, &diag, &table))
            fail_msg("run %d: %s in: %s", run, diag.text, text);
        assert_int_equal(table.columns, 3);
        for (size_t k = 0; k < 6; k++)
            assert_string_equal(csv_field(&table, k / 3, k % 3), fields[k]);
        csv_free(&table);
        free(text);
    }
}

static void parsing_survives_each_allocation_failing(void **state)
{
    (void)state;
    edgeps_err err = EDGEPS_NOMEM;
    for (long n = 1; err; n++) {
        csv_table table = {0};
        mem_fail_at(n);
        err = csv_parse("a,b\n1,2\n3,4\n", 12, NULL, &table);
        mem_fail_at(0);
        assert_true(err == EDGEPS_OK || (err == EDGEPS_NOMEM && !table.text));
        csv_free(&table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_what_spreadsheets_mean),
        cmocka_unit_test(lines_are_counted_through_quotes),
        cmocka_unit_test(broken_tables_are_refused_with_the_line),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(parsing_survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
