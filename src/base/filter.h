/* A command as a filter: text in on its standard input, text out from its standard output.
 *
 * The command line goes to `/bin/sh -c` as it is. The command runs in a process group of its own,
 * with no signal blocked or ignored, and reads its input from a file in memory: it may stop reading
 * whenever it likes. Its standard error and environment are the caller's. A caller must not collect
 * children that it did not start: the exit status would be lost.
 */
#ifndef EDGEPS_BASE_FILTER_H
#define EDGEPS_BASE_FILTER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct filter_limits {
    size_t most_bytes;            /* of output */
    bool (*go_on)(void *watched); /* asked every 20 ms; false: killed. NULL: never */
    void *watched;
} filter_limits;

typedef struct filter_output {
    char *text; /* a 0 follows its length bytes; freed by the caller with mem_free */
    size_t length;
    int exit_status;
} filter_output;

/* Runs the command until it ends, whatever its exit status; what it started and left behind is
 * killed then. Otherwise the diagnosis says "the command ...", all of its process group is killed
 * and `out` untouched: EDGEPS_IO when it cannot be started or dies by a signal, EDGEPS_CANCELLED
 * when go_on says so, EDGEPS_FORMAT beyond most_bytes, EDGEPS_NOMEM. */
edgeps_err filter_run(const char *command, const char *input, const filter_limits *limits,
                      edgeps_diag *diag, filter_output *out);

#endif
