#include "probe/probe.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "probe/line_int.h"
#include "probe/request_int.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_GUESTS (PROBE_MOST_PEERS + 16)
#define PIECE_BYTES (256 * 1024)
#define LONGEST_NS (INT64_C(60) * CLOCK_NS_PER_S)  /* of a probe */
#define STRANGER_NS (INT64_C(10) * CLOCK_NS_PER_S) /* until it has asked */
#define TICK_MS 20                                 /* how late an answer to silence may be */

/* A probe under way. */
typedef struct guest {
    line line;
    request asked;
    size_t heard; /* bytes of the request */
    int64_t begun_ns;
    int64_t bytes; /* that came in the window */
    bool answered; /* and what still comes is dropped, until the guest has read the answer */
} guest;

struct probe_server {
    int listener;
    int end; /* readable when it is to end */
    int port;
    uint64_t token;
    const trust *keys; /* lent; NULL: plain */
    int64_t told_ns;   /* when a refusal was logged */
    pthread_t thread;
    guest guests[MOST_GUESTS];
    size_t count;
    char piece[PIECE_BYTES];
};

/* Whether the guest can have heard it. */
static bool reply(guest *g, const void *bytes, size_t count)
{
    size_t taken;
    return line_write(&g->line, bytes, count, &taken) == TRUST_DONE && taken == count;
}

static bool answer_rate(guest *g)
{
    const answer a = {.bytes = g->bytes, .took_ns = g->asked.window_ns};
    g->answered = true;
    return reply(g, &a, sizeof a);
}

/* A flood of refusals is one line in a second. */
static void refuse(probe_server *s, const guest *g, const char *why)
{
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    char host[NI_MAXHOST] = "?";
    int64_t now_ns = clock_now_ns();
    if (s->told_ns && now_ns - s->told_ns < CLOCK_NS_PER_S)
        return;
    s->told_ns = now_ns;
    if (getpeername(g->line.fd, (struct sockaddr *)&from, &size) == 0)
        getnameinfo((struct sockaddr *)&from, size, host, sizeof host, NULL, 0, NI_NUMERICHOST);
    log_line(LOG_WARNING, "refuses a probe of %s: %s", host, why);
}

/* Whether the probe goes on. The window is that of the clock and not of arrivals, so that those of
 * flows that began together are one. */
static bool count_bytes(guest *g, int64_t got, int64_t now_ns)
{
    int64_t since_ns = now_ns - g->begun_ns - g->asked.settle_ns;
    if (since_ns >= 0 && since_ns < g->asked.window_ns)
        g->bytes += got;
    return since_ns < g->asked.window_ns;
}

static bool is_good(const request *r, uint64_t token)
{
    return r->token == token && (r->kind == REQUEST_RATE || r->kind == REQUEST_PING) &&
           r->settle_ns >= 0 && r->window_ns >= 0 && r->settle_ns <= LONGEST_NS / 2 &&
           r->window_ns <= LONGEST_NS / 2;
}

static bool is_open(trust_step step)
{
    return step == TRUST_DONE || step == TRUST_READS || step == TRUST_WRITES;
}

static bool hear_request(probe_server *s, guest *g)
{
    size_t got;
    trust_step step =
        line_read(&g->line, (char *)&g->asked + g->heard, sizeof g->asked - g->heard, &got);
    g->heard += got;
    if (step == TRUST_BROKEN)
        refuse(s, g, line_why(&g->line));
    if (g->heard < sizeof g->asked)
        return is_open(step);
    g->begun_ns = clock_now_ns();
    if (is_good(&g->asked, s->token))
        return true;
    refuse(s, g, "it does not show this probe's token");
    return false;
}

static bool hear_probe(probe_server *s, guest *g)
{
    bool pings = g->asked.kind == REQUEST_PING;
    size_t got;
    trust_step step = line_read(&g->line, s->piece, pings ? PING_BYTES : PIECE_BYTES, &got);
    if (step != TRUST_DONE)
        return is_open(step);
    if (pings)
        return reply(g, s->piece, got);
    return g->answered || count_bytes(g, (int64_t)got, clock_now_ns()) || answer_rate(g);
}

/* Whether the guest stays. A session may hold what came right behind the request: that shows no
 * more at the socket. */
