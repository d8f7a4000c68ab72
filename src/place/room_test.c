#include "place/explain.h"

#include "base/mem.h"
#include "place/place_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

static int64_t most_need_bytes(const problem *p)
{
    return job_local_need_bytes(&p->job, (int64_t)p->worker_count) +
           job_global_need_bytes(&p->job, (int64_t)p->max_locals);
}

static place_room_gains find(const problem *p, const plan *pl, int64_t more_bytes)
{
    place_room_gains g;
    assert_int_equal(place_find_room_gains(p, pl, more_bytes, NULL, NULL, &g), EDGEPS_OK);
    return g;
}

/* Node 0 has room for two workers; node 1, which adds slowly, serves itself and node 3, which has
 * no path to node 0. With room for a third at node 0, node 1 adds one gradient less. */
static void room_for_one_more_worker_is_worth_what_it_saves(void **state)
{
    (void)state;
    problem *p = fixture_problem(
        1, (fixture_kind){.count = 4, .max_locals = 2, .chunks = 1, .uniform = true});
    plan pl, better;
    double round_s, better_s;
    assert_int_equal(plan_make(4, &pl), EDGEPS_OK);
    pl.global = 0;
    pl.parent[0] = pl.parent[2] = 0;
    pl.parent[1] = pl.parent[3] = 1;
    problem_set_cap_bytes_per_s(p, 0, 3, 0);
    problem_set_cap_bytes_per_s(p, 3, 0, 0);
    assert_int_equal(plan_copy(&pl, &better), EDGEPS_OK);
    better.parent[1] = 0;
    for (size_t i = 0; i < 4; i++) {
        p->nodes[i].sum_bytes_per_s = i == 1 ? 1e4 : INFINITY;
        p->nodes[i].serve = i < 2;
        p->nodes[i].free_bytes = plan_need_bytes(&pl, &p->job, i);
    }
    assert_int_equal(cost_round_s(p, &pl, &round_s), EDGEPS_OK);
    assert_int_equal(cost_round_s(p, &better, &better_s), EDGEPS_OK);
    assert_true(better_s < round_s);
    place_room_gains g = find(p, &pl, most_need_bytes(p));
    assert_int_equal(g.count + g.idle, 2);
    size_t at = 0;
    while (g.gains[at].node != 0)
        at++;
    assert_true(g.gains[at].gain_s == round_s - better_s);
    assert_string_equal(g.gains[at].change, "worker n1 changes to n0");
    place_room_gains_free(&g);
    plan_free(&pl);
    plan_free(&better);
    fixture_free(p);
}

/* The best round of re-attaching one worker to a node that had no room for it. */
static double best_attach_s(const problem *p, const problem *roomy, const plan *from, size_t node)
{
    double best_s = INFINITY, round_s;
    plan pl;
    assert_int_equal(plan_copy(from, &pl), EDGEPS_OK);
    for (size_t i = 0; i < p->count; i++) {
        if (pl.parent[i] == PLAN_NONE)
            continue;
        pl.parent[i] = (int32_t)node;
        if (plan_check(&pl, roomy, NULL) == EDGEPS_OK && plan_check(&pl, p, NULL) != EDGEPS_OK) {
            assert_int_equal(cost_round_s(p, &pl, &round_s), EDGEPS_OK);
            best_s = fmin(best_s, round_s);
        }
        pl.parent[i] = from->parent[i];
    }
    plan_free(&pl);
    return best_s;
}

/* Against the best of all plans with the room and without, and every single re-attachment. */
static void gains_lie_between_those_of_one_worker_and_of_all_plans(void **state)
{
    (void)state;
    size_t gaining = 0, idle = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        fixture_kind kind = fixture_any_kind(seed, 4 + (seed % 8 == 0));
        kind.tight = seed % 4 != 0;
        problem *p = fixture_problem(seed, kind);
        place_result r = fixture_run("brute", p, seed);
        for (; r.status != PLACE_INFEASIBLE; r.status = PLACE_INFEASIBLE) {
            place_room_gains g = find(p, &r.plan, most_need_bytes(p));
            for (size_t k = 0; k < g.count; k++) {
                problem *roomy = fixture_copy(p);
                roomy->nodes[g.gains[k].node].free_bytes += most_need_bytes(p);
                double most_s = r.cost.round_s - fixture_best_of_all_s(roomy);
                double least_s = r.cost.round_s - best_attach_s(p, roomy, &r.plan, g.gains[k].node);
                double slack_s = 1e-12 * r.cost.round_s;
                assert_true(g.gains[k].gain_s <= most_s + slack_s);
                assert_true(g.gains[k].gain_s >= least_s - slack_s);
                assert_int_equal(g.gains[k].gain_s > 0, g.gains[k].change[0] != '\0');
                gaining += g.gains[k].gain_s > 0;
                fixture_free(roomy);
            }
            idle += g.idle;
            place_room_gains_free(&g);
        }
        place_result_free(&r);
        fixture_free(p);
    }
    assert_true(gaining > 5 && idle > 10);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    problem *p =
        fixture_problem(3, (fixture_kind){.count = 5, .max_locals = 2, .chunks = 2, .tight = true});
    place_result r = fixture_run("greedy", p, 1);
    assert_int_not_equal(r.status, PLACE_INFEASIBLE);
    edgeps_err err = EDGEPS_NOMEM;
    for (long nth = 1; err; nth++) {
        place_room_gains g = {.idle = 77};
        mem_fail_at(nth);
        err = place_find_room_gains(p, &r.plan, 1 << 20, NULL, NULL, &g);
        mem_fail_at(0);
        assert_true(err == EDGEPS_NOMEM || !err);
        if (err)
            assert_int_equal(g.idle, 77);
        else
            place_room_gains_free(&g);
    }
    place_result_free(&r);
    fixture_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(room_for_one_more_worker_is_worth_what_it_saves),
        cmocka_unit_test(gains_lie_between_those_of_one_worker_and_of_all_plans),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
