/* The worker: computes the gradient of a round, pushes it to its local server chunk by chunk, and
 * goes on when every chunk of the round's parameters is back. */
#ifndef EDGEPS_PROTO_WORKER_H
#define EDGEPS_PROTO_WORKER_H

#include "proto/proto.h"
#include "proto/versions.h"

typedef enum worker_state {
    WORKER_IDLE,      /* waits for parameters or for leave to run */
    WORKER_COMPUTING, /* the gradient of `round` is being computed; parameters must not change */
    WORKER_PUSHING,   /* holds the gradient of `round` */
} worker_state;

typedef struct worker {
    worker_state state;
    uint64_t generation;
    int32_t parent; /* PROTO_NO_NODE: not in the plan */
    bool attached;
    bool said_ready; /* in this generation */
    bool missed;     /* newer parameters came while they could not change */
    int64_t round;
    int64_t allowed;
    double weight;
    int64_t staleness; /* proto_patience; set by the owner */
    int64_t told;      /* the last round that was told as done or missed */
    versions have;
    versions seen;   /* the newest that came in this generation, taken or not */
    int64_t *passed; /* per chunk: the last round that was passed on the present edge */
} worker;

edgeps_err worker_make(int64_t chunk_count, worker *out);
void worker_free(worker *w);

/* The plan of a new generation gives the worker its local server, or PROTO_NO_NODE: then it forgets
 * what it holds. Plans that are not newer are ignored. */
edgeps_err worker_plan(worker *w, uint64_t generation, int32_t parent, proto_effects *effects);

edgeps_err worker_step(worker *w, const proto_event *event, proto_effects *effects);

#endif
