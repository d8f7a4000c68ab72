#include "lab/lab.h"

#include "base/mem.h"
#include "lab/lab_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static ino_t number_of(int namespace_fd)
{
    struct stat found;
    assert_int_equal(fstat(namespace_fd, &found), 0);
    return found.st_ino;
}

static int run_in(const lab *l, size_t node, const char *script)
{
    int status = -1;
    char *argv[] = {"sh", "-c", (char *)script, NULL};
    assert_int_equal(lab_exec(l, node, argv, NULL, &status), EDGEPS_OK);
    return status;
}

/* A lab with a process in it that does not end by itself is made and unmade. */
static void make_and_end(bool by_force)
{
    char dir[64];
    lab *l = NULL;
    ino_t spaces[4];
    network *net = fixture_network(3, 10 * MBIT);
    char *before = fixture_machine();
    fixture_up(net, dir, &l);
    char *during = fixture_machine();
    assert_string_equal(before, during);
    for (size_t i = 0; i < 4; i++)
        spaces[i] = number_of(lab_namespace(l, i < 3 ? i : LAB_HUB));
    assert_int_equal(run_in(l, 1, "sleep 1000 >/dev/null 2>&1 &"), 0);
    assert_int_equal(fixture_processes_in(spaces[1]), 1);
    assert_int_equal(fixture_processes_in(spaces[3]), 1); /* the keeper */
    if (by_force)
        kill(lab_keeper(l), SIGKILL);
    lab_close(l);
    assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(fixture_processes_in(spaces[i]), 0);
    assert_int_equal(access(dir, F_OK), -1);
    free(during);
    fixture_expect_machine(before);
    network_free(net);
}

static void down_leaves_nothing_of_it_on_the_machine(void **state)
{
    (void)state;
    make_and_end(false);
}

static void nothing_is_left_when_its_keeper_was_killed(void **state)
{
    (void)state;
    make_and_end(true);
}

/* The caller is killed while the lab is being built: the keeper goes with it. */
static void nothing_is_left_when_up_itself_is_killed(void **state)
{
    (void)state;
    char dir[64], path[96];
    network *net = fixture_network(40, 10 * MBIT);
    char *before = fixture_machine();
    fixture_folder(dir);
    snprintf(path, sizeof path, "%s/keeper", dir);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(lab_up(net, dir, &(lab_options){.tied = false}, NULL) != EDGEPS_OK);
    int status;
    bool ended = false;
    while (access(path, F_OK) && !ended)
        ended = waitpid(pid, &status, WNOHANG) == pid;
    if (!ended) {
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
    }
    if (access(path, F_OK) == 0)
        assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    fixture_expect_machine(before);
    network_free(net);
}

static void a_tied_lab_ends_with_its_maker(void **state)
{
    (void)state;
    char dir[64];
    edgeps_diag diag = {.text = ""};
    network *net = fixture_network(2, 10 * MBIT);
    fixture_folder(dir);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(lab_up(net, dir, &(lab_options){.tied = true}, NULL));
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    network_free(net);
    if (WEXITSTATUS(status) == EDGEPS_UNSUPPORTED) {
        print_message("skipped: this machine forbids namespaces to users\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), EDGEPS_OK);
    lab *l = NULL;
    while (!strstr(diag.text, "has ended by itself")) { /* its end takes its time */
        lab_open(dir, &diag, &l);
        lab_close(l);
        l = NULL;
    }
    assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
}

static void nodes_reach_one_another_and_send_with_reno(void **state)
{
    (void)state;
    char dir[64];
    lab *l = NULL;
    network *net = fixture_network(2, 10 * MBIT);
    fixture_up(net, dir, &l);
    assert_int_equal(
        run_in(l, 0, "test $(cat /proc/sys/net/ipv4/tcp_congestion_control) = " LAB_CONGESTION), 0);
    assert_int_equal(run_in(l, 0, "test $(cat /proc/sys/net/ipv4/tcp_slow_start_after_idle) = 0"),
                     0);
    /* nobody listens: what is there says so, what is not there leaves it to the time-out */
    static const char *const refused[] = {"10.77.0.2", "10.78.0.2", "10.77.255.254",
                                          "10.78.255.254"};
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        char script[128];
        snprintf(script, sizeof script,
                 "bash -c 'exec 3<>/dev/tcp/%s/9' 2>&1 | grep -q 'Connection refused'", refused[k]);
        assert_int_equal(run_in(l, 0, script), 0);
    }
    assert_int_equal(run_in(l, 1, "exit 7"), 7);
    lab_close(l);
    assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    network_free(net);
}

static void what_cannot_be_is_refused_in_a_line(void **state)
{
    (void)state;
    char dir[64];
    lab *l = NULL;
    edgeps_diag diag = {.text = ""};
    network *net = fixture_network(2, 10 * MBIT), *many = NULL;
    assert_int_equal(network_make(LAB_MOST_NODES + 1, NULL, &many), EDGEPS_OK);
    assert_int_equal(lab_up(many, "/tmp", &(lab_options){.tied = false}, &diag), EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "at most 500 nodes, not 501"));
    assert_int_equal(lab_open("/nonexistent", &diag, &l), EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "/nonexistent: holds no lab"));
    assert_int_equal(lab_down("/nonexistent", &diag), EDGEPS_USAGE);
    fixture_up(net, dir, &l);
    assert_int_equal(lab_up(net, dir, &(lab_options){.tied = false}, &diag), EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "holds a running lab"));
    lab_close(l);
    assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    network_free(many);
    network_free(net);
}

static void an_open_lab_survives_each_allocation_failing(void **state)
{
    (void)state;
    char dir[64];
    lab *l = NULL;
    network *net = fixture_network(2, 10 * MBIT);
    fixture_up(net, dir, &l);
    edgeps_err err = EDGEPS_NOMEM;
    for (long n = 1; err == EDGEPS_NOMEM; n++) {
        lab *again = NULL;
        mem_fail_at(n);
        err = lab_open(dir, NULL, &again);
        mem_fail_at(0);
        lab_close(again);
    }
    assert_int_equal(err, EDGEPS_OK);
    lab_close(l);
    assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(down_leaves_nothing_of_it_on_the_machine),
        cmocka_unit_test(nothing_is_left_when_its_keeper_was_killed),
        cmocka_unit_test(nothing_is_left_when_up_itself_is_killed),
        cmocka_unit_test(a_tied_lab_ends_with_its_maker),
        cmocka_unit_test(nodes_reach_one_another_and_send_with_reno),
        cmocka_unit_test(what_cannot_be_is_refused_in_a_line),
        cmocka_unit_test(an_open_lab_survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
