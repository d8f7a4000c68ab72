#include "plan/plan_set.h"

#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

edgeps_err plan_set_make(size_t shards, size_t nodes, plan_set *out)
{
    plan_set set = {.shards = mem_alloc(shards, sizeof *set.shards)};
    edgeps_err err = set.shards ? EDGEPS_OK : EDGEPS_NOMEM;
    while (!err && set.count < shards) {
        err = plan_make(nodes, &set.shards[set.count]);
        set.count += !err;
    }
    if (err)
        plan_set_free(&set);
    else
        *out = set;
    return err;
}

void plan_set_free(plan_set *set)
{
    for (size_t s = 0; s < set->count; s++)
        plan_free(&set->shards[s]);
    mem_free(set->shards);
    *set = (plan_set){0};
}

void plan_set_assign(plan_set *to, const plan_set *from)
{
    for (size_t s = 0; s < to->count; s++) {
        const plan *pl = &from->shards[s];
        to->shards[s].global = pl->global;
        memcpy(to->shards[s].parent, pl->parent, pl->count * sizeof *pl->parent);
    }
}

bool plan_set_equal(const plan_set *a, const plan_set *b)
{
    if (a->count != b->count)
        return false;
    for (size_t s = 0; s < a->count; s++)
        if (!plan_equal(&a->shards[s], &b->shards[s]))
            return false;
    return true;
}

int64_t plan_set_need_bytes(const plan_set *set, const job *j, size_t node)
{
    int64_t need = 0;
    for (size_t s = 0; s < set->count; s++) {
        job shard = job_shard(j, (int64_t)s, (int64_t)set->count);
        need += plan_need_bytes(&set->shards[s], &shard, node);
    }
    return need;
}

static edgeps_err check_storage(const plan_set *set, const problem *p, edgeps_diag *diag)
{
    for (size_t j = 0; j < p->count; j++) {
        int64_t need = plan_set_need_bytes(set, &p->job, j);
        if (need > p->nodes[j].free_bytes)
            return diag_fail(diag, EDGEPS_INFEASIBLE,
                             "storage of %s: its servers of all shards need %" PRId64
                             " bytes, free are %" PRId64,
                             p->nodes[j].name, need, p->nodes[j].free_bytes);
    }
    return EDGEPS_OK;
}

edgeps_err plan_set_check(const plan_set *set, const problem *p, edgeps_diag *diag)
{
    int64_t most = job_most_shards(&p->job);
    if (set->count == 0 || (int64_t)set->count > most)
        return diag_fail(diag, EDGEPS_INFEASIBLE,
                         "%zu shards, this job can be cut into 1 to %" PRId64, set->count, most);
    for (size_t s = 0; s < set->count; s++) {
        problem part = problem_shard(p, s, set->count);
        edgeps_err err = plan_check(&set->shards[s], &part, diag);
        if (err && set->count > 1)
            return diag_wrap(diag, err, "shard %zu", s + 1);
        if (err)
            return err;
    }
    return check_storage(set, p, diag);
}
