#include "lab/group_int.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_US 100000
#define LONG_PERIOD_US 1000000 /* the kernel allows no more, and no quota below LEAST_QUOTA_US */
#define LEAST_QUOTA_US 1000
#define SETTLE_NS (INT64_C(1) * CLOCK_NS_PER_S / 5)
#define WINDOW_NS (INT64_C(3) * CLOCK_NS_PER_S / 2)
#define MOST_IDLE 1000
#define PATH_BYTES 192

edgeps_err group_find_tree(edgeps_diag *diag, group_tree *out)
{
    if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0)
        *out = (group_tree){.root = "/sys/fs/cgroup", .unified = true};
    else if (access("/sys/fs/cgroup/cpu/cgroup.procs", F_OK) == 0)
        *out = (group_tree){.root = "/sys/fs/cgroup/cpu"};
    else
        return diag_fail(diag, EDGEPS_UNSUPPORTED,
                         "no control groups with quotas of CPU time are at /sys/fs/cgroup");
    return EDGEPS_OK;
}

double group_share(const network_node *node, double core_samples_per_s)
{
    return fmax(node->compute_samples_per_s / core_samples_per_s, GROUP_LEAST_SHARE);
}

edgeps_err group_fits(const network *net, double core_samples_per_s, edgeps_diag *diag)
{
    cpu_set_t set;
    double sum = 0, cores = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    for (size_t i = 0; i < net->count; i++) {
        double share = group_share(&net->nodes[i], core_samples_per_s);
        sum += share;
        if (share > 1)
            return diag_fail(diag, EDGEPS_INFEASIBLE,
                             "node '%s' is %.2f times as fast as a core of this machine, and its "
                             "gradients are computed by one thread",
                             net->nodes[i].name, share);
    }
    if (sum <= cores)
        return EDGEPS_OK;
    return diag_fail(diag, EDGEPS_INFEASIBLE,
                     "the nodes compute as much as %.2f cores, and this machine has %.0f; use "
                     "fewer or slower nodes",
                     sum, cores);
}

static void name_group(const group_tree *t, pid_t keeper, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/edgeps-lab-%d", t->root, keeper);
}

/* A file of a node's group, or with NULL the group itself. */
static void name_file(const group_tree *t, pid_t keeper, size_t node, const char *file,
                      char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/edgeps-lab-%d/n%zu%s%s", t->root, keeper, node, file ? "/" : "",
             file ? file : "");
}

static edgeps_err put(const char *path, const char *text, edgeps_diag *diag)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t length = strlen(text);
    bool good = fd >= 0 && write(fd, text, length) == (ssize_t)length;
    edgeps_err err = good ? EDGEPS_OK
                          : diag_fail(diag, EDGEPS_IO, "%s: cannot be set to %s: %s", path, text,
                                      strerror(errno));
    if (fd >= 0)
        close(fd);
    return err;
}

static edgeps_err make_folder(const char *path, edgeps_diag *diag)
{
    if (mkdir(path, 0755) == 0 || errno == EEXIST)
        return EDGEPS_OK;
    return diag_fail(diag, EDGEPS_IO, "%s: no control group: %s", path, strerror(errno));
}

group_quota group_quota_of(double share)
{
    group_quota q = {.period_us = share * PERIOD_US < LEAST_QUOTA_US ? LONG_PERIOD_US : PERIOD_US};
    q.quota_us = lround(fmax(share * (double)q.period_us, LEAST_QUOTA_US));
    return q;
}

edgeps_err group_set_share(const group_tree *t, pid_t keeper, size_t node, double share,
                           edgeps_diag *diag)
{
    char path[PATH_BYTES], text[64];
    group_quota q = group_quota_of(share);
    if (t->unified) {
        name_file(t, keeper, node, "cpu.max", path);
        snprintf(text, sizeof text, "%ld %ld", q.quota_us, q.period_us);
        return put(path, text, diag);
    }
    name_file(t, keeper, node, "cpu.cfs_period_us", path);
    snprintf(text, sizeof text, "%ld", q.period_us);
    edgeps_err err = put(path, text, diag);
    name_file(t, keeper, node, "cpu.cfs_quota_us", path);
    snprintf(text, sizeof text, "%ld", q.quota_us);
    return err ? err : put(path, text, diag);
}

/* In cgroup v2 a parent hands the controller down. */
static edgeps_err hand_down(const char *folder, edgeps_diag *diag)
{
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/cgroup.subtree_control", folder);
    return put(path, "+cpu", diag);
}

/* Other programs' load takes little from a lab, whose quotas bound what it takes itself. */
static edgeps_err come_first(const group_tree *t, const char *folder, edgeps_diag *diag)
{
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/%s", folder, t->unified ? "cpu.weight" : "cpu.shares");
    return put(path, t->unified ? "10000" : "262144", diag);
}

