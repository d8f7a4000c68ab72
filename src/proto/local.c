#include "proto/local.h"

edgeps_err local_make(int64_t chunk_count, local *out)
{
    local l = {.parent = PROTO_NO_NODE};
    edgeps_err err = versions_make(chunk_count, &l.have);
    if (!err)
        err = family_make(chunk_count, &l.family);
    l.family.waits = 1;
    if (err) {
        versions_free(&l.have);
        return err;
    }
    *out = l;
    return EDGEPS_OK;
}

void local_free(local *l)
{
    versions_free(&l->have);
    family_free(&l->family);
}

void local_restore(local *l, const int64_t *chunk_versions)
{
    if (chunk_versions)
        versions_set(&l->have, chunk_versions);
    else
        versions_fill(&l->have, PROTO_NOTHING);
}

static edgeps_err connect(local *l, proto_effects *effects)
{
    l->news = false;
    return proto_effects_add(effects, (proto_effect){.kind = PROTO_CONNECT,
                                                     .node = l->parent,
                                                     .generation = l->family.generation});
}

edgeps_err local_plan(local *l, const local_part *part, proto_effects *effects)
{
    if (part->generation <= l->family.generation)
        return EDGEPS_OK;
    edgeps_err err = EDGEPS_OK;
    if (l->parent != PROTO_NO_NODE)
        err = proto_effects_add(effects, (proto_effect){.kind = PROTO_DISCONNECT});
    l->attached = false;
    l->parent = part->count ? part->global : PROTO_NO_NODE;
    if (!part->count)
        versions_fill(&l->have, PROTO_NOTHING);
    if (!err)
        err = family_plan(&l->family, part->generation, part->children, part->count, &l->have,
                          effects);
    if (!err && part->count)
        err = connect(l, effects);
    return err;
}

static edgeps_err send_up(const local *l, int64_t chunk, bool again, proto_effects *effects)
{
    const family_sum *sum = &l->family.sums[chunk];
    return proto_effects_add(effects,
                             (proto_effect){.kind = sum->taken ? PROTO_SEND_UP : PROTO_PASS,
                                            .generation = l->family.generation,
                                            .round = sum->round,
                                            .chunk = chunk,
                                            .weight = sum->weight,
                                            .again = again || sum->again});
}

static edgeps_err tell_news(local *l, proto_effects *effects)
{
    if (!l->news || !l->attached)
        return EDGEPS_OK;
    l->news = false;
    return proto_effects_add(
        effects, (proto_effect){.kind = PROTO_HAVE, .generation = l->family.generation});
}

/* Every sum that is complete but not applied goes up (again). */
static edgeps_err attached(local *l, const proto_event *event, proto_effects *effects)
{
    if (event->generation != l->family.generation || l->attached)
        return EDGEPS_OK;
    l->attached = true;
    edgeps_err err = tell_news(l, effects);
    for (int64_t c = 0; !err && c < l->have.count; c++)
        if (l->family.sums[c].added && l->family.sums[c].round > l->have.of[c])
            err = send_up(l, c, true, effects);
    return err;
}

static edgeps_err pulled(local *l, const proto_event *event, proto_effects *effects)
{
    proto_effect drop = {.kind = PROTO_DROP, .chunk = event->chunk, .round = event->round};
    if (event->generation != l->family.generation)
        drop.why = PROTO_OLD_GENERATION;
    else if (!l->attached)
        drop.why = PROTO_NOT_ATTACHED;
    else if (event->chunk < 0 || event->chunk >= l->have.count)
        drop.why = PROTO_BAD_CHUNK;
    else if (event->round <= l->have.of[event->chunk])
        drop.why = PROTO_REPEATED;
    else
        return family_arrived(&l->family, event->chunk, event->round, &l->have, effects);
    return proto_effects_add(effects, drop);
}

/* A worker had a newer chunk: the parent may lack it too. */
static edgeps_err given(local *l, const proto_event *event, proto_effects *effects)
{
    bool newer;
    edgeps_err err = family_given(&l->family, event, &l->have, &newer, effects);
    if (err || !newer)
        return err;
    l->news = true;
    return family_arrived(&l->family, event->chunk, event->round, &l->have, effects);
}

static edgeps_err asked(const local *l, const proto_event *event, proto_effects *effects)
{
    bool can = event->generation == l->family.generation && l->attached && event->chunk >= 0 &&
               event->chunk < l->have.count && l->have.of[event->chunk] != PROTO_NOTHING;
    if (!can)
        return EDGEPS_OK;
    return proto_effects_add(effects, (proto_effect){.kind = PROTO_GIVE,
                                                     .generation = event->generation,
                                                     .round = l->have.of[event->chunk],
                                                     .chunk = event->chunk});
}

static edgeps_err step(local *l, const proto_event *event, proto_effects *effects)
{
    switch (event->kind) {
    case PROTO_ATTACH:
        return family_attach(&l->family, event, &l->have, effects);
    case PROTO_ATTACHED:
        return attached(l, event, effects);
    case PROTO_CHILD_LOST:
        return family_lost(&l->family, event->node, &l->have, effects);
    case PROTO_HAS:
        return family_has(&l->family, event, &l->have, effects);
    case PROTO_GIVEN:
        return given(l, event, effects);
    case PROTO_ASKED:
        return asked(l, event, effects);
    case PROTO_PARENT_LOST:
        l->attached = false;
        return l->parent == PROTO_NO_NODE ? EDGEPS_OK : connect(l, effects);
    case PROTO_PUSHED:
    case PROTO_PASSED:
        return family_pushed(&l->family, event, &l->have, effects);
    case PROTO_PULLED:
        return pulled(l, event, effects);
    case PROTO_SUMMED:
        if (family_summed(&l->family, event, &l->have) && l->attached)
            return send_up(l, event->chunk, false, effects);
        return EDGEPS_OK;
    case PROTO_LATE:
        return family_late(&l->family, event, &l->have, effects);
    default:
        return EDGEPS_OK;
    }
}

edgeps_err local_step(local *l, const proto_event *event, proto_effects *effects)
{
    bool whole = l->family.whole;
    l->family.now_ns = event->now_ns;
    edgeps_err err = step(l, event, effects);
    l->news |= l->family.whole && !whole;
    return err ? err : tell_news(l, effects);
}
