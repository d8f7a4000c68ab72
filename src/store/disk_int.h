/* Writing files so that a crash leaves the old or the new one: whole writes, fsync, rename, fsync
 * of the folder, removal. Every step can be made to fail, or to end the process, by a test. Private
 * to store. */
#ifndef EDGEPS_STORE_DISK_INT_H
#define EDGEPS_STORE_DISK_INT_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Failures become EDGEPS_FULL (no space, no quota) or EDGEPS_IO, with `path` in front. */
edgeps_err disk_failure(edgeps_diag *diag, const char *path, int error);

edgeps_err disk_create(const char *path, edgeps_diag *diag, int *fd);
edgeps_err disk_write(int fd, const void *bytes, size_t count, const char *path, edgeps_diag *diag);
edgeps_err disk_sync(int fd, const char *path, edgeps_diag *diag);
edgeps_err disk_rename(const char *from, const char *to, edgeps_diag *diag);
edgeps_err disk_sync_folder(const char *path, edgeps_diag *diag);

/* A file that is not there is no error. */
edgeps_err disk_remove(const char *path, edgeps_diag *diag);

/* A whole file, mapped for reading; `*bytes` is NULL when it is empty. */
edgeps_err disk_map(const char *path, edgeps_diag *diag, const uint8_t **bytes, size_t *count);
void disk_unmap(const uint8_t *bytes, size_t count);

/* For tests: the n-th of the steps above (but for disk_map) and all after it fail with this errno,
 * or the process is killed there; a write has put down half of its bytes by then. 0 switches this
 * off. */
#define DISK_KILL (-1)
void disk_fail_at(long nth, int error);

#endif
