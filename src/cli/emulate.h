/* A run in a lab of its own: the lab is made, measured, and ends with the run. */
#ifndef EDGEPS_CLI_EMULATE_H
#define EDGEPS_CLI_EMULATE_H

#include "base/err.h"
#include "lab/lab.h"
#include "launch/launch.h"
#include "network/network.h"
#include "node/host.h"

#include <stdbool.h>

typedef struct emulation emulation;

/* How nodes are made. */
typedef struct emulation_options {
    bool docker;
    bool own_dockerd;
    double core_samples_per_s;  /* each agent gets its node's share of a core; 0: none is limited */
    bool no_check;              /* measure nothing, and write no lab-check.json */
    bool force;                 /* be content with whatever was measured */
    const char *const *folders; /* that agents read; ends with NULL */
} emulation_options;

/* Makes the lab of the network, measures it, writes lab-check.json into the run's folder, unless
 * told not to, and makes the hub's network the process'. EDGEPS_INFEASIBLE: it is not as asked,
 * unless forced, or the nodes compute more than the machine has cores for. Without root nobody is
 * limited in the end; agents that keep their nodes' speeds by waiting take no more than their
 * shares. */
edgeps_err emulation_begin(const network *net, const char *out_dir,
                           const emulation_options *options, edgeps_diag *diag, emulation **out);

/* Agents start in their nodes' networks, or containers. */
void emulation_place(emulation *e, launch *l);

/* The coordinator and the agents listen at the lab's addresses; servers are in its storage. */
void emulation_describe(const emulation *e, host_options *options);

/* One change of a link's rate, of free storage or of a speed. */
edgeps_err emulation_change(emulation *e, const network_event *event, edgeps_diag *diag);

/* Ends the lab; NULL is fine. */
void emulation_end(emulation *e);

#endif
