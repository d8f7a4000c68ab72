#include "node/agent_int.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

#define RETRY_NS (50 * INT64_C(1000000))

static agent_role parent_role(agent_role child) { return child + 1; }

edge *edges_to_child(const agent *a, agent_role child, int32_t node)
{
    for (edge *e = a->edges; e; e = e->next)
        if (!e->outgoing && e->child == child && e->peer == node)
            return e;
    return NULL;
}

static void forget_edge(edge *e)
{
    agent *a = e->agent;
    for (edge **at = &a->edges; *at; at = &(*at)->next)
        if (*at == e) {
            *at = e->next;
            break;
        }
    for (int64_t c = 0; e->slots && c < job_chunk_count(&a->job); c++)
        mem_free(e->slots[c].next);
    mem_free(e->slots);
    mem_free(e->staging);
    mem_free(e->words);
    mem_free(e);
}

static size_t versions_bytes(const agent *a)
{
    return (size_t)job_chunk_count(&a->job) * sizeof(int64_t);
}

/* Versions of all chunks, or the announcement of a state. */
static size_t words_bytes(const agent *a)
{
    size_t bytes = versions_bytes(a);
    return bytes > MESSAGE_STATE_BYTES ? bytes : MESSAGE_STATE_BYTES;
}

/* Emulated latency of what this node sends to a peer; pair caps both ways. */
static double latency_to(const agent *a, int32_t peer) { return a->settings.peers[peer]; }

static void shape(const agent *a, conn *c, int32_t peer)
{
    size_t n = a->settings.node_count;
    if (a->settings.emulate)
        conn_shape(c, a->settings.peers[n + (size_t)peer], a->settings.peers[2 * n + (size_t)peer]);
}

static void push_sent(void *ctx, edgeps_err err)
{
    agent *a = ctx;
    if (!err && --a->watch.unsent == 0)
        a->watch.pushed_ns = clock_now_ns();
}

static void queue(agent *a, edge *e, wire_header *header, conn_frame *frame)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    header->job = a->stamp.job;
    header->sender = a->stamp.sender;
    header->incarnation = a->stamp.incarnation;
    header->length = frame->bytes;
    wire_encode(header, frame->payload, bytes);
    frame->header = bytes;
    if (a->settings.emulate && e->peer >= 0)
        frame->delay_ns = (int64_t)(latency_to(a, e->peer) * CLOCK_NS_PER_S);
    /* A frame that cannot be queued is on a broken edge, whose end is on its way. */
    edgeps_err err = conn_send(e->conn, frame);
    if (err && frame->sent)
        frame->sent(frame->ctx, err);
    if (err == EDGEPS_NOMEM)
        agent_fail(a, diag_fail(a->diag, err, "no memory to send"));
}

static bool is_push(const edge *e) { return e->outgoing && e->child == AGENT_WORKER; }

struct parcel {
    edge *edge;
    wire_header header;
    uint8_t bytes[];
};

static void send_parcel(parcel *p);

static void parcel_sent(void *ctx, edgeps_err err)
{
    parcel *p = ctx;
    slot *s = &p->edge->slots[p->header.chunk];
    parcel *next = s->next;
    *s = (slot){NULL, NULL};
    if (is_push(p->edge))
        push_sent(p->edge->agent, err);
    mem_free(p);
    if (next && !err)
        send_parcel(next);
    else
        mem_free(next);
}

static void send_parcel(parcel *p)
{
    agent *a = p->edge->agent;
    conn_frame frame = {.payload = p->bytes,
                        .bytes = (uint64_t)job_chunk_payload_bytes(&a->job, p->header.chunk),
                        .sent = parcel_sent,
                        .ctx = p};
    p->edge->slots[p->header.chunk].under_way = p;
    a->watch.unsent += is_push(p->edge);
    queue(a, p->edge, &p->header, &frame);
}

static void send_copy(agent *a, edge *e, wire_header header, const void *chunk)
{
    size_t bytes = (size_t)job_chunk_payload_bytes(&a->job, header.chunk);
    slot *s = &e->slots[header.chunk];
    parcel *p = mem_alloc(sizeof *p + bytes, 1);
    if (!p) {
        agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory to send"));
        return;
    }
    p->edge = e;
    p->header = header;
    memcpy(p->bytes, chunk, bytes);
    if (!s->under_way) {
        send_parcel(p);
        return;
    }
    mem_free(s->next);
    s->next = p;
}

