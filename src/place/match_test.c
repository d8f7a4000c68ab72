#include "place/place_fixture.h"
#include "place/place_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

/* Most workers that can be served, by trying every set of workers against Hall's condition: the
 * least over sets X of (workers outside X + capacity in the reach of X). */
static size_t most_served(const place_ground *gr, const int32_t *cap)
{
    size_t n = gr->count, most = gr->worker_count;
    for (uint32_t set = 0; set < 1u << gr->worker_count; set++) {
        size_t outside = 0, capacity = 0;
        for (size_t w = 0; w < gr->worker_count; w++)
            outside += !(set >> w & 1);
        for (size_t j = 0; j < n; j++) {
            bool near = false;
            for (size_t w = 0; w < gr->worker_count; w++)
                near |= (set >> w & 1) && place_path(gr, j, gr->workers[w]);
            capacity += near ? (size_t)cap[j] : 0;
        }
        if (outside + capacity < most)
            most = outside + capacity;
    }
    return most;
}

static void check_stuck_set(const place_match *m, const int32_t *cap)
{
    const place_ground *gr = m->gr;
    size_t capacity = 0;
    for (size_t j = 0; j < gr->count; j++) {
        bool near = false;
        for (size_t w = 0; w < m->stuck_count; w++)
            near |= place_path(gr, j, m->stuck[w]);
        capacity += near ? (size_t)cap[j] : 0;
    }
    assert_true(capacity < m->stuck_count);
}

static void serves_as_many_as_halls_theorem_allows(void **state)
{
    (void)state;
    size_t short_of_all = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        problem *p = fixture_problem(
            seed, (fixture_kind){.count = 8, .max_locals = 8, .chunks = 1, .gaps = true});
        rng r = rng_make(seed, 3);
        place_ground gr;
        place_match m;
        int32_t cap[8], load[8] = {0};
        size_t served = 0;
        assert_int_equal(place_ground_make(p, &gr), EDGEPS_OK);
        assert_int_equal(place_match_make(&gr, &m), EDGEPS_OK);
        for (size_t j = 0; j < 8; j++) {
            cap[j] = rng_below(&r, 4) ? (int32_t)rng_below(&r, 5) : 0;
            for (size_t i = 0; i < 8; i++) /* thinner than the fixture makes it */
                gr.sites[j * 8 + i] &= rng_below(&r, 3) > 0;
        }
        size_t answer = place_match_run(&m, NULL, 0, cap);
        for (size_t i = 0; i < 8; i++) {
            if (m.parent[i] == PLAN_NONE)
                continue;
            assert_true(place_path(&gr, (size_t)m.parent[i], i));
            load[m.parent[i]]++;
            served++;
        }
        for (size_t j = 0; j < 8; j++)
            assert_true(load[j] <= cap[j] && load[j] == m.load[j]);
        assert_int_equal(answer, served);
        assert_int_equal(answer, most_served(&gr, cap));
        if (answer < gr.worker_count) {
            check_stuck_set(&m, cap);
            short_of_all++;
        } else {
            assert_int_equal(m.stuck_count, 0);
        }
        place_match_free(&m);
        place_ground_free(&gr);
        fixture_free(p);
    }
    assert_in_range(short_of_all, 20, 180);
}

/* Server 1 fits worker 0 best, but worker 1 has no other: the path must turn around. */
static void moves_a_worker_on_to_make_room(void **state)
{
    (void)state;
    problem *p = fixture_problem(
        1, (fixture_kind){.count = 2, .max_locals = 2, .chunks = 1, .uniform = true});
    place_ground gr;
    place_match m;
    double near_s[] = {2, INFINITY}, far_s[] = {1, 1};
    double *const time_s[] = {near_s, far_s};
    const int32_t cap[] = {1, 1};
    assert_int_equal(place_ground_make(p, &gr), EDGEPS_OK);
    assert_int_equal(place_match_make(&gr, &m), EDGEPS_OK);
    assert_int_equal(place_match_run(&m, time_s, 2, cap), 2);
    assert_int_equal(m.parent[0], 0);
    assert_int_equal(m.parent[1], 1);
    assert_int_equal(place_match_run(&m, time_s, 1, cap), 1);
    place_match_free(&m);
    place_ground_free(&gr);
    fixture_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serves_as_many_as_halls_theorem_allows),
        cmocka_unit_test(moves_a_worker_on_to_make_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
