#include "place/explain.h"

#include "base/mem.h"
#include "place/place_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

static double play(const problem *p, const plan *pl)
{
    double round_s;
    assert_int_equal(cost_round_s(p, pl, &round_s), EDGEPS_OK);
    return round_s;
}

/* The plan with `node` in this role instead; false when it breaks a constraint. */
static bool with_substitute(const problem *p, const plan *from, const place_role *role, size_t node,
                            double *round_s)
{
    plan pl;
    assert_int_equal(plan_copy(from, &pl), EDGEPS_OK);
    if (role->global)
        pl.global = (int32_t)node;
    for (size_t i = 0; !role->global && i < pl.count; i++)
        if (pl.parent[i] == (int32_t)role->node)
            pl.parent[i] = (int32_t)node;
    bool feasible = plan_check(&pl, p, NULL) == EDGEPS_OK;
    if (feasible)
        *round_s = play(p, &pl);
    plan_free(&pl);
    return feasible;
}

static void check_substitutes(const problem *p, const plan *pl, const place_role *role)
{
    size_t candidates = 0;
    double best_s = INFINITY, round_s = 0;
    for (size_t node = 0; node < p->count; node++) {
        bool taken = role->global ? pl->global == (int32_t)node : plan_is_local(pl, node);
        if (taken || !with_substitute(p, pl, role, node, &round_s))
            continue;
        candidates++;
        best_s = fmin(best_s, round_s);
    }
    assert_int_equal(role->candidates, candidates);
    assert_true(role->substitute_s == best_s);
    assert_int_equal(role->left, 0);
    if (candidates == 0) {
        assert_int_equal(role->substitute, PLAN_NONE);
    } else {
        assert_true(with_substitute(p, pl, role, (size_t)role->substitute, &round_s));
        assert_true(round_s == best_s);
    }
}

/* The best round of all ways to give the local server's workers to the other local servers. */
static double best_without_s(const problem *p, const plan *from, size_t closed)
{
    size_t workers[16], count = 0, ways = 1;
    double best_s = INFINITY;
    plan pl;
    assert_int_equal(plan_copy(from, &pl), EDGEPS_OK);
    for (size_t i = 0; i < pl.count; i++)
        if (pl.parent[i] == (int32_t)closed) {
            workers[count++] = i;
            ways *= p->count;
        }
    for (size_t way = 0; way < ways; way++) {
        size_t digits = way;
        bool open = true;
        for (size_t k = 0; k < count; k++, digits /= p->count) {
            size_t to = digits % p->count;
            open &= to != closed && plan_is_local(from, to);
            pl.parent[workers[k]] = (int32_t)to;
        }
        if (open && plan_check(&pl, p, NULL) == EDGEPS_OK)
            best_s = fmin(best_s, play(p, &pl));
    }
    plan_free(&pl);
    return best_s;
}

static void roles_are_explained_as_enumeration_finds(void **state)
{
    (void)state;
    size_t finite = 0, substitutes = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        problem *p = fixture_problem(seed, fixture_any_kind(seed, 4 + seed % 2));
        place_result r = fixture_run("random", p, seed);
        place_reasons reasons;
        if (r.status != PLACE_INFEASIBLE) {
            assert_int_equal(place_explain(p, &r.plan, &reasons), EDGEPS_OK);
            assert_int_equal(reasons.count, 1 + plan_local_count(&r.plan));
            assert_true(reasons.roles[0].global);
            assert_int_equal(reasons.roles[0].node, r.plan.global);
            for (size_t k = 0; k < reasons.count; k++) {
                const place_role *role = &reasons.roles[k];
                check_substitutes(p, &r.plan, role);
                substitutes += role->candidates > 0;
                if (k == 0)
                    continue;
                assert_true(plan_is_local(&r.plan, role->node));
                assert_true(role->without_s >= best_without_s(p, &r.plan, role->node));
                finite += role->without_s < INFINITY;
            }
            place_reasons_free(&reasons);
        }
        place_result_free(&r);
        fixture_free(p);
    }
    assert_true(finite > 10 && substitutes > 30);
}

static void improving_never_makes_worse_and_tells_its_time(void **state)
{
    (void)state;
    size_t improved = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        problem *p = fixture_problem(seed, fixture_any_kind(seed, 5));
        place_options options = {.seed = seed, .no_polish = true};
        place_result r;
        double round_s;
        assert_int_equal(place_run("random", p, &options, NULL, &r), EDGEPS_OK);
        if (r.status != PLACE_INFEASIBLE) {
            double before_s = play(p, &r.plan);
            assert_int_equal(place_improve(p, &options, &r.plan, &round_s), EDGEPS_OK);
            assert_int_equal(plan_check(&r.plan, p, NULL), EDGEPS_OK);
            assert_true(round_s == play(p, &r.plan));
            assert_true(round_s <= before_s);
            improved += round_s < before_s;
        }
        place_result_free(&r);
        fixture_free(p);
    }
    assert_true(improved > 5);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    problem *p = fixture_problem(3, (fixture_kind){.count = 5, .max_locals = 2, .chunks = 2});
    place_result r = fixture_run("greedy", p, 1);
    place_options options = {.seed = 1};
    edgeps_err err = EDGEPS_NOMEM;
    for (long nth = 1; err; nth++) {
        place_reasons reasons = {.count = 77};
        mem_fail_at(nth);
        err = place_explain(p, &r.plan, &reasons);
        mem_fail_at(0);
        assert_true(err == EDGEPS_NOMEM || !err);
        if (err)
            assert_int_equal(reasons.count, 77);
        else
            place_reasons_free(&reasons);
    }
    err = EDGEPS_NOMEM;
    for (long nth = 1; err; nth++) {
        double round_s = 77;
        mem_fail_at(nth);
        err = place_improve(p, &options, &r.plan, &round_s);
        mem_fail_at(0);
        assert_true(!err || round_s == 77);
    }
    place_result_free(&r);
    fixture_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles_are_explained_as_enumeration_finds),
        cmocka_unit_test(improving_never_makes_worse_and_tells_its_time),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
