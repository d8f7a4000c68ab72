#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int current = -1;
static _Thread_local char name[64]; /* agents may share a process, each on a thread */

static int level_from_environment(void)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    const char *wanted = getenv("EDGEPS_LOG");
    for (int i = 0; wanted && i < 4; i++)
        if (strcmp(wanted, names[i]) == 0)
            return i;
    return LOG_WARNING;
}

void log_set_level(log_level level) { atomic_store(&current, (int)level); }

void log_set_name(const char *who) { snprintf(name, sizeof name, "%s", who); }

void log_line(log_level level, const char *format, ...)
{
    if (atomic_load(&current) < 0)
        atomic_store(&current, level_from_environment());
    if ((int)level > atomic_load(&current))
        return;
    char line[1024];
    int used = snprintf(line, sizeof line, "edgeps: %s%s", name, name[0] ? ": " : "");
    va_list args;
    va_start(args, format);
    used += vsnprintf(line + used, sizeof line - (size_t)used, format, args);
    va_end(args);
    size_t length = (size_t)used < sizeof line - 1 ? (size_t)used : sizeof line - 2;
    line[length++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, length);
    if (written < 0)
        return; /* nobody reads the log: there is nowhere to say so */
}
