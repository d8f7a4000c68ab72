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

/* Makes the lab of the network, measures it, writes lab-check.json into the run's folder, and makes
 * the hub's network the process'. EDGEPS_INFEASIBLE: it is not as asked, unless `force`. */
edgeps_err emulation_begin(const network *net, const char *out_dir, bool force, edgeps_diag *diag,
                           emulation **out);

/* Agents start in their nodes' networks. */
void emulation_place(const emulation *e, launch *l);

/* The coordinator and the agents listen at the lab's addresses; servers are in its storage. */
void emulation_describe(const emulation *e, host_options *options);

/* One change of a link's rate or of free storage. */
edgeps_err emulation_change(emulation *e, const network_event *event, edgeps_diag *diag);

/* Ends the lab; NULL is fine. */
void emulation_end(emulation *e);

#endif
