#include "proto/proto.h"

#include "base/mem.h"

const char *proto_why_text(proto_why why)
{
    static const char *const texts[] = {
        [PROTO_OLD_GENERATION] = "of another generation",
        [PROTO_NOT_ATTACHED] = "from an edge that is not attached",
        [PROTO_TOO_LATE] = "of a round that is over",
        [PROTO_REPEATED] = "repeated",
        [PROTO_BAD_CHUNK] = "of no such chunk",
        [PROTO_NOT_A_CHILD] = "from a node that is no child in this plan",
    };
    return texts[why];
}

edgeps_err proto_effects_add(proto_effects *effects, proto_effect effect)
{
    proto_effect *items =
        mem_grow(effects->items, effects->count + 1, sizeof *items, &effects->room);
    if (!items)
        return EDGEPS_NOMEM;
    effects->items = items;
    effects->items[effects->count++] = effect;
    return EDGEPS_OK;
}

void proto_effects_free(proto_effects *effects)
{
    mem_free(effects->items);
    *effects = (proto_effects){0};
}
