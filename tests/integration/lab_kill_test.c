/* A run in a lab that is killed, so that nobody tidies up. */
#include "integration/command.h"

#include "lab/lab_fixture.h"
#include "nn/synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64], network_file[96], data_dir[96], run_dir[96];
static command c;

static int set_up(void **state)
{
    (void)state;
    folder_make(dir);
    snprintf(network_file, sizeof network_file, "%s/network.json", dir);
    snprintf(data_dir, sizeof data_dir, "%s/data", dir);
    snprintf(run_dir, sizeof run_dir, "%s/run", dir);
    assert_int_equal(mkdir(data_dir, 0755), 0);
    assert_int_equal(nn_synthetic_write(data_dir, 500, 100, 7, NULL), EDGEPS_OK);
    FILE *file = fopen(network_file, "we");
    assert_non_null(file);
    fputs("{\"edgeps\": \"network/1\", \"nodes\": [\n", file);
    for (int i = 0; i < 3; i++)
        fprintf(file,
                "%s{\"name\": \"%c\", \"up\": \"100 Mbit/s\", \"down\": \"100 Mbit/s\", "
                "\"compute\": \"20000 samples/s\", \"free\": \"16 MiB\"}",
                i ? ",\n" : "", 'a' + i);
    fputs("]}\n", file);
    assert_int_equal(fclose(file), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (c.pid > 0)
        kill(-c.pid, SIGKILL); /* of a failed test */
    folder_remove(dir);
    return 0;
}

static bool in_docker;

/* Starts a run that would last for hours and waits until it trains. */
static void start_run(void)
{
    command_start(
        &c, (const char *const[]){"run", network_file, "--lab", in_docker ? "docker" : "netns",
                                  "--force", "--model", "mlp", "--data", data_dir, "--out", run_dir,
                                  "--epochs", "1000000", "--batch", "25", "--core",
                                  "400000 samples/s", in_docker ? "--own-dockerd" : NULL, NULL});
    if (command_await(&c, "\n    2 "))
        return;
    kill(-c.pid, SIGKILL);
    command_finish(&c);
    if (!strstr(c.text, "run as root") && !strstr(c.text, "not installed") &&
        !strstr(c.text, "dockerd c"))
        fail_msg("no second epoch: %s", c.text);
    print_message("skipped: %s", c.text);
    skip();
}

/* The number of the network namespace of the lab's keeper, which is the hub's, and its process. */
static ino_t find_keeper(pid_t *keeper)
{
    char path[160], line[64];
    struct stat found;
    snprintf(path, sizeof path, "%s/lab/keeper", run_dir);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    *keeper = (pid_t)strtol(line, NULL, 10);
    assert_true(*keeper > 1);
    snprintf(path, sizeof path, "/proc/%d/ns/net", *keeper);
    assert_int_equal(stat(path, &found), 0);
    return found.st_ino;
}

static bool has_groups(pid_t keeper)
{
    char pattern[96];
    glob_t found = {.gl_pathc = 0};
    snprintf(pattern, sizeof pattern, "/sys/fs/cgroup/{.,*}/edgeps-lab-%d", keeper);
    bool any = glob(pattern, GLOB_BRACE, NULL, &found) == 0;
    globfree(&found);
    return any;
}

static void expect_nothing_left(ino_t hub, pid_t keeper, char *before)
{
    while (fixture_processes_in(hub) > 0 || kill(-c.pid, 0) == 0 || kill(keeper, 0) == 0 ||
           has_groups(keeper))
        ; /* an end takes its time */
    fixture_expect_machine(before);
}

/* Three nodes with 20000 samples a second each. */
static void more_than_the_cores_compute_is_refused(void **state)
{
    (void)state;
    command_refuses((const char *const[]){"run", network_file, "--lab", "netns", "--core",
                                          "10000 samples/s", "--data", data_dir, "--out", run_dir,
                                          NULL},
                    3, "node 'a' is 2.00 times as fast as a core");
    command_refuses((const char *const[]){"run", network_file, "--core", "measured", "--data",
                                          data_dir, "--out", run_dir, NULL},
                    2, "--core goes with --lab");
    command_refuses((const char *const[]){"run", network_file, "--no-check", "--data", data_dir,
                                          "--out", run_dir, NULL},
                    2, "--no-check goes with --lab");
}

/* The measured shares of a run's agents; for want of root there are none. */
static void expect_shares(void)
{
    char path[160], text[16384];
    snprintf(path, sizeof path, "%s/lab-check.json", run_dir);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *at = text;
    for (int k = 0; k < 3 && geteuid() == 0; k++) {
        at = strstr(at, "\"asked_cores\": 0.05");
        assert_non_null(at++);
    }
}

static void nothing_is_left_when_the_run_is_killed(void **state)
{
    (void)state;
    pid_t keeper;
    char *before = fixture_machine();
    start_run();
    expect_shares();
    ino_t hub = find_keeper(&keeper);
    assert_int_equal(kill(c.pid, SIGKILL), 0);
    command_finish(&c); /* the agents hold its output, too */
    assert_int_equal(c.status, 128 + SIGKILL);
    expect_nothing_left(hub, keeper, before);
}

/* Its namespaces are held by the run and the agents until these have ended, too. */
static void nothing_is_left_when_the_keeper_is_killed_under_a_run(void **state)
{
    (void)state;
    pid_t keeper;
    char *before = fixture_machine();
    start_run();
    ino_t hub = find_keeper(&keeper);
    assert_int_equal(kill(keeper, SIGKILL), 0);
    assert_int_equal(kill(c.pid, SIGTERM), 0);
    command_finish(&c);
    assert_int_not_equal(c.status, 0);
    expect_nothing_left(hub, keeper, before);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* With the argument "docker" nodes are containers. */
int main(int argc, char **argv)
{
    in_docker = argc > 1 && strcmp(argv[1], "docker") == 0;
    const struct CMUnitTest tests[] = {
        UNIT(more_than_the_cores_compute_is_refused),
        UNIT(nothing_is_left_when_the_run_is_killed),
        UNIT(nothing_is_left_when_the_keeper_is_killed_under_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
