#include "lab/group_int.h"

#include "lab/lab_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CORE 10000.0 /* samples a second */
#define ATTEMPTS 3

/* Two nodes that compute 1000 and 2500 samples a second. */
static network *two_nodes(void)
{
    network *net = fixture_network(2, 10 * MBIT);
    net->nodes[1].compute_samples_per_s = 2500;
    return net;
}

static bool group_is_there(pid_t keeper)
{
    char path[192];
    group_tree tree;
    assert_int_equal(group_find_tree(NULL, &tree), EDGEPS_OK);
    snprintf(path, sizeof path, "%s/edgeps-lab-%d", tree.root, keeper);
    return access(path, F_OK) == 0;
}

/* Measurements on a machine that is busy with other things are repeated. */
static void expect_cores(const lab *l, double first, double second)
{
    double cores[2] = {NAN, NAN};
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        assert_int_equal(lab_measure_cores(l, (size_t[]){0, 1}, 2, NULL, cores), EDGEPS_OK);
        if (fabs(cores[0] / first - 1) <= 0.05 && fabs(cores[1] / second - 1) <= 0.05)
            return;
    }
    fail_msg("cores: %g and %g, not %g and %g", cores[0], cores[1], first, second);
}

static void nodes_get_their_shares_of_a_core_and_follow_changes(void **state)
{
    (void)state;
    char dir[64];
    lab *l = NULL;
    network *net = two_nodes();
    fixture_up_with(net, CORE, dir, &l);
    expect_cores(l, 0.1, 0.25);
    network_event slower = {.node = 1, .change = NETWORK_COMPUTE, .value = 500};
    assert_int_equal(lab_change(l, &slower, NULL), EDGEPS_OK);
    expect_cores(l, 0.1, 0.05);
    lab_close(l);
    assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    network_free(net);
}

static void groups_go_with_the_lab_also_when_its_keeper_is_killed(void **state)
{
    (void)state;
    for (int by_force = 0; by_force < 2; by_force++) {
        char dir[64];
        lab *l = NULL;
        int status = -1;
        network *net = two_nodes();
        fixture_up_with(net, CORE, dir, &l);
        pid_t keeper = lab_keeper(l);
        assert_true(group_is_there(keeper));
        char *argv[] = {"sh", "-c", "sleep 1000 >/dev/null 2>&1 &", NULL};
        assert_int_equal(lab_exec(l, 1, argv, NULL, &status), EDGEPS_OK);
        assert_int_equal(status, 0);
        if (by_force) {
            kill(keeper, SIGKILL);
            while (group_is_there(keeper)) /* nobody asks for it */
                ;
        }
        lab_close(l);
        assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
        assert_false(group_is_there(keeper));
        network_free(net);
    }
}

static void more_than_the_machine_has_is_refused(void **state)
{
    (void)state;
    edgeps_diag diag = {.text = ""};
    network *net = fixture_network(3, 10 * MBIT);
    net->nodes[1].compute_samples_per_s = 12500;
    assert_int_equal(
        lab_up(net, "/nonexistent/lab", &(lab_options){.core_samples_per_s = CORE}, &diag),
        EDGEPS_INFEASIBLE);
    assert_non_null(strstr(diag.text, "node 'b' is 1.25 times as fast as a core"));
    network_free(net);
    net = fixture_network(500, 10 * MBIT); /* 500 tenths: 50 cores */
    for (size_t i = 0; i < net->count; i++)
        net->nodes[i].compute_samples_per_s = CORE;
    assert_int_equal(group_fits(net, CORE, &diag), EDGEPS_INFEASIBLE);
    assert_non_null(strstr(diag.text, "the nodes compute as much as 500.00 cores"));
    assert_int_equal(group_fits(net, 1000 * CORE, &diag), EDGEPS_OK);
    network_free(net);
}

static void make_file(const char *root, const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static void expect_text(const char *root, const char *name, const char *text)
{
    char path[160], found[64] = "";
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(found, sizeof found, file));
    assert_int_equal(fclose(file), 0);
    assert_string_equal(found, text);
}

/* Files in place of the kernel's: what is written where, as cgroup-v2.rst has it. */
static void version_2_is_told_quota_and_period_in_one_file(void **state)
{
    (void)state;
    group_tree tree = {.unified = true};
    network *net = two_nodes();
    net->nodes[1].compute_samples_per_s = 50;
    fixture_folder(tree.root);
    static const char *const folders[] = {"", "edgeps-lab-7", "edgeps-lab-7/n0", "edgeps-lab-7/n1"};
    for (size_t k = 0; k < sizeof folders / sizeof *folders; k++) {
        char path[160];
        snprintf(path, sizeof path, "%s/%s", tree.root, folders[k]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    static const char *const files[] = {
        "cgroup.subtree_control", "edgeps-lab-7/cgroup.subtree_control", "edgeps-lab-7/cpu.weight",
        "edgeps-lab-7/n0/cpu.max", "edgeps-lab-7/n1/cpu.max"};
    static const char *const texts[] = {"+cpu", "+cpu", "10000", "10000 100000", "5000 1000000"};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++)
        make_file(tree.root, files[k]);
    assert_int_equal(group_make(&tree, 7, net, CORE, NULL), EDGEPS_OK);
    for (size_t k = sizeof files / sizeof *files; k-- > 0;) {
        char path[160];
        expect_text(tree.root, files[k], texts[k]);
        snprintf(path, sizeof path, "%s/%s", tree.root, files[k]);
        unlink(path);
    }
    group_remove(&tree, 7, 2);
    assert_int_equal(rmdir(tree.root), 0);
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_get_their_shares_of_a_core_and_follow_changes),
        cmocka_unit_test(groups_go_with_the_lab_also_when_its_keeper_is_killed),
        cmocka_unit_test(more_than_the_machine_has_is_refused),
        cmocka_unit_test(version_2_is_told_quota_and_period_in_one_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
