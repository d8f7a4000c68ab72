/* `edgeps cert` as a user meets it. */
#include "integration/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static char dir[64], folder[96];

static int set_up(void **state)
{
    (void)state;
    folder_make(dir);
    snprintf(folder, sizeof folder, "%s/certs", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(dir);
    return 0;
}

static void succeeds(const char *const *arguments)
{
    command c;
    command_run(&c, arguments);
    if (c.status != 0 || c.length != 0)
        fail_msg("status %d: %s", c.status, c.text);
}

static void expect_shown(const char *file, const char *who, const char *job)
{
    char path[256], words[128];
    command c;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    command_run(&c, (const char *const[]){"cert", "show", path, NULL});
    assert_int_equal(c.status, 0);
    snprintf(words, sizeof words, "who          %s\njob          %s\nvalid        20", who, job);
    if (!strstr(c.text, words) || strstr(c.text, "not today"))
        fail_msg("'%s' is not in: %s", words, c.text);
}

static void makes_an_authority_and_every_member(void **state)
{
    (void)state;
    static const char network[] = EDGEPS_SOURCE_DIR "/examples/twenty-site.json";
    succeeds((const char *const[]){"cert", "init", "--out", folder, "--job", "spring", "--nodes",
                                   network, NULL});
    expect_shown("authority.pem", "authority", "spring");
    expect_shown("coordinator.pem", "coordinator", "spring");
    expect_shown("node-sorrel.pem", "node/sorrel", "spring");
}

static void names_in_a_list_are_spelled_for_files(void **state)
{
    (void)state;
    succeeds((const char *const[]){"cert", "init", "--out", folder, "--job", "j", "--nodes",
                                   "a,x y", NULL});
    succeeds((const char *const[]){"cert", "issue", "--out", folder, "--nodes", "coordinator",
                                   "--force", NULL});
    expect_shown("node-a.pem", "node/a", "j");
    expect_shown("node-x%20y.pem", "node/x y", "j");
}

static void refusals_are_one_line(void **state)
{
    (void)state;
    const char *const init[] = {"cert", "init", "--out", folder, "--nodes", "a", NULL};
    command_refuses((const char *const[]){"cert", NULL}, 2, "init, issue or show?");
    command_refuses((const char *const[]){"cert", "make", NULL}, 2, "'make' is none of");
    command_refuses((const char *const[]){"cert", "init", "--out", folder, NULL}, 2,
                    "init needs --out FOLDER and --nodes FILE|LIST");
    command_refuses((const char *const[]){"cert", "issue", "--out", folder, "--nodes", "a", NULL},
                    2, "authority.pem: No such file");
    command_refuses(
        (const char *const[]){"cert", "init", "--out", folder, "--nodes", "n.json", NULL}, 2,
        "n.json");
    command_refuses(
        (const char *const[]){"cert", "init", "--out", folder, "--nodes", "a", "--days", "0", NULL},
        2, "--days: 0 is not within 1 and 36500");
    succeeds(init); /* nothing was made in vain before */
    command_refuses(init, 2, "is there already; --force replaces it");
    command_refuses((const char *const[]){"cert", "issue", "--out", folder, "--nodes", ",", NULL},
                    2, "--nodes: '' cannot be a node's name");
    command_refuses((const char *const[]){"cert", "show", dir, NULL}, 2, dir);
    command_refuses((const char *const[]){"cert", "show", NULL}, 2, "show needs a FILE");
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(makes_an_authority_and_every_member),
        UNIT(names_in_a_list_are_spelled_for_files),
        UNIT(refusals_are_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
