/* What the files of this room share. A connection's life: made by connect or accept; queued frames
 * and readable sockets put it into the lanes; conn_fail takes it out of everything and closes the
 * socket at once; the pump, which runs before each sleep, then delivers the last callbacks, and
 * libuv's closing phase frees it. So a pointer stays good until control is back in libuv. */
#ifndef EDGEPS_LOOP_LOOP_INT_H
#define EDGEPS_LOOP_LOOP_INT_H

#include "base/heap.h"
#include "loop/lane.h"
#include "loop/loop.h"
#include "loop/thread_int.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <uv.h>

typedef struct out_frame {
    STAILQ_ENTRY(out_frame) places;
    const void *payload;
    uint64_t bytes;
    uint64_t done_bytes; /* of header and payload together */
    int64_t not_before_ns;
    void (*sent)(void *ctx, edgeps_err err);
    void *ctx;
    size_t header_bytes;
    uint8_t header[];
} out_frame;

STAILQ_HEAD(out_queue, out_frame);

/* The receiving side: `header[current]` is the frame at hand; the other one takes the first bytes
 * of the next frame, which are read in one call with the end of a payload. */
typedef struct in_frame {
    uint8_t header[2][LOOP_MAX_HEADER_BYTES];
    int current;
    size_t header_done;
    bool in_payload;
    uint8_t *payload;
    uint64_t bytes;
    uint64_t done_bytes;
} in_frame;

struct conn {
    uv_poll_t poll; /* first: its `data` frees the connection */
    loop *owner;
    int fd;
    int interest; /* what is polled for: UV_READABLE | UV_WRITABLE */
    bool polled;  /* `poll` is a handle of libuv's and must be closed as one */
    bool attached;
    bool accepted;
    bool connecting;
    bool greeting;             /* the TLS session is not open yet */
    trust_session *session;    /* NULL: plain */
    loop_listener *door;       /* of an accepted one as long as it is a stranger */
    int64_t stranger_until_ns; /* 0: no stranger */
    TAILQ_ENTRY(conn) strangers;
    bool closing;
    bool stalled; /* the socket takes no more: waits for UV_WRITABLE */
    loop_handlers handlers;
    void *ctx;
    struct out_queue out;
    uint64_t queued_bytes;
    in_frame in;
    lane_member up;
    lane_member down;
    edgeps_err fate; /* what `closed` will be told */
    char fate_text[512];
    char peer[80];
    TAILQ_ENTRY(conn) siblings; /* in loop.conns, in loop.closing once that has begun */
};

TAILQ_HEAD(conn_list, conn);

struct loop_listener {
    uv_poll_t poll; /* first, as in conn */
    loop *owner;
    int fd;
    int port;
    loop_acceptor acceptor;
    TAILQ_ENTRY(loop_listener) siblings;
};

TAILQ_HEAD(listener_list, loop_listener);

enum { VISITORS = 64 };

/* An address that connections came from of late. */
typedef struct visitor {
    struct in6_addr host;
    int64_t seen_ns; /* 0: free */
    double tokens;   /* connections that it may open at once */
} visitor;

struct loop {
    uv_loop_t uv;
    uv_prepare_t before_sleep;
    uv_poll_t wake; /* of wake_fd, a clock in nanoseconds for lanes and timers */
    int wake_fd;
    int64_t wake_ns; /* what it is set to; LINK_NEVER: off */
    int spare_fd;    /* given up for a moment to accept and drop when descriptors run out */
    bool ending;
    heap timers; /* ids are loop_timer pointers; cancelled ones stay until they are due */
    lane up;
    lane down;
    struct out_queue finished; /* frames whose `sent` is due */
    const trust *keys;         /* NULL: plain */
    struct sockaddr_storage source;
    socklen_t source_length;    /* 0: any */
    unsigned patience_ms;       /* 0: the system's */
    struct conn_list strangers; /* in the order of their coming */
    size_t knocking;            /* accepted ones among them */
    int64_t refusals_from_ns;   /* begin of the second in which refusals are counted */
    long refusals;
    void (*refused)(void *ctx, const char *text); /* NULL: they are logged */
    void *refused_ctx;
    size_t most_accepted; /* 0: no limit */
    size_t accepted;      /* that live */
    visitor visitors[VISITORS];
    struct conn_list conns;
    struct conn_list closing;
    struct listener_list listeners;
};

typedef struct address {
    struct sockaddr_storage storage;
    socklen_t length;
    char text[80];
} address;

/* address.c */
edgeps_err address_parse(const char *host, int port, edgeps_diag *diag, address *out);
void address_describe(address *a); /* fills `text` from `storage` */
int address_port(const address *a);
const char *address_errno_text(int error);
int address_socket(const loop *l, int family);  /* TCP, not blocking; -1 and errno */
void address_fit_window(const loop *l, int fd); /* before a handshake only */

/* conn.c */
edgeps_err conn_make(loop *l, int fd, const char *peer, conn **out); /* owns fd, also on failure */
void conn_poll_for(conn *c, int interest);
void conn_fail(conn *c, edgeps_err err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void conn_open(conn *c); /* frames may flow */
void conn_deliver_end(conn *c);
void conn_set_patience(conn *c);
void conn_fit_buffers(conn *c);

/* greet.c. Strangers: connections that have not yet shown what they are for. */
void stranger_begin(conn *c, loop_listener *door);
void stranger_end(conn *c);
bool strangers_expire(loop *l, int64_t now_ns, int64_t *wake_ns); /* as timers_fire */
bool greet_begin(conn *c, bool accepts); /* false: the connection has failed */
void greet_on(conn *c);

/* guard.c. Why a connection that comes is not taken; NULL: it is. */
const char *guard_refuses(loop *l, const address *peer);

/* stream.c. Like readv and sendmsg, enciphered or not; `*more`: another call is worth while. */
ssize_t stream_read(conn *c, struct iovec *pieces, int count, bool *more);
ssize_t stream_write(conn *c, struct iovec *pieces, int count, bool *more);
const char *stream_error(const conn *c, int error);

/* send.c */
int64_t send_wants(conn *c, int64_t now_ns, int64_t *wake_ns);
lane_result send_move(conn *c, int64_t limit, int64_t *moved);
void send_deliver(struct out_queue *queue, edgeps_err err);

/* receive.c */
int64_t receive_wants(conn *c, int64_t now_ns, int64_t *wake_ns);
lane_result receive_move(conn *c, int64_t limit, int64_t *moved);
void receive_ready(conn *c);
/* What came before the connection broke, often the peer's last word, and then its end. */
void receive_rest(conn *c, const char *reason);

/* task.c. The timers that are due; true when one fired. Lowers `*wake_ns` to the next one. */
bool timers_fire(loop *l, int64_t now_ns, int64_t *wake_ns);
void timers_drop(loop *l);

/* pump.c */
edgeps_err pump_start(loop *l);
void pump_run(loop *l);

/* loop.c. Frees what `data` of a closed handle points to. */
void loop_free_handle(uv_handle_t *handle);

#endif
