#include "lab/relay_int.h"

#include "base/clock.h"
#include "base/heap.h"
#include "base/mem.h"
#include "lab/lab.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define FRAME_MOST (sizeof(struct virtio_net_hdr) + 14 + 65535 + 4)
#define SOCKET_BYTES (64 << 20)
#define WAITING_MOST_BYTES (INT64_C(512) << 20)
#define FRAMES_AT_ONCE 64
#define EVENTS 64
#define DUE UINT64_MAX /* the timer, among the events */

#define TYPE_AT 12
#define ARP_TARGET_AT 38
#define IP_TARGET_AT 30

/* A frame on its way. */
typedef struct waiting {
    size_t to; /* port */
    size_t bytes;
    uint8_t frame[];
} waiting;

struct relay {
    const network *net;
    int *ports; /* of each node, and behind them the hub's */
    size_t port_count;
    int epoll;
    int timer;
    int64_t begun_ns;
    int64_t waiting_bytes;
    heap due; /* by seconds since `begun_ns` */
    uint8_t frame[FRAME_MOST];
};

bool relay_is_needed(const network *net)
{
    for (size_t i = 0; i < net->count; i++)
        for (size_t j = 0; j < net->count; j++)
            if (i != j && network_latency_s(net, i, j) > 0 &&
                network_rate_bytes_per_s(net, i, j) > 0)
                return true;
    return false;
}

int64_t relay_target(const uint8_t *frame, size_t bytes, size_t count)
{
    char text[LAB_ADDRESS_BYTES];
    struct in_addr hub;
    uint32_t address;
    uint16_t type;
    if (bytes < ARP_TARGET_AT + sizeof address)
        return -1;
    memcpy(&type, frame + TYPE_AT, sizeof type);
    size_t at = type == htons(ETHERTYPE_ARP)  ? ARP_TARGET_AT
                : type == htons(ETHERTYPE_IP) ? IP_TARGET_AT
                                              : 0;
    if (at == 0)
        return -1;
    memcpy(&address, frame + at, sizeof address);
    lab_address(LAB_HUB, text);
    inet_pton(AF_INET, text, &hub);
    if (address == hub.s_addr)
        return (int64_t)count;
    uint32_t host = ntohl(address) & 0xffff;
    return host >= 1 && host <= count ? (int64_t)host - 1 : -1;
}

/* Buffers for all that the classes hold; without the right to more it is what the system allows. */
static void widen(int fd)
{
    int bytes = SOCKET_BYTES;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes))
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes))
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

static edgeps_err open_port(relay *r, size_t port, edgeps_diag *diag)
{
    char device[24] = "dh";
    int on = 1;
    if (port < r->net->count)
        snprintf(device, sizeof device, "d%zu", port);
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    r->ports[port] = fd;
    struct sockaddr_ll at = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(ETH_P_ALL),
                             .sll_ifindex = (int)if_nametoindex(device)};
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = port};
    if (fd < 0 || at.sll_ifindex == 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) ||
        setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) ||
        bind(fd, (struct sockaddr *)&at, sizeof at) ||
        epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &event))
        return diag_fail(diag, EDGEPS_IO, "%s: cannot carry its frames: %s", device,
                         strerror(errno));
    widen(fd);
    return EDGEPS_OK;
}

edgeps_err relay_make(const network *net, edgeps_diag *diag, relay **out)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = DUE};
    relay *r = mem_alloc(1, sizeof *r);
    if (!r)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for a relay");
    *r = (relay){.net = net, .epoll = -1, .timer = -1, .begun_ns = clock_now_ns()};
    r->ports = mem_alloc(net->count + 1, sizeof *r->ports);
    edgeps_err err = r->ports ? EDGEPS_OK : diag_fail(diag, EDGEPS_NOMEM, "no memory for a relay");
    for (size_t k = 0; !err && k <= net->count; k++)
        r->ports[k] = -1;
    r->port_count = err ? 0 : net->count + 1;
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    r->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (!err && epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->timer, &event))
        err = diag_fail(diag, EDGEPS_IO, "no timer for a relay: %s", strerror(errno));
    for (size_t k = 0; !err && k < r->port_count; k++)
        err = open_port(r, k, diag);
    if (err)
        relay_free(r);
    else
        *out = r;
    return err;
}

