#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* Three nodes: 0 serves only, 1 and 2 train and serve. */
typedef struct world {
    network *net;
    problem *p;
    plan pl;
} world;

static int set_up(void **state)
{
    static world w;
    static const char *const names[] = {"hub", "east", "west"};
    job j;
    assert_int_equal(network_make(3, NULL, &w.net), EDGEPS_OK);
    for (int i = 0; i < 3; i++) {
        network_node *node = &w.net->nodes[i];
        node->name = strdup(names[i]);
        node->up_bytes_per_s = node->down_bytes_per_s = 1e6;
        node->compute_samples_per_s = 1000;
        node->free_bytes = 100000000;
        node->train = i != 0;
    }
    assert_int_equal(job_make("mlp", 1000, 50, JOB_PIPELINED, NULL, &j), EDGEPS_OK);
    assert_int_equal(problem_make(w.net, &j, &(problem_options){.max_locals = 1}, NULL, &w.p),
                     EDGEPS_OK);
    assert_int_equal(plan_make(3, &w.pl), EDGEPS_OK);
    w.pl.global = 0;
    w.pl.parent[1] = w.pl.parent[2] = 1;
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    world *w = *state;
    plan_free(&w->pl);
    problem_free(w->p);
    network_free(w->net);
    return 0;
}

static void expect_refusal(world *w, const char *words)
{
    edgeps_diag diag;
    assert_int_equal(plan_check(&w->pl, w->p, &diag), EDGEPS_INFEASIBLE);
    if (!strstr(diag.text, words))
        fail_msg("'%s' lacks '%s'", diag.text, words);
}

static void a_plan_within_all_constraints_is_accepted(void **state)
{
    world *w = *state;
    assert_int_equal(plan_check(&w->pl, w->p, NULL), EDGEPS_OK);
}

static void names_the_constraint_that_a_plan_breaks(void **state)
{
    world *w = *state;
    w->pl.parent[2] = 2;
    expect_refusal(w, "2 local servers, at most 1");
    w->pl.parent[2] = PLAN_NONE;
    expect_refusal(w, "worker west: has no local server");
    w->pl.parent[2] = 1;
    w->pl.parent[0] = 1;
    expect_refusal(w, "worker hub: the node may not train");
    w->pl.parent[0] = PLAN_NONE;
    w->p->cap_bytes_per_s[2 * 3 + 1] = 0;
    expect_refusal(w, "worker west: no path to and from its server east");
    w->p->cap_bytes_per_s[2 * 3 + 1] = 1;
    w->p->nodes[1].serve = false;
    expect_refusal(w, "local server east: the node may not serve");
}

static void storage_need_of_a_node_is_that_of_all_its_servers(void **state)
{
    world *w = *state;
    const job *j = &w->p->job;
    assert_int_equal(plan_need_bytes(&w->pl, j, 1), job_local_need_bytes(j, 2));
    assert_int_equal(plan_need_bytes(&w->pl, j, 0), job_global_need_bytes(j, 1));
    assert_int_equal(plan_need_bytes(&w->pl, j, 2), 0);
    w->pl.global = 1;
    int64_t both = job_local_need_bytes(j, 2) + job_global_need_bytes(j, 1);
    assert_int_equal(plan_need_bytes(&w->pl, j, 1), both);
    w->p->nodes[1].free_bytes = both;
    assert_int_equal(plan_check(&w->pl, w->p, NULL), EDGEPS_OK);
    w->p->nodes[1].free_bytes = both - 1;
    expect_refusal(w, "storage of east");
}

static void equality_ignores_the_generation(void **state)
{
    world *w = *state;
    plan other;
    assert_int_equal(plan_copy(&w->pl, &other), EDGEPS_OK);
    other.generation = 9;
    assert_true(plan_equal(&w->pl, &other));
    other.parent[1] = 2;
    assert_false(plan_equal(&w->pl, &other));
    plan_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_plan_within_all_constraints_is_accepted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(names_the_constraint_that_a_plan_breaks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(storage_need_of_a_node_is_that_of_all_its_servers, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(equality_ignores_the_generation, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
