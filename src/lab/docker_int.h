/* The nodes of a lab as Docker containers, made with the `docker` command.
 *
 * The image holds this program and the libraries that it is linked with, each at the path that it
 * has on the host, and nothing else. Containers start without a network; the keeper plugs them into
 * the lab as it does with network namespaces of its own.
 *
 * The daemon is the machine's, or one that the lab starts for itself: that one lives in the
 * keeper's namespaces with all that it makes, and goes with them but for control groups.
 */
#ifndef EDGEPS_LAB_DOCKER_INT_H
#define EDGEPS_LAB_DOCKER_INT_H

#include "base/err.h"
#include "network/network.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DOCKER_STORAGE "/storage" /* in each container */
#define DOCKER_HOST_BYTES 128
#define DOCKER_OWN_SOCKET "/run/dockerd/socket" /* where the keeper is */
#define DOCKER_OWN_HOST "unix://" DOCKER_OWN_SOCKET

/* A lab's containers carry the number of its keeper. */
typedef struct docker {
    char host[DOCKER_HOST_BYTES]; /* of the daemon; "": as the environment says */
    bool own;                     /* the lab's own daemon */
    pid_t lab;
    double core_samples_per_s;  /* 0: no limit */
    int64_t memory_bytes;       /* of each container beside its storage */
    const char *const *folders; /* of the host, to be read in containers; ends with NULL or is */
} docker;

/* In the keeper, as the first process of its PID namespace with a /run of its own: starts a daemon
 * and waits until it serves. EDGEPS_UNSUPPORTED: it cannot run here, with what it said. */
edgeps_err docker_serve(const docker *d, edgeps_diag *diag);

/* Writes the files of the image, this program among them, into an archive. */
edgeps_err docker_pack(const char *archive, edgeps_diag *diag);

/* Makes the image and starts a container per node. EDGEPS_UNSUPPORTED: no daemon answers. */
edgeps_err docker_make(const docker *d, const network *net, edgeps_diag *diag);

/* The first process of a node's container. EDGEPS_IO: it does not run, or not on this machine. */
edgeps_err docker_find(const docker *d, size_t node, edgeps_diag *diag, pid_t *pid);

/* Tells of each container that starts from now on: `started` is called with its node, in the
 * calling process, until the daemon ends. */
void docker_watch(const docker *d, size_t count, void (*started)(void *context, size_t node),
                  void *context);

edgeps_err docker_set_share(const docker *d, size_t node, double share, edgeps_diag *diag);

/* Removes containers, image and control groups of a lab whose keeper has ended. */
void docker_remove(const docker *d);

#endif
