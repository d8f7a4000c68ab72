#include "cover/cover.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"

#include <pthread.h>
#include <string.h>

#define MOST ((size_t)12)
#define NONE SIZE_MAX

typedef struct world {
    cover_instance c;
    cover_server servers[MOST];
    cover_arc arcs[MOST][MOST];
} world;

typedef struct shape {
    size_t workers, servers;
    bool capacities;
} shape;

static void draw_world(uint64_t seed, shape most, world *w)
{
    rng r = rng_make(seed, 6);
    size_t workers = 1 + rng_below(&r, most.workers), servers = 1 + rng_below(&r, most.servers);
    double density = 0.15 + 0.6 * rng_uniform(&r);
    w->c = (cover_instance){workers, servers, w->servers, (double)rng_below(&r, servers + 1)};
    for (size_t j = 0; j < servers; j++) {
        size_t count = 0;
        for (size_t i = 0; i < workers; i++)
            if (rng_uniform(&r) < density)
                w->arcs[j][count++] = (cover_arc){(uint32_t)i, rng_below(&r, 6) ? 1 : 0};
        double capacity = most.capacities ? (double)rng_below(&r, 5) : (double)MOST;
        w->servers[j] = (cover_server){w->arcs[j], count, capacity};
    }
}

/* 0, 1, or 2 when the server has no arc to the worker. */
static int size_of(const world *w, size_t server, size_t worker)
{
    for (size_t k = 0; k < w->servers[server].arc_count; k++)
        if (w->arcs[server][k].worker == worker)
            return (int)w->arcs[server][k].size;
    return 2;
}

/* Is this assignment allowed? Counts the servers it uses. */
static bool allowed(const world *w, const size_t *server_of, size_t *used)
{
    size_t load[MOST] = {0};
    bool open[MOST] = {false};
    *used = 0;
    for (size_t i = 0; i < w->c.worker_count; i++) {
        int size = size_of(w, server_of[i], i);
        if (size == 2)
            return false;
        load[server_of[i]] += (size_t)size;
        *used += !open[server_of[i]];
        open[server_of[i]] = true;
    }
    for (size_t j = 0; j < w->c.server_count; j++)
        if ((double)load[j] > w->servers[j].capacity)
            return false;
    return true;
}

/* The least number of servers, by trying every assignment of all workers. */
static size_t least_of_all_assignments(const world *w)
{
    size_t server_of[MOST] = {0}, least = NONE;
    for (;;) {
        size_t used, i = 0;
        if (allowed(w, server_of, &used) && used < least)
            least = used;
        while (i < w->c.worker_count && ++server_of[i] == w->c.server_count)
            server_of[i++] = 0;
        if (i == w->c.worker_count)
            return least;
    }
}

static bool covers_all(const world *w, uint32_t open)
{
    for (size_t i = 0; i < w->c.worker_count; i++) {
        bool covered = false;
        for (size_t j = 0; j < w->c.server_count; j++)
            covered |= (open >> j & 1) && size_of(w, j, i) < 2;
        if (!covered)
            return false;
    }
    return true;
}

/* The least number of servers, by trying every set of them; without capacities. */
static size_t least_of_all_sets(const world *w)
{
    size_t least = NONE;
    for (uint32_t open = 0; open < UINT32_C(1) << w->c.server_count; open++) {
        size_t count = (size_t)__builtin_popcount(open);
        if (count < least && covers_all(w, open))
            least = count;
    }
    return least;
}

/* Do these servers hold every set of workers? (Hall's theorem, all sets.) */
static bool holds_all(const world *w, uint32_t open, const uint32_t sized[MOST],
                      const uint32_t any[MOST])
{
    for (uint32_t set = 1; set < UINT32_C(1) << w->c.worker_count; set++) {
        int room = 0;
        for (size_t j = 0; j < w->c.server_count; j++) {
            int many = __builtin_popcount(sized[j] & set), most = (int)w->servers[j].capacity;
            if (open >> j & 1)
                room += (many < most ? many : most) + __builtin_popcount(any[j] & ~sized[j] & set);
        }
        if (room < __builtin_popcount(set))
            return false;
    }
    return true;
}

/* The least number of servers under capacities, by trying every set of them. */
static size_t least_of_all_holding_sets(const world *w)
{
    uint32_t sized[MOST] = {0}, any[MOST] = {0};
    size_t least = NONE;
    for (size_t j = 0; j < w->c.server_count; j++)
        for (size_t i = 0; i < w->c.worker_count; i++) {
            sized[j] |= (uint32_t)(size_of(w, j, i) == 1) << i;
            any[j] |= (uint32_t)(size_of(w, j, i) < 2) << i;
        }
    for (uint32_t open = 0; open < UINT32_C(1) << w->c.server_count; open++) {
        size_t count = (size_t)__builtin_popcount(open);
        if (count < least && holds_all(w, open, sized, any))
            least = count;
    }
    return least;
}

static void check_answer(const world *w, const cover_whole *a)
{
    size_t used, server_of[MOST], open = 0;
    for (size_t i = 0; i < w->c.worker_count; i++) {
        server_of[i] = a->server[i];
        assert_true(a->open[a->server[i]]);
    }
    assert_true(allowed(w, server_of, &used));
    for (size_t j = 0; j < w->c.server_count; j++)
        open += a->open[j];
    assert_int_equal(open, a->count);
    assert_true((double)open <= w->c.budget);
}

