/* What docs/algorithms/approx.md proves of the capturing vertices and the front. */
#include "place/place_fixture.h"
#include "place/place_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cover/cover.h"

#define N 30

/* A digraph on nodes that all train and serve; an arc has chain 1, everything else INFINITY. */
typedef struct world {
    problem *p;
    place_ground gr;
    double chain[N * N];
} world;

static void open_world(world *w)
{
    w->p = fixture_problem(1, (fixture_kind){.count = N, .max_locals = N, .chunks = 1});
    assert_int_equal(place_ground_make(w->p, &w->gr), EDGEPS_OK);
    for (size_t a = 0; a < (size_t)N * N; a++)
        w->chain[a] = a % (N + 1) == 0 ? 1 : INFINITY;
}

static void close_world(world *w)
{
    place_ground_free(&w->gr);
    fixture_free(w->p);
}

/* Random arcs, and `centers` vertices that together cover everything. */
static void plant(world *w, uint64_t seed, size_t centers)
{
    rng r = rng_make(seed, 9);
    uint32_t order[N];
    uint64_t sparse = 5 + rng_below(&r, 60);
    open_world(w);
    rng_permutation(&r, N, order);
    for (size_t a = 0; a < (size_t)N * N; a++)
        if (rng_below(&r, sparse) == 0)
            w->chain[a] = 1;
    for (size_t i = 0; i < N; i++)
        w->chain[order[rng_below(&r, centers)] * N + i] = 1;
}

static place_front run_front(world *w, size_t locals)
{
    place_front f;
    double *rows[N];
    for (size_t j = 0; j < N; j++)
        rows[j] = w->chain + j * N;
    assert_int_equal(place_front_run(&w->gr, rows, 1, locals, &f), EDGEPS_OK);
    return f;
}

static void as_many_picks_as_the_best_has_centers_suffice(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        world w;
        size_t centers = 1 + seed % 8;
        plant(&w, seed, centers);
        place_front f = run_front(&w, centers);
        assert_in_range(f.pick_count, 1, centers);
        mem_free(f.picks);
        close_world(&w);
    }
}

/* A tight budget (1) drives the front to its longest steps, a loose one keeps it at one. */
static void phases_shrink_the_mass_as_proved(void **state)
{
    (void)state;
    size_t phases = 0, long_steps = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        world w;
        plant(&w, seed, 8);
        place_front f = run_front(&w, seed % 2 ? 1 : N);
        size_t wanted = 0;
        for (size_t i = 0; i < f.phases; i++) {
            double shrunk = f.mass[i] * exp(-(double)f.wanted[i] / f.mass[i]);
            assert_true(f.left[i] <= shrunk + 1e-6);
            if (i > 0)
                assert_true(f.mass[i] <= f.left[i - 1] + 1e-6);
            assert_true(f.mass[i] >= 1 - 1e-6);
            wanted += f.wanted[i];
        }
        assert_true(f.pick_count - f.capturing <= wanted);
        if (f.phases > 0)
            assert_true((double)wanted <= 2 * f.mass[0] + 1e-6);
        phases += f.phases;
        long_steps += f.steps == 5;
        mem_free(f.picks);
        close_world(&w);
    }
    assert_in_range(phases, 100, 3000);
    assert_in_range(long_steps, 20, 300);
}

static double least_mass_of(const world *w, double *open)
{
    static cover_arc arcs[N][N];
    cover_server servers[N];
    double mass;
    for (size_t j = 0; j < N; j++) {
        servers[j] = (cover_server){.arcs = arcs[j]};
        for (size_t i = 0; i < N; i++)
            if (w->chain[j * N + i] <= 1)
                arcs[j][servers[j].arc_count++] = (cover_arc){(uint32_t)i, 1};
    }
    cover_instance c = {N, N, servers, 0};
    assert_int_equal(cover_least_mass(&c, open, &mass), EDGEPS_OK);
    return mass;
}

static void each_capturing_vertex_uses_up_a_unit_of_mass(void **state)
{
    (void)state;
    size_t captured = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        world w;
        double open[N];
        bool used[N] = {false};
        plant(&w, seed, 6);
        place_front f = run_front(&w, N);
        double mass = least_mass_of(&w, open);
        for (size_t c = 0; c < f.capturing; c++) {
            double unit = 0;
            for (size_t j = 0; j < N; j++) {
                if (w.chain[j * N + f.picks[c]] > 1)
                    continue;
                assert_false(used[j]);
                used[j] = true;
                unit += open[j];
                assert_true(w.chain[f.picks[c] * N + j] <= 1);
            }
            assert_true(unit >= 1 - 1e-6);
        }
        assert_true((double)f.capturing <= mass + 1e-6);
        captured += f.capturing;
        mem_free(f.picks);
        close_world(&w);
    }
    assert_in_range(captured, 20, 600);
}

static void a_symmetric_star_is_captured_by_one_vertex(void **state)
{
    (void)state;
    world w;
    open_world(&w);
    for (size_t i = 0; i < N; i++)
        w.chain[i] = w.chain[i * N] = 1;
    place_front f = run_front(&w, 1);
    assert_int_equal(f.capturing, 1);
    assert_int_equal(f.pick_count, 1);
    mem_free(f.picks);
    close_world(&w);
}

/* On a directed cycle nobody captures: the two in-neighbours v-1, v include one that v does not
 * reach. 15 centers cover it in one step. */
static void a_directed_cycle_needs_the_front(void **state)
{
    (void)state;
    world w;
    open_world(&w);
    for (size_t i = 0; i < N; i++)
        w.chain[i * N + (i + 1) % N] = 1;
    place_front f = run_front(&w, N / 2);
    assert_int_equal(f.capturing, 0);
    assert_in_range(f.pick_count, 1, N / 2);
    assert_true(2 * f.mass[0] <= N + 1e-6);
    mem_free(f.picks);
    close_world(&w);
}

static void gives_up_on_a_worker_that_nobody_reaches(void **state)
{
    (void)state;
    world w;
    open_world(&w);
    w.chain[7 * N + 7] = INFINITY;
    place_front f = run_front(&w, N);
    assert_int_equal(f.pick_count, 0);
    mem_free(f.picks);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_picks_as_the_best_has_centers_suffice),
        cmocka_unit_test(phases_shrink_the_mass_as_proved),
        cmocka_unit_test(each_capturing_vertex_uses_up_a_unit_of_mass),
        cmocka_unit_test(a_symmetric_star_is_captured_by_one_vertex),
        cmocka_unit_test(a_directed_cycle_needs_the_front),
        cmocka_unit_test(gives_up_on_a_worker_that_nobody_reaches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
