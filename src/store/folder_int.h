/* The checkpoints of a folder, by their names. Private to store. */
#ifndef EDGEPS_STORE_FOLDER_INT_H
#define EDGEPS_STORE_FOLDER_INT_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define FOLDER_PATH_BYTES 4096

typedef struct folder_entry {
    uint64_t generation;
    int64_t round;
    int64_t bytes;
} folder_entry;

/* Fills `path` with the path of a checkpoint, or of the file that becomes one; EDGEPS_USAGE when it
 * is too long. */
edgeps_err folder_path(const char *dir, uint64_t generation, int64_t round, edgeps_diag *diag,
                       char path[FOLDER_PATH_BYTES]);
edgeps_err folder_partial_path(const char *dir, edgeps_diag *diag, char path[FOLDER_PATH_BYTES]);

/* The checkpoints of `dir`, newest first; the caller frees with mem_free. */
edgeps_err folder_list(const char *dir, edgeps_diag *diag, folder_entry **entries, size_t *count);

#endif
