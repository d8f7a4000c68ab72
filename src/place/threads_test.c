/* Any number of threads may place at the same time: each finds what it would find alone. Under the
 * thread sanitizer this shows that they share nothing. */
#include "place/place_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#define NODES 6
#define SEEDS 3
#define THREADS 4
#define MOST_ALGORITHMS 100

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_find_what_each_would_find_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
