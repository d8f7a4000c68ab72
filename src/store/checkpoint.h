/* Checkpoints: the state of the global server, so that a crash at any instant leaves a whole one
 * (docs/checkpoint-format.md).
 *
 * A checkpoint is a safetensors file of its own in a folder. It is written beside the others,
 * synced, and renamed into place; only then do the oldest go. A hash over the tensors tells a whole
 * file from a damaged one. Order is by plan generation, then round: what a deposed server wrote is
 * older than anything its successor writes.
 */
#ifndef EDGEPS_STORE_CHECKPOINT_H
#define EDGEPS_STORE_CHECKPOINT_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define CHECKPOINT_HEADER_MAX_BYTES 16384

typedef struct checkpoint {
    uint64_t generation;
    int64_t round;
    int64_t epoch;
    uint64_t job;
    const char *model; /* at most 255 bytes */
    int64_t parameter_count;
    float *parameters; /* (parameter_count) */
    float *velocity;   /* (parameter_count), the optimizer's slot */
} checkpoint;

/* Bytes that the file of such a checkpoint takes at most. */
int64_t checkpoint_max_bytes(int64_t parameter_count);

/* Writes a checkpoint into `dir` and then removes all but the newest `keep` (at least 1); never
 * more than `keep` + 1 files are there. EDGEPS_FULL or EDGEPS_IO leave the older ones as they were
 * and nothing half written. */
edgeps_err checkpoint_write(const char *dir, const checkpoint *c, int keep, edgeps_diag *diag);

/* Removes all but the newest `keep` (0 or more); a crash may have left one too many. */
edgeps_err checkpoint_prune(const char *dir, int keep, edgeps_diag *diag);

/* Reads the newest whole checkpoint; a damaged one is skipped with a line in the log. A folder
 * without any is not an error: `parameters` is NULL then. EDGEPS_FORMAT when all are damaged. The
 * caller frees with checkpoint_free. */
edgeps_err checkpoint_load_newest(const char *dir, edgeps_diag *diag, checkpoint *out);

/* Frees what checkpoint_load_newest gave. */
void checkpoint_free(checkpoint *c);

/* Bytes of all checkpoints in `dir`, half written ones included. */
edgeps_err checkpoint_used_bytes(const char *dir, edgeps_diag *diag, int64_t *bytes);

#endif
