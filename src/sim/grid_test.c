#include "sim/grid.h"

#include "base/rng.h"
#include "cost/cost.h"
#include "network/generate.h"
#include "sim/whim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

static network *drawn(generate_kind kind, size_t nodes, uint64_t seed)
{
    network *net;
    generate_options o = generate_defaults(kind, nodes, seed);
    assert_int_equal(generate_network(&o, NULL, &net), EDGEPS_OK);
    return net;
}

/* A pair cap here and there, and additions that take time. */
static void complicate(problem *p, rng *r)
{
    for (size_t i = 0; i < p->count; i++) {
        size_t j = (size_t)rng_below(r, p->count);
        p->nodes[i].sum_bytes_per_s = 2e7 * (1 + 9 * rng_uniform(r));
        if (j != i)
            problem_set_cap_bytes_per_s(p, i, j, 1e6 * (1 + rng_uniform(r)));
    }
}

static void compare(const network *net, job_transfer transfer, rng *r, double *worst)
{
    job j;
    problem *p;
    plan pl, none = {.global = PLAN_NONE};
    double fluid_s, grid_s;
    bool absent[20] = {false};
    assert_int_equal(job_make("lenet5", 60000, 32, transfer, NULL, &j), EDGEPS_OK);
    assert_int_equal(problem_make(net, &j, &(problem_options){0}, NULL, &p), EDGEPS_OK);
    complicate(p, r);
    whim w = {.p = p, .random = *r};
    for (int k = 0; k < 4; k++) {
        assert_int_equal(whim_plan(&w, absent, &none, &pl), EDGEPS_OK);
        assert_int_equal(cost_round_s(p, &pl, &fluid_s), EDGEPS_OK);
        assert_int_equal(grid_round_s(p, &pl, &grid_s), EDGEPS_OK);
        double off = fabs(grid_s / fluid_s - 1);
        if (!(off < 0.01))
            fail_msg("%zu nodes, %s: SimGrid %.9f s, the fluid %.9f s", p->count,
                     job_transfer_name(transfer), grid_s, fluid_s);
        *worst = fmax(*worst, off);
        plan_free(&pl);
    }
    *r = w.random;
    problem_free(p);
}

/* Two max-min solvers and two drivers of the same model, by different people. */
static void both_networks_tell_the_same_round_times(void **state)
{
    (void)state;
    static const size_t sizes[] = {6, 20};
    static const generate_kind kinds[] = {GENERATE_THESIS, GENERATE_TWO_TIER};
    double worst = 0;
    rng r = rng_make(11, 0);
    for (size_t k = 0; k < 8; k++) {
        network *net = drawn(kinds[k / 4], sizes[k % 2], k);
        compare(net, k % 4 < 2 ? JOB_PIPELINED : JOB_STORE_AND_FORWARD, &r, &worst);
        network_free(net);
    }
    print_message("the worst is %.2g off\n", worst);
}

static void a_path_that_carries_nothing_never_ends(void **state)
{
    (void)state;
    network *net = drawn(GENERATE_THESIS, 6, 1);
    job j;
    problem *p;
    plan pl;
    double round_s;
    assert_int_equal(job_make("mlp", 6000, 32, JOB_PIPELINED, NULL, &j), EDGEPS_OK);
    assert_int_equal(problem_make(net, &j, &(problem_options){0}, NULL, &p), EDGEPS_OK);
    assert_int_equal(plan_make(p->count, &pl), EDGEPS_OK);
    pl.global = 0;
    for (size_t i = 0; i < p->count; i++)
        pl.parent[i] = 0;
    p->nodes[3].up_bytes_per_s = 0;
    assert_int_equal(grid_round_s(p, &pl, &round_s), EDGEPS_OK);
    assert_true(round_s == INFINITY);
    plan_free(&pl);
    problem_free(p);
    network_free(net);
}

/* Every hundredth node a local server; each worker under the one before it. */
static void a_large_network(size_t nodes, job_transfer transfer)
{
    network *net = drawn(GENERATE_TWO_TIER, nodes, 1);
    job j;
    problem *p;
    plan pl;
    double fluid_s, grid_s;
    struct rusage used;
    assert_int_equal(job_make("lenet5", 60000, 32, transfer, NULL, &j), EDGEPS_OK);
    assert_int_equal(problem_make(net, &j, &(problem_options){0}, NULL, &p), EDGEPS_OK);
    assert_int_equal(plan_make(nodes, &pl), EDGEPS_OK);
    pl.global = 0;
    for (size_t i = 0; i < nodes; i++)
        pl.parent[i] = (int32_t)(i / 100 * 100);
    assert_int_equal(cost_round_s(p, &pl, &fluid_s), EDGEPS_OK);
    assert_int_equal(grid_round_s(p, &pl, &grid_s), EDGEPS_OK);
    assert_true(fabs(grid_s / fluid_s - 1) < 0.01);
    getrusage(RUSAGE_CHILDREN, &used);
    print_message("%zu nodes: SimGrid %.9f s, the fluid %.9f s; %ld s of processor time, %ld MB\n",
                  nodes, grid_s, fluid_s, (long)used.ru_utime.tv_sec, used.ru_maxrss / 1024);
    assert_true(used.ru_maxrss < 4L << 20);
    plan_free(&pl);
    problem_free(p);
    network_free(net);
}

static void a_large_network_fits_in_four_gigabytes(void **state)
{
    a_large_network(*(const size_t *)*state, JOB_STORE_AND_FORWARD);
}

int main(int argc, char **argv)
{
    size_t nodes = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 0;
    void *large = &nodes;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_networks_tell_the_same_round_times),
        cmocka_unit_test(a_path_that_carries_nothing_never_ends),
    };
    const struct CMUnitTest long_tests[] = {
        cmocka_unit_test_prestate(a_large_network_fits_in_four_gigabytes, large),
    };
    if (!grid_is_there()) {
        print_message("skipped: built without SimGrid\n");
        return 77;
    }
    return nodes ? cmocka_run_group_tests(long_tests, NULL, NULL)
                 : cmocka_run_group_tests(tests, NULL, NULL);
}
