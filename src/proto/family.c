#include "proto/family.h"

#include "base/mem.h"

#include <string.h>

edgeps_err family_make(int64_t chunk_count, family *out)
{
    family f = {.chunk_count = chunk_count};
    f.sums = mem_alloc((size_t)chunk_count, sizeof *f.sums);
    f.asks = mem_alloc((size_t)chunk_count, sizeof *f.asks);
    if (!f.sums || !f.asks) {
        family_free(&f);
        return EDGEPS_NOMEM;
    }
    *out = f;
    return EDGEPS_OK;
}

static void free_children(family *f)
{
    mem_free(f->child);
    mem_free(f->attached);
    mem_free(f->told);
    mem_free(f->got);
    mem_free(f->holds);
    f->child = NULL;
    f->attached = f->told = NULL;
    f->got = f->holds = NULL;
    f->child_count = 0;
}

void family_free(family *f)
{
    free_children(f);
    for (size_t g = 0; g < f->guest_count; g++)
        mem_free(f->guests[g].have);
    mem_free(f->sums);
    mem_free(f->asks);
    mem_free(f->guests);
    *f = (family){0};
}

int64_t family_index(const family *f, int32_t node)
{
    for (size_t k = 0; k < f->child_count; k++)
        if (f->child[k] == node)
            return (int64_t)k;
    return -1;
}

static int64_t *holds(const family *f, size_t k) { return f->holds + (int64_t)k * f->chunk_count; }

static edgeps_err answer(proto_effects *effects, proto_effect_kind kind, proto_why why,
                         const proto_event *event)
{
    return proto_effects_add(effects, (proto_effect){.kind = kind,
                                                     .why = why,
                                                     .node = event->node,
                                                     .generation = event->generation,
                                                     .round = event->round,
                                                     .chunk = event->chunk});
}

static edgeps_err send_to(family *f, size_t k, int64_t chunk, int64_t version,
                          proto_effects *effects)
{
    if (holds(f, k)[chunk] >= version)
        return EDGEPS_OK;
    holds(f, k)[chunk] = version;
    return proto_effects_add(effects, (proto_effect){.kind = PROTO_SEND_DOWN,
                                                     .node = f->child[k],
                                                     .generation = f->generation,
                                                     .round = version,
                                                     .chunk = chunk});
}

/* Asks the child that holds the newest version of a chunk, if that is newer than what is here or
 * asked for. What is not here at all comes from the parent first: children need not send what is
 * on its way. */
static edgeps_err seek(family *f, int64_t chunk, const versions *have, proto_effects *effects)
{
    family_ask *ask = &f->asks[chunk];
    int64_t newest = have->of[chunk] > ask->version ? have->of[chunk] : ask->version;
    int64_t best = -1;
    for (size_t k = 0; k < f->child_count && have->of[chunk] != PROTO_NOTHING; k++)
        if (f->attached[k] && holds(f, k)[chunk] > newest) {
            newest = holds(f, k)[chunk];
            best = (int64_t)k;
        }
    if (best < 0)
        return EDGEPS_OK;
    *ask = (family_ask){.version = newest, .child = (size_t)best};
    return proto_effects_add(effects, (proto_effect){.kind = PROTO_ASK,
                                                     .node = f->child[best],
                                                     .generation = f->generation,
                                                     .round = newest,
                                                     .chunk = chunk});
}

/* Nothing that a child was asked for on its former edge will come. */
static void drop_asks(family *f, size_t k)
{
    for (int64_t c = 0; c < f->chunk_count; c++)
        if (f->asks[c].child == k)
            f->asks[c].version = PROTO_NOTHING;
}

/* A child tells its versions: each side gets from the other what is newer there. */
static edgeps_err compare(family *f, size_t k, const int64_t *child_has, const versions *have,
                          proto_effects *effects)
{
    memcpy(holds(f, k), child_has, (size_t)f->chunk_count * sizeof *child_has);
    edgeps_err err = EDGEPS_OK;
    for (int64_t c = 0; !err && c < f->chunk_count; c++) {
        err = send_to(f, k, c, have->of[c], effects);
        if (!err)
            err = seek(f, c, have, effects);
    }
    return err;
}

