/* Laws of placement that hold whatever the network.
 *
 * Of every algorithm: its plan keeps the constraints, costs what the evaluator says, and lies
 * between the proved bounds and the optimum as it must. Of the optimum, which `exact` and `brute`
 * find independently: it does not depend on how nodes are numbered or in which unit time is
 * counted, and more choice never lengthens it. The heuristics' plans do depend on the numbering:
 * many assignments share the largest time, and the first one is taken.
 */
#include "place/place_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#define MOST_NODES 9
#define MOST_OF_BRUTE 5 /* nodes that it enumerates in no time */

/* INFINITY where there is no plan. */
static double best_s(const char *algorithm, const problem *p, uint64_t seed)
{
    place_result r = fixture_run(algorithm, p, seed);
    double round_s = r.status == PLACE_INFEASIBLE ? INFINITY : r.cost.round_s;
    assert_true(r.status != PLACE_FEASIBLE);
    place_result_free(&r);
    return round_s;
}

typedef void law(const char *algorithm, const problem *p, uint64_t seed, double whole_s);

/* Holds the law against both, on networks of all kinds and with both disciplines of transfer. */
static void hold(law *check, const bool *thorough)
{
    const uint64_t seeds = *thorough ? 100 : 16;
    size_t one_chunk = 0, feasible = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        problem *p = fixture_problem(seed, fixture_any_kind(seed, 3 + seed % 5));
        double exact_s = best_s("exact", p, seed);
        check("exact", p, seed, exact_s);
        if (p->count <= MOST_OF_BRUTE)
            check("brute", p, seed, exact_s);
        one_chunk += job_chunk_count(&p->job) == 1;
        feasible += exact_s < INFINITY;
        fixture_free(p);
    }
    assert_in_range(one_chunk, seeds / 4, 3 * seeds / 4);
    assert_in_range(feasible, seeds / 2, seeds);
}

static void expect_same(const char *algorithm, uint64_t seed, double a_s, double b_s)
{
    if (a_s == b_s || fixture_near(a_s, b_s)) /* also where both are INFINITY */
        return;
    fail_msg("%s, seed %d: %.17g s and %.17g s", algorithm, (int)seed, a_s, b_s);
}

static void expect_no_longer(const char *algorithm, uint64_t seed, double more_s, double less_s)
{
    if (!(more_s <= less_s * (1 + 1e-9)))
        fail_msg("%s, seed %d: %.17g s with more choice, %.17g s with less", algorithm, (int)seed,
                 more_s, less_s);
}

/* ---- every algorithm */

static void check_result(const char *algorithm, const problem *p, uint64_t seed, double optimum_s)
{
    double scratch[COST_SCRATCH * MOST_NODES], round_s, phases_s = 0;
    place_result r = fixture_run(algorithm, p, seed);
    assert_int_equal(r.status == PLACE_INFEASIBLE, optimum_s == INFINITY);
    if (r.status == PLACE_INFEASIBLE) {
        place_result_free(&r);
        return;
    }
    assert_int_equal(plan_check(&r.plan, p, NULL), EDGEPS_OK);
    assert_int_equal(cost_round_s(p, &r.plan, &round_s), EDGEPS_OK);
    assert_true(round_s < INFINITY);
    expect_same(algorithm, seed, round_s, r.cost.round_s);
    expect_same(algorithm, seed, r.cost.epoch_s, (double)p->rounds * round_s);
    for (int k = 0; k < COST_PHASES; k++)
        phases_s += r.cost.phase_s[k];
    expect_same(algorithm, seed, phases_s, round_s);
    expect_no_longer(algorithm, seed, cost_bound_s(p, &r.plan, scratch), round_s);
    expect_no_longer(algorithm, seed, optimum_s, round_s);
    expect_no_longer(algorithm, seed, r.lower_bound_s, optimum_s);
    if (r.status == PLACE_OPTIMAL)
        expect_same(algorithm, seed, round_s, optimum_s);
    place_result_free(&r);
}

static void plans_are_feasible_and_lie_between_their_bounds(void **state)
{
    const bool *thorough = *state;
    for (uint64_t seed = 101; seed <= (*thorough ? 150 : 109); seed++) {
        problem *p = fixture_problem(seed, fixture_any_kind(seed, 4 + seed % (*thorough ? 5 : 3)));
        double optimum_s = best_s("exact", p, seed);
        for (size_t a = 0; a < place_algorithm_count; a++)
            if (strcmp(place_algorithms[a].name, "brute") != 0 || p->count <= MOST_OF_BRUTE)
                check_result(place_algorithms[a].name, p, seed, optimum_s);
        fixture_free(p);
    }
}

/* ---- the optimum */

