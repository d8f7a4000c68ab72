#include "lab/tool_int.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static FILE *nameless(void)
{
    int fd = memfd_create("edgeps-lab", MFD_CLOEXEC);
    return fd < 0 ? NULL : fdopen(fd, "w+");
}

FILE *tool_batch(void) { return nameless(); }

/* Users' search path often lacks the folders of system tools. */
static const char *find(const char *tool, char path[64])
{
    static const char *const folders[] = {"/usr/sbin", "/sbin", "/usr/bin", "/bin"};
    for (size_t k = 0; k < sizeof folders / sizeof *folders; k++) {
        snprintf(path, 64, "%s/%s", folders[k], tool);
        if (access(path, X_OK) == 0)
            return path;
    }
    return NULL;
}

static int spawn(const char *path, const char *tool, FILE *batch, FILE *said, pid_t *pid)
{
    char *argv[] = {(char *)tool, "-batch", "-", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(batch), STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, fileno(said), STDERR_FILENO);
    int failed = posix_spawn(pid, path, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static void take_line(FILE *file, int number, char *line, size_t size)
{
    *line = '\0';
    rewind(file);
    for (int k = 0; k < number; k++)
        if (!fgets(line, (int)size, file))
            break;
    line[strcspn(line, "\n")] = '\0';
}

/* The first line is why; the tool ends with "Command failed -:LINE". */
static edgeps_err explain(const char *tool, FILE *batch, FILE *said, edgeps_diag *diag)
{
    char why[256], line[256];
    int number = 0;
    take_line(said, 1, why, sizeof why);
    while (fgets(line, sizeof line, said))
        if (strncmp(line, "Command failed -:", 17) == 0)
            number = (int)strtol(line + 17, NULL, 10);
    take_line(batch, number, line, sizeof line);
    return diag_fail(diag, EDGEPS_IO, "%s %s: %s", tool, line, *why ? why : "failed");
}

edgeps_err tool_run(const char *tool, FILE *batch, edgeps_diag *diag)
{
    char path[64];
    if (!find(tool, path))
        return diag_fail(diag, EDGEPS_UNSUPPORTED, "%s is not installed; it is part of iproute2",
                         tool);
    if (fflush(batch) || fseek(batch, 0, SEEK_SET))
        return diag_fail(diag, EDGEPS_IO, "%s: its commands cannot be kept: %s", tool,
                         strerror(errno));
    FILE *said = nameless();
    if (!said)
        return diag_fail(diag, EDGEPS_IO, "%s: no file for what it says: %s", tool,
                         strerror(errno));
    pid_t pid;
    int status = 0, failed = spawn(path, tool, batch, said, &pid);
    edgeps_err err = EDGEPS_OK;
    if (failed) {
        err = diag_fail(diag, EDGEPS_IO, "%s: cannot be started: %s", path, strerror(failed));
    } else {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        if (status)
            err = explain(tool, batch, said, diag);
    }
    fclose(said);
    return err;
}
