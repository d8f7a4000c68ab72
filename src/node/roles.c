#include "node/agent_int.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "nn/sgd.h"

#include <string.h>

edgeps_err roles_make(agent *a)
{
    int64_t chunks = job_chunk_count(&a->job);
    edgeps_err err = worker_make(chunks, &a->worker);
    if (!err)
        err = local_make(chunks, &a->local);
    if (!err)
        err = global_make(chunks, &a->global);
    a->arrival_versions = mem_alloc((size_t)chunks, sizeof *a->arrival_versions);
    for (int k = 0; k < 2; k++)
        a->late_round[k] = mem_alloc(a->settings.node_count, sizeof **a->late_round);
    a->worker.staleness = a->settings.patience.staleness;
    a->local.family.patience = a->global.family.patience = a->settings.patience;
    a->local_buffers.role = MESSAGE_LOCAL;
    a->global_buffers.role = MESSAGE_GLOBAL;
    bool all = a->arrival_versions && a->late_round[0] && a->late_round[1];
    return err ? err : all ? EDGEPS_OK : EDGEPS_NOMEM;
}

void roles_free(agent *a)
{
    worker_free(&a->worker);
    local_free(&a->local);
    global_free(&a->global);
    mem_free(a->arrival_versions);
    mem_free(a->late_round[0]);
    mem_free(a->late_round[1]);
    mem_free(a->letters);
    proto_effects_free(&a->effects);
}

void roles_post(agent *a, agent_role role, const proto_event *event, const void *payload)
{
    if (a->letter_head == a->letter_count)
        a->letter_head = a->letter_count = 0;
    letter *letters = mem_grow(a->letters, a->letter_count + 1, sizeof *letters, &a->letter_room);
    if (!letters) {
        agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory for events"));
        return;
    }
    a->letters = letters;
    a->letters[a->letter_count] = (letter){role, *event, payload};
    a->letters[a->letter_count++].event.now_ns = clock_now_ns();
}

static buffers *buffers_of(agent *a, agent_role role)
{
    return role == AGENT_LOCAL ? &a->local_buffers : &a->global_buffers;
}

static float *parameters_of(agent *a, agent_role role)
{
    return role == AGENT_WORKER ? trainer_parameters(a->trainer) : buffers_of(a, role)->parameters;
}

/* A word or a chunk for the parent; within the node it goes the short way. */
static void send_up(agent *a, agent_role role, proto_event event, const void *payload)
{
    event.node = (int32_t)a->settings.node;
    if (a->wishes[role].parent == event.node) {
        if (role == AGENT_WORKER && event.kind == PROTO_PUSHED)
            a->watch.pushed_ns = clock_now_ns();
        roles_post(a, role + 1, &event, payload);
        return;
    }
    edge *e = a->wishes[role].edge;
    wire_header h = {.generation = event.generation,
                     .round = event.round,
                     .weight = event.weight,
                     .chunk = (uint32_t)event.chunk};
    if (!e)
        return;
    switch (event.kind) {
    case PROTO_PUSHED:
        h.type = event.again ? MESSAGE_PUSH_AGAIN : MESSAGE_PUSH;
        edges_send(a, e, h, payload);
        break;
    case PROTO_PASSED:
        h.type = MESSAGE_PASS;
        edges_send(a, e, h, NULL);
        break;
    case PROTO_GIVEN: /* it may be overwritten by something newer before it is with the kernel */
        h.type = MESSAGE_GIVE;
        edges_send_copy(a, e, h, payload, (size_t)job_chunk_payload_bytes(&a->job, event.chunk));
        break;
    default:
        h.type = MESSAGE_HAVE;
        h.round = event.whole;
        edges_send_copy(a, e, h, payload, (size_t)job_chunk_count(&a->job) * sizeof(int64_t));
        break;
    }
}

