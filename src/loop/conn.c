#include "loop/loop_int.h"

#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void conn_open(conn *c)
{
    c->connecting = false;
    conn_poll_for(c, UV_READABLE);
    if (!STAILQ_EMPTY(&c->out))
        lane_join(&c->owner->up, &c->up);
    if (c->handlers.opened)
        c->handlers.opened(c->ctx, c, EDGEPS_OK);
}

/* TCP lets a socket reach itself where its own port, chosen by the kernel, is the one that it calls
 * and nobody listens there (RFC 9293, simultaneous open). */
static bool has_met_itself(const conn *c)
{
    struct sockaddr_storage own = {0}, other = {0};
    socklen_t own_length = sizeof own, other_length = sizeof other;
    return getsockname(c->fd, (struct sockaddr *)&own, &own_length) == 0 &&
           getpeername(c->fd, (struct sockaddr *)&other, &other_length) == 0 &&
           own_length == other_length && memcmp(&own, &other, own_length) == 0;
}

static void finish_connect(conn *c)
{
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    if (error != 0) {
        conn_fail(c, EDGEPS_IO, "%s", address_errno_text(error));
        return;
    }
    if (has_met_itself(c)) {
        conn_fail(c, EDGEPS_IO, "nobody listens");
        return;
    }
    if (!c->session)
        conn_open(c);
    else if (greet_begin(c, false)) {
        stranger_begin(c, NULL);
        greet_on(c);
    }
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    conn *c = poll->data;
    if (c->greeting) {
        greet_on(c);
        return;
    }
    if (c->connecting) {
        finish_connect(c);
        return;
    }
    if (status < 0) {
        /* libuv has stopped polling; the socket itself knows the reason. */
        c->interest = 0;
        receive_rest(c, "the connection broke");
        return;
    }
    if (events & UV_WRITABLE) {
        c->stalled = false;
        conn_poll_for(c, c->interest & ~UV_WRITABLE);
        lane_join(&c->owner->up, &c->up);
    }
    if (events & UV_READABLE)
        receive_ready(c);
}

void conn_set_patience(conn *c)
{
    unsigned patience_ms = c->owner->patience_ms;
    setsockopt(c->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof patience_ms);
}

edgeps_err conn_make(loop *l, int fd, const char *peer, conn **out)
{
    conn *c = mem_alloc(1, sizeof *c);
    if (!c) {
        if (fd >= 0)
            close(fd);
        return EDGEPS_NOMEM;
    }
    c->owner = l;
    c->fd = fd;
    c->up.owner = c->down.owner = c;
    c->up.cap.bytes_per_s = c->down.cap.bytes_per_s = INFINITY;
    STAILQ_INIT(&c->out);
    snprintf(c->peer, sizeof c->peer, "%s", peer);
    c->polled = fd >= 0 && uv_poll_init(&l->uv, &c->poll, fd) == 0;
    c->poll.data = c;
    TAILQ_INSERT_TAIL(&l->conns, c, siblings);
    if (c->polled) {
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        conn_set_patience(c);
    } else {
        conn_fail(c, EDGEPS_IO, "%s", address_errno_text(errno));
    }
    *out = c;
    return EDGEPS_OK;
}

void conn_poll_for(conn *c, int interest)
{
    if (c->closing || interest == c->interest)
        return;
    c->interest = interest;
    int status = interest ? uv_poll_start(&c->poll, interest, on_event) : uv_poll_stop(&c->poll);
    if (status != 0)
        conn_fail(c, EDGEPS_IO, "%s", uv_strerror(status));
}

void conn_fail(conn *c, edgeps_err err, const char *format, ...)
{
    if (c->closing)
        return;
    va_list args;
    va_start(args, format);
    int used = snprintf(c->fate_text, sizeof c->fate_text, "%s: ", c->peer);
    vsnprintf(c->fate_text + used, sizeof c->fate_text - (size_t)used, format, args);
    va_end(args);
    c->closing = true;
    c->fate = err;
    stranger_end(c);
    c->owner->accepted -= c->accepted;
    lane_leave(&c->owner->up, &c->up);
    lane_leave(&c->owner->down, &c->down);
    if (c->polled)
        uv_poll_stop(&c->poll);
    if (c->fd >= 0)
        shutdown(c->fd, SHUT_RDWR);
    TAILQ_REMOVE(&c->owner->conns, c, siblings);
    TAILQ_INSERT_TAIL(&c->owner->closing, c, siblings);
}

