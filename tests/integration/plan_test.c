/* `edgeps plan` as a user meets it: what it prints, and how it refuses. */
#include "integration/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define A(more)                                                                                    \
    "{\"name\": \"a\", \"up\": \"9 MB/s\", \"down\": \"9 MB/s\", \"compute\": \"90 samples/s\", "  \
    "\"free\": \"9 MiB\"" more "}"
#define B(more)                                                                                    \
    "{\"name\": \"b\", \"up\": \"9 MB/s\", \"down\": \"9 MB/s\", \"compute\": \"90 samples/s\", "  \
    "\"free\": \"9 MiB\"" more "}"
#define NET(nodes, more) "{\"edgeps\": \"network/1\", \"nodes\": [" nodes "]" more "}"

static const char six[] = EDGEPS_SOURCE_DIR "/examples/six-site.json";
static const char twenty[] = EDGEPS_SOURCE_DIR "/examples/twenty-site.json";
static const char hand[] = EDGEPS_SOURCE_DIR "/examples/hand-case.json";
static char dir[64], path[96];

static int set_up(void **state)
{
    (void)state;
    folder_make(dir);
    snprintf(path, sizeof path, "%s/net.json", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(dir);
    return 0;
}

/* What is said of a network file with this text. */
static void refuses_file(const char *text, int status, const char *words)
{
    command c;
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    command_run(&c, (const char *const[]){"plan", path, NULL});
    command_expect_line(&c, status, words);
    command_expect_line(&c, status, "net.json: ");
}

static void a_bad_network_file_is_refused_with_place_and_remedy(void **state)
{
    (void)state;
    refuses_file(NET(A(""), ", \"pairs\": [{\"from\": \"a\", \"to\": \"x\", \"cap\": \"1 B/s\"}]"),
                 2, "pairs[0]: to: no node is called 'x'");
    refuses_file(NET(A(""), ", \"scenario\": [{\"epoch\": 1, \"node\": \"y\", \"kill\": true}]"), 2,
                 "scenario[0]: node: no node is called 'y'");
    refuses_file(NET(A(", \"sum\": \"-1 MB/s\""), ""), 2,
                 "nodes[0] 'a': sum: '-1 MB/s' is negative");
    refuses_file(NET(A(", \"sum\": 20"), ""), 2,
                 "nodes[0] 'a': sum: a bare number has no unit; write a text with one");
    refuses_file(NET(A(", \"sum\": \"20\""), ""), 2,
                 "'20' has no unit; write it like \"20 Mbit/s\"");
    refuses_file(NET(A("") ", " A(""), ""), 2, "nodes[1] 'a': name: is used twice");
    refuses_file(NET(A(", \"latency\": \"1e308 h\""), ""), 2,
                 "nodes[0] 'a': latency: '1e308 h' is beyond any real quantity");
    refuses_file(NET("{\"name\": \"a\\nb\", \"up\": \"x\"}", ""), 2,
                 "nodes[0] 'a?b': down: is missing");
    refuses_file("{\n\"edgeps\": }", 2, "line 2, column 11");
    refuses_file("", 2, "line 1");
}

static void an_infeasible_problem_names_what_binds(void **state)
{
    (void)state;
    refuses_file(NET(A("") ", " B(""), ", \"pairs\": [{\"from\": \"a\", \"to\": \"b\","
                                       " \"cap\": \"0 bit/s\"}]"),
                 3, "node 'a' is cut off: no path to and from any other node");
    refuses_file(NET("{\"name\": \"a\", \"up\": \"9 MB/s\", \"down\": \"9 MB/s\","
                     " \"compute\": \"90 samples/s\", \"free\": \"90 KiB\"}",
                     ""),
                 3, "storage: ");
}

/* LeNet-5's global server needs 2.2 MiB. */
#define THIRD(name)                                                                                \
    "{\"name\": \"" name "\", \"up\": \"9 MB/s\", \"down\": \"9 MB/s\", "                          \
    "\"compute\": \"90 samples/s\", \"free\": \"1500 KiB\"}"

static void a_model_that_fits_on_no_node_is_planned_in_shards(void **state)
{
    (void)state;
    command c;
    refuses_file(NET(THIRD("a") ", " THIRD("b"), ""), 3,
                 "offers 1500 KiB; --shards auto spreads the model over several nodes");
    command_run(&c, (const char *const[]){"plan", path, "--shards", "auto", NULL});
    assert_int_equal(c.status, 0);
    assert_non_null(strstr(c.text, "shard 2 of 2, "));
    assert_non_null(strstr(c.text, "proved within "));
    command_run(&c, (const char *const[]){"plan", path, "--shards", "2", "--json", NULL});
    assert_int_equal(c.status, 0);
    assert_non_null(strstr(c.text, "\"shards\": ["));
    assert_non_null(strstr(c.text, "\"first_parameter\": 0"));
    assert_null(strstr(c.text, "--shards auto"));
    refuses_file(NET(THIRD("a"), ""), 3, "offers 1500 KiB");
    command_run(&c, (const char *const[]){"plan", path, "--shards", "auto", NULL});
    command_expect_line(&c, 3, "storage: the servers of 1 shard need at least ");
}

static void bad_usage_is_refused_with_the_option(void **state)
{
    (void)state;
    command_refuses((const char *const[]){"plan", NULL}, 2, "edgeps plan: no network file given");
    command_refuses((const char *const[]){"plan", "/nonexistent/x.json", NULL}, 2,
                    "/nonexistent/x.json: cannot be read: No such file or directory");
    command_refuses((const char *const[]){"plan", six, six, NULL}, 2, "one argument too many");
    command_refuses((const char *const[]){"plan", six, "--colour", NULL}, 2,
                    "--colour: no such option");
    command_refuses((const char *const[]){"plan", six, "--seed", NULL}, 2, "--seed: needs a value");
    command_refuses((const char *const[]){"plan", six, "--seed", "x", NULL}, 2,
                    "--seed: 'x' is not a whole number");
    command_refuses((const char *const[]){"plan", six, "--max-locals", "0", NULL}, 2,
                    "--max-locals: 0 is not within 1 and");
    command_refuses((const char *const[]){"plan", six, "--shards", "some", NULL}, 2,
                    "--shards: 'some' is neither a whole number from 1 nor auto");
    command_refuses((const char *const[]){"plan", six, "--shards", "60", NULL}, 2,
                    "shards: this job can be cut into 1 to ");
    command_refuses((const char *const[]){"plan", six, "--trace", "--shards", "2", NULL}, 2,
                    "--shards: does not go with --trace");
    command_refuses((const char *const[]){"plan", six, "--deadline", "5", NULL}, 2,
                    "--deadline: '5' has no unit");
    command_refuses((const char *const[]){"plan", six, "--model", "gpt", NULL}, 2,
                    "model 'gpt' is not known; choose one of: lenet5, mlp");
    command_refuses((const char *const[]){"plan", six, "--algo", "magic", NULL}, 2,
                    "algorithm 'magic' is not known; choose one of: approx, ");
    command_refuses((const char *const[]){"plan", twenty, "--algo", "brute", NULL}, 2,
                    "at most 12 nodes, not 20");
    command_refuses((const char *const[]){"dance", NULL}, 2, "edgeps: 'dance' is no command");
}

static void an_outside_algorithm_is_a_command_away(void **state)
{
    (void)state;
    static const char example[] = "exec:python3 " EDGEPS_SOURCE_DIR "/examples/exec_greedy.py";
    command c;
    command_run(&c, (const char *const[]){"plan", twenty, "--json", "--algo", example, NULL});
    assert_int_equal(c.status, 0);
    assert_non_null(strstr(c.text, "\"algo\": \"exec:python3 "));
    command_refuses((const char *const[]){"plan", six, "--algo",
                                          "exec:echo '{\"global\": \"nowhere\", \"parent\": {}}'",
                                          NULL},
                    2, "its plan: global: no node is called 'nowhere'");
    command_refuses(
        (const char *const[]){"plan", six, "--algo", "exec:sleep 100", "--deadline", "100 ms",
                              NULL},
        1, "edgeps plan: exec:sleep 100: the command gave no plan within the deadline of 0.1 s");
    command_refuses((const char *const[]){"plan", six, "--algo", "exec:exit 3", NULL}, 3,
                    "exec:exit 3 found no plan");
}

/* The outside algorithm interrupts its caller, like Ctrl-C. */
static void an_interrupt_ends_the_search_and_what_it_started(void **state)
{
    (void)state;
    command_refuses(
        (const char *const[]){"plan", six, "--algo", "exec:kill -INT $PPID; exec sleep 1000", NULL},
        130, "the command was told to stop");
    command c;
    const char *const slow[] = {"plan", twenty, "--json", "--algo", "approx", NULL};
    command_start(&c, slow);
    kill(c.pid, SIGINT);
    command_finish(&c);
    /* Unless the signal came before all else, or after the search. */
    if (c.status == 130 && c.length) {
        assert_non_null(strstr(c.text, "\"stopped\": \"cancelled\""));
        assert_non_null(strstr(c.text, "edgeps plan: interrupted: this is the best plan so far"));
    }
}

static void help_is_there_for_everything(void **state)
{
    (void)state;
    static const char *const all[][3] = {{"--help"},           {"plan", "--help"},
                                         {"plan", "-h"},       {"run", "--help"},
                                         {"report", "--help"}, {"agent", "--help"}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        command c;
        command_run(&c, (const char *const[]){all[k][0], all[k][1], NULL});
        assert_int_equal(c.status, 0);
        assert_non_null(strstr(c.text, "usage: edgeps "));
    }
    command c;
    command_run(&c, (const char *const[]){"--version", NULL});
    assert_int_equal(c.status, 0);
    command_run(&c, (const char *const[]){NULL});
    assert_int_equal(c.status, 2);
}

static void the_same_seed_gives_the_same_plan(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"approx", "greedy", "random"};
    static command a, b;
    for (int k = 0; k < 3; k++) {
        const char *const arguments[] = {"plan",        twenty,   "--json", "--algo",
                                         algorithms[k], "--seed", "5",      NULL};
        command_run(&a, arguments);
        command_run(&b, arguments);
        assert_int_equal(a.status, 0);
        assert_string_equal(a.text, b.text);
    }
}