edgeps_err group_make(const group_tree *t, pid_t keeper, const network *net,
                      double core_samples_per_s, edgeps_diag *diag)
{
    char path[PATH_BYTES];
    name_group(t, keeper, path);
    edgeps_err err = t->unified ? hand_down(t->root, diag) : EDGEPS_OK;
    if (!err)
        err = make_folder(path, diag);
    if (!err && t->unified)
        err = hand_down(path, diag);
    if (!err)
        err = come_first(t, path, diag);
    for (size_t i = 0; !err && i < net->count; i++) {
        name_file(t, keeper, i, NULL, path);
        err = make_folder(path, diag);
        if (!err)
            err = group_set_share(t, keeper, i, group_share(&net->nodes[i], core_samples_per_s),
                                  diag);
    }
    return err;
}

edgeps_err group_enter(const group_tree *t, pid_t keeper, size_t node, edgeps_diag *diag)
{
    char path[PATH_BYTES];
    name_file(t, keeper, node, "cgroup.procs", path);
    return put(path, "0", diag);
}

static void end_process(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd end = {.fd = fd, .events = POLLIN};
    if (fd < 0)
        return;
    syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    while (poll(&end, 1, -1) < 0 && errno == EINTR)
        ;
    close(fd);
}

/* How many it found. */
static size_t empty(const char *path)
{
    char line[32];
    size_t found = 0;
    FILE *members = fopen(path, "re");
    for (; members && fgets(line, sizeof line, members); found++)
        end_process((pid_t)strtol(line, NULL, 10));
    if (members)
        fclose(members);
    return found;
}

/* A group is busy as long as somebody is in it, or groups that others have made there. */
void group_remove(const group_tree *t, pid_t keeper, size_t count)
{
    char path[PATH_BYTES], members[PATH_BYTES];
    for (size_t i = 0; i < count; i++) {
        name_file(t, keeper, i, NULL, path);
        name_file(t, keeper, i, "cgroup.procs", members);
        for (int idle = 0; idle < MOST_IDLE && rmdir(path) && errno == EBUSY;)
            idle = empty(members) > 0 ? 0 : idle + 1;
    }
    name_group(t, keeper, path);
    rmdir(path);
}

/* A line of /proc/PID/cgroup is NUMBER:CONTROLLERS:/PATH, and of version 2 the controllers are
 * none; hierarchies that are mounted under no name of theirs do not limit anything. */
edgeps_err group_join(const char *process, edgeps_diag *diag)
{
    char line[512], path[768];
    edgeps_err err = EDGEPS_OK;
    snprintf(path, sizeof path, "%s/cgroup", process);
    FILE *file = fopen(path, "re");
    if (!file)
        return diag_fail(diag, EDGEPS_IO, "%s: %s", path, strerror(errno));
    while (!err && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        controllers++;
        snprintf(path, sizeof path, "/sys/fs/cgroup/%s%s%s/cgroup.procs", controllers,
                 *controllers ? "/" : "", group + 1);
        if (access(path, W_OK) == 0)
            err = put(path, "0", diag);
    }
    fclose(file);
    return err;
}

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * CLOCK_NS_PER_S + t.tv_nsec;
}

/* Computes nothing as fast as it can. */
static double spin(int64_t for_ns)
{
    int64_t begun_ns = clock_now_ns(), spent_ns = cpu_ns(), now_ns = begun_ns;
    while (now_ns < begun_ns + for_ns)
        now_ns = clock_now_ns();
    return (double)(cpu_ns() - spent_ns) / (double)(now_ns - begun_ns);
}

typedef struct answer {
    size_t index;
    double cores;
} answer;

static _Noreturn void compute(answer a, int tell)
{
    spin(SETTLE_NS);
    a.cores = spin(WINDOW_NS);
    _exit(write(tell, &a, sizeof a) != (ssize_t)sizeof a);
}

edgeps_err group_measure(edgeps_err (*enter)(const void *context, size_t node), const void *context,
                         const size_t *nodes, size_t count, edgeps_diag *diag, double *cores)
{
    int ends[2];
    size_t started = 0, answered = 0;
    answer a;
    pid_t *pids = mem_alloc(count, sizeof *pids);
    if (!pids)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for %zu processes", count);
    if (pipe2(ends, O_CLOEXEC)) {
        mem_free(pids);
        return diag_fail(diag, EDGEPS_IO, "no pipe: %s", strerror(errno));
    }
    for (; started < count && (pids[started] = fork()) >= 0; started++)
        if (pids[started] == 0) {
            if (enter(context, nodes[started]))
                _exit(1);
            compute((answer){.index = started}, ends[1]);
        }
    close(ends[1]);
    while (read(ends[0], &a, sizeof a) == (ssize_t)sizeof a) {
        cores[a.index] = a.cores;
        answered++;
    }
    close(ends[0]);
    for (size_t k = 0; k < started; k++)
        while (waitpid(pids[k], NULL, 0) < 0 && errno == EINTR)
            ;
    mem_free(pids);
    return answered == count
               ? EDGEPS_OK
               : diag_fail(diag, EDGEPS_IO, "only %zu of %zu nodes compute", answered, count);
}
