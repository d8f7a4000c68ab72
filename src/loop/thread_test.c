#include "loop/thread_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/sched/types.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t slice_ns(void)
{
    struct sched_attr attr;
    memset(&attr, 0, sizeof attr);
    assert_int_equal(syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0), 0);
    return attr.sched_runtime;
}

static void turns_become_short_and_long_again(void **state)
{
    (void)state;
    uint64_t usual_ns = slice_ns();
    int nice_before = getpriority(PRIO_PROCESS, 0);
    thread_take_short_turns(true);
    if (slice_ns() == 0) {
        print_message("this kernel has no turns of chosen length\n");
        skip();
    }
    assert_int_equal(slice_ns(), 100000);
    thread_take_short_turns(false);
    assert_int_equal(slice_ns(), usual_ns);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), nice_before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_become_short_and_long_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
