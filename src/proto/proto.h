/* The protocol of training as pure state machines: events in, effects out. Nothing in this room
 * makes a system call, reads a clock or starts a thread; `sim` runs these machines in virtual time,
 * `node` over sockets and disks. docs/protocol.md tells the same in prose.
 *
 * The tree has an edge from each worker to its local server and from each local server to the
 * global server. Parameters are cut into chunks, and every chunk carries a version: the number of
 * the round whose update it holds (0: initial values, -1: nothing yet). A round is a wave over the
 * chunks: gradients up, summed chunk by chunk; the updated chunk down. The rules that keep a
 * gradient from being lost or counted twice, whatever fails in between:
 *   - a chunk of a round is applied once and then is final: a server takes a contribution only for
 * a round above the chunk's version, and only once per child;
 *   - a worker keeps its gradient until every chunk has that round's version, and pushes what still
 *     lacks it whenever it is attached anew;
 *   - a worker that came in the middle of a round, and so can never compute it, passes: the sum
 * is complete without it;
 *   - where a quorum is enough (proto_patience), a sum closes without stragglers, and takes nothing
 *     any more; no sum does so before every child of the generation has told what it holds;
 *   - a new plan generation drops all partial sums, and a server refuses other generations;
 *   - the newest version that anybody holds wins: whoever attaches says what it has, receives the
 * chunks that are newer than its own, and is asked for those that are newer than its parent's. So a
 * global server that takes over from a lost one starts from any old state.
 * Bulk bytes do not pass through here: the machines see "chunk c of round r arrived" and answer
 * what is to be done with it.
 */
#ifndef EDGEPS_PROTO_PROTO_H
#define EDGEPS_PROTO_PROTO_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTO_NO_NODE (-1)
#define PROTO_NOTHING (-1) /* version of a chunk that was never received */

typedef enum proto_event_kind {
    PROTO_ATTACH,      /* child `node` asks to attach: generation, `have` */
    PROTO_ATTACHED,    /* the parent accepted: generation */
    PROTO_PARENT_LOST, /* the edge to the parent broke */
    PROTO_CHILD_LOST,  /* the edge from child `node` broke */
    PROTO_PUSHED,      /* child `node` delivered `chunk` of `round`: generation, weight */
    PROTO_PASSED,      /* child `node` has nothing for `chunk` of `round`: generation */
    PROTO_PULLED,      /* the parent delivered `chunk` at version `round`: generation */
    PROTO_HAS,         /* child `node` tells what it holds: generation, `have` */
    PROTO_ASKED,       /* the parent asks for `chunk` of the parameters: generation */
    PROTO_GIVEN,       /* child `node` delivered `chunk` of the parameters at version `round`:
                          generation */
    PROTO_SUMMED,      /* the additions of `chunk` of `round` are done: generation */
    PROTO_COMPUTED,    /* the gradient of `round` is there, of `weight` samples */
    PROTO_ALLOWED,     /* rounds up to `round` may run */
    PROTO_LATE,        /* the time that PROTO_ARM asked for is over: generation, `round` */
} proto_event_kind;

typedef struct proto_event {
    proto_event_kind kind;
    int32_t node;
    uint64_t generation;
    int64_t round;
    int64_t chunk;
    double weight;
    const int64_t *have; /* the child's version of each chunk; lent for the step */
    bool whole;          /* PROTO_ATTACH, PROTO_HAS: `have` covers all that is below the child */
    bool again;          /* PROTO_PUSHED: may have been taken before, on an edge that is gone */
    int64_t now_ns; /* servers with patience: when it happens, on a clock that never goes back */
} proto_event;

typedef enum proto_effect_kind {
    PROTO_CONNECT,    /* keep trying to reach the parent `node`, and ask to attach: generation; the
                         versions are those that the machine has when the request leaves */
    PROTO_DISCONNECT, /* end the edge to the parent */
    PROTO_ACCEPT,     /* tell child `node` that it is attached */
    PROTO_REFUSE,     /* end the edge from child `node` */
    PROTO_SEND_UP,    /* `chunk` of the gradient or sum of `round` to the parent, of `weight`;
                         `again` */
    PROTO_PASS,       /* tell the parent that nothing comes for `chunk` of `round`: generation */
    PROTO_SEND_DOWN,  /* `chunk` of the parameters, at version `round`, to child `node` */
    PROTO_ASK,  /* ask child `node` for `chunk` of the parameters, at version `round` or above */
    PROTO_GIVE, /* `chunk` of the parameters, at version `round`, to the parent */
    PROTO_HAVE, /* tell the parent the version of each chunk: generation */
    PROTO_TAKE_FIRST, /* put the chunk that just arrived into the accumulator of `round`; it is
                         child `node`'s of round `before` */
    PROTO_TAKE,       /* likewise, add it */
    PROTO_STORE,      /* put the chunk that just arrived, at version `round`, into the parameters,
                         where it was at version `before` */
    PROTO_DROP,       /* forget the chunk that just arrived; `why` tells. A worker: its gradient of
                         `round` is PROTO_TOO_LATE */
    PROTO_SUM,   /* what `node` children had for `chunk` of `round` is in; answer PROTO_SUMMED when
                    added */
    PROTO_APPLY, /* update `chunk` of the parameters with the accumulator, of `weight` samples */
    PROTO_COMPUTE,      /* compute the gradient of `round`; answer PROTO_COMPUTED */
    PROTO_ROUND_DONE,   /* every chunk is at version `round` here */
    PROTO_ROUND_MISSED, /* likewise, while a worker computes an older one: it is not held here */
    PROTO_READY,        /* a worker is attached and can go on: generation */
    PROTO_ARM,          /* answer PROTO_LATE in `after_ns`: generation, round; the newest counts */
} proto_effect_kind;

typedef enum proto_why {
    PROTO_OLD_GENERATION,
    PROTO_NOT_ATTACHED,
    PROTO_TOO_LATE, /* the only one that a straggler causes */
    PROTO_REPEATED,
    PROTO_BAD_CHUNK,
    PROTO_NOT_A_CHILD,
} proto_why;

typedef struct proto_effect {
    proto_effect_kind kind;
    proto_why why; /* PROTO_DROP and PROTO_REFUSE */
    int32_t node;
    uint64_t generation;
    int64_t round;
    int64_t chunk;
    double weight;
    int64_t before;   /* PROTO_STORE, PROTO_TAKE_FIRST, PROTO_TAKE */
    int64_t after_ns; /* PROTO_ARM */
    bool again;       /* PROTO_SEND_UP */
} proto_effect;

/* How long servers wait for stragglers, and what they still take of them. Zeroed: for everyone. */
typedef struct proto_patience {
    double quorum;       /* the share of the children that is enough after a time-out, above 0 to 1;
                            0: wait for all */
    int64_t timeout_ns;  /* from the first arrival of a round; 0: times_median */
    double times_median; /* the time-out is so many times what rounds usually take to have enough */
    int64_t staleness;   /* by how many rounds a gradient may be late and still be taken */
} proto_patience;

const char *proto_why_text(proto_why why);

/* Effects in the order in which they are to be carried out. A zeroed list is empty; the owner sets
 * `count` to 0 between steps and calls proto_effects_free at the end. */
typedef struct proto_effects {
    proto_effect *items;
    size_t count;
    size_t room;
} proto_effects;

edgeps_err proto_effects_add(proto_effects *effects, proto_effect effect);
void proto_effects_free(proto_effects *effects);

#endif
