#include "place/place_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "place/exact_int.h"

#include "base/mem.h"
#include "base/test_draws.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define LOOKS 5000 /* of brute at the clock, 4096 steps each, before it gives up */

/* Equal nodes make equal plans, which brute cannot tell apart. */
static fixture_kind kind_of(uint64_t seed, size_t count, size_t most_uniform)
{
    fixture_kind kind = fixture_any_kind(seed, count);
    if (kind.uniform && count > most_uniform)
        kind.uniform = false;
    return kind;
}

static bool while_it_has_patience(void *context, const place_progress *now)
{
    (void)now;
    return --*(long *)context > 0;
}

/* Returns whether brute came to its end; if not, it must not have found a better plan. */
static bool compare_with_brute(uint64_t seed, fixture_kind kind, long patience)
{
    problem *p = fixture_problem(seed, kind);
    place_options options = {.progress = while_it_has_patience, .context = &patience};
    place_result best, r = fixture_run("exact", p, seed);
    assert_int_equal(place_run("brute", p, &options, NULL, &best), EDGEPS_OK);
    bool complete = !best.stopped;
    if (complete)
        assert_int_equal(r.status, best.status);
    if (r.status != PLACE_INFEASIBLE) {
        assert_int_equal(r.status, PLACE_OPTIMAL);
        assert_true(fixture_near(r.lower_bound_s, r.cost.round_s));
        if (complete ? !fixture_near(r.cost.round_s, best.cost.round_s)
                     : r.cost.round_s > best.cost.round_s * (1 + 1e-9))
            fail_msg("seed %d: %.17g, bound %.17g; brute %.17g", (int)seed, r.cost.round_s,
                     r.lower_bound_s, best.cost.round_s);
    }
    place_result_free(&best);
    place_result_free(&r);
    fixture_free(p);
    return complete;
}

static void equals_brute(void **state)
{
    const bool *thorough = *state;
    size_t complete = 0;
    for (uint64_t seed = 1; seed <= test_draws(60); seed++)
        assert_true(compare_with_brute(seed, kind_of(seed, 4 + seed % 5, 6), LONG_MAX));
    if (!*thorough)
        return;
    for (uint64_t seed = 2001; seed <= 2200; seed++)
        complete += compare_with_brute(seed, kind_of(seed, 9 + seed % 4, 8), LOOKS);
    print_message("brute came to its end in %zu of 200\n", complete);
    assert_in_range(complete, 160, 200);
}

static void stops_at_the_gap_asked_for(void **state)
{
    (void)state;
    size_t early = 0;
    for (uint64_t seed = 1; seed <= test_draws(40); seed++) {
        problem *p = fixture_problem(seed, kind_of(seed, 6, 6));
        place_result best = fixture_run("brute", p, seed), r;
        place_options options = {.seed = seed, .gap = 0.2, .no_polish = true};
        assert_int_equal(place_run("exact", p, &options, NULL, &r), EDGEPS_OK);
        if (r.status != PLACE_INFEASIBLE) {
            assert_int_equal(r.stopped, PLACE_STOPPED_NOT);
            assert_true(r.lower_bound_s >= r.cost.round_s * (0.8 - 1e-9));
            assert_true(r.lower_bound_s <= best.cost.round_s * (1 + 1e-9));
            early += r.lower_bound_s < r.cost.round_s * (1 - 1e-9);
        }
        place_result_free(&best);
        place_result_free(&r);
        fixture_free(p);
    }
    assert_in_range(early, test_draws(40) / 8, 40);
}

typedef struct patience {
    int left;
    double bound_s;
    double optimum_s;
} patience;

static bool until_it_is_spent(void *context, const place_progress *now)
{
    patience *p = context;
    assert_true(now->bound_s >= p->bound_s || strcmp(now->phase, "search") != 0);
    assert_true(now->bound_s <= p->optimum_s * (1 + 1e-9));
    assert_true(now->best_s >= p->optimum_s * (1 - 1e-9));
    p->bound_s = now->bound_s;
    return p->left-- > 0;
}

