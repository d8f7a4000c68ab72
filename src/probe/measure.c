#include "probe/probe.h"

#include "base/clock.h"
#include "base/mem.h"
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

static edgeps_err fail_peer(const probe_peer *p, edgeps_diag *diag)
{
    return diag_fail(diag, EDGEPS_IO, "%s:%d cannot be probed: %s", p->address, p->port,
                     strerror(errno));
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
    int error = 0, on = 1,
        fd = socket(there->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = sizeof error;
    bool good = fd >= 0 && (connect(fd, there->ai_addr, there->ai_addrlen) == 0 ||
                            (errno == EINPROGRESS && waits_for(fd, POLLOUT)));
    if (good && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return fd;
    }
    error = error ? error : errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
}

/* A connection that has asked. */
static int ask(const probe_peer *p, const request *r)
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
    if (fd >= 0 && send(fd, r, sizeof *r, MSG_NOSIGNAL) == (ssize_t)sizeof *r)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* What is still on its way is dropped, so that it is in nobody's way. */
static void hang_up(int *fd)
{
    const struct linger at_once = {.l_onoff = 1};
    if (*fd >= 0) {
        setsockopt(*fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(*fd);
    }
    *fd = -1;
}

/* 1: the answer is there; 0: not yet; -1: it will not come. */
static int take_answer(int fd, probe_peer *p)
{
    answer a;
    ssize_t got = recv(fd, &a, sizeof a, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (got == 0) {
        errno = ECONNRESET;
        return -1;
    }
    if (got < (ssize_t)sizeof a)
        return 0;
    p->rate_bytes_per_s = a.took_ns > 0 ? (double)a.bytes * CLOCK_NS_PER_S / (double)a.took_ns : 0;
    return 1;
}

/* Whether the flow goes on. */
static bool push(int fd, const char *piece)
{
    ssize_t sent = send(fd, piece, PIECE_BYTES, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent >= 0 || errno == EAGAIN || errno == EINTR || errno == EPIPE ||
           errno == ECONNRESET; /* the answer came before */
}

static edgeps_err flow(struct pollfd *flows, probe_peer *peers, size_t count, int64_t end_ns,
                       edgeps_diag *diag)
{
    static const char piece[PIECE_BYTES];
    size_t answered = 0;
    while (answered < count) {
        int64_t left_ns = end_ns - clock_now_ns();
        if (left_ns <= 0)
            return diag_fail(diag, EDGEPS_IO, "%zu of %zu probes were not answered",
                             count - answered, count);
        poll(flows, count, (int)(left_ns / 1000000) + 1);
        for (size_t k = 0; k < count; k++) {
            int taken = flows[k].fd >= 0 && flows[k].revents & (POLLIN | POLLHUP | POLLERR)
                            ? take_answer(flows[k].fd, &peers[k])
                            : 0;
            bool good = taken >= 0;
            if (good && taken == 0 && flows[k].fd >= 0 && flows[k].revents & POLLOUT)
                good = push(flows[k].fd, piece);
            if (!good)
                return fail_peer(&peers[k], diag);
            answered += taken == 1;
            if (taken == 1)
                hang_up(&flows[k].fd);
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

static edgeps_err begin(const probe_how *how, probe_peer *p, edgeps_diag *diag, int *fd)
{
    const request r = {.token = how->token,
                       .kind = REQUEST_RATE,
                       .settle_ns = (int64_t)(how->settle_s * CLOCK_NS_PER_S),
                       .window_ns = (int64_t)(how->window_s * CLOCK_NS_PER_S)};
    unsigned pace = (unsigned)fmax(1, fmin(p->pace_bytes_per_s, UINT_MAX / 2));
    *fd = ask(p, &r);
    if (*fd < 0)
        return fail_peer(p, diag);
    setsockopt(*fd, SOL_SOCKET, SO_MAX_PACING_RATE, &pace, sizeof pace);
    if (how->restrained)
        restrain(*fd, p->pace_bytes_per_s);
    return EDGEPS_OK;
}

edgeps_err probe_send(const probe_how *how, probe_peer *peers, size_t count, edgeps_diag *diag)
{
    struct pollfd flows[PROBE_MOST_PEERS];
    edgeps_err err = EDGEPS_OK;
    for (size_t k = 0; k < count; k++)
        flows[k] = (struct pollfd){.fd = -1, .events = POLLIN | POLLOUT};
    for (size_t k = 0; !err && k < count; k++)
        err = begin(how, &peers[k], diag, &flows[k].fd);
    double most_s = how->settle_s + how->window_s + PATIENCE_MS / 1e3;
    if (!err)
        err = flow(flows, peers, count, clock_now_ns() + (int64_t)(most_s * CLOCK_NS_PER_S), diag);
    for (size_t k = 0; k < count; k++)
        hang_up(&flows[k].fd);
    return err;
}

static bool ping(int fd, double *best_s)
{
    char there[PING_BYTES] = "edgeps", back[PING_BYTES];
    int64_t sent_ns = clock_now_ns();
    if (send(fd, there, sizeof there, MSG_NOSIGNAL) != (ssize_t)sizeof there)
        return false;
    for (size_t got = 0; got < sizeof back;) {
        if (!waits_for(fd, POLLIN))
            return false;
        ssize_t more = recv(fd, back + got, sizeof back - got, 0);
        if (more == 0)
            errno = ECONNRESET;
        if (more <= 0)
            return false;
        got += (size_t)more;
    }
    *best_s = fmin(*best_s, clock_since_s(sent_ns));
    return true;
}

edgeps_err probe_ping(const probe_how *how, probe_peer *peers, size_t count, edgeps_diag *diag)
{
    const request r = {.token = how->token, .kind = REQUEST_PING};
    edgeps_err err = EDGEPS_OK;
    for (size_t k = 0; !err && k < count; k++) {
        double best_s = INFINITY;
        int fd = ask(&peers[k], &r);
        bool good = fd >= 0;
        for (int turn = 0; good && turn < PINGS; turn++)
            good = ping(fd, &best_s);
        if (good)
            peers[k].there_and_back_s = best_s;
        else
            err = fail_peer(&peers[k], diag);
        hang_up(&fd);
    }
    return err;
}
