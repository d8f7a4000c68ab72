/* What outlives a lab's processes is removed by a process that waits for the keeper's end, however
 * that comes. */
#ifndef EDGEPS_LAB_TEND_INT_H
#define EDGEPS_LAB_TEND_INT_H

#include "base/err.h"

#include <sys/types.h>

/* Starts that process, which calls `clear` with the context when the keeper has ended. */
edgeps_err tend_start(pid_t keeper, void (*clear)(const void *context), const void *context,
                      edgeps_diag *diag);

#endif
