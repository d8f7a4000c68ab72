/* `edgeps bench place` as a user meets it: what it prints and writes, and how it refuses. */
#include "integration/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char dir[64];

static int set_up(void **state)
{
    (void)state;
    folder_make(dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(dir);
    return 0;
}

#define REFUSES(words, ...)                                                                        \
    command_refuses((const char *const[]){"bench", __VA_ARGS__, NULL}, 2, words)

static size_t lines_of(const char *name)
{
    char path[128];
    size_t lines = 0;
    int byte;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *from = fopen(path, "re");
    if (!from)
        fail_msg("%s: is missing", path);
    while ((byte = getc(from)) != EOF)
        lines += byte == '\n';
    fclose(from);
    return lines;
}

static void every_table_is_printed_and_written(void **state)
{
    (void)state;
    command c;
    command_run(&c, (const char *const[]){"bench", "place", "--nodes", "6,8", "--seeds", "2",
                                          "--algorithms", "greedy,random", "--kind", "thesis",
                                          "--deadline", "200 ms", "--out", dir, NULL});
    if (c.status != 0)
        fail_msg("%s", c.text);
    assert_non_null(strstr(c.text, "## Vertex p-center"));
    assert_non_null(strstr(c.text, "| greedy | yes |"));
    /* 2 instances with a reference; 2 sizes x 2 seeds x 2 disciplines, once alone and once by two
     * algorithms; a head */
    assert_int_equal(lines_of("rows.csv"), 2 * (1 + 4) + 8 + 8 * 4 + 1);
    assert_int_equal(lines_of("quality.csv"), 1 + 4 + 1);
    assert_int_equal(lines_of("exact.csv"), 4 + 1);
    assert_int_equal(lines_of("approx.csv"), 4 * 4 + 1);
    assert_int_equal(lines_of("growth.csv"), 2 * 4 + 1);
    assert_int_equal(lines_of("pcenter.csv"), 3 + 1);
    assert_in_range(lines_of("growth.gp"), 30, 100);
}

/* The tables that are not asked for stay empty. */
static void one_table_comes_as_json(void **state)
{
    (void)state;
    command c;
    command_run(&c, (const char *const[]){"bench", "place", "--tables", "pcenter", "--json", NULL});
    assert_int_equal(c.status, 0);
    assert_non_null(strstr(c.text, "\"instance\": \"drawn-400\""));
    assert_non_null(strstr(c.text, "\"rows\": []"));
}

static void an_interrupt_leaves_what_is_finished(void **state)
{
    (void)state;
    command c;
    command_start(&c, (const char *const[]){"bench", "place", "--tables", "pcenter,exact",
                                            "--seeds", "1000", "--nodes", "60", "--deadline", "1 s",
                                            "--out", dir, NULL});
    assert_true(command_await(&c, "exact, 60 nodes"));
    assert_int_equal(kill(c.pid, SIGINT), 0);
    command_finish(&c);
    assert_int_equal(c.status, 130);
    assert_non_null(strstr(c.text, "edgeps bench: interrupted\n"));
    assert_int_equal(lines_of("pcenter.csv"), 3 + 1);
}

static void bad_usage_is_one_line(void **state)
{
    (void)state;
    REFUSES("say what to measure: edgeps bench place", "--seeds", "3");
    REFUSES("say what to measure", "speed");
    REFUSES("--tables: ", "place", "--tables", "quality,beauty");
    REFUSES("--nodes: ", "place", "--nodes", "10,few");
    REFUSES("--nodes: is empty", "place", "--nodes", ",");
    REFUSES("--kind: ", "place", "--kind", "ring");
    REFUSES("algorithm 'best' is not known", "place", "--algorithms", "greedy,best");
    REFUSES("--deadline: ", "place", "--deadline", "5");
    REFUSES("/nowhere/pmed1.txt: cannot be read", "place", "--pcenter", "/nowhere");
    REFUSES("/pmed1.txt: cannot be read", "place", "--tables", "pcenter", "--pcenter",
            EDGEPS_SOURCE_DIR);
}

static void predictions_say_what_is_wrong_in_one_line(void **state)
{
    (void)state;
    REFUSES("say where the tables go: --out FOLDER", "predict", "--quick");
    REFUSES("--tables: 'beauty' is none of: epochs, order", "predict", "--out", dir, "--tables",
            "beauty");
    REFUSES("--epochs: 1 is not within 2 and", "predict", "--out", dir, "--epochs", "1");
    REFUSES("--dilation: 0 is not within", "predict", "--out", dir, "--dilation", "0");
    REFUSES("--networks: is empty", "predict", "--out", dir, "--networks", ",");
    REFUSES("/nowhere: is no folder", "predict", "--out", dir, "--data", "/nowhere");
    REFUSES("--networks: /nowhere.json", "predict", "--out", dir, "--data", dir, "--networks",
            "/nowhere.json");
    REFUSES("'place': one argument too many", "predict", "place");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_table_is_printed_and_written, set_up, tear_down),
        cmocka_unit_test(one_table_comes_as_json),
        cmocka_unit_test_setup_teardown(an_interrupt_leaves_what_is_finished, set_up, tear_down),
        cmocka_unit_test(bad_usage_is_one_line),
        cmocka_unit_test_setup_teardown(predictions_say_what_is_wrong_in_one_line, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
