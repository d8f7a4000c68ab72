#include "node/prober.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "node/frame.h"
#include "node/message.h"

#include <math.h>
#include <signal.h>
#include <sys/random.h>

#define LOOPBACK "127.0.0.1"
#define MOST_HELLO_BYTES 4096
#define PACE 1.5
#define LEAST_PACE 2000.0  /* bytes per second */
#define QUEUE_BYTES 131072 /* of a flow, on its way when it is cut */
#define MOST_PAUSE_S 3.0

/* One after the other, each for every node in turn. */
typedef enum phase { GATHERING, OPENING, RISING, FALLING, PINGING, ENDED } phase;

typedef struct prober prober;

/* An agent that has called. */
typedef struct caller {
    prober *prober;
    conn *conn;
    int64_t node; /* -1: has not said who it is */
    uint8_t *payload;
    struct caller *next;
} caller;

struct prober {
    const prober_options *options;
    edgeps_diag *diag;
    edgeps_err outcome;
    loop *loop;
    trust *keys;
    caller *callers;
    caller **of_node;
    uint32_t *ports; /* where probes of each node are heard */
    size_t joined;
    phase phase;
    size_t node;              /* whose turn it is */
    bool again;               /* the second time that its rate is measured */
    double *pace_bytes_per_s; /* of each other's flow, then */
    size_t awaited;
    uint64_t token;
    frame_stamp stamp;
    loop_timer *patience;
    prober_found found;
};

static void fail(prober *p, edgeps_err err)
{
    if (!p->outcome)
        p->outcome = err;
    p->phase = ENDED;
    loop_stop(p->loop);
}

static const char *name_of(const prober *p, size_t node)
{
    return p->options->net->nodes[node].name;
}

static const char *address_of(const prober *p, size_t node)
{
    const char *own = p->options->net->nodes[node].address;
    return own ? own : LOOPBACK;
}

static void impatient(void *ctx)
{
    prober *p = ctx;
    size_t node = p->node;
    p->patience = NULL;
    for (size_t i = 0; p->phase == GATHERING && i < p->options->net->count; i++)
        if (!p->of_node[i])
            node = i;
    fail(p, diag_fail(p->diag, EDGEPS_IO, "node '%s': %s within %g s", name_of(p, node),
                      p->phase == GATHERING ? "its agent did not call" : "no answer",
                      p->options->patience_s));
}

static void wait_anew(prober *p)
{
    loop_timer_cancel(p->patience);
    p->patience = NULL;
    if (loop_timer_start(p->loop, (int64_t)(p->options->patience_s * CLOCK_NS_PER_S), impatient, p,
                         &p->patience))
        fail(p, diag_fail(p->diag, EDGEPS_NOMEM, "no memory for a timer"));
}

static void order(prober *p, size_t node, const message_probe *m)
{
    wire_writer w = {0};
    message_put_probe(&w, m);
    if (frame_send(p->of_node[node]->conn, &p->stamp, MESSAGE_PROBE, 0, 0, &w) == EDGEPS_NOMEM)
        fail(p, diag_fail(p->diag, EDGEPS_NOMEM, "no memory for a probe"));
    p->awaited++;
}

static void add_peer(const prober *p, message_probe *m, size_t node, double pace)
{
    m->names[m->count] = name_of(p, node);
    m->addresses[m->count] = address_of(p, node);
    m->paces[m->count] = pace;
    m->ports[m->count++] = p->ports[node];
}

/* Which of the others take part in a node's turn: all, or of many some that are evenly spread. */
static bool takes_part(const prober *p, size_t other)
{
    size_t others = p->options->net->count - 1;
    size_t index = (other + p->options->net->count - p->node) % p->options->net->count;
    return index > 0 && (others <= PROBER_MOST_PEERS ||
                         (index - 1) * PROBER_MOST_PEERS % others < PROBER_MOST_PEERS);
}

static message_probe blank(const prober *p, message_probing kind)
{
    return (message_probe){.kind = (uint8_t)kind,
                           .token = p->token,
                           .address = "",
                           .model = "",
                           .settle_s = p->options->settle_s,
                           .window_s = p->options->window_s,
                           .restrained = p->again};
}

