/* What a node may compute: a control group per node, whose quota of CPU time is the node's share of
 * one core. Both kinds of control groups are known; root alone may make them.
 *
 * Groups outlive their processes. So a process of its own waits for the end of the lab's keeper,
 * however that comes, and removes them.
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

edgeps_err group_set_share(const group_tree *t, pid_t keeper, size_t node, double share,
                           edgeps_diag *diag);

/* Puts the calling process into a node's group. It may have one thread. */
edgeps_err group_enter(const group_tree *t, pid_t keeper, size_t node, edgeps_diag *diag);

/* Kills whoever is left in the groups and removes them; what is not there is no error. */
void group_remove(const group_tree *t, pid_t keeper, size_t count);

/* Starts the process that removes the groups when the keeper has ended. */
edgeps_err group_tend(const group_tree *t, pid_t keeper, size_t count, edgeps_diag *diag);

/* The cores that `count` nodes, all computing at once, get; one thread per node. */
edgeps_err group_measure(const group_tree *t, pid_t keeper, const size_t *nodes, size_t count,
                         edgeps_diag *diag, double *cores);

#endif
