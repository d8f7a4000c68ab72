#include "node/frame.h"

#include "base/mem.h"
#include "job/job.h"

#include <string.h>

_Static_assert(JOB_FRAME_BYTES == WIRE_HEADER_BYTES, "the planner counts other headers");

static edgeps_err payload_bytes(void *ctx, const uint8_t *header, uint64_t *bytes,
                                edgeps_diag *diag)
{
    (void)ctx;
    wire_header h;
    edgeps_err err = wire_decode(header, MESSAGE_MAX_BYTES, diag, &h);
    if (!err)
        *bytes = h.length;
    return err;
}

const loop_framing frame_framing = {WIRE_HEADER_BYTES, payload_bytes};

bool frame_speaks_for(const conn *c, const char *name)
{
    char who[TRUST_MAX_WHO + 1];
    const char *member = conn_member(c);
    return !member || (trust_node(name, who) && strcmp(member, who) == 0);
}

wire_header frame_header(const uint8_t *header)
{
    wire_header h = {0};
    if (wire_decode(header, MESSAGE_MAX_BYTES, NULL, &h))
        h.type = 0; /* cannot be: the framing has read it */
    return h;
}

static void free_payload(void *ctx, edgeps_err err)
{
    (void)err;
    mem_free(ctx);
}

static edgeps_err send_header(conn *c, const frame_stamp *stamp, wire_header *h, conn_frame *frame)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    h->job = stamp->job;
    h->sender = stamp->sender;
    h->incarnation = stamp->incarnation;
    h->length = frame->bytes;
    wire_encode(h, frame->payload, bytes);
    frame->header = bytes;
    return conn_send(c, frame);
}

edgeps_err frame_send(conn *c, const frame_stamp *stamp, uint16_t type, uint64_t generation,
                      int64_t round, wire_writer *w)
{
    size_t count = 0;
    uint8_t *bytes = NULL;
    if (!c) {
        if (w)
            wire_writer_free(w);
        return EDGEPS_IO;
    }
    if (w) {
        bytes = wire_writer_take(w, &count);
        if (!bytes)
            return EDGEPS_NOMEM;
    }
    wire_header h = {.type = type, .generation = generation, .round = round};
    conn_frame frame = {.payload = bytes, .bytes = count, .sent = free_payload, .ctx = bytes};
    edgeps_err err = send_header(c, stamp, &h, &frame);
    if (err)
        mem_free(bytes);
    return err;
}

edgeps_err frame_lend(conn *c, const frame_stamp *stamp, wire_header header, const void *payload,
                      void (*sent)(void *ctx, edgeps_err err), void *ctx)
{
    conn_frame frame = {.payload = payload, .bytes = header.length, .sent = sent, .ctx = ctx};
    return send_header(c, stamp, &header, &frame);
}
