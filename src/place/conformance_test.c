/* What every algorithm of the table must keep. */
#include "place/place_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

#include <math.h>
#include <string.h>

typedef void check_algorithm(const char *name);

static void for_each_algorithm(check_algorithm *check)
{
    assert_in_range(place_algorithm_count, 3, 100);
    for (size_t a = 0; a < place_algorithm_count; a++)
        check(place_algorithms[a].name);
}

/* What a quick run draws of `seeds` problems. With an argument: all of them, and every allocation.
 */
static bool thorough;

static uint64_t drawn(uint64_t seeds) { return thorough ? seeds : seeds / 3; }

static void check_against_brute(const char *name, const problem *p, uint64_t seed,
                                const place_result *best)
{
    place_result r = fixture_run(name, p, seed);
    if (best->status == PLACE_INFEASIBLE) {
        assert_int_equal(r.status, PLACE_INFEASIBLE);
        assert_true(strlen(r.reason) > 10);
    } else {
        assert_int_not_equal(r.status, PLACE_INFEASIBLE);
        assert_int_equal(plan_check(&r.plan, p, NULL), EDGEPS_OK);
        assert_int_equal(r.plan.generation, 1);
        assert_true(r.cost.round_s >= best->cost.round_s * (1 - 1e-9));
        assert_true(r.lower_bound_s > 0);
        assert_true(r.lower_bound_s <= best->cost.round_s * (1 + 1e-9));
    }
    place_result_free(&r);
}

static void is_feasible_exactly_where_brute_is(void **state)
{
    (void)state;
    size_t infeasible = 0;
    for (uint64_t seed = 1; seed <= drawn(30); seed++) {
        problem *p = fixture_problem(seed, fixture_any_kind(seed, 4 + seed % 2));
        place_result best = fixture_run("brute", p, seed);
        infeasible += best.status == PLACE_INFEASIBLE;
        for (size_t a = 0; a < place_algorithm_count; a++)
            check_against_brute(place_algorithms[a].name, p, seed, &best);
        place_result_free(&best);
        fixture_free(p);
    }
    assert_in_range(infeasible, 1, drawn(30) - 1);
}

static void check_determinism(const char *name)
{
    for (uint64_t seed = 1; seed <= drawn(6); seed++) {
        problem *p = fixture_problem(seed, fixture_any_kind(seed, 6));
        place_result a = fixture_run(name, p, seed), b = fixture_run(name, p, seed);
        assert_int_equal(a.status, b.status);
        assert_string_equal(a.reason, b.reason);
        if (a.status != PLACE_INFEASIBLE)
            assert_true(plan_equal(&a.plan, &b.plan));
        place_result_free(&a);
        place_result_free(&b);
        fixture_free(p);
    }
}

static void the_same_seed_gives_the_same_plan(void **state)
{
    (void)state;
    for_each_algorithm(check_determinism);
}

/* All times times `factor`: rates divided by it. */
static problem *stretched(const problem *p, double factor)
{
    problem *q = fixture_copy(p);
    for (size_t i = 0; i < q->count; i++) {
        q->nodes[i].up_bytes_per_s /= factor;
        q->nodes[i].down_bytes_per_s /= factor;
        q->nodes[i].sum_bytes_per_s /= factor;
        q->nodes[i].compute_s *= factor;
    }
    for (size_t a = 0; a < q->site_count * q->site_count; a++) {
        q->latency_s[a] *= factor;
        q->cap_bytes_per_s[a] /= factor;
    }
    return q;
}

static void check_scale(const char *name)
{
    for (uint64_t seed = 1; seed <= drawn(6); seed++) {
        problem *p = fixture_problem(seed, fixture_any_kind(seed, 6));
        problem *q = stretched(p, 1024); /* a power of two keeps the digits */
        place_result a = fixture_run(name, p, seed), b = fixture_run(name, q, seed);
        assert_int_equal(a.status, b.status);
        if (a.status != PLACE_INFEASIBLE) {
            assert_true(fixture_near(a.cost.round_s * 1024, b.cost.round_s));
            assert_true(fixture_near(a.lower_bound_s * 1024, b.lower_bound_s));
        }
        place_result_free(&a);
        place_result_free(&b);
        fixture_free(p);
        fixture_free(q);
    }
}

static void a_slower_world_gives_the_same_plan_in_proportion(void **state)
{
    (void)state;
    for_each_algorithm(check_scale);
}

/* Every allocation of so many, then ever fewer: a search makes the same ones again and again. */
#define EACH_OF 30

