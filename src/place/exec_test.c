/* Outside algorithms: what they are told, and how each of their failures is told. */
#include "place/place_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/test_draws.h"

#include <string.h>

#define PLAN "{\"global\": \"n0\", \"parent\": {\"n0\": \"n0\", \"n1\": \"n0\", \"n2\": \"n1\"}}"

static problem *three_nodes(void)
{
    return fixture_problem(3, (fixture_kind){.count = 3, .max_locals = 2, .chunks = 4});
}

static void refuses(const problem *p, const char *algorithm, edgeps_err err, const char *words)
{
    edgeps_diag diag = {.text = ""};
    place_result r = {.reason = "untouched"};
    assert_int_equal(place_run(algorithm, p, NULL, &diag, &r), err);
    assert_string_equal(r.reason, "untouched");
    if (strncmp(diag.text, algorithm, strlen(algorithm)) != 0 || !strstr(diag.text, words) ||
        strchr(diag.text, '\n'))
        fail_msg("'%s' is not '%s: ... %s'", diag.text, algorithm, words);
}

static void a_command_is_given_the_problem_and_its_plan_is_taken(void **state)
{
    (void)state;
    problem *p = three_nodes();
    place_result r;
    assert_int_equal(place_run("exec:grep -q '\"edgeps\":\"problem/1\",\"seed\":7,' && echo '" PLAN
                               "'",
                               p, &(place_options){.seed = 7, .no_polish = true}, NULL, &r),
                     EDGEPS_OK);
    const int32_t parent[] = {0, 0, 1};
    double round_s;
    assert_int_equal(r.plan.global, 0);
    assert_int_equal(r.plan.generation, 1);
    assert_memory_equal(r.plan.parent, parent, sizeof parent);
    assert_int_equal(cost_round_s(p, &r.plan, &round_s), EDGEPS_OK);
    assert_true(r.cost.round_s == round_s);
    assert_true(r.lower_bound_s > 0 && r.lower_bound_s <= round_s);
    place_result_free(&r);
    fixture_free(p);
}

static void a_plan_that_breaks_a_constraint_is_refused_with_its_name(void **state)
{
    (void)state;
    problem *p = three_nodes();
    refuses(p, "exec:echo '{\"global\": \"n0\", \"parent\": {\"n0\": \"n0\", \"n1\": \"n0\"}}'",
            EDGEPS_INFEASIBLE, "its plan breaks a constraint: worker n2: has no local server");
    p->max_locals = 1;
    refuses(p, "exec:echo '" PLAN "'", EDGEPS_INFEASIBLE, "2 local servers, at most 1 are allowed");
    p->max_locals = 2;
    p->nodes[0].free_bytes = 100000;
    refuses(p, "exec:echo '" PLAN "'", EDGEPS_INFEASIBLE, "storage of n0: its servers need ");
    p->nodes[0].free_bytes = INT64_C(1) << 40;
    p->nodes[1].serve = false;
    refuses(p, "exec:echo '" PLAN "'", EDGEPS_INFEASIBLE,
            "local server n1: the node may not serve");
    p->nodes[1].serve = true;
    problem_set_cap_bytes_per_s(p, 2, 1, 0);
    refuses(p, "exec:echo '" PLAN "'", EDGEPS_INFEASIBLE,
            "worker n2: no path to and from its server n1");
    fixture_free(p);
}

static void each_failure_of_a_command_is_one_line(void **state)
{
    (void)state;
    problem *p = three_nodes();
    refuses(p, "exec:exit 5", EDGEPS_IO, "the command ended with status 5");
    refuses(p, "exec:echo '" PLAN "'; exit 1", EDGEPS_IO, "the command ended with status 1");
    refuses(p, "exec:/nonexistent/x 2>/dev/null", EDGEPS_IO, "there is no such command");
    refuses(p, "exec:kill -9 $$", EDGEPS_IO, "the command was killed by signal 9");
    refuses(p, "exec:true", EDGEPS_FORMAT, "the command wrote no plan");
    refuses(p, "exec:", EDGEPS_FORMAT, "the command wrote no plan");
    refuses(p, "exec:echo '{'", EDGEPS_FORMAT, "its plan: line 2, column 0: ");
    refuses(p, "exec:echo '[]'", EDGEPS_FORMAT, "its plan: must be an object");
    refuses(p, "exec:cat", EDGEPS_FORMAT, "its plan: rounds: no such key");
    refuses(p, "exec:echo '{\"global\": \"n9\"}'", EDGEPS_FORMAT,
            "its plan: global: no node is called 'n9'");
    refuses(p, "exec:yes", EDGEPS_FORMAT, "the command wrote more than 1051648 bytes");
    p->nodes[2].name = "n0";
    refuses(p, "exec:cat", EDGEPS_FORMAT, "two nodes are called 'n0'");
    p->nodes[2].name = NULL;
    refuses(p, "exec:cat", EDGEPS_FORMAT, "node 2 has no name");
    fixture_free(p);
}