void edges_send(agent *a, edge *e, wire_header header, const void *chunk)
{
    if (chunk && e->slots) {
        send_copy(a, e, header, chunk);
        return;
    }
    if (chunk && header.type == MESSAGE_PUSH_AGAIN) {
        edges_send_copy(a, e, header, chunk,
                        (size_t)job_chunk_payload_bytes(&a->job, header.chunk));
        return;
    }
    conn_frame frame = {.payload = chunk};
    if (chunk)
        frame.bytes = (uint64_t)job_chunk_payload_bytes(&a->job, header.chunk);
    if (chunk && is_push(e)) {
        frame.sent = push_sent;
        frame.ctx = a;
        a->watch.unsent++;
    }
    queue(a, e, &header, &frame);
}

static void free_copy(void *ctx, edgeps_err err)
{
    (void)err;
    mem_free(ctx);
}

void edges_send_copy(agent *a, edge *e, wire_header header, const void *payload, size_t bytes)
{
    void *copy = mem_alloc(bytes, 1);
    if (!copy) {
        agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory to send"));
        return;
    }
    memcpy(copy, payload, bytes);
    conn_frame frame = {.payload = copy, .bytes = bytes, .sent = free_copy, .ctx = copy};
    queue(a, e, &header, &frame);
}

static void attach(edge *e, const wire_header *h, const int64_t *have)
{
    agent *a = e->agent;
    edge *before = edges_to_child(a, h->chunk, (int32_t)h->sender);
    if (before && before != e) {
        before->peer = -1;
        conn_close(before->conn);
    }
    e->child = h->chunk;
    e->peer = (int32_t)h->sender;
    e->generation = h->generation;
    shape(a, e->conn, e->peer);
    proto_event event = {.kind = PROTO_ATTACH,
                         .node = e->peer,
                         .generation = h->generation,
                         .have = have,
                         .whole = h->round == 1};
    roles_post(a, parent_role(e->child), &event, NULL);
}

static void has(edge *e, const wire_header *h, const int64_t *have)
{
    proto_event event = {.kind = PROTO_HAS,
                         .node = e->peer,
                         .generation = h->generation,
                         .have = have,
                         .whole = h->round == 1};
    roles_post(e->agent, parent_role(e->child), &event, NULL);
}

static void pass(edge *e, const wire_header *h)
{
    proto_event event = {.kind = PROTO_PASSED,
                         .node = e->peer,
                         .generation = h->generation,
                         .round = h->round,
                         .chunk = h->chunk};
    roles_post(e->agent, parent_role(e->child), &event, NULL);
}

/* A word of the parent. */
static void hear(edge *e, const wire_header *h)
{
    proto_event event = {.kind = h->type == MESSAGE_ASK ? PROTO_ASKED : PROTO_ATTACHED,
                         .generation = h->generation,
                         .chunk = h->chunk};
    roles_post(e->agent, e->child, &event, NULL);
}

static void chunk(edge *e, const wire_header *h, const void *payload)
{
    bool up = h->type != MESSAGE_PULL;
    proto_event event = {.kind = !up                       ? PROTO_PULLED
                                 : h->type == MESSAGE_GIVE ? PROTO_GIVEN
                                                           : PROTO_PUSHED,
                         .node = e->peer,
                         .generation = h->generation,
                         .round = h->round,
                         .chunk = h->chunk,
                         .weight = h->weight,
                         .again = h->type == MESSAGE_PUSH_AGAIN};
    roles_post(e->agent, up ? parent_role(e->child) : e->child, &event, payload);
}

/* State that another node sends lands straight in the buffers of the server to be. */
static bool state_frame(edge *e, const wire_header *h, const void *payload)
{
    agent *a = e->agent;
    message_state m;
    switch (h->type) {
    case MESSAGE_STATE_BEGIN:
        return message_get_state(payload, h->length, &m) && moves_begin(a, e, &m, h);
    case MESSAGE_STATE_PARAMETERS:
    case MESSAGE_STATE_VELOCITY:
        state_took(&a->arrival, h);
        return true;
    case MESSAGE_STATE_END:
        if (!message_get_state(payload, h->length, &m))
            return false;
        moves_end(a, &m, h);
        return true;
    default:
        return false;
    }
}

