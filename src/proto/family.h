/* What local and global server have in common: the children of a server, who of them is attached,
 * what each of them holds, and the sums of what they pushed. Private to proto. */
#ifndef EDGEPS_PROTO_FAMILY_H
#define EDGEPS_PROTO_FAMILY_H

#include "proto/proto.h"
#include "proto/versions.h"

/* The sum of one chunk that is being gathered, or that waits for the parent. */
typedef struct family_sum {
    int64_t round;
    int64_t arrived; /* children in it, or passed */
    int64_t taken;   /* children in it */
    double weight;
    bool added; /* the additions are done */
} family_sum;

/* A child that asked for a generation which is not here yet. */
typedef struct family_guest {
    int32_t node;
    uint64_t generation;
    int64_t *have; /* per chunk; owned */
} family_guest;

/* The parameters of one chunk that a child was asked for. */
typedef struct family_ask {
    int64_t version; /* PROTO_NOTHING: nobody was asked */
    size_t child;
} family_ask;

typedef struct family {
    uint64_t generation;
    int64_t chunk_count;
    size_t child_count;
    int32_t *child; /* nodes */
    bool *attached; /* per child */
    int64_t *got;   /* child x chunk: the last round taken in this generation */
    int64_t *holds; /* child x chunk: the version that an attached child has or was sent */
    family_sum *sums;
    family_ask *asks; /* per chunk */
    family_guest *guests;
    size_t guest_count;
} family;

edgeps_err family_make(int64_t chunk_count, family *out);
void family_free(family *f);

/* A new generation: these are the children, all partial sums are dropped, and guests that waited
 * for it are let in (`have`: versions of the parameters here). */
edgeps_err family_plan(family *f, uint64_t generation, const int32_t *children, size_t count,
                       const versions *have, proto_effects *effects);

/* A node asks to attach: accepted, refused, or kept waiting until its generation is here. Who is
 * accepted is sent the chunks that are newer than its own and asked for those that are newer than
 * these here. */
edgeps_err family_attach(family *f, const proto_event *event, const versions *have,
                         proto_effects *effects);

/* An attached child tells its versions: sent and asked as one that attaches. */
edgeps_err family_has(family *f, const proto_event *event, const versions *have,
                      proto_effects *effects);

/* A child's edge broke; what it delivered stays counted, what it was asked for others are. */
edgeps_err family_lost(family *f, int32_t node, const versions *have, proto_effects *effects);

/* A child delivered a chunk: taken, or dropped with the reason; the last child's brings
 * PROTO_SUM. */
edgeps_err family_pushed(family *f, const proto_event *event, const versions *have,
                         proto_effects *effects);

/* Marks the sum as added; NULL when the event is of a sum that no longer counts. */
family_sum *family_summed(family *f, const proto_event *event, const versions *have);

/* A child gave a chunk of the parameters: `*newer` when it counts, and family_arrived is to follow;
 * dropped with the reason otherwise. */
edgeps_err family_given(family *f, const proto_event *event, const versions *have, bool *newer,
                        proto_effects *effects);

/* A newer chunk of the parameters has arrived, from whomever: stored, and passed on to the children
 * that lack it. */
edgeps_err family_arrived(family *f, int64_t chunk, int64_t version, versions *have,
                          proto_effects *effects);

/* Sends a chunk of the parameters to every attached child that lacks it. */
edgeps_err family_send_down(family *f, int64_t chunk, int64_t version, proto_effects *effects);

#endif