static bool stop(void *context, const place_progress *now)
{
    (void)now;
    return ++*(int *)context < 3;
}

static void a_command_is_killed_at_the_deadline_or_when_told(void **state)
{
    (void)state;
    problem *p = three_nodes();
    edgeps_diag diag;
    place_result r;
    int64_t began_ns = clock_now_ns();
    assert_int_equal(
        place_run("exec:sleep 1000", p, &(place_options){.deadline_s = 0.2}, &diag, &r), EDGEPS_IO);
    assert_string_equal(diag.text, "exec:sleep 1000: the command gave no plan within the deadline "
                                   "of 0.2 s");
    assert_in_range(clock_now_ns() - began_ns, CLOCK_NS_PER_S / 5, (int64_t)100 * CLOCK_NS_PER_S);
    int asked = 0;
    assert_int_equal(place_run("exec:sleep 1000", p,
                               &(place_options){.progress = stop, .context = &asked}, &diag, &r),
                     EDGEPS_CANCELLED);
    assert_string_equal(diag.text, "exec:sleep 1000: the command was told to stop");
    fixture_free(p);
}

static void status_3_says_that_there_is_no_plan(void **state)
{
    (void)state;
    problem *p = three_nodes();
    place_result r;
    assert_int_equal(place_run("exec:exit 3", p, NULL, NULL, &r), EDGEPS_OK);
    assert_int_equal(r.status, PLACE_INFEASIBLE);
    assert_string_equal(r.reason, "exec:exit 3 found no plan");
    place_result_free(&r);
    fixture_free(p);
}

static void the_example_finds_feasible_plans(void **state)
{
    (void)state;
    static const char example[] = "exec:python3 " EDGEPS_SOURCE_DIR "/examples/exec_greedy.py";
    int found = 0;
    for (uint64_t seed = 1; seed <= test_draws(20); seed++) {
        problem *p = fixture_problem(seed, fixture_any_kind(seed, 5));
        place_result best = fixture_run("brute", p, 1), r;
        edgeps_diag diag = {.text = ""};
        if (place_run(example, p, &(place_options){.no_polish = true}, &diag, &r))
            fail_msg("seed %d: %s", (int)seed, diag.text);
        if (r.status != PLACE_INFEASIBLE) {
            found++;
            assert_int_equal(plan_check(&r.plan, p, NULL), EDGEPS_OK);
            assert_true(r.cost.round_s >= best.cost.round_s * (1 - 1e-9));
        }
        place_result_free(&r);
        place_result_free(&best);
        fixture_free(p);
    }
    assert_in_range(found, test_draws(20) * 2 / 5, test_draws(20));
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    problem *p = three_nodes();
    edgeps_err err = EDGEPS_NOMEM;
    long nth = 0;
    while (err == EDGEPS_NOMEM) {
        place_result r = {.reason = "untouched"};
        mem_fail_at(++nth);
        err = place_run("exec:echo '" PLAN "'", p, &(place_options){.no_polish = true}, NULL, &r);
        mem_fail_at(0);
        if (err == EDGEPS_NOMEM)
            assert_string_equal(r.reason, "untouched");
        else
            place_result_free(&r);
    }
    assert_int_equal(err, EDGEPS_OK);
    assert_in_range(nth, 10, 100000);
    fixture_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_is_given_the_problem_and_its_plan_is_taken),
        cmocka_unit_test(a_plan_that_breaks_a_constraint_is_refused_with_its_name),
        cmocka_unit_test(each_failure_of_a_command_is_one_line),
        cmocka_unit_test(a_command_is_killed_at_the_deadline_or_when_told),
        cmocka_unit_test(status_3_says_that_there_is_no_plan),
        cmocka_unit_test(the_example_finds_feasible_plans),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
