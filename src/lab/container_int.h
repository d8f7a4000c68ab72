/* Containers as nodes of a lab, seen from its keeper: their network namespaces and storage are held
 * under the names that others' have, and again when a container starts anew. */
#ifndef EDGEPS_LAB_CONTAINER_INT_H
#define EDGEPS_LAB_CONTAINER_INT_H

#include "lab/docker_int.h"

#define CONTAINER_FOLDER "/run/container" /* a link per node to its first process in /proc */

/* Starts them and holds what they have; the calling thread is in the hub's network. */
edgeps_err container_make(const docker *d, const network *net, edgeps_diag *diag);

/* Starts a process that plugs containers in that start again, with the network in the lab's folder
 * or, where that cannot be read, this one. */
void container_watch(const docker *d, const network *net, const char *dir);

#endif
