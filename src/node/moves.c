#include "node/agent_int.h"

#include "base/log.h"
#include "store/checkpoint.h"

static void end_passage(passage *p)
{
    if (p->edge)
        conn_close(p->edge->conn);
    *p = (passage){.edge = NULL};
}

void moves_lost(agent *a, const edge *e, const char *text)
{
    if (!text[0])
        text = "its connection ended";
    if (a->leaving.edge == e) {
        departure_lost(a, text);
    } else if (a->coming.edge == e) {
        a->coming.edge = NULL;
        a->arrival.open = false;
        if (!a->stopping)
            departure_report(a, &a->coming.label, false, text);
    }
}

/* The checkpoints of a global server that lives elsewhere only take room. */
void moves_drop_checkpoints(agent *a)
{
    edgeps_diag diag = {.text = ""};
    if (store_drop_checkpoints(a->store, &diag))
        log_line(LOG_WARNING, "old checkpoints stay: %s", diag.text);
}

/* Without its buffers the server holds nothing, whatever its machine's versions say. */
static void empty(agent *a, message_role role)
{
    if (role == MESSAGE_GLOBAL) {
        global_restore(&a->global, NULL);
        buffers_release(&a->global_buffers, a->store);
    } else {
        local_restore(&a->local, NULL);
        buffers_release(&a->local_buffers, a->store);
    }
}

void moves_release(agent *a, message_role role)
{
    empty(a, role);
    if (role == MESSAGE_GLOBAL) {
        global_freeze(&a->global);
        moves_drop_checkpoints(a);
    }
    edges_close_children(a, role == MESSAGE_GLOBAL ? AGENT_LOCAL : AGENT_WORKER);
}

/* Of a state that is on its way here, or has come, nothing is left. */
static void drop_arrival(agent *a)
{
    bool any = a->coming.label.number != 0;
    message_role role = a->coming.label.role;
    a->arrival.open = false;
    end_passage(&a->coming);
    if (any)
        empty(a, role);
}

static buffers *buffers_for(agent *a, message_role role)
{
    return role == MESSAGE_GLOBAL ? &a->global_buffers : &a->local_buffers;
}

static bool refuse(agent *a, const state_label *label, const char *why)
{
    departure_report(a, label, false, why);
    return false;
}

bool moves_begin(agent *a, edge *e, const message_state *m, const wire_header *h)
{
    buffers *b = buffers_for(a, m->role);
    edgeps_diag diag = {.text = ""};
    state_label label = {.role = (message_role)m->role,
                         .generation = h->generation,
                         .number = h->round,
                         .children = m->children};
    bool given_up =
        label.number < a->coming.label.number || label.generation <= a->plan.plan.generation;
    if (given_up)
        return false;
    if (e && a->arrival.open && !a->coming.edge) /* frames of it are still on their way */
        return refuse(a, &label, "a state from the coordinator is arriving there");
    a->arrival.open = false;
    end_passage(&a->coming);
    buffers_release(b, a->store); /* left over from a move that was given up */
    if (!a->global.active)
        moves_drop_checkpoints(a);
    a->coming.label = label;
    edgeps_err err = buffers_fit(b, a->store, &a->job, label.children, &diag);
    if (err) {
        buffers_release(b, a->store);
        if (err == EDGEPS_FULL)
            agent_trouble(a, err, diag.text);
        return refuse(a, &label, diag.text);
    }
    a->coming.edge = e;
    state_view target = {.role = label.role,
                         .parameters = b->parameters,
                         .velocity = b->velocity,
                         .versions = a->arrival_versions};
    state_expect(&a->arrival, &a->job, target);
    return true;
}

void moves_end(agent *a, const message_state *m, const wire_header *h)
{
    edgeps_diag diag = {.text = ""};
    if (h->round != a->coming.label.number)
        return;
    edgeps_err err = state_finish(&a->arrival, &a->job, m, &diag);
    a->coming.edge = NULL; /* what it was for is done */
    if (!err && m->role == MESSAGE_GLOBAL)
        global_restore(&a->global, a->arrival_versions);
    else if (!err)
        local_restore(&a->local, a->arrival_versions);
    departure_report(a, &a->coming.label, !err, diag.text);
}

void moves_abandon(agent *a, int64_t number)
{
    if (a->leaving.label.number == number) {
        bool stands_still = a->leaving.copier.frozen;
        departure_end(a);
        if (stands_still)
            roles_serve_on(a);
    }
    if (a->coming.label.number == number)
        drop_arrival(a);
}

void moves_forget(agent *a)
{
    departure_end(a);
    a->arrival.open = false;
    end_passage(&a->coming);
}

void moves_revert(agent *a)
{
    departure_end(a);
    drop_arrival(a);
    roles_serve_on(a);
}

/* A server that stands still may have been moved: that the coordinator which takes over will tell.
 */
void moves_orphaned(agent *a)
{
    if (!a->leaving.copier.frozen)
        departure_end(a);
}

void moves_save(agent *a, uint64_t generation, int64_t round)
{
    edgeps_diag diag = {.text = ""};
    state_view view = departure_view(a, MESSAGE_GLOBAL);
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
    state_label label = {.role = MESSAGE_GLOBAL, .generation = generation};
    if (state_send(a->control, &a->stamp, &a->job, &view, &label))
        agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory to send the state"));
}
