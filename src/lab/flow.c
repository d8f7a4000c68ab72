#include "lab/flow.h"

#include "base/clock.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE_BYTES (256 * 1024)
#define CONNECT_S 10.0
#define EVENTS 64
#define WINDOW_BYTES 32768.0
#define WINDOW_S 5e-3
#define PACE 1.5
#define DATAGRAMS 5 /* each way */

/* A flow's two ends. */
typedef struct ends {
    int sender;
    int receiver;
    int64_t left;       /* to be sent */
    int64_t settled_ns; /* first arrival after the time to settle; 0: none yet */
    int64_t settled_bytes;
    int64_t last_ns;
} ends;

typedef struct runner {
    const lab *lab;
    flow *flows;
    ends *ends;
    size_t count;
    int home; /* the network that the thread came from */
    int epoll;
    char *piece;
    int64_t begun_ns;
    size_t finished;
} runner;

static struct sockaddr_in at(size_t node, int port)
{
    char text[LAB_ADDRESS_BYTES];
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    lab_address(node, text);
    inet_pton(AF_INET, text, &a.sin_addr);
    return a;
}

/* A socket in a node's network, bound to its address there. */
static edgeps_err open_socket(const lab *l, size_t node, int type, edgeps_diag *diag, int *out)
{
    edgeps_err err = lab_enter(l, node, diag);
    if (err)
        return err;
    struct sockaddr_in here = at(node, 0);
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&here, sizeof here) == 0) {
        *out = fd;
        return EDGEPS_OK;
    }
    err = diag_fail(diag, EDGEPS_IO, "no socket in the lab: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return err;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static bool set_nonblocking(int fd)
{
    return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0;
}

/* Waits for a connection on its way; handshakes pass beside the classes and are quick. */
static bool connects(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    int error = 0;
    socklen_t size = sizeof error;
    if (poll(&wait, 1, (int)(CONNECT_S * 1000)) != 1)
        error = ETIMEDOUT;
    else
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    return error == 0;
}

/* Of the way there and back; the hub is no distance away. */
static double round_trip_s(const lab *l, const flow *f)
{
    const network *net = lab_network(l);
    if (f->from == LAB_HUB || f->to == LAB_HUB)
        return 0;
    return network_latency_s(net, f->from, f->to) + network_latency_s(net, f->to, f->from);
}

/* Keeps a link of this rate busy, in small lumps and with little waiting in its queues. */
static void restrain(int fd, double bytes_per_s, double there_and_back_s)
{
    double enough_bytes = fmax(WINDOW_BYTES, (WINDOW_S + there_and_back_s) * bytes_per_s);
    int window_bytes = (int)fmin(enough_bytes, INT_MAX / 4);
    unsigned pace = (unsigned)fmin(PACE * bytes_per_s, UINT_MAX / 2);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &window_bytes, sizeof window_bytes))
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &window_bytes, sizeof window_bytes);
    setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &pace, sizeof pace);
}

static edgeps_err connect_flow(const lab *l, const flow *f, ends *e, edgeps_diag *diag)
{
    int listener = -1;
    struct sockaddr_in there;
    socklen_t size = sizeof there;
    edgeps_err err = open_socket(l, f->to, SOCK_STREAM, diag, &listener);
    if (!err)
        err = open_socket(l, f->from, SOCK_STREAM, diag, &e->sender);
    if (!err) {
        if (f->expected_bytes_per_s > 0)
            restrain(e->sender, f->expected_bytes_per_s, round_trip_s(l, f));
        bool good = listen(listener, 1) == 0 && set_nonblocking(e->sender) &&
                    getsockname(listener, (struct sockaddr *)&there, &size) == 0;
        good = good && (connect(e->sender, (struct sockaddr *)&there, sizeof there) == 0 ||
                        errno == EINPROGRESS);
        if (good && connects(e->sender))
            e->receiver = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (e->receiver < 0)
            err = diag_fail(diag, EDGEPS_IO, "a connection within the lab: %s", strerror(errno));
    }
    close_fd(&listener);
    return err;
}

