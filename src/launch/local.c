#include "launch/launch.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct process {
    char *name;
    pid_t pid; /* 0: not started, or ended and collected */
    int pidfd;
} process;

struct launch {
    char *program;
    process *processes;
    size_t count;
    const char *certs;     /* NULL: none */
    const int *namespaces; /* NULL: the launcher's own network */
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

void launch_certs(launch *l, const char *folder) { l->certs = folder; }

void launch_into(launch *l, const int *namespaces) { l->namespaces = namespaces; }

/* In the child: becomes the agent, or tells why not through the pipe. */
static _Noreturn void become(char *const *argv, int network, pid_t launcher, int why)
{
    bool good =
        prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && (network < 0 || setns(network, CLONE_NEWNET) == 0);
    if (good && getppid() == launcher)
        execv(argv[0], argv);
    int error = errno;
    while (write(why, &error, sizeof error) < 0 && errno == EINTR)
        ;
    _exit(1);
}

/* The pipe closes when the child has become the agent. */
static int hear_why(int why)
{
    int error = 0;
    ssize_t got;
    while ((got = read(why, &error, sizeof error)) < 0 && errno == EINTR)
        ;
    return got == (ssize_t)sizeof error ? error : 0;
}

static edgeps_err start(launch *l, size_t index, const char *coordinator, edgeps_diag *diag)
{
    process *p = &l->processes[index];
    char *argv[] = {l->program,
                    "agent",
                    "--coordinator",
                    (char *)coordinator,
                    "--node",
                    p->name,
                    l->certs ? "--certs" : NULL,
                    (char *)l->certs,
                    NULL};
    int ends[2], failed = 0;
    pid_t launcher = getpid();
    if (pipe2(ends, O_CLOEXEC))
        return diag_fail(diag, EDGEPS_IO, "%s: cannot start an agent: %s", l->program,
                         strerror(errno));
    p->pid = fork();
    if (p->pid == 0)
        become(argv, l->namespaces ? l->namespaces[index] : -1, launcher, ends[1]);
    failed = p->pid < 0 ? errno : 0;
    close(ends[1]);
    if (!failed)
        failed = hear_why(ends[0]);
    close(ends[0]);
    if (failed) {
        if (p->pid > 0)
            waitpid(p->pid, NULL, 0);
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
        err = start(l, i, coordinator, diag);
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
