#include "loop/loop_int.h"

#include "base/clock.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#define PIECES 32          /* of one call of sendmsg: header and payload of 16 frames */
#define LOOK_AHEAD 4194304 /* a turn is shorter than this */

static uint64_t frame_bytes(const out_frame *f) { return f->header_bytes + f->bytes; }

edgeps_err conn_send(conn *c, const conn_frame *frame)
{
    size_t header_bytes = c->handlers.framing.header_bytes;
    assert(c->attached && header_bytes > 0);
    if (c->closing)
        return EDGEPS_IO;
    out_frame *f = mem_alloc(1, sizeof *f + header_bytes);
    if (!f)
        return EDGEPS_NOMEM;
    f->payload = frame->payload;
    f->bytes = frame->bytes;
    f->not_before_ns = frame->delay_ns > 0 ? clock_now_ns() + frame->delay_ns : 0;
    f->sent = frame->sent;
    f->ctx = frame->ctx;
    f->header_bytes = header_bytes;
    memcpy(f->header, frame->header, header_bytes);
    STAILQ_INSERT_TAIL(&c->out, f, places);
    c->queued_bytes += frame_bytes(f);
    if (!c->connecting && !c->stalled)
        lane_join(&c->owner->up, &c->up);
    return EDGEPS_OK;
}

int64_t send_wants(conn *c, int64_t now_ns, int64_t *wake_ns)
{
    uint64_t bytes = 0;
    out_frame *f;
    STAILQ_FOREACH(f, &c->out, places)
    {
        if (f->not_before_ns > now_ns && f->done_bytes == 0) {
            *wake_ns = f->not_before_ns;
            break;
        }
        bytes += frame_bytes(f) - f->done_bytes;
        if (bytes >= LOOK_AHEAD)
            return LOOK_AHEAD;
    }
    return (int64_t)bytes;
}

/* Adds what is left of [start, start + bytes) after `skip` bytes, at most `*limit`. */
static void add_piece(struct iovec *pieces, int *count, const void *start, uint64_t bytes,
                      uint64_t skip, uint64_t *limit)
{
    if (skip >= bytes || *limit == 0)
        return;
    uint64_t length = bytes - skip < *limit ? bytes - skip : *limit;
    pieces[*count].iov_base = (void *)((const uint8_t *)start + skip); /* written from only */
    pieces[*count].iov_len = length;
    ++*count;
    *limit -= length;
}

/* The first `limit` bytes of the queue, as far as PIECES reach. */
static void gather(const conn *c, uint64_t limit, struct iovec *pieces, int *count)
{
    uint64_t left = limit;
    const out_frame *f;
    STAILQ_FOREACH(f, &c->out, places)
    {
        if (left == 0 || *count + 2 > PIECES)
            break;
        uint64_t done = f->done_bytes, head = f->header_bytes;
        add_piece(pieces, count, f->header, head, done, &left);
        add_piece(pieces, count, f->payload, f->bytes, done > head ? done - head : 0, &left);
    }
}

/* Books `bytes` as sent; whole frames go to the loop's list of finished ones. */
static void advance(conn *c, uint64_t bytes)
{
    c->queued_bytes -= bytes;
    out_frame *f;
    while ((f = STAILQ_FIRST(&c->out)) != NULL) {
        uint64_t left = frame_bytes(f) - f->done_bytes;
        if (left > bytes) {
            f->done_bytes += bytes;
            return;
        }
        bytes -= left;
        STAILQ_REMOVE_HEAD(&c->out, places);
        STAILQ_INSERT_TAIL(&c->owner->finished, f, places);
    }
}

lane_result send_move(conn *c, int64_t limit, int64_t *moved)
{
    struct iovec pieces[PIECES];
    int count = 0;
    bool more = false;
    gather(c, (uint64_t)limit, pieces, &count);
    ssize_t n = stream_write(c, pieces, count, &more);
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
        receive_rest(c, stream_error(c, errno));
        return LANE_EMPTY;
    }
    *moved = n > 0 ? n : 0;
    if (n > 0)
        advance(c, (uint64_t)n);
    if (!more) {
        c->stalled = true;
        conn_poll_for(c, c->interest | UV_WRITABLE);
        return LANE_BLOCKED;
    }
    return STAILQ_EMPTY(&c->out) ? LANE_EMPTY : LANE_MORE;
}

void send_deliver(struct out_queue *queue, edgeps_err err)
{
    out_frame *f;
    while ((f = STAILQ_FIRST(queue)) != NULL) {
        STAILQ_REMOVE_HEAD(queue, places);
        if (f->sent)
            f->sent(f->ctx, err);
        mem_free(f);
    }
}
