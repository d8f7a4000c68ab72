#include "node/agent_int.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "network/network.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CALL_NS (200 * INT64_C(1000000)) /* between attempts to reach a coordinator */

void agent_fail(agent *a, edgeps_err err)
{
    if (!a->outcome)
        a->outcome = err;
    a->stopping = true;
    loop_stop(a->loop);
}

void agent_report(agent *a, uint16_t type, uint64_t generation, int64_t round, wire_writer *w)
{
    edgeps_err err = frame_send(a->control, &a->stamp, type, generation, round, w);
    if (err == EDGEPS_NOMEM)
        agent_fail(a, diag_fail(a->diag, err, "no memory to report"));
}

void agent_trouble(agent *a, edgeps_err err, const char *text)
{
    wire_writer w = {0};
    message_put_trouble(&w, &(message_trouble){.code = (uint32_t)err, .text = text});
    agent_report(a, MESSAGE_TROUBLE, 0, 0, &w);
}

edgeps_err agent_check_secrecy(const agent *a, const char *whose, const char *host)
{
    const agent_options *o = a->options;
    if (o->certs || o->enclosed || loop_is_loopback(host))
        return EDGEPS_OK;
    if (!o->insecure)
        return diag_fail(a->diag, EDGEPS_USAGE,
                         "the address of %s, %s, is beyond loopback: give --certs FOLDER, or "
                         "--insecure to send everything in plain",
                         whose, host);
    log_line(LOG_WARNING, "%s is at %s: who is on the way can read and change all (--insecure)",
             whose, host);
    return EDGEPS_OK;
}

static void *no_payload(void *ctx, conn *c, const uint8_t *header, uint64_t bytes)
{
    (void)ctx;
    (void)c;
    (void)header;
    (void)bytes;
    return NULL;
}

/* A word of the coordinator comes on its own connection, too. */
static void ignore_frame(void *ctx, conn *c, const uint8_t *header, void *payload)
{
    (void)ctx;
    (void)c;
    (void)header;
    (void)payload;
}

static void pulse_closed(void *ctx, conn *c, edgeps_err err, const char *text)
{
    agent *a = ctx;
    (void)c;
    (void)err;
    (void)text;
    a->pulse = NULL; /* the next beat opens another, where there is a coordinator */
}

static edgeps_err open_pulse(agent *a)
{
    loop_handlers h = {.framing = frame_framing,
                       .payload_buffer = no_payload,
                       .frame = ignore_frame,
                       .closed = pulse_closed};
    edgeps_err err = loop_connect(a->loop, a->options->host, a->options->port, &h, a, &a->pulse);
    if (!err)
        conn_expect(a->pulse, TRUST_COORDINATOR);
    return err;
}

static void beat(void *ctx)
{
    agent *a = ctx;
    edgeps_err err = a->control && !a->pulse ? open_pulse(a) : EDGEPS_OK;
    if (!err && a->pulse)
        err = frame_send(a->pulse, &a->stamp, MESSAGE_BEAT, 0, 0, NULL);
    if (err == EDGEPS_NOMEM)
        agent_fail(a, diag_fail(a->diag, err, "no memory for a heartbeat"));
    int64_t pause_ns = (int64_t)(a->settings.beat_s * CLOCK_NS_PER_S);
    if (loop_timer_start(a->loop, pause_ns, beat, a, NULL))
        agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory for a timer"));
}

static void measure(agent *a)
{
    message_measured m = {.port = (uint32_t)loop_listener_port(a->listener),
                          .free_bytes = store_offered_bytes(a->store),
                          .sum_s = a->sum_s};
    if (a->computed_s > 0)
        m.samples_per_s = (double)a->computed_samples / a->computed_s;
    a->sum_s = a->computed_s = 0;
    a->computed_samples = 0;
    wire_writer w = {0};
    message_put_measured(&w, &m);
    agent_report(a, MESSAGE_MEASURED, 0, 0, &w);
}

static edgeps_err settle(agent *a)
{
    const message_welcome *s = &a->settings;
    a->stamp.job = s->job;
    a->stamp.sender = s->node;
    a->stamp.incarnation = s->incarnation;
    edgeps_err err =
        job_make(s->model, s->sample_count, s->batch_samples,
                 s->store_and_forward ? JOB_STORE_AND_FORWARD : JOB_PIPELINED, a->diag, &a->job);
    a->job.local_steps = s->local_steps;
    if (!err)
        err = store_open(s->storage_dir, s->free_bytes, a->diag, &a->store);
    if (!err && s->shard < s->shard_count)
        err = trainer_make(a->loop, s, a->diag, &a->trainer);
    if (!err && roles_make(a))
        err = diag_fail(a->diag, EDGEPS_NOMEM, "no memory for the roles");
    loop_set_patience(a->loop, s->silent_s);
    if (!err && s->emulate) /* before any connection: windows cannot shrink later */
        loop_set_rates(a->loop, s->up_bytes_per_s, s->down_bytes_per_s);
    return err ? err : edges_listen(a);
}

