#include "launch/launch.h"

#include "base/clock.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const names[] = {"a", "b"};

/* A folder with a program that tells its process and arguments through a pipe per node, and then
 * does what `body` says. */
static void make_program(const char *body, char dir[64], char program[96])
{
    char path[128];
    snprintf(dir, 64, "/tmp/edgeps-launch-XXXXXX");
    assert_non_null(mkdtemp(dir));
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        assert_int_equal(mkfifo(path, 0600), 0);
    }
    snprintf(program, 96, "%s/agent.sh", dir);
    FILE *file = fopen(program, "we");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\necho $$ $* >%s/$5\n%s\n", dir, body);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(program, 0700), 0);
}

/* Waits for what node `name` tells. */
static pid_t read_note(const char *dir, const char *name, char *line, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(line, (int)size, file));
    fclose(file);
    return (pid_t)strtol(line, NULL, 10);
}

static void remove_folder(const char *dir)
{
    static const char *const files[] = {"a", "b", "agent.sh"};
    char path[128];
    for (size_t k = 0; k < 3; k++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[k]);
        unlink(path);
    }
    assert_int_equal(rmdir(dir), 0);
}

static void starts_an_agent_per_node_and_leaves_none_behind(void **state)
{
    (void)state;
    char dir[64], program[96], rest[256];
    pid_t pids[2];
    launch *l = NULL;
    make_program("exec sleep 1000", dir, program);
    assert_int_equal(launch_local(program, names, 2, NULL, &l), EDGEPS_OK);
    assert_int_equal(launch_start(l, "127.0.0.1", 7000, NULL), EDGEPS_OK);
    for (int i = 0; i < 2; i++) {
        pids[i] = read_note(dir, names[i], rest, sizeof rest);
        assert_non_null(strstr(rest, "agent --coordinator 127.0.0.1:7000 --node "));
    }
    launch_signal(l, 1, SIGSTOP); /* a stopped one is ended all the same */
    launch_free(l, 0.05);
    for (int i = 0; i < 2; i++)
        assert_int_equal(kill(pids[i], 0), -1);
    remove_folder(dir);
}

static int no_birthplace(void *context, size_t index)
{
    (void)context;
    (void)index;
    return -1;
}

/* Only the first agent finds its place. */
static bool settle_first(void *context, size_t index)
{
    errno = ENOTDIR;
    return index == 0 && chdir(context) == 0;
}

static void agents_settle_before_they_start_or_say_why_not(void **state)
{
    (void)state;
    char dir[64], program[96], rest[256];
    edgeps_diag diag = {.text = ""};
    launch *l = NULL;
    make_program("exec sleep 1000", dir, program);
    launch_world world = {.birthplace = no_birthplace, .settle = settle_first, .context = dir};
    assert_int_equal(launch_local(program, names, 2, NULL, &l), EDGEPS_OK);
    launch_into(l, &world);
    assert_int_equal(launch_start(l, "127.0.0.1", 7000, &diag), EDGEPS_IO);
    assert_non_null(strstr(diag.text, strerror(ENOTDIR)));
    char link[64], place[96] = "";
    snprintf(link, sizeof link, "/proc/%d/cwd", read_note(dir, names[0], rest, sizeof rest));
    assert_true(readlink(link, place, sizeof place - 1) > 0);
    assert_string_equal(place, dir);
    launch_free(l, 0);
    remove_folder(dir);
}

static void waits_for_agents_that_end_by_themselves(void **state)
{
    (void)state;
    char dir[64], program[96], rest[256];
    launch *l = NULL;
    make_program("exit 0", dir, program);
    assert_int_equal(launch_local(program, names, 2, NULL, &l), EDGEPS_OK);
    assert_int_equal(launch_start(l, "127.0.0.1", 7000, NULL), EDGEPS_OK);
    for (int i = 0; i < 2; i++)
        read_note(dir, names[i], rest, sizeof rest);
    int64_t begun_ns = clock_now_ns();
    launch_free(l, 100);
    assert_true(clock_now_ns() - begun_ns < INT64_C(50) * CLOCK_NS_PER_S);
    remove_folder(dir);
}

/* A launcher that starts agents in a process of its own, which is then killed. What it says of
 * them comes through a pipe. */
