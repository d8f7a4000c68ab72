/* Runs `ip` and `tc` of iproute2 over a batch of their commands. */
#ifndef EDGEPS_LAB_TOOL_INT_H
#define EDGEPS_LAB_TOOL_INT_H

#include "base/err.h"

#include <stdio.h>

/* A file without a name, for the lines of a batch; the caller closes it. NULL with errno set. */
FILE *tool_batch(void);

/* Runs the tool in the calling thread's network namespace over all lines; stops at the first that
 * fails. EDGEPS_IO with that line and what the tool said, EDGEPS_UNSUPPORTED: it is not there. */
edgeps_err tool_run(const char *tool, FILE *batch, edgeps_diag *diag);

#endif