static bool knows_more(const family *f, size_t k, const versions *have)
{
    for (int64_t c = 0; c < f->chunk_count; c++)
        if (holds(f, k)[c] > have->of[c])
            return true;
    return false;
}

/* Only where sums may close early does it matter whether all children have told. */
static edgeps_err look_for_whole(family *f, const versions *have, proto_effects *effects)
{
    bool all = f->patience.quorum > 0 && !f->whole;
    for (size_t k = 0; all && k < f->child_count; k++)
        all = f->attached[k] && f->told[k] && !knows_more(f, k, have);
    if (!all)
        return EDGEPS_OK;
    f->whole = true;
    return family_close_late(f, have, effects);
}

static edgeps_err keep_waiting(family *f, const proto_event *event)
{
    size_t g = 0, bytes = (size_t)f->chunk_count * sizeof *event->have;
    while (g < f->guest_count && f->guests[g].node != event->node)
        g++;
    if (g == f->guest_count) {
        int64_t *have = mem_alloc(bytes, 1);
        family_guest *guests = have ? mem_resize(f->guests, g + 1, sizeof *guests) : NULL;
        if (!guests) {
            mem_free(have);
            return EDGEPS_NOMEM;
        }
        f->guests = guests;
        f->guests[f->guest_count++] = (family_guest){.node = event->node, .have = have};
    }
    f->guests[g].generation = event->generation;
    f->guests[g].whole = event->whole;
    memcpy(f->guests[g].have, event->have, bytes);
    return EDGEPS_OK;
}

edgeps_err family_attach(family *f, const proto_event *event, const versions *have,
                         proto_effects *effects)
{
    if (event->generation > f->generation)
        return keep_waiting(f, event);
    if (event->generation < f->generation)
        return answer(effects, PROTO_REFUSE, PROTO_OLD_GENERATION, event);
    int64_t k = family_index(f, event->node);
    if (k < 0)
        return answer(effects, PROTO_REFUSE, PROTO_NOT_A_CHILD, event);
    f->attached[k] = true;
    f->told[k] |= event->whole;
    if (f->opened_ns == 0)
        f->opened_ns = f->now_ns;
    drop_asks(f, (size_t)k);
    edgeps_err err = proto_effects_add(
        effects,
        (proto_effect){.kind = PROTO_ACCEPT, .node = f->child[k], .generation = f->generation});
    if (!err)
        err = compare(f, (size_t)k, event->have, have, effects);
    return err ? err : look_for_whole(f, have, effects);
}

edgeps_err family_has(family *f, const proto_event *event, const versions *have,
                      proto_effects *effects)
{
    int64_t k = family_index(f, event->node);
    if (event->generation != f->generation || k < 0 || !f->attached[k])
        return EDGEPS_OK;
    f->told[k] |= event->whole;
    edgeps_err err = compare(f, (size_t)k, event->have, have, effects);
    return err ? err : look_for_whole(f, have, effects);
}

static edgeps_err let_guests_in(family *f, const versions *have, proto_effects *effects)
{
    edgeps_err err = EDGEPS_OK;
    size_t left = 0;
    for (size_t g = 0; g < f->guest_count; g++) {
        family_guest guest = f->guests[g];
        if (err || guest.generation > f->generation) {
            f->guests[left++] = guest;
            continue;
        }
        proto_event event = {.kind = PROTO_ATTACH,
                             .node = guest.node,
                             .generation = guest.generation,
                             .have = guest.have,
                             .whole = guest.whole};
        err = family_attach(f, &event, have, effects);
        mem_free(guest.have);
    }
    f->guest_count = left;
    return err;
}

