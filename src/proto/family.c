#include "proto/family.h"

#include "base/mem.h"

#include <string.h>

edgeps_err family_make(int64_t chunk_count, family *out)
{
    family f = {.chunk_count = chunk_count};
    f.sums = mem_alloc((size_t)chunk_count, sizeof *f.sums);
    if (!f.sums)
        return EDGEPS_NOMEM;
    *out = f;
    return EDGEPS_OK;
}

static void free_children(family *f)
{
    mem_free(f->child);
    mem_free(f->attached);
    mem_free(f->got);
    f->child = NULL;
    f->attached = NULL;
    f->got = NULL;
    f->child_count = 0;
}

void family_free(family *f)
{
    free_children(f);
    mem_free(f->sums);
    mem_free(f->guests);
    *f = (family){0};
}

static int64_t index_of(const family *f, int32_t node)
{
    for (size_t k = 0; k < f->child_count; k++)
        if (f->child[k] == node)
            return (int64_t)k;
    return -1;
}

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

/* Lets a child in and sends it what it lacks. */
static edgeps_err admit(family *f, size_t k, int64_t child_version, const versions *have,
                        proto_effects *effects)
{
    f->attached[k] = true;
    edgeps_err err = proto_effects_add(
        effects,
        (proto_effect){.kind = PROTO_ACCEPT, .node = f->child[k], .generation = f->generation});
    for (int64_t c = 0; !err && c < f->chunk_count; c++)
        if (have->of[c] > child_version)
            err = proto_effects_add(effects, (proto_effect){.kind = PROTO_SEND_DOWN,
                                                            .node = f->child[k],
                                                            .generation = f->generation,
                                                            .round = have->of[c],
                                                            .chunk = c});
    return err;
}

static edgeps_err keep_waiting(family *f, const proto_event *event)
{
    for (size_t g = 0; g < f->guest_count; g++)
        if (f->guests[g].node == event->node) {
            f->guests[g].generation = event->generation;
            f->guests[g].version = event->round;
            return EDGEPS_OK;
        }
    family_guest *guests = mem_resize(f->guests, f->guest_count + 1, sizeof *guests);
    if (!guests)
        return EDGEPS_NOMEM;
    guests[f->guest_count++] = (family_guest){event->node, event->generation, event->round};
    f->guests = guests;
    return EDGEPS_OK;
}

edgeps_err family_attach(family *f, const proto_event *event, const versions *have,
                         proto_effects *effects)
{
    if (event->generation > f->generation)
        return keep_waiting(f, event);
    if (event->generation < f->generation)
        return answer(effects, PROTO_REFUSE, PROTO_OLD_GENERATION, event);
    int64_t k = index_of(f, event->node);
    if (k < 0)
        return answer(effects, PROTO_REFUSE, PROTO_NOT_A_CHILD, event);
    return admit(f, (size_t)k, event->round, have, effects);
}

static edgeps_err let_guests_in(family *f, const versions *have, proto_effects *effects)
{
    edgeps_err err = EDGEPS_OK;
    size_t left = 0;
    for (size_t g = 0; !err && g < f->guest_count; g++) {
        family_guest guest = f->guests[g];
        if (guest.generation > f->generation) {
            f->guests[left++] = guest;
            continue;
        }
        proto_event event = {.kind = PROTO_ATTACH,
                             .node = guest.node,
                             .generation = guest.generation,
                             .round = guest.version};
        err = family_attach(f, &event, have, effects);
    }
    f->guest_count = left;
    return err;
}

edgeps_err family_plan(family *f, uint64_t generation, const int32_t *children, size_t count,
                       const versions *have, proto_effects *effects)
{
    int32_t *child = mem_alloc(count, sizeof *child);
    bool *is_attached = mem_alloc(count, sizeof *is_attached);
    int64_t *got = mem_alloc(count * (size_t)f->chunk_count, sizeof *got);
    if (!child || !is_attached || !got) {
        mem_free(child);
        mem_free(is_attached);
        mem_free(got);
        return EDGEPS_NOMEM;
    }
    free_children(f);
    if (count)
        memcpy(child, children, count * sizeof *child);
    f->child = child;
    f->attached = is_attached;
    f->got = got;
    f->child_count = count;
    f->generation = generation;
    memset(f->sums, 0, (size_t)f->chunk_count * sizeof *f->sums);
    return let_guests_in(f, have, effects);
}

void family_lost(family *f, int32_t node)
{
    int64_t k = index_of(f, node);
    if (k >= 0)
        f->attached[k] = false;
    for (size_t g = 0; g < f->guest_count; g++)
        if (f->guests[g].node == node)
            f->guests[g] = f->guests[--f->guest_count];
}

static bool is_refused(const family *f, int64_t k, const proto_event *event, const versions *have,
                       proto_why *why)
{
    if (event->generation != f->generation)
        *why = PROTO_OLD_GENERATION;
    else if (k < 0)
        *why = PROTO_NOT_A_CHILD;
    else if (!f->attached[k])
        *why = PROTO_NOT_ATTACHED;
    else if (event->chunk < 0 || event->chunk >= f->chunk_count)
        *why = PROTO_BAD_CHUNK;
    else if (event->round <= have->of[event->chunk] ||
             event->round < f->sums[event->chunk].round) /* who is further has seen it applied */
        *why = PROTO_ALREADY_APPLIED;
    else if (event->round <= f->got[k * f->chunk_count + event->chunk])
        *why = PROTO_REPEATED;
    else
        return false;
    return true;
}

edgeps_err family_pushed(family *f, const proto_event *event, const versions *have,
                         proto_effects *effects)
{
    int64_t k = index_of(f, event->node);
    proto_why why;
    if (is_refused(f, k, event, have, &why))
        return answer(effects, PROTO_DROP, why, event);
    family_sum *sum = &f->sums[event->chunk];
    if (sum->round != event->round)
        *sum = (family_sum){.round = event->round};
    bool first = sum->arrived == 0;
    f->got[k * f->chunk_count + event->chunk] = event->round;
    sum->arrived++;
    sum->weight += event->weight;
    edgeps_err err =
        proto_effects_add(effects, (proto_effect){.kind = first ? PROTO_TAKE_FIRST : PROTO_TAKE,
                                                  .node = event->node,
                                                  .round = event->round,
                                                  .chunk = event->chunk});
    if (!err && sum->arrived == (int64_t)f->child_count)
        err = proto_effects_add(effects, (proto_effect){.kind = PROTO_SUM,
                                                        .node = (int32_t)f->child_count,
                                                        .generation = f->generation,
                                                        .round = event->round,
                                                        .chunk = event->chunk});
    return err;
}

family_sum *family_summed(family *f, const proto_event *event, const versions *have)
{
    if (event->generation != f->generation || event->chunk < 0 || event->chunk >= f->chunk_count)
        return NULL;
    family_sum *sum = &f->sums[event->chunk];
    bool counts = sum->round == event->round && event->round > have->of[event->chunk] &&
                  sum->arrived == (int64_t)f->child_count;
    if (!counts || sum->added)
        return NULL;
    sum->added = true;
    return sum;
}

edgeps_err family_send_down(const family *f, int64_t chunk, int64_t version, proto_effects *effects)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t k = 0; !err && k < f->child_count; k++)
        if (f->attached[k])
            err = proto_effects_add(effects, (proto_effect){.kind = PROTO_SEND_DOWN,
                                                            .node = f->child[k],
                                                            .generation = f->generation,
                                                            .round = version,
                                                            .chunk = chunk});
    return err;
}
