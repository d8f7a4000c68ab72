/* `edgeps plan --trace`: follows a network through its scenario, epoch by epoch, with each policy
 * of re-placement, and prints what they come to. */
#ifndef EDGEPS_CLI_TRACE_H
#define EDGEPS_CLI_TRACE_H

#include "adapt/trace.h"
#include "job/job.h"
#include "network/network.h"

typedef struct trace_request {
    const network *net;
    const job *job;
    size_t max_locals;
    const char *policies; /* names separated by commas, or "all" */
    int64_t epochs;       /* 0: up to the last that the scenario names */
    bool json;
    adapt_trace_options options;
} trace_request;

/* EDGEPS_USAGE for a policy that there is not, or a scenario without epochs; EDGEPS_INFEASIBLE with
 * the epoch that has no plan, or no problem. Kills and stops take a node away for good; what the
 * scenario has for a time instead of an epoch does not count. */
edgeps_err trace_follow(const trace_request *r, edgeps_diag *diag);

#endif
