#include "loop/thread_int.h"

#include <linux/sched/types.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHORT_SLICE_NS 100000

void thread_take_short_turns(bool wanted)
{
    struct sched_attr attr;
    memset(&attr, 0, sizeof attr);
    if (syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0) != 0)
        return;
    attr.sched_runtime = wanted ? SHORT_SLICE_NS : 0;
    syscall(SYS_sched_setattr, 0, &attr, 0);
}
