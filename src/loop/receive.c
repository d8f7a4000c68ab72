#include "loop/loop_int.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#define READY_BYTES 1048576 /* read at most for one event, so that other connections get on */

/* Takes the complete header at hand: finds out where its payload goes. */
static void begin_payload(conn *c)
{
    in_frame *in = &c->in;
    edgeps_diag diag = {.text = ""};
    const uint8_t *header = in->header[in->current];
    uint64_t bytes = 0;
    edgeps_err err = c->handlers.framing.payload_bytes(c->ctx, header, &bytes, &diag);
    if (err) {
        conn_fail(c, err, "%s", diag.text[0] ? diag.text : err_text(err));
        return;
    }
    stranger_end(c); /* a plain one has shown what it is for */
    in->in_payload = true;
    in->bytes = bytes;
    in->done_bytes = 0;
    in->payload = NULL;
    if (bytes == 0)
        return;
    in->payload = c->handlers.payload_buffer(c->ctx, c, header, bytes);
    if (!in->payload)
        conn_fail(c, EDGEPS_PROTOCOL, "a frame was refused");
}

/* Hands the complete frame over. What has been read beyond it is the next header's begin. */
static void end_frame(conn *c, size_t read_ahead)
{
    in_frame *in = &c->in;
    const uint8_t *header = in->header[in->current];
    in->current = 1 - in->current;
    in->header_done = read_ahead;
    in->in_payload = false;
    c->handlers.frame(c->ctx, c, header, in->payload);
}

/* Books `n` bytes read by receive_move, and calls the user for what they complete. */
static void advance(conn *c, size_t n)
{
    in_frame *in = &c->in;
    if (in->in_payload) {
        uint64_t left = in->bytes - in->done_bytes;
        size_t taken = n < left ? n : (size_t)left;
        in->done_bytes += taken;
        if (in->done_bytes == in->bytes)
            end_frame(c, n - taken);
    } else {
        in->header_done += n;
    }
    if (c->closing || in->in_payload || in->header_done < c->handlers.framing.header_bytes)
        return;
    begin_payload(c);
    if (!c->closing && in->bytes == 0)
        end_frame(c, 0);
}

static void end_of_stream(conn *c)
{
    if (c->in.in_payload || c->in.header_done > 0)
        conn_fail(c, EDGEPS_IO, "closed by the peer in the middle of a frame");
    else
        conn_fail(c, EDGEPS_OK, "closed by the peer");
}

int64_t receive_wants(conn *c, int64_t now_ns, int64_t *wake_ns)
{
    (void)now_ns;
    (void)wake_ns;
    if (c->in.in_payload)
        return (int64_t)(c->in.bytes - c->in.done_bytes);
    return (int64_t)(c->handlers.framing.header_bytes - c->in.header_done);
}

/* The places for the next bytes: the rest of the payload and the header after it, or the rest of
 * the header at hand; at most `limit` bytes. */
static void places(conn *c, size_t limit, struct iovec *pieces, int *count)
{
    in_frame *in = &c->in;
    size_t header_bytes = c->handlers.framing.header_bytes, payload = 0;
    uint8_t *header = in->header[in->current] + in->header_done;
    size_t wanted = header_bytes - in->header_done;
    if (in->in_payload) {
        uint64_t left = in->bytes - in->done_bytes;
        payload = left < limit ? (size_t)left : limit;
        pieces[(*count)++] = (struct iovec){in->payload + in->done_bytes, payload};
        header = in->header[1 - in->current];
        wanted = header_bytes;
    }
    if (wanted > limit - payload)
        wanted = limit - payload;
    if (wanted > 0)
        pieces[(*count)++] = (struct iovec){header, wanted};
}

lane_result receive_move(conn *c, int64_t limit, int64_t *moved)
{
    struct iovec pieces[2];
    int count = 0;
    bool more = false;
    places(c, (size_t)limit, pieces, &count);
    ssize_t n = stream_read(c, pieces, count, &more);
    if (n > 0) {
        *moved = n;
        advance(c, (size_t)n);
    } else if (n == 0) {
        end_of_stream(c);
    } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
        conn_fail(c, EDGEPS_IO, "%s", stream_error(c, errno));
    }
    if (!c->closing && more)
        return LANE_MORE;
    conn_poll_for(c, c->interest | UV_READABLE);
    return LANE_EMPTY;
}

static lane_result receive_free(conn *c, int64_t budget)
{
    lane_result result = LANE_MORE;
    for (int64_t moved = 0; result == LANE_MORE && budget > 0; budget -= moved)
        result = receive_move(c, budget, &moved);
    return result;
}

void receive_ready(conn *c)
{
    if (c->closing)
        return;
    if (lane_limits(&c->owner->down, &c->down)) {
        conn_poll_for(c, c->interest & ~UV_READABLE);
        lane_join(&c->owner->down, &c->down);
    } else {
        /* What the session holds already does not make the socket readable. */
        if (receive_free(c, READY_BYTES) == LANE_MORE && c->session && !c->closing)
            lane_join(&c->owner->down, &c->down);
    }
}

void receive_rest(conn *c, const char *reason)
{
    receive_free(c, INT64_MAX);
    conn_fail(c, EDGEPS_IO, "%s", reason);
}
