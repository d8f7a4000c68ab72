#include "loop/loop.h"

#include "base/clock.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <time.h>

typedef struct bench {
    loop *l;
    int fired;
    int order[8];
    int64_t fired_at_ns;
} bench;

typedef struct tick {
    bench *b;
    int number;
    int last;
} tick;

static int set_up(void **state)
{
    bench *b = mem_alloc(1, sizeof *b);
    assert_int_equal(loop_make(NULL, &b->l), EDGEPS_OK);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    bench *b = *state;
    loop_free(b->l);
    mem_free(b);
    return 0;
}

static void on_tick(void *ctx)
{
    tick *t = ctx;
    t->b->order[t->b->fired++] = t->number;
    t->b->fired_at_ns = clock_now_ns();
    if (t->last)
        loop_stop(t->b->l);
}

static void timers_fire_in_the_order_of_their_delays_and_never_early(void **state)
{
    bench *b = *state;
    tick ticks[] = {{b, 0, 1}, {b, 1, 0}, {b, 2, 0}, {b, 3, 0}};
    const int64_t ms[] = {31, 11, 1, 21};
    int64_t start_ns = clock_now_ns();
    for (int i = 0; i < 4; i++)
        assert_int_equal(loop_timer_start(b->l, ms[i] * 1000000, on_tick, &ticks[i], NULL),
                         EDGEPS_OK);
    loop_run(b->l);
    static const int expected[] = {2, 1, 3, 0};
    assert_int_equal(b->fired, 4);
    assert_memory_equal(b->order, expected, sizeof expected);
    assert_true(b->fired_at_ns - start_ns >= 31000000);
}

static void a_cancelled_timer_does_not_fire(void **state)
{
    bench *b = *state;
    tick never = {b, 0, 0}, end = {b, 1, 1};
    loop_timer *t = NULL;
    assert_int_equal(loop_timer_start(b->l, 1000000, on_tick, &never, &t), EDGEPS_OK);
    assert_int_equal(loop_timer_start(b->l, 20000000, on_tick, &end, NULL), EDGEPS_OK);
    loop_timer_cancel(t);
    loop_timer_cancel(NULL);
    loop_run(b->l);
    assert_int_equal(b->fired, 1);
    assert_int_equal(b->order[0], 1);
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void an_idle_loop_sleeps(void **state)
{
    bench *b = *state;
    tick end = {b, 0, 1};
    assert_int_equal(loop_timer_start(b->l, 300000000, on_tick, &end, NULL), EDGEPS_OK);
    double before_s = cpu_s();
    loop_run(b->l);
    assert_true(cpu_s() - before_s < 0.03);
}

#define WORKS 20

/* Works share `worked` without a lock: there is one worker thread only. */
typedef struct works {
    bench *b;
    pthread_t worker[WORKS];
    int worked;
    int done;
} works;

static void one_work(void *ctx)
{
    works *w = ctx;
    w->worker[w->worked++] = pthread_self();
}

static void one_done(void *ctx)
{
    works *w = ctx;
    if (++w->done == WORKS)
        loop_stop(w->b->l);
}

static void work_runs_on_one_other_thread(void **state)
{
    works w = {.b = *state};
    for (int i = 0; i < WORKS; i++)
        assert_int_equal(loop_work(w.b->l, one_work, one_done, &w), EDGEPS_OK);
    assert_int_equal(w.done, 0);
    loop_run(w.b->l);
    assert_int_equal(w.worked, WORKS);
    assert_false(pthread_equal(w.worker[0], pthread_self()));
    for (int i = 1; i < WORKS; i++)
        assert_true(pthread_equal(w.worker[0], w.worker[i]));
}

static void the_end_waits_for_work(void **state)
{
    (void)state;
    bench b = {0};
    works w = {.b = &b};
    assert_int_equal(loop_make(NULL, &b.l), EDGEPS_OK);
    for (int i = 0; i < WORKS; i++)
        assert_int_equal(loop_work(b.l, one_work, one_done, &w), EDGEPS_OK);
    loop_free(b.l);
    assert_int_equal(w.worked, WORKS);
    assert_int_equal(w.done, WORKS);
}

static void cancel_it(void *ctx) { loop_timer_cancel(ctx); }

static void no_work(void *ctx) { (void)ctx; }

static void the_last_callbacks_may_still_cancel_timers(void **state)
{
    (void)state;
    loop *l = NULL;
    bench b = {0};
    tick never = {&b, 0, 0};
    loop_timer *t = NULL;
    assert_int_equal(loop_make(NULL, &l), EDGEPS_OK);
    assert_int_equal(loop_timer_start(l, 0, on_tick, &never, &t), EDGEPS_OK);
    assert_int_equal(loop_work(l, no_work, cancel_it, t), EDGEPS_OK);
    loop_free(l);
    assert_int_equal(b.fired, 0);
}

static void raise_it(void *ctx)
{
    (void)ctx;
    raise(SIGUSR1);
}

static void on_caught(void *ctx, int signo)
{
    bench *b = ctx;
    assert_int_equal(signo, SIGUSR1);
    if (++b->fired == 2)
        loop_stop(b->l);
    else
        raise(SIGUSR1);
}

static void a_signal_becomes_a_callback_each_time(void **state)
{
    bench *b = *state;
    assert_int_equal(loop_on_signal(b->l, SIGUSR1, on_caught, b), EDGEPS_OK);
    assert_int_equal(loop_on_signal(b->l, SIGKILL, on_caught, b), EDGEPS_USAGE);
    assert_int_equal(loop_timer_start(b->l, 0, raise_it, NULL, NULL), EDGEPS_OK);
    loop_run(b->l);
    assert_int_equal(b->fired, 2);
}

static void one_millisecond_later(void *ctx)
{
    bench *b = ctx;
    if (++b->fired == 3)
        loop_stop(b->l);
    else
        assert_int_equal(loop_timer_start(b->l, 1000000, one_millisecond_later, b, NULL),
                         EDGEPS_OK);
}

static void a_timer_may_start_the_next_and_the_loop_run_again(void **state)
{
    bench *b = *state;
    for (int again = 0; again < 2; again++) {
        b->fired = 0;
        one_millisecond_later(b);
        loop_run(b->l);
        assert_int_equal(b->fired, 3);
    }
}

int main(void)
{
#define WITH_LOOP(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_LOOP(timers_fire_in_the_order_of_their_delays_and_never_early),
        WITH_LOOP(a_cancelled_timer_does_not_fire),
        WITH_LOOP(a_timer_may_start_the_next_and_the_loop_run_again),
        WITH_LOOP(an_idle_loop_sleeps),
        WITH_LOOP(work_runs_on_one_other_thread),
        cmocka_unit_test(the_end_waits_for_work),
        cmocka_unit_test(the_last_callbacks_may_still_cancel_timers),
        WITH_LOOP(a_signal_becomes_a_callback_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
