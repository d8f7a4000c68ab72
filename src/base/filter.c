#include "base/filter.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ASK_MS 20        /* between two questions whether to go on */
#define READ_BYTES 65536 /* at a time: what a pipe holds */

extern char **environ;

typedef struct child {
    pid_t pid;
    int pidfd; /* readable once the command has ended */
    int out;   /* read end of its standard output; -1 after its end */
    filter_output output;
    size_t room;
} child;

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* Moved above the standard streams, should the caller have closed some of those. */
static int above_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return moved;
}

/* A file in memory that reads as `text`, or -1. */
static int text_file(const char *text)
{
    int fd = above_standard(memfd_create("edgeps-filter", MFD_CLOEXEC));
    size_t length = strlen(text), done = 0;
    while (fd >= 0 && done < length) {
        ssize_t wrote = pwrite(fd, text + done, length - done, (off_t)done);
        if (wrote > 0) {
            done += (size_t)wrote;
        } else if (errno != EINTR) {
            close(fd);
            fd = -1;
        }
    }
    return fd;
}

/* Returns an errno. */
static int spawn_shell(const char *command, int in, int out, pid_t *pid)
{
    char *argv[] = {"sh", "-c", "--", (char *)command, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int failed = posix_spawn_file_actions_init(&files);
    if (failed)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed) {
        posix_spawn_file_actions_destroy(&files);
        return failed;
    }
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    failed = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (!failed)
        failed = posix_spawn(pid, "/bin/sh", &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

static edgeps_err start(const char *command, const char *input, edgeps_diag *diag, child *c)
{
    int ends[2] = {-1, -1}, in = text_file(input);
    int failed = in < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0 ? errno : 0;
    ends[0] = above_standard(ends[0]);
    ends[1] = above_standard(ends[1]);
    if (!failed && (ends[0] < 0 || ends[1] < 0 || fcntl(ends[1], F_SETFL, 0) < 0))
        failed = errno;
    if (!failed)
        failed = spawn_shell(command, in, ends[1], &c->pid);
    close_if_open(in);
    close_if_open(ends[1]);
    if (failed) {
        c->pid = 0;
        close_if_open(ends[0]);
        return diag_fail(diag, EDGEPS_IO, "the command cannot be started: %s", strerror(failed));
    }
    c->out = ends[0];
    c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
    if (c->pidfd < 0)
        return diag_fail(diag, EDGEPS_IO, "the command cannot be watched: %s", strerror(errno));
    return EDGEPS_OK;
}

/* Takes what is there; closes c->out at its end. */
static edgeps_err read_some(child *c, size_t most_bytes, edgeps_diag *diag, bool *more)
{
    filter_output *o = &c->output;
    char *text = mem_grow(o->text, o->length + READ_BYTES + 1, 1, &c->room);
    if (!text)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for what the command wrote");
    o->text = text;
    ssize_t got = read(c->out, o->text + o->length, READ_BYTES);
    *more = got > 0 || (got < 0 && errno == EINTR);
    if (got > 0)
        o->length += (size_t)got;
    if (got < 0 && errno != EINTR && errno != EAGAIN)
        return diag_fail(diag, EDGEPS_IO, "the command's output cannot be read: %s",
                         strerror(errno));
    if (got == 0) {
        close(c->out);
        c->out = -1;
    }
    if (o->length > most_bytes)
        return diag_fail(diag, EDGEPS_FORMAT, "the command wrote more than %zu bytes", most_bytes);
    return EDGEPS_OK;
}

static edgeps_err follow(child *c, const filter_limits *l, edgeps_diag *diag)
{
    bool ended = false, more;
    edgeps_err err = EDGEPS_OK;
    while (!err && !ended) {
        struct pollfd watch[] = {{.fd = c->out, .events = POLLIN},
                                 {.fd = c->pidfd, .events = POLLIN}};
        if (l->go_on && !l->go_on(l->watched))
            return diag_fail(diag, EDGEPS_CANCELLED, "the command was told to stop");
        if (poll(watch, 2, l->go_on ? ASK_MS : -1) < 0) {
            if (errno == EINTR)
                continue;
            return diag_fail(diag, EDGEPS_IO, "the command cannot be watched: %s", strerror(errno));
        }
        ended = watch[1].revents != 0;
        if (watch[0].revents)
            err = read_some(c, l->most_bytes, diag, &more);
    }
    /* What it wrote between the look at its output and the look at its end. */
    more = true;
    while (!err && c->out >= 0 && more)
        err = read_some(c, l->most_bytes, diag, &more);
    return err;
}

/* Kills the whole group, its number being safe while the command is not collected; then collects
 * it. */
static edgeps_err collect(child *c, edgeps_diag *diag)
{
    siginfo_t end = {.si_code = 0};
    int waited;
    kill(-c->pid, SIGKILL);
    do
        waited = waitid(P_PID, (id_t)c->pid, &end, WEXITED);
    while (waited < 0 && errno == EINTR);
    if (waited < 0)
        return diag_fail(diag, EDGEPS_IO, "the command's end was lost: %s", strerror(errno));
    if (end.si_code != CLD_EXITED)
        return diag_fail(diag, EDGEPS_IO, "the command was killed by signal %d", end.si_status);
    c->output.exit_status = end.si_status;
    return EDGEPS_OK;
}

edgeps_err filter_run(const char *command, const char *input, const filter_limits *limits,
                      edgeps_diag *diag, filter_output *out)
{
    child c = {.pidfd = -1, .out = -1};
    edgeps_err err = start(command, input, diag, &c);
    if (!err)
        err = follow(&c, limits, diag);
    if (c.pid) {
        edgeps_err end = collect(&c, err ? NULL : diag);
        err = err ? err : end;
    }
    close_if_open(c.pidfd);
    close_if_open(c.out);
    if (!err && !c.output.text) {
        c.output.text = mem_alloc(1, 1);
        err = c.output.text ? EDGEPS_OK : diag_fail(diag, EDGEPS_NOMEM, "no memory for a text");
    }
    if (err) {
        mem_free(c.output.text);
        return err;
    }
    c.output.text[c.output.length] = '\0';
    *out = c.output;
    return EDGEPS_OK;
}
