/* The placement problem: one network and one job at one moment, as every planner, the evaluator and
 * the simulator read it. A value that is built once and then only read; it borrows the names from
 * the network, which must outlive it. As there, what lies between two nodes is kept by their sites.
 */
#ifndef EDGEPS_PROBLEM_PROBLEM_H
#define EDGEPS_PROBLEM_PROBLEM_H

#include "base/api.h"
#include "base/err.h"
#include "job/job.h"
#include "network/network.h"

#include <math.h>
#include <stdbool.h>

EDGEPS_API_BEGIN

typedef struct problem_node {
    const char *name;
    bool train;
    bool serve;
    double up_bytes_per_s;
    double down_bytes_per_s;
    double compute_s; /* gradient work of one round; 0 where the node does not train */
    double sum_bytes_per_s;
    int64_t free_bytes;
    uint32_t site;
    double access_s; /* part of the latency of every path from and to the node */
} problem_node;

typedef struct problem {
    size_t count;
    problem_node *nodes;
    size_t site_count;
    double *latency_s;       /* site_count x site_count, one way */
    double *cap_bytes_per_s; /* site_count x site_count, of each pair of nodes */
    size_t max_locals;       /* most local servers a plan may have, >= 1 */
    size_t worker_count;
    struct job job;
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

/* A problem of `count` nodes, all zero, each a site of its own, without pair caps: for who builds
 * one by hand. */
edgeps_err problem_blank(size_t count, problem **out);

/* A copy to be changed; the names stay the network's. */
edgeps_err problem_copy(const problem *p, problem **out);

/* The problem of one shard of the parameters (job_shard) as a value on its own: the same nodes, the
 * shard's part of the job. It borrows what `p` points to and is not freed. */
problem problem_shard(const problem *p, size_t s, size_t shards);

void problem_free(problem *p);

/* The same problem with nodes of its own, to be changed; all else stays `p`'s. problem_unlend
 * releases the nodes. */
edgeps_err problem_lend(const problem *p, problem *out);
void problem_unlend(problem *lent);

/* Goodput of a lone flow; INFINITY on one node, 0 where there is no path. */
double problem_rate_bytes_per_s(const problem *p, size_t from, size_t to);

/* True when data can pass both ways between the two nodes. */
bool problem_connected(const problem *p, size_t a, size_t b);

static inline size_t problem_site_pair(const problem *p, size_t from, size_t to)
{
    return p->nodes[from].site * p->site_count + p->nodes[to].site;
}

/* One way; 0 on one node. */
static inline double problem_latency_s(const problem *p, size_t from, size_t to)
{
    if (from == to)
        return 0;
    return p->nodes[from].access_s + p->nodes[to].access_s +
           p->latency_s[problem_site_pair(p, from, to)];
}

/* What flows from one node to the other together; INFINITY: no limit of its own, 0: no path. */
static inline double problem_cap_bytes_per_s(const problem *p, size_t from, size_t to)
{
    return from == to ? INFINITY : p->cap_bytes_per_s[problem_site_pair(p, from, to)];
}

static inline void problem_set_latency_s(problem *p, size_t from, size_t to, double latency_s)
{
    p->latency_s[problem_site_pair(p, from, to)] = latency_s;
}

static inline void problem_set_cap_bytes_per_s(problem *p, size_t from, size_t to, double cap)
{
    p->cap_bytes_per_s[problem_site_pair(p, from, to)] = cap;
}

EDGEPS_API_END

#endif
