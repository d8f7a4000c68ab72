#include "adapt/adapt.h"

#include "adapt/adapt_fixture.h"
#include "base/mem.h"
#include "place/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#define NO PLAN_NONE

static const adapt_options adjust = {.mode = ADAPT_ADJUST};

static void assert_says(const adapt_result *r, const char *words)
{
    if (!strstr(r->reason, words))
        fail_msg("'%s' lacks '%s'", r->reason, words);
}

static double round_of(const problem *p, const plan *pl)
{
    double round_s;
    assert_int_equal(cost_round_s(p, pl, &round_s), EDGEPS_OK);
    return round_s;
}

/* Repeats the step until it changes nothing. */
static plan settled(const problem *p, const plan *start)
{
    plan at;
    assert_int_equal(plan_copy(start, &at), EDGEPS_OK);
    for (int step = 0; step < 20; step++) {
        adapt_result r = fixture_step(p, &at, adjust);
        bool changed = r.changed;
        plan_free(&at);
        assert_int_equal(plan_copy(&r.plan, &at), EDGEPS_OK);
        adapt_result_free(&r);
        if (!changed)
            return at;
    }
    fail_msg("the plan does not settle");
    return at;
}

static void a_plan_that_cannot_be_bettered_stays(void **state)
{
    (void)state;
    problem *p = fixture_problem(4);
    plan pl = fixture_plan(0, 4, (int32_t[]){0, 0, 0, 0}), at = settled(p, &pl);
    adapt_result r = fixture_step(p, &at, adjust);
    assert_false(r.changed || r.repair || r.infeasible);
    assert_true(plan_equal(&r.plan, &at));
    assert_int_equal(r.plan.generation, at.generation);
    assert_int_equal(r.move_count, 0);
    assert_true(r.old_epoch_s == r.new_epoch_s && r.old_epoch_s == 10 * round_of(p, &at));
    adapt_result_free(&r);
    plan_free(&at);
    fixture_free(p, &pl);
}

/* Workers 0 and 1 under local server 2, global server 3; nothing else may serve but 4. */
static problem *chain(plan *pl)
{
    problem *p = fixture_problem(5);
    for (size_t i = 0; i < 5; i++) {
        p->nodes[i].train = i < 2;
        p->nodes[i].serve = i >= 2;
    }
    p->nodes[3].free_bytes = job_global_need_bytes(&p->job, 1);
    *pl = fixture_plan(3, 5, (int32_t[]){2, 2, NO, NO, NO});
    return p;
}

static void a_server_moves_from_a_node_whose_storage_shrank(void **state)
{
    (void)state;
    plan pl;
    problem *p = chain(&pl);
    p->nodes[2].free_bytes = job_local_need_bytes(&p->job, 2) - 1;
    p->nodes[4].free_bytes = job_local_need_bytes(&p->job, 2);
    adapt_result r = fixture_step(p, &pl, adjust);
    assert_true(r.changed && r.repair);
    assert_true(r.old_epoch_s == INFINITY);
    assert_int_equal(r.plan.generation, 8);
    assert_int_equal(r.plan.global, 3);
    assert_int_equal(r.plan.parent[0], 4);
    assert_int_equal(r.plan.parent[1], 4);
    assert_int_equal(r.move_count, 1);
    assert_int_equal(r.moves[0].role, ADAPT_LOCAL);
    assert_int_equal(r.moves[0].from, 2);
    assert_int_equal(r.moves[0].to, 4);
    assert_int_equal(r.moves[0].bytes, job_local_state_bytes(&p->job));
    assert_true(fabs(r.move_s - (double)r.moves[0].bytes / 1e6) < 1e-12);
    assert_says(&r, "storage of n2: its servers need");
    assert_says(&r, "local server n2 to n4, 2 workers re-attached");
    adapt_result_free(&r);
    fixture_free(p, &pl);
}

static void workers_of_a_lost_local_server_are_re_attached(void **state)
{
    (void)state;
    plan pl;
    problem *p = chain(&pl);
    fixture_kill(p, 2);
    p->nodes[4].free_bytes = job_local_need_bytes(&p->job, 2);
    adapt_result r = fixture_step(p, &pl, adjust);
    assert_true(r.changed && r.repair);
    assert_int_equal(plan_check(&r.plan, p, NULL), EDGEPS_OK);
    assert_int_equal(r.plan.parent[0], 4);
    assert_int_equal(r.move_count, 1);
    assert_int_equal(r.moves[0].from, 3);
    assert_says(&r, "local server n2: the node may not serve: opens local server n4");
    adapt_result_free(&r);
    fixture_free(p, &pl);
}

