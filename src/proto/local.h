/* The local server: sums its workers' chunks, passes each sum to the global server when all its
 * workers are in it, and relays updated chunks to its workers. */
#ifndef EDGEPS_PROTO_LOCAL_H
#define EDGEPS_PROTO_LOCAL_H

#include "proto/family.h"

typedef struct local {
    int32_t parent; /* node of the global server; PROTO_NO_NODE: this node is no local server */
    bool attached;
    versions have;
    family family;
} local;

edgeps_err local_make(int64_t chunk_count, local *out);
void local_free(local *l);

/* The server starts with parameters at these versions, one per chunk, copied from another one. */
void local_restore(local *l, const int64_t *chunk_versions);

/* A new generation: parent `global` and the workers in `children`; without children the node is no
 * local server any more. `forget` as for worker_plan. */
edgeps_err local_plan(local *l, uint64_t generation, int32_t global, const int32_t *children,
                      size_t count, bool forget, proto_effects *effects);

edgeps_err local_step(local *l, const proto_event *event, proto_effects *effects);

#endif
