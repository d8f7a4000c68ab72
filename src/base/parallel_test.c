#include "base/parallel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>

#define ITEMS 1000
#define THREADS 4

typedef struct job {
    atomic_int done[ITEMS];
    atomic_int at_work[THREADS]; /* pieces under way with this thread number */
    atomic_int clashes;
    size_t fails_from;
} job;

static edgeps_err do_piece(void *context, size_t thread, size_t item)
{
    job *j = context;
    if (thread >= THREADS || atomic_fetch_add(&j->at_work[thread], 1) != 0)
        atomic_fetch_add(&j->clashes, 1);
    atomic_fetch_add(&j->done[item], 1);
    atomic_fetch_sub(&j->at_work[thread], 1);
    if (item < j->fails_from)
        return EDGEPS_OK;
    return item == j->fails_from ? EDGEPS_IO : EDGEPS_NOMEM;
}

static void every_piece_is_done_once(void **state)
{
    (void)state;
    for (size_t threads = 0; threads <= THREADS; threads++) {
        job j = {.fails_from = ITEMS};
        assert_int_equal(parallel_run(threads, ITEMS, do_piece, &j, NULL), EDGEPS_OK);
        assert_int_equal(j.clashes, 0);
        for (size_t k = 0; k < ITEMS; k++)
            assert_int_equal(j.done[k], 1);
    }
}

static bool go_on_until(void *context, double done_fraction)
{
    return done_fraction < *(const double *)context;
}

static size_t count_done(const job *j)
{
    size_t done = 0;
    for (size_t k = 0; k < ITEMS; k++)
        done += (size_t)j->done[k];
    return done;
}

static void a_no_before_the_start_leaves_all_undone(void **state)
{
    (void)state;
    double until = 0;
    const parallel_watch watch = {go_on_until, &until};
    for (size_t threads = 1; threads <= THREADS; threads++) {
        job j = {.fails_from = ITEMS};
        assert_int_equal(parallel_run(threads, ITEMS, do_piece, &j, &watch), EDGEPS_OK);
        assert_int_equal(count_done(&j), 0);
    }
}

static void a_no_on_the_way_ends_it(void **state)
{
    (void)state;
    double until = 0.25;
    const parallel_watch watch = {go_on_until, &until};
    job j = {.fails_from = ITEMS};
    assert_int_equal(parallel_run(1, ITEMS, do_piece, &j, &watch), EDGEPS_OK);
    assert_int_equal(count_done(&j), ITEMS / 4);
    for (size_t k = 0; k < ITEMS; k++)
        assert_int_equal(j.done[k], k < ITEMS / 4);
}

static void the_first_failure_is_told_and_ends_it(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= THREADS; threads++) {
        job j = {.fails_from = ITEMS / 2};
        int after = 0;
        assert_int_equal(parallel_run(threads, ITEMS, do_piece, &j, NULL), EDGEPS_IO);
        for (size_t k = 0; k < ITEMS; k++)
            if (k <= ITEMS / 2)
                assert_int_equal(j.done[k], 1);
            else
                after += j.done[k];
        assert_true(after < (int)threads);
    }
}

static void nothing_to_do_is_fine(void **state)
{
    (void)state;
    assert_int_equal(parallel_run(THREADS, 0, do_piece, NULL, NULL), EDGEPS_OK);
    assert_int_equal(parallel_threads(0), 1);
    assert_int_equal(parallel_threads(1), 1);
    assert_in_range(parallel_threads(SIZE_MAX), 1, PARALLEL_MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_is_done_once),
        cmocka_unit_test(a_no_before_the_start_leaves_all_undone),
        cmocka_unit_test(a_no_on_the_way_ends_it),
        cmocka_unit_test(the_first_failure_is_told_and_ends_it),
        cmocka_unit_test(nothing_to_do_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
