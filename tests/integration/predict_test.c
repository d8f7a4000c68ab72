/* `edgeps bench predict` as a user meets it. Times depend on the machine, so that they are there is
 * all that is asked of the emulated ones. */
#include "integration/command.h"

#include "nn/synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char dir[64], network[96], data[96], out[96];

static int set_up(void **state)
{
    (void)state;
    folder_make(dir);
    snprintf(network, sizeof network, "%s/network.json", dir);
    snprintf(data, sizeof data, "%s/data", dir);
    snprintf(out, sizeof out, "%s/it's out", dir);
    assert_int_equal(mkdir(data, 0755), 0);
    assert_int_equal(nn_synthetic_write(data, 500, 100, 7, NULL), EDGEPS_OK);
    FILE *file = fopen(network, "we");
    assert_non_null(file);
    fputs("{\"edgeps\": \"network/1\", \"name\": \"trio\", \"nodes\": [\n", file);
    for (int i = 0; i < 3; i++)
        fprintf(file,
                "%s{\"name\": \"%c\", \"up\": \"%d Mbit/s\", \"down\": \"90 Mbit/s\", "
                "\"latency\": \"1 ms\", \"compute\": \"%d samples/s\", \"free\": \"16 MiB\"}",
                i ? ",\n" : "", 'a' + i, 50 + 10 * i, 2000 + 700 * i);
    fputs("],\n\"scenario\": [{\"epoch\": 1, \"node\": \"b\", \"up\": \"1 kbit/s\"}]}\n", file);
    assert_int_equal(fclose(file), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(dir);
    return 0;
}

/* The cell of the table, by the name of its column; lines count from 1, below the head. */
static void cell(const char *file, int line, const char *column, char text[256])
{
    char path[192], head[1024], row[1024], *save_head, *save_row;
    snprintf(path, sizeof path, "%s/%s", out, file);
    FILE *from = fopen(path, "re");
    if (!from)
        fail_msg("%s: is missing", path);
    assert_non_null(fgets(head, sizeof head, from));
    for (int k = 0; k < line; k++)
        assert_non_null(fgets(row, sizeof row, from));
    fclose(from);
    /* Quoted names have commas; the columns that are asked for stand before them. */
    const char *name = strtok_r(head, ",", &save_head), *value = strtok_r(row, ",", &save_row);
    while (name && strcmp(name, column) != 0) {
        name = strtok_r(NULL, ",", &save_head);
        value = strtok_r(NULL, ",", &save_row);
    }
    if (!name || !value)
        fail_msg("%s has no %s", file, column);
    snprintf(text, 256, "%s", value);
}

static double number(const char *file, int line, const char *column)
{
    char text[256];
    cell(file, line, column, text);
    return strtod(text, NULL);
}

/* What `edgeps plan` says of the plan that the run followed. */
static double planned_s(const char *run)
{
    command c;
    char algorithm[256];
    snprintf(algorithm, sizeof algorithm, "exec:cat \"%s/runs/%s/plan.json\"", out, run);
    command_run(&c, (const char *const[]){"plan", network, "--algo", algorithm, "--no-polish",
                                          "--samples", "192", "--max-locals", "2", "--json", NULL});
    const char *found = strstr(c.text, "\"epoch_s\":");
    if (c.status || !found)
        fail_msg("%s", c.text);
    return found ? strtod(found + strlen("\"epoch_s\":"), NULL) : NAN;
}

/* Who is whose parent: from this key to the next brace of the file. */
static void read_parents(const char *run, const char *name, char text[1024])
{
    char path[256], whole[8192];
    snprintf(path, sizeof path, "%s/runs/%s/%s", out, run, name);
    FILE *from = fopen(path, "re");
    if (!from)
        fail_msg("%s: is missing", path);
    whole[fread(whole, 1, sizeof whole - 1, from)] = '\0';
    fclose(from);
    const char *begin = strstr(whole, "\"parent\""), *end = begin ? strchr(begin, '}') : NULL;
    if (!end)
        fail_msg("%s: has no parents", path);
    snprintf(text, 1024, "%.*s", (int)(end - begin), begin);
}

static void expect_followed(const char *run)
{
    char asked[1024], followed[1024];
    read_parents(run, "plan.json", asked);
    read_parents(run, "run/plans/plan-1.json", followed);
    assert_string_equal(asked, followed);
}

static void plans_are_predicted_and_emulated(void **state)
{
    (void)state;
    static const char *const plans[] = {"best", "single"};
    static const char *const runs[] = {"epochs-3-pipelined-best-0", "epochs-3-pipelined-single-1"};
    command c;
    char text[256];
    command_run(&c, (const char *const[]){"bench", "predict", "--tables", "epochs", "--quick",
                                          "--networks", network, "--rounds", "2", "--epochs", "2",
                                          "--force", "--data", data, "--out", out, NULL});
    if (strstr(c.text, "run as root") || strstr(c.text, "not installed")) {
        print_message("skipped: %s", c.text);
        skip();
    }
    if (c.status)
        fail_msg("%s", c.text);
    for (int k = 0; k < 2; k++) {
        cell("epochs.csv", k + 1, "plan", text);
        assert_string_equal(text, plans[k]);
        double predicted_s = number("epochs.csv", k + 1, "predicted_s");
        assert_true(fabs(predicted_s / planned_s(runs[k]) - 1) < 1e-3);
        assert_true(number("epochs.csv", k + 1, "emulated_s") > 0);
        expect_followed(runs[k]);
    }
    cell("summary.csv", 2, "table", text);
    assert_string_equal(text, "all");
    command_run(&c,
                (const char *const[]){"bench", "predict", "--tables", "epochs", "--quick",
                                      "--networks", network, "--data", data, "--out", out, NULL});
    assert_int_equal(c.status, 2);
    assert_non_null(strstr(c.text, "is there from an earlier measurement"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plans_are_predicted_and_emulated, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