static void welcome(agent *a, const void *payload, size_t bytes)
{
    a->settings_bytes = mem_alloc(bytes, 1);
    if (!a->settings_bytes) {
        agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory for the settings"));
        return;
    }
    memcpy(a->settings_bytes, payload, bytes);
    if (!message_get_welcome(a->settings_bytes, bytes, &a->settings)) {
        agent_fail(a, diag_fail(a->diag, EDGEPS_PROTOCOL, "the coordinator's welcome is damaged"));
        return;
    }
    if (a->options->storage)
        a->settings.storage_dir = a->options->storage;
    edgeps_err err = settle(a);
    if (err) {
        agent_trouble(a, err, a->diag->text);
        return;
    }
    a->welcomed = true;
    measure(a);
    beat(a);
}

static void plan_arrived(agent *a, const void *payload, size_t bytes)
{
    message_plan next;
    if (!message_get_plan(payload, bytes, &next) || next.plan.count != a->settings.node_count) {
        agent_fail(a, diag_fail(a->diag, EDGEPS_PROTOCOL, "the coordinator's plan is damaged"));
        return;
    }
    if (next.plan.generation <= a->plan.plan.generation) {
        moves_revert(a); /* a coordinator that takes over knows of no move */
        message_plan_free(&next);
        return;
    }
    message_plan_free(&a->plan);
    a->plan = next;
    edgeps_err err = roles_plan(a);
    if (err) {
        agent_trouble(a, err, a->diag->text);
        return;
    }
    roles_allow(a, a->allowed);
}

static void set(agent *a, const message_set *m)
{
    message_welcome *s = &a->settings;
    switch ((network_change)m->change) {
    case NETWORK_FREE:
        store_set_quota(a->store, (int64_t)m->value);
        break;
    case NETWORK_UP:
        s->up_bytes_per_s = m->value;
        break;
    case NETWORK_DOWN:
        s->down_bytes_per_s = m->value;
        break;
    case NETWORK_COMPUTE:
        if (a->trainer)
            trainer_set_speed(a->trainer, m->value);
        break;
    default:
        break; /* nothing that an agent is told of */
    }
    if (s->emulate)
        loop_set_rates(a->loop, s->up_bytes_per_s, s->down_bytes_per_s);
}

/* State that the coordinator sends: the first parameters, or those of a checkpoint. */
static void state_frame(agent *a, const wire_header *h, const void *payload)
{
    message_state m;
    if (h->type == MESSAGE_STATE_PARAMETERS || h->type == MESSAGE_STATE_VELOCITY)
        state_took(&a->arrival, h);
    else if (!message_get_state(payload, h->length, &m))
        agent_fail(a, diag_fail(a->diag, EDGEPS_PROTOCOL, "a state's announcement is damaged"));
    else if (h->type == MESSAGE_STATE_BEGIN)
        moves_begin(a, NULL, &m, h);
    else
        moves_end(a, &m, h);
}

static void command(agent *a, const wire_header *h, const void *payload)
{
    message_set change;
    message_move move;
    switch (h->type) {
    case MESSAGE_PLAN:
        plan_arrived(a, payload, h->length);
        break;
    case MESSAGE_ALLOW:
        a->allowed = h->round;
        roles_allow(a, h->round);
        break;
    case MESSAGE_SET:
        if (message_get_set(payload, h->length, &change))
            set(a, &change);
        break;
    case MESSAGE_MEASURE:
        measure(a);
        break;
    case MESSAGE_MOVE:
        if (message_get_move(payload, h->length, &move))
            departure_begin(a, &move, h);
        break;
    case MESSAGE_RELEASE:
        if (message_get_move(payload, h->length, &move))
            moves_release(a, (message_role)move.role);
        break;
    case MESSAGE_ABANDON:
        moves_abandon(a, h->round);
        break;
    case MESSAGE_SAVE:
        moves_save(a, h->generation, h->round);
        break;
    case MESSAGE_STATE_BEGIN:
    case MESSAGE_STATE_PARAMETERS:
    case MESSAGE_STATE_VELOCITY:
    case MESSAGE_STATE_END:
        state_frame(a, h, payload);
        break;
    case MESSAGE_STOP:
        a->stopping = true;
        loop_stop(a->loop);
        break;
    default:
        log_line(LOG_WARNING, "the coordinator sent a message of unknown type %u", h->type);
    }
}