/* Whenever it is stopped, the optimum lies between its bound and its plan. */
static void the_optimum_lies_between_bound_and_plan_at_any_moment(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= test_draws(60); seed++) {
        problem *p = fixture_problem(seed, kind_of(seed, 7, 6));
        place_result best = fixture_run("brute", p, seed), r;
        patience some = {.left = (int)seed * 3, .optimum_s = best.cost.round_s};
        place_options options = {
            .seed = seed, .progress = until_it_is_spent, .context = &some, .no_polish = true};
        if (best.status != PLACE_INFEASIBLE) {
            assert_int_equal(place_run("exact", p, &options, NULL, &r), EDGEPS_OK);
            assert_true(r.lower_bound_s <= best.cost.round_s * (1 + 1e-9));
            assert_true(r.lower_bound_s > 0);
            assert_true(r.cost.round_s >= best.cost.round_s * (1 - 1e-9));
            place_result_free(&r);
        }
        place_result_free(&best);
        fixture_free(p);
    }
}

static void refuses_a_gap_that_is_none(void **state)
{
    (void)state;
    problem *p = fixture_problem(1, (fixture_kind){.count = 3, .max_locals = 1, .chunks = 1});
    for (size_t k = 0; k < 3; k++) {
        place_options options = {.gap = (double[]){-0.1, 1, NAN}[k]};
        edgeps_diag diag = {0};
        place_result r;
        assert_int_equal(place_run("exact", p, &options, &diag, &r), EDGEPS_USAGE);
        assert_non_null(strstr(diag.text, "gap: must be 0"));
    }
    fixture_free(p);
}

/* ---- the threshold problem ---- */

typedef struct setting {
    place_ground gr;
    place_times t;
    place_view v;
} setting;

/* The largest chain, load and fan that the parents make; INFINITY where they break what the
 * threshold problem keeps. */
static double threshold_of(const setting *s, const int32_t *parent)
{
    size_t n = s->gr.count, children[8] = {0}, remote[8] = {0}, locals = 0;
    double worst_s = 0;
    for (size_t w = 0; w < s->gr.worker_count; w++) {
        size_t i = s->gr.workers[w], j = (size_t)parent[i];
        worst_s = fmax(worst_s, s->v.chain[j][i]);
        children[j]++;
        remote[j] += i != j;
    }
    for (size_t j = 0; j < n; j++) {
        if (children[j] == 0)
            continue;
        locals++;
        worst_s = fmax(worst_s, s->v.load[j][remote[j]]);
        if ((int32_t)children[j] > place_room(&s->gr, s->v.global, 1, j))
            return INFINITY;
    }
    return locals > (size_t)s->v.most_locals ? INFINITY : fmax(worst_s, s->v.fan[locals].round_s);
}

static double least_threshold_s(const setting *s)
{
    int32_t parent[8] = {0};
    double least_s = INFINITY;
    for (;;) {
        size_t w = 0;
        least_s = fmin(least_s, threshold_of(s, parent));
        while (w < s->gr.worker_count && ++parent[s->gr.workers[w]] == (int32_t)s->gr.count)
            parent[s->gr.workers[w++]] = 0;
        if (w == s->gr.worker_count)
            return least_s;
    }
}

static void check_threshold(setting *s)
{
    bool open[8];
    place_options none = {0};
    place_watch w = place_watch_start(&none);
    place_whole found = {.open = open};
    place_hunt limits = {.upper_s = INFINITY, .exact = true};
    assert_int_equal(place_view_all_rows(&s->v), EDGEPS_OK);
    double least_s = least_threshold_s(s);
    assert_int_equal(place_whole_search(&s->v, &limits, &w, &found), EDGEPS_OK);
    assert_true(found.bound_s == least_s);
    assert_int_equal(found.found, least_s < INFINITY);
    if (!found.found)
        return;
    limits = (place_hunt){.lower_s = least_s / 2, .upper_s = least_s, .exact = true};
    assert_int_equal(place_whole_search(&s->v, &limits, &w, &found), EDGEPS_OK);
    assert_false(found.found);
    assert_true(found.bound_s == least_s);
}

static void finds_the_least_threshold_of_all_assignments(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= test_draws(40); seed++) {
        fixture_kind kind = fixture_any_kind(seed, 4 + seed % 2);
        kind.chunks = 4; /* with one chunk the turns matter as well */
        problem *p = fixture_problem(seed, kind);
        setting s;
        assert_int_equal(place_ground_make(p, &s.gr), EDGEPS_OK);
        assert_int_equal(place_times_make(&s.gr, &s.t), EDGEPS_OK);
        for (size_t g = 0; g < p->count; g++) {
            if (s.gr.fan[g] < 1)
                continue;
            assert_int_equal(place_view_make(&s.t, g, &s.v), EDGEPS_OK);
            check_threshold(&s);
            place_view_free(&s.v);
        }
        place_times_free(&s.t);
        place_ground_free(&s.gr);
        fixture_free(p);
    }
}

