/* The plan as a value: which node is the global server and who is each worker's local server. The
 * local servers are exactly the nodes that some worker names as its parent, so the roles cannot
 * contradict each other.
 */
#ifndef EDGEPS_PLAN_PLAN_H
#define EDGEPS_PLAN_PLAN_H

#include "base/api.h"
#include "base/err.h"
#include "problem/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

EDGEPS_API_BEGIN

#define PLAN_NONE (-1)

typedef struct plan {
    uint64_t generation; /* grows with every change that is put to work */
    size_t count;        /* nodes */
    int32_t global;      /* node of the global server, or PLAN_NONE */
    int32_t *parent;     /* per node: its worker's local server, PLAN_NONE without a worker */
} plan;

/* A plan of `count` nodes without any role; plan_free releases it. */
edgeps_err plan_make(size_t count, plan *out);
edgeps_err plan_copy(const plan *from, plan *out);
void plan_free(plan *pl);

/* Same roles and parents; the generation does not count. */
bool plan_equal(const plan *a, const plan *b);

/* Workers of each node's local server into children[0..count): 0 where the node is no local. */
void plan_children(const plan *pl, int32_t *children);

bool plan_is_local(const plan *pl, size_t node);

/* Whether the node works or serves in the plan. */
bool plan_has_role(const plan *pl, size_t node);
size_t plan_local_count(const plan *pl);

/* Bytes of server state that the plan puts on `node`: local and global need together. */
int64_t plan_need_bytes(const plan *pl, const job *j, size_t node);

/* EDGEPS_OK when the plan keeps every constraint of the problem; otherwise EDGEPS_INFEASIBLE and
 * the first broken constraint with its node: a worker without local server, a role on a node that
 * may not carry it, too many local servers, too little free storage, no path. */
edgeps_err plan_check(const plan *pl, const problem *p, edgeps_diag *diag);

EDGEPS_API_END

#endif