static edgeps_err watch(runner *r, size_t index, bool sender)
{
    struct epoll_event event = {.events = sender ? EPOLLOUT : EPOLLIN,
                                .data.u64 = 2 * index + sender};
    int fd = sender ? r->ends[index].sender : r->ends[index].receiver;
    return epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &event) ? EDGEPS_IO : EDGEPS_OK;
}

/* Takes the sender out of the loop when all is handed down. */
static bool push(runner *r, size_t index)
{
    ends *e = &r->ends[index];
    int64_t bytes = e->left < PIECE_BYTES ? e->left : PIECE_BYTES;
    ssize_t sent = send(e->sender, r->piece, (size_t)bytes, MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR;
    if (r->flows[index].bytes != FLOW_ENDLESS)
        e->left -= sent;
    return e->left > 0 || epoll_ctl(r->epoll, EPOLL_CTL_DEL, e->sender, NULL) == 0;
}

static bool pull(runner *r, size_t index, double settle_s)
{
    ends *e = &r->ends[index];
    flow *f = &r->flows[index];
    ssize_t got = recv(e->receiver, r->piece, PIECE_BYTES, 0);
    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    int64_t now_ns = clock_now_ns();
    f->received += got;
    f->finish_s = (double)(now_ns - r->begun_ns) / CLOCK_NS_PER_S;
    e->last_ns = now_ns;
    if (!e->settled_ns && f->finish_s >= settle_s) {
        e->settled_ns = now_ns;
        e->settled_bytes = f->received;
    }
    r->finished += f->received == f->bytes;
    return true;
}

static edgeps_err turn(runner *r, double settle_s, double most_s, edgeps_diag *diag)
{
    struct epoll_event events[EVENTS];
    int64_t end_ns = r->begun_ns + (int64_t)(most_s * CLOCK_NS_PER_S);
    for (int64_t left_ns; r->finished < r->count && (left_ns = end_ns - clock_now_ns()) > 0;) {
        int count = epoll_wait(r->epoll, events, EVENTS, (int)(left_ns / 1000000) + 1);
        for (int k = 0; k < count; k++) {
            size_t index = events[k].data.u64 / 2;
            bool good = events[k].data.u64 % 2 ? push(r, index) : pull(r, index, settle_s);
            if (!good)
                return diag_fail(diag, EDGEPS_IO, "a connection within the lab broke");
        }
    }
    return EDGEPS_OK;
}

static edgeps_err connect_all(runner *r, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t k = 0; !err && k < r->count; k++) {
        r->flows[k].received = 0;
        r->flows[k].finish_s = r->flows[k].rate_bytes_per_s = 0;
        r->ends[k].left = r->flows[k].bytes;
        err = connect_flow(r->lab, &r->flows[k], &r->ends[k], diag);
    }
    r->begun_ns = clock_now_ns();
    for (size_t k = 0; !err && k < r->count; k++)
        if (watch(r, k, false) || watch(r, k, true))
            err = diag_fail(diag, EDGEPS_IO, "cannot wait for flows: %s", strerror(errno));
    return err;
}

static edgeps_err open_runner(runner *r, edgeps_diag *diag)
{
    r->home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    r->piece = mem_alloc(PIECE_BYTES, 1);
    r->ends = mem_alloc(r->count, sizeof *r->ends);
    if (!r->piece || !r->ends)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for %zu flows", r->count);
    for (size_t k = 0; k < r->count; k++)
        r->ends[k] = (ends){.sender = -1, .receiver = -1};
    if (r->home < 0 || r->epoll < 0)
        return diag_fail(diag, EDGEPS_IO, "no flows: %s", strerror(errno));
    return EDGEPS_OK;
}

static void close_runner(runner *r)
{
    for (size_t k = 0; r->ends && k < r->count; k++) {
        close_fd(&r->ends[k].sender);
        close_fd(&r->ends[k].receiver);
    }
    mem_free(r->ends);
    mem_free(r->piece);
    close_fd(&r->epoll);
    lab_go_home(r->lab, r->home);
}