/* Four steps of 8 samples are, to the clock, one of 32. */
static void a_round_of_local_steps_takes_the_samples_of_all(void **state)
{
    (void)state;
    static command a, b;
    static const char *const commands[] = {"plan", "sim"};
    for (size_t k = 0; k < 2; k++) {
        command_run(&a, (const char *const[]){commands[k], six, "--json", "--batch", "8",
                                              "--local-steps", "4", NULL});
        command_run(&b, (const char *const[]){commands[k], six, "--json", "--batch", "32", NULL});
        assert_int_equal(a.status, 0);
        assert_string_equal(a.text, b.text);
        command_run(&b, (const char *const[]){commands[k], six, "--json", "--batch", "8", NULL});
        assert_string_not_equal(a.text, b.text);
    }
    command_refuses((const char *const[]){"plan", six, "--local-steps", "0", NULL}, 2,
                    "--local-steps");
}

static void json_has_the_promised_keys(void **state)
{
    (void)state;
    static const char *const keys[] = {"generation",    "global",       "locals",  "parent",
                                       "predicted",     "round_s",      "phases",  "bottleneck",
                                       "lower_bound_s", "proved_ratio", "reasons", "need_bytes"};
    command c;
    command_run(&c, (const char *const[]){"plan", six, "--json", NULL});
    assert_int_equal(c.status, 0);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        char quoted[32];
        snprintf(quoted, sizeof quoted, "\"%s\": ", keys[k]);
        if (!strstr(c.text, quoted))
            fail_msg("%s is missing:\n%s", quoted, c.text);
    }
}