/* ---- halving the round at the global server ---- */

/* The best round of all plans with the setting's global server. */
static double best_round_s(const setting *s)
{
    plan pl;
    double best_s = INFINITY;
    assert_int_equal(plan_make(s->gr.count, &pl), EDGEPS_OK);
    pl.global = (int32_t)s->v.global;
    for (size_t w = 0; w < s->gr.worker_count; w++)
        pl.parent[s->gr.workers[w]] = 0;
    for (;;) {
        double round_s;
        size_t w = 0;
        if (plan_check(&pl, s->gr.p, NULL) == EDGEPS_OK) {
            assert_int_equal(cost_round_s(s->gr.p, &pl, &round_s), EDGEPS_OK);
            best_s = fmin(best_s, round_s);
        }
        while (w < s->gr.worker_count && ++pl.parent[s->gr.workers[w]] == (int32_t)s->gr.count)
            pl.parent[s->gr.workers[w++]] = 0;
        if (w == s->gr.worker_count)
            break;
    }
    plan_free(&pl);
    return best_s;
}

/* Against the best plan, and against the threshold problem of whole servers, which knows no halves.
 */
static void check_halves(setting *s, place_refuter *rf, size_t *higher)
{
    bool open[8];
    place_options none = {0};
    place_watch w = place_watch_start(&none);
    place_whole whole = {.open = open};
    place_threshold halved;
    place_hunt limits = {.upper_s = INFINITY, .exact = true};
    double best_s = best_round_s(s);
    if (best_s == INFINITY)
        return;
    assert_int_equal(place_whole_search(&s->v, &limits, &w, &whole), EDGEPS_OK);
    assert_true(whole.bound_s <= best_s * (1 + 1e-9));
    assert_int_equal(place_threshold_search(rf, &s->v, &limits, &halved), EDGEPS_OK);
    assert_true(halved.bound_s <= best_s * (1 + 1e-9));
    assert_true(halved.locals > 0 && halved.r_s >= halved.bound_s);
    *higher += halved.bound_s > whole.bound_s * 1.01;
    mem_free(halved.open);
}

static void halves_never_pass_the_best_and_often_gain(void **state)
{
    (void)state;
    size_t higher[2] = {0};
    for (uint64_t seed = 1; seed <= test_draws(120); seed++) {
        fixture_kind kind = fixture_any_kind(seed, 4);
        kind.chunks = seed % 2 ? 1 : kind.chunks + 1;
        problem *p = fixture_problem(seed, kind);
        place_refuter *rf;
        setting s;
        assert_int_equal(place_ground_make(p, &s.gr), EDGEPS_OK);
        assert_int_equal(place_times_make(&s.gr, &s.t), EDGEPS_OK);
        assert_int_equal(place_refuter_make(&s.gr, &rf), EDGEPS_OK);
        for (size_t g = 0; g < p->count; g++) {
            if (s.gr.fan[g] < 1)
                continue;
            assert_int_equal(place_view_make(&s.t, g, &s.v), EDGEPS_OK);
            check_halves(&s, rf, &higher[seed % 2]);
            place_view_free(&s.v);
        }
        place_refuter_free(rf);
        place_times_free(&s.t);
        place_ground_free(&s.gr);
        fixture_free(p);
    }
    print_message("higher for %zu global servers pipelined, %zu store-and-forward\n", higher[0],
                  higher[1]);
    assert_true(higher[0] > test_draws(120) / 6);
    assert_true(higher[1] > test_draws(120) / 6);
}

/* ---- twins ---- */

/* However finely moments are told apart, the round of the best plan stays open; and finer ones
 * refute more. */
