#include "place/place_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static problem *plain_problem(size_t count, size_t max_locals)
{
    return fixture_problem(
        1, (fixture_kind){.count = count, .max_locals = max_locals, .chunks = 4, .uniform = true});
}

static void expect_words(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("'%s' lacks '%s'", text, words);
}

static void names_the_algorithms_when_asked_for_another(void **state)
{
    (void)state;
    problem *p = plain_problem(3, 1);
    edgeps_diag diag = {0};
    place_result r = {.reason = "untouched"};
    assert_int_equal(place_run("best", p, NULL, &diag, &r), EDGEPS_USAGE);
    expect_words(diag.text, "'best' is not known");
    for (size_t a = 0; a < place_algorithm_count; a++)
        expect_words(diag.text, place_algorithms[a].name);
    assert_string_equal(r.reason, "untouched");
    fixture_free(p);
}

static void refuses_a_negative_deadline(void **state)
{
    (void)state;
    problem *p = plain_problem(3, 1);
    place_options options = {.deadline_s = -1};
    edgeps_diag diag = {0};
    place_result r;
    assert_int_equal(place_run("greedy", p, &options, &diag, &r), EDGEPS_USAGE);
    expect_words(diag.text, "deadline");
    fixture_free(p);
}

static void expect_no_plan(const problem *p, const char *words)
{
    for (size_t a = 0; a < place_algorithm_count; a++) {
        place_result r = fixture_run(place_algorithms[a].name, p, 1);
        assert_int_equal(r.status, PLACE_INFEASIBLE);
        expect_words(r.reason, words);
        place_result_free(&r);
    }
}

static void says_that_no_node_has_room_for_the_global_server(void **state)
{
    (void)state;
    problem *p = plain_problem(3, 1);
    char words[128];
    int64_t need = job_global_need_bytes(&p->job, 1);
    for (size_t i = 0; i < 3; i++)
        p->nodes[i].free_bytes = i == 1 ? 102400 : 51200;
    snprintf(words, sizeof words,
             "storage: the global server needs %lld KiB, the roomiest serving node (n1) offers 100 "
             "KiB",
             (long long)(need + 1023) / 1024);
    expect_no_plan(p, words);
    fixture_free(p);
}

static void says_which_worker_has_no_path(void **state)
{
    (void)state;
    problem *p = plain_problem(4, 2);
    p->nodes[2].serve = false;
    for (size_t j = 0; j < 4; j++)
        p->cap_bytes_per_s[8 + j] = 0; /* from node 2 */
    expect_no_plan(p, "worker n2: no path to any node that may serve");
    fixture_free(p);
}

static void says_how_many_workers_the_storage_holds(void **state)
{
    (void)state;
    problem *p = fixture_problem(
        1, (fixture_kind){.count = 10, .max_locals = 1, .chunks = 1, .uniform = true});
    p->job.parameter_count = 1000000;
    p->job.chunk_bytes = 4000000;
    for (size_t i = 0; i < 10; i++)
        p->nodes[i].free_bytes = job_global_need_bytes(&p->job, 1);
    assert_true(job_local_need_bytes(&p->job, 8) <= p->nodes[0].free_bytes);
    assert_true(job_local_need_bytes(&p->job, 9) > p->nodes[0].free_bytes);
    expect_no_plan(p, "storage: 1 local server with the free storage can hold only 8 of 10");
    fixture_free(p);
}

static void says_when_storage_and_the_number_of_servers_clash(void **state)
{
    (void)state;
    problem *p = plain_problem(6, 2);
    for (size_t i = 0; i < 6; i++)
        p->nodes[i].free_bytes = job_local_need_bytes(&p->job, 2);
    p->nodes[0].free_bytes = job_global_need_bytes(&p->job, 2);
    expect_no_plan(p, "paths and storage together: there is no global server and at most 2 ");
    fixture_free(p);
}

static void names_the_runner_up(void **state)
{
    (void)state;
    problem *p = plain_problem(5, 2);
    for (size_t i = 0; i < 5; i++) {
        double rate = i == 3 ? 1e6 : i == 1 ? 9e5 : 1e5;
        p->nodes[i].up_bytes_per_s = p->nodes[i].down_bytes_per_s = rate;
    }
    place_result r = fixture_run("brute", p, 1);
    assert_int_equal(r.plan.global, 3);
    expect_words(r.reason, "best of 5 candidates");
    expect_words(r.reason, "the runner-up");
    place_result_free(&r);
    fixture_free(p);
}

static void a_single_node_is_its_own_server(void **state)
{
    (void)state;
    problem *p = plain_problem(1, 1);
    for (size_t a = 0; a < place_algorithm_count; a++) {
        place_result r = fixture_run(place_algorithms[a].name, p, 1);
        assert_int_equal(r.plan.global, 0);
        assert_int_equal(r.plan.parent[0], 0);
        assert_int_equal(r.status, PLACE_OPTIMAL);
        place_result_free(&r);
    }
    fixture_free(p);
}

static void without_polish_nothing_is_searched(void **state)
{
    (void)state;
    size_t polished = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        problem *p =
            fixture_problem(seed, (fixture_kind){.count = 8, .max_locals = 3, .chunks = 1});
        place_options raw = {.seed = seed, .no_polish = true};
        place_result a, b = fixture_run("random", p, seed);
        assert_int_equal(place_run("random", p, &raw, NULL, &a), EDGEPS_OK);
        assert_true(b.cost.round_s <= a.cost.round_s);
        polished += b.cost.round_s < 0.9 * a.cost.round_s;
        place_result_free(&a);
        place_result_free(&b);
        fixture_free(p);
    }
    assert_in_range(polished, 8, 10);
}

static void any_plan_is_found_where_there_is_one(void **state)
{
    (void)state;
    size_t none = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        problem *p = fixture_problem(seed, fixture_any_kind(seed, 4));
        place_result r;
        assert_int_equal(place_any(p, &r), EDGEPS_OK);
        assert_int_equal(r.status == PLACE_INFEASIBLE, fixture_best_of_all_s(p) == INFINITY);
        if (r.status == PLACE_INFEASIBLE)
            assert_true(strlen(r.reason) > 10);
        else
            assert_int_equal(plan_check(&r.plan, p, NULL), EDGEPS_OK);
        none += r.status == PLACE_INFEASIBLE;
        place_result_free(&r);
        fixture_free(p);
    }
    assert_in_range(none, 5, 55);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_algorithms_when_asked_for_another),
        cmocka_unit_test(refuses_a_negative_deadline),
        cmocka_unit_test(says_that_no_node_has_room_for_the_global_server),
        cmocka_unit_test(says_which_worker_has_no_path),
        cmocka_unit_test(says_how_many_workers_the_storage_holds),
        cmocka_unit_test(says_when_storage_and_the_number_of_servers_clash),
        cmocka_unit_test(any_plan_is_found_where_there_is_one),
        cmocka_unit_test(names_the_runner_up),
        cmocka_unit_test(a_single_node_is_its_own_server),
        cmocka_unit_test(without_polish_nothing_is_searched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
