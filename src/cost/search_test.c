#include "cost/search.h"

#include "base/mem.h"
#include "base/rng.h"
#include "cost/cost.h"
#include "cost/cost_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#define NODES ((size_t)8)

static void assert_same(double got, double want)
{
    if (got != want && !(fabs(got - want) <= 1e-12 * want))
        fail_msg("got %.17g, want %.17g", got, want);
}

/* The bound of the present plan from scratch. */
static double whole_bound_s(const problem *p, const cost_search *s)
{
    double scratch[COST_SCRATCH * NODES];
    return cost_bound_s(p, cost_search_plan(s), scratch);
}

static void change(cost_search *s, rng *r, size_t count)
{
    if (rng_below(r, 5) == 0)
        assert_int_equal(cost_search_move_global(s, rng_below(r, count)), EDGEPS_OK);
    size_t worker = rng_below(r, count);
    if (cost_search_plan(s)->parent[worker] != PLAN_NONE)
        assert_int_equal(cost_search_attach(s, worker, rng_below(r, count)), EDGEPS_OK);
}

static void check_lists(const cost_search *s, size_t count)
{
    size_t locals, workers = 0, listed = 0;
    const uint32_t *local = cost_search_locals(s, &locals);
    assert_int_equal(locals, plan_local_count(cost_search_plan(s)));
    for (size_t l = 0; l < locals; l++) {
        int32_t children = 0;
        for (int32_t i = cost_search_first(s, local[l]); i != PLAN_NONE;
             i = cost_search_next(s, (size_t)i)) {
            assert_int_equal(cost_search_plan(s)->parent[i], local[l]);
            children++;
        }
        assert_int_equal(children, cost_search_children(s, local[l]));
        listed += (size_t)children;
    }
    for (size_t i = 0; i < count; i++)
        workers += cost_search_plan(s)->parent[i] != PLAN_NONE;
    assert_int_equal(listed, workers);
}

static void the_bound_after_changes_is_that_of_the_whole_plan(void **state)
{
    (void)state;
    rng r = rng_make(1, 0);
    for (int round = 0; round < 300; round++) {
        problem *p = fixture_random_problem(&r, 1 + rng_below(&r, NODES));
        plan pl = fixture_random_plan(&r, p);
        cost_search *s = NULL;
        assert_int_equal(cost_search_make(p, &pl, &s), EDGEPS_OK);
        assert_same(cost_search_bound_s(s), whole_bound_s(p, s));
        for (int step = 0; step < 60; step++) {
            change(s, &r, p->count);
            if (rng_below(&r, 2))
                assert_same(cost_search_bound_s(s), whole_bound_s(p, s));
            if (rng_below(&r, 4) == 0)
                cost_search_keep(s);
        }
        check_lists(s, p->count);
        cost_search_free(s);
        fixture_free(p, &pl);
    }
}

static void undo_returns_to_what_was_kept(void **state)
{
    (void)state;
    rng r = rng_make(2, 0);
    for (int round = 0; round < 300; round++) {
        problem *p = fixture_random_problem(&r, 1 + rng_below(&r, NODES));
        plan pl = fixture_random_plan(&r, p), kept;
        cost_search *s = NULL;
        assert_int_equal(cost_search_make(p, &pl, &s), EDGEPS_OK);
        for (int step = 0; step < 20; step++) {
            assert_int_equal(plan_copy(cost_search_plan(s), &kept), EDGEPS_OK);
            double kept_s = cost_search_bound_s(s);
            for (uint64_t k = rng_below(&r, 6); k > 0; k--) {
                change(s, &r, p->count);
                if (rng_below(&r, 2))
                    cost_search_bound_s(s);
            }
            if (rng_below(&r, 3) == 0) {
                cost_search_keep(s);
            } else {
                cost_search_undo(s);
                assert_true(plan_equal(cost_search_plan(s), &kept));
                assert_true(cost_search_bound_s(s) == kept_s);
                check_lists(s, p->count);
            }
            plan_free(&kept);
        }
        cost_search_free(s);
        fixture_free(p, &pl);
    }
}

/* Three workers of one server on a slow link, and one of another on a fast one. */
static void the_critical_server_is_the_one_that_makes_the_bound(void **state)
{
    (void)state;
    problem *p = fixture_problem(6, 1000);
    fixture_links(p, 1, 1, 1);
    const int32_t parents[] = {2, 1, 2, 1, 1, 1};
    plan pl = fixture_plan(p, 0, parents);
    cost_search *s = NULL;
    int32_t servers[2];
    assert_int_equal(cost_search_make(p, &pl, &s), EDGEPS_OK);
    cost_search_critical(s, servers);
    assert_int_equal(servers[0], 1);
    assert_int_equal(servers[1], 1);
    cost_search_free(s);
    fixture_free(p, &pl);
}

/* The count adds up over calls, is the same for the same plan, and grows with the chunks. */
static void work_is_counted_alike_every_time(void **state)
{
    (void)state;
    rng r = rng_make(14, 0);
    for (int trial = 0; trial < 20; trial++) {
        double round_s, counted_s, once_us = 0, twice_us = 0, more_us = 0;
        problem *p = fixture_random_problem(&r, NODES);
        plan pl = fixture_random_plan(&r, p);
        fixture_chunks(p, 2, 1000);
        assert_int_equal(cost_round_s(p, &pl, &round_s), EDGEPS_OK);
        assert_int_equal(cost_round_counted_s(p, &pl, &counted_s, &once_us), EDGEPS_OK);
        assert_true(counted_s == round_s && once_us > 0);
        for (int k = 0; k < 2; k++)
            assert_int_equal(cost_round_counted_s(p, &pl, &counted_s, &twice_us), EDGEPS_OK);
        assert_same(twice_us, 2 * once_us);
        fixture_chunks(p, 5, 1000);
        assert_int_equal(cost_round_counted_s(p, &pl, &counted_s, &more_us), EDGEPS_OK);
        assert_true(more_us > once_us);
        fixture_free(p, &pl);
    }
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    rng r = rng_make(3, 0);
    problem *p = fixture_random_problem(&r, NODES);
    plan pl = fixture_random_plan(&r, p);
    for (long n = 1;; n++) {
        cost_search *s = NULL;
        mem_fail_at(n);
        edgeps_err err = cost_search_make(p, &pl, &s);
        for (size_t k = 0; !err && k < NODES; k++)
            if (pl.parent[k] != PLAN_NONE)
                err = cost_search_attach(s, k, (size_t)pl.parent[k] ? 0 : 1);
        mem_fail_at(0);
        if (s)
            assert_same(cost_search_bound_s(s), whole_bound_s(p, s));
        cost_search_free(s);
        if (!err) {
            assert_true(n > 10);
            break;
        }
        assert_int_equal(err, EDGEPS_NOMEM);
    }
    fixture_free(p, &pl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_after_changes_is_that_of_the_whole_plan),
        cmocka_unit_test(undo_returns_to_what_was_kept),
        cmocka_unit_test(the_critical_server_is_the_one_that_makes_the_bound),
        cmocka_unit_test(work_is_counted_alike_every_time),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
