/* `edgeps lab` as a user meets it, as root and without. */
#include "integration/command.h"

#include "nn/synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static char dir[64], lab[96], network[96];

static int set_up(void **state)
{
    (void)state;
    folder_make(dir);
    snprintf(lab, sizeof lab, "%s/lab", dir);
    snprintf(network, sizeof network, "%s/network.json", dir);
    FILE *file = fopen(network, "we");
    assert_non_null(file);
    fputs("{\"edgeps\": \"network/1\", \"nodes\": [\n"
          "{\"name\": \"lyon\", \"up\": \"14.48 Mbit/s\", \"down\": \"28.96 Mbit/s\","
          " \"compute\": \"1000 samples/s\", \"free\": \"16 MiB\"},\n"
          "{\"name\": \"a b/c\", \"up\": \"1 Mbit/s\", \"down\": \"2 Mbit/s\","
          " \"compute\": \"1000 samples/s\", \"free\": \"16 MiB\"}]}\n",
          file);
    assert_int_equal(fclose(file), 0);
    return 0;
}

static int tear_down(void **state)
{
    command c;
    (void)state;
    command_run(&c,
                (const char *const[]){"lab", "down", "--dir", lab, NULL}); /* of a failed test */
    folder_remove(dir);
    return 0;
}

static void expect(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("'%s' is not in:\n%s", words, text);
}

/* Where the machine forbids labs the rest of the test is skipped, with the reason. */
static void go_on(const char *text, int status)
{
    if (status == 0)
        return;
    if (strstr(text, "run as root") || strstr(text, "not installed")) {
        print_message("skipped: %s", text);
        skip();
    }
    fail_msg("status %d: %s", status, text);
}

static void a_lab_is_made_looked_at_used_and_unmade(void **state)
{
    (void)state;
    command c;
    char kept[128];
    command_run(&c, (const char *const[]){"lab", "up", network, "--dir", lab, NULL});
    go_on(c.text, c.status);
    expect(c.text, "2 nodes are up after 0.");
    command_run(&c, (const char *const[]){"lab", "status", "--dir", lab, NULL});
    assert_int_equal(c.status, 0);
    expect(c.text, "10.77.0.1       10.78.0.1          14.5 Mbit/s");
    expect(c.text, "  a b/c\n");
    command_run(&c, (const char *const[]){"lab", "exec", "lyon", "--dir", lab, "--", "tc", "class",
                                          "show", "dev", "data", NULL});
    assert_int_equal(c.status, 0);
    expect(c.text, "class htb 1:1 root rate 15140Kbit ceil 15140Kbit");
    command_run(&c, (const char *const[]){"lab", "exec", "a b/c", "--dir", lab, "--", "sh", "-c",
                                          "exit 7", NULL});
    assert_int_equal(c.status, 7);
    command_refuses((const char *const[]){"lab", "exec", "oslo", "--dir", lab, "--", "true", NULL},
                    2, "no node is called 'oslo'");
    command_refuses((const char *const[]){"lab", "up", network, "--dir", lab, NULL}, 2,
                    "holds a running lab");
    command_run(&c, (const char *const[]){"lab", "check", "--dir", lab, NULL});
    assert_int_equal(c.status, 0);
    expect(c.text, "rates: 4 measured of 4");
    snprintf(kept, sizeof kept, "%s/check.json", lab);
    assert_int_equal(access(kept, F_OK), 0);
    command_run(&c, (const char *const[]){"lab", "down", "--dir", lab, NULL});
    assert_int_equal(c.status, 0);
    assert_int_equal(access(lab, F_OK), -1);
}

/* Runs the program through the shell as nobody; `words` go before its name. */
static int as_nobody(const char *words, const char *arguments, char text[4096])
{
    char line[1024], said[96];
    snprintf(said, sizeof said, "%s/said", dir);
    snprintf(line, sizeof line,
             "setpriv --reuid=%d --regid=%d --clear-groups %s " EDGEPS_BINARY_DIR
             "/edgeps %s >%s 2>&1",
             NOBODY, NOBODY, words, arguments, said);
    int status = system(line);
    FILE *file = fopen(said, "re");
    assert_non_null(file);
    text[fread(text, 1, 4095, file)] = '\0';
    fclose(file);
    return WEXITSTATUS(status);
}

/* Other tests run as whoever starts them. */
static void need_root(void)
{
    if (geteuid() == 0)
        return;
    print_message(
        "skipped: only root can become somebody else, and the other tests ran without root\n");
    skip();
}

static void without_root_it_is_the_same(void **state)
{
    (void)state;
    char text[4096], arguments[512];
    need_root();
    assert_int_equal(chown(dir, NOBODY, NOBODY), 0);
    snprintf(arguments, sizeof arguments, "lab up %s --dir %s", network, lab);
    go_on(text, as_nobody("", arguments, text));
    snprintf(arguments, sizeof arguments, "lab status --dir %s", lab);
    assert_int_equal(as_nobody("", arguments, text), 0);
    expect(text, "2 nodes in a user namespace");
    snprintf(arguments, sizeof arguments, "lab exec lyon --dir %s -- tc class show dev data", lab);
    assert_int_equal(as_nobody("", arguments, text), 0);
    expect(text, "class htb 1:1 root rate 15140Kbit ceil 15140Kbit");
    snprintf(arguments, sizeof arguments, "lab down --dir %s", lab);
    assert_int_equal(as_nobody("", arguments, text), 0);
    assert_int_equal(access(lab, F_OK), -1);
}