static void a_lost_global_server_comes_back_from_its_checkpoint(void **state)
{
    (void)state;
    plan pl;
    problem *p = chain(&pl);
    fixture_kill(p, 3);
    p->nodes[2].free_bytes = job_local_need_bytes(&p->job, 2);
    p->nodes[4].free_bytes = job_global_need_bytes(&p->job, 1);
    adapt_result r = fixture_step(p, &pl, adjust);
    assert_true(r.changed && r.repair);
    assert_int_equal(r.plan.global, 4);
    assert_int_equal(r.move_count, 1);
    assert_int_equal(r.moves[0].role, ADAPT_GLOBAL);
    assert_int_equal(r.moves[0].from, NO);
    assert_int_equal(r.moves[0].bytes, job_global_state_bytes(&p->job));
    assert_says(&r, "global server to n4 anew");
    adapt_result_free(&r);
    fixture_free(p, &pl);
}

static void a_lost_worker_leaves_the_plan(void **state)
{
    (void)state;
    plan pl;
    problem *p = chain(&pl);
    fixture_kill(p, 1);
    adapt_result r = fixture_step(p, &pl, adjust);
    assert_true(r.changed && r.repair);
    assert_int_equal(r.plan.parent[1], NO);
    assert_int_equal(plan_check(&r.plan, p, NULL), EDGEPS_OK);
    assert_says(&r, "1 worker gone");
    adapt_result_free(&r);
    fixture_free(p, &pl);
}

static void a_worker_that_joins_gets_a_server(void **state)
{
    (void)state;
    plan pl;
    problem *p = chain(&pl);
    pl.parent[1] = NO;
    adapt_result r = fixture_step(p, &pl, adjust);
    assert_true(r.changed && r.repair);
    assert_int_equal(plan_check(&r.plan, p, NULL), EDGEPS_OK);
    adapt_result_free(&r);
    fixture_free(p, &pl);
}

static void without_a_feasible_plan_the_old_one_stays(void **state)
{
    (void)state;
    plan pl;
    problem *p = chain(&pl);
    p->nodes[2].free_bytes = p->nodes[4].free_bytes = 0;
    adapt_result r = fixture_step(p, &pl, adjust);
    assert_true(r.infeasible && r.repair && !r.changed);
    assert_true(plan_equal(&r.plan, &pl));
    assert_says(&r, "storage of n2");
    assert_says(&r, "no plan keeps all constraints");
    adapt_result_free(&r);
    fixture_free(p, &pl);
}

static void off_says_what_adjusting_would_do_and_keeps_the_plan(void **state)
{
    (void)state;
    plan pl;
    problem *p = chain(&pl);
    p->nodes[2].free_bytes = 0;
    adapt_result off = fixture_step(p, &pl, (adapt_options){.mode = ADAPT_OFF});
    adapt_result on = fixture_step(p, &pl, adjust);
    assert_false(off.changed);
    assert_true(off.repair);
    assert_true(plan_equal(&off.plan, &pl));
    assert_int_equal(off.plan.generation, pl.generation);
    assert_int_equal(off.move_count, 0);
    assert_true(off.old_epoch_s == on.old_epoch_s && off.new_epoch_s == on.new_epoch_s);
    assert_says(&off, "adjusting is off; it would find: ");
    assert_says(&off, on.reason);
    adapt_result_free(&off);
    adapt_result_free(&on);
    fixture_free(p, &pl);
}

/* Node 2 turns slow; node 4 could serve instead, for one transfer of the parameters. */
static problem *slow_server(plan *pl)
{
    problem *p = chain(pl);
    p->nodes[2].up_bytes_per_s = p->nodes[2].down_bytes_per_s = 5e5;
    p->rounds = 1;
    return p;
}

static void a_move_is_made_only_when_it_pays(void **state)
{
    (void)state;
    plan pl, moved;
    problem *p = slow_server(&pl);
    moved = fixture_plan(3, 5, (int32_t[]){4, 4, NO, NO, NO});
    double gain_s = round_of(p, &pl) - round_of(p, &moved);
    double move_s = (double)job_local_state_bytes(&p->job) / 5e5;
    adapt_options options = adjust;
    options.hysteresis = 0.5;
    options.horizon_epochs = 0.99 * 1.5 * move_s / gain_s;
    adapt_result r = fixture_step(p, &pl, options);
    assert_false(r.changed);
    assert_says(&r, "no change of the plan saves more than it costs");
    adapt_result_free(&r);
    options.horizon_epochs = 1.01 * 1.5 * move_s / gain_s;
    r = fixture_step(p, &pl, options);
    assert_true(r.changed);
    assert_false(r.repair);
    assert_true(plan_equal(&r.plan, &moved));
    assert_true(fabs(r.old_epoch_s - r.new_epoch_s - gain_s) < 1e-9);
    assert_says(&r, "an epoch, moves take");
    adapt_result_free(&r);
    plan_free(&moved);
    fixture_free(p, &pl);
}