static bool accepts(const edge *e, const wire_header *h)
{
    const agent *a = e->agent;
    if (h->job != a->stamp.job || h->sender >= a->settings.node_count ||
        !frame_speaks_for(e->conn, a->settings.names[h->sender]))
        return false;
    switch (h->type) {
    case MESSAGE_ATTACH:
        return !e->outgoing && h->chunk <= AGENT_LOCAL && h->length == versions_bytes(a);
    case MESSAGE_HAVE:
        return !e->outgoing && e->peer == (int32_t)h->sender && h->length == versions_bytes(a);
    case MESSAGE_PASS:
        return !e->outgoing && e->peer == (int32_t)h->sender && h->length == 0;
    case MESSAGE_ATTACHED:
    case MESSAGE_ASK:
        return e->outgoing && h->length == 0;
    case MESSAGE_PUSH:
    case MESSAGE_PUSH_AGAIN:
    case MESSAGE_GIVE:
        return !e->outgoing && e->peer == (int32_t)h->sender && e->inbox;
    case MESSAGE_PULL:
        return e->outgoing && e->peer == (int32_t)h->sender;
    case MESSAGE_STATE_BEGIN:
        return !e->outgoing && e->peer < 0;
    default:
        return !e->outgoing && a->coming.edge == e;
    }
}

static bool carries_chunk(const wire_header *h)
{
    return h->type == MESSAGE_PUSH || h->type == MESSAGE_PUSH_AGAIN || h->type == MESSAGE_PULL ||
           h->type == MESSAGE_GIVE;
}

static void *payload_buffer(void *ctx, conn *c, const uint8_t *header, uint64_t bytes)
{
    edge *e = ctx;
    agent *a = e->agent;
    (void)c;
    wire_header h = frame_header(header);
    if (!accepts(e, &h))
        return NULL;
    if (h.type == MESSAGE_STATE_PARAMETERS || h.type == MESSAGE_STATE_VELOCITY)
        return state_buffer(&a->arrival, &a->job, &h);
    if (carries_chunk(&h)) {
        bool fits = h.chunk < job_chunk_count(&a->job) &&
                    bytes == (uint64_t)job_chunk_payload_bytes(&a->job, h.chunk);
        return !fits ? NULL : e->outgoing ? e->staging : e->inbox;
    }
    return bytes <= words_bytes(a) ? e->words : NULL;
}

static void frame(void *ctx, conn *c, const uint8_t *header, void *payload)
{
    edge *e = ctx;
    wire_header h = frame_header(header);
    bool good = accepts(e, &h) && wire_verify(header, payload, h.length);
    if (good && h.type == MESSAGE_ATTACH)
        attach(e, &h, payload);
    else if (good && h.type == MESSAGE_HAVE)
        has(e, &h, payload);
    else if (good && h.type == MESSAGE_PASS)
        pass(e, &h);
    else if (good && (h.type == MESSAGE_ATTACHED || h.type == MESSAGE_ASK))
        hear(e, &h);
    else if (good && carries_chunk(&h))
        chunk(e, &h, payload);
    else if (good)
        good = state_frame(e, &h, payload);
    if (!good) {
        log_line(LOG_WARNING, "closes %s: a frame of type %u does not belong here",
                 conn_peer_text(c), h.type);
        conn_close(c);
    }
    roles_deliver(e->agent);
}

static void lose_parent(void *ctx)
{
    struct wish_context *context = ctx;
    wish *w = &context->agent->wishes[context->child];
    w->retry = NULL;
    roles_post(context->agent, context->child, &(proto_event){.kind = PROTO_PARENT_LOST}, NULL);
    roles_deliver(context->agent);
}

static void closed(void *ctx, conn *c, edgeps_err err, const char *text)
{
    edge *e = ctx;
    agent *a = e->agent;
    if (err)
        log_line(LOG_INFO, "edge %s: %s", conn_peer_text(c), text);
    if (e->outgoing && e->child != AGENT_GLOBAL) {
        wish *w = &a->wishes[e->child];
        if (w->edge == e) {
            w->edge = NULL;
            if (loop_timer_start(a->loop, RETRY_NS, lose_parent, &w->context, &w->retry) &&
                !a->stopping)
                agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory for a timer"));
        }
    } else if (!e->outgoing && e->peer >= 0 && !a->stopping) {
        roles_post(a, parent_role(e->child),
                   &(proto_event){.kind = PROTO_CHILD_LOST, .node = e->peer}, NULL);
    }
    moves_lost(a, e, text);
    forget_edge(e);
    if (!a->stopping)
        roles_deliver(a);
}

static void opened(void *ctx, conn *c, edgeps_err err)
{
    edge *e = ctx;
    (void)c;
    if (err || e->child == AGENT_GLOBAL)
        return;
    agent *a = e->agent;
    wire_header h = {.type = MESSAGE_ATTACH,
                     .generation = a->wishes[e->child].generation,
                     .round = agent_whole(a, e->child),
                     .chunk = e->child};
    edges_send_copy(a, e, h, agent_versions(a, e->child), versions_bytes(a));
}

