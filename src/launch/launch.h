/* Starting agents. The local launcher runs one process per node on this host; it owns these
 * processes and signals no other. launch_free leaves none behind. Where the launching process is
 * killed its agents go on, unless they are tied to it; another process can adopt them. */
#ifndef EDGEPS_LAUNCH_LAUNCH_H
#define EDGEPS_LAUNCH_LAUNCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct launch launch;

/* A launcher for `count` agents of the program at `program`; it copies the names. */
edgeps_err launch_local(const char *program, const char *const *names, size_t count,
                        edgeps_diag *diag, launch **out);

/* Each agent is told `--certs FOLDER`; the text is lent as long as agents are started. */
void launch_certs(launch *l, const char *folder);

/* Each agent is told `--insecure`. */
void launch_insecure(launch *l);

/* Agents end with the thread that started them, whatever ends it. */
void launch_tie(launch *l);

/* Where agents live, if not where the launcher does. */
typedef struct launch_world {
    /* the PID namespace in which agent `index` is born, a descriptor that the launcher closes; -1:
     * its own */
    int (*birthplace)(void *context, size_t index);
    /* in the process that becomes the agent; false, with errno set: it cannot */
    bool (*settle)(void *context, size_t index);
    void *context;
} launch_world;

/* Nobody else is in it: agents are told `--enclosed`. The world is lent as long as agents are
 * started. */
void launch_into(launch *l, const launch_world *world);

/* Which processes the agents are, for launch_adopt in another process; freed with mem_free. NULL
 * without memory. */
char *launch_describe(const launch *l);

/* Makes the agents that another process of this host started, and that are still there, this
 * launcher's own. A process is known by the time at which it started, too, so a number that has
 * been given away again is not taken for it. */
void launch_adopt(launch *l, const char *description);

/* Kills who was adopted, and starts every agent: `program agent --coordinator HOST:PORT --node
 * NAME`. */
edgeps_err launch_start(launch *l, const char *host, int port, edgeps_diag *diag);

/* Sends a signal to one agent, unless it has ended. */
void launch_signal(launch *l, size_t index, int signo);

/* Waits up to `grace_s` for the agents to end by themselves, kills who is left, and frees. */
void launch_free(launch *l, double grace_s);

#endif
