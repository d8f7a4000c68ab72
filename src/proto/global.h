/* The global server: sums the local servers' sums, updates the parameters chunk by chunk, and sends
 * each updated chunk down. It holds the authoritative parameters. */
#ifndef EDGEPS_PROTO_GLOBAL_H
#define EDGEPS_PROTO_GLOBAL_H

#include "proto/family.h"

typedef struct global {
    bool active; /* this node is the global server of the present generation */
    bool frozen; /* the last of its state is being copied away: nothing is applied */
    versions have;
    family family;
} global;

edgeps_err global_make(int64_t chunk_count, global *out);
void global_free(global *g);

/* The server holds parameters and optimizer state at these versions, one per chunk: initial,
 * copied, or loaded. What the children hold that is newer it asks them for; NULL: nothing. */
void global_restore(global *g, const int64_t *chunk_versions);

/* From now until the next generation, or global_thaw, the state stays as it is. */
void global_freeze(global *g);

/* The state is not copied after all: what arrived meanwhile is applied, and children are asked
 * again for what is newer. */
edgeps_err global_thaw(global *g, proto_effects *effects);

/* A new generation with these local servers; none: the node is not the global server. A state that
 * is whole is told as PROTO_ROUND_DONE at once, so that the coordinator knows what is here. */
edgeps_err global_plan(global *g, uint64_t generation, const int32_t *locals, size_t count,
                       proto_effects *effects);

edgeps_err global_step(global *g, const proto_event *event, proto_effects *effects);

#endif
