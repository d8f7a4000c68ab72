#include "sim/whim.h"

static int32_t any_present(rng *r, const bool *absent, size_t count)
{
    size_t i;
    do
        i = (size_t)rng_below(r, count);
    while (absent[i]);
    return (int32_t)i;
}

edgeps_err whim_plan(void *context, const bool *absent, const plan *in_force, plan *out)
{
    whim *w = context;
    size_t n = w->p->count;
    bool worker = false, broken = in_force->generation == 0;
    plan next;
    for (size_t i = 0; i < n; i++) {
        worker |= !absent[i] && w->p->nodes[i].train;
        broken |= absent[i] || (in_force->generation && w->p->nodes[i].train &&
                                in_force->parent[i] == PLAN_NONE);
    }
    if (!worker)
        return EDGEPS_INFEASIBLE;
    if (w->keep && !broken)
        return plan_copy(in_force, out);
    edgeps_err err = plan_make(n, &next);
    if (err)
        return err;
    next.generation = in_force->generation + 1;
    next.global = any_present(&w->random, absent, n);
    const int32_t locals[] = {any_present(&w->random, absent, n),
                              any_present(&w->random, absent, n)};
    for (size_t i = 0; i < n; i++)
        if (w->p->nodes[i].train && !absent[i])
            next.parent[i] = locals[rng_below(&w->random, 2)];
    *out = next;
    return EDGEPS_OK;
}
