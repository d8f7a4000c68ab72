#include "lab/storage_int.h"

#include "lab/lab_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIB (1LL << 20)

static char dir[64];
static lab *made;
static network *net;

static int set_up(void **state)
{
    (void)state;
    net = fixture_network(2, 10 * MBIT);
    net->nodes[0].free_bytes = 3 * MIB;
    net->nodes[1].free_bytes = 5 * MIB + 1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    network_free(net);
    if (!made) /* skipped */
        return 0;
    lab_close(made);
    made = NULL;
    return lab_down(dir, NULL) ? -1 : 0;
}

/* Writes zeros into a file of a node's storage until that is refused; the bytes it took. */
static int64_t write_all(size_t node, const char *name, int64_t most)
{
    static const char zeros[4096];
    char path[LAB_PATH_BYTES], file[LAB_PATH_BYTES + 16];
    int64_t taken = 0;
    lab_storage(made, node, path);
    snprintf(file, sizeof file, "%s/%s", path, name);
    int fd = open(file, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    ssize_t got = 0;
    while (taken < most && (got = write(fd, zeros, sizeof zeros)) > 0)
        taken += got;
    if (taken < most)
        assert_int_equal(errno, ENOSPC);
    close(fd);
    return taken;
}

static void change(size_t node, double bytes)
{
    edgeps_diag diag = {.text = ""};
    network_event e = {.node = (uint32_t)node, .change = NETWORK_FREE, .value = bytes};
    if (lab_change(made, &e, &diag))
        fail_msg("%s", diag.text);
}

static int64_t measure(size_t node, int64_t most)
{
    char path[LAB_PATH_BYTES];
    int64_t bytes = -1;
    lab_storage(made, node, path);
    assert_int_equal(storage_measure(path, most, NULL, &bytes), EDGEPS_OK);
    return bytes;
}

static void each_node_holds_what_the_file_says_and_no_more(void **state)
{
    (void)state;
    fixture_up(net, dir, &made);
    assert_int_equal(write_all(0, "x", 99 * MIB), 3 * MIB);
    assert_int_equal(write_all(1, "x", 99 * MIB), 5 * MIB + sysconf(_SC_PAGESIZE));
}

static void storage_follows_the_scenario(void **state)
{
    (void)state;
    fixture_up(net, dir, &made);
    assert_int_equal(write_all(0, "x", 2 * MIB), 2 * MIB);
    change(0, 4 * MIB);
    assert_int_equal(write_all(0, "y", 99 * MIB), 2 * MIB);
    change(0, MIB); /* below what is in use: nothing more */
    assert_int_equal(write_all(0, "z", MIB), 0);
    assert_int_equal(lab_network(made)->nodes[0].free_bytes, MIB);
    change(0, 5 * MIB);
    assert_int_equal(write_all(0, "z", 99 * MIB), MIB);
    assert_int_equal(write_all(1, "x", MIB), MIB); /* the other node is its own */
}

static void measuring_finds_the_limit_and_leaves_nothing(void **state)
{
    (void)state;
    fixture_up(net, dir, &made);
    assert_int_equal(measure(0, 99 * MIB), 3 * MIB);
    assert_int_equal(measure(0, 2 * MIB), 2 * MIB);
    assert_int_equal(write_all(0, "x", MIB), MIB);
    assert_int_equal(measure(0, 99 * MIB), 3 * MIB);
    assert_int_equal(write_all(0, "x", 99 * MIB), 2 * MIB);
    assert_int_equal(measure(0, 99 * MIB), 3 * MIB);
}

static void programs_are_told_where_it_is(void **state)
{
    (void)state;
    int status = -1;
    char *argv[] = {"sh", "-c",
                    "head -c 3145728 /dev/zero >$" LAB_STORAGE_VARIABLE
                    "/x && ! (echo more >$" LAB_STORAGE_VARIABLE "/y) 2>/dev/null",
                    NULL};
    fixture_up(net, dir, &made);
    assert_int_equal(lab_exec(made, 0, argv, NULL, &status), EDGEPS_OK);
    assert_int_equal(status, 0);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(each_node_holds_what_the_file_says_and_no_more),
        UNIT(storage_follows_the_scenario),
        UNIT(measuring_finds_the_limit_and_leaves_nothing),
        UNIT(programs_are_told_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
