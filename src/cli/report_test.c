#include "cli/report.h"

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/show_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN EDGEPS_SOURCE_DIR "/tests/report"

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = mem_alloc(65536, 1);
    assert_non_null(text);
    assert_true(fread(text, 1, 65535, file) > 0);
    fclose(file);
    return text;
}

/* A folder of its own whose events.jsonl is the first `length` bytes of `text`. */
static void make_run(char *dir, const char *text, size_t length)
{
    char path[128];
    memcpy(dir, "/tmp/edgeps-report-XXXXXX", sizeof "/tmp/edgeps-report-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/events.jsonl", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
}

static void remove_run(const char *dir)
{
    char path[128];
    snprintf(path, sizeof path, "%s/events.jsonl", dir);
    unlink(path);
    rmdir(dir);
}

static void prints_what_the_run_printed(void **state)
{
    (void)state;
    page out, warnings;
    edgeps_diag diag;
    page_open(&out);
    page_open(&warnings);
    char *expected = read_whole(RUN "/report.txt");
    assert_int_equal(report_print(RUN, false, out.out, warnings.out, &diag), EDGEPS_OK);
    page_expect(&out, expected);
    page_expect(&warnings, "");
    mem_free(expected);
    page_close(&out);
    page_close(&warnings);
}

static void json_holds_the_same_numbers(void **state)
{
    (void)state;
    page out;
    edgeps_diag diag;
    page_open(&out);
    assert_int_equal(report_print(RUN, true, out.out, stderr, &diag), EDGEPS_OK);
    assert_non_null(strstr(out.text, "\"accuracy\": 0.9853"));
    assert_non_null(strstr(out.text, "\"moved_bytes\": 1505115"));
    assert_non_null(strstr(out.text, "\"complete\": true"));
    assert_true(out.text[0] == '{' && strcmp(out.text + out.size - 2, "}\n") == 0);
    page_close(&out);
}

static void a_crash_while_writing_costs_the_last_line_only(void **state)
{
    (void)state;
    char dir[64];
    page out, warnings;
    edgeps_diag diag;
    page_open(&out);
    page_open(&warnings);
    char *text = read_whole(RUN "/events.jsonl");
    make_run(dir, text, strlen(text) - 20);
    assert_int_equal(report_print(dir, false, out.out, warnings.out, &diag), EDGEPS_OK);
    fflush(warnings.out);
    assert_non_null(strstr(out.text, "no end: the run is still going on, or was cut off\n"
                                     "  epochs      4 of 4 in 27.2 s\n"
                                     "  accuracy    98.53 %\n"));
    assert_non_null(strstr(warnings.text, "/events.jsonl: the last line is cut off"));
    remove_run(dir);
    mem_free(text);
    page_close(&out);
    page_close(&warnings);
}

/* The diagnosis for a run whose file is `text`; nothing may be printed. */
static edgeps_err refuse(const char *text, const char *reason)
{
    char dir[64];
    page out;
    edgeps_diag diag = {0};
    page_open(&out);
    make_run(dir, text, strlen(text));
    edgeps_err err = report_print(dir, false, out.out, out.out, &diag);
    remove_run(dir);
    page_expect(&out, "");
    page_close(&out);
    if (!strstr(diag.text, reason))
        fail_msg("'%s' does not say '%s'", diag.text, reason);
    assert_non_null(strstr(diag.text, "/events.jsonl: "));
    return err;
}

static void a_damaged_file_is_refused_with_its_line_and_a_remedy(void **state)
{
    (void)state;
    edgeps_err err = refuse("{\"event\":\"warning\",\"time_s\":1,\"text\":\"a\"}\n"
                            "{\"event\":\"warning\",\"time_s\":2}\n"
                            "{\"event\":\"warning\",\"time_s\":3,\"text\":\"a\"}\n",
                            "line 2: warning: text: missing; remove that line");
    assert_int_equal(err_exit_status(err), 2);
    err = refuse("", "holds no event; wait until the run has begun");
    assert_int_equal(err_exit_status(err), 2);
}

static void a_missing_file_is_refused_with_a_remedy(void **state)
{
    (void)state;
    edgeps_diag diag;
    edgeps_err err = report_print("/nowhere", false, stdout, stderr, &diag);
    assert_int_equal(err_exit_status(err), 2);
    assert_string_equal(diag.text, "/nowhere/events.jsonl: No such file or directory; name the "
                                   "folder that edgeps run wrote to (--out)");
    char longest[8192];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    err = report_print(longest, false, stdout, stderr, &diag);
    assert_int_equal(err, EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "too long"));
}

static void an_output_that_takes_nothing_is_an_error(void **state)
{
    (void)state;
    edgeps_diag diag;
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(report_print(RUN, false, full, stderr, &diag), EDGEPS_IO);
    assert_non_null(strstr(diag.text, "standard output: "));
    fclose(full);
}

static void bad_arguments_end_with_status_2(void **state)
{
    (void)state;
    char *unknown[] = {"report", "--yaml", NULL}, *many[] = {"report", "a", "b", NULL};
    assert_int_equal(cli_report(2, unknown), 2);
    assert_int_equal(cli_report(3, many), 2);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    for (int json = 0; json < 2; json++) {
        edgeps_err err = EDGEPS_NOMEM;
        for (long n = 1; err; n++) {
            page out;
            edgeps_diag diag = {0};
            page_open(&out);
            mem_fail_at(n);
            err = report_print(RUN, json, out.out, stderr, &diag);
            mem_fail_at(0);
            assert_true(!err || err == EDGEPS_NOMEM);
            assert_true(!err || diag.text[0]);
            page_close(&out);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_what_the_run_printed),
        cmocka_unit_test(json_holds_the_same_numbers),
        cmocka_unit_test(a_crash_while_writing_costs_the_last_line_only),
        cmocka_unit_test(a_damaged_file_is_refused_with_its_line_and_a_remedy),
        cmocka_unit_test(a_missing_file_is_refused_with_a_remedy),
        cmocka_unit_test(an_output_that_takes_nothing_is_an_error),
        cmocka_unit_test(bad_arguments_end_with_status_2),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