static void push(agent *a, agent_role role, const proto_effect *effect)
{
    const float *values =
        role == AGENT_WORKER ? trainer_gradient(a->trainer) : a->local_buffers.sum;
    send_up(a, role,
            (proto_event){.kind = PROTO_PUSHED,
                          .generation = effect->generation,
                          .round = effect->round,
                          .chunk = effect->chunk,
                          .weight = effect->weight,
                          .again = effect->again},
            agent_chunk(a, (float *)values, effect->chunk));
}

static void give(agent *a, agent_role role, const proto_effect *effect)
{
    send_up(a, role,
            (proto_event){.kind = PROTO_GIVEN,
                          .generation = effect->generation,
                          .round = effect->round,
                          .chunk = effect->chunk},
            agent_chunk(a, parameters_of(a, role), effect->chunk));
}

static void pass(agent *a, agent_role role, const proto_effect *effect)
{
    send_up(a, role,
            (proto_event){.kind = PROTO_PASSED,
                          .generation = effect->generation,
                          .round = effect->round,
                          .chunk = effect->chunk},
            NULL);
}

static void tell_versions(agent *a, agent_role role, const proto_effect *effect)
{
    const int64_t *have = agent_versions(a, role);
    send_up(a, role,
            (proto_event){.kind = PROTO_HAS,
                          .generation = effect->generation,
                          .have = have,
                          .whole = agent_whole(a, role)},
            have);
}

static void send_down(agent *a, agent_role role, const proto_effect *effect)
{
    const void *payload = agent_chunk(a, buffers_of(a, role)->parameters, effect->chunk);
    if (effect->node == (int32_t)a->settings.node) {
        proto_event event = {.kind = PROTO_PULLED,
                             .generation = effect->generation,
                             .round = effect->round,
                             .chunk = effect->chunk};
        roles_post(a, role - 1, &event, payload);
        return;
    }
    wire_header h = {.type = MESSAGE_PULL,
                     .generation = effect->generation,
                     .round = effect->round,
                     .chunk = (uint32_t)effect->chunk};
    edge *e = edges_to_child(a, role - 1, effect->node);
    if (e)
        edges_send(a, e, h, payload);
}

static void ask(agent *a, agent_role role, const proto_effect *effect)
{
    if (effect->node == (int32_t)a->settings.node) {
        proto_event event = {
            .kind = PROTO_ASKED, .generation = effect->generation, .chunk = effect->chunk};
        roles_post(a, role - 1, &event, NULL);
        return;
    }
    edge *e = edges_to_child(a, role - 1, effect->node);
    wire_header h = {.type = MESSAGE_ASK,
                     .generation = effect->generation,
                     .round = effect->round,
                     .chunk = (uint32_t)effect->chunk};
    if (e)
        edges_send(a, e, h, NULL);
}

static void accept_child(agent *a, agent_role role, const proto_effect *effect)
{
    const family *f = role == AGENT_LOCAL ? &a->local.family : &a->global.family;
    if (effect->node == (int32_t)a->settings.node) {
        proto_event event = {.kind = PROTO_ATTACHED, .generation = effect->generation};
        roles_post(a, role - 1, &event, NULL);
        return;
    }
    edge *e = edges_to_child(a, role - 1, effect->node);
    const buffers *b = buffers_of(a, role);
    if (!e)
        return;
    if (!b->inbox) { /* released: the next generation puts the server elsewhere */
        conn_close(e->conn);
        return;
    }
    for (size_t k = 0; k < f->child_count; k++)
        if (f->child[k] == effect->node)
            e->inbox = b->inbox + (int64_t)k * a->job.chunk_bytes;
    edges_send(a, e, (wire_header){.type = MESSAGE_ATTACHED, .generation = effect->generation},
               NULL);
}

static void take(agent *a, agent_role role, const proto_effect *effect, const void *payload)
{
    float *sum = agent_chunk(a, buffers_of(a, role)->sum, effect->chunk);
    size_t count = agent_chunk_values(a, effect->chunk);
    int64_t start_ns = clock_now_ns();
    if (effect->kind == PROTO_TAKE_FIRST)
        memcpy(sum, payload, count * sizeof *sum);
    else
        nn_add(sum, payload, count);
    a->sum_s += clock_since_s(start_ns);
}

