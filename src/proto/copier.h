/* The state of a server on its way to another node while the server goes on: which chunk is sent
 * next, and when the server has to hold still for the rest.
 *
 * Passes go over the chunks (pre-copy: Clark et al., Live Migration of Virtual Machines, NSDI
 * 2005): the first sends all, each later one those that changed after they were sent. When few are
 * left, or a pass leaves more than half of what it sent, the server freezes, what is left is sent,
 * and the state ends. Bytes, versions and the server itself are the owner's.
 */
#ifndef EDGEPS_PROTO_COPIER_H
#define EDGEPS_PROTO_COPIER_H

#include "proto/versions.h"

typedef enum copier_step {
    COPIER_SEND,   /* send `chunk`, as it is at this moment */
    COPIER_FREEZE, /* let the server freeze */
    COPIER_END,    /* the target has all */
} copier_step;

/* Zeroed: none. */
typedef struct copier {
    bool follows;  /* sends what changes, too; else each chunk once, as it is then */
    int64_t *sent; /* per chunk: the version that was sent last; owned */
    int64_t next;  /* where the pass has come to */
    int64_t sent_in_pass;
    int passes;
    bool frozen;
} copier;

/* EDGEPS_NOMEM. */
edgeps_err copier_make(int64_t chunk_count, bool follows, copier *out);
void copier_free(copier *c);

/* What is to be done next for a server whose chunks are at these versions. O(chunks) for a pass. */
copier_step copier_next(copier *c, const versions *have, int64_t *chunk);

#endif
