/* The local server: sums its workers' chunks, passes each sum to the global server when all its
 * workers are in it, and relays updated chunks to its workers. What its workers hold and it lacks
 * it asks for, and says so to the global server. */
#ifndef EDGEPS_PROTO_LOCAL_H
#define EDGEPS_PROTO_LOCAL_H

#include "proto/family.h"

typedef struct local {
    int32_t parent; /* node of the global server; PROTO_NO_NODE: this node is no local server */
    bool attached;
    bool news; /* learnt a chunk from a child, or that all have told, and did not tell yet */
    versions have;
    family family;
} local;

edgeps_err local_make(int64_t chunk_count, local *out);
void local_free(local *l);

/* The server starts with parameters at these versions, one per chunk, copied from another one;
 * NULL: it holds nothing. */
void local_restore(local *l, const int64_t *chunk_versions);

/* What a generation says of one node's local server. */
typedef struct local_part {
    uint64_t generation;
    int32_t global;          /* node of the global server: the parent */
    const int32_t *children; /* nodes of its workers */
    size_t count;            /* 0: the node is no local server */
} local_part;

/* A new generation; one that is not newer is ignored. */
edgeps_err local_plan(local *l, const local_part *part, proto_effects *effects);

edgeps_err local_step(local *l, const proto_event *event, proto_effects *effects);

#endif
