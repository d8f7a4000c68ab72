/* What a node may compute: a control group per node, whose quota of CPU time is the node's share of
 * one core. Both kinds of control groups are known; root alone may make them.
 *
 * Groups outlive their processes; they are removed when the lab's keeper has ended, see lab/tend.
 */
#ifndef EDGEPS_LAB_GROUP_INT_H
#define EDGEPS_LAB_GROUP_INT_H

#include "base/err.h"
#include "network/network.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define GROUP_LEAST_SHARE 0.001

/* Where groups are made on this machine. */
typedef struct group_tree {
    char root[96];
    bool unified; /* cgroup v2 */
} group_tree;

/* EDGEPS_UNSUPPORTED: none with CPU quotas is mounted. */
edgeps_err group_find_tree(edgeps_diag *diag, group_tree *out);

/* The share of a core that a node's speed is, when one computes so much; at least
 * GROUP_LEAST_SHARE. */
double group_share(const network_node *node, double core_samples_per_s);

/* Whether the nodes' shares fit into the cores that this process may use: EDGEPS_INFEASIBLE with
 * what does not. */
edgeps_err group_fits(const network *net, double core_samples_per_s, edgeps_diag *diag);

/* Makes a group per node of the lab with this keeper. */
edgeps_err group_make(const group_tree *t, pid_t keeper, const network *net,
                      double core_samples_per_s, edgeps_diag *diag);

/* The time that a group may compute in each period, as control groups want it. */
typedef struct group_quota {
    long quota_us;
    long period_us;
} group_quota;

group_quota group_quota_of(double share);

edgeps_err group_set_share(const group_tree *t, pid_t keeper, size_t node, double share,
                           edgeps_diag *diag);

/* Puts the calling process into a node's group. It may have one thread. */
edgeps_err group_enter(const group_tree *t, pid_t keeper, size_t node, edgeps_diag *diag);

/* Kills whoever is left in the groups and removes them; what is not there is no error. */
void group_remove(const group_tree *t, pid_t keeper, size_t count);

/* Puts the calling process into all control groups that another one is in, whose entry in a /proc
 * is `process`. */
edgeps_err group_join(const char *process, edgeps_diag *diag);

/* The cores that `count` nodes, all computing at once, get; one thread per node, which `enter` puts
 * under its node's limit. */
edgeps_err group_measure(edgeps_err (*enter)(const void *context, size_t node), const void *context,
                         const size_t *nodes, size_t count, edgeps_diag *diag, double *cores);

#endif
