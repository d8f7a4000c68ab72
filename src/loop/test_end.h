/* For the tests of this room: a frame of 8 header bytes (its payload's size), an end of a
 * connection that counts its callbacks, and plain blocking sockets as the other side. */
#ifndef EDGEPS_LOOP_TEST_END_H
#define EDGEPS_LOOP_TEST_END_H

#include "base/mem.h"
#include "loop/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define END_MAX_BYTES 4000000

typedef struct end {
    loop *l;
    conn *c;
    int opened, closed, frames, sent_ok, sent_failed;
    uint64_t bytes; /* payload of complete frames */
    edgeps_err open_err, close_err;
    char close_text[256];
    void *buffer; /* of the payload at hand */
    int stop_at_frames, stop_at_open;
    int *open_ends; /* the loop stops when this many ends have been closed; may be NULL */
    void (*on_frame)(struct end *e, const uint8_t *header, void *payload);
} end;

static inline edgeps_err end_payload_bytes(void *ctx, const uint8_t *header, uint64_t *bytes,
                                           edgeps_diag *diag)
{
    (void)ctx;
    memcpy(bytes, header, sizeof *bytes);
    if (*bytes > END_MAX_BYTES)
        return diag_fail(diag, EDGEPS_PROTOCOL, "a frame of %llu bytes",
                         (unsigned long long)*bytes);
    return EDGEPS_OK;
}

static inline void end_opened(void *ctx, conn *c, edgeps_err err)
{
    end *e = ctx;
    assert_ptr_equal(c, e->c);
    e->opened++;
    e->open_err = err;
    if (e->stop_at_open)
        loop_stop(e->l);
}

static inline void *end_payload_buffer(void *ctx, conn *c, const uint8_t *header, uint64_t bytes)
{
    end *e = ctx;
    (void)c;
    (void)header;
    mem_free(e->buffer);
    return e->buffer = mem_alloc(bytes, 1);
}

static inline void end_frame_done(void *ctx, conn *c, const uint8_t *header, void *payload)
{
    end *e = ctx;
    uint64_t bytes;
    (void)c;
    memcpy(&bytes, header, sizeof bytes);
    e->frames++;
    e->bytes += bytes;
    if (e->on_frame)
        e->on_frame(e, header, payload);
    if (e->frames == e->stop_at_frames)
        loop_stop(e->l);
}

static inline void end_closed(void *ctx, conn *c, edgeps_err err, const char *text)
{
    end *e = ctx;
    (void)c;
    e->closed++;
    e->close_err = err;
    strncpy(e->close_text, text, sizeof e->close_text - 1);
    mem_free(e->buffer);
    e->buffer = NULL;
    if (e->open_ends && --*e->open_ends == 0)
        loop_stop(e->l);
}

static const loop_handlers end_handlers = {
    .framing = {.header_bytes = 8, .payload_bytes = end_payload_bytes},
    .opened = end_opened,
    .payload_buffer = end_payload_buffer,
    .frame = end_frame_done,
    .closed = end_closed,
};

/* An acceptor's ctx is an array of ends, filled in the order of arrival. */
typedef struct acceptance {
    end *ends;
    int count;
} acceptance;

static inline void end_accept(void *ctx, conn *c)
{
    acceptance *a = ctx;
    end *e = &a->ends[a->count++];
    e->c = c;
    conn_attach(c, &end_handlers, e);
}

static inline void end_sent(void *ctx, edgeps_err err)
{
    end *e = ctx;
    if (err)
        e->sent_failed++;
    else
        e->sent_ok++;
}

static inline edgeps_err end_send(end *e, const void *payload, uint64_t bytes, int64_t delay_ns)
{
    uint8_t header[8];
    memcpy(header, &bytes, sizeof bytes);
    return conn_send(e->c, &(conn_frame){.header = header,
                                         .payload = payload,
                                         .bytes = bytes,
                                         .delay_ns = delay_ns,
                                         .sent = end_sent,
                                         .ctx = e});
}

static inline loop_listener *end_listen(loop *l, acceptance *a)
{
    loop_listener *listener = NULL;
    edgeps_diag diag = {.text = ""};
    const loop_acceptor acceptor = {.accepted = end_accept, .ctx = a};
    if (loop_listen(l, "127.0.0.1", 0, &acceptor, &diag, &listener))
        fail_msg("%s", diag.text);
    return listener;
}

static inline int plain_connect(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        return -1;
    return fd;
}

static inline int plain_listen(int *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t length = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 8) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &length) != 0)
        return -1;
    *port = ntohs(at.sin_port);
    return fd;
}

/* Writes all of it, or says no. */
static inline int plain_write(int fd, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    while (count > 0) {
        ssize_t n = send(fd, at, count, MSG_NOSIGNAL);
        if (n <= 0)
            return 0;
        at += n;
        count -= (size_t)n;
    }
    return 1;
}

#endif
