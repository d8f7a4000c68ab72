#include "proto/global.h"

edgeps_err global_make(int64_t chunk_count, global *out)
{
    global g = {0};
    edgeps_err err = versions_make(chunk_count, &g.have);
    if (!err)
        err = family_make(chunk_count, &g.family);
    if (err) {
        versions_free(&g.have);
        return err;
    }
    *out = g;
    return EDGEPS_OK;
}

void global_free(global *g)
{
    versions_free(&g->have);
    family_free(&g->family);
}

void global_restore(global *g, const int64_t *chunk_versions)
{
    versions_set(&g->have, chunk_versions);
}

void global_freeze(global *g) { g->frozen = true; }

edgeps_err global_plan(global *g, uint64_t generation, const int32_t *locals, size_t count,
                       proto_effects *effects)
{
    if (generation <= g->family.generation)
        return EDGEPS_OK;
    g->active = count > 0;
    g->frozen = false;
    return family_plan(&g->family, generation, locals, count, &g->have, effects);
}

static edgeps_err summed(global *g, const proto_event *event, proto_effects *effects)
{
    if (g->frozen)
        return EDGEPS_OK;
    const family_sum *sum = family_summed(&g->family, event, &g->have);
    if (!sum)
        return EDGEPS_OK;
    edgeps_err err = proto_effects_add(effects, (proto_effect){.kind = PROTO_APPLY,
                                                               .round = event->round,
                                                               .chunk = event->chunk,
                                                               .weight = sum->weight});
    versions_raise(&g->have, event->chunk, event->round);
    if (!err)
        err = family_send_down(&g->family, event->chunk, event->round, effects);
    if (!err && versions_agree(&g->have))
        err = proto_effects_add(effects,
                                (proto_effect){.kind = PROTO_ROUND_DONE, .round = event->round});
    return err;
}

edgeps_err global_step(global *g, const proto_event *event, proto_effects *effects)
{
    switch (event->kind) {
    case PROTO_ATTACH:
        return family_attach(&g->family, event, &g->have, effects);
    case PROTO_CHILD_LOST:
        family_lost(&g->family, event->node);
        return EDGEPS_OK;
    case PROTO_PUSHED:
        return family_pushed(&g->family, event, &g->have, effects);
    case PROTO_SUMMED:
        return summed(g, event, effects);
    default:
        return EDGEPS_OK;
    }
}
