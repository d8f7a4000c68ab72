/* A planner that knows no reason: any live global server, any two live local servers, each worker
 * to one of them, anew for each call, so that generations differ as much as they can. */
#ifndef EDGEPS_SIM_WHIM_H
#define EDGEPS_SIM_WHIM_H

#include "base/rng.h"
#include "sim/sim.h"

typedef struct whim {
    const problem *p;
    rng random;
    bool keep; /* a plan that has all who live and none who is gone */
} whim;

/* A sim_planner; the context is a whim. */
edgeps_err whim_plan(void *context, const bool *absent, const plan *in_force, plan *out);

#endif
