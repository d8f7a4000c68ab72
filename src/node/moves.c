#include "node/agent_int.h"

#include "base/log.h"
#include "store/checkpoint.h"

static state_view view_of(agent *a, message_role role)
{
    if (role == MESSAGE_GLOBAL && a->global_buffers.parameters)
        return (state_view){.role = role,
                            .parameters = a->global_buffers.parameters,
                            .velocity = a->global_buffers.velocity,
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

static void report_moved(agent *a, uint64_t generation, bool ok, const char *text)
{
    wire_writer w = {0};
    message_put_moved(&w, &(message_moved){.ok = ok, .text = text});
    agent_report(a, MESSAGE_MOVED, generation, 0, &w);
}

void moves_send_state(agent *a, const message_move *m, uint64_t generation)
{
    state_view view = view_of(a, m->role);
    if (!view.parameters) {
        report_moved(a, generation, false, "the source holds no such server");
        return;
    }
    if (m->role == MESSAGE_GLOBAL)
        global_freeze(&a->global);
    edge *e;
    edgeps_err err = edges_lead(a, (int32_t)m->node, m->port, &e);
    if (!err)
        err = state_send(e->conn, &a->stamp, &a->job, &view, generation, m->children);
    if (err)
        report_moved(a, generation, false, err_text(err));
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

bool moves_begin(agent *a, const message_state *m)
{
    buffers *b = m->role == MESSAGE_GLOBAL ? &a->global_buffers : &a->local_buffers;
    edgeps_diag diag = {.text = ""};
    buffers_release(b, a->store); /* left over from a move that was given up */
    if (!a->global.active)
        moves_drop_checkpoints(a);
    if (buffers_fit(b, a->store, &a->job, m->children, &diag)) {
        buffers_release(b, a->store);
        report_moved(a, 0, false, diag.text);
        return false;
    }
    state_view target = {.role = m->role,
                         .parameters = b->parameters,
                         .velocity = b->velocity,
                         .versions = a->arrival_versions};
    state_expect(&a->arrival, &a->job, target);
    return true;
}

void moves_end(agent *a, const message_state *m, uint64_t generation)
{
    edgeps_diag diag = {.text = ""};
    edgeps_err err = state_finish(&a->arrival, &a->job, m, &diag);
    if (!err && m->role == MESSAGE_GLOBAL)
        global_restore(&a->global, a->arrival_versions);
    else if (!err)
        local_restore(&a->local, a->arrival_versions);
    report_moved(a, generation, !err, diag.text);
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
    if (state_send(a->control, &a->stamp, &a->job, &view, generation, 0))
        agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory to send the state"));
}
