/* `edgeps topo` as a user meets it: what it writes, and how it refuses. */
#include "integration/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

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

#define RUN(c, ...) command_run(&(c), (const char *const[]){__VA_ARGS__, NULL})

static void expect(const command *c, int status, const char *words)
{
    if (c->status != status || !strstr(c->text, words))
        fail_msg("status %d, expected %d with '%s':\n%s", c->status, status, words, c->text);
}

static void refuses(const char *const *arguments, const char *words)
{
    command c;
    command_run(&c, arguments);
    expect(&c, 2, words);
    const char *end = strchr(c.text, '\n');
    if (!end || end[1])
        fail_msg("not one line: %s", c.text);
}

#define REFUSES(words, ...) refuses((const char *const[]){__VA_ARGS__, NULL}, words)

static void a_generated_network_is_planned(void **state)
{
    (void)state;
    static const char *const kinds[] = {"two-tier", "thesis", "waxman", "barabasi-albert"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        command c;
        RUN(c, "topo", "generate", "--kind", kinds[k], "--nodes", "30", "-o", path);
        expect(&c, 0, "");
        assert_int_equal(c.length, 0);
        RUN(c, "plan", path, "--max-locals", "8");
        expect(&c, 0, "predicted: ");
    }
}

static void the_same_options_print_the_same_network(void **state)
{
    (void)state;
    command a, b;
    RUN(a, "topo", "generate", "--kind", "two-tier", "--nodes", "40", "--seed", "5");
    RUN(b, "topo", "generate", "--nodes", "40", "--seed", "5", "--kind", "two-tier");
    assert_int_equal(a.status, 0);
    assert_string_equal(a.text, b.text);
    RUN(b, "topo", "generate", "--kind", "two-tier", "--nodes", "40", "--seed", "6");
    assert_string_not_equal(a.text, b.text);
}

static void options_reach_the_network(void **state)
{
    (void)state;
    command c;
    RUN(c, "topo", "generate", "--kind", "two-tier", "--nodes", "6", "--sites", "2", "--spread",
        "1", "--rate", "800 Mbit/s", "--wan-rate", "30 Mbit/s", "--compute", "70 samples/s",
        "--free", "2 MiB", "--epochs", "2");
    assert_int_equal(c.status, 0);
    static const char *const words[] = {
        "\"up\": \"800 Mbit/s\"", "\"cap\": \"30 Mbit/s\"", "\"compute\": \"70 samples/s\"",
        "\"free\": \"2050 KiB\"", "\"epoch\": 2",           "\"site2\"\n"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        expect(&c, 0, words[k]);
    assert_null(strstr(c.text, "site3"));
}

static void bad_usage_is_refused_with_the_option(void **state)
{
    (void)state;
    REFUSES("edgeps topo: no command given", "topo");
    REFUSES("edgeps topo: 'nonsense' is no command", "topo", "nonsense");
    REFUSES("edgeps topo generate: --kind: is missing", "topo", "generate");
    REFUSES("--kind: 'ring' is none of: two-tier, thesis, waxman, "
            "barabasi-albert",
            "topo", "generate", "--kind", "ring", "--nodes", "3");
    REFUSES("--nodes: is missing", "topo", "generate", "--kind", "thesis");
    REFUSES("--nodes: 0 is not within 1 and 100000", "topo", "generate", "--kind", "thesis",
            "--nodes", "0");
    REFUSES("'x.json': is no option", "topo", "generate", "x.json");
    REFUSES("--rate: '5' has no unit", "topo", "generate", "--kind", "thesis", "--nodes", "3",
            "--rate", "5");
    REFUSES("sites: 4 are more than the 3 nodes", "topo", "generate", "--kind", "two-tier",
            "--nodes", "3", "--sites", "4");
    REFUSES("-o: needs a value", "topo", "generate", "-o");
    REFUSES("-x: no such option", "topo", "generate", "-x");
}

static void an_unwritable_file_is_a_failure(void **state)
{
    (void)state;
    command c;
    RUN(c, "topo", "generate", "--kind", "thesis", "--nodes", "3", "-o", "/nonexistent/x");
    expect(&c, 1, "/nonexistent/x cannot be written: No such file or directory");
    RUN(c, "topo", "generate", "--kind", "thesis", "--nodes", "3", "-o", "/dev/full");
    expect(&c, 1, "/dev/full cannot be written: No space left on device");
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_generated_network_is_planned),  UNIT(the_same_options_print_the_same_network),
        UNIT(options_reach_the_network),       UNIT(bad_usage_is_refused_with_the_option),
        UNIT(an_unwritable_file_is_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