/* w4 alone fills its up link of 2 Mbit/s; the three pulls share the 20 Mbit/s of GPS. LeNet-5 has
 * 61,706 floats, a frame 64 bytes more; 32 samples at 2000 a second. */
static void the_hand_case_takes_what_paper_says(void **state)
{
    (void)state;
    const double bytes = 61706 * 4 + 64, compute_s = 32 / 2000.0;
    const double push_s = bytes * 8 / 2e6, pull_s = 3 * bytes * 8 / 20e6;
    const struct {
        const char *before;
        double seconds;
    } lines[] = {{"predicted: ", compute_s + push_s + pull_s},
                 {"  compute ", compute_s},
                 {"  push to local ", push_s},
                 {"  pull to worker ", pull_s}};
    command c;
    command_run(&c, (const char *const[]){"plan", hand, "--transfer", "store-and-forward", NULL});
    assert_int_equal(c.status, 0);
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        const char *found = strstr(c.text, lines[k].before);
        assert_non_null(found);
        double seconds = strtod(found + strlen(lines[k].before), NULL);
        if (fabs(seconds - lines[k].seconds) > 1e-6)
            fail_msg("%s is %f, not %f", lines[k].before, seconds, lines[k].seconds);
    }
}

static void output_that_cannot_be_written_is_told(void **state)
{
    (void)state;
    command c;
    command_run(&c, (const char *const[]){"plan", six, "--out", "/nonexistent/plan.json", NULL});
    assert_int_equal(c.status, 1);
    assert_non_null(strstr(c.text, "edgeps plan: --out: /nonexistent/plan.json cannot be written: "
                                   "No such file or directory\n"));
    snprintf(path, sizeof path, "%s/said", dir);
    char line[512], text[256] = "";
    snprintf(line, sizeof line, "%s/edgeps plan %s >/dev/full 2>%s", EDGEPS_BINARY_DIR, six, path);
    int status = system(line);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "edgeps plan: standard output cannot be written: "
                              "No space left on device\n");
}

static void the_table_says_roles_times_bottleneck_bound_and_why(void **state)
{
    (void)state;
    static const char *const words[] = {"global",           "predicted: ",    "compute ",
                                        "bottleneck: ",     "proved within ", "why: best of ",
                                        "store-and-forward"};
    command c;
    command_run(&c, (const char *const[]){"plan", hand, "--transfer", "store-and-forward", NULL});
    assert_int_equal(c.status, 0);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (!strstr(c.text, words[k]))
            fail_msg("'%s' is missing:\n%s", words[k], c.text);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_bad_network_file_is_refused_with_place_and_remedy),
        UNIT(an_infeasible_problem_names_what_binds),
        UNIT(a_model_that_fits_on_no_node_is_planned_in_shards),
        UNIT(bad_usage_is_refused_with_the_option),
        UNIT(an_outside_algorithm_is_a_command_away),
        UNIT(an_interrupt_ends_the_search_and_what_it_started),
        UNIT(help_is_there_for_everything),
        UNIT(the_same_seed_gives_the_same_plan),
        UNIT(a_round_of_local_steps_takes_the_samples_of_all),
        UNIT(json_has_the_promised_keys),
        UNIT(the_hand_case_takes_what_paper_says),
        UNIT(output_that_cannot_be_written_is_told),
        UNIT(the_table_says_roles_times_bottleneck_bound_and_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