void conn_deliver_end(conn *c)
{
    TAILQ_REMOVE(&c->owner->closing, c, siblings);
    if (c->connecting && c->handlers.opened)
        c->handlers.opened(c->ctx, c, c->fate ? c->fate : EDGEPS_CANCELLED);
    trust_session_free(c->session);
    c->session = NULL;
    send_deliver(&c->out, c->fate ? c->fate : EDGEPS_CANCELLED);
    if (c->attached)
        c->handlers.closed(c->ctx, c, c->fate, c->fate_text);
    /* uv_close takes the descriptor out of epoll: its number must not be another's by then. */
    int fd = c->fd;
    if (c->polled)
        uv_close((uv_handle_t *)&c->poll, loop_free_handle);
    else
        mem_free(c);
    if (fd >= 0)
        close(fd);
}

void conn_attach(conn *c, const loop_handlers *handlers, void *ctx)
{
    c->handlers = *handlers;
    c->ctx = ctx;
    c->attached = true;
    if (!c->connecting)
        conn_poll_for(c, c->interest | UV_READABLE);
}

/* The port is the kernel's choice at connect, when it knows the other end. */
static bool take_source(conn *c, const address *to)
{
    const loop *l = c->owner;
    int on = 1;
    if (!c->handlers.from_source || l->source_length == 0 ||
        l->source.ss_family != to->storage.ss_family)
        return true;
    setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    return bind(c->fd, (const struct sockaddr *)&l->source, l->source_length) == 0;
}

static void start_connect(conn *c, const address *to)
{
    if (!take_source(c, to)) {
        conn_fail(c, EDGEPS_IO, "%s", address_errno_text(errno));
        return;
    }
    /* EINTR leaves the attempt running, as EINPROGRESS does. */
    if (connect(c->fd, (const struct sockaddr *)&to->storage, to->length) != 0 &&
        errno != EINPROGRESS && errno != EINTR)
        conn_fail(c, EDGEPS_IO, "%s", address_errno_text(errno));
    conn_poll_for(c, UV_WRITABLE);
}

edgeps_err loop_connect(loop *l, const char *host, int port, const loop_handlers *handlers,
                        void *ctx, conn **out)
{
    address to;
    edgeps_diag diag;
    conn *c = NULL;
    if (l->ending)
        return EDGEPS_CANCELLED;
    edgeps_err wrong = address_parse(host, port, &diag, &to);
    int family = wrong ? AF_INET : to.storage.ss_family;
    int fd = address_socket(l, family);
    edgeps_err err = conn_make(l, fd, wrong ? host : to.text, &c);
    if (err)
        return err;
    c->connecting = true;
    if (l->keys && !c->closing && trust_session_make(l->keys, fd, false, &c->session))
        conn_fail(c, EDGEPS_NOMEM, "no memory for TLS");
    conn_attach(c, handlers, ctx);
    if (wrong)
        conn_fail(c, wrong, "%s", diag.text);
    else if (!c->closing)
        start_connect(c, &to);
    *out = c;
    return EDGEPS_OK;
}

void conn_fit_buffers(conn *c)
{
    double rate = fmin(c->owner->up.link.bytes_per_s, c->up.cap.bytes_per_s);
    int bytes = link_buffer_bytes(rate);
    if (c->up.shaped && isfinite(rate))
        setsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

void conn_shape(conn *c, double up_cap_bytes_per_s, double down_cap_bytes_per_s)
{
    if (c->closing)
        return;
    c->up.shaped = c->down.shaped = true;
    c->up.cap.bytes_per_s = up_cap_bytes_per_s;
    c->down.cap.bytes_per_s = down_cap_bytes_per_s;
    conn_fit_buffers(c);
}

void conn_close(conn *c) { conn_fail(c, EDGEPS_OK, "closed here"); }

const char *conn_peer_text(const conn *c) { return c->peer; }

uint64_t conn_queued_bytes(const conn *c) { return c->queued_bytes; }
