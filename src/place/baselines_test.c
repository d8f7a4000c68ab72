/* What each simple algorithm is known for, on networks where the answer is plain. */
#include "place/place_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define NODES 9
#define CLUSTER 3

static place_result unpolished(const char *name, const problem *p)
{
    place_options options = {.seed = 1, .no_polish = true};
    place_result r;
    assert_int_equal(place_run(name, p, &options, NULL, &r), EDGEPS_OK);
    assert_int_equal(plan_check(&r.plan, p, NULL), EDGEPS_OK);
    return r;
}

static problem *equal_nodes(size_t max_locals)
{
    return fixture_problem(
        1, (fixture_kind){.count = NODES, .max_locals = max_locals, .chunks = 1, .uniform = true});
}

/* Three sites of three workers, far from each other and from the only possible global server. */
static problem *clusters(void)
{
    problem *p = fixture_problem(
        1, (fixture_kind){.count = NODES + 1, .max_locals = CLUSTER, .chunks = 1, .uniform = true});
    int64_t local = job_local_need_bytes(&p->job, NODES);
    for (size_t a = 0; a <= NODES; a++)
        for (size_t b = 0; b <= NODES; b++)
            if (a != b)
                problem_set_latency_s(p, a, b, a / CLUSTER == b / CLUSTER ? 0.001 : 0.5);
    for (size_t a = 0; a < NODES; a++)
        p->nodes[a].free_bytes = local;
    assert_true(local < job_global_need_bytes(&p->job, 1));
    p->nodes[NODES].train = false;
    p->nodes[NODES].compute_s = 0;
    p->worker_count--;
    p->nodes[NODES].free_bytes = job_global_need_bytes(&p->job, CLUSTER);
    return p;
}

static void expect_a_server_in_each_cluster(const char *name)
{
    problem *p = clusters();
    place_result r = unpolished(name, p);
    for (size_t i = 0; i < NODES; i++)
        assert_int_equal((size_t)r.plan.parent[i] / CLUSTER, i / CLUSTER);
    place_result_free(&r);
    fixture_free(p);
}

static void farthest_first_and_the_median_serve_each_cluster_from_within(void **state)
{
    (void)state;
    expect_a_server_in_each_cluster("gonzalez");
    expect_a_server_in_each_cluster("kmedian");
    expect_a_server_in_each_cluster("genetic");
}

static void the_hub_has_the_highest_degree(void **state)
{
    (void)state;
    problem *p = equal_nodes(1);
    p->nodes[5].up_bytes_per_s = p->nodes[5].down_bytes_per_s = 1e7;
    place_result r = unpolished("degree", p);
    assert_int_equal(r.plan.global, 5);
    for (size_t i = 0; i < NODES; i++)
        assert_int_equal(r.plan.parent[i], 5);
    place_result_free(&r);
    fixture_free(p);
}

static void a_node_that_only_trains_counts_for_degrees_and_takes_no_role(void **state)
{
    (void)state;
    problem *p = equal_nodes(2);
    for (size_t i = 0; i < NODES; i++)
        p->nodes[i].serve = i == 2 || i == 7;
    p->nodes[0].up_bytes_per_s = p->nodes[0].down_bytes_per_s = 1e7;
    place_result r = unpolished("degree", p);
    assert_true(r.plan.global == 2 || r.plan.global == 7);
    place_result_free(&r);
    fixture_free(p);
}

static void the_roomiest_node_has_the_global_server(void **state)
{
    (void)state;
    problem *p = equal_nodes(3);
    p->nodes[4].free_bytes *= 2;
    place_result r = unpolished("storage", p);
    assert_int_equal(r.plan.global, 4);
    place_result_free(&r);
    fixture_free(p);
}

/* Without limits of storage or paths no server has two workers more than another. */
static void workers_are_dealt_out_evenly(void **state)
{
    (void)state;
    for (size_t k = 1; k <= NODES; k++) {
        int32_t children[NODES], least = NODES, most = 0;
        problem *p = equal_nodes(k);
        place_result r = unpolished("uniform", p);
        assert_int_equal(plan_local_count(&r.plan), k);
        plan_children(&r.plan, children);
        for (size_t j = 0; j < NODES; j++) {
            if (children[j] > most)
                most = children[j];
            if (children[j] > 0 && children[j] < least)
                least = children[j];
        }
        assert_in_range(most - least, 0, 1);
        place_result_free(&r);
        fixture_free(p);
    }
}

/* Both searches look at several hundred choices: on so few nodes they come close. */
static void swarm_and_genes_come_close_to_the_optimum(void **state)
{
    (void)state;
    double sum[2] = {0};
    size_t count = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        problem *p = fixture_problem(
            seed, (fixture_kind){
                      .count = 7, .max_locals = 3, .chunks = 1 + 3 * (seed % 2), .tight = true});
        place_result best = fixture_run("brute", p, seed);
        if (best.status != PLACE_INFEASIBLE) {
            place_result a = unpolished("genetic", p), b = unpolished("pso", p);
            sum[0] += a.cost.round_s / best.cost.round_s;
            sum[1] += b.cost.round_s / best.cost.round_s;
            count++;
            place_result_free(&a);
            place_result_free(&b);
        }
        place_result_free(&best);
        fixture_free(p);
    }
    print_message("mean ratio to the optimum on %d instances: genetic %.4f, pso %.4f\n", (int)count,
                  sum[0] / (double)count, sum[1] / (double)count);
    assert_in_range(count, 6, 12);
    assert_true(sum[0] / (double)count < 1.1);
    assert_true(sum[1] / (double)count < 1.12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(farthest_first_and_the_median_serve_each_cluster_from_within),
        cmocka_unit_test(the_hub_has_the_highest_degree),
        cmocka_unit_test(a_node_that_only_trains_counts_for_degrees_and_takes_no_role),
        cmocka_unit_test(the_roomiest_node_has_the_global_server),
        cmocka_unit_test(workers_are_dealt_out_evenly),
        cmocka_unit_test(swarm_and_genes_come_close_to_the_optimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
