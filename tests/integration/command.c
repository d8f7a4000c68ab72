#include "integration/command.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_NS (INT64_C(60) * CLOCK_NS_PER_S)
#define MOST_ARGUMENTS 32

void command_start(command *c, const char *const *arguments)
{
    char program[] = EDGEPS_BINARY_DIR "/edgeps";
    char *argv[MOST_ARGUMENTS + 2] = {program};
    for (int k = 0; arguments[k]; k++)
        argv[k + 1] = (char *)arguments[k];
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    *c = (command){.out = ends[0], .status = -1};
    c->pid = fork();
    assert_true(c->pid >= 0);
    if (c->pid == 0) {
        setpgid(0, 0);
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        execv(program, argv);
        _exit(127);
    }
    setpgid(c->pid, c->pid);
    close(ends[1]);
}

/* One read, waiting at most until the deadline; 0 at the end of the output or of patience. */
static int read_more(command *c, int64_t deadline_ns)
{
    char spill[4096];
    struct pollfd wait = {.fd = c->out, .events = POLLIN};
    int64_t left_ms = (deadline_ns - clock_now_ns()) / 1000000;
    if (left_ms <= 0 || poll(&wait, 1, (int)left_ms) <= 0)
        return 0;
    size_t room = sizeof c->text - 1 - c->length;
    ssize_t got = read(c->out, room ? c->text + c->length : spill, room ? room : sizeof spill);
    if (got <= 0)
        return 0;
    c->length += room ? (size_t)got : 0;
    c->text[c->length] = '\0';
    return 1;
}

int command_await(command *c, const char *words)
{
    int64_t deadline_ns = clock_now_ns() + PATIENCE_NS;
    while (!strstr(c->text, words))
        if (!read_more(c, deadline_ns))
            return 0;
    return 1;
}

void command_finish(command *c)
{
    int64_t deadline_ns = clock_now_ns() + PATIENCE_NS;
    while (read_more(c, deadline_ns))
        ;
    if (clock_now_ns() >= deadline_ns)
        kill(-c->pid, SIGKILL);
    int status = 0;
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    c->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    close(c->out);
}

void command_run(command *c, const char *const *arguments)
{
    command_start(c, arguments);
    command_finish(c);
}

void command_expect_line(const command *c, int status, const char *words)
{
    const char *end = strchr(c->text, '\n');
    if (c->status != status || !strstr(c->text, words) || !end || end[1])
        fail_msg("status %d, expected %d with '%s' in one line:\n%s", c->status, status, words,
                 c->text);
}

void command_refuses(const char *const *arguments, int status, const char *words)
{
    command c;
    command_run(&c, arguments);
    command_expect_line(&c, status, words);
}

void folder_make(char path[64])
{
    snprintf(path, 64, "/tmp/edgeps-test-XXXXXX");
    assert_non_null(mkdtemp(path));
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

void folder_remove(const char *path) { nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }
