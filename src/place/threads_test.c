/* Any number of threads may place at the same time: each finds what it would find alone. And
 * however many work on one placement, it is the same. Under the thread sanitizer this shows that
 * they share nothing. */
#include "place/place_fixture.h"
#include "place/refute_int.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>

#define NODES 6
#define SEEDS 3
#define THREADS 4
#define MOST_ALGORITHMS 100
#define RAISED_NODES 48 /* more than one block of candidates */

typedef struct thread_work {
    problem *const *problems; /* shared, only read */
    size_t first;             /* algorithm it begins with: the threads meet in different ones */
    place_result results[MOST_ALGORITHMS][SEEDS];
} thread_work;

static void *place_all(void *context)
{
    thread_work *w = context;
    for (size_t k = 0; k < place_algorithm_count; k++) {
        size_t a = (w->first + k) % place_algorithm_count;
        for (size_t s = 0; s < SEEDS; s++) {
            const place_options options = {.seed = s};
            if (place_run(place_algorithms[a].name, w->problems[s], &options, NULL,
                          &w->results[a][s]))
                w->results[a][s].reason[0] = '\0';
        }
    }
    return NULL;
}

static void assert_same(const place_result *a, const place_result *b)
{
    assert_true(a->reason[0]);
    assert_string_equal(a->reason, b->reason);
    assert_int_equal(a->status, b->status);
    assert_true(a->lower_bound_s == b->lower_bound_s);
    if (a->status == PLACE_INFEASIBLE)
        return;
    assert_true(plan_equal(&a->plan, &b->plan));
    assert_true(a->cost.round_s == b->cost.round_s);
}

static void threads_find_what_each_would_find_alone(void **state)
{
    (void)state;
    static thread_work alone, together[THREADS];
    problem *problems[SEEDS];
    pthread_t threads[THREADS];
    assert_in_range(place_algorithm_count, 3, MOST_ALGORITHMS);
    for (uint64_t s = 0; s < SEEDS; s++)
        problems[s] = fixture_problem(s, fixture_any_kind(s, NODES));
    alone.problems = problems;
    place_all(&alone);
    for (size_t t = 0; t < THREADS; t++) {
        together[t] =
            (thread_work){.problems = problems, .first = t * place_algorithm_count / THREADS};
        assert_int_equal(pthread_create(&threads[t], NULL, place_all, &together[t]), 0);
    }
    for (size_t t = 0; t < THREADS; t++)
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    for (size_t a = 0; a < place_algorithm_count; a++)
        for (size_t s = 0; s < SEEDS; s++) {
            for (size_t t = 0; t < THREADS; t++) {
                assert_same(&alone.results[a][s], &together[t].results[a][s]);
                place_result_free(&together[t].results[a][s]);
            }
            place_result_free(&alone.results[a][s]);
        }
    for (size_t s = 0; s < SEEDS; s++)
        fixture_free(problems[s]);
}

/* What raising all bounds with so many threads comes to. */
typedef struct raised {
    place_candidate *list;
    size_t count;
    place_refuter *rf;
} raised;

static raised raise_with(size_t threads, const place_ground *gr, const place_times *t)
{
    raised r;
    const place_options options = {0};
    place_watch watch = place_watch_start(&options);
    assert_int_equal(place_candidates(t, &r.list, &r.count), EDGEPS_OK);
    assert_int_equal(place_refuter_make(gr, &r.rf), EDGEPS_OK);
    r.rf->threads = threads;
    assert_int_equal(place_raise_bounds(r.rf, t, &watch, INFINITY, r.list, r.count), EDGEPS_OK);
    return r;
}

static void raised_free(raised *r)
{
    place_refuter_free(r->rf);
    mem_free(r->list);
}

static void assert_raised_the_same(const raised *a, const raised *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t c = 0; c < a->count; c++) {
        assert_int_equal(a->list[c].global, b->list[c].global);
        assert_true(a->list[c].bound_s == b->list[c].bound_s);
        assert_true(a->list[c].open_s == b->list[c].open_s);
    }
    assert_int_equal(a->rf->lps, b->rf->lps);
    assert_int_equal(a->rf->asked, b->rf->asked);
    assert_int_equal(a->rf->kept_count, b->rf->kept_count);
    for (size_t k = 0; k < a->rf->kept_count; k++)
        assert_memory_equal(a->rf->kept[k]->prices.price, b->rf->kept[k]->prices.price,
                            a->rf->gr->worker_count * sizeof(double));
}

static void bounds_do_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    size_t asked = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        place_ground gr;
        place_times times;
        fixture_kind kind = {.count = RAISED_NODES, .max_locals = 6, .chunks = 1 + 4 * (seed % 2)};
        problem *p = fixture_problem(seed, kind);
        assert_int_equal(place_ground_make(p, &gr), EDGEPS_OK);
        assert_int_equal(place_times_make(&gr, &times), EDGEPS_OK);
        raised one = raise_with(1, &gr, &times);
        raised several = raise_with(THREADS, &gr, &times);
        assert_raised_the_same(&one, &several);
        asked += one.rf->lps;
        raised_free(&one);
        raised_free(&several);
        place_times_free(&times);
        place_ground_free(&gr);
        fixture_free(p);
    }
    assert_true(asked > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_find_what_each_would_find_alone),
        cmocka_unit_test(bounds_do_not_depend_on_the_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