static void check_allocations(const char *name)
{
    problem *p =
        fixture_problem(5, (fixture_kind){.count = 3, .max_locals = 2, .chunks = 1, .tight = true});
    /* What polishing allocates is the same after each. */
    place_options options = {.no_polish = strcmp(name, place_algorithms[0].name) != 0};
    edgeps_err err = EDGEPS_NOMEM;
    long nth = 0;
    while (err == EDGEPS_NOMEM) {
        place_result r = {.reason = "untouched"};
        nth += 1 + (thorough ? 0 : nth / EACH_OF);
        mem_fail_at(nth);
        err = place_run(name, p, &options, NULL, &r);
        mem_fail_at(0);
        if (err == EDGEPS_NOMEM)
            assert_string_equal(r.reason, "untouched");
        else
            place_result_free(&r);
    }
    assert_int_equal(err, EDGEPS_OK);
    assert_in_range(nth, 20, 1000000);
    fixture_free(p);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    for_each_algorithm(check_allocations);
}

static bool stop_at_once(void *context, const place_progress *now)
{
    (void)now;
    ++*(int *)context;
    return false;
}

static void check_stop(const char *name)
{
    int asked = 0;
    problem *p = fixture_problem(9, (fixture_kind){.count = 8, .max_locals = 3, .chunks = 3});
    place_options options = {.progress = stop_at_once, .context = &asked};
    place_result r;
    assert_int_equal(place_run(name, p, &options, NULL, &r), EDGEPS_OK);
    assert_in_range(asked, 1, 10);
    assert_int_equal(r.stopped, PLACE_STOPPED_CANCELLED);
    assert_int_equal(plan_check(&r.plan, p, NULL), EDGEPS_OK);
    place_result_free(&r);
    assert_int_equal(place_run(name, p, &(place_options){.deadline_s = 1e-9}, NULL, &r), EDGEPS_OK);
    assert_int_equal(r.stopped, PLACE_STOPPED_DEADLINE);
    assert_int_equal(plan_check(&r.plan, p, NULL), EDGEPS_OK);
    place_result_free(&r);
    fixture_free(p);
}

static void a_stopped_run_still_returns_a_plan_and_says_why(void **state)
{
    (void)state;
    for_each_algorithm(check_stop);
    assert_null(place_stop_name(PLACE_STOPPED_NOT));
    assert_string_equal(place_stop_name(PLACE_STOPPED_DEADLINE), "deadline");
    assert_string_equal(place_stop_name(PLACE_STOPPED_CANCELLED), "cancelled");
}

typedef struct report {
    place_progress last;
    size_t count;
} report;

/* Phases follow each other, and within one the plan only gets better. */
static bool keep_report(void *context, const place_progress *now)
{
    report *r = context;
    assert_true(strcmp(now->phase, "search") == 0 || strcmp(now->phase, "polish") == 0 ||
                strcmp(now->phase, "bound") == 0);
    assert_true(now->done_fraction >= 0 && now->done_fraction <= 1);
    assert_true(now->best_s > 0 && now->bound_s >= 0);
    assert_true(now->bound_s <= now->best_s * (1 + 1e-9));
    if (r->count && strcmp(r->last.phase, now->phase) == 0)
        assert_true(now->best_s <= r->last.best_s);
    r->last = *now;
    r->count++;
    return true;
}

static void check_reports(const char *name)
{
    for (uint64_t seed = 1; seed <= drawn(6); seed++) {
        report last = {.count = 0};
        problem *p = fixture_problem(seed, fixture_any_kind(seed, 7));
        place_options options = {.seed = seed, .progress = keep_report, .context = &last};
        place_result r;
        assert_int_equal(place_run(name, p, &options, NULL, &r), EDGEPS_OK);
        if (r.status != PLACE_INFEASIBLE) {
            assert_in_range(last.count, 1, 1000000000);
            assert_true(r.cost.round_s <= last.last.best_s * (1 + 1e-9));
            assert_true(r.lower_bound_s >= last.last.bound_s * (1 - 1e-9));
            assert_int_equal(r.stopped, PLACE_STOPPED_NOT);
        }
        place_result_free(&r);
        fixture_free(p);
    }
}

static void what_progress_reports_agrees_with_the_result(void **state)
{
    (void)state;
    for_each_algorithm(check_reports);
}

int main(int argc, char **argv)
{
    (void)argv;
    thorough = argc > 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_feasible_exactly_where_brute_is),
        cmocka_unit_test(the_same_seed_gives_the_same_plan),
        cmocka_unit_test(a_slower_world_gives_the_same_plan_in_proportion),
        cmocka_unit_test(survives_each_allocation_failing),
        cmocka_unit_test(a_stopped_run_still_returns_a_plan_and_says_why),
        cmocka_unit_test(what_progress_reports_agrees_with_the_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
