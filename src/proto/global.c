#include "proto/global.h"

edgeps_err global_make(int64_t chunk_count, global *out)
{
    global g = {0};
    edgeps_err err = versions_make(chunk_count, &g.have);
    if (!err)
        err = family_make(chunk_count, &g.family);
    g.family.waits = 2; /* what a local server sends after its time-out still arrives in time */
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
    if (chunk_versions)
        versions_set(&g->have, chunk_versions);
    else
        versions_fill(&g->have, PROTO_NOTHING);
}

void global_freeze(global *g) { g->frozen = true; }

static edgeps_err tell_round(const global *g, proto_effects *effects)
{
    if (!versions_agree(&g->have))
        return EDGEPS_OK;
    return proto_effects_add(effects,
                             (proto_effect){.kind = PROTO_ROUND_DONE, .round = g->have.top});
}

edgeps_err global_plan(global *g, uint64_t generation, const int32_t *locals, size_t count,
                       proto_effects *effects)
{
    if (generation <= g->family.generation)
        return EDGEPS_OK;
    g->active = count > 0;
    g->frozen = false;
    edgeps_err err = family_plan(&g->family, generation, locals, count, &g->have, effects);
    return err || !g->active ? err : tell_round(g, effects);
}

static edgeps_err apply(global *g, int64_t chunk, proto_effects *effects)
{
    const family_sum *sum = &g->family.sums[chunk];
    int64_t round = sum->round;
    edgeps_err err = proto_effects_add(
        effects,
        (proto_effect){.kind = PROTO_APPLY, .round = round, .chunk = chunk, .weight = sum->weight});
    versions_raise(&g->have, chunk, round);
    family_raised(&g->family, &g->have);
    if (!err)
        err = family_send_down(&g->family, chunk, round, effects);
    return err ? err : tell_round(g, effects);
}

static edgeps_err summed(global *g, const proto_event *event, proto_effects *effects)
{
    bool counts = family_summed(&g->family, event, &g->have);
    return counts && !g->frozen ? apply(g, event->chunk, effects) : EDGEPS_OK;
}

edgeps_err global_thaw(global *g, proto_effects *effects)
{
    edgeps_err err = EDGEPS_OK;
    if (!g->frozen)
        return err;
    g->frozen = false;
    for (int64_t c = 0; !err && c < g->have.count; c++)
        if (g->family.sums[c].added && g->family.sums[c].round > g->have.of[c])
            err = apply(g, c, effects);
    return err ? err : family_ask_again(&g->family, &g->have, effects);
}

/* A child had a newer chunk. A frozen server leaves it to the new owner. */
static edgeps_err given(global *g, const proto_event *event, proto_effects *effects)
{
    bool newer;
    if (g->frozen)
        return EDGEPS_OK;
    edgeps_err err = family_given(&g->family, event, &g->have, &newer, effects);
    if (err || !newer)
        return err;
    err = family_arrived(&g->family, event->chunk, event->round, &g->have, effects);
    return err ? err : tell_round(g, effects);
}

edgeps_err global_step(global *g, const proto_event *event, proto_effects *effects)
{
    g->family.now_ns = event->now_ns;
    switch (event->kind) {
    case PROTO_ATTACH:
        return family_attach(&g->family, event, &g->have, effects);
    case PROTO_CHILD_LOST:
        return family_lost(&g->family, event->node, &g->have, effects);
    case PROTO_HAS:
        return family_has(&g->family, event, &g->have, effects);
    case PROTO_GIVEN:
        return given(g, event, effects);
    case PROTO_PUSHED:
    case PROTO_PASSED:
        return family_pushed(&g->family, event, &g->have, effects);
    case PROTO_SUMMED:
        return summed(g, event, effects);
    case PROTO_LATE:
        return family_late(&g->family, event, &g->have, effects);
    default:
        return EDGEPS_OK;
    }
}
