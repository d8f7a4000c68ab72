/* `edgeps explain` as a user meets it: its numbers against paper and against `edgeps plan`, and how
 * it refuses. */
#include "integration/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char six[] = EDGEPS_SOURCE_DIR "/examples/six-site.json";
static const char hand[] = EDGEPS_SOURCE_DIR "/examples/hand-case.json";
static char dir[64], plan_path[96], net_path[96];

static int set_up(void **state)
{
    (void)state;
    folder_make(dir);
    snprintf(plan_path, sizeof plan_path, "%s/plan.json", dir);
    snprintf(net_path, sizeof net_path, "%s/net.json", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(dir);
    return 0;
}

static void run(command *c, const char *const *arguments)
{
    command_run(c, arguments);
    if (c->status != 0)
        fail_msg("status %d:\n%s", c->status, c->text);
}

/* The number after `key` that comes after `before` in the text. */
static double number_after(const char *text, const char *before, const char *key)
{
    const char *found = strstr(text, before);
    found = found ? strstr(found, key) : NULL;
    if (!found)
        fail_msg("no %s after %s in\n%s", key, before, text);
    return found ? strtod(found + strlen(key), NULL) : NAN;
}

static void assert_close(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9))
        fail_msg("got %.12g, want %.12g", got, want);
}

/* w4 alone fills its up link of 2 Mbit/s, the three pulls share the 20 Mbit/s of GPS: 1 Mbit/s more
 * makes 3 and 21 of them, and the down link of GPS is never full. */
static void the_hand_case_gains_what_paper_says(void **state)
{
    (void)state;
    const double bits = 8 * (61706 * 4 + 64), compute_s = 32 / 2000.0;
    static command c;
    run(&c, (const char *const[]){"explain", hand, "--transfer", "store-and-forward", "--rate",
                                  "1 Mbit/s", "--speed", "2", "--json", NULL});
    assert_close(number_after(c.text, "{", "\"round_s\": "),
                 compute_s + bits / 2e6 + 3 * bits / 20e6);
    assert_close(number_after(c.text, "\"w4\",\n   \"resource\": \"up\"", "\"gain_s\": "),
                 bits / 2e6 - bits / 3e6);
    assert_close(number_after(c.text, "\"GPS\",\n   \"resource\": \"up\"", "\"gain_s\": "),
                 3 * bits / 20e6 - 3 * bits / 21e6);
    assert_close(number_after(c.text, "\"w4\",\n   \"resource\": \"compute\"", "\"gain_s\": "),
                 compute_s / 2);
    assert_null(strstr(c.text, "\"down\""));
}

/* The same plan file with a network in which the change is made. */
static void a_gain_is_that_of_the_changed_network(void **state)
{
    (void)state;
    static command c, changed;
    char text[1024];
    static const char form[] = "{\"edgeps\": \"network/1\", \"nodes\": ["
                               "{\"name\": \"a\", \"up\": \"9 MB/s\", \"down\": \"8 MB/s\","
                               " \"compute\": \"900 samples/s\", \"free\": \"9 MiB\"},"
                               "{\"name\": \"b\", \"up\": \"%d MB/s\", \"down\": \"5 MB/s\","
                               " \"compute\": \"800 samples/s\", \"free\": \"90 KiB\"},"
                               "{\"name\": \"c\", \"up\": \"7 MB/s\", \"down\": \"6 MB/s\","
                               " \"compute\": \"800 samples/s\", \"free\": \"90 KiB\"}]}";
    for (int rate = 2; rate <= 3; rate++) {
        FILE *file = fopen(net_path, "we");
        assert_non_null(file);
        snprintf(text, sizeof text, form, rate);
        fputs(text, file);
        assert_int_equal(fclose(file), 0);
        if (rate == 2)
            run(&c, (const char *const[]){"plan", net_path, "--out", plan_path, NULL});
        run(rate == 2 ? &c : &changed,
            (const char *const[]){"explain", net_path, plan_path, "--json", NULL});
    }
    double gain_s = number_after(c.text, "\"b\",\n   \"resource\": \"up\"", "\"gain_s\": ");
    assert_true(gain_s > 0);
    assert_close(gain_s, number_after(c.text, "{", "\"round_s\": ") -
                             number_after(changed.text, "{", "\"round_s\": "));
}

