/* The versions of a parameter vector's chunks, and whether they agree. Private to proto. */
#ifndef EDGEPS_PROTO_VERSIONS_H
#define EDGEPS_PROTO_VERSIONS_H

#include "proto/proto.h"

typedef struct versions {
    int64_t *of; /* per chunk */
    int64_t count;
    int64_t top;    /* the highest version of any chunk */
    int64_t at_top; /* how many chunks have it */
} versions;

edgeps_err versions_make(int64_t chunk_count, versions *out);
void versions_free(versions *v);

/* Puts every chunk at `version`. */
void versions_fill(versions *v, int64_t version);

void versions_set(versions *v, const int64_t *chunk_versions);

/* Raises one chunk; `version` is above its present one. */
void versions_raise(versions *v, int64_t chunk, int64_t version);

/* All chunks are at the same version. */
bool versions_agree(const versions *v);

int64_t versions_lowest(const versions *v);

#endif