static void start_and_be_killed(const char *dir, const char *program, bool tied, pid_t pids[2],
                                char *description, size_t size)
{
    char rest[256];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t launcher = fork();
    if (launcher == 0) {
        launch *l = NULL;
        if (launch_local(program, names, 2, NULL, &l))
            _exit(1);
        if (tied)
            launch_tie(l);
        if (launch_start(l, "127.0.0.1", 7000, NULL))
            _exit(1);
        char *text = launch_describe(l);
        if (!text || write(ends[1], text, strlen(text)) != (ssize_t)strlen(text))
            _exit(1);
        for (;;)
            pause();
    }
    for (int i = 0; i < 2; i++)
        pids[i] = read_note(dir, names[i], rest, sizeof rest);
    ssize_t got = read(ends[0], description, size - 1);
    assert_true(got > 0);
    description[got] = '\0';
    close(ends[0]);
    close(ends[1]);
    kill(launcher, SIGKILL);
    assert_int_equal(waitpid(launcher, NULL, 0), launcher);
}

/* Nobody is there to wait for orphans but the system: they are looked for until they are gone. */
static void await_gone(const pid_t pids[2])
{
    for (int i = 0; i < 2; i++)
        while (kill(pids[i], 0) == 0)
            sched_yield();
}

static void tied_agents_end_with_a_launcher_that_is_killed(void **state)
{
    (void)state;
    char dir[64], program[96], description[256];
    pid_t pids[2];
    make_program("exec sleep 1000", dir, program);
    start_and_be_killed(dir, program, true, pids, description, sizeof description);
    await_gone(pids);
    remove_folder(dir);
}

static void agents_of_a_killed_launcher_are_adopted_and_ended(void **state)
{
    (void)state;
    char dir[64], program[96], description[256];
    pid_t pids[2];
    launch *l = NULL;
    make_program("exec sleep 1000", dir, program);
    start_and_be_killed(dir, program, false, pids, description, sizeof description);
    assert_int_equal(kill(pids[0], 0), 0);
    assert_int_equal(launch_local(program, names, 2, NULL, &l), EDGEPS_OK);
    launch_adopt(l, description);
    launch_signal(l, 0, SIGSTOP); /* a stopped one is ended all the same */
    launch_free(l, 0.05);
    await_gone(pids);
    remove_folder(dir);
}

/* This very process, with a start that is not its own, and after another start of the kernel. */
static void a_process_that_only_has_the_number_is_left_alone(void **state)
{
    (void)state;
    char description[256], boot[64];
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    assert_non_null(file);
    assert_non_null(fgets(boot, sizeof boot, file));
    fclose(file);
    boot[strcspn(boot, "\n")] = '\0';
    for (int k = 0; k < 2; k++) {
        launch *l = NULL;
        snprintf(description, sizeof description, "%s %d 1 %d 1", k ? "another" : boot,
                 (int)getpid(), (int)getpid());
        assert_int_equal(launch_local("/bin/true", names, 2, NULL, &l), EDGEPS_OK);
        launch_adopt(l, description);
        launch_signal(l, 0, SIGKILL);
        launch_free(l, 0);
    }
}

static void a_program_that_cannot_start_is_named(void **state)
{
    (void)state;
    launch *l = NULL;
    edgeps_diag diag = {.text = ""};
    assert_int_equal(launch_local("/nonexistent/edgeps", names, 2, NULL, &l), EDGEPS_OK);
    assert_int_equal(launch_start(l, "127.0.0.1", 7000, &diag), EDGEPS_IO);
    assert_non_null(strstr(diag.text, "/nonexistent/edgeps: cannot start an agent: No such file"));
    launch_free(l, 0);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    edgeps_err err = EDGEPS_NOMEM;
    for (long n = 1; err == EDGEPS_NOMEM; n++) {
        launch *l = NULL;
        mem_fail_at(n);
        err = launch_local("/bin/true", names, 2, NULL, &l);
        mem_fail_at(0);
        launch_free(l, 0);
    }
    assert_int_equal(err, EDGEPS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_an_agent_per_node_and_leaves_none_behind),
        cmocka_unit_test(agents_settle_before_they_start_or_say_why_not),
        cmocka_unit_test(waits_for_agents_that_end_by_themselves),
        cmocka_unit_test(tied_agents_end_with_a_launcher_that_is_killed),
        cmocka_unit_test(agents_of_a_killed_launcher_are_adopted_and_ended),
        cmocka_unit_test(a_process_that_only_has_the_number_is_left_alone),
        cmocka_unit_test(a_program_that_cannot_start_is_named),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
