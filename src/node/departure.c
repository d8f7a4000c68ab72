/* A server's state leaves for another node while the server goes on (proto/copier.h tells what is
 * sent next). Chunks go out as copies, a few at a time: each is as it is when its turn comes. */
#include "node/agent_int.h"

#include "base/mem.h"

#include <string.h>

enum { MOST_UNDER_WAY = 4 }; /* frames: the connection never waits for the next chunk */

/* A part of a chunk on its way. */
typedef struct crate {
    agent *agent;
    int64_t number; /* of the move */
    uint8_t bytes[];
} crate;

state_view departure_view(agent *a, message_role role)
{
    /* Where no local server stands beside it, the global one has the parameters for another. */
    bool of_global = role == MESSAGE_GLOBAL || !a->local_buffers.parameters;
    if (of_global && a->global_buffers.parameters)
        return (state_view){.role = role,
                            .parameters = a->global_buffers.parameters,
                            .velocity = role == MESSAGE_GLOBAL ? a->global_buffers.velocity : NULL,
                            .versions = a->global.have.of};
    /* The standby has the state of a lost global server, as far as it heard of it. */
    const buffers *b = &a->local_buffers;
    bool has =
        role == MESSAGE_LOCAL || (b->velocity && versions_lowest(&a->local.have) != PROTO_NOTHING);
    return (state_view){.role = role,
                        .parameters = has ? b->parameters : NULL,
                        .velocity = role == MESSAGE_GLOBAL ? b->velocity : NULL,
                        .versions = a->local.have.of};
}

static void go_on(agent *a);

static void crate_sent(void *ctx, edgeps_err err)
{
    crate *c = ctx;
    agent *a = c->agent;
    bool current = !err && a->leaving.edge && a->leaving.label.number == c->number;
    mem_free(c);
    if (!current)
        return;
    a->leaving.under_way--;
    go_on(a);
}

static edgeps_err send_part(agent *a, wire_header header, const float *part, uint64_t *hash)
{
    departure *d = &a->leaving;
    header.length = (uint64_t)job_chunk_payload_bytes(&a->job, header.chunk);
    crate *c = mem_alloc(sizeof *c + header.length, 1);
    if (!c)
        return EDGEPS_NOMEM;
    c->agent = a;
    c->number = d->label.number;
    memcpy(c->bytes, part, header.length);
    *hash = wire_hash(c->bytes, header.length);
    edgeps_err err = frame_lend(d->edge->conn, &a->stamp, header, c->bytes, crate_sent, c);
    if (err)
        mem_free(c);
    else
        d->under_way++;
    return err;
}

static edgeps_err send_chunk(agent *a, int64_t k)
{
    departure *d = &a->leaving;
    wire_header header = {.type = MESSAGE_STATE_PARAMETERS,
                          .generation = d->label.generation,
                          .round = d->have->of[k],
                          .chunk = (uint32_t)k};
    edgeps_err err =
        send_part(a, header, agent_chunk(a, d->state.parameters, k), &d->hashes[k].parameters);
    header.type = MESSAGE_STATE_VELOCITY;
    if (!err && d->state.velocity)
        err = send_part(a, header, agent_chunk(a, d->state.velocity, k), &d->hashes[k].velocity);
    return err;
}

static edgeps_err send_end(agent *a)
{
    departure *d = &a->leaving;
    uint64_t parameters = 0, velocity = 0;
    for (int64_t k = 0; k < job_chunk_count(&a->job); k++) {
        parameters = state_chain(parameters, d->hashes[k].parameters, d->copier.sent[k]);
        velocity = state_chain(velocity, d->hashes[k].velocity, d->copier.sent[k]);
    }
    d->over = true;
    return state_end(d->edge->conn, &a->stamp, &d->label, parameters,
                     d->state.velocity ? velocity : 0);
}

static edgeps_err take_step(agent *a)
{
    departure *d = &a->leaving;
    int64_t chunk;
    switch (copier_next(&d->copier, d->have, &chunk)) {
    case COPIER_SEND:
        return send_chunk(a, chunk);
    case COPIER_FREEZE:
        global_freeze(&a->global);
        agent_report(a, MESSAGE_STILL, d->label.generation, d->label.number, NULL);
        return EDGEPS_OK;
    case COPIER_END:
        return send_end(a);
    }
    return EDGEPS_OK;
}

static void go_on(agent *a)
{
    departure *d = &a->leaving;
    edgeps_err err = EDGEPS_OK;
    while (!err && !d->over && d->under_way < MOST_UNDER_WAY)
        err = take_step(a);
    if (err == EDGEPS_NOMEM) /* otherwise the end of the connection is on its way */
        agent_fail(a, diag_fail(a->diag, err, "no memory to send a server's state"));
}

void departure_report(agent *a, const state_label *label, bool ok, const char *text)
{
    wire_writer w = {0};
    message_put_moved(&w, &(message_moved){.ok = ok, .text = text});
    agent_report(a, MESSAGE_MOVED, label->generation, label->number, &w);
}

static edgeps_err set_out(agent *a, const message_move *m)
{
    departure *d = &a->leaving;
    bool serves = d->state.role == MESSAGE_GLOBAL && d->have == &a->global.have;
    d->hashes = mem_alloc((size_t)job_chunk_count(&a->job), sizeof *d->hashes);
    edgeps_err err = d->hashes ? EDGEPS_OK : EDGEPS_NOMEM;
    if (!err)
        err = copier_make(job_chunk_count(&a->job), serves, &d->copier);
    if (!err)
        err = edges_lead(a, (int32_t)m->node, m->port, &d->edge);
    return err ? err : state_begin(d->edge->conn, &a->stamp, &d->label);
}

void departure_begin(agent *a, const message_move *m, const wire_header *h)
{
    departure *d = &a->leaving;
    departure_end(a);
    d->state = departure_view(a, (message_role)m->role);
    d->have = d->state.versions == a->global.have.of ? &a->global.have : &a->local.have;
    d->label = (state_label){.role = (message_role)m->role,
                             .generation = h->generation,
                             .number = h->round,
                             .children = m->children};
    if (!d->state.parameters) {
        departure_report(a, &d->label, false, "the source holds no such server");
        return;
    }
    edgeps_err err = set_out(a, m);
    if (err)
        departure_report(a, &d->label, false, err_text(err));
    else
        go_on(a);
}

void departure_end(agent *a)
{
    departure *d = &a->leaving;
    if (d->edge)
        conn_close(d->edge->conn);
    copier_free(&d->copier);
    mem_free(d->hashes);
    *d = (departure){.edge = NULL};
}

void departure_lost(agent *a, const char *text)
{
    a->leaving.edge = NULL;
    if (!a->stopping)
        departure_report(a, &a->leaving.label, false, text);
}
