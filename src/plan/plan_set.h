/* A sharded plan as a value: the parameters are cut into contiguous ranges (job_shard), and each
 * shard has a plan of its own on the same nodes, with its global server, local servers and parents.
 * A node may serve in several shards; its storage must hold them all. A set of one shard is an
 * ordinary plan.
 */
#ifndef EDGEPS_PLAN_PLAN_SET_H
#define EDGEPS_PLAN_PLAN_SET_H

#include "base/api.h"
#include "plan/plan.h"

EDGEPS_API_BEGIN

typedef struct plan_set {
    size_t count; /* shards */
    plan *shards; /* (count) of the same number of nodes and the same generation */
} plan_set;

/* `shards` plans of `nodes` nodes without any role; plan_set_free releases them. */
edgeps_err plan_set_make(size_t shards, size_t nodes, plan_set *out);
void plan_set_free(plan_set *set);

/* Takes over the roles and parents, not the generation, of a set of the same size. */
void plan_set_assign(plan_set *to, const plan_set *from);

/* Same roles and parents in every shard. */
bool plan_set_equal(const plan_set *a, const plan_set *b);

/* Bytes of server state that all shards together put on `node`. */
int64_t plan_set_need_bytes(const plan_set *set, const job *j, size_t node);

/* EDGEPS_OK when every shard's plan keeps the constraints of the problem, its limit of local
 * servers among them, and every node holds the servers that all shards put there; otherwise
 * EDGEPS_INFEASIBLE with the first broken constraint, its node, and its shard (from 1). */
edgeps_err plan_set_check(const plan_set *set, const problem *p, edgeps_diag *diag);

EDGEPS_API_END

#endif
