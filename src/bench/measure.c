#include "bench/measure.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

double measure_cpu_s(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

int64_t measure_peak_bytes(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (int64_t)used.ru_maxrss * 1024;
}

/* What the child leaves behind, in memory that both share. */
typedef struct report {
    edgeps_err err;
    edgeps_diag diag;
    _Alignas(16) char answer[];
} report;

/* Waits for the child's end, or for an interrupt, which ends it. All these signals are blocked. */
static edgeps_err await(pid_t child, const sigset_t *signals, edgeps_diag *diag)
{
    int status;
    for (;;) {
        int signo = sigwaitinfo(signals, NULL);
        if (signo == SIGINT || signo == SIGTERM) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return diag_fail(diag, EDGEPS_CANCELLED, "interrupted");
        }
        if (signo == SIGCHLD && waitpid(child, &status, WNOHANG) == child)
            break;
    }
    if (WIFSIGNALED(status))
        return diag_fail(diag, EDGEPS_INTERNAL, "the search died by signal %d (%s)",
                         WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status))
        return diag_fail(diag, EDGEPS_INTERNAL, "the search ended its process with status %d",
                         WEXITSTATUS(status));
    return EDGEPS_OK;
}

/* The child keeps the signals blocked: an interrupt from the terminal reaches it too. */
static edgeps_err run_child(measure_work *work, const void *context, report *shared,
                            const sigset_t *signals, edgeps_diag *diag)
{
    fflush(NULL);
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        return diag_fail(diag, EDGEPS_IO, "no process could be started: %s", strerror(errno));
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            shared->err = work(context, &shared->diag, shared->answer);
        _exit(0);
    }
    return await(child, signals, diag);
}

edgeps_err measure_run(measure_work *work, const void *context, size_t size, edgeps_diag *diag,
                       void *answer)
{
    sigset_t signals, before;
    report *shared = mmap(NULL, sizeof *shared + size, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for an answer");
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, &before);
    edgeps_err err = run_child(work, context, shared, &signals, diag);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (!err && shared->err)
        err = diag_fail(diag, shared->err, "%s", shared->diag.text);
    if (!err)
        memcpy(answer, shared->answer, size);
    munmap(shared, sizeof *shared + size);
    return err;
}
