/* Frames over connections: wire headers put to loop's framing, and the two ways to send. */
#ifndef EDGEPS_NODE_FRAME_H
#define EDGEPS_NODE_FRAME_H

#include "loop/loop.h"
#include "node/message.h"
#include "wire/wire.h"

/* Who sends; copied into every header. */
typedef struct frame_stamp {
    uint64_t job;
    uint32_t sender;
    uint32_t incarnation;
} frame_stamp;

/* The framing of every connection: a wire header, and payloads up to MESSAGE_MAX_BYTES. */
extern const loop_framing frame_framing;

/* What a process of a job of so many nodes takes of connections, see loop_limit: each node may try
 * several times. */
static inline size_t frame_most_connections(size_t node_count) { return 16 * node_count + 256; }

/* Whether the peer may speak as the node called `name`: its certificate says so, or there are none.
 */
bool frame_speaks_for(const conn *c, const char *name);

/* Reads a header that the framing let pass. */
wire_header frame_header(const uint8_t *header);

/* Sends a control message: takes the writer's bytes and leaves it empty. `w` may be NULL.
 * EDGEPS_IO on no connection (NULL), and on a broken one. */
edgeps_err frame_send(conn *c, const frame_stamp *stamp, uint16_t type, uint64_t generation,
                      int64_t round, wire_writer *w);

/* Sends bulk bytes that stay the caller's until `sent` (may be NULL); the header's job, sender and
 * incarnation are set from the stamp. On an error `sent` is not called. */
edgeps_err frame_lend(conn *c, const frame_stamp *stamp, wire_header header, const void *payload,
                      void (*sent)(void *ctx, edgeps_err err), void *ctx);

#endif