edgeps_err flow_run(const lab *l, flow *flows, size_t count, double settle_s, double most_s,
                    edgeps_diag *diag)
{
    runner r = {.lab = l, .flows = flows, .count = count};
    edgeps_err err = open_runner(&r, diag);
    if (!err)
        err = connect_all(&r, diag);
    if (!err)
        err = turn(&r, settle_s, most_s, diag);
    for (size_t k = 0; !err && k < count; k++) {
        const ends *e = &r.ends[k];
        if (e->settled_ns && e->last_ns > e->settled_ns)
            flows[k].rate_bytes_per_s = (double)(flows[k].received - e->settled_bytes) *
                                        CLOCK_NS_PER_S / (double)(e->last_ns - e->settled_ns);
    }
    close_runner(&r);
    return err;
}

/* What a datagram carries: below 128 bytes with its headers, so that it waits for no class. */
typedef struct stamp {
    uint64_t from;
    int64_t sent_ns;
} stamp;

typedef struct prober {
    const lab *lab;
    const size_t *nodes;
    size_t count;
    struct pollfd *sockets; /* one per node */
    double *latency_s;
    double most_s;
} prober;

static size_t take_stamps(prober *p, size_t to)
{
    stamp s;
    size_t taken = 0;
    while (recv(p->sockets[to].fd, &s, sizeof s, MSG_DONTWAIT) == (ssize_t)sizeof s) {
        double *best = &p->latency_s[s.from * p->count + to];
        double took_s = clock_since_s(s.sent_ns);
        *best = isnan(*best) ? took_s : fmin(*best, took_s);
        taken++;
    }
    return taken;
}

/* One datagram from a node to each other, and what arrives of them in time. */
static void probe_from(prober *p, size_t from)
{
    size_t awaited = 0;
    int64_t end_ns = clock_now_ns() + (int64_t)(p->most_s * CLOCK_NS_PER_S), left_ns;
    for (size_t to = 0; to < p->count; to++) {
        struct sockaddr_in there = at(p->nodes[to], 0);
        socklen_t size = sizeof there;
        if (to == from || getsockname(p->sockets[to].fd, (struct sockaddr *)&there, &size) != 0)
            continue;
        stamp s = {from, clock_now_ns()};
        awaited += sendto(p->sockets[from].fd, &s, sizeof s, MSG_DONTWAIT,
                          (struct sockaddr *)&there, size) == (ssize_t)sizeof s;
    }
    while (awaited > 0 && (left_ns = end_ns - clock_now_ns()) > 0) {
        if (poll(p->sockets, p->count, (int)(left_ns / 1000000) + 1) <= 0)
            continue;
        for (size_t to = 0; to < p->count; to++)
            if (p->sockets[to].revents)
                awaited -= take_stamps(p, to);
    }
}

edgeps_err flow_latencies(const lab *l, const size_t *nodes, size_t count, double most_s,
                          edgeps_diag *diag, double *latency_s)
{
    prober p = {l, nodes, count, mem_alloc(count, sizeof(struct pollfd)), latency_s, most_s};
    if (!p.sockets)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for %zu sockets", count);
    int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    edgeps_err err = EDGEPS_OK;
    for (size_t k = 0; k < count; k++)
        p.sockets[k] = (struct pollfd){.fd = -1, .events = POLLIN};
    for (size_t k = 0; !err && k < count; k++)
        err = open_socket(l, nodes[k], SOCK_DGRAM, diag, &p.sockets[k].fd);
    for (size_t k = 0; k < count * count; k++)
        latency_s[k] = k % (count + 1) == 0 ? 0 : NAN;
    for (int k = 0; !err && k < DATAGRAMS; k++)
        for (size_t from = 0; from < count; from++)
            probe_from(&p, from);
    for (size_t k = 0; k < count; k++)
        close_fd(&p.sockets[k].fd);
    lab_go_home(l, home);
    mem_free(p.sockets);
    return err;
}
