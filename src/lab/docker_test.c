#include "lab/docker_int.h"

#include "base/clock.h"
#include "lab/check.h"
#include "lab/flow.h"
#include "lab/lab_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CORE 10000.0

static const lab_options own = {
    .tied = true, .backend = LAB_DOCKER, .own_dockerd = true, .core_samples_per_s = CORE};

static void up(const network *net, char dir[64], lab **out) { fixture_up_as(net, &own, dir, out); }

static int run_in(const lab *l, size_t node, const char *script)
{
    int status = -1;
    char *argv[] = {"sh", "-c", (char *)script, NULL};
    assert_int_equal(lab_exec(l, node, argv, NULL, &status), EDGEPS_OK);
    return status;
}

/* What the docker command says of the lab, through the lab's own daemon. */
static void docker_says(const lab *l, const char *arguments, char *line, int size)
{
    char host[LAB_HOST_BYTES], command[512];
    lab_docker_host(l, host);
    snprintf(command, sizeof command, "docker --host %s %s", host, arguments);
    FILE *answer = popen(command, "re"); /* NOLINT(cert-env33-c): a command of the test's own */
    assert_non_null(answer);
    *line = '\0';
    if (!fgets(line, size, answer))
        *line = '\0';
    line[strcspn(line, "\n")] = '\0';
    while (fgetc(answer) != EOF)
        ;
    assert_int_equal(pclose(answer), 0);
}

