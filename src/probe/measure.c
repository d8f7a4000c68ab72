#include "probe/probe.h"

#include "base/clock.h"
#include "probe/line_int.h"
#include "probe/request_int.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 10000
#define PIECE_BYTES (64 * 1024)
#define PINGS 9
#define WINDOW_BYTES 32768.0
#define WINDOW_S 5e-3

/* A connection that measures. */
typedef struct flow {
    line line;
    answer answer;
    size_t heard; /* bytes of the answer */
} flow;

static edgeps_err fail_peer(const probe_peer *p, const char *why, edgeps_diag *diag)
{
    return diag_fail(diag, EDGEPS_IO, "%s:%d cannot be probed: %s", p->address, p->port, why);
}

static bool waits_for(int fd, short events)
{
    struct pollfd wait = {.fd = fd, .events = events};
    int count;
    while ((count = poll(&wait, 1, PATIENCE_MS)) < 0 && errno == EINTR)
        ;
    if (count == 0)
        errno = ETIMEDOUT;
    return count == 1;
}

static int connect_to(const struct addrinfo *there)
{
    int error = 0, fd = socket(there->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = sizeof error;
    bool good = fd >= 0 && (connect(fd, there->ai_addr, there->ai_addrlen) == 0 ||
                            (errno == EINPROGRESS && waits_for(fd, POLLOUT)));
    if (good && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
        return fd;
    error = error ? error : errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
}

static int reach(const probe_peer *p)
{
    char port[16];
    struct addrinfo *there = NULL;
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    snprintf(port, sizeof port, "%d", p->port);
    if (getaddrinfo(p->address, port, &hints, &there)) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    int fd = connect_to(there);
    freeaddrinfo(there);
    return fd;
}

static edgeps_err open_line(const probe_how *how, const probe_peer *p, edgeps_diag *diag, line *l)
{
    char who[TRUST_MAX_WHO + 1];
    if (how->keys && !trust_node(p->node, who))
        return fail_peer(p, "that is no node's name", diag);
    int fd = reach(p);
    if (fd < 0)
        return fail_peer(p, strerror(errno), diag);
    if (line_open(l, fd, how->keys, false))
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for TLS");
    if (l->session)
        trust_expect(l->session, who);
    return EDGEPS_OK;
}

/* What is still on its way is dropped, so that it is in nobody's way. */
static void hang_up(line *l)
{
    const struct linger at_once = {.l_onoff = 1};
    if (l->fd < 0)
        return;
    setsockopt(l->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    line_close(l);
}

/* Waits for what stops a step. */
static bool goes_on(const line *l, trust_step step)
{
    return (step == TRUST_READS && waits_for(l->fd, POLLIN)) ||
           (step == TRUST_WRITES && waits_for(l->fd, POLLOUT));
}

static const char *why_not(const line *l, trust_step step)
{
    return step == TRUST_READS || step == TRUST_WRITES ? strerror(errno) : line_why(l);
}

/* A connection that has asked; it is open where l->fd is not -1. */
static edgeps_err ask(const probe_how *how, const probe_peer *p, const request *r,
                      edgeps_diag *diag, line *l)
{
    size_t taken = 0;
    trust_step step;
    edgeps_err err = open_line(how, p, diag, l);
    if (err)
        return err;
    while ((step = line_write(l, r, sizeof *r, &taken)) != TRUST_DONE)
        if (!goes_on(l, step))
            return fail_peer(p, why_not(l, step), diag);
    return taken == sizeof *r ? EDGEPS_OK : fail_peer(p, "it takes no request", diag);
}

/* TRUST_DONE: the answer is there. */
static trust_step take_answer(flow *f, probe_peer *p)
{
    const answer *a = &f->answer;
    size_t got;
    trust_step step =
        line_read(&f->line, (char *)&f->answer + f->heard, sizeof f->answer - f->heard, &got);
    f->heard += got;
    if (step == TRUST_DONE && f->heard < sizeof *a)
        return TRUST_READS;
    if (step == TRUST_DONE)
        p->rate_bytes_per_s =
            a->took_ns > 0 ? (double)a->bytes * CLOCK_NS_PER_S / (double)a->took_ns : 0;
    return step;
}

/* TRUST_DONE: its answer is there, and it is closed. */
static trust_step flow_on(flow *f, short ready, probe_peer *p)
{
    static const char piece[PIECE_BYTES];
    size_t taken;
    trust_step step = TRUST_READS;
    if (ready & (POLLIN | POLLHUP | POLLERR))
        step = take_answer(f, p);
    if (step == TRUST_DONE)
        hang_up(&f->line);
    else if (step == TRUST_READS && ready & POLLOUT &&
             line_write(&f->line, piece, sizeof piece, &taken) == TRUST_BROKEN)
        step = TRUST_BROKEN;
    return step;
}

static edgeps_err run(flow *flows, probe_peer *peers, size_t count, int64_t end_ns,
                      edgeps_diag *diag)
{
    struct pollfd waiting[PROBE_MOST_PEERS];
    size_t answered = 0;
    while (answered < count) {
        int64_t left_ns = end_ns - clock_now_ns();
        if (left_ns <= 0)
            return diag_fail(diag, EDGEPS_IO, "%zu of %zu probes were not answered",
                             count - answered, count);
        for (size_t k = 0; k < count; k++)
            waiting[k] = (struct pollfd){.fd = flows[k].line.fd, .events = POLLIN | POLLOUT};
        poll(waiting, count, (int)(left_ns / 1000000) + 1);
        for (size_t k = 0; k < count; k++) {
            trust_step step = waiting[k].fd >= 0 ? flow_on(&flows[k], waiting[k].revents, &peers[k])
                                                 : TRUST_READS;
            if (step == TRUST_BROKEN || step == TRUST_ENDED)
                return fail_peer(&peers[k], line_why(&flows[k].line), diag);
            answered += step == TRUST_DONE;
        }
    }
    return EDGEPS_OK;
}

/* No more on its way than keeps a path of this rate busy. */
static void restrain(int fd, double bytes_per_s)
{
    struct tcp_info info;
    socklen_t size = sizeof info;
    double there_and_back_s = 0;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0)
        there_and_back_s = (double)info.tcpi_rtt * 1e-6;
    double bytes = fmax(WINDOW_BYTES, (WINDOW_S + there_and_back_s) * bytes_per_s);
    int window = (int)fmin(bytes, INT_MAX / 4);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &window, sizeof window);
}

static edgeps_err begin(const probe_how *how, const probe_peer *p, edgeps_diag *diag, line *l)
{
    const request r = {.token = how->token,
                       .kind = REQUEST_RATE,
                       .settle_ns = (int64_t)(how->settle_s * CLOCK_NS_PER_S),
                       .window_ns = (int64_t)(how->window_s * CLOCK_NS_PER_S)};
    unsigned pace = (unsigned)fmax(1, fmin(p->pace_bytes_per_s, UINT_MAX / 2));
    edgeps_err err = ask(how, p, &r, diag, l);
    if (err)
        return err;
    setsockopt(l->fd, SOL_SOCKET, SO_MAX_PACING_RATE, &pace, sizeof pace);
    if (how->restrained)
        restrain(l->fd, p->pace_bytes_per_s);
    return EDGEPS_OK;
}

edgeps_err probe_send(const probe_how *how, probe_peer *peers, size_t count, edgeps_diag *diag)
{
    flow flows[PROBE_MOST_PEERS];
    edgeps_err err = EDGEPS_OK;
    for (size_t k = 0; k < count; k++)
        flows[k] = (flow){.line = {.fd = -1}};
    for (size_t k = 0; !err && k < count; k++)
        err = begin(how, &peers[k], diag, &flows[k].line);
    double most_s = how->settle_s + how->window_s + PATIENCE_MS / 1e3;
    if (!err)
        err = run(flows, peers, count, clock_now_ns() + (int64_t)(most_s * CLOCK_NS_PER_S), diag);
    for (size_t k = 0; k < count; k++)
        hang_up(&flows[k].line);
    return err;
}

/* Once there and back. */
static edgeps_err ping(line *l, probe_peer *p, edgeps_diag *diag)
{
    char there[PING_BYTES] = "edgeps", back[PING_BYTES];
    size_t more = 0;
    int64_t sent_ns = clock_now_ns();
    trust_step step = line_write(l, there, sizeof there, &more);
    if (step != TRUST_DONE || more != sizeof there)
        return fail_peer(p, step == TRUST_DONE ? "it takes no ping" : why_not(l, step), diag);
    for (size_t got = 0; got < sizeof back; got += more) {
        while ((step = line_read(l, back + got, sizeof back - got, &more)) != TRUST_DONE)
            if (!goes_on(l, step))
                return fail_peer(p, why_not(l, step), diag);
    }
    p->there_and_back_s = fmin(p->there_and_back_s, clock_since_s(sent_ns));
    return EDGEPS_OK;
}

edgeps_err probe_ping(const probe_how *how, probe_peer *peers, size_t count, edgeps_diag *diag)
{
    const request r = {.token = how->token, .kind = REQUEST_PING};
    edgeps_err err = EDGEPS_OK;
    for (size_t k = 0; !err && k < count; k++) {
        line l = {.fd = -1};
        peers[k].there_and_back_s = INFINITY;
        err = ask(how, &peers[k], &r, diag, &l);
        for (int turn = 0; !err && turn < PINGS; turn++)
            err = ping(&l, &peers[k], diag);
        hang_up(&l);
    }
    return err;
}