/* A full queue drops the frame, as any switch does. */
static void put(const relay *r, size_t to, const uint8_t *frame, size_t bytes)
{
    while (send(r->ports[to], frame, bytes, 0) < 0 && errno == EINTR)
        ;
}

static double latency_s(const relay *r, size_t from, size_t to)
{
    size_t n = r->net->count;
    return from == n || to == n ? 0 : network_latency_s(r->net, from, to);
}

static double now_s(const relay *r) { return clock_since_s(r->begun_ns); }

/* The frame in r->frame waits for its time, or goes at once where there is no way to go. */
static void carry(relay *r, size_t from, size_t to, size_t bytes)
{
    double delay_s = latency_s(r, from, to);
    if (delay_s <= 0) {
        put(r, to, r->frame, bytes);
        return;
    }
    waiting *w = r->waiting_bytes < WAITING_MOST_BYTES ? mem_alloc(1, sizeof *w + bytes) : NULL;
    if (!w)
        return;
    w->to = to;
    w->bytes = bytes;
    memcpy(w->frame, r->frame, bytes);
    if (heap_push(&r->due, now_s(r) + delay_s, (uint64_t)(uintptr_t)w))
        mem_free(w);
    else
        r->waiting_bytes += (int64_t)bytes;
}

static void take(relay *r, size_t from)
{
    const size_t head = sizeof(struct virtio_net_hdr);
    for (int k = 0; k < FRAMES_AT_ONCE; k++) {
        ssize_t got = recv(r->ports[from], r->frame, sizeof r->frame, 0);
        if (got <= (ssize_t)head)
            return;
        int64_t to = relay_target(r->frame + head, (size_t)got - head, r->net->count);
        if (to >= 0 && (size_t)to != from)
            carry(r, from, (size_t)to, (size_t)got);
    }
}

/* Sends what is due and sets the timer for what comes next. */
static void send_due(relay *r)
{
    heap_item item;
    while (r->due.count > 0 && r->due.items[0].key <= now_s(r) && heap_pop(&r->due, &item)) {
        waiting *w = (waiting *)(uintptr_t)item.id;
        put(r, w->to, w->frame, w->bytes);
        r->waiting_bytes -= (int64_t)w->bytes;
        mem_free(w);
    }
    if (r->due.count == 0)
        return;
    int64_t next_ns = r->begun_ns + (int64_t)(r->due.items[0].key * CLOCK_NS_PER_S) + 1;
    struct itimerspec next = {
        .it_value = {.tv_sec = next_ns / CLOCK_NS_PER_S, .tv_nsec = next_ns % CLOCK_NS_PER_S}};
    timerfd_settime(r->timer, TFD_TIMER_ABSTIME, &next, NULL);
}

void relay_run(relay *r)
{
    struct epoll_event events[EVENTS];
    uint64_t ticks;
    prctl(PR_SET_TIMERSLACK, 1UL);
    for (;;) {
        int count = epoll_wait(r->epoll, events, EVENTS, -1);
        if (count < 0 && errno != EINTR)
            return;
        for (int k = 0; k < count; k++) {
            if (events[k].data.u64 != DUE)
                take(r, events[k].data.u64);
            else if (read(r->timer, &ticks, sizeof ticks) < 0 && errno != EAGAIN)
                return;
        }
        send_due(r);
    }
}

void relay_free(relay *r)
{
    heap_item item;
    if (!r)
        return;
    while (heap_pop(&r->due, &item))
        mem_free((void *)(uintptr_t)item.id);
    heap_free(&r->due);
    for (size_t k = 0; k < r->port_count; k++)
        if (r->ports[k] >= 0)
            close(r->ports[k]);
    if (r->epoll >= 0)
        close(r->epoll);
    if (r->timer >= 0)
        close(r->timer);
    mem_free(r->ports);
    mem_free(r);
}
