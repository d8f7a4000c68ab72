/* The process that holds a lab. */
#ifndef EDGEPS_LAB_KEEPER_INT_H
#define EDGEPS_LAB_KEEPER_INT_H

#include "base/err.h"
#include "lab/docker_int.h"
#include "lab/lab.h"
#include "network/network.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct keeper {
    pid_t pid;
    uint64_t
        begun; /* when, as the kernel counts it: tells it from a later process of that number */
    bool root;
    double core_samples_per_s; /* 0: nobody is limited */
    lab_backend backend;
    bool own_dockerd;
    char docker_host[DOCKER_HOST_BYTES]; /* "": as the environment says */
} keeper;

/* What a keeper is to make. */
typedef struct keeper_task {
    const network *net;
    const lab_options *options;
    const char *dir; /* absolute: the lab's folder, whose network follows changes */
} keeper_task;

/* Starts a keeper. It begins to build only with keeper_build, and ends with the calling thread
 * until it has built, or for good when the lab is tied. *ready is what keeper_build takes. */
edgeps_err keeper_start(const keeper_task *task, edgeps_diag *diag, keeper *out, int *ready);

/* Lets it build and waits until it has; closes `ready`. */
edgeps_err keeper_build(int ready, edgeps_diag *diag);

/* Whether that process is still there. */
bool keeper_lives(const keeper *k);

/* Ends it and all of its lab, and waits for that. */
void keeper_kill(const keeper *k);

/* The containers of its lab, seen from outside. */
docker keeper_docker(const keeper *k);

/* The entry in a /proc of the first process of a node that is a container, seen from outside.
 * EDGEPS_IO: there is none. */
edgeps_err keeper_container_path(const keeper *k, size_t node, edgeps_diag *diag, char path[64]);

/* "/proc/PID/root/run/netns/NAME" of a node or LAB_HUB, seen from outside. */
void keeper_namespace_path(const keeper *k, size_t node, char path[64]);

/* For use in the keeper itself: gives a node, or the hub, the network namespace at `path`; goes
 * there; prepares the one that the thread is in; and gives a node's end of its cables, which is
 * there, addresses and rates. */
edgeps_err keeper_hold(size_t node, const char *path, edgeps_diag *diag);
edgeps_err keeper_enter(size_t node, edgeps_diag *diag);
edgeps_err keeper_tune(edgeps_diag *diag);
edgeps_err keeper_plug_in(const network *net, size_t node, edgeps_diag *diag);

#endif
