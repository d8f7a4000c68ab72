/* The storage of each node: a tmpfs of the size that the node offers, in the keeper's mount
 * namespace, so that it goes with the lab. What is written beyond it gets ENOSPC from the kernel.
 */
#ifndef EDGEPS_LAB_STORAGE_INT_H
#define EDGEPS_LAB_STORAGE_INT_H

#include "base/err.h"
#include "network/network.h"

#include <stdint.h>
#include <sys/types.h>

/* In the keeper, whose /run is its own: a folder per node. */
edgeps_err storage_make(const network *net, edgeps_diag *diag);

/* Likewise, of a node that is a container: what that has at `inside` is its storage, given the
 * entry of its first process in /proc. In place of what there was, if it is another container. */
edgeps_err storage_adopt(size_t node, const char *process, const char *inside, edgeps_diag *diag);

/* Where that is, seen from outside. */
void storage_path(pid_t keeper, size_t node, char path[64]);

/* Gives a node another size at once. Below what is in use, nothing more can be written, until as
 * much has been removed and the size is set anew. The caller has the rights over the lab; with 0 it
 * is itself where the keeper is. */
edgeps_err storage_resize(pid_t keeper, size_t node, int64_t bytes, edgeps_diag *diag);

/* The bytes that fit into the folder, with those that are in it: a file in it is given blocks until
 * there are none, or `most` bytes, and removed. EDGEPS_IO. */
edgeps_err storage_measure(const char *path, int64_t most, edgeps_diag *diag, int64_t *bytes);

/* Storage comes in pages: the whole ones that hold so many bytes. */
int64_t storage_whole_bytes(int64_t bytes);

#endif
