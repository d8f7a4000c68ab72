#include "node/agent_int.h"

#include "base/log.h"
#include "store/checkpoint.h"

static state_view view_of(agent *a, message_role role)
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

static void report_moved(agent *a, const passage *p, bool ok, const char *text)
{
    wire_writer w = {0};
    message_put_moved(&w, &(message_moved){.ok = ok, .text = text});
    agent_report(a, MESSAGE_MOVED, p->generation, p->number, &w);
}

static void end_passage(passage *p)
{
    if (p->edge)
        conn_close(p->edge->conn);
    *p = (passage){0};
}

void moves_send_state(agent *a, const message_move *m, const wire_header *h)
{
    state_view view = view_of(a, m->role);
    end_passage(&a->leaving);
    a->leaving = (passage){.number = h->round, .generation = h->generation, .role = m->role};
    if (!view.parameters) {
        report_moved(a, &a->leaving, false, "the source holds no such server");
        return;
    }
    if (m->role == MESSAGE_GLOBAL)
        global_freeze(&a->global);
    /* The job has given up the global server whose state the standby gives; it may still send. */
    if (m->role == MESSAGE_GLOBAL && !a->global_buffers.parameters)
        edges_drop_wish(a, AGENT_LOCAL);
    edgeps_err err = edges_lead(a, (int32_t)m->node, m->port, &a->leaving.edge);
    state_label label = {.generation = h->generation, .number = h->round, .children = m->children};
    if (!err)
        err = state_send(a->leaving.edge->conn, &a->stamp, &a->job, &view, &label);
    if (err)
        report_moved(a, &a->leaving, false, err_text(err));
}

void moves_lost(agent *a, const edge *e, const char *text)
{
    passage *p = a->leaving.edge == e ? &a->leaving : a->coming.edge == e ? &a->coming : NULL;
    if (!p)
        return;
    p->edge = NULL;
    if (p == &a->coming)
        a->arrival.open = false;
    if (!a->stopping)
        report_moved(a, p, false, text[0] ? text : "its connection ended");
}

/* The checkpoints of a global server that lives elsewhere only take room. */
void moves_drop_checkpoints(agent *a)
{
    edgeps_diag diag = {.text = ""};
    if (store_drop_checkpoints(a->store, &diag))
        log_line(LOG_WARNING, "old checkpoints stay: %s", diag.text);
}

/* Without its buffers the server holds nothing, whatever its machine's versions say. */
void moves_release(agent *a, message_role role)
{
    for (int64_t k = 0; k < job_chunk_count(&a->job); k++)
        a->arrival_versions[k] = PROTO_NOTHING;
    if (role == MESSAGE_GLOBAL) {
        global_freeze(&a->global);
        global_restore(&a->global, a->arrival_versions);
        buffers_release(&a->global_buffers, a->store);
        moves_drop_checkpoints(a);
    } else {
        local_restore(&a->local, a->arrival_versions);
        buffers_release(&a->local_buffers, a->store);
    }
    edges_close_children(a, role == MESSAGE_GLOBAL ? AGENT_LOCAL : AGENT_WORKER);
}

/* Nothing of a state that was on its way here is left. */
static void drop_arrival(agent *a)
{
    a->arrival.open = false;
    end_passage(&a->coming);
}

static buffers *buffers_for(agent *a, message_role role)
{
    return role == MESSAGE_GLOBAL ? &a->global_buffers : &a->local_buffers;
}

static bool refuse(agent *a, const passage *p, const char *why)
{
    report_moved(a, p, false, why);
    return false;
}

bool moves_begin(agent *a, edge *e, const message_state *m, const wire_header *h)
{
    buffers *b = buffers_for(a, m->role);
    edgeps_diag diag = {.text = ""};
    passage p = {.number = h->round, .generation = h->generation, .role = m->role};
    if (p.number < a->coming.number) /* given up before it came */
        return false;
    if (e && a->arrival.open && !a->coming.edge) /* frames of it are still on their way */
        return refuse(a, &p, "a state from the coordinator is arriving there");
    drop_arrival(a);
    buffers_release(b, a->store); /* left over from a move that was given up */
    if (!a->global.active)
        moves_drop_checkpoints(a);
    a->coming = p;
    edgeps_err err = buffers_fit(b, a->store, &a->job, m->children, &diag);
    if (err) {
        buffers_release(b, a->store);
        if (err == EDGEPS_FULL)
            agent_trouble(a, err, diag.text);
        return refuse(a, &p, diag.text);
    }
    a->coming.edge = e;
    state_view target = {.role = m->role,
                         .parameters = b->parameters,
                         .velocity = b->velocity,
                         .versions = a->arrival_versions};
    state_expect(&a->arrival, &a->job, target);
    return true;
}

void moves_end(agent *a, const message_state *m, const wire_header *h)
{
    edgeps_diag diag = {.text = ""};
    if (h->round != a->coming.number)
        return;
    edgeps_err err = state_finish(&a->arrival, &a->job, m, &diag);
    a->coming.edge = NULL; /* what it was for is done */
    if (!err && m->role == MESSAGE_GLOBAL)
        global_restore(&a->global, a->arrival_versions);
    else if (!err)
        local_restore(&a->local, a->arrival_versions);
    report_moved(a, &a->coming, !err, diag.text);
}

void moves_abandon(agent *a, int64_t number)
{
    if (a->leaving.number == number)
        end_passage(&a->leaving);
    if (a->coming.number != number)
        return;
    buffers *b = buffers_for(a, a->coming.role);
    drop_arrival(a);
    buffers_release(b, a->store);
}

void moves_forget(agent *a)
{
    end_passage(&a->leaving);
    drop_arrival(a);
}

void moves_save(agent *a, uint64_t generation, int64_t round)
{
    edgeps_diag diag = {.text = ""};
    state_view view = view_of(a, MESSAGE_GLOBAL);
    checkpoint cp = {.generation = generation,
                     .round = round,
                     .epoch = round / a->settings.rounds,
                     .job = a->stamp.job,
                     .model = a->settings.model,
                     .parameter_count = a->job.parameter_count,
                     .parameters = view.parameters,
                     .velocity = view.velocity};
    /* A full node keeps its older checkpoint; the coordinator gets the state all the same. */
    if (store_write_checkpoint(a->store, &cp, JOB_CHECKPOINTS_KEPT, &diag))
        log_line(LOG_WARNING, "no checkpoint on this node: %s", diag.text);
    if (state_send(a->control, &a->stamp, &a->job, &view, &(state_label){.generation = generation}))
        agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory to send the state"));
}
