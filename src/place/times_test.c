/* Every closed-form bound against rounds that the evaluator plays. */
#include "place/place_fixture.h"
#include "place/place_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/mem.h"

#define SLACK (1 + 1e-9)

typedef struct world {
    problem *p;
    place_ground gr;
    place_times times;
} world;

static void open_world(world *w, problem *p)
{
    w->p = p;
    assert_int_equal(place_ground_make(p, &w->gr), EDGEPS_OK);
    assert_int_equal(place_times_make(&w->gr, &w->times), EDGEPS_OK);
}

static void close_world(world *w)
{
    place_times_free(&w->times);
    place_ground_free(&w->gr);
    fixture_free(w->p);
}

static place_limits larger(place_limits a, place_limits b)
{
    return (place_limits){.round_s = fmax(a.round_s, b.round_s),
                          .in_s = moment_later(a.in_s, b.in_s),
                          .out_s = moment_later(a.out_s, b.out_s)};
}

/* Local servers of a plan, and what their pulls take with one chunk, by their shares. */
typedef struct locals {
    int32_t children[64], remote[64], count;
    double spread_s;
} locals;

static locals locals_of(const world *w, const place_view *v, const plan *pl)
{
    locals l = {.count = 0};
    double shares = 0;
    for (size_t i = 0; i < w->p->count; i++) {
        if (pl->parent[i] == PLAN_NONE)
            continue;
        size_t j = (size_t)pl->parent[i];
        l.remote[j] += i != j;
        shares += l.children[j] == 0 ? v->relay[j].share : 0;
        l.count += l.children[j]++ == 0;
    }
    if (job_chunk_count(&w->p->job) == 1)
        l.spread_s = shares * w->times.sent.all / w->p->nodes[v->global].up_bytes_per_s;
    return l;
}

/* What the elements of a plan need, all together. */
static place_limits needs_of(const world *w, place_view *v, const plan *pl, const locals *l)
{
    place_limits need = {0};
    for (size_t i = 0; i < w->p->count; i++)
        if (pl->parent[i] != PLAN_NONE)
            need = larger(need, place_view_chain(v, l->spread_s, (size_t)pl->parent[i], i));
    for (size_t j = 0; j < w->p->count; j++) {
        size_t m = (size_t)l->remote[j];
        assert_int_equal(place_view_rows(v, j), EDGEPS_OK);
        assert_true(v->load[j][m] == place_view_load(v, 0, j, m).round_s);
        need = larger(need, place_view_load(v, l->spread_s, j, m));
    }
    return larger(need, v->fan[l->count]);
}

/* Within its round time, and halved at a moment that its needs leave, a plan is allowed. */
static void check_elements(const world *w, place_view *v, const plan *pl, double round_s)
{
    locals l = locals_of(w, v, pl);
    place_limits need = needs_of(w, v, pl, &l);
    double r_s = round_s * SLACK;
    assert_true(need.round_s <= r_s);
    assert_true(moment_end_s(need.in_s, need.out_s) <= r_s);
    assert_true(v->least.round_s <= r_s && moment_end_s(v->least.in_s, v->least.out_s) <= r_s);
    moment latest = {r_s - need.out_s.first_s, r_s - need.out_s.body_s, r_s - need.out_s.all_s};
    double spread_s[] = {l.spread_s, l.spread_s};
    place_limits whole = place_whole_round(r_s), halves = place_halves(r_s, need.in_s, latest);
    if (job_chunk_count(&w->p->job) == 1)
        halves = place_spread(v, halves, spread_s);
    assert_true(place_view_locals(v, &whole, &whole) >= l.count);
    assert_true(place_view_locals(v, &halves, &halves) >= l.count);
    for (size_t j = 0; j < w->p->count; j++) {
        if (!l.children[j])
            continue;
        assert_true(place_view_cap(v, &whole, j) >= l.children[j]);
        assert_true(place_view_most(v, &whole, j) >= l.children[j]);
        assert_true(place_view_cap(v, &halves, j) >= l.children[j]);
    }
}