edgeps_err family_plan(family *f, uint64_t generation, const int32_t *children, size_t count,
                       const versions *have, proto_effects *effects)
{
    family next = *f;
    size_t cells = count * (size_t)f->chunk_count;
    next.child = mem_alloc(count, sizeof *next.child);
    next.attached = mem_alloc(count, sizeof *next.attached);
    next.told = mem_alloc(count, sizeof *next.told);
    next.got = mem_alloc(cells, sizeof *next.got);
    next.holds = mem_alloc(cells, sizeof *next.holds);
    if (!next.child || !next.attached || !next.told || !next.got || !next.holds) {
        free_children(&next);
        return EDGEPS_NOMEM;
    }
    free_children(f);
    if (count)
        memcpy(next.child, children, count * sizeof *children);
    next.child_count = count;
    next.generation = generation;
    next.whole = false;
    next.wave = (family_wave){.round = 0};
    next.begun = 0;
    next.opened_ns = 0;
    *f = next;
    memset(f->sums, 0, (size_t)f->chunk_count * sizeof *f->sums);
    for (int64_t c = 0; c < f->chunk_count; c++)
        f->asks[c].version = PROTO_NOTHING;
    return let_guests_in(f, have, effects);
}

edgeps_err family_lost(family *f, int32_t node, const versions *have, proto_effects *effects)
{
    for (size_t g = 0; g < f->guest_count; g++)
        if (f->guests[g].node == node) {
            mem_free(f->guests[g].have);
            f->guests[g] = f->guests[--f->guest_count];
        }
    int64_t k = family_index(f, node);
    if (k < 0)
        return EDGEPS_OK;
    f->attached[k] = false;
    drop_asks(f, (size_t)k);
    edgeps_err err = EDGEPS_OK;
    for (int64_t c = 0; !err && c < f->chunk_count; c++)
        err = seek(f, c, have, effects);
    return err;
}

edgeps_err family_given(family *f, const proto_event *event, const versions *have, bool *newer,
                        proto_effects *effects)
{
    int64_t k = family_index(f, event->node);
    proto_why why = PROTO_REPEATED;
    *newer = false;
    if (event->generation != f->generation)
        why = PROTO_OLD_GENERATION;
    else if (k < 0)
        why = PROTO_NOT_A_CHILD;
    else if (!f->attached[k])
        why = PROTO_NOT_ATTACHED;
    else if (event->chunk < 0 || event->chunk >= f->chunk_count)
        why = PROTO_BAD_CHUNK;
    else
        *newer = event->round > have->of[event->chunk];
    if (!*newer)
        return answer(effects, PROTO_DROP, why, event);
    if (holds(f, (size_t)k)[event->chunk] < event->round)
        holds(f, (size_t)k)[event->chunk] = event->round;
    return EDGEPS_OK;
}

edgeps_err family_ask_again(family *f, const versions *have, proto_effects *effects)
{
    edgeps_err err = EDGEPS_OK;
    for (int64_t c = 0; !err && c < f->chunk_count; c++) {
        f->asks[c].version = PROTO_NOTHING;
        err = seek(f, c, have, effects);
    }
    return err;
}

edgeps_err family_arrived(family *f, int64_t chunk, int64_t version, versions *have,
                          proto_effects *effects)
{
    edgeps_err err = proto_effects_add(effects, (proto_effect){.kind = PROTO_STORE,
                                                               .round = version,
                                                               .chunk = chunk,
                                                               .before = have->of[chunk]});
    versions_raise(have, chunk, version);
    family_raised(f, have);
    if (!err)
        err = family_send_down(f, chunk, version, effects);
    if (!err)
        err = seek(f, chunk, have, effects);
    return err ? err : look_for_whole(f, have, effects);
}

edgeps_err family_send_down(family *f, int64_t chunk, int64_t version, proto_effects *effects)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t k = 0; !err && k < f->child_count; k++)
        if (f->attached[k])
            err = send_to(f, k, chunk, version, effects);
    return err;
}
