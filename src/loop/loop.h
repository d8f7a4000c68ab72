/* The event loop and framed connections, on libuv: the only room that touches the network.
 *
 * One thread runs everything; callbacks come from loop_run alone, never from inside the call that
 * causes them, except that loop_free delivers the last ones. A connection carries frames both ways:
 * a header of fixed size and a payload whose size the header tells (`loop_framing`; this room does
 * not know what else stands in a header). Payloads are borrowed for sending and received where the
 * user wants them, so bulk bytes are not copied here; a TLS session copies them once on each side.
 *
 * Links are emulated where asked: `loop_set_rates` gives this process one up and one down link that
 * all shaped connections share fairly (deficit round robin, Shreedhar and Varghese 1995), and each
 * of them may have a cap of its own. A shaped sender meets the receiver's limit through TCP's own
 * back-pressure; socket buffers are kept small for that.
 */
#ifndef EDGEPS_LOOP_LOOP_H
#define EDGEPS_LOOP_LOOP_H

#include "base/err.h"
#include "trust/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOOP_MAX_HEADER_BYTES 128

typedef struct loop loop;
typedef struct loop_timer loop_timer;
typedef struct loop_listener loop_listener;
typedef struct conn conn;

/* How to find the end of a frame. `payload_bytes` reads the size out of a complete header or
 * refuses it, which closes the connection with the diagnosis; it is where sizes are limited. */
typedef struct loop_framing {
    size_t header_bytes; /* 1 to LOOP_MAX_HEADER_BYTES */
    edgeps_err (*payload_bytes)(void *ctx, const uint8_t *header, uint64_t *bytes,
                                edgeps_diag *diag);
} loop_framing;

/* What a connection calls; `ctx` is the one given with the handlers. Each may call anything of this
 * room, conn_close on the very connection included. */
typedef struct loop_handlers {
    loop_framing framing;
    /* A connection of loop_connect is open, or failed: then `closed` follows with the text. Not
     * called for accepted connections. May be NULL. */
    void (*opened)(void *ctx, conn *c, edgeps_err err);
    /* Where `bytes` (at least 1) of payload go; they must stay valid until `frame` or `closed`.
     * NULL refuses the frame and closes the connection. */
    void *(*payload_buffer)(void *ctx, conn *c, const uint8_t *header, uint64_t bytes);
    /* A frame is complete. `payload` is what payload_buffer gave, NULL for an empty payload. */
    void (*frame)(void *ctx, conn *c, const uint8_t *header, void *payload);
    /* The last callback of every connection, exactly once, after the `sent` of all its frames.
     * EDGEPS_OK: closed here, or by the peer between two frames. `c` is gone when it returns. */
    void (*closed)(void *ctx, conn *c, edgeps_err err, const char *text);
    bool from_source; /* a connection of loop_connect leaves from the loop's source */
} loop_handlers;

/* Who takes the connections of a listener. `accepted` calls conn_attach, or the connection is
 * closed again without a further callback. */
typedef struct loop_acceptor {
    void (*accepted)(void *ctx, conn *c);
    void *ctx;
} loop_acceptor;

/* A frame to send. The header is copied; the payload stays the caller's and must not change until
 * `sent`, which is called exactly once: EDGEPS_OK when the kernel has taken all bytes. */
typedef struct conn_frame {
    const uint8_t *header;
    const void *payload; /* NULL for an empty one */
    uint64_t bytes;
    int64_t delay_ns; /* the frame does not start earlier than this from now: latency of the link */
    void (*sent)(void *ctx, edgeps_err err); /* may be NULL */
    void *ctx;
} conn_frame;

edgeps_err loop_make(edgeps_diag *diag, loop **out);

/* Ends all: connections get their last callbacks, running work is waited for and its `done` called,
 * timers are dropped. From then on nothing can be started. NULL is fine. */
void loop_free(loop *l);

/* Runs until loop_stop; sleeps when there is nothing to do. May be called again. */
void loop_run(loop *l);

/* Lets loop_run return after the callbacks at hand. */
void loop_stop(loop *l);

/* Calls `fire` once, `delay_ns` from now or a little later. The timer is gone when `fire` begins.
 * `out` may be NULL. EDGEPS_NOMEM, EDGEPS_CANCELLED after loop_free. */
