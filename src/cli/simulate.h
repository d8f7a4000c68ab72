/* `edgeps sim NETWORK`: a whole training run in virtual time, printed epoch by epoch. */
#ifndef EDGEPS_CLI_SIMULATE_H
#define EDGEPS_CLI_SIMULATE_H

#include "cli/setting.h"
#include "network/network.h"
#include "sim/training.h"

typedef enum simulate_output { SIMULATE_TABLE, SIMULATE_CSV, SIMULATE_JSON } simulate_output;

typedef struct simulate_request {
    const char *path; /* of the network file */
    setting setting;
    const char *policy;  /* name of options.policy */
    const char *network; /* name of options.network */
    training_options options;
    simulate_output output;
} simulate_request;

/* EDGEPS_INFEASIBLE as training_run; nothing is printed then. */
edgeps_err simulate_run(const simulate_request *r, edgeps_diag *diag);

#endif