/* As above, but the change is paid in standing still. */
static void a_pause_has_to_be_earned_too(void **state)
{
    (void)state;
    plan pl, moved;
    problem *p = slow_server(&pl);
    moved = fixture_plan(3, 5, (int32_t[]){4, 4, NO, NO, NO});
    double gain_s = round_of(p, &pl) - round_of(p, &moved);
    double move_s = (double)job_local_state_bytes(&p->job) / 5e5;
    adapt_options options = adjust;
    options.hysteresis = 0.5;
    options.horizon_epochs = 1.1 * 1.5 * move_s / gain_s; /* a tenth of the move to spare */
    for (int enough = 0; enough < 2; enough++) {
        options.pause_s = (enough ? 0.09 : 0.11) * move_s;
        adapt_result r = fixture_step(p, &pl, options);
        assert_int_equal(r.changed, enough);
        adapt_result_free(&r);
    }
    plan_free(&moved);
    fixture_free(p, &pl);
}

static void improvements_pay_and_fit_beside_the_old_servers(void **state)
{
    (void)state;
    rng r = rng_make(5, 0);
    adapt_options options = adjust;
    options.horizon_epochs = 20;
    int improved = 0;
    for (int round = 0; round < 300; round++) {
        problem *p = fixture_random_problem(&r, 5);
        plan start = fixture_random_plan(&r, p);
        adapt_result repaired = fixture_step(p, &start, adjust);
        for (size_t i = 0; i < p->count; i++)
            p->nodes[i].up_bytes_per_s *= rng_below(&r, 2) ? 1 : 0.1;
        adapt_result got = fixture_step(p, &repaired.plan, options);
        if (!repaired.infeasible && got.changed) {
            improved++;
            assert_false(got.repair);
            for (size_t k = 0; k < got.move_count; k++)
                assert_false(got.moves[k].releases);
            assert_int_equal(plan_check(&got.plan, p, NULL), EDGEPS_OK);
            assert_true((got.old_epoch_s - got.new_epoch_s) * 20 > 1.1 * got.move_s);
        }
        adapt_result_free(&repaired);
        adapt_result_free(&got);
        fixture_free(p, &start);
    }
    assert_true(improved > 30);
}

/* Counts up through all parents; false after the last. */
static bool next_plan(const problem *p, plan *pl)
{
    for (size_t i = 0; i < p->count; i++) {
        if (!p->nodes[i].train)
            continue;
        if (++pl->parent[i] < (int32_t)p->count)
            return true;
        pl->parent[i] = 0;
    }
    return (size_t)++pl->global < p->count;
}

static bool some_plan_is_feasible(const problem *p)
{
    plan pl;
    assert_int_equal(plan_make(p->count, &pl), EDGEPS_OK);
    pl.global = 0;
    for (size_t i = 0; i < p->count; i++)
        pl.parent[i] = p->nodes[i].train ? 0 : NO;
    bool found = false;
    do
        found = plan_check(&pl, p, NULL) == EDGEPS_OK;
    while (!found && next_plan(p, &pl));
    plan_free(&pl);
    return found;
}

/* problem_make refuses networks without either. */
static bool someone_trains_and_serves(const problem *p)
{
    bool trains = false, serves = false;
    for (size_t i = 0; i < p->count; i++) {
        trains |= p->nodes[i].train;
        serves |= p->nodes[i].serve;
    }
    return trains && serves;
}

static void is_infeasible_only_when_no_plan_exists(void **state)
{
    (void)state;
    rng r = rng_make(1, 0);
    int impossible = 0, repaired = 0;
    for (int round = 0; round < 400; round++) {
        problem *p = fixture_random_problem(&r, 2 + rng_below(&r, 4));
        plan pl = fixture_random_plan(&r, p);
        if (rng_below(&r, 2))
            fixture_kill(p, rng_below(&r, p->count));
        if (someone_trains_and_serves(p)) {
            int64_t forecast[5];
            adapt_options options = adjust;
            for (size_t v = 0; v < p->count; v++)
                forecast[v] = (int64_t)rng_below(&r, (uint64_t)p->nodes[v].free_bytes + 1);
            if (rng_below(&r, 2))
                options.forecast_bytes = forecast;
            adapt_result got = fixture_step(p, &pl, options);
            assert_int_equal(got.infeasible, !some_plan_is_feasible(p));
            if (!got.infeasible)
                assert_int_equal(plan_check(&got.plan, p, NULL), EDGEPS_OK);
            impossible += got.infeasible;
            repaired += got.repair && got.changed;
            adapt_result_free(&got);
        }
        fixture_free(p, &pl);
    }
    assert_true(impossible > 20 && repaired > 100);
}

