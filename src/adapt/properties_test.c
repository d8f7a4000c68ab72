/* What holds of a plan that is adjusted again and again, whatever happens to its network: storage
 * falls and comes back, nodes go. Whether there is a plan at all, the search of `place` says, which
 * is complete for so few nodes, and in the smallest networks enumeration. */
#include "adapt/adapt_fixture.h"

#include "base/mem.h"
#include "place/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#define MOST_NODES 8
#define MOST_OF_BRUTE 4
#define STEPS 5

static const adapt_mode modes[] = {ADAPT_ADJUST, ADAPT_REPAIR, ADAPT_REPLAN};

static bool feasible(const problem *p)
{
    place_result any, best;
    assert_int_equal(place_any(p, &any), EDGEPS_OK);
    bool found = any.status != PLACE_INFEASIBLE;
    place_result_free(&any);
    if (p->count <= MOST_OF_BRUTE) {
        const place_options raw = {.no_polish = true};
        assert_int_equal(place_run("brute", p, &raw, NULL, &best), EDGEPS_OK);
        assert_int_equal(best.status != PLACE_INFEASIBLE, found);
        place_result_free(&best);
    }
    return found;
}

/* Storage of a few nodes becomes what their servers need, or a little more or less, or nothing; now
 * and then a node is lost. Workers and servers remain. */
static void happen(rng *r, problem *p)
{
    int64_t local = job_local_need_bytes(&p->job, 2), global = job_global_need_bytes(&p->job, 1);
    const int64_t amounts[] = {0, local, global, local + global, 2 * (local + global)};
    size_t lost = rng_below(r, p->count), serving = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (rng_below(r, 3) == 0)
            p->nodes[i].free_bytes = amounts[rng_below(r, 5)] + (int64_t)rng_below(r, 3) - 1;
        if (p->nodes[i].free_bytes < 0)
            p->nodes[i].free_bytes = 0;
        serving += p->nodes[i].serve;
    }
    bool another_serves = serving > 1 || !p->nodes[lost].serve;
    bool another_trains = p->worker_count > 1 || !p->nodes[lost].train;
    if (rng_below(r, 4) == 0 && another_serves && another_trains)
        fixture_kill(p, lost);
}

/* What a step must keep; returns what became of the plan. */
static adapt_result check_step(const problem *p, const plan *before, const adapt_options *options,
                               uint64_t seed)
{
    edgeps_diag diag = {.text = ""};
    adapt_result r = fixture_step(p, before, *options);
    bool kept = plan_check(before, p, NULL) == EDGEPS_OK;
    bool keeps = plan_check(&r.plan, p, &diag) == EDGEPS_OK;
    if (r.infeasible != !feasible(p) || keeps == r.infeasible)
        fail_msg("seed %d, mode %d: %s; %s", (int)seed, (int)options->mode, r.reason, diag.text);
    assert_int_equal(r.repair, !kept);
    assert_int_equal(r.plan.generation, before->generation + r.changed);
    assert_int_equal(r.changed, !plan_equal(&r.plan, before));
    /* Nothing that need not change changes for the worse, but for what a forecast asks for. */
    if (kept && options->mode == ADAPT_ADJUST && !options->forecast_bytes)
        assert_true(r.new_epoch_s <= r.old_epoch_s);
    if (!kept)
        assert_true(r.old_epoch_s == INFINITY);
    return r;
}

/* A life of the network under one mode of adjusting. */
static void live(uint64_t seed, adapt_mode mode, size_t *impossible, size_t *repaired)
{
    rng r = rng_make(seed, (uint64_t)mode);
    problem *p = fixture_random_problem(&r, 3 + rng_below(&r, MOST_NODES - 2));
    p->worker_count = 0;
    for (size_t i = 0; i < p->count; i++) {
        p->nodes[i].free_bytes = INT64_C(1) << 40;
        p->worker_count += p->nodes[i].train;
    }
    plan pl = fixture_random_plan(&r, p);
    for (int step = 0; step < STEPS; step++) {
        int64_t forecast[MOST_NODES];
        adapt_options options = {
            .mode = mode, .seed = seed, .horizon_epochs = 1 + (double)rng_below(&r, 20)};
        for (size_t i = 0; i < p->count; i++)
            forecast[i] = (int64_t)rng_below(&r, (uint64_t)p->nodes[i].free_bytes + 1);
        if (rng_below(&r, 3) == 0) {
            options.forecast_bytes = forecast;
            options.margin = 0.05;
        }
        adapt_result got = check_step(p, &pl, &options, seed);
        *impossible += got.infeasible;
        *repaired += got.repair && !got.infeasible;
        plan_free(&pl);
        assert_int_equal(plan_copy(&got.plan, &pl), EDGEPS_OK);
        adapt_result_free(&got);
        happen(&r, p);
    }
    fixture_free(p, &pl);
}

static void no_step_leaves_a_broken_plan_where_there_is_another(void **state)
{
    const bool *thorough = *state;
    size_t impossible = 0, repaired = 0;
    for (uint64_t seed = 1; seed <= (*thorough ? 2000 : 40); seed++)
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
            live(seed, modes[m], &impossible, &repaired);
    assert_true(impossible > 30 && repaired > 100);
}

/* With an argument: more of everything. */
int main(int argc, char **argv)
{
    (void)argv;
    bool thorough = argc > 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(no_step_leaves_a_broken_plan_where_there_is_another, &thorough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