static void begin_opening(prober *p)
{
    message_probe m = blank(p, MESSAGE_OPEN);
    bool timed = p->options->model && p->options->net->nodes[p->node].train;
    m.address = address_of(p, p->node);
    m.model = timed ? p->options->model : "";
    order(p, p->node, &m);
}

static void begin_rising(prober *p)
{
    message_probe m = blank(p, MESSAGE_RATE);
    for (size_t j = 0; j < p->options->net->count; j++)
        if (takes_part(p, j))
            add_peer(p, &m, j, p->pace_bytes_per_s[j]);
    order(p, p->node, &m);
}

static void begin_falling(prober *p)
{
    for (size_t j = 0; j < p->options->net->count; j++) {
        message_probe m = blank(p, MESSAGE_RATE);
        add_peer(p, &m, p->node, p->pace_bytes_per_s[j]);
        if (takes_part(p, j))
            order(p, j, &m);
    }
}

static void begin_pinging(prober *p)
{
    message_probe m = blank(p, MESSAGE_PING);
    for (size_t j = p->node + 1; j < p->options->net->count; j++)
        add_peer(p, &m, j, 0);
    order(p, p->node, &m);
}

/* Gives out what the present node's turn in the present phase asks for. */
static void begin_turn(void *ctx)
{
    static void (*const begin[])(prober *) = {[OPENING] = begin_opening,
                                              [RISING] = begin_rising,
                                              [FALLING] = begin_falling,
                                              [PINGING] = begin_pinging};
    prober *p = ctx;
    if (p->phase == ENDED)
        return;
    p->awaited = 0;
    begin[p->phase](p);
    if (p->phase != ENDED)
        wait_anew(p);
}

static size_t participants(const prober *p)
{
    size_t others = p->options->net->count - 1;
    return others < PROBER_MOST_PEERS ? others : PROBER_MOST_PEERS;
}

/* A flow that may be as fast as it likes overruns queues in slow start, and the losses take it
 * longer to get over than a probe lasts. So a first turn tells about how much comes through, and in
 * the second no flow is much faster than that. Queues have time to run empty in between. */
static void begin_again(prober *p)
{
    double sum = 0, least = INFINITY, others = (double)participants(p);
    for (size_t j = 0; j < p->options->net->count; j++)
        sum += takes_part(p, j) ? p->pace_bytes_per_s[j] : 0;
    for (size_t j = 0; j < p->options->net->count; j++) {
        double rate = fmax(p->pace_bytes_per_s[j], fmax(sum / others / 2, LEAST_PACE));
        p->pace_bytes_per_s[j] = fmin(PACE * rate, p->options->most_bytes_per_s / others);
        if (takes_part(p, j))
            least = fmin(least, rate);
    }
    double pause_s = fmin(QUEUE_BYTES / least, MOST_PAUSE_S);
    p->again = true;
    if (loop_timer_start(p->loop, (int64_t)(pause_s * CLOCK_NS_PER_S), begin_turn, p, NULL))
        fail(p, diag_fail(p->diag, EDGEPS_NOMEM, "no memory for a timer"));
}

static void begin_afresh(prober *p)
{
    p->again = false;
    for (size_t j = 0; j < p->options->net->count; j++)
        p->pace_bytes_per_s[j] = p->options->most_bytes_per_s / (double)participants(p);
    begin_turn(p);
}

static void next_turn(prober *p)
{
    size_t n = p->options->net->count;
    if ((p->phase == RISING || p->phase == FALLING) && !p->again) {
        begin_again(p);
        return;
    }
    size_t turns = p->phase == PINGING ? n - 1 : n;
    if (++p->node == turns) {
        p->node = 0;
        p->phase++;
    }
    if (p->phase == ENDED)
        loop_stop(p->loop);
    else
        begin_afresh(p);
}

/* What went out of the present node to the k-th of those that take part. */
static void take_rises(prober *p, const message_probed *m)
{
    double sum = 0;
    uint32_t k = 0;
    for (size_t j = 0; j < p->options->net->count && k < m->count; j++) {
        if (!takes_part(p, j))
            continue;
        p->pace_bytes_per_s[j] = m->values[k];
        sum += m->values[k++];
    }
    p->found.up_bytes_per_s[p->node] = sum;
}