static void check_plan(const world *w, const place_result *r)
{
    place_view v;
    place_threshold th;
    place_refuter *rf;
    size_t global = (size_t)r->plan.global;
    double round_s = r->cost.round_s;
    double scratch[64];
    assert_true(place_quick_bound_s(&w->times, global, scratch) <= round_s * SLACK);
    assert_int_equal(place_view_make(&w->times, global, &v), EDGEPS_OK);
    check_elements(w, &v, &r->plan, round_s);
    assert_int_equal(place_refuter_make(&w->gr, &rf), EDGEPS_OK);
    assert_int_equal(place_threshold_search(rf, &v, &(place_hunt){.upper_s = INFINITY}, &th),
                     EDGEPS_OK);
    assert_true(th.bound_s <= round_s * SLACK);
    assert_in_range(th.locals, 1, v.most_locals);
    mem_free(th.open);
    place_refuter_free(rf);
    place_view_free(&v);
}

static void no_plan_beats_a_bound(void **state)
{
    (void)state;
    size_t plans = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        world w;
        fixture_kind kind = fixture_any_kind(seed, 3 + seed % 12);
        kind.max_locals = 1 + seed % 6;
        problem *p = fixture_problem(seed, kind);
        if (seed % 5 == 0) /* links without a limit of their own */
            p->nodes[0].up_bytes_per_s = p->nodes[1].down_bytes_per_s = p->nodes[2].up_bytes_per_s =
                p->nodes[2].down_bytes_per_s = INFINITY;
        open_world(&w, p);
        for (int polished = 0; polished <= (seed % 8 == 0); polished++) {
            place_options options = {.seed = seed, .no_polish = !polished};
            place_result r;
            assert_int_equal(place_run("random", w.p, &options, NULL, &r), EDGEPS_OK);
            if (r.status != PLACE_INFEASIBLE) {
                check_plan(&w, &r);
                assert_true(r.lower_bound_s <= r.cost.round_s);
                plans++;
            }
            place_result_free(&r);
        }
        close_world(&w);
    }
    assert_in_range(plans, 100, 170);
}

/* Two nodes, a hub without worker and a worker with up and down 1e5 and 2e5 bytes/s: the gradient
 * of 4000 bytes and a header crosses the links in 40.64 and 20.32 ms. */
static void a_lone_chain_is_exact(void **state)
{
    (void)state;
    world w;
    double played_s;
    problem *p = fixture_problem(
        1, (fixture_kind){.count = 2, .max_locals = 1, .chunks = 1, .uniform = true});
    for (size_t i = 0; i < 2; i++)
        p->nodes[i].sum_bytes_per_s = INFINITY;
    p->nodes[0].train = false;
    p->nodes[0].compute_s = 0;
    p->worker_count = 1;
    p->nodes[1].down_bytes_per_s = 2e5;
    p->nodes[0].up_bytes_per_s = 2e5;
    open_world(&w, p);
    double by_hand_s = 0.1 + 2 * 0.005 + 4064 / 1e5 + 4064 / 2e5;
    place_view v;
    assert_int_equal(place_view_make(&w.times, 0, &v), EDGEPS_OK);
    assert_true(fixture_near(place_view_chain(&v, 0, 0, 1).round_s, by_hand_s));
    place_view_free(&v);
    int32_t parent[] = {PLAN_NONE, 0};
    plan pl = {.count = 2, .global = 0, .parent = parent};
    assert_int_equal(cost_round_s(p, &pl, &played_s), EDGEPS_OK);
    assert_true(fixture_near(played_s, by_hand_s));
    close_world(&w);
}

static void no_bound_over_all_global_servers_passes_the_best(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        world w;
        place_candidate *list;
        size_t count;
        place_options options = {0};
        place_refuter *rf;
        place_watch watch = place_watch_start(&options);
        open_world(&w, fixture_problem(seed, fixture_any_kind(seed, 4)));
        double best_s = fixture_best_of_all_s(w.p);
        assert_int_equal(place_candidates(&w.times, &list, &count), EDGEPS_OK);
        assert_int_equal(place_refuter_make(&w.gr, &rf), EDGEPS_OK);
        assert_int_equal(place_raise_bounds(rf, &w.times, &watch, best_s, list, count), EDGEPS_OK);
        for (size_t c = 1; c < count; c++)
            assert_true(list[c - 1].bound_s <= list[c].bound_s);
        if (best_s < INFINITY) {
            assert_in_range(count, 1, 4);
            assert_true(list[0].bound_s <= best_s * SLACK);
        }
        place_refuter_free(rf);
        mem_free(list);
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_plan_beats_a_bound),
        cmocka_unit_test(a_lone_chain_is_exact),
        cmocka_unit_test(no_bound_over_all_global_servers_passes_the_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
