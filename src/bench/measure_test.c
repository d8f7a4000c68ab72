#include "bench/measure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t)64 << 20)

static edgeps_err twice(const void *context, edgeps_diag *diag, void *answer)
{
    (void)diag;
    *(double *)answer = 2 * *(const double *)context;
    return EDGEPS_OK;
}

static edgeps_err refuse(const void *context, edgeps_diag *diag, void *answer)
{
    (void)answer;
    return diag_fail(diag, EDGEPS_USAGE, "not %s", (const char *)context);
}

static edgeps_err die(const void *context, edgeps_diag *diag, void *answer)
{
    (void)context, (void)diag, (void)answer;
    kill(getpid(), SIGKILL);
    return EDGEPS_OK;
}

static edgeps_err interrupt_parent(const void *context, edgeps_diag *diag, void *answer)
{
    (void)context, (void)diag, (void)answer;
    kill(getppid(), SIGINT);
    while (pause()) /* until it is killed */
        continue;
    return EDGEPS_OK;
}

static edgeps_err touch_memory(const void *context, edgeps_diag *diag, void *answer)
{
    (void)context, (void)diag;
    char *block = mem_alloc(BLOCK_BYTES, 1);
    memset(block, 1, BLOCK_BYTES);
    *(int64_t *)answer = measure_peak_bytes();
    mem_free(block);
    return EDGEPS_OK;
}

static void the_answer_or_the_failure_comes_back(void **state)
{
    (void)state;
    double answer = 0;
    edgeps_diag diag = {.text = ""};
    assert_int_equal(measure_run(twice, &(double){21}, sizeof answer, &diag, &answer), EDGEPS_OK);
    assert_true(answer == 42);
    assert_int_equal(measure_run(refuse, "today", sizeof answer, &diag, &answer), EDGEPS_USAGE);
    assert_string_equal(diag.text, "not today");
    assert_int_equal(measure_run(die, NULL, sizeof answer, &diag, &answer), EDGEPS_INTERNAL);
    assert_non_null(strstr(diag.text, "signal 9"));
    assert_true(answer == 42);
}

static void an_interrupt_ends_the_child_and_is_told(void **state)
{
    (void)state;
    int answer = 42;
    edgeps_diag diag = {.text = ""};
    sigset_t pending;
    assert_int_equal(measure_run(interrupt_parent, NULL, sizeof answer, &diag, &answer),
                     EDGEPS_CANCELLED);
    assert_int_equal(answer, 42);
    assert_int_equal(sigpending(&pending), 0);
    assert_int_equal(sigismember(&pending, SIGINT), 0);
    assert_int_equal(measure_run(twice, &(double){1}, sizeof(double), &diag, &(double){0}),
                     EDGEPS_OK);
}

static void the_peak_of_one_piece_is_not_that_of_the_next(void **state)
{
    (void)state;
    int64_t peak_bytes = 0, before_bytes = measure_peak_bytes();
    assert_int_equal(measure_run(touch_memory, NULL, sizeof peak_bytes, NULL, &peak_bytes),
                     EDGEPS_OK);
    assert_true(peak_bytes >= (int64_t)BLOCK_BYTES);
    assert_true(measure_peak_bytes() < before_bytes + (int64_t)BLOCK_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_or_the_failure_comes_back),
        cmocka_unit_test(an_interrupt_ends_the_child_and_is_told),
        cmocka_unit_test(the_peak_of_one_piece_is_not_that_of_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
