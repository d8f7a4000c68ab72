/* The process that holds a lab. */
#ifndef EDGEPS_LAB_KEEPER_INT_H
#define EDGEPS_LAB_KEEPER_INT_H

#include "base/err.h"
#include "network/network.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct keeper {
    pid_t pid;
    uint64_t
        begun; /* when, as the kernel counts it: tells it from a later process of that number */
    bool root;
    double core_samples_per_s; /* 0: no control groups */
} keeper;

/* Starts the keeper of a network. It begins to build only with keeper_build, and ends with the
 * calling thread until it has built, or for good when `tied`. *ready is what keeper_build takes. */
edgeps_err keeper_start(const network *net, bool tied, edgeps_diag *diag, keeper *out, int *ready);

/* Lets it build and waits until it has; closes `ready`. */
edgeps_err keeper_build(int ready, edgeps_diag *diag);

/* Whether that process is still there. */
bool keeper_lives(const keeper *k);

/* Ends it and all of its lab, and waits for that. */
void keeper_kill(const keeper *k);

/* "/proc/PID/root/run/netns/NAME" of a node or LAB_HUB, seen from outside. */
void keeper_namespace_path(const keeper *k, size_t node, char path[64]);

#endif