static void no_fineness_refutes_the_best(void **state)
{
    (void)state;
    const double fine[] = {0.05, PLACE_FINE, 0.0005};
    size_t refuted_below[3] = {0};
    for (uint64_t seed = 1; seed <= test_draws(60); seed++) {
        problem *p = fixture_problem(seed, kind_of(seed, 4 + seed % 4, 6));
        place_result best = fixture_run("brute", p, seed);
        for (size_t f = 0; best.status != PLACE_INFEASIBLE && f < 3; f++) {
            setting s;
            place_refuter *rf;
            bool above, below;
            double round_s = best.cost.round_s;
            assert_int_equal(place_ground_make(p, &s.gr), EDGEPS_OK);
            assert_int_equal(place_times_make(&s.gr, &s.t), EDGEPS_OK);
            assert_int_equal(place_view_make(&s.t, (size_t)best.plan.global, &s.v), EDGEPS_OK);
            assert_int_equal(place_refuter_make(&s.gr, &rf), EDGEPS_OK);
            assert_int_equal(place_refute_round(rf, &s.v, round_s * 0.99, fine[f], &below), 0);
            assert_int_equal(place_refute_round(rf, &s.v, round_s * (1 + 1e-9), fine[f], &above),
                             0);
            assert_false(above);
            refuted_below[f] += below;
            place_refuter_free(rf);
            place_view_free(&s.v);
            place_times_free(&s.t);
            place_ground_free(&s.gr);
        }
        place_result_free(&best);
        fixture_free(p);
    }
    print_message("1 %% below the best refuted: %zu, %zu, %zu\n", refuted_below[0],
                  refuted_below[1], refuted_below[2]);
    assert_true(refuted_below[0] <= refuted_below[1] && refuted_below[1] <= refuted_below[2]);
    assert_true(refuted_below[2] > test_draws(60) / 12);
}

static void compare_with_approx(uint64_t seed, size_t count)
{
    problem *p = fixture_problem(
        seed, (fixture_kind){.count = count, .max_locals = 4, .chunks = seed % 2 ? 1 : 4});
    place_options options = {.seed = seed, .gap = 0.3};
    place_result approx, r, again;
    assert_int_equal(place_run("approx", p, &options, NULL, &approx), EDGEPS_OK);
    assert_int_equal(place_run("exact", p, &options, NULL, &r), EDGEPS_OK);
    assert_int_equal(place_run("exact", p, &options, NULL, &again), EDGEPS_OK);
    if (r.cost.round_s > approx.cost.round_s)
        fail_msg("seed %d, %zu nodes: %.6g s, approx %.6g s", (int)seed, count, r.cost.round_s,
                 approx.cost.round_s);
    assert_true(r.lower_bound_s >= r.cost.round_s * (1 - 0.3 - 1e-9));
    assert_true(r.lower_bound_s <= approx.cost.round_s);
    assert_int_equal(r.plan.global, again.plan.global);
    assert_memory_equal(r.plan.parent, again.plan.parent, p->count * sizeof *r.plan.parent);
    place_result_free(&approx);
    place_result_free(&r);
    place_result_free(&again);
    fixture_free(p);
}

/* Above the size where branch and bound ends; in all but the last the first plan is the slower one.
 */
static void is_no_slower_than_approx_and_repeats(void **state)
{
    (void)state;
    compare_with_approx(1, 17);
    compare_with_approx(11, 17);
    compare_with_approx(25, 16);
    compare_with_approx(7, 24);
}

static void nodes_that_differ_in_nothing_are_twins(void **state)
{
    (void)state;
    uint32_t twin[5];
    problem *p = fixture_problem(
        1, (fixture_kind){.count = 5, .max_locals = 2, .chunks = 2, .uniform = true});
    for (size_t i = 0; i < 5; i++)
        p->nodes[i].sum_bytes_per_s = INFINITY;
    place_twins(p, twin);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(twin[i], 0);
    p->nodes[2].up_bytes_per_s *= 2;
    problem_set_latency_s(p, 0, 4, 0.1);
    place_twins(p, twin);
    assert_memory_equal(twin, ((uint32_t[]){0, 1, 2, 1, 4}), sizeof twin);
    fixture_free(p);
}

int main(int argc, char **argv)
{
    bool thorough = argc > 1 && strcmp(argv[1], "long") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(equals_brute, &thorough),
        cmocka_unit_test(stops_at_the_gap_asked_for),
        cmocka_unit_test(the_optimum_lies_between_bound_and_plan_at_any_moment),
        cmocka_unit_test(refuses_a_gap_that_is_none),
        cmocka_unit_test(finds_the_least_threshold_of_all_assignments),
        cmocka_unit_test(halves_never_pass_the_best_and_often_gain),
        cmocka_unit_test(no_fineness_refutes_the_best),
        cmocka_unit_test(is_no_slower_than_approx_and_repeats),
        cmocka_unit_test(nodes_that_differ_in_nothing_are_twins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
