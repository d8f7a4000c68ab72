/* One round of a plan as events, for the evaluator alone: the round time, and on request when each
 * chunk started and arrived, from which the critical path is read back.
 *
 * Connections are numbered by stage: worker -> local, local -> global, global -> local,
 * local -> worker. Workers are numbered local by local, locals by node.
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
    size_t workers;
    size_t locals;
    uint32_t global;
    uint32_t *worker_node;  /* (workers) */
    uint32_t *local_node;   /* (locals) */
    uint32_t *worker_local; /* (workers) number of the local server */
    uint32_t *local_first;  /* (locals + 1) first worker of each local server */
} tree;

edgeps_err tree_make(const plan *pl, tree *out);
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

/* The two nodes of a connection and the member that it serves. */
void tree_ends(const tree *t, size_t connection, tree_stage *stage, size_t *member, uint32_t *from,
               uint32_t *to);

/* Times in seconds. Server `locals` is the global one. round_trace_free releases it. */
typedef struct round_trace {
    size_t chunks;
    double *start_s;     /* (connections, chunks) first byte leaves */
    double *arrive_s;    /* (connections, chunks) */
    double *sum_start_s; /* (locals + 1, chunks) */
    double *sum_end_s;   /* (locals + 1, chunks) */
    bool *up_limited;    /* (nodes) has held down the rate of a flow */
    bool *down_limited;  /* (nodes) */
    size_t last_worker;  /* the one that ended the round */
} round_trace;

edgeps_err round_trace_make(const problem *p, const tree *t, round_trace *out);
void round_trace_free(round_trace *trace);

/* Plays the round; `trace` may be NULL. INFINITY when something never arrives: the trace is then
 * incomplete. */
edgeps_err round_play(const problem *p, const tree *t, round_trace *trace, double *round_s);

#endif