static void apply(agent *a, const proto_effect *effect)
{
    const buffers *b = &a->global_buffers;
    int64_t start_ns = clock_now_ns();
    nn_sgd how = {.scale = (float)(1 / effect->weight),
                  .rate = (float)a->settings.rate,
                  .momentum = (float)a->settings.momentum};
    if (effect->weight > 0)
        nn_sgd_step(agent_chunk(a, b->parameters, effect->chunk),
                    agent_chunk(a, b->velocity, effect->chunk),
                    agent_chunk(a, b->sum, effect->chunk), agent_chunk_values(a, effect->chunk),
                    &how);
    a->sum_s += clock_since_s(start_ns);
}

static void keep(agent *a, agent_role role, const proto_effect *effect, const void *payload)
{
    if (role == AGENT_WORKER && a->watch.pulling_ns == 0)
        a->watch.pulling_ns = clock_now_ns();
    size_t count = agent_chunk_values(a, effect->chunk);
    float *values = agent_chunk(a, parameters_of(a, role), effect->chunk);
    float *velocity = role == AGENT_WORKER ? NULL : buffers_of(a, role)->velocity;
    if (velocity && effect->before + 1 == effect->round)
        nn_sgd_velocity(values, payload, count, (float)a->settings.rate,
                        agent_chunk(a, velocity, effect->chunk));
    else if (velocity) /* momentum starts anew */
        memset(agent_chunk(a, velocity, effect->chunk), 0, count * sizeof *velocity);
    memcpy(values, payload, count * sizeof *values);
}

static void computed(void *context, int64_t samples, double loss, double seconds)
{
    agent *a = context;
    if (samples < 0) {
        agent_fail(a, diag_fail(a->diag, EDGEPS_INTERNAL, "the gradient could not be computed"));
        return;
    }
    a->computed_s += seconds;
    a->computed_samples += samples;
    a->watch.computed_ns = a->watch.pushed_ns = clock_now_ns();
    a->watch.pulling_ns = 0;
    a->watch.epoch.compute_s += seconds;
    a->watch.epoch.loss += loss;
    a->watch.epoch.samples += samples;
    proto_event event = {
        .kind = PROTO_COMPUTED, .round = a->worker.round, .weight = (double)samples};
    roles_post(a, AGENT_WORKER, &event, NULL);
    roles_deliver(a);
}

static double seconds_between(int64_t from_ns, int64_t to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) / CLOCK_NS_PER_S : 0;
}

/* Only an epoch's last round is told. */
static void report_done(agent *a, int64_t round)
{
    stopwatch *w = &a->watch;
    if (round % a->settings.rounds != 0)
        return;
    w->epoch.round = round;
    a->last_done = w->epoch;
    wire_writer writer = {0};
    message_put_done(&writer, &w->epoch);
    agent_report(a, MESSAGE_DONE, a->worker.generation, round, &writer);
    w->epoch = (message_done){0};
}

static void round_done(agent *a, agent_role role, const proto_effect *effect)
{
    if (role == AGENT_GLOBAL) {
        agent_report(a, MESSAGE_ROUND, a->global.family.generation, effect->round, NULL);
        return;
    }
    stopwatch *w = &a->watch;
    w->epoch.push_s += seconds_between(w->computed_ns, w->pushed_ns);
    w->epoch.wait_s += seconds_between(w->pushed_ns, w->pulling_ns);
    w->epoch.pull_s += seconds_between(w->pulling_ns, clock_now_ns());
    report_done(a, effect->round);
}

static void out_of_patience(void *context)
{
    patience *p = context;
    p->timer = NULL;
    roles_post(p->agent, p->role, &p->event, NULL);
    roles_deliver(p->agent);
}

static void arm(agent *a, agent_role role, const proto_effect *effect)
{
    patience *p = &a->patience[role - 1];
    loop_timer_cancel(p->timer);
    *p = (patience){
        .agent = a,
        .role = role,
        .event = {.kind = PROTO_LATE, .generation = effect->generation, .round = effect->round}};
    if (loop_timer_start(a->loop, effect->after_ns, out_of_patience, p, &p->timer))
        agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory for a timer"));
}