static loop_handlers handlers(void)
{
    return (loop_handlers){.framing = frame_framing,
                           .opened = opened,
                           .payload_buffer = payload_buffer,
                           .frame = frame,
                           .closed = closed,
                           .from_source = true};
}

static edge *make_edge(agent *a, bool outgoing, agent_role child, int32_t peer)
{
    edge *e = mem_alloc(1, sizeof *e);
    if (!e)
        return NULL;
    *e = (edge){.agent = a, .outgoing = outgoing, .child = child, .peer = peer, .next = a->edges};
    e->words = mem_alloc(words_bytes(a), 1);
    if (outgoing)
        e->staging = mem_alloc((size_t)a->job.chunk_bytes, 1);
    bool copies = a->settings.patience.quorum > 0;
    if (copies)
        e->slots = mem_alloc((size_t)job_chunk_count(&a->job), sizeof *e->slots);
    a->edges = e;
    if (!e->words || (copies && !e->slots) || (outgoing && !e->staging)) {
        forget_edge(e);
        return NULL;
    }
    return e;
}

static edgeps_err lead(agent *a, agent_role child, int32_t node, uint32_t port, edge **out)
{
    edge *e = make_edge(a, true, child, node);
    if (!e)
        return EDGEPS_NOMEM;
    loop_handlers h = handlers();
    edgeps_err err = loop_connect(a->loop, a->settings.addresses[node], (int)port, &h, e, &e->conn);
    if (err) {
        forget_edge(e);
        return err;
    }
    char who[TRUST_MAX_WHO + 1];
    if (trust_node(a->settings.names[node], who))
        conn_expect(e->conn, who);
    shape(a, e->conn, node);
    *out = e;
    return EDGEPS_OK;
}

edgeps_err edges_lead(agent *a, int32_t node, uint32_t port, edge **out)
{
    return lead(a, AGENT_GLOBAL, node, port, out);
}

void edges_drop_wish(agent *a, agent_role child)
{
    wish *w = &a->wishes[child];
    loop_timer_cancel(w->retry);
    w->retry = NULL;
    edge *e = w->edge;
    w->edge = NULL;
    w->wanted = false;
    if (e)
        conn_close(e->conn);
}

void edges_wish(agent *a, agent_role child, const proto_effect *connect)
{
    edges_drop_wish(a, child);
    wish *w = &a->wishes[child];
    struct wish_context context = {a, child};
    *w = (wish){.wanted = true,
                .parent = connect->node,
                .generation = connect->generation,
                .context = context};
    if (connect->node == (int32_t)a->settings.node) {
        proto_event event = {.kind = PROTO_ATTACH,
                             .node = connect->node,
                             .generation = connect->generation,
                             .have = agent_versions(a, child),
                             .whole = agent_whole(a, child)};
        roles_post(a, parent_role(child), &event, NULL);
        return;
    }
    edgeps_err err = lead(a, child, connect->node, a->plan.port[connect->node], &w->edge);
    if (err)
        agent_fail(a, diag_fail(a->diag, err, "cannot connect to node %d", connect->node));
}

void edges_close_older(agent *a, uint64_t generation)
{
    for (edge *e = a->edges; e; e = e->next) {
        if (e->outgoing || e->peer < 0 || e->generation >= generation)
            continue;
        e->peer = -1;
        conn_close(e->conn);
    }
}

void edges_close_children(agent *a, agent_role child)
{
    for (edge *e = a->edges; e; e = e->next)
        if (!e->outgoing && e->peer >= 0 && e->child == child)
            conn_close(e->conn);
}

static void accepted(void *ctx, conn *c)
{
    agent *a = ctx;
    edge *e = a->welcomed ? make_edge(a, false, AGENT_GLOBAL, -1) : NULL;
    if (!e)
        return;
    loop_handlers h = handlers();
    e->conn = c;
    conn_attach(c, &h, e);
}

edgeps_err edges_listen(agent *a)
{
    loop_acceptor acceptor = {accepted, a};
    const char *address = a->settings.addresses[a->settings.node];
    loop_limit(a->loop, frame_most_connections(a->settings.node_count));
    edgeps_err err = agent_check_secrecy(a, "this node", address);
    if (err)
        return err;
    err = loop_listen(a->loop, address, 0, &acceptor, a->diag, &a->listener);
    if (!err)
        err = loop_set_source(a->loop, address, a->diag);
    if (!err)
        return EDGEPS_OK;
    return diag_wrap(a->diag, err == EDGEPS_IO ? EDGEPS_USAGE : err,
                     "node %s cannot use its address %s", a->options->name, address);
}
