#include "problem/problem.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

typedef struct world {
    network *net;
    job j;
} world;

static int set_up(void **state)
{
    static world w;
    static const char *const names[] = {"a", "b", "c"};
    assert_int_equal(network_make(3, NULL, &w.net), EDGEPS_OK);
    for (int i = 0; i < 3; i++) {
        w.net->nodes[i].name = mem_copy_text(names[i]);
        w.net->nodes[i].up_bytes_per_s = w.net->nodes[i].down_bytes_per_s = 1000;
        w.net->nodes[i].compute_samples_per_s = 100 * (i + 1);
        w.net->nodes[i].serve = i == 0;
    }
    assert_int_equal(job_make("mlp", 1200, 100, JOB_PIPELINED, NULL, &w.j), EDGEPS_OK);
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    network_free(((world *)*state)->net);
    return 0;
}

static problem *make(const world *w, const problem_options *options)
{
    problem *p = NULL;
    assert_int_equal(problem_make(w->net, &w->j, options, NULL, &p), EDGEPS_OK);
    return p;
}

static void equal_shares_take_as_long_as_a_node_is_slow(void **state)
{
    problem *p = make(*state, NULL); /* 3 workers x 100 samples: 4 rounds of 100 each */
    assert_int_equal(p->worker_count, 3);
    assert_int_equal(p->rounds, 4);
    assert_int_equal(p->max_locals, 3);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(p->nodes[i].compute_s - 1.0 / (i + 1)) < 1e-12);
    problem_free(p);
}

static void given_shards_and_rounds_count_as_given(void **state)
{
    const int64_t samples[] = {600, 0, 1200};
    problem *p =
        make(*state, &(problem_options){.worker_samples = samples, .rounds = 6, .max_locals = 2});
    assert_int_equal(p->rounds, 6);
    assert_int_equal(p->max_locals, 2);
    assert_true(p->nodes[0].compute_s == 1 && p->nodes[1].compute_s == 0);
    assert_true(fabs(p->nodes[2].compute_s - 2.0 / 3) < 1e-12);
    problem_free(p);
}

static void absent_nodes_carry_no_role(void **state)
{
    const bool absent[] = {false, true, false};
    problem *p = make(*state, &(problem_options){.absent = absent});
    assert_false(p->nodes[1].train);
    assert_int_equal(p->worker_count, 2);
    problem_free(p);
}

static void says_when_nobody_is_left_to_train_or_to_serve(void **state)
{
    world *w = *state;
    const bool no_server[] = {true, false, false};
    edgeps_diag diag;
    problem *p = NULL;
    assert_int_equal(
        problem_make(w->net, &w->j, &(problem_options){.absent = no_server}, &diag, &p),
        EDGEPS_INFEASIBLE);
    assert_non_null(strstr(diag.text, "no node is left that may serve"));
    for (int i = 0; i < 3; i++)
        w->net->nodes[i].train = false;
    assert_int_equal(problem_make(w->net, &w->j, NULL, &diag, &p), EDGEPS_INFEASIBLE);
    assert_non_null(strstr(diag.text, "no node is left that may train"));
    assert_null(p);
}

static void a_path_needs_a_rate_both_ways(void **state)
{
    world *w = *state;
    w->net->cap_bytes_per_s[0 * 3 + 1] = 0;
    problem *p = make(w, NULL);
    assert_false(problem_connected(p, 0, 1));
    assert_false(problem_connected(p, 1, 0));
    assert_true(problem_connected(p, 0, 2));
    assert_true(problem_connected(p, 1, 1));
    problem_free(p);
}

static void a_worker_that_is_cut_off_is_named(void **state)
{
    world *w = *state;
    edgeps_diag diag = {.text = ""};
    problem *p = NULL;
    w->net->nodes[1].up_bytes_per_s = 0;
    assert_int_equal(problem_make(w->net, &w->j, NULL, &diag, &p), EDGEPS_INFEASIBLE);
    assert_non_null(strstr(diag.text, "node 'b' is cut off"));
    w->net->nodes[1].train = false;
    problem_free(make(w, NULL));
}

static void survives_each_allocation_failing(void **state)
{
    world *w = *state;
    edgeps_err err = EDGEPS_NOMEM;
    for (long n = 1; err; n++) {
        problem *p = NULL;
        mem_fail_at(n);
        err = problem_make(w->net, &w->j, NULL, NULL, &p);
        mem_fail_at(0);
        problem_free(p);
    }
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(equal_shares_take_as_long_as_a_node_is_slow),
        UNIT(given_shards_and_rounds_count_as_given),
        UNIT(absent_nodes_carry_no_role),
        UNIT(says_when_nobody_is_left_to_train_or_to_serve),
        UNIT(a_path_needs_a_rate_both_ways),
        UNIT(a_worker_that_is_cut_off_is_named),
        UNIT(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
