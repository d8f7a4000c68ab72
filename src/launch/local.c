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
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOOT_BYTES 40 /* an identifier of the time since the kernel started */

typedef struct process {
    char *name;
    pid_t pid; /* 0: not started, or ended and collected */
    int pidfd;
    bool adopted; /* not this process' child */
} process;

struct launch {
    char *program;
    process *processes;
    size_t count;
    const char *certs;         /* NULL: none */
    const launch_world *world; /* NULL: the launcher's own */
    bool tied;
    bool insecure;
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

void launch_insecure(launch *l) { l->insecure = true; }

void launch_tie(launch *l) { l->tied = true; }

void launch_into(launch *l, const launch_world *world) { l->world = world; }

/* In the child: becomes the agent, or tells why not through the pipe. */
static _Noreturn void become(const launch *l, size_t index, char *const *argv, pid_t launcher,
                             int why)
{
    pid_t parent = getppid(); /* 0: it is in another PID namespace, and lives */
    bool good = !l->tied ||
                (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && (getppid() == launcher || parent == 0));
    good = good && (!l->world || l->world->settle(l->world->context, index));
    if (good)
        execv(argv[0], argv);
    int error = errno;
    while (write(why, &error, sizeof error) < 0 && errno == EINTR)
        ;
    _exit(1);
}

/* A child in the agent's PID namespace, or the launcher's own. */
static pid_t fork_there(const launch *l, size_t index)
{
    int there = l->world ? l->world->birthplace(l->world->context, index) : -1;
    if (there < 0)
        return fork();
    int home = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    pid_t pid = -1;
    if (home >= 0 && setns(there, CLONE_NEWPID) == 0) {
        pid = fork();
        if (pid != 0 && setns(home, CLONE_NEWPID))
            abort(); /* nothing else could be started */
    }
    int error = errno;
    if (home >= 0)
        close(home);
    close(there);
    errno = error;
    return pid;
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
    char *argv[10] = {l->program, "agent", "--coordinator", (char *)coordinator, "--node", p->name};
    char **more = argv + 6;
    if (l->certs) {
        *more++ = "--certs";
        *more++ = (char *)l->certs;
    }
    if (l->insecure)
        *more++ = "--insecure";
    else if (l->world)
        *more++ = "--enclosed";
    int ends[2], failed = 0;
    pid_t launcher = getpid();
    if (pipe2(ends, O_CLOEXEC))
        return diag_fail(diag, EDGEPS_IO, "%s: cannot start an agent: %s", l->program,
                         strerror(errno));
    p->pid = fork_there(l, index);
    if (p->pid == 0)
        become(l, index, argv, launcher, ends[1]);
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

static bool has_ended(const process *p)
{
    struct pollfd end = {.fd = p->pidfd, .events = POLLIN};
    if (p->adopted)
        return poll(&end, 1, 0) == 1;
    return waitpid(p->pid, NULL, WNOHANG) == p->pid;
}

/* Collects an agent that has ended. A stopped or running one stays. */
static void collect(process *p)
{
    if (p->pid == 0 || !has_ended(p))
        return;
    p->pid = 0;
    if (p->pidfd >= 0)
        close(p->pidfd);
    p->pidfd = -1;
}

/* Kills an agent and waits until it is gone. */
static void end(process *p)
{
    struct pollfd gone = {.fd = p->pidfd, .events = POLLIN};
    if (p->pid && !p->adopted) {
        kill(p->pid, SIGKILL);
        waitpid(p->pid, NULL, 0);
    } else if (p->pid) {
        syscall(SYS_pidfd_send_signal, p->pidfd, SIGKILL, NULL, 0);
        while (poll(&gone, 1, -1) < 0 && errno == EINTR)
            ;
    }
    if (p->pidfd >= 0)
        close(p->pidfd);
    p->pid = 0;
    p->pidfd = -1;
    p->adopted = false;
}

edgeps_err launch_start(launch *l, const char *host, int port, edgeps_diag *diag)
{
    char coordinator[300];
    snprintf(coordinator, sizeof coordinator, "%s:%d", host, port);
    edgeps_err err = EDGEPS_OK;
    for (size_t i = 0; i < l->count; i++)
        end(&l->processes[i]);
    for (size_t i = 0; !err && i < l->count; i++)
        err = start(l, i, coordinator, diag);
    return err;
}

/* The first line of a file of the kernel; empty when it cannot be read. */
static void read_line(const char *path, char *text, int size)
{
    FILE *file = fopen(path, "re");
    if (!file || !fgets(text, size, file))
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (file)
        fclose(file);
}

static void read_boot(char boot[BOOT_BYTES])
{
    read_line("/proc/sys/kernel/random/boot_id", boot, BOOT_BYTES);
}

/* When a process started, in ticks since the kernel did: field 22 of proc(5)'s stat, the 20th
 * behind the name in parentheses. 0: there is no such process. */
static unsigned long long started_at(pid_t pid)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    read_line(path, line, sizeof line);
    const char *at = strrchr(line, ')');
    for (int k = 0; at && k < 20; k++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

char *launch_describe(const launch *l)
{
    size_t room = BOOT_BYTES + l->count * 40, used;
    char boot[BOOT_BYTES], *text = mem_alloc(room, 1);
    if (!text)
        return NULL;
    read_boot(boot);
    used = (size_t)snprintf(text, room, "%s", boot);
    for (size_t i = 0; i < l->count; i++) {
        pid_t pid = l->processes[i].pid;
        used += (size_t)snprintf(text + used, room - used, " %d %llu", (int)pid,
                                 pid ? started_at(pid) : 0);
    }
    return text;
}

static void adopt(process *p, pid_t pid, unsigned long long started)
{
    int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (pidfd >= 0 && started && started_at(pid) == started) {
        *p = (process){.name = p->name, .pid = pid, .pidfd = pidfd, .adopted = true};
        return;
    }
    if (pidfd >= 0)
        close(pidfd);
}

void launch_adopt(launch *l, const char *description)
{
    char boot[BOOT_BYTES];
    read_boot(boot);
    size_t length = strlen(boot);
    if (length == 0 || strncmp(description, boot, length) != 0)
        return;
    const char *at = description + length;
    for (size_t i = 0; i < l->count; i++) {
        char *next;
        pid_t pid = (pid_t)strtol(at, &next, 10);
        unsigned long long started = strtoull(next, &next, 10);
        adopt(&l->processes[i], pid, started);
        at = next;
    }
}

void launch_signal(launch *l, size_t index, int signo)
{
    process *p = &l->processes[index];
    collect(p);
    if (p->pid && p->adopted)
        syscall(SYS_pidfd_send_signal, p->pidfd, signo, NULL, 0);
    else if (p->pid)
        kill(p->pid, signo);
}

/* Waits for a process to end by itself. */
static void await_end(process *p, int64_t deadline_ns)
{
    struct pollfd wait = {.fd = p->pidfd, .events = POLLIN};
    for (;;) {
        collect(p);
        int64_t left_ms = (deadline_ns - clock_now_ns()) / 1000000;
        if (p->pid == 0 || left_ms <= 0 || p->pidfd < 0)
            return;
        if (poll(&wait, 1, (int)left_ms) < 0 && errno != EINTR)
            return;
    }
}

void launch_free(launch *l, double grace_s)
{
    if (!l)
        return;
    int64_t deadline_ns = clock_now_ns() + (int64_t)(grace_s * CLOCK_NS_PER_S);
    for (size_t i = 0; l->processes && i < l->count; i++) {
        process *p = &l->processes[i];
        if (p->pid)
            await_end(p, deadline_ns);
        end(p);
        mem_free(p->name);
    }
    mem_free(l->processes);
    mem_free(l->program);
    mem_free(l);
}
