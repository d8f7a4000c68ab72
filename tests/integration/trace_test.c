/* `edgeps plan --trace` as a user meets it. */
#include "integration/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char twenty[] = EDGEPS_SOURCE_DIR "/examples/twenty-site.json";
static const char six[] = EDGEPS_SOURCE_DIR "/examples/six-site.json";
static const char *const policies[] = {"adjust", "static", "replan", "greedy-repair", "offline"};

typedef struct account {
    double total_s, train_s, move_s, mib, regret_s, percent;
    long moves, lost;
} account;

/* The number at *at, which moves behind it and its unit. */
static double number(const char **at, const char *unit)
{
    char *end;
    double value = strtod(*at, &end);
    assert_true(end > *at && strncmp(end, unit, strlen(unit)) == 0);
    *at = end + strlen(unit);
    return value;
}

/* The line of a policy in the table. */
static account account_of(const command *c, const char *policy)
{
    char start[32];
    account a;
    snprintf(start, sizeof start, "\n%-13s  ", policy);
    const char *line = strstr(c->text, start);
    if (!line)
        fail_msg("no line of %s:\n%s", policy, c->text);
    const char *at = line + strlen(start);
    a.total_s = number(&at, " s");
    a.train_s = number(&at, " s");
    a.move_s = number(&at, " s");
    a.moves = (long)number(&at, "");
    a.mib = number(&at, " MiB");
    a.lost = (long)number(&at, "");
    a.regret_s = number(&at, " s");
    a.percent = number(&at, " %");
    return a;
}

/* The storage that shrinks in epoch 2 stops who does not move. */
static void the_twenty_sites_are_followed_by_every_policy(void **state)
{
    (void)state;
    command c;
    command_run(&c, (const char *const[]){"plan", twenty, "--trace", "--algo", "greedy", NULL});
    assert_int_equal(c.status, 0);
    account best = account_of(&c, "offline");
    for (size_t k = 0; k < sizeof policies / sizeof *policies; k++) {
        account a = account_of(&c, policies[k]);
        assert_true(a.total_s >= best.total_s && a.regret_s >= 0);
        assert_true(strcmp(policies[k], "static") == 0 ? a.lost > 0 && a.moves == 0 : a.lost == 0);
    }
    account adjust = account_of(&c, "adjust");
    assert_true(adjust.moves > 0 && adjust.move_s > 0 && adjust.mib > 0);
    assert_true(adjust.percent < 20);
}

static void the_same_seed_gives_the_same_trace(void **state)
{
    (void)state;
    static command a, b;
    const char *const arguments[] = {"plan",   twenty, "--trace",  "--json", "--algo", "greedy",
                                     "--seed", "4",    "--epochs", "3",      NULL};
    command_run(&a, arguments);
    command_run(&b, arguments);
    assert_int_equal(a.status, 0);
    assert_string_equal(a.text, b.text);
}

static void only_the_wanted_policies_are_printed(void **state)
{
    (void)state;
    command c;
    command_run(&c, (const char *const[]){"plan", six, "--trace", "--epochs", "2", "--algo",
                                          "greedy", "--policy", "replan,static", NULL});
    assert_int_equal(c.status, 0);
    assert_true(account_of(&c, "replan").total_s == account_of(&c, "static").total_s);
    assert_null(strstr(c.text, "\nadjust"));
}

static void progress_names_policy_and_epoch(void **state)
{
    (void)state;
    command c;
    command_run(&c, (const char *const[]){"plan", six, "--trace", "--epochs", "2", "--algo",
                                          "greedy", "--progress", NULL});
    assert_int_equal(c.status, 0);
    assert_non_null(strstr(c.text, "s  placement: epoch 2\n"));
    assert_non_null(strstr(c.text, "s  adjust: epoch 1\n"));
}

static void bad_usage_is_refused_with_the_option(void **state)
{
    (void)state;
    command_refuses((const char *const[]){"plan", six, "--trace", NULL}, 2,
                    "--trace: the scenario of the network names no epoch; give --epochs");
    command_refuses(
        (const char *const[]){"plan", six, "--trace", "--epochs", "2", "--policy", "static,x",
                              NULL},
        2,
        "--policy: 'x' is not known; choose from: all, adjust, static, replan, greedy-repair, "
        "offline");
    command_refuses((const char *const[]){"plan", six, "--trace", "--epochs", "-1", NULL}, 2,
                    "--epochs: ");
    command_refuses(
        (const char *const[]){"plan", six, "--trace", "--epochs", "1", "--pause", "3", NULL}, 2,
        "--pause: '3' has no unit");
    command_refuses((const char *const[]){"plan", six, "--trace", "--out", "x", NULL}, 2,
                    "--out: does not go with --trace");
}

/* b, the only worker beside a, dies: a trains on, alone. */
static void a_node_that_is_killed_is_gone(void **state)
{
    (void)state;
    char dir[64], path[96];
    command c;
    folder_make(dir);
    snprintf(path, sizeof path, "%s/net.json", dir);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("{\"edgeps\": \"network/1\", \"nodes\": [{\"name\": \"a\", \"up\": \"9 MB/s\", \"down\": "
          "\"9 MB/s\", \"compute\": \"90 samples/s\", \"free\": \"9 MiB\"}, {\"name\": \"b\", "
          "\"up\": \"9 MB/s\", \"down\": \"9 MB/s\", \"compute\": \"90 samples/s\", \"free\": "
          "\"9 MiB\"}], \"scenario\": [{\"epoch\": 2, \"node\": \"b\", \"kill\": true}]}",
          file);
    assert_int_equal(fclose(file), 0);
    command_run(&c, (const char *const[]){"plan", path, "--trace", "--algo", "greedy", NULL});
    assert_int_equal(c.status, 0);
    assert_int_equal(account_of(&c, "static").lost, 1);
    assert_int_equal(account_of(&c, "adjust").lost, 0);
    assert_non_null(strstr(c.text, "offline, which is the best of all sequences of plans"));
    folder_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_twenty_sites_are_followed_by_every_policy),
        cmocka_unit_test(the_same_seed_gives_the_same_trace),
        cmocka_unit_test(only_the_wanted_policies_are_printed),
        cmocka_unit_test(progress_names_policy_and_epoch),
        cmocka_unit_test(bad_usage_is_refused_with_the_option),
        cmocka_unit_test(a_node_that_is_killed_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
