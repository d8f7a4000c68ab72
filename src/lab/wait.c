#include "lab/lab.h"

#include <signal.h>

/* As the first process of a container it is sent no signal that it does not wait for, and collects
 * others' children. */
int lab_wait(void)
{
    sigset_t ends;
    int signo;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    signal(SIGCHLD, SIG_IGN);
    sigwait(&ends, &signo);
    return 0;
}
