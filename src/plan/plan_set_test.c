#include "plan/plan_set.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* Three nodes that train and serve, and two shards: 0 serves the first, 1 the second. */
typedef struct world {
    network *net;
    problem *p;
    plan_set set;
} world;

static int set_up(void **state)
{
    static world w;
    static const char *const names[] = {"north", "east", "west"};
    job j;
    assert_int_equal(network_make(3, NULL, &w.net), EDGEPS_OK);
    for (int i = 0; i < 3; i++) {
        network_node *node = &w.net->nodes[i];
        node->name = mem_copy_text(names[i]);
        node->up_bytes_per_s = node->down_bytes_per_s = 1e6;
        node->compute_samples_per_s = 1000;
        node->free_bytes = 100000000;
    }
    assert_int_equal(job_make("lenet5", 1000, 50, JOB_PIPELINED, NULL, &j), EDGEPS_OK);
    assert_int_equal(problem_make(w.net, &j, &(problem_options){.max_locals = 1}, NULL, &w.p),
                     EDGEPS_OK);
    assert_int_equal(plan_set_make(2, 3, &w.set), EDGEPS_OK);
    for (int s = 0; s < 2; s++) {
        w.set.shards[s].global = s;
        for (int i = 0; i < 3; i++)
            w.set.shards[s].parent[i] = s;
    }
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    world *w = *state;
    plan_set_free(&w->set);
    problem_free(w->p);
    network_free(w->net);
    return 0;
}

static void expect_refusal(const world *w, const char *words)
{
    edgeps_diag diag;
    assert_int_equal(plan_set_check(&w->set, w->p, &diag), EDGEPS_INFEASIBLE);
    if (!strstr(diag.text, words))
        fail_msg("'%s' lacks '%s'", diag.text, words);
}

/* By hand: LeNet-5 has 15 chunks of 16384 bytes and one of 1064; shards of 8 chunks each. */
static void a_node_holds_the_servers_of_all_its_shards(void **state)
{
    world *w = *state;
    const job *j = &w->p->job;
    const int64_t b = 16384, extra = 3 * JOB_CHECKPOINT_EXTRA;
    const int64_t first = 8 * b, second = 246824 - 8 * b;
    int64_t of_first = 2 * first + 3 * b + 3 * first + b + 3 * 2 * first + extra;
    int64_t of_second = 2 * second + 3 * b + 3 * second + b + 3 * 2 * second + extra;
    assert_int_equal(plan_set_need_bytes(&w->set, j, 0), of_first);
    assert_int_equal(plan_set_need_bytes(&w->set, j, 1), of_second);
    assert_int_equal(plan_set_need_bytes(&w->set, j, 2), 0);
    plan *pl = &w->set.shards[1];
    pl->global = pl->parent[0] = pl->parent[1] = pl->parent[2] = 0;
    assert_int_equal(plan_set_need_bytes(&w->set, j, 0), of_first + of_second);
    w->p->nodes[0].free_bytes = of_first + of_second;
    assert_int_equal(plan_set_check(&w->set, w->p, NULL), EDGEPS_OK);
    w->p->nodes[0].free_bytes--;
    expect_refusal(w, "storage of north: its servers of all shards need");
}

static void names_the_shard_that_breaks_a_constraint(void **state)
{
    world *w = *state;
    assert_int_equal(plan_set_check(&w->set, w->p, NULL), EDGEPS_OK);
    w->set.shards[1].parent[2] = PLAN_NONE;
    expect_refusal(w, "shard 2: worker west: has no local server");
    w->set.shards[1].parent[2] = 2;
    expect_refusal(w, "shard 2: 2 local servers, at most 1");
}

static void more_shards_than_chunks_are_refused(void **state)
{
    world *w = *state;
    w->p->job.parameter_count = 100;
    expect_refusal(w, "2 shards, this job can be cut into 1 to 1");
}

static void one_shard_is_checked_like_a_plan(void **state)
{
    world *w = *state;
    plan_set one = {1, w->set.shards};
    edgeps_diag of_set, of_plan;
    assert_int_equal(plan_set_check(&one, w->p, NULL), EDGEPS_OK);
    assert_int_equal(plan_set_need_bytes(&one, &w->p->job, 0),
                     plan_need_bytes(&one.shards[0], &w->p->job, 0));
    w->p->nodes[0].free_bytes = plan_need_bytes(&one.shards[0], &w->p->job, 0) - 1;
    assert_int_equal(plan_set_check(&one, w->p, &of_set), EDGEPS_INFEASIBLE);
    assert_int_equal(plan_check(&one.shards[0], w->p, &of_plan), EDGEPS_INFEASIBLE);
    assert_string_equal(of_set.text, of_plan.text);
}

static void assignment_copies_every_shard(void **state)
{
    world *w = *state;
    plan_set other;
    assert_int_equal(plan_set_make(2, 3, &other), EDGEPS_OK);
    assert_false(plan_set_equal(&w->set, &other));
    plan_set_assign(&other, &w->set);
    assert_true(plan_set_equal(&w->set, &other));
    other.shards[1].parent[0] = 2;
    assert_false(plan_set_equal(&w->set, &other));
    plan_set_free(&other);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    plan_set set = {0};
    for (long n = 1;; n++) {
        mem_fail_at(n);
        edgeps_err err = plan_set_make(3, 5, &set);
        mem_fail_at(0);
        if (!err)
            break;
        assert_int_equal(err, EDGEPS_NOMEM);
        assert_null(set.shards);
    }
    plan_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_node_holds_the_servers_of_all_its_shards, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(names_the_shard_that_breaks_a_constraint, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(more_shards_than_chunks_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_shard_is_checked_like_a_plan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(assignment_copies_every_shard, set_up, tear_down),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
