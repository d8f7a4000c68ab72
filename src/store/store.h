/* The storage that a node offers: a folder under a quota, owned by one process.
 *
 * Servers reserve their memory here: a reservation is a file whose blocks are allocated, mapped
 * into memory, so that what was promised can be used. Checkpoints count against the same quota. The
 * quota may shrink below what is in use; then nothing new fits, and what is there stays.
 */
#ifndef EDGEPS_STORE_STORE_H
#define EDGEPS_STORE_STORE_H

#include "base/err.h"
#include "store/checkpoint.h"

#include <stdint.h>

typedef struct store store;

/* Makes the folder (its parent exists) and locks it; what a killed owner had reserved is removed,
 * checkpoints stay. EDGEPS_IO when another process owns it. */
edgeps_err store_open(const char *dir, int64_t quota_bytes, edgeps_diag *diag, store **out);

/* Gives all reservations back and unlocks the folder. NULL is fine. */
void store_close(store *s);

const char *store_folder(const store *s);

void store_set_quota(store *s, int64_t quota_bytes);
int64_t store_quota_bytes(const store *s);

/* Bytes of reservations and checkpoints. */
int64_t store_used_bytes(const store *s);

/* What the node can offer to servers in all: the quota, or less when the file system has less room
 * than that. */
int64_t store_offered_bytes(const store *s);

/* Reserves `bytes` (at least 1) of zeros under `name` (letters, digits, '-', '_', '.'); `*map` is
 * good until store_release. EDGEPS_FULL says what is needed and what is free, and leaves nothing
 * behind; EDGEPS_USAGE when the name is taken. */
edgeps_err store_reserve(store *s, const char *name, int64_t bytes, edgeps_diag *diag, void **map);

/* Gives a reservation back; an unknown name is ignored. */
void store_release(store *s, const char *name);

/* checkpoint_write into the folder, under the quota. */
edgeps_err store_write_checkpoint(store *s, const checkpoint *c, int keep, edgeps_diag *diag);

/* Removes every checkpoint: the server they belong to lives elsewhere. */
edgeps_err store_drop_checkpoints(store *s, edgeps_diag *diag);

#endif
