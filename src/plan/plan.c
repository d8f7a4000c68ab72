#include "plan/plan.h"

#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

edgeps_err plan_make(size_t count, plan *out)
{
    plan made = {.count = count, .global = PLAN_NONE};
    made.parent = mem_alloc(count, sizeof *made.parent);
    if (!made.parent)
        return EDGEPS_NOMEM;
    for (size_t i = 0; i < count; i++)
        made.parent[i] = PLAN_NONE;
    *out = made;
    return EDGEPS_OK;
}

edgeps_err plan_copy(const plan *from, plan *out)
{
    plan copy;
    edgeps_err err = plan_make(from->count, &copy);
    if (err)
        return err;
    copy.generation = from->generation;
    copy.global = from->global;
    memcpy(copy.parent, from->parent, from->count * sizeof *copy.parent);
    *out = copy;
    return EDGEPS_OK;
}

void plan_free(plan *pl)
{
    mem_free(pl->parent);
    *pl = (plan){.global = PLAN_NONE};
}

bool plan_equal(const plan *a, const plan *b)
{
    return a->count == b->count && a->global == b->global &&
           memcmp(a->parent, b->parent, a->count * sizeof *a->parent) == 0;
}

void plan_children(const plan *pl, int32_t *children)
{
    memset(children, 0, pl->count * sizeof *children);
    for (size_t i = 0; i < pl->count; i++)
        if (pl->parent[i] != PLAN_NONE)
            children[pl->parent[i]]++;
}

static int64_t child_count(const plan *pl, size_t node)
{
    int64_t children = 0;
    for (size_t i = 0; i < pl->count; i++)
        children += pl->parent[i] == (int32_t)node;
    return children;
}

bool plan_is_local(const plan *pl, size_t node) { return child_count(pl, node) > 0; }

bool plan_has_role(const plan *pl, size_t node)
{
    return pl->parent[node] != PLAN_NONE || pl->global == (int32_t)node || plan_is_local(pl, node);
}

size_t plan_local_count(const plan *pl)
{
    size_t locals = 0;
    for (size_t j = 0; j < pl->count; j++)
        locals += plan_is_local(pl, j);
    return locals;
}

int64_t plan_need_bytes(const plan *pl, const job *j, size_t node)
{
    int64_t children = child_count(pl, node);
    int64_t need = children ? job_local_need_bytes(j, children) : 0;
    if (pl->global == (int32_t)node)
        need += job_global_need_bytes(j, (int64_t)plan_local_count(pl));
    return need;
}

static edgeps_err check_worker(const plan *pl, const problem *p, size_t i, edgeps_diag *diag)
{
    const char *name = p->nodes[i].name;
    int32_t parent = pl->parent[i];
    if (p->nodes[i].train != (parent != PLAN_NONE))
        return diag_fail(diag, EDGEPS_INFEASIBLE, "worker %s: %s", name,
                         parent == PLAN_NONE ? "has no local server" : "the node may not train");
    if (parent == PLAN_NONE)
        return EDGEPS_OK;
    if (parent < 0 || (size_t)parent >= p->count)
        return diag_fail(diag, EDGEPS_INFEASIBLE, "worker %s: parent %d is no node", name, parent);
    if (!p->nodes[parent].serve)
        return diag_fail(diag, EDGEPS_INFEASIBLE, "local server %s: the node may not serve",
                         p->nodes[parent].name);
    if (!problem_connected(p, i, (size_t)parent))
        return diag_fail(diag, EDGEPS_INFEASIBLE, "worker %s: no path to and from its server %s",
                         name, p->nodes[parent].name);
    return EDGEPS_OK;
}

static edgeps_err check_server(const plan *pl, const problem *p, size_t j, edgeps_diag *diag)
{
    int64_t need = plan_need_bytes(pl, &p->job, j);
    if (need == 0)
        return EDGEPS_OK;
    if (need > p->nodes[j].free_bytes)
        return diag_fail(diag, EDGEPS_INFEASIBLE,
                         "storage of %s: its servers need %" PRId64 " bytes, free are %" PRId64,
                         p->nodes[j].name, need, p->nodes[j].free_bytes);
    if (!problem_connected(p, j, (size_t)pl->global))
        return diag_fail(diag, EDGEPS_INFEASIBLE,
                         "local server %s: no path to and from the global server %s",
                         p->nodes[j].name, p->nodes[pl->global].name);
    return EDGEPS_OK;
}

edgeps_err plan_check(const plan *pl, const problem *p, edgeps_diag *diag)
{
    if (pl->count != p->count)
        return diag_fail(diag, EDGEPS_INFEASIBLE, "the plan has %zu nodes, the network %zu",
                         pl->count, p->count);
    if (pl->global < 0 || (size_t)pl->global >= p->count)
        return diag_fail(diag, EDGEPS_INFEASIBLE, "the plan names no global server");
    if (!p->nodes[pl->global].serve)
        return diag_fail(diag, EDGEPS_INFEASIBLE, "global server %s: the node may not serve",
                         p->nodes[pl->global].name);
    for (size_t i = 0; i < p->count; i++) {
        edgeps_err err = check_worker(pl, p, i, diag);
        if (err)
            return err;
    }
    size_t locals = plan_local_count(pl);
    if (locals > p->max_locals)
        return diag_fail(diag, EDGEPS_INFEASIBLE, "%zu local servers, at most %zu are allowed",
                         locals, p->max_locals);
    for (size_t j = 0; j < p->count; j++) {
        edgeps_err err = check_server(pl, p, j, diag);
        if (err)
            return err;
    }
    return EDGEPS_OK;
}
