/* The state of a server on its way: parameters, for a global server the optimizer's velocity, and
 * each chunk's version. It begins with a frame that says what comes, ends with a frame that carries
 * hashes over all chunks and their versions, and counts only when those agree. A chunk may come
 * several times, as its server goes on meanwhile; the last one counts.
 */
#ifndef EDGEPS_NODE_STATE_H
#define EDGEPS_NODE_STATE_H

#include "job/job.h"
#include "node/frame.h"

/* Lent arrays: parameters and velocity of the job's length, a version per chunk. */
typedef struct state_view {
    message_role role;
    float *parameters;
    float *velocity; /* NULL for a local server */
    int64_t *versions;
} state_view;

/* Which state it is: the move by its number (0: a checkpoint), and how many the target will serve.
 */
typedef struct state_label {
    message_role role;
    uint64_t generation;
    int64_t number;
    uint32_t children;
} state_label;

/* Queues the first frame of a state, and the last one, with the hashes of what was sent. */
edgeps_err state_begin(conn *c, const frame_stamp *stamp, const state_label *label);
edgeps_err state_end(conn *c, const frame_stamp *stamp, const state_label *label,
                     uint64_t parameters_hash, uint64_t velocity_hash);

/* Chains one chunk's hash (XXH3-64) and version to the hash of all before it; it begins with 0. */
uint64_t state_chain(uint64_t before, uint64_t chunk_hash, int64_t version);

/* Queues all frames of a state; the arrays must stay as they are until they are sent. */
edgeps_err state_send(conn *c, const frame_stamp *stamp, const job *j, const state_view *state,
                      const state_label *label);

/* One arriving state. Zeroed: none. */
typedef struct state_arrival {
    bool open;
    state_view target; /* versions are owned by the arrival's owner */
} state_arrival;

/* Expects a state into these arrays. */
void state_expect(state_arrival *a, const job *j, state_view target);

/* Where the payload of a chunk frame goes; NULL if it is none that is expected. */
void *state_buffer(const state_arrival *a, const job *j, const wire_header *h);

/* A chunk frame is complete. */
void state_took(state_arrival *a, const wire_header *h);

/* The end frame: EDGEPS_PROTOCOL when a hash differs, as it does when chunks are missing. */
edgeps_err state_finish(state_arrival *a, const job *j, const message_state *end,
                        edgeps_diag *diag);

#endif