static size_t groups_of(pid_t keeper)
{
    char pattern[96];
    glob_t found = {.gl_pathc = 0};
    snprintf(pattern, sizeof pattern, "/sys/fs/cgroup/{.,*}/edgeps-lab-%d", keeper);
    size_t count = glob(pattern, GLOB_BRACE, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return count;
}

static network *small_network(void)
{
    network *net = fixture_network(2, 20 * MBIT);
    net->nodes[1].up_bytes_per_s = 5 * MBIT;
    net->nodes[1].compute_samples_per_s = 0.3 * CORE;
    net->nodes[0].free_bytes = 1 << 20;
    return net;
}

static double rate_between(const lab *l, size_t from, size_t to, double expected)
{
    edgeps_diag diag = {.text = ""};
    flow f = {.from = from, .to = to, .bytes = FLOW_ENDLESS, .expected_bytes_per_s = expected};
    return flow_run(l, &f, 1, 0.2, 0.8, &diag) ? 0 : f.rate_bytes_per_s;
}

/* The file's values, as the kernel has them for processes of the container. */
static void expect_limits(const lab *l)
{
    char line[256];
    docker_says(l,
                "ps --no-trunc --filter label=edgeps.node=b --format "
                "'{{.Names}} {{.Networks}} {{.Image}}'",
                line, sizeof line);
    char expected[128];
    snprintf(expected, sizeof expected, "edgeps-lab-%d-n1 none edgeps-lab:%d", lab_keeper(l),
             lab_keeper(l));
    assert_string_equal(line, expected);
    size_t both[] = {0, 1};
    double cores[2];
    assert_int_equal(lab_measure_cores(l, both, 2, NULL, cores), EDGEPS_OK);
    print_message("cores: %.3f of 0.1, %.3f of 0.3\n", cores[0], cores[1]);
    assert_true(cores[0] > 0.05 && cores[0] < 0.11 && cores[1] < 0.33);
    assert_int_equal(run_in(l, 0, "head -c 1048576 /dev/zero >$EDGEPS_STORAGE/full"), 0);
    assert_int_not_equal(
        run_in(l, 0, "head -c 4096 /dev/zero 2>/dev/null >>$EDGEPS_STORAGE/full 2>/dev/null"), 0);
}

/* What a process has that has settled in a container: its files alone, with this program there. */
static void settle_and_look(const lab *l)
{
    char program[4096], path[LAB_PATH_BYTES];
    struct stat found;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    lab_inner_storage(l, 0, path);
    int birthplace = lab_birthplace(l, 0);
    bool good = birthplace >= 0 && lab_settle(l, 0, NULL) == EDGEPS_OK;
    good = good && stat(program, &found) == 0 && access("/bin/sh", F_OK) != 0;
    good = good && stat(path, &found) == 0 && S_ISDIR(found.st_mode);
    _exit(!good);
}

static void restart(const lab *l, size_t node)
{
    char line[256], arguments[96];
    snprintf(arguments, sizeof arguments, "restart --time 0 edgeps-lab-%d-n%zu", lab_keeper(l),
             node);
    docker_says(l, arguments, line, sizeof line);
}

static void a_container_per_node_with_its_limits_also_after_a_restart(void **state)
{
    (void)state;
    char dir[64];
    lab *l = NULL;
    int status = -1;
    network *net = small_network();
    up(net, dir, &l);
    expect_limits(l);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        settle_and_look(l);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    network_event slower = {.change = NETWORK_UP, .node = 1, .value = 10 * MBIT};
    assert_int_equal(lab_change(l, &slower, NULL), EDGEPS_OK);
    restart(l, 1);
    int64_t end_ns = clock_now_ns() + INT64_C(20) * CLOCK_NS_PER_S;
    double rate = 0; /* until it is plugged in again there is no way */
    while (fabs(rate / (10 * MBIT) - 1) > 0.03 && clock_now_ns() < end_ns)
        rate = rate_between(l, 1, LAB_HUB, 10 * MBIT);
    print_message("after a restart: %.2f of 10 Mbit/s\n", rate / MBIT);
    assert_true(fabs(rate / (10 * MBIT) - 1) <= 0.03);
    lab_close(l);
    assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    network_free(net);
}

static void make_and_end(bool by_force)
{
    char dir[64];
    lab *l = NULL;
    network *net = small_network();
    char *before = fixture_machine();
    up(net, dir, &l);
    pid_t keeper = lab_keeper(l);
    struct stat space;
    assert_int_equal(fstat(lab_namespace(l, 1), &space), 0);
    assert_int_equal(fixture_processes_in(space.st_ino), 1);
    assert_true(groups_of(keeper) > 0);
    if (by_force) {
        kill(keeper, SIGKILL);
        int64_t end_ns = clock_now_ns() + INT64_C(30) * CLOCK_NS_PER_S;
        while (groups_of(keeper) > 0 && clock_now_ns() < end_ns) /* nobody asks for it */
            ;
    } else {
        assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    }
    assert_int_equal(groups_of(keeper), 0);
    assert_int_equal(fixture_processes_in(space.st_ino), 0);
    lab_close(l);
    if (by_force)
        assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    fixture_expect_machine(before);
    network_free(net);
}

static void nothing_is_left_also_when_its_keeper_is_killed(void **state)
{
    (void)state;
    make_and_end(false);
    make_and_end(true);
}

static void without_a_daemon_it_says_how_to_have_one(void **state)
{
    (void)state;
    char dir[64];
    edgeps_diag diag = {.text = ""};
    network *net = fixture_network(1, MBIT);
    lab_options options = {.tied = true, .backend = LAB_DOCKER};
    setenv("DOCKER_HOST", "unix:///nonexistent/socket", 1);
    fixture_folder(dir);
    assert_int_equal(lab_up(net, dir, &options, &diag), EDGEPS_UNSUPPORTED);
    if (!strstr(diag.text, "is not installed") && !strstr(diag.text, "takes root"))
        assert_non_null(strstr(diag.text, "--own-dockerd"));
    assert_int_equal(access(dir, F_OK), -1);
    unsetenv("DOCKER_HOST");
    network_free(net);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "lab") == 0 && strcmp(argv[2], "wait") == 0)
        return lab_wait(); /* this program is the one in the image */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_per_node_with_its_limits_also_after_a_restart),
        cmocka_unit_test(nothing_is_left_also_when_its_keeper_is_killed),
        cmocka_unit_test(without_a_daemon_it_says_how_to_have_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
