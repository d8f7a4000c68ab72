/* The placement problem: one network and one job at one moment, as every planner, the evaluator and
 * the simulator read it. A value that is built once and then only read; it borrows the names from
 * the network, which must outlive it.
 */
#ifndef EDGEPS_PROBLEM_PROBLEM_H
#define EDGEPS_PROBLEM_PROBLEM_H

#include "base/err.h"
#include "job/job.h"
#include "network/network.h"

#include <stdbool.h>

typedef struct problem_node {
    const char *name;
    bool train;
    bool serve;
    double up_bytes_per_s;
    double down_bytes_per_s;
    double compute_s; /* gradient work of one round; 0 where the node does not train */
    double sum_bytes_per_s;
    int64_t free_bytes;
} problem_node;

typedef struct problem {
    size_t count;
    problem_node *nodes;
    double *latency_s;       /* count x count, one way */
    double *cap_bytes_per_s; /* count x count */
    size_t max_locals;       /* most local servers a plan may have, >= 1 */
    size_t worker_count;
    job job;
    int64_t rounds; /* in an epoch */
} problem;

typedef struct problem_options {
    size_t max_locals;             /* 0: as many as there are nodes */
    const int64_t *worker_samples; /* samples of each node's worker; NULL: equal shares */
    const bool *absent;            /* nodes that neither train nor serve any more; NULL: none */
    int64_t rounds;                /* rounds of an epoch; 0: job_rounds of the workers present */
} problem_options;

/* Builds the instance; refuses (EDGEPS_INFEASIBLE) a network in which no worker or no server is
 * left, or a worker is cut off from everyone. */
edgeps_err problem_make(const network *net, const job *j, const problem_options *options,
                        edgeps_diag *diag, problem **out);

void problem_free(problem *p);

/* Goodput of a lone flow; INFINITY on one node, 0 where there is no path. */
double problem_rate_bytes_per_s(const problem *p, size_t from, size_t to);

/* True when data can pass both ways between the two nodes. */
bool problem_connected(const problem *p, size_t a, size_t b);

static inline double problem_latency_s(const problem *p, size_t from, size_t to)
{
    return p->latency_s[from * p->count + to];
}

#endif