/* What came back since, and is not in force, does not count. */
static bool is_released(const agent *a, message_role role)
{
    const buffers *b = role == MESSAGE_GLOBAL ? &a->global_buffers : &a->local_buffers;
    return !b->parameters || (a->coming.label.number && a->coming.label.role == role);
}

static message_servers servers_of(const agent *a)
{
    const plan *pl = &a->plan.plan;
    size_t node = a->settings.node;
    if (pl->count == 0)
        return MESSAGE_SETTLED;
    bool is_global = pl->global == (int32_t)node;
    if (is_global && is_released(a, MESSAGE_GLOBAL))
        return MESSAGE_HOMELESS;
    bool unsettled = plan_is_local(pl, node) && is_released(a, MESSAGE_LOCAL);
    return unsettled ? MESSAGE_UNSETTLED : MESSAGE_SETTLED;
}

/* What the coordinator before may have been told, or not: all of it may be said twice. */
static void tell_all(agent *a)
{
    wire_writer w = {0};
    measure(a);
    if (a->worker.said_ready)
        agent_report(a, MESSAGE_READY, a->worker.generation, 0, NULL);
    if (a->last_done.round) {
        message_put_done(&w, &a->last_done);
        agent_report(a, MESSAGE_DONE, a->worker.generation, a->last_done.round, &w);
    }
    if (a->global.active && versions_agree(&a->global.have))
        agent_report(a, MESSAGE_ROUND, a->global.family.generation, a->global.have.top, NULL);
}

/* The answer to hello. */
static void answered(agent *a, const wire_header *h, const void *payload)
{
    message_trouble t;
    if (h->type == MESSAGE_REFUSE && message_get_trouble(payload, h->length, &t)) {
        agent_fail(a, diag_fail(a->diag, (edgeps_err)t.code, "%s", t.text));
        return;
    }
    if (h->type == MESSAGE_PROBE && !a->welcomed) {
        probing_begin(a, payload, h->length);
        return;
    }
    if (h->type != (a->welcomed ? MESSAGE_KEEP : MESSAGE_WELCOME))
        return;
    a->control = a->calling;
    a->calling = NULL;
    if (a->welcomed) {
        loop_timer_cancel(a->orphaned);
        a->orphaned = NULL;
        log_line(LOG_INFO, "goes on with the coordinator that took over");
        tell_all(a);
    } else {
        probing_close(a);
        welcome(a, payload, h->length);
    }
}

static void *control_buffer(void *ctx, conn *c, const uint8_t *header, uint64_t bytes)
{
    agent *a = ctx;
    wire_header h = frame_header(header);
    (void)c;
    if (h.type == MESSAGE_STATE_PARAMETERS || h.type == MESSAGE_STATE_VELOCITY) {
        void *target = a->coming.edge ? NULL : state_buffer(&a->arrival, &a->job, &h);
        if (target)
            return target;
    }
    mem_free(a->control_payload);
    a->control_payload = mem_alloc(bytes, 1);
    return a->control_payload;
}

static void control_frame(void *ctx, conn *c, const uint8_t *header, void *payload)
{
    agent *a = ctx;
    wire_header h = frame_header(header);
    bool state = h.type == MESSAGE_STATE_PARAMETERS || h.type == MESSAGE_STATE_VELOCITY;
    if (!wire_verify(header, payload, h.length))
        agent_fail(a, diag_fail(a->diag, EDGEPS_PROTOCOL, "a damaged frame from the coordinator"));
    else if (state && payload == a->control_payload)
        log_line(LOG_DEBUG, "drops a chunk of a state that was refused");
    else if (c == a->calling)
        answered(a, &h, payload);
    else if (a->welcomed)
        command(a, &h, payload);
}

static void control_opened(void *ctx, conn *c, edgeps_err err)
{
    agent *a = ctx;
    if (err)
        return;
    wire_writer w = {0};
    message_hello hello = {.name = a->options->name,
                           .job = a->stamp.job,
                           .incarnation = a->stamp.incarnation,
                           .generation = a->plan.plan.generation,
                           .servers = (uint8_t)servers_of(a)};
    message_put_hello(&w, &hello);
    if (frame_send(c, &a->stamp, MESSAGE_HELLO, 0, 0, &w) == EDGEPS_NOMEM)
        agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory to say hello"));
}

