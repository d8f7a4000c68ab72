/* The folder of a run: what it holds, and the options and the network that `--resume` goes on with.
 *
 *     events.jsonl  job.db  network.json  plans/  checkpoints/  nodes/  model.safetensors
 *     lab-check.json  lab/
 */
#ifndef EDGEPS_CLI_RUNDIR_H
#define EDGEPS_CLI_RUNDIR_H

#include "base/err.h"
#include "network/network.h"

#include <stdbool.h>

/* Makes the folder if it is not there, and locks it as long as `lock`, a descriptor, is open and
 * this process lives. EDGEPS_USAGE when another coordinator has it. */
edgeps_err rundir_lock(const char *dir, edgeps_diag *diag, int *lock);

/* Makes the folder with its parts and writes the network into it. A folder with an earlier run is
 * refused, or with `replace` emptied of that run's files. */
edgeps_err rundir_make(const char *dir, const network *net, bool replace, edgeps_diag *diag);

edgeps_err rundir_network(const char *dir, edgeps_diag *diag, network **out);

/* One option of the run as text. rundir_recall: NULL in `value` when it was not kept; the caller
 * frees it with mem_free. */
edgeps_err rundir_remember(const char *dir, const char *name, const char *value, edgeps_diag *diag);
edgeps_err rundir_recall(const char *dir, const char *name, edgeps_diag *diag, char **value);

#endif
