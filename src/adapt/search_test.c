/* What the search keeps up to date while plans change, against the functions that start anew. */
#include "adapt/search_int.h"

#include "adapt/adapt_fixture.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static const adapt_options plain = {.mode = ADAPT_ADJUST};

/* The workers that the network has, each with some server. */
static plan whole_plan(rng *r, const problem *p)
{
    plan pl = fixture_random_plan(r, p);
    for (size_t i = 0; i < p->count; i++)
        pl.parent[i] = p->nodes[i].train ? pl.parent[i] : PLAN_NONE;
    return pl;
}

static size_t agrees(search *s, const problem *p)
{
    double move_s;
    verdict v = search_weigh(s);
    transition t = search_transition(s, search_plan(s));
    moves_list(&t, s->moves, &move_s);
    assert_int_equal(v.broken == 0, plan_check(search_plan(s), p, NULL) == EDGEPS_OK);
    assert_int_equal(v.apart, !moves_coexist(&t));
    assert_true(v.move_s <= move_s * (1 + 1e-12));
    return v.broken == 0;
}

static void a_changed_plan_is_judged_as_from_scratch(void **state)
{
    (void)state;
    rng r = rng_make(11, 0);
    size_t tried = 0, feasible = 0;
    for (int round = 0; round < 600; round++) {
        problem *p = fixture_random_problem(&r, 2 + rng_below(&r, 6));
        plan old = whole_plan(&r, p);
        search s;
        assert_int_equal(search_make(p, &old, &plain, &s), EDGEPS_OK);
        assert_int_equal(change_list_all(&s), EDGEPS_OK);
        plan before;
        assert_int_equal(plan_copy(search_plan(&s), &before), EDGEPS_OK);
        for (size_t k = 0; k < s.changes.count; k++) {
            change_make(&s, &s.changes.items[k]);
            feasible += agrees(&s, p);
            search_take_back(&s);
            assert_true(plan_equal(search_plan(&s), &before));
            agrees(&s, p);
        }
        tried += s.changes.count;
        plan_free(&before);
        search_free(&s);
        fixture_free(p, &old);
    }
    assert_true(tried > 2000 && feasible > 100 && feasible < tried);
}

/* The focused lists are parts of the whole one. */
static bool contains(const changes *list, const change *c)
{
    for (size_t k = 0; k < list->count; k++)
        if (memcmp(&list->items[k], c, sizeof *c) == 0)
            return true;
    return false;
}

static void the_focused_changes_are_among_all(void **state)
{
    (void)state;
    rng r = rng_make(12, 0);
    for (int round = 0; round < 100; round++) {
        problem *p = fixture_random_problem(&r, 6);
        plan old = whole_plan(&r, p);
        search focused, all;
        assert_int_equal(search_make(p, &old, &plain, &focused), EDGEPS_OK);
        assert_int_equal(search_make(p, &old, &plain, &all), EDGEPS_OK);
        assert_int_equal(change_list_all(&all), EDGEPS_OK);
        assert_int_equal(change_list_broken(&focused), EDGEPS_OK);
        for (size_t k = 0; k < focused.changes.count; k++)
            assert_true(contains(&all.changes, &focused.changes.items[k]));
        assert_int_equal(change_list_critical(&focused), EDGEPS_OK);
        for (size_t k = 0; k < focused.changes.count; k++)
            assert_true(contains(&all.changes, &focused.changes.items[k]));
        search_free(&focused);
        search_free(&all);
        fixture_free(p, &old);
    }
}

/* Two nodes could take the server over; one of them will soon be short of room. */
static void a_server_goes_where_the_forecast_has_room_for_it(void **state)
{
    (void)state;
    problem *p = fixture_problem(5);
    plan pl = fixture_plan(3, 5, (int32_t[]){2, 2, PLAN_NONE, PLAN_NONE, PLAN_NONE});
    int64_t need = job_local_need_bytes(&p->job, 2), forecast[5];
    for (size_t i = 0; i < 5; i++) {
        p->nodes[i].train = i < 2;
        p->nodes[i].serve = i == 1 || i >= 3;
        forecast[i] = p->nodes[i].free_bytes;
    }
    p->nodes[3].free_bytes = forecast[3] = job_global_need_bytes(&p->job, 1);
    adapt_options options = {.mode = ADAPT_ADJUST, .forecast_bytes = forecast};
    for (int32_t short_of_room = 1; short_of_room <= 4; short_of_room += 3) {
        forecast[1] = forecast[4] = need;
        forecast[short_of_room] = need - 1;
        adapt_result r = fixture_step(p, &pl, options);
        assert_true(r.changed && r.repair);
        assert_int_equal(r.plan.parent[0], short_of_room == 1 ? 4 : 1);
        adapt_result_free(&r);
    }
    options.margin = 0.01; /* nowhere: the plan must be repaired all the same */
    adapt_result r = fixture_step(p, &pl, options);
    assert_true(r.changed && !r.infeasible);
    adapt_result_free(&r);
    fixture_free(p, &pl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_plan_is_judged_as_from_scratch),
        cmocka_unit_test(the_focused_changes_are_among_all),
        cmocka_unit_test(a_server_goes_where_the_forecast_has_room_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