static void without_a_node_is_the_plan_of_the_others(void **state)
{
    (void)state;
    static command c, others;
    FILE *in = fopen(six, "re"), *out = fopen(net_path, "we");
    char line[512];
    assert_true(in && out);
    while (fgets(line, sizeof line, in))
        if (!strstr(line, "\"harbour\""))
            fputs(line, out);
    fclose(in);
    assert_int_equal(fclose(out), 0);
    run(&others, (const char *const[]){"plan", net_path, "--algo", "brute", "--json", NULL});
    run(&c, (const char *const[]){"explain", six, "--algo", "brute", "--without", "harbour",
                                  "--json", NULL});
    assert_close(number_after(c.text, "\"without\"", "\"round_s\": "),
                 number_after(others.text, "{", "\"round_s\": "));
    assert_close(number_after(c.text, "\"without\"", "\"epoch_s\": "),
                 number_after(others.text, "{", "\"epoch_s\": "));
    run(&c, (const char *const[]){"explain", hand, "--without", "GPS", NULL});
    assert_non_null(strstr(c.text, "\nwithout GPS: "));
}

static void the_table_says_roles_gains_and_what_is_proved(void **state)
{
    (void)state;
    static const char *const words[] = {
        "round: ", "bottleneck: ",     "server ", "round without it", "harbour ",
        "global",  "one change at a ", "saves ",  "re-planned ",      "gain nothing: proved"};
    static command c, again;
    run(&c, (const char *const[]){"explain", six, "--replan", NULL});
    run(&again, (const char *const[]){"explain", six, "--replan", NULL});
    assert_string_equal(c.text, again.text);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (!strstr(c.text, words[k]))
            fail_msg("'%s' is missing:\n%s", words[k], c.text);
}

static void bad_usage_and_plans_that_do_not_hold_are_refused(void **state)
{
    (void)state;
    static command c;
    run(&c, (const char *const[]){"plan", six, "--out", plan_path, NULL});
    command_refuses((const char *const[]){"explain", NULL}, 2, "no network file given");
    command_refuses((const char *const[]){"explain", six, plan_path, six, NULL}, 2,
                    "one argument too many");
    command_refuses((const char *const[]){"explain", six, "/nonexistent/p.json", NULL}, 2,
                    "/nonexistent/p.json: cannot be read");
    command_refuses((const char *const[]){"explain", six, six, NULL}, 2, "six-site.json: ");
    command_refuses((const char *const[]){"explain", hand, plan_path, NULL}, 2,
                    "plan.json: global: no node is called");
    run(&c, (const char *const[]){"plan", six, "--shards", "2", "--out", net_path, NULL});
    command_refuses((const char *const[]){"explain", six, net_path, NULL}, 2,
                    "net.json: shards: a plan in several shards does not go here; make one with");
    command_refuses((const char *const[]){"explain", six, plan_path, "--max-locals", "1", NULL}, 3,
                    "plan.json: 2 local servers, at most 1 are allowed");
    command_refuses((const char *const[]){"explain", six, "--without", "atlantis", NULL}, 2,
                    "--without: no node is called 'atlantis'");
    command_refuses((const char *const[]){"explain", six, "--rate", "5", NULL}, 2,
                    "--rate: '5' has no unit");
    command_refuses((const char *const[]){"explain", six, "--speed", "0.5", NULL}, 2,
                    "--speed: 0.5 is not within 1 and");
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(the_hand_case_gains_what_paper_says),
        UNIT(a_gain_is_that_of_the_changed_network),
        UNIT(without_a_node_is_the_plan_of_the_others),
        UNIT(the_table_says_roles_gains_and_what_is_proved),
        UNIT(bad_usage_and_plans_that_do_not_hold_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
