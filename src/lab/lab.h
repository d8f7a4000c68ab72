/* The lab: the network of a file on this one machine, in network namespaces.
 *
 * A keeper process holds everything: it is the first process of a PID namespace, and in its own
 * mount and network namespace it makes one network namespace per node, a virtual cable from each
 * to a bridge, and HTB on both ends of each cable with a class per peer. Nothing is made in the
 * host's namespaces, so nothing there can be hit or left behind: when the keeper ends, however it
 * ends, the kernel ends all processes of the lab and takes the namespaces, mounts and interfaces
 * away. Without root all of this lives in a user namespace of its own.
 *
 * Where the file has latencies, the keeper itself stands in place of the bridge and carries each
 * frame after the time of its pair. A second cable per node leads to a bridge that is not shaped,
 * for control.
 *
 * Nodes can also be Docker containers, without a network of their own; the keeper takes their
 * network namespaces in place of others, and all else is the same.
 *
 * The folder of a lab says who its keeper is, and holds its network.
 */
#ifndef EDGEPS_LAB_LAB_H
#define EDGEPS_LAB_LAB_H

#include "base/err.h"
#include "network/network.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LAB_MOST_NODES 500
#define LAB_CONGESTION "reno"       /* what each node sends with */
#define LAB_CHECK_FILE "check.json" /* in the folder: what was measured, see lab/check.h */
#define LAB_ADDRESS_BYTES 16
#define LAB_PATH_BYTES 64
#define LAB_HOST_BYTES 128
#define LAB_MEMORY_BYTES (1LL << 30)
#define LAB_STORAGE_VARIABLE "EDGEPS_STORAGE" /* tells programs in the lab where it is */

/* In place of a node: the keeper's own network, where both bridges have an address. */
#define LAB_HUB SIZE_MAX

typedef struct lab lab;

typedef enum lab_backend { LAB_NETNS, LAB_DOCKER } lab_backend;

typedef struct lab_options {
    bool tied;                 /* it ends with the calling thread */
    double core_samples_per_s; /* what a core of this machine computes; 0: nobody is limited */
    lab_backend backend;
    /* of docker */
    bool own_dockerd;     /* not the machine's daemon, but one for this lab, which ends with it */
    int64_t memory_bytes; /* of each container beside its storage; 0: LAB_MEMORY_BYTES */
    const char *const *folders; /* that containers see at the same place, to be read; absolute;
                                   ends with NULL or is */
} lab_options;

/* Makes the lab of a network and returns when it carries traffic; `dir` is made where needed. The
 * caller has one thread. With the speed of a core each node gets the share of one that its own
 * speed is. EDGEPS_USAGE: the folder holds a running lab, or there are too many nodes;
 * EDGEPS_UNSUPPORTED: this machine forbids it, with what to enable; EDGEPS_INFEASIBLE: the shares
 * do not fit into its cores; EDGEPS_IO. */
edgeps_err lab_up(const network *net, const char *dir, const lab_options *options,
                  edgeps_diag *diag);

/* Whether the nodes' shares fit into the cores of this machine, when one of them computes so much.
 * EDGEPS_INFEASIBLE with what does not. */
edgeps_err lab_fits(const network *net, double core_samples_per_s, edgeps_diag *diag);

/* Ends the lab of a folder with all its processes and removes what the folder says of it. A lab
 * whose keeper is gone has ended already. EDGEPS_USAGE: the folder holds no lab. */
edgeps_err lab_down(const char *dir, edgeps_diag *diag);

/* Takes hold of a running lab. Of one in a user namespace the whole process becomes a member for
 * good, so it must have one thread. EDGEPS_USAGE: none runs there. */
edgeps_err lab_open(const char *dir, edgeps_diag *diag, lab **out);

void lab_close(lab *l);

const network *lab_network(const lab *l);
pid_t lab_keeper(const lab *l);
double lab_core_samples_per_s(const lab *l); /* 0: nobody is limited */
lab_backend lab_backend_of(const lab *l);
bool lab_has_root(const lab *l);   /* false: it lives in a user namespace */
bool lab_is_relayed(const lab *l); /* the keeper carries frames, after the latencies of the file */

/* How to reach the lab's Docker daemon: what DOCKER_HOST is to be. "": nothing special, or none. */
void lab_docker_host(const lab *l, char host[LAB_HOST_BYTES]);

/* Writes compose.yaml, network.json and image.tar into a folder, made where needed: the nodes as
 * containers of Docker Compose, whose agents keep the network's rates themselves, and a
 * coordinator. Of `options` the speed of a core and the memory count. */
edgeps_err lab_compose(const network *net, const char *dir, const lab_options *options,
                       edgeps_diag *diag);

/* What the container of a node runs: nothing, until it is ended. */
int lab_wait(void);

/* The network namespace of a node or of the hub, owned by the lab; for setns. */
int lab_namespace(const lab *l, size_t node);

/* The cores that these nodes get when all of them compute at once; only where they are limited. */
edgeps_err lab_measure_cores(const lab *l, const size_t *nodes, size_t count, edgeps_diag *diag,
                             double *cores);

/* Makes that node's network the calling thread's. */
edgeps_err lab_enter(const lab *l, size_t node, edgeps_diag *diag);

/* Back to the network with this descriptor, which is closed. A member of a user namespace cannot go
 * back to the host's network; the hub's is next best. */
void lab_go_home(const lab *l, int home);

/* The PID namespace in which processes of a node's container are born, for the caller to close; -1
 * where nodes are no containers, or this one does not run. */
int lab_birthplace(const lab *l, size_t node);

/* Makes the calling process one of the node's, for good: in its network and within its limits, and,
 * where nodes are containers, among its files. It may have one thread. */
edgeps_err lab_settle(const lab *l, size_t node, edgeps_diag *diag);

/* The folder that is a node's storage, as processes that have settled there see it. */
void lab_inner_storage(const lab *l, size_t node, char path[LAB_PATH_BYTES]);

/* The folder that is a node's storage: what is written into it beyond the node's free bytes, in
 * pages, gets ENOSPC. It goes with the lab. */
void lab_storage(const lab *l, size_t node, char path[LAB_PATH_BYTES]);

/* Runs a program in a node's network and the lab's PID namespace, with the path of its storage in
 * LAB_STORAGE_VARIABLE, and waits for it; the exit status is that of the program, or 128 and the
 * number of the signal that ended it. `argv` ends with NULL. */
edgeps_err lab_exec(const lab *l, size_t node, char *const *argv, edgeps_diag *diag, int *status);

/* Changes a node's rate up or down, for flows on their way too, its storage, or, where it is
 * limited, its share of a core at once; the lab's network and the folder's have it from now on. A
 * node that is cut gets and sends nothing, over neither network, until it is healed by the same
 * `l`.
 * Storage below what is in use takes nothing more. Other changes are not the lab's. The thread
 * comes back to the network that it is in, or to the hub's. */
edgeps_err lab_change(lab *l, const network_event *event, edgeps_diag *diag);

/* Where a node, or LAB_HUB, is reached: through its shaped link, and for control. */
void lab_address(size_t node, char text[LAB_ADDRESS_BYTES]);
void lab_control_address(size_t node, char text[LAB_ADDRESS_BYTES]);

#endif