/* In a user namespace that allows none below it, without rights there: what a locked host does. */
static void a_host_that_forbids_it_is_told_what_to_enable(void **state)
{
    (void)state;
    char line[1024], text[4096];
    snprintf(line, sizeof line,
             "unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv "
             "--bounding-set=-all " EDGEPS_BINARY_DIR "/edgeps lab up %s --dir %s 2>&1'",
             network, lab);
    FILE *said = popen(line, "re");
    assert_non_null(said);
    text[fread(text, 1, sizeof text - 1, said)] = '\0';
    int status = pclose(said);
    if (strstr(text, "unshare")) {
        print_message("skipped: %s", text); /* not even the first user namespace */
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_string_equal(text, "edgeps lab up: this machine forbids namespaces to users; run as "
                              "root, or let root enable them: sysctl -w "
                              "user.max_user_namespaces=10000\n");
}

static void bad_input_is_refused_in_one_line(void **state)
{
    (void)state;
    command_refuses((const char *const[]){"lab", NULL}, 2, "no command given");
    command_refuses((const char *const[]){"lab", "sideways", NULL}, 2, "'sideways' is no command");
    command_refuses((const char *const[]){"lab", "up", "--dir", lab, NULL}, 2,
                    "no network file given");
    command_refuses((const char *const[]){"lab", "down", "--dir", lab, NULL}, 2, "holds no lab");
    command_refuses((const char *const[]){"lab", "status", "--dir", lab, NULL}, 2, "holds no lab");
    command_refuses((const char *const[]){"lab", "status", "x", "--dir", lab, NULL}, 2,
                    "one argument too many");
    command_refuses((const char *const[]){"lab", "exec", "lyon", "--dir", lab, NULL}, 2,
                    "needs a node and a command");
}

static void write_data(char data[96])
{
    snprintf(data, 96, "%s/data", dir);
    assert_int_equal(mkdir(data, 0755), 0);
    assert_int_equal(nn_synthetic_write(data, 500, 100, 7, NULL), EDGEPS_OK);
    FILE *file = fopen(network, "we");
    assert_non_null(file);
    fputs("{\"edgeps\": \"network/1\", \"nodes\": [\n", file);
    for (int i = 0; i < 3; i++)
        fprintf(file,
                "%s{\"name\": \"%c\", \"up\": \"%d Mbit/s\", \"down\": \"100 Mbit/s\", "
                "\"latency\": \"1 ms\","
                " \"compute\": \"20000 samples/s\", \"free\": \"16 MiB\"}",
                i ? ",\n" : "", 'a' + i, i == 1 ? 200 : 50);
    fputs("],\n\"scenario\": [{\"epoch\": 2, \"node\": \"b\", \"up\": \"60 Mbit/s\"}]}\n", file);
    assert_int_equal(fclose(file), 0);
}

/* What a run in a lab leaves: the measurements, whatever they are on a machine that is busy with
 * other things, and nothing of the lab. */
static void expect_run(const char *text, const char *out)
{
    char path[160];
    expect(text, "up is 60.0 Mbit/s");
    expect(text, "2 of 2 in");
    snprintf(path, sizeof path, "%s/lab-check.json", out);
    assert_int_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/lab", out);
    assert_int_equal(access(path, F_OK), -1);
}

static void a_run_trains_in_a_lab_of_its_own(void **state)
{
    (void)state;
    command c;
    char data[96], out[96];
    snprintf(out, sizeof out, "%s/run", dir);
    write_data(data);
    command_run(&c, (const char *const[]){"run", network, "--lab", "netns", "--model", "mlp",
                                          "--data", data, "--out", out, "--epochs", "2", "--batch",
                                          "25", "--force", NULL});
    go_on(c.text, c.status);
    expect_run(c.text, out);
    assert_int_equal(kill(-c.pid, 0), -1); /* no process is left */
    command_refuses((const char *const[]){"run", network, "--lab", "netns", "--rates", "off",
                                          "--data", data, "--out", out, NULL},
                    2, "--lab: its links have rates");
}

static void a_run_in_a_lab_needs_no_root(void **state)
{
    (void)state;
    char text[4096], data[96], out[96], arguments[512];
    need_root();
    snprintf(out, sizeof out, "%s/run", dir);
    write_data(data);
    assert_int_equal(chown(dir, NOBODY, NOBODY), 0);
    snprintf(arguments, sizeof arguments,
             "run %s --lab netns --model mlp --data %s --out %s --epochs 2 --batch 25 --force",
             network, data, out);
    go_on(text, as_nobody("", arguments, text));
    expect_run(text, out);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_lab_is_made_looked_at_used_and_unmade),
        UNIT(without_root_it_is_the_same),
        UNIT(a_run_trains_in_a_lab_of_its_own),
        UNIT(a_run_in_a_lab_needs_no_root),
        UNIT(a_host_that_forbids_it_is_told_what_to_enable),
        UNIT(bad_input_is_refused_in_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
