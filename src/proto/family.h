/* What local and global server have in common: the children of a server, who of them is attached,
 * what each of them holds, and the sums of what they pushed. Private to proto. */
#ifndef EDGEPS_PROTO_FAMILY_H
#define EDGEPS_PROTO_FAMILY_H

#include "proto/proto.h"
#include "proto/versions.h"

#define FAMILY_MEMORY 8 /* rounds whose times are remembered */

/* The sum of one chunk that is being gathered, or that waits for the parent. */
typedef struct family_sum {
    int64_t round;
    int64_t arrived; /* children in it, or passed */
    int64_t taken;   /* children in it */
    double weight;
    bool again;  /* something in it may be in an earlier sum, too */
    bool enough; /* once had a quorum */
    bool closed; /* takes nothing any more */
    bool added;  /* the additions are done */
} family_sum;

/* The newest round that a child has contributed to. */
typedef struct family_wave {
    int64_t round;
    int64_t enough; /* chunks that have a quorum */
    bool late;      /* the time-out is over */
} family_wave;

/* A child that asked for a generation which is not here yet. */
typedef struct family_guest {
    int32_t node;
    uint64_t generation;
    bool whole;
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
    bool *told;     /* per child: what it and all below it hold, in this generation */
    int64_t *got;   /* child x chunk: the last round taken in this generation */
    int64_t *holds; /* child x chunk: the version that an attached child has or was sent */
    family_sum *sums;
    family_ask *asks; /* per chunk */
    family_guest *guests;
    size_t guest_count;
    proto_patience patience; /* set by the owner */
    int64_t waits;           /* how many time-outs: parents wait longer than their children */
    bool whole; /* all children have told, and what they alone had is here: no sum that closes early
                   can be of a round that one of them holds */
    int64_t begun; /* the newest round of which any child has spoken */
    family_wave wave;
    int64_t now_ns;                 /* of the event being taken */
    int64_t opened_ns;              /* when the round began that is gathered; 0: unknown */
    int64_t took_ns[FAMILY_MEMORY]; /* what rounds took from there to a quorum; a ring */
    int64_t took_count;
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

/* A child delivered a chunk: taken, or dropped with the reason; the last child's brings PROTO_SUM,
 * and so does one that makes enough after the time-out. */
edgeps_err family_pushed(family *f, const proto_event *event, const versions *have,
                         proto_effects *effects);

/* The time-out of a round is over: PROTO_SUM for what has enough. */
edgeps_err family_late(family *f, const proto_event *event, const versions *have,
                       proto_effects *effects);

/* Closes the sums that have enough, if they may close without the rest. */
edgeps_err family_close_late(family *f, const versions *have, proto_effects *effects);

/* A chunk's version was raised: the next round may begin here. */
void family_raised(family *f, const versions *have);

/* Position of a child, or -1. */
int64_t family_index(const family *f, int32_t node);

/* Marks the sum as added; NULL when the event is of a sum that no longer counts. */
family_sum *family_summed(family *f, const proto_event *event, const versions *have);

/* A child gave a chunk of the parameters: `*newer` when it counts, and family_arrived is to follow;
 * dropped with the reason otherwise. */
edgeps_err family_given(family *f, const proto_event *event, const versions *have, bool *newer,
                        proto_effects *effects);

/* Nothing that was asked for has come: asks again for what some child has newer. */
edgeps_err family_ask_again(family *f, const versions *have, proto_effects *effects);

/* A newer chunk of the parameters has arrived, from whomever: stored, and passed on to the children
 * that lack it. */
edgeps_err family_arrived(family *f, int64_t chunk, int64_t version, versions *have,
                          proto_effects *effects);

/* Sends a chunk of the parameters to every attached child that lacks it. */
edgeps_err family_send_down(family *f, int64_t chunk, int64_t version, proto_effects *effects);

#endif