static void the_same_question_has_the_same_answer(void **state)
{
    (void)state;
    rng r = rng_make(2, 0);
    for (int round = 0; round < 30; round++) {
        problem *p = fixture_random_problem(&r, 6);
        plan pl = fixture_random_plan(&r, p);
        adapt_result a = fixture_step(p, &pl, adjust), b = fixture_step(p, &pl, adjust);
        assert_true(plan_equal(&a.plan, &b.plan));
        assert_int_equal(a.move_count, b.move_count);
        assert_string_equal(a.reason, b.reason);
        adapt_result_free(&a);
        adapt_result_free(&b);
        fixture_free(p, &pl);
    }
}

static void replanning_takes_the_plan_from_scratch(void **state)
{
    (void)state;
    plan pl;
    problem *p = slow_server(&pl);
    place_result placed;
    adapt_options options = {.mode = ADAPT_REPLAN, .algorithm = "brute"};
    adapt_result r = fixture_step(p, &pl, options);
    assert_int_equal(place_run("brute", p, &(place_options){0}, NULL, &placed), EDGEPS_OK);
    assert_true(r.changed);
    assert_true(plan_equal(&r.plan, &placed.plan));
    place_result_free(&placed);
    adapt_result_free(&r);
    options.algorithm = "magic";
    edgeps_diag diag;
    assert_int_equal(adapt_step(p, &pl, &options, &diag, &r), EDGEPS_USAGE);
    fixture_free(p, &pl);
}

static void refuses_a_plan_of_other_nodes(void **state)
{
    (void)state;
    adapt_result r;
    edgeps_diag diag;
    plan pl, shorter = fixture_plan(0, 2, (int32_t[]){0, 0});
    problem *p = chain(&pl);
    assert_int_equal(adapt_step(p, &shorter, &adjust, &diag, &r), EDGEPS_FORMAT);
    assert_string_equal(diag.text, "the plan in force has 2 nodes, the network 5");
    pl.parent[0] = 5;
    assert_int_equal(adapt_step(p, &pl, &adjust, &diag, &r), EDGEPS_FORMAT);
    pl.parent[0] = 2;
    pl.global = -2;
    assert_int_equal(adapt_step(p, &pl, &adjust, &diag, &r), EDGEPS_FORMAT);
    plan_free(&shorter);
    fixture_free(p, &pl);
}

/* The plan in force cannot be repaired step by step: one from scratch is needed. */
static void survives_each_allocation_failing(void **state)
{
    (void)state;
    plan pl;
    problem *p = chain(&pl);
    fixture_kill(p, 2);
    p->nodes[4].free_bytes = job_local_need_bytes(&p->job, 2);
    adapt_options options = {.mode = ADAPT_ADJUST, .algorithm = "greedy"};
    for (long n = 1;; n++) {
        adapt_result r;
        memset(&r, 0x5a, sizeof r);
        adapt_result untouched = r;
        edgeps_diag diag;
        mem_fail_at(n);
        edgeps_err err = adapt_step(p, &pl, &options, &diag, &r);
        mem_fail_at(0);
        if (!err) {
            adapt_result_free(&r);
            break;
        }
        assert_int_equal(err, EDGEPS_NOMEM);
        assert_memory_equal(&r, &untouched, sizeof r);
    }
    fixture_free(p, &pl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_that_cannot_be_bettered_stays),
        cmocka_unit_test(a_server_moves_from_a_node_whose_storage_shrank),
        cmocka_unit_test(workers_of_a_lost_local_server_are_re_attached),
        cmocka_unit_test(a_lost_global_server_comes_back_from_its_checkpoint),
        cmocka_unit_test(a_lost_worker_leaves_the_plan),
        cmocka_unit_test(a_worker_that_joins_gets_a_server),
        cmocka_unit_test(without_a_feasible_plan_the_old_one_stays),
        cmocka_unit_test(off_says_what_adjusting_would_do_and_keeps_the_plan),
        cmocka_unit_test(a_move_is_made_only_when_it_pays),
        cmocka_unit_test(a_pause_has_to_be_earned_too),
        cmocka_unit_test(improvements_pay_and_fit_beside_the_old_servers),
        cmocka_unit_test(is_infeasible_only_when_no_plan_exists),
        cmocka_unit_test(the_same_question_has_the_same_answer),
        cmocka_unit_test(replanning_takes_the_plan_from_scratch),
        cmocka_unit_test(refuses_a_plan_of_other_nodes),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
