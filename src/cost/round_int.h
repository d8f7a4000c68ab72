/* One round of a plan as events, for the evaluator alone: the round time, and on request when each
 * chunk started and arrived, from which the critical path is read back.
 *
 * A sharded plan is one tree per shard, all in one round; a node that works for several shards is a
 * member of several trees. Connections are numbered by stage: worker -> local, local -> global,
 * global -> local, local -> worker. Workers are numbered local by local, locals shard by shard and
 * by node within it.
 */
#ifndef EDGEPS_COST_ROUND_INT_H
#define EDGEPS_COST_ROUND_INT_H

#include "base/err.h"
#include "plan/plan.h"
#include "problem/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who is connected with whom. tree_free releases it. */
typedef struct tree {
    size_t shards;
    size_t workers; /* of all shards together; so are the locals */
    size_t locals;
    size_t chunks;          /* of the largest shard */
    job *shard_job;         /* (shards) */
    uint32_t *global_node;  /* (shards) */
    uint32_t *shard_first;  /* (shards + 1) first local server of each shard */
    uint32_t *worker_node;  /* (workers) */
    uint32_t *local_node;   /* (locals) */
    uint32_t *local_shard;  /* (locals) */
    uint32_t *worker_local; /* (workers) number of the local server */
    uint32_t *local_first;  /* (locals + 1) first worker of each local server */
} tree;

/* Of `shards` plans of the same nodes, each for its part of `j`. */
edgeps_err tree_make(const job *j, const plan *plans, size_t shards, tree *out);
void tree_free(tree *t);

typedef enum tree_stage {
    TREE_PUSH_LOCAL,
    TREE_PUSH_GLOBAL,
    TREE_PULL_LOCAL,
    TREE_PULL_WORKER
} tree_stage;

/* A connection's number from its stage and the number of its worker or local server. */
static inline size_t tree_connection(const tree *t, tree_stage stage, size_t member)
{
    switch (stage) {
    case TREE_PUSH_LOCAL:
        return member;
    case TREE_PUSH_GLOBAL:
        return t->workers + member;
    case TREE_PULL_LOCAL:
        return t->workers + t->locals + member;
    case TREE_PULL_WORKER:
        break;
    }
    return t->workers + 2 * t->locals + member;
}

static inline size_t tree_connection_count(const tree *t) { return 2 * (t->workers + t->locals); }

/* The shard whose chunks a connection or a server carries. */
static inline size_t tree_connection_shard(const tree *t, tree_stage stage, size_t member)
{
    bool edge = stage == TREE_PUSH_LOCAL || stage == TREE_PULL_WORKER;
    return t->local_shard[edge ? t->worker_local[member] : member];
}

/* Servers are numbered too: the local ones, then the global ones shard by shard. */
static inline size_t tree_server_count(const tree *t) { return t->locals + t->shards; }

static inline size_t tree_server_shard(const tree *t, size_t server)
{
    return server < t->locals ? t->local_shard[server] : server - t->locals;
}

static inline uint32_t tree_server_node(const tree *t, size_t server)
{
    return server < t->locals ? t->local_node[server] : t->global_node[server - t->locals];
}

/* The children of a server are the connections *first..*last - 1. */
static inline void tree_children(const tree *t, size_t server, size_t *first, size_t *last)
{
    bool local = server < t->locals;
    const uint32_t *member = local ? &t->local_first[server] : &t->shard_first[server - t->locals];
    tree_stage stage = local ? TREE_PUSH_LOCAL : TREE_PUSH_GLOBAL;
    *first = tree_connection(t, stage, member[0]);
    *last = tree_connection(t, stage, member[1]);
}

/* The two nodes of a connection and the member that it serves. */
void tree_ends(const tree *t, size_t connection, tree_stage *stage, size_t *member, uint32_t *from,
               uint32_t *to);

/* Times in seconds. Where a shard has fewer chunks than the largest one the rest is 0.
 * round_trace_free releases it. */
typedef struct round_trace {
    size_t chunks;
    double *start_s;     /* (connections, chunks) first byte leaves */
    double *arrive_s;    /* (connections, chunks) */
    double *sum_start_s; /* (servers, chunks) */
    double *sum_end_s;   /* (servers, chunks) */
    bool *up_limited;    /* (nodes) has held down the rate of a flow */
    bool *down_limited;  /* (nodes) */
    size_t last_worker;  /* the one that ended the round */
} round_trace;

edgeps_err round_trace_make(const problem *p, const tree *t, round_trace *out);
void round_trace_free(round_trace *trace);

/* Plays the round; `trace` may be NULL. INFINITY when something never arrives: the trace is then
 * incomplete. *settled (may be NULL): how often the rate of a flow was worked out. */
edgeps_err round_play(const problem *p, const tree *t, round_trace *trace, double *round_s,
                      uint64_t *settled);

#endif
