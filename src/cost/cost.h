/* Time of a plan: the one place that knows the formula. Planner, simulator, reports and dashboard
 * all ask here.
 *
 * Model (docs/model.md): every worker i computes for compute_i seconds, then sends its gradient in
 * chunks, in order, to its local server. When all children of a server have delivered chunk c, the
 * server adds them (children x payload / sum_rate, one chunk at a time, in order of completion) and
 * passes the sum on: a local server to the global server, the global server the updated chunk back
 * to every local server, which relays it to its workers at once. Each edge of the tree is one
 * connection per direction and carries its chunks first-in first-out; flows on the network share up
 * and down links and pair caps max-min fairly (cost/fluid.h); a chunk arrives a latency after its
 * last byte left. Roles on one node reach each other at no cost. The round ends when the last
 * worker has the last chunk. With one chunk this is store-and-forward, the thesis' setting.
 */
#ifndef EDGEPS_COST_COST_H
#define EDGEPS_COST_COST_H

#include "base/api.h"
#include "base/err.h"
#include "plan/plan.h"
#include "plan/plan_set.h"
#include "problem/problem.h"

EDGEPS_API_BEGIN

/* Where the time of the last worker's last chunk went: seconds along the critical path of the
 * round, in order; they add up to round_s. */
typedef enum cost_phase {
    COST_COMPUTE,
    COST_PUSH_LOCAL, /* worker -> local server */
    COST_SUM_LOCAL,
    COST_PUSH_GLOBAL, /* local server -> global server */
    COST_SUM_GLOBAL,
    COST_PULL_LOCAL,  /* global server -> local server */
    COST_PULL_WORKER, /* local server -> worker */
    COST_PHASES
} cost_phase;

typedef enum cost_resource {
    COST_UP,      /* node's up link */
    COST_DOWN,    /* node's down link */
    COST_PAIR,    /* pair cap node -> other */
    COST_LATENCY, /* latency node -> other */
    COST_WORK,    /* gradient computation of node */
    COST_SUMMING, /* additions of a server on node */
} cost_resource;

/* The resource whose removal shortens the round most, and by how much. */
typedef struct cost_bottleneck {
    cost_resource resource;
    int32_t node;
    int32_t other; /* second node of a pair or latency, else PLAN_NONE */
    double gain_s; /* round time saved if it were infinitely fast */
} cost_bottleneck;

typedef struct cost_result {
    double round_s;
    double epoch_s; /* rounds x round_s */
    double phase_s[COST_PHASES];
    cost_bottleneck bottleneck;
} cost_result;

/* "compute", "push to local", ...: as reports print it. */
const char *cost_phase_name(cost_phase phase);

/* One line such as "down link of lyon (without it the round takes 0.8 s less)". */
void cost_bottleneck_text(const cost_bottleneck *b, const problem *p, char *text, size_t size);

/* Round time of a plan that plan_check accepts, in seconds; INFINITY when a path it uses has rate
 * 0. Exact for the model above. O(events x flows). EDGEPS_NOMEM is the only failure. */
edgeps_err cost_round_s(const problem *p, const plan *pl, double *round_s);

/* The same with phases and bottleneck (re-evaluates the round a few times). */
edgeps_err cost_evaluate(const problem *p, const plan *pl, cost_result *out);

/* The same for a sharded plan: the trees of all shards in one round, on the same links. A worker
 * computes once and then pushes to its servers of all shards at the same time; the round ends when
 * the last worker has the last chunk of the last shard. A set of one plan is that plan. */
edgeps_err cost_set_round_s(const problem *p, const plan_set *set, double *round_s);
edgeps_err cost_set_evaluate(const problem *p, const plan_set *set, cost_result *out);

/* A proved lower bound of cost_round_s for this plan, in O(nodes) time and without allocation
 * beyond `scratch` (COST_SCRATCH x count doubles): busiest links, longest paths. For pruning and as
 * a fast surrogate. */
#define COST_SCRATCH 5
double cost_bound_s(const problem *p, const plan *pl, double *scratch);

/* A proved lower bound of cost_set_round_s: the bound of each shard's plan alone, and what each
 * node's links must carry for all of them. `scratch`: COST_SET_SCRATCH x count doubles. */
#define COST_SET_SCRATCH 11
double cost_set_bound_s(const problem *p, const plan_set *set, double *scratch);

EDGEPS_API_END

#endif