static bool hear(probe_server *s, guest *g)
{
    if (g->heard < sizeof g->asked && !hear_request(s, g))
        return false;
    return g->heard < sizeof g->asked || hear_probe(s, g);
}

/* Of a flow that has stalled: nothing comes that would end it. */
static bool is_over(guest *g, int64_t now_ns)
{
    bool asks = g->heard < sizeof g->asked;
    int64_t since_ns = now_ns - g->begun_ns;
    if (since_ns > (asks ? STRANGER_NS : LONGEST_NS))
        return true;
    if (asks || g->answered || g->asked.kind != REQUEST_RATE ||
        since_ns < g->asked.settle_ns + g->asked.window_ns)
        return false;
    return !answer_rate(g);
}

static void admit(probe_server *s)
{
    int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    guest *g = &s->guests[s->count];
    if (fd < 0)
        return;
    if (s->count == MOST_GUESTS) {
        close(fd);
        return;
    }
    *g = (guest){.begun_ns = clock_now_ns()};
    if (line_open(&g->line, fd, s->keys, true))
        line_close(&g->line);
    else
        s->count++;
}

static void dismiss(probe_server *s, size_t index)
{
    line_close(&s->guests[index].line);
    s->guests[index] = s->guests[--s->count];
}

/* From the last to the first, as one that is dismissed gives its place to the last. */
static void attend(probe_server *s, const struct pollfd *waiting, size_t count)
{
    for (size_t k = count; k-- > 0;) {
        bool stays = !waiting[k].revents || hear(s, &s->guests[k]);
        if (!stays || is_over(&s->guests[k], clock_now_ns()))
            dismiss(s, k);
    }
}

static void *serve(void *context)
{
    probe_server *s = context;
    struct pollfd waiting[MOST_GUESTS + 2];
    for (;;) {
        size_t count = s->count;
        waiting[0] = (struct pollfd){.fd = s->end, .events = POLLIN};
        waiting[1] = (struct pollfd){.fd = s->listener, .events = POLLIN};
        for (size_t k = 0; k < count; k++)
            waiting[k + 2] = (struct pollfd){.fd = s->guests[k].line.fd, .events = POLLIN};
        if (poll(waiting, count + 2, count > 0 ? TICK_MS : -1) < 0 && errno != EINTR)
            break;
        if (waiting[0].revents)
            break;
        attend(s, waiting + 2, count);
        if (waiting[1].revents)
            admit(s);
    }
    while (s->count > 0)
        dismiss(s, s->count - 1);
    return NULL;
}

static int listen_at(const char *address, int *port)
{
    struct addrinfo *found = NULL;
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    struct sockaddr_in6 here = {.sin6_port = 0};
    socklen_t size = sizeof here;
    if (getaddrinfo(address, NULL, &hints, &found)) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool good = fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 &&
                listen(fd, MOST_GUESTS) == 0 &&
                getsockname(fd, (struct sockaddr *)&here, &size) == 0;
    int error = errno;
    freeaddrinfo(found);
    if (!good && fd >= 0)
        close(fd);
    errno = error;
    if (!good)
        return -1;
    *port = ntohs(here.sin6_port); /* where that of IPv4 stands, too */
    return fd;
}

edgeps_err probe_serve(const char *address, uint64_t token, const trust *keys, edgeps_diag *diag,
                       probe_server **out)
{
    probe_server *s = mem_alloc(1, sizeof *s);
    if (!s)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory to be probed");
    s->token = token;
    s->keys = keys;
    s->end = eventfd(0, EFD_CLOEXEC);
    s->listener = listen_at(address, &s->port);
    int failed = s->end < 0 || s->listener < 0 ? errno : pthread_create(&s->thread, NULL, serve, s);
    if (!failed) {
        *out = s;
        return EDGEPS_OK;
    }
    if (s->listener >= 0)
        close(s->listener);
    if (s->end >= 0)
        close(s->end);
    mem_free(s);
    return diag_fail(diag, EDGEPS_IO, "cannot listen for probes at %s: %s", address,
                     strerror(failed));
}

int probe_port(const probe_server *s) { return s->port; }

void probe_stop(probe_server *s)
{
    if (!s)
        return;
    eventfd_write(s->end, 1);
    pthread_join(s->thread, NULL);
    close(s->listener);
    close(s->end);
    mem_free(s);
}