/* A permutation of the nodes; each is a site of its own. */
static problem *relabelled(const problem *p, uint64_t seed)
{
    rng r = rng_make(seed, 9);
    problem *q = fixture_copy(p);
    size_t place[MOST_NODES], n = p->count;
    for (size_t i = 0; i < n; i++) {
        size_t other = rng_below(&r, i + 1);
        place[i] = place[other];
        place[other] = i;
    }
    for (size_t i = 0; i < n; i++) {
        q->nodes[place[i]] = p->nodes[i];
        q->nodes[place[i]].site = (uint32_t)place[i];
        for (size_t j = 0; j < n; j++) {
            q->latency_s[place[i] * n + place[j]] = p->latency_s[i * n + j];
            q->cap_bytes_per_s[place[i] * n + place[j]] = p->cap_bytes_per_s[i * n + j];
        }
    }
    return q;
}

static void check_labels(const char *algorithm, const problem *p, uint64_t seed, double whole_s)
{
    problem *q = relabelled(p, seed);
    expect_same(algorithm, seed, best_s(algorithm, q, seed), whole_s);
    fixture_free(q);
}

static void numbers_of_nodes_mean_nothing(void **state) { hold(check_labels, *state); }

static void check_unit_of_time(const char *algorithm, const problem *p, uint64_t seed,
                               double whole_s)
{
    static const double factors[] = {3, 0.37}; /* no powers of two: digits are lost */
    for (size_t f = 0; f < 2; f++) {
        problem *q = fixture_copy(p);
        for (size_t i = 0; i < q->count; i++) {
            q->nodes[i].up_bytes_per_s *= factors[f];
            q->nodes[i].down_bytes_per_s *= factors[f];
            q->nodes[i].sum_bytes_per_s *= factors[f];
            q->nodes[i].compute_s /= factors[f];
        }
        for (size_t a = 0; a < q->site_count * q->site_count; a++) {
            q->latency_s[a] /= factors[f];
            q->cap_bytes_per_s[a] *= factors[f];
        }
        expect_same(algorithm, seed, best_s(algorithm, q, seed) * factors[f], whole_s);
        fixture_free(q);
    }
}

static void all_rates_times_c_take_a_cth_of_the_time(void **state)
{
    hold(check_unit_of_time, *state);
}

/* The network with one node more, which may serve but does not train. */
static problem *with_another_server(const problem *p, uint64_t seed)
{
    fixture_kind kind = fixture_any_kind(seed, p->count + 1);
    problem *q = fixture_problem(seed + 1000, kind), *all = fixture_copy(q);
    size_t n = p->count, m = n + 1;
    fixture_free(q);
    for (size_t i = 0; i < n; i++) {
        all->nodes[i] = p->nodes[i];
        for (size_t j = 0; j < n; j++) {
            all->latency_s[i * m + j] = p->latency_s[i * n + j];
            all->cap_bytes_per_s[i * m + j] = p->cap_bytes_per_s[i * n + j];
        }
    }
    all->nodes[n].train = false;
    all->nodes[n].serve = true;
    all->nodes[n].compute_s = 0;
    all->job = p->job;
    all->rounds = p->rounds;
    all->max_locals = p->max_locals;
    all->worker_count = p->worker_count;
    return all;
}

static void check_more_nodes(const char *algorithm, const problem *p, uint64_t seed, double whole_s)
{
    problem *q = with_another_server(p, seed);
    expect_no_longer(algorithm, seed, best_s(algorithm, q, seed), whole_s);
    fixture_free(q);
}

static void another_node_that_may_serve_never_hurts(void **state)
{
    hold(check_more_nodes, *state);
}

static void check_more_room(const char *algorithm, const problem *p, uint64_t seed, double whole_s)
{
    problem *q = fixture_copy(p);
    rng r = rng_make(seed, 10);
    q->max_locals += q->max_locals < q->count;
    double locals_s = best_s(algorithm, q, seed);
    expect_no_longer(algorithm, seed, locals_s, whole_s);
    for (size_t i = 0; i < q->count; i++)
        q->nodes[i].free_bytes += (int64_t)rng_below(&r, 200000);
    expect_no_longer(algorithm, seed, best_s(algorithm, q, seed), locals_s);
    fixture_free(q);
}

static void more_servers_and_more_storage_never_hurt(void **state)
{
    hold(check_more_room, *state);
}

/* With an argument: more of everything. */
int main(int argc, char **argv)
{
    (void)argv;
    bool thorough = argc > 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(plans_are_feasible_and_lie_between_their_bounds, &thorough),
        cmocka_unit_test_prestate(numbers_of_nodes_mean_nothing, &thorough),
        cmocka_unit_test_prestate(all_rates_times_c_take_a_cth_of_the_time, &thorough),
        cmocka_unit_test_prestate(another_node_that_may_serve_never_hurts, &thorough),
        cmocka_unit_test_prestate(more_servers_and_more_storage_never_hurt, &thorough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