/* A straggler's chunk, here or on its way here: told once for all chunks of its round. */
static void tell_late(agent *a, agent_role role, const proto_effect *effect)
{
    int32_t node = role == AGENT_WORKER ? (int32_t)a->settings.node : effect->node;
    int64_t *told = &a->late_round[role == AGENT_GLOBAL][node];
    if (effect->round <= *told)
        return;
    *told = effect->round;
    wire_writer w = {0};
    message_put_late(
        &w, &(message_late){.node = (uint32_t)node,
                            .role = role == AGENT_GLOBAL ? MESSAGE_GLOBAL : MESSAGE_LOCAL});
    agent_report(a, MESSAGE_LATE, effect->generation, effect->round, &w);
}

static void drop(agent *a, agent_role role, const proto_effect *effect)
{
    log_line(LOG_DEBUG, "drops chunk %lld: %s", (long long)effect->chunk,
             proto_why_text(effect->why));
    if (effect->why == PROTO_TOO_LATE)
        tell_late(a, role, effect);
}

static void refuse(agent *a, agent_role role, const proto_effect *effect)
{
    edge *e = edges_to_child(a, role - 1, effect->node);
    log_line(LOG_INFO, "refuses node %d: its request is %s", effect->node,
             proto_why_text(effect->why));
    if (e)
        conn_close(e->conn);
}

static void carry_out(agent *a, agent_role role, const proto_effect *effect, const void *payload)
{
    proto_event summed = {.kind = PROTO_SUMMED,
                          .generation = effect->generation,
                          .round = effect->round,
                          .chunk = effect->chunk};
    switch (effect->kind) {
    case PROTO_CONNECT:
        edges_wish(a, role, effect);
        break;
    case PROTO_DISCONNECT:
        edges_drop_wish(a, role);
        break;
    case PROTO_ACCEPT:
        accept_child(a, role, effect);
        break;
    case PROTO_REFUSE:
        refuse(a, role, effect);
        break;
    case PROTO_SEND_UP:
        push(a, role, effect);
        break;
    case PROTO_PASS:
        pass(a, role, effect);
        break;
    case PROTO_GIVE:
        give(a, role, effect);
        break;
    case PROTO_HAVE:
        tell_versions(a, role, effect);
        break;
    case PROTO_ASK:
        ask(a, role, effect);
        break;
    case PROTO_SEND_DOWN:
        send_down(a, role, effect);
        break;
    case PROTO_TAKE_FIRST:
    case PROTO_TAKE:
        take(a, role, effect, payload);
        break;
    case PROTO_STORE:
        keep(a, role, effect, payload);
        break;
    case PROTO_DROP:
        drop(a, role, effect);
        break;
    case PROTO_SUM: /* each contribution was added as it came */
        roles_post(a, role, &summed, NULL);
        break;
    case PROTO_APPLY:
        apply(a, effect);
        break;
    case PROTO_COMPUTE:
        if (trainer_start(a->trainer, effect->round, computed, a))
            agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory to compute"));
        break;
    case PROTO_ROUND_DONE:
        round_done(a, role, effect);
        break;
    case PROTO_ROUND_MISSED:
        report_done(a, effect->round);
        break;
    case PROTO_ARM:
        arm(a, role, effect);
        break;
    case PROTO_READY:
        agent_report(a, MESSAGE_READY, effect->generation, 0, NULL);
        break;
    }
}

static void carry_out_all(agent *a, agent_role role, const void *payload, edgeps_err err)
{
    if (err)
        agent_fail(a, diag_fail(a->diag, err, "no memory for the protocol"));
    for (size_t k = 0; !err && k < a->effects.count; k++)
        carry_out(a, role, &a->effects.items[k], payload);
    a->effects.count = 0;
}

static edgeps_err step(agent *a, const letter *l)
{
    switch (l->role) {
    case AGENT_WORKER:
        return worker_step(&a->worker, &l->event, &a->effects);
    case AGENT_LOCAL:
        return local_step(&a->local, &l->event, &a->effects);
    case AGENT_GLOBAL:
        return global_step(&a->global, &l->event, &a->effects);
    }
    return EDGEPS_OK;
}

