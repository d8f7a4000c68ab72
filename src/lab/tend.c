#include "lab/tend_int.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* As nobody's child, and without the caller's files. */
static _Noreturn void tend(int keeper, void (*clear)(const void *context), const void *context)
{
    struct pollfd end = {.fd = 3, .events = POLLIN};
    setsid();
    if (fork() != 0)
        _exit(0);
    signal(SIGPIPE, SIG_IGN);
    dup2(keeper, 3);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    fcntl(3, F_SETFD, FD_CLOEXEC);
    syscall(SYS_close_range, 4, ~0U, 0);
    if (chdir("/") == 0)
        while (poll(&end, 1, -1) < 0 && errno == EINTR)
            ;
    clear(context);
    _exit(0);
}

edgeps_err tend_start(pid_t keeper, void (*clear)(const void *context), const void *context,
                      edgeps_diag *diag)
{
    int fd = (int)syscall(SYS_pidfd_open, keeper, 0);
    pid_t pid = fd < 0 ? -1 : fork();
    if (pid == 0)
        tend(fd, clear, context);
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (pid < 0)
        return diag_fail(diag, EDGEPS_IO, "nobody to clear the lab away in the end: %s",
                         strerror(error));
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return EDGEPS_OK;
}
