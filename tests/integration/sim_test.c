/* `edgeps sim` as a user meets it. */
#include "integration/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void a_search_without_a_find_says_how_many_runs_there_were(void **state)
{
    command c;
    (void)state;
    command_run(&c, (const char *const[]){"sim", "--fault-search", "150", "--seed", "9", NULL});
    assert_int_equal(c.status, 0);
    assert_non_null(strstr(c.text, "100 of 150 runs\r150 of 150 runs\n"));
    assert_non_null(strstr(c.text, "150 runs with "));
    assert_non_null(strstr(c.text, " faults: no invariant broke\n"));
}

static void a_script_is_replayed_and_a_bad_one_refused(void **state)
{
    char dir[64], path[100];
    (void)state;
    folder_make(dir);
    snprintf(path, sizeof path, "%s/script", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "edgeps-script 1\nseed 17\nnodes 4\nrounds 3\nfault 0.25 kill 2\n");
    fclose(file);
    command c;
    command_run(&c, (const char *const[]){"sim", "--replay", path, NULL});
    command_expect_line(&c, 0, "no invariant broke");
    file = fopen(path, "a");
    fprintf(file, "fault 0.5 kill 4\n");
    fclose(file);
    command_refuses((const char *const[]){"sim", "--replay", path, NULL}, 2,
                    "script: line 6: a script has the lines");
    folder_remove(dir);
}

static void a_training_prints_its_epochs_the_same_each_time(void **state)
{
    (void)state;
    static const char twenty[] = EDGEPS_SOURCE_DIR "/examples/twenty-site.json";
    const char *const words[] = {"sim", twenty, "--epochs", "4", "--csv", "--algo", "greedy", NULL};
    command a, b;
    command_run(&a, words);
    assert_int_equal(a.status, 0);
    int lines = 0;
    double ended_s = 0;
    for (const char *at = strchr(a.text, '\n'); at && at[1]; at = strchr(at + 1, '\n'), lines++) {
        char *end;
        assert_int_equal(strtol(at + 1, &end, 10), lines + 1);
        double begin_s = strtod(end + 1, &end), train_s = strtod(end + 1, &end);
        assert_true(begin_s >= ended_s && train_s > 0);
        ended_s = begin_s + train_s;
    }
    assert_int_equal(lines, 4);
    command_run(&b, words);
    assert_string_equal(a.text, b.text);
}

static void a_drawn_scenario_is_simulated(void **state)
{
    (void)state;
    static const char twenty[] = EDGEPS_SOURCE_DIR "/examples/twenty-site.json";
    char dir[64], path[100];
    folder_make(dir);
    snprintf(path, sizeof path, "%s/moving.json", dir);
    command c;
    command_run(&c,
                (const char *const[]){"scenario", "generate", twenty, "--kind", "diurnal", "--what",
                                      "up", "--step", "2 s", "--replace", "-o", path, NULL});
    assert_int_equal(c.status, 0);
    command_run(&c, (const char *const[]){"sim", path, "--epochs", "2", "--algo", "greedy", NULL});
    assert_int_equal(c.status, 0);
    assert_non_null(strstr(c.text, "2 epochs of "));
    command_refuses((const char *const[]){"scenario", "generate", twenty, NULL}, 2,
                    "--kind: is missing");
    command_refuses(
        (const char *const[]){"scenario", "generate", twenty, path, "--kind", "walk", NULL}, 2,
        "takes a network;");
    command_refuses((const char *const[]){"scenario", "import", twenty, NULL}, 2,
                    "takes a network and a file");
    command_refuses((const char *const[]){"scenario", "import", twenty, path, NULL}, 2,
                    "moving.json: line ");
    command_refuses(
        (const char *const[]){"scenario", "import", twenty, path, "--format", "mahimahi", NULL}, 2,
        "--node: is missing");
    command_refuses((const char *const[]){"scenario", "forget", NULL}, 2, "neither generate nor");
    folder_remove(dir);
}

static void simgrid_tells_the_same_or_is_asked_for(void **state)
{
    (void)state;
    static const char twenty[] = EDGEPS_SOURCE_DIR "/examples/twenty-site.json";
    const char *const other[] = {"sim",    twenty,   "--epochs", "2",         "--csv",   "--algo",
                                 "greedy", "--seed", "1",        "--network", "simgrid", NULL};
    const char *const own[] = {"sim",    twenty,   "--epochs", "2", "--csv",
                               "--algo", "greedy", "--seed",   "1", NULL};
    command a, b;
    command_run(&a, other);
    if (a.status != 0) {
        command_expect_line(&a, 2, "built without SimGrid; install libsimgrid-dev");
        return;
    }
    command_run(&b, own);
    assert_string_equal(a.text, b.text);
}

static void bad_usage_is_one_line(void **state)
{
    (void)state;
    command_refuses((const char *const[]){"sim", NULL}, 2, "say what to simulate");
    command_refuses((const char *const[]){"sim", "a", "--replay", "b", NULL}, 2,
                    "say what to simulate");
    command_refuses((const char *const[]){"sim", "a", "--adjust", "never", NULL}, 2, "--adjust");
    command_refuses((const char *const[]){"sim", "a", "--csv", "--json", NULL}, 2, "--csv");
    command_refuses((const char *const[]){"sim", "a", "--deadline", "1 s", NULL}, 2, "--deadline");
    command_refuses((const char *const[]){"sim", "a", "--network", "ns3", NULL}, 2, "--network");
    command_refuses((const char *const[]){"sim", "/nowhere/net.json", NULL}, 2,
                    "/nowhere/net.json");
    command_refuses((const char *const[]){"sim", "--fault-search", "0", NULL}, 2, "--fault-search");
    command_refuses((const char *const[]){"sim", "--fault-search", "5", "--nodes", "65", NULL}, 2,
                    "--nodes");
    command_refuses((const char *const[]){"sim", "--replay", "/nowhere/at/all", NULL}, 2,
                    "/nowhere/at/all: No such file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_without_a_find_says_how_many_runs_there_were),
        cmocka_unit_test(a_script_is_replayed_and_a_bad_one_refused),
        cmocka_unit_test(a_training_prints_its_epochs_the_same_each_time),
        cmocka_unit_test(a_drawn_scenario_is_simulated),
        cmocka_unit_test(simgrid_tells_the_same_or_is_asked_for),
        cmocka_unit_test(bad_usage_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