static void take_fall(prober *p, size_t from, double bytes_per_s)
{
    p->pace_bytes_per_s[from] = bytes_per_s;
    if (p->again) /* the first turn's is only for its paces */
        p->found.down_bytes_per_s[p->node] += bytes_per_s;
}

static void take(prober *p, size_t from, const message_probed *m)
{
    size_t n = p->options->net->count, i = p->node;
    switch (p->phase) {
    case OPENING:
        p->ports[i] = m->port;
        p->found.samples_per_s[i] = m->samples_per_s;
        p->found.free_bytes[i] = (double)m->free_bytes;
        break;
    case RISING:
        take_rises(p, m);
        break;
    case FALLING:
        take_fall(p, from, m->count > 0 ? m->values[0] : 0);
        break;
    case PINGING:
        for (size_t k = 0, j = i + 1; k < m->count && j < n; k++, j++)
            p->found.latency_s[i * n + j] = p->found.latency_s[j * n + i] = m->values[k] / 2;
        break;
    case GATHERING:
    case ENDED:
        break;
    }
}

static bool probed(caller *c, const void *payload, size_t bytes)
{
    prober *p = c->prober;
    message_probed m;
    if (p->phase == GATHERING || p->awaited == 0 || !message_get_probed(payload, bytes, &m))
        return false;
    if (*m.trouble) {
        fail(p, diag_fail(p->diag, EDGEPS_IO, "node '%s': %s", name_of(p, (size_t)c->node),
                          m.trouble));
        return true;
    }
    take(p, (size_t)c->node, &m);
    if (--p->awaited == 0)
        next_turn(p);
    return true;
}

static bool hello(caller *c, const void *payload, size_t bytes)
{
    prober *p = c->prober;
    message_hello m;
    if (c->node >= 0 || !message_get_hello(payload, bytes, &m) ||
        !frame_speaks_for(c->conn, m.name))
        return false;
    int64_t node = network_find(p->options->net, m.name);
    if (node < 0 || p->of_node[node] || m.job) {
        log_line(LOG_WARNING, "turns '%s' away: %s", m.name,
                 node < 0 ? "no such node"
                 : m.job  ? "it has a job"
                          : "the node has called already");
        return false;
    }
    c->node = node;
    p->of_node[node] = c;
    if (++p->joined == p->options->net->count) {
        p->phase = OPENING;
        begin_afresh(p);
    }
    return true;
}

static void *payload_buffer(void *ctx, conn *c, const uint8_t *header, uint64_t bytes)
{
    caller *who = ctx;
    (void)c;
    (void)header;
    if (bytes > MOST_HELLO_BYTES)
        return NULL;
    mem_free(who->payload);
    who->payload = mem_alloc(bytes, 1);
    return who->payload;
}

static void frame(void *ctx, conn *c, const uint8_t *header, void *payload)
{
    caller *who = ctx;
    wire_header h = frame_header(header);
    if (who->prober->phase == ENDED)
        return;
    bool good = wire_verify(header, payload, h.length);
    if (good && h.type == MESSAGE_HELLO)
        good = hello(who, payload, h.length);
    else if (good && h.type == MESSAGE_PROBED && who->node >= 0)
        good = probed(who, payload, h.length);
    if (!good)
        conn_close(c);
}

static void closed(void *ctx, conn *c, edgeps_err err, const char *text)
{
    caller *who = ctx;
    prober *p = who->prober;
    (void)c;
    for (caller **at = &p->callers; *at; at = &(*at)->next)
        if (*at == who) {
            *at = who->next;
            break;
        }
    if (who->node >= 0) {
        p->of_node[who->node] = NULL;
        p->joined--;
        if (p->phase != GATHERING && p->phase != ENDED)
            fail(p, diag_fail(p->diag, EDGEPS_IO, "node '%s' was lost: %s",
                              name_of(p, (size_t)who->node), err ? text : "its agent has ended"));
    }
    mem_free(who->payload);
    mem_free(who);
}