/* Returns how often the integer program was asked. */
static size_t check_world(const world *w, size_t least)
{
    size_t masters = 0;
    for (int mode = 0; mode < 2; mode++) {
        cover_whole a;
        cover_whole_options options = {.least = mode == 1};
        assert_int_equal(cover_whole_solve(&w->c, &options, &a), EDGEPS_OK);
        bool within = least != NONE && (double)least <= w->c.budget;
        assert_int_equal(a.verdict, within ? COVER_YES : COVER_NO);
        assert_true(a.at_least <= least);
        if (within)
            check_answer(w, &a);
        if (within && options.least) {
            assert_int_equal(a.count, least);
            assert_int_equal(a.at_least, least);
        }
        masters += a.masters;
        cover_whole_free(&a);
    }
    return masters;
}

static void equals_the_best_of_all_assignments(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        world w;
        draw_world(seed, (shape){6, 6, true}, &w);
        check_world(&w, least_of_all_assignments(&w));
    }
}

static void equals_the_best_of_all_sets_under_capacities(void **state)
{
    (void)state;
    size_t masters = 0;
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        world w;
        draw_world(seed, (shape){9, 9, true}, &w);
        masters += check_world(&w, least_of_all_holding_sets(&w));
    }
    print_message("%zu integer programs\n", masters);
    assert_true(masters > 0);
}

static void equals_the_best_of_all_sets_where_no_capacity_binds(void **state)
{
    (void)state;
    size_t masters = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        world w;
        draw_world(seed, (shape){MOST, MOST, false}, &w);
        w.c.budget = (double)w.c.server_count;
        masters += check_world(&w, least_of_all_sets(&w));
    }
    print_message("%zu integer programs\n", masters);
    assert_true(masters > 0);
}

/* Every pair of 7 workers misses one of the 7 lines of the Fano plane: a server serves what is not
 * on its line. The LP needs 7/4, two servers share two workers. */
static void sees_what_the_fractional_problem_does_not(void **state)
{
    (void)state;
    world w = {.c = {7, 7, w.servers, 2}};
    for (size_t j = 0; j < 7; j++) {
        for (size_t k = 0; k < 4; k++)
            w.arcs[j][k] = (cover_arc){(uint32_t)((j + (size_t[]){0, 3, 5, 6}[k]) % 7), 1};
        w.servers[j] = (cover_server){w.arcs[j], 4, 4};
    }
    cover_answer fractional;
    assert_int_equal(cover_solve(&w.c, &fractional), EDGEPS_OK);
    assert_int_equal(fractional.verdict, COVER_YES);
    cover_answer_free(&fractional);
    check_world(&w, least_of_all_sets(&w));
    assert_int_equal(least_of_all_sets(&w), 3);
}

static bool refuse(void *context)
{
    ++*(int *)context;
    return false;
}

static void stops_when_told_to_and_is_then_unsure(void **state)
{
    (void)state;
    int asked = 0;
    world w = {.c = {7, 7, w.servers, 2}};
    for (size_t j = 0; j < 7; j++) {
        for (size_t k = 0; k < 4; k++)
            w.arcs[j][k] = (cover_arc){(uint32_t)((j + (size_t[]){0, 3, 5, 6}[k]) % 7), 1};
        w.servers[j] = (cover_server){w.arcs[j], 4, 4};
    }
    cover_whole a;
    cover_whole_options options = {.go_on = refuse, .context = &asked};
    assert_int_equal(cover_whole_solve(&w.c, &options, &a), EDGEPS_OK);
    assert_int_equal(a.verdict, COVER_UNSURE);
    assert_int_equal(a.at_least, 2);
    assert_int_equal(asked, 1);
    cover_whole_free(&a);
}

/* CBC keeps its parameters in variables of the process. */
static void *solve_many(void *wrong)
{
    for (uint64_t seed = 1; seed <= 120; seed++) {
        world w;
        cover_whole a;
        cover_whole_options options = {.least = true};
        draw_world(seed, (shape){MOST, MOST, false}, &w);
        w.c.budget = (double)w.c.server_count;
        if (cover_whole_solve(&w.c, &options, &a))
            ++*(int *)wrong;
        else
            *(int *)wrong += a.at_least != least_of_all_sets(&w);
        cover_whole_free(&a);
    }
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    pthread_t threads[4];
    int wrong[4] = {0};
    for (int t = 0; t < 4; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, solve_many, &wrong[t]), 0);
    for (int t = 0; t < 4; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_int_equal(wrong[t], 0);
    }
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    world w;
    draw_world(11, (shape){MOST, MOST, true}, &w);
    w.c.budget = (double)w.c.server_count;
    edgeps_err err = EDGEPS_NOMEM;
    for (long nth = 1; err == EDGEPS_NOMEM; nth++) {
        cover_whole a = {.count = 42};
        cover_whole_options options = {.least = true};
        mem_fail_at(nth);
        err = cover_whole_solve(&w.c, &options, &a);
        mem_fail_at(0);
        if (err)
            assert_int_equal(a.count, 42);
        else
            cover_whole_free(&a);
    }
    assert_int_equal(err, EDGEPS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_best_of_all_assignments),
        cmocka_unit_test(equals_the_best_of_all_sets_under_capacities),
        cmocka_unit_test(equals_the_best_of_all_sets_where_no_capacity_binds),
        cmocka_unit_test(sees_what_the_fractional_problem_does_not),
        cmocka_unit_test(stops_when_told_to_and_is_then_unsure),
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