edgeps_err loop_timer_start(loop *l, int64_t delay_ns, void (*fire)(void *ctx), void *ctx,
                            loop_timer **out);

/* Drops a timer that has not fired; NULL is fine. */
void loop_timer_cancel(loop_timer *t);

/* Runs `work` on the one worker thread, in the order of the calls, and then `done` on the loop's.
 */
edgeps_err loop_work(loop *l, void (*work)(void *ctx), void (*done)(void *ctx), void *ctx);

/* Calls `caught` on the loop's thread each time the signal arrives. */
edgeps_err loop_on_signal(loop *l, int signo, void (*caught)(void *ctx, int signo), void *ctx);

/* From now on every connection is a TLS session between members of a job; before the first one.
 * An accepted one comes to its acceptor when the peer is known, and else to nobody: the refusal is
 * logged. `keys` outlive the loop. */
void loop_secure(loop *l, const trust *keys);

/* Whether a host is this one for sure: 127.0.0.0/8 or ::1. False also for what is no address. */
bool loop_is_loopback(const char *host);

/* From now on connections whose handlers ask for it leave from this address; EDGEPS_IO when it is
 * none. */
edgeps_err loop_set_source(loop *l, const char *host, edgeps_diag *diag);

/* Listens on this address only; port 0 takes any free one. EDGEPS_IO in one line when it cannot. */
edgeps_err loop_listen(loop *l, const char *host, int port, const loop_acceptor *acceptor,
                       edgeps_diag *diag, loop_listener **out);

/* From now on no more than `most` accepted connections live at a time, and an address opens no more
 * than that at once, and in ten seconds; others are refused. */
void loop_limit(loop *l, size_t most);

/* Tells of a connection that was refused, "10.0.0.2:7000: why": to `refused` of loop_on_refusal, or
 * else to the log. Five in a second, and then their number. The room tells of its own refusals in
 * the same way. */
void loop_refuse(loop *l, const char *text);
void loop_on_refusal(loop *l, void (*refused)(void *ctx, const char *text), void *ctx);

int loop_listener_port(const loop_listener *listener);

/* Stops listening; accepted connections live on. */
void loop_listener_close(loop_listener *listener);

/* Connects in the background; `opened` tells how it went. Frames may be queued at once. A host that
 * is a name is looked up on the spot, so give addresses. EDGEPS_NOMEM, EDGEPS_CANCELLED. */
edgeps_err loop_connect(loop *l, const char *host, int port, const loop_handlers *handlers,
                        void *ctx, conn **out);

/* The rates of this process' link, shared by all shaped connections; INFINITY: no limit, 0: cut
 * off. Headers and payloads count. Takes effect at once, also for frames on their way. */
void loop_set_rates(loop *l, double up_bytes_per_s, double down_bytes_per_s);

/* A connection has broken when the other end's kernel has taken nothing of what is due for so long:
 * TCP_USER_TIMEOUT, RFC 5482. For those that are there and those to come; 0: as the system does. */
void loop_set_patience(loop *l, double seconds);

/* Lets only this member ("coordinator", "node/NAME") answer on a connection of loop_connect; right
 * after it. Without loop_secure it does nothing. */
void conn_expect(conn *c, const char *who);

/* Who the peer is by its certificate; NULL where the loop is not secured. */
const char *conn_member(const conn *c);

/* Gives an accepted connection its handlers; the structure is copied. */
void conn_attach(conn *c, const loop_handlers *handlers, void *ctx);

/* Lets a connection take part in shaping, with caps of its own (INFINITY: none). */
void conn_shape(conn *c, double up_cap_bytes_per_s, double down_cap_bytes_per_s);

/* Queues a frame behind those already queued; O(1). On an error `sent` is not called: EDGEPS_NOMEM,
 * EDGEPS_IO on a connection that has broken or was closed and whose `closed` is still to come. */
edgeps_err conn_send(conn *c, const conn_frame *frame);

/* Closes at once: frames still queued get `sent` with EDGEPS_CANCELLED, then `closed` follows. */
void conn_close(conn *c);

/* "10.0.0.2:7000"; valid as long as the connection. */
const char *conn_peer_text(const conn *c);

/* Bytes of headers and payloads that are queued and not yet with the kernel. */
uint64_t conn_queued_bytes(const conn *c);

#endif