void roles_deliver(agent *a)
{
    if (a->delivering)
        return;
    a->delivering = true;
    while (a->letter_head < a->letter_count) {
        letter l = a->letters[a->letter_head++];
        carry_out_all(a, l.role, l.payload, step(a, &l));
    }
    a->delivering = false;
}

static size_t list_children(const plan *pl, int32_t node, bool of_global, int32_t *children)
{
    size_t count = 0;
    for (size_t i = 0; i < pl->count; i++)
        if (of_global ? pl->global == node && plan_is_local(pl, i) : pl->parent[i] == node)
            children[count++] = (int32_t)i;
    return count;
}

/* Gives the server the room that its new family needs, or gives its room back. */
static edgeps_err fit(agent *a, buffers *b, size_t children)
{
    if (children)
        return buffers_fit(b, a->store, &a->job, (int64_t)children, a->diag);
    buffers_release(b, a->store);
    return EDGEPS_OK;
}

/* The standby keeps the optimizer's state, too, if it has the room: that of what it holds is not
 * known yet, and follows from the next round. */
static void stand_by(agent *a, bool wanted)
{
    edgeps_diag diag = {.text = ""};
    if (buffers_stand_by(&a->local_buffers, a->store, &a->job, wanted, &diag))
        log_line(LOG_WARNING, "does not keep the optimizer's state in reserve: %s", diag.text);
}

/* The edges of the generation before lend from buffers that are about to change. */
static void begin_generation(agent *a)
{
    moves_forget(a);
    edges_close_older(a, a->plan.plan.generation);
    edges_drop_wish(a, AGENT_WORKER);
    edges_drop_wish(a, AGENT_LOCAL);
}

/* Each role's machine gets its part of the plan, once the room that it needs is there. */
static edgeps_err give_parts(agent *a, int32_t *children)
{
    const plan *pl = &a->plan.plan;
    int32_t node = (int32_t)a->settings.node;
    size_t locals = list_children(pl, node, true, children);
    edgeps_err err = fit(a, &a->global_buffers, locals);
    if (locals == 0)
        moves_drop_checkpoints(a);
    if (err)
        return err;
    carry_out_all(a, AGENT_GLOBAL, NULL,
                  global_plan(&a->global, pl->generation, children, locals, &a->effects));
    size_t workers = list_children(pl, node, false, children);
    err = fit(a, &a->local_buffers, workers);
    if (err)
        return err;
    stand_by(a, workers > 0 && a->plan.standby == node);
    carry_out_all(a, AGENT_LOCAL, NULL,
                  local_plan(&a->local,
                             &(local_part){.generation = pl->generation,
                                           .global = pl->global,
                                           .children = children,
                                           .count = workers},
                             &a->effects));
    carry_out_all(a, AGENT_WORKER, NULL,
                  worker_plan(&a->worker, pl->generation, pl->parent[node], &a->effects));
    return EDGEPS_OK;
}

edgeps_err roles_plan(agent *a)
{
    int32_t *children = mem_alloc(a->plan.plan.count, sizeof *children);
    if (!children)
        return diag_fail(a->diag, EDGEPS_NOMEM, "no memory for a plan");
    begin_generation(a);
    edgeps_err err = give_parts(a, children);
    if (err) /* what is here of the global server stays as it is until the next plan */
        global_freeze(&a->global);
    mem_free(children);
    roles_deliver(a);
    return err;
}

void roles_serve_on(agent *a)
{
    if (!a->global_buffers.parameters) /* released, not copied */
        return;
    carry_out_all(a, AGENT_GLOBAL, NULL, global_thaw(&a->global, &a->effects));
    roles_deliver(a);
}

void roles_allow(agent *a, int64_t round)
{
    proto_event event = {.kind = PROTO_ALLOWED, .round = round};
    roles_post(a, AGENT_WORKER, &event, NULL);
    roles_deliver(a);
}