static edgeps_err join(agent *a);

static void call_again(void *ctx)
{
    agent *a = ctx;
    edgeps_err err = join(a);
    if (err)
        agent_fail(a, err);
}

static void call_later(agent *a)
{
    if (loop_timer_start(a->loop, CALL_NS, call_again, a, NULL))
        agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory for a timer"));
}

static void give_up(void *ctx)
{
    agent *a = ctx;
    agent_fail(a, diag_fail(a->diag, EDGEPS_IO,
                            "lost the coordinator at %s:%d: %s; none took over in %g s",
                            a->options->host, a->options->port, a->lost_why, a->settings.orphan_s));
}

/* Training goes on as far as it is allowed while a new coordinator is looked for. */
static void be_orphaned(agent *a)
{
    int64_t patience_ns = (int64_t)(a->settings.orphan_s * CLOCK_NS_PER_S);
    if (!a->orphaned && loop_timer_start(a->loop, patience_ns, give_up, a, &a->orphaned))
        agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory for a timer"));
    else
        call_later(a);
}

static void control_closed(void *ctx, conn *c, edgeps_err err, const char *text)
{
    agent *a = ctx;
    (void)c;
    (void)err;
    a->control = a->calling = NULL;
    if (!a->orphaned)
        snprintf(a->lost_why, sizeof a->lost_why, "%s", text);
    if (a->stopping)
        return;
    moves_orphaned(a);
    bool may_call = !a->welcomed &&
                    clock_now_ns() - a->begun_ns < (int64_t)(a->options->wait_s * CLOCK_NS_PER_S);
    if (a->welcomed && a->settings.orphan_s > 0)
        be_orphaned(a);
    else if (may_call)
        call_later(a);
    else
        agent_fail(a, diag_fail(a->diag, EDGEPS_IO, "lost the coordinator at %s:%d: %s",
                                a->options->host, a->options->port, text));
}

static edgeps_err join(agent *a)
{
    loop_handlers h = {.framing = frame_framing,
                       .opened = control_opened,
                       .payload_buffer = control_buffer,
                       .frame = control_frame,
                       .closed = control_closed};
    edgeps_err err = loop_connect(a->loop, a->options->host, a->options->port, &h, a, &a->calling);
    if (!err)
        conn_expect(a->calling, TRUST_COORDINATOR);
    if (err)
        diag_fail(a->diag, err, "cannot connect to the coordinator at %s:%d", a->options->host,
                  a->options->port);
    return err;
}

static void free_agent(agent *a)
{
    a->stopping = true;
    loop_free(a->loop);
    probing_free(a);
    departure_end(a);
    trust_free(a->keys);
    trainer_free(a->trainer);
    roles_free(a);
    if (a->store) {
        buffers_release(&a->local_buffers, a->store);
        buffers_release(&a->global_buffers, a->store);
    }
    store_close(a->store);
    message_plan_free(&a->plan);
    message_welcome_free(&a->settings);
    mem_free(a->settings_bytes);
    mem_free(a->control_payload);
}

static edgeps_err bring_keys(agent *a)
{
    char who[TRUST_MAX_WHO + 1];
    if (!trust_node(a->options->name, who))
        return diag_fail(a->diag, EDGEPS_USAGE, "'%s' cannot be a node's name", a->options->name);
    edgeps_err err = trust_load(a->options->certs, who, a->diag, &a->keys);
    if (!err)
        loop_secure(a->loop, a->keys);
    return err;
}

edgeps_err agent_run(const agent_options *options, edgeps_diag *diag)
{
    agent a = {.options = options, .diag = diag, .plan = {.plan = {.global = PLAN_NONE}}};
    for (int k = 0; k < 2; k++)
        a.wishes[k].parent = PROTO_NO_NODE;
    a.begun_ns = clock_now_ns();
    log_set_name(options->name);
    edgeps_err err = agent_check_secrecy(&a, "the coordinator", options->host);
    if (!err)
        err = loop_make(diag, &a.loop);
    if (!err && options->certs)
        err = bring_keys(&a);
    if (!err)
        err = join(&a);
    if (!err) {
        loop_run(a.loop);
        err = a.outcome;
    }
    free_agent(&a);
    return err;
}