static void accepted(void *ctx, conn *c)
{
    prober *p = ctx;
    caller *who = p->phase == ENDED ? NULL : mem_alloc(1, sizeof *who);
    if (!who)
        return;
    *who = (caller){.prober = p, .node = -1, .conn = c, .next = p->callers};
    p->callers = who;
    loop_handlers handlers = {.framing = frame_framing,
                              .payload_buffer = payload_buffer,
                              .frame = frame,
                              .closed = closed};
    conn_attach(c, &handlers, who);
}

static edgeps_err make(prober *p)
{
    size_t n = p->options->net->count;
    p->of_node = mem_alloc(n, sizeof(caller *));
    p->ports = mem_alloc(n, sizeof *p->ports);
    p->pace_bytes_per_s = mem_alloc(n, sizeof(double));
    p->found.up_bytes_per_s = mem_alloc(n, sizeof(double));
    p->found.down_bytes_per_s = mem_alloc(n, sizeof(double));
    p->found.samples_per_s = mem_alloc(n, sizeof(double));
    p->found.free_bytes = mem_alloc(n, sizeof(double));
    p->found.latency_s = mem_alloc(n * n, sizeof(double));
    bool all = p->of_node && p->ports && p->pace_bytes_per_s && p->found.up_bytes_per_s &&
               p->found.down_bytes_per_s && p->found.samples_per_s && p->found.free_bytes &&
               p->found.latency_s;
    if (!all)
        return diag_fail(p->diag, EDGEPS_NOMEM, "no memory to probe %zu nodes", n);
    if (getrandom(&p->token, sizeof p->token, 0) != (ssize_t)sizeof p->token)
        return diag_fail(p->diag, EDGEPS_IO, "no random number for a token");
    return loop_make(p->diag, &p->loop);
}

static void interrupted(void *ctx, int signo)
{
    prober *p = ctx;
    (void)signo;
    fail(p, diag_fail(p->diag, EDGEPS_CANCELLED, "interrupted"));
}

static edgeps_err listen_and_run(prober *p)
{
    const prober_options *o = p->options;
    const loop_acceptor acceptor = {accepted, p};
    loop_listener *listener = NULL;
    edgeps_err err =
        o->certs ? trust_load(o->certs, TRUST_COORDINATOR, p->diag, &p->keys) : EDGEPS_OK;
    if (err)
        return err;
    if (p->keys)
        loop_secure(p->loop, p->keys);
    err = loop_listen(p->loop, o->address, o->port, &acceptor, p->diag, &listener);
    if (!err && loop_on_signal(p->loop, SIGINT, interrupted, p))
        err = diag_fail(p->diag, EDGEPS_NOMEM, "no memory for a signal");
    if (err)
        return err;
    log_line(LOG_INFO, "agents can call at %s:%d", o->address, loop_listener_port(listener));
    wait_anew(p);
    loop_run(p->loop);
    return p->outcome;
}

edgeps_err prober_run(const prober_options *options, edgeps_diag *diag, prober_found *out)
{
    size_t n = options->net->count;
    prober p = {.options = options, .diag = diag};
    if (n < 2 || n > MESSAGE_MOST_PEERS)
        return diag_fail(diag, EDGEPS_USAGE, "2 to %d nodes can be probed, not %zu",
                         MESSAGE_MOST_PEERS, n);
    edgeps_err err = make(&p);
    if (!err)
        err = listen_and_run(&p);
    p.phase = ENDED;
    loop_free(p.loop);
    trust_free(p.keys);
    mem_free(p.of_node);
    mem_free(p.ports);
    mem_free(p.pace_bytes_per_s);
    if (err)
        prober_free(&p.found);
    else
        *out = p.found;
    return err;
}

void prober_free(prober_found *found)
{
    mem_free(found->up_bytes_per_s);
    mem_free(found->down_bytes_per_s);
    mem_free(found->samples_per_s);
    mem_free(found->free_bytes);
    mem_free(found->latency_s);
    *found = (prober_found){.up_bytes_per_s = NULL};
}
