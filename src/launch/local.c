#include "launch/launch.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct process {
    char *name;
    pid_t pid; /* 0: not started, or ended and collected */
    int pidfd;
} process;

struct launch {
    char *program;
    process *processes;
    size_t count;
};

edgeps_err launch_local(const char *program, const char *const *names, size_t count,
                        edgeps_diag *diag, launch **out)
{
    launch *l = mem_alloc(1, sizeof *l);
    if (!l)
        goto nomem;
    l->program = mem_copy_text(program);
    l->processes = mem_alloc(count, sizeof *l->processes);
    if (!l->program || !l->processes)
        goto nomem;
    l->count = count;
    for (size_t i = 0; i < count; i++)
        l->processes[i].pidfd = -1;
    for (size_t i = 0; i < count; i++) {
        l->processes[i].name = mem_copy_text(names[i]);
        if (!l->processes[i].name)
            goto nomem;
    }
    *out = l;
    return EDGEPS_OK;
nomem:
    launch_free(l, 0);
    return diag_fail(diag, EDGEPS_NOMEM, "no memory to launch %zu agents", count);
}

static edgeps_err start(launch *l, process *p, const char *coordinator, edgeps_diag *diag)
{
    char *argv[] = {l->program, "agent", "--coordinator", (char *)coordinator, "--node",
                    p->name,    NULL};
    int failed = posix_spawn(&p->pid, l->program, NULL, NULL, argv, environ);
    if (failed) {
        p->pid = 0;
        return diag_fail(diag, EDGEPS_IO, "%s: cannot start an agent: %s", l->program,
                         strerror(failed));
    }
    p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    return EDGEPS_OK;
}

edgeps_err launch_start(launch *l, const char *host, int port, edgeps_diag *diag)
{
    char coordinator[300];
    snprintf(coordinator, sizeof coordinator, "%s:%d", host, port);
    edgeps_err err = EDGEPS_OK;
    for (size_t i = 0; !err && i < l->count; i++)
        err = start(l, &l->processes[i], coordinator, diag);
    return err;
}

/* Collects an agent that has ended. A stopped or running one stays. */
static void collect(process *p)
{
    if (p->pid == 0 || waitpid(p->pid, NULL, WNOHANG) != p->pid)
        return;
    p->pid = 0;
    if (p->pidfd >= 0)
        close(p->pidfd);
    p->pidfd = -1;
}

void launch_signal(launch *l, size_t index, int signo)
{
    collect(&l->processes[index]);
    if (l->processes[index].pid)
        kill(l->processes[index].pid, signo);
}

/* True when the process has ended by the deadline. */
static bool ends_by(process *p, int64_t deadline_ns)
{
    struct pollfd wait = {.fd = p->pidfd, .events = POLLIN};
    for (;;) {
        collect(p);
        int64_t left_ms = (deadline_ns - clock_now_ns()) / 1000000;
        if (p->pid == 0 || left_ms <= 0 || p->pidfd < 0)
            return p->pid == 0;
        if (poll(&wait, 1, (int)left_ms) < 0 && errno != EINTR)
            return false;
    }
}

void launch_free(launch *l, double grace_s)
{
    if (!l)
        return;
    int64_t deadline_ns = clock_now_ns() + (int64_t)(grace_s * CLOCK_NS_PER_S);
    for (size_t i = 0; l->processes && i < l->count; i++) {
        process *p = &l->processes[i];
        if (p->pid && !ends_by(p, deadline_ns)) {
            kill(p->pid, SIGKILL);
            waitpid(p->pid, NULL, 0);
        }
        if (p->pidfd >= 0)
            close(p->pidfd);
        mem_free(p->name);
    }
    mem_free(l->processes);
    mem_free(l->program);
    mem_free(l);
}
