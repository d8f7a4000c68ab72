#include "node/host_int.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

#define TICK_NS (25 * INT64_C(1000000)) /* how much later than due a silent node is found */
#define GATHER_NS (60 * INT64_C(1000000000))
#define LATE_NS (500 * INT64_C(1000000)) /* a timer is so late where the process stood still */
#define HELLO_MAX_BYTES 4096 /* the only frame that is taken of who has not said its name */
#define FAREWELL_NS (500 * INT64_C(1000000))

void host_fail(host *h, edgeps_err err)
{
    if (!h->outcome)
        h->outcome = err;
    host_end(h);
}

static void stop_loop(void *ctx)
{
    host *h = ctx;
    loop_stop(h->loop);
}

/* Says stop to everyone and goes when all are gone, or after a short while. */
void host_end(host *h)
{
    if (h->ended)
        return;
    h->ended = true;
    for (member *m = h->members; m; m = m->next)
        frame_send(m->conn, &h->stamp, MESSAGE_STOP, 0, 0, NULL);
    if (!h->members || loop_timer_start(h->loop, FAREWELL_NS, stop_loop, h, NULL))
        loop_stop(h->loop);
}

void host_send(host *h, size_t node, uint16_t type, uint64_t generation, int64_t round,
               wire_writer *w)
{
    member *m = h->of_node[node];
    edgeps_err err = EDGEPS_OK;
    if (m && m->conn)
        err = frame_send(m->conn, &h->stamp, type, generation, round, w);
    else if (w)
        wire_writer_free(w);
    if (err == EDGEPS_NOMEM)
        host_fail(h, diag_fail(h->diag, err, "no memory to send a message"));
}

void host_send_all(host *h, uint16_t type, int64_t round)
{
    for (size_t i = 0; i < h->net->count; i++)
        host_send(h, i, type, 0, round, NULL);
}

static bool measured(host *h, member *m, const void *payload, uint64_t bytes)
{
    double speed = m->last.samples_per_s;
    if (!message_get_measured(payload, bytes, &m->last))
        return false;
    if (m->last.samples_per_s == 0)
        m->last.samples_per_s = speed;
    if (m->last.sum_s > h->tally.sum_s)
        h->tally.sum_s = m->last.sum_s;
    if (!m->welcomed) {
        m->welcomed = true;
        if (h->coordinator.phase != COORDINATOR_GATHERING && !m->kept)
            record_event(h, (meter_event){.kind = METER_BACK,
                                          .epoch = h->now_epoch,
                                          .node = host_name(h, m->node),
                                          .text = "a new process says hello"});
        drive_post(h, (coordinator_event){.kind = COORDINATOR_JOINED,
                                          .node = (int32_t)m->node,
                                          .kept = m->kept,
                                          .unsettled = m->servers != MESSAGE_SETTLED});
        return true;
    }
    m->measured = true;
    replan_check_measured(h);
    return true;
}

static bool done(host *h, member *m, const void *payload, uint64_t bytes)
{
    message_done d;
    if (!message_get_done(payload, bytes, &d))
        return false;
    bool of_this_epoch =
        d.round == h->now_epoch * h->rounds; /* not what a late joiner begins with */
    if (!of_this_epoch)
        return true;
    message_done *sum = &h->tally.done;
    sum->samples += d.samples;
    sum->loss += d.loss;
    sum->compute_s += d.compute_s;
    sum->push_s += d.push_s;
    sum->wait_s += d.wait_s;
    sum->pull_s += d.pull_s;
    h->tally.workers++;
    h->health[m->node].worked_s = d.compute_s + d.push_s;
    drive_post(h, (coordinator_event){
                      .kind = COORDINATOR_DONE, .node = (int32_t)m->node, .round = d.round});
    return true;
}

/* A new generation's server tells its last round again. */
static void round_committed(host *h, const wire_header *header)
{
    bool news = header->round > h->coordinator.committed_round;
    drive_post(h, (coordinator_event){.kind = COORDINATOR_ROUND,
                                      .generation = header->generation,
                                      .round = header->round});
    faults_round(h, header);
    if (news)
        record_event(h, (meter_event){.kind = METER_ROUND,
                                      .epoch = h->now_epoch,
                                      .round = (header->round - 1) % h->rounds + 1,
                                      .rounds = h->rounds});
}

static bool report(host *h, member *m, const wire_header *header, const void *payload)
{
    message_moved moved;
    switch (header->type) {
    case MESSAGE_MEASURED:
        return measured(h, m, payload, header->length);
    case MESSAGE_READY:
        drive_post(h, (coordinator_event){.kind = COORDINATOR_READY,
                                          .node = (int32_t)m->node,
                                          .generation = header->generation});
        return true;
    case MESSAGE_ROUND:
        round_committed(h, header);
        return true;
    case MESSAGE_DONE:
        return done(h, m, payload, header->length);
    case MESSAGE_MOVED:
        if (!message_get_moved(payload, header->length, &moved))
            return false;
        transfer_moved(h, header->round, moved.ok, moved.text);
        return true;
    case MESSAGE_STILL:
        transfer_still(h, header->round);
        return true;
    case MESSAGE_LATE:
        return faults_late(h, header, payload);
    case MESSAGE_TROUBLE:
        return faults_trouble(h, m, payload, header->length);
    default:
        return transfer_frame(h, m, header, payload);
    }
}

static void *payload_buffer(void *ctx, conn *c, const uint8_t *header, uint64_t bytes)
{
    member *m = ctx;
    host *h = m->host;
    wire_header head = frame_header(header);
    (void)c;
    if (m->node < 0 && (head.type != MESSAGE_HELLO || bytes > HELLO_MAX_BYTES))
        return NULL;
    if (head.type == MESSAGE_STATE_PARAMETERS || head.type == MESSAGE_STATE_VELOCITY)
        return state_buffer(&h->arrival, &h->options->job, &head);
    mem_free(m->payload);
    m->payload = mem_alloc(bytes, 1);
    return m->payload;
}

static void frame(void *ctx, conn *c, const uint8_t *header, void *payload)
{
    member *m = ctx;
    host *h = m->host;
    wire_header head = frame_header(header);
    if (h->ended)
        return;
    bool good = wire_verify(header, payload, head.length);
    if (good && head.type == MESSAGE_BEAT && m->node < 0)
        good = drive_heard(h, m, &head);
    else if (good && head.type == MESSAGE_HELLO)
        good = door_hello(h, m, payload, head.length);
    else
        good = good && m->node >= 0 && head.job == h->stamp.job && report(h, m, &head, payload);
    if (!good && m->node < 0 && head.type != MESSAGE_HELLO)
        door_refuse(h, m, "it has not said hello, or its frame is damaged");
    if (!good) {
        conn_close(c);
        return;
    }
    if (m->node >= 0)
        drive_post(h, (coordinator_event){.kind = COORDINATOR_HEARD, .node = (int32_t)m->node});
}

static void closed(void *ctx, conn *c, edgeps_err err, const char *text)
{
    member *m = ctx;
    host *h = m->host;
    (void)c;
    m->conn = NULL;
    for (member **at = &h->members; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
    if (m->node >= 0 && !h->ended)
        faults_lost(h, (int32_t)m->node, err ? text : "its connection ended");
    else if (m->node >= 0)
        h->of_node[m->node] = NULL;
    else if (err && !m->pulse && !h->ended)
        loop_refuse(h->loop, text);
    mem_free(m->payload);
    mem_free(m);
    if (h->ended && !h->members)
        loop_stop(h->loop);
}

static void accepted(void *ctx, conn *c)
{
    host *h = ctx;
    member *m = h->ended ? NULL : mem_alloc(1, sizeof *m);
    if (!m)
        return;
    *m = (member){.host = h, .node = -1, .conn = c, .next = h->members};
    h->members = m;
    loop_handlers handlers = {.framing = frame_framing,
                              .payload_buffer = payload_buffer,
                              .frame = frame,
                              .closed = closed};
    conn_attach(c, &handlers, m);
}

static void tick(void *ctx)
{
    host *h = ctx;
    if (h->ended)
        return;
    drive_post(h, (coordinator_event){.kind = COORDINATOR_TICK});
    if (loop_timer_start(h->loop, TICK_NS, tick, h, NULL))
        host_fail(h, diag_fail(h->diag, EDGEPS_NOMEM, "no memory for a timer"));
}

static void stop_gathering(void *ctx);

/* Agents that are there have called for a coordinator since the one before was killed. */
static edgeps_err gather(host *h)
{
    int64_t patience_ns = h->follows ? (int64_t)(h->options->silent_s * CLOCK_NS_PER_S) : GATHER_NS;
    h->gathers_until_ns = clock_now_ns() + patience_ns;
    return loop_timer_start(h->loop, patience_ns, stop_gathering, h, NULL);
}

static void stop_gathering(void *ctx)
{
    host *h = ctx;
    /* Where this process stood still, whoever has called meanwhile is heard first. */
    if (clock_now_ns() > h->gathers_until_ns + LATE_NS) {
        if (gather(h))
            host_fail(h, diag_fail(h->diag, EDGEPS_NOMEM, "no memory for a timer"));
        return;
    }
    if (h->follows)
        takeover_gathered(h);
    for (size_t i = 0; i < h->net->count && !h->alone; i++) {
        if (h->coordinator.joined[i] || h->coordinator.phase != COORDINATOR_GATHERING)
            continue;
        record_event(h, (meter_event){.kind = METER_LOST,
                                      .node = host_name(h, (int64_t)i),
                                      .fault = meter_faults[METER_SILENT],
                                      .text = "silent: never joined"});
        drive_post(h, (coordinator_event){.kind = COORDINATOR_LOST, .node = (int32_t)i});
    }
}

static void interrupted(void *ctx, int signo)
{
    host *h = ctx;
    (void)signo;
    if (!h->ended)
        host_fail(h,
                  diag_fail(h->diag, EDGEPS_CANCELLED,
                            "interrupted; the last committed checkpoint is in %s/checkpoints, go "
                            "on with: edgeps run --resume %s",
                            h->options->out_dir, h->options->out_dir));
}

/* Every training node has a shard; who does not train has none. */
static edgeps_err share_data(host *h)
{
    const host_options *o = h->options;
    nn_kind kind;
    edgeps_err err = nn_kind_of(o->job.model, h->diag, &kind);
    if (!err)
        err = nn_dataset_open(o->data_dir, kind, h->diag, &h->data);
    if (err)
        return err;
    if ((size_t)o->job.sample_count > nn_dataset_count(h->data, NN_TRAIN))
        return diag_fail(h->diag, EDGEPS_FORMAT, "%s: has %zu training samples, not %lld",
                         o->data_dir, nn_dataset_count(h->data, NN_TRAIN),
                         (long long)o->job.sample_count);
    for (size_t i = 0; i < o->net->count; i++)
        if (o->net->nodes[i].train)
            h->shard_of[i] = h->shard_count++;
    h->rounds = job_rounds(&o->job, h->shard_count);
    nn_partition parts;
    nn_split_way way = {o->dirichlet ? NN_SPLIT_DIRICHLET : NN_SPLIT_IID, o->alpha, o->seed};
    err = nn_split(nn_dataset_labels(h->data, NN_TRAIN), (size_t)o->job.sample_count,
                   h->shard_count, &way, &parts);
    if (err)
        return diag_fail(h->diag, err, "cannot split %lld samples over %u workers",
                         (long long)o->job.sample_count, h->shard_count);
    for (size_t i = 0; i < o->net->count; i++) {
        if (!o->net->nodes[i].train) {
            h->shard_of[i] = h->shard_count;
            continue;
        }
        uint32_t part = h->shard_of[i];
        h->samples_of[i] = (int64_t)(parts.offsets[part + 1] - parts.offsets[part]);
    }
    nn_partition_free(&parts);
    return EDGEPS_OK;
}

static const char *address_of(const host_options *o, size_t node)
{
    const char *own = o->net->nodes[node].address;
    if (o->node_addresses)
        return o->node_addresses[node];
    return own ? own : HOST_LOOPBACK;
}

/* Plain bytes stay on loopback, or in networks that are the job's own. */
static edgeps_err check_secrecy(const host *h)
{
    const host_options *o = h->options;
    size_t i = 0;
    while (i < h->net->count && loop_is_loopback(h->addresses[i]))
        i++;
    if (o->certs || o->node_addresses || i == h->net->count)
        return EDGEPS_OK;
    if (!o->insecure)
        return diag_fail(h->diag, EDGEPS_USAGE,
                         "node %s is at %s, beyond loopback: give --certs FOLDER (edgeps cert init "
                         "makes it), or --insecure to send everything in plain",
                         host_name(h, (int64_t)i), h->addresses[i]);
    log_line(LOG_WARNING,
             "node %s is at %s: who is on the way can read and change all (--insecure)",
             host_name(h, (int64_t)i), h->addresses[i]);
    return EDGEPS_OK;
}

static edgeps_err make(host *h, bool follow)
{
    const host_options *o = h->options;
    size_t n = o->net->count;
    h->of_node = mem_alloc(n, sizeof(member *));
    h->samples_of = mem_alloc(n, sizeof *h->samples_of);
    h->shard_of = mem_alloc(n, sizeof *h->shard_of);
    h->incarnation = mem_alloc(n, sizeof *h->incarnation);
    h->given_up = mem_alloc(n, sizeof *h->given_up);
    h->health = mem_alloc(n, sizeof *h->health);
    h->released = mem_alloc(n, sizeof *h->released);
    h->addresses = mem_alloc(n, sizeof *h->addresses);
    h->names = mem_alloc(n, sizeof *h->names);
    if (!h->of_node || !h->samples_of || !h->shard_of || !h->incarnation || !h->given_up ||
        !h->health || !h->released || !h->addresses || !h->names || network_copy(o->net, &h->net))
        return diag_fail(h->diag, EDGEPS_NOMEM, "no memory for %zu nodes", n);
    for (size_t i = 0; i < n; i++) {
        h->names[i] = o->net->nodes[i].name;
        h->addresses[i] = address_of(o, i);
    }
    edgeps_err err = check_secrecy(h);
    if (!err)
        err = share_data(h);
    if (!err)
        err = transfer_make(h);
    if (!err)
        err = record_open(h);
    if (err)
        return err;
    coordinator_options co = {.node_count = n,
                              .epochs = o->epochs,
                              .rounds_per_epoch = h->rounds,
                              .start_epoch = h->saved.round / h->rounds,
                              .spare_suspects = o->patience.quorum > 0,
                              .suspect_after_ns = (int64_t)(o->suspect_s * CLOCK_NS_PER_S),
                              .silent_after_ns = (int64_t)(o->silent_s * CLOCK_NS_PER_S)};
    char *record = NULL;
    err = coord_latest(h->coord, h->diag, &co.start_generation, &record);
    mem_free(record);
    rng r = rng_make(o->seed, (uint64_t)h->begun_ns ^ (uint64_t)getpid());
    h->stamp = (frame_stamp){.job = rng_next(&r), .sender = UINT32_MAX};
    if (!err)
        err = takeover_make(h, &co, follow);
    h->now_epoch = co.start_epoch + 1;
    return err;
}

static edgeps_err open_doors(host *h)
{
    loop_acceptor acceptor = {accepted, h};
    const char *address = h->options->address ? h->options->address : HOST_LOOPBACK;
    int port = h->follows ? h->port : h->options->port;
    edgeps_err err = loop_make(h->diag, &h->loop);
    if (!err && h->options->certs)
        err = trust_load(h->options->certs, TRUST_COORDINATOR, h->diag, &h->keys);
    if (!err && h->keys)
        loop_secure(h->loop, h->keys);
    if (!err) {
        loop_set_patience(h->loop, h->options->silent_s);
        loop_limit(h->loop, frame_most_connections(h->net->count));
        loop_on_refusal(h->loop, door_refused, h);
        err = loop_listen(h->loop, address, port, &acceptor, h->diag, &h->listener);
    }
    if (err == EDGEPS_IO && port)
        err = EDGEPS_USAGE; /* the port was asked for */
    if (!err)
        err = takeover_mark(h);
    if (!err && h->follows)
        err = scenario_follow(h, (int)h->now_epoch - !h->coordinator.epoch_begun);
    if (!err)
        err = loop_on_signal(h->loop, SIGINT, interrupted, h);
    if (!err)
        err = loop_on_signal(h->loop, SIGTERM, interrupted, h);
    if (!err)
        err = gather(h);
    if (err || h->follows)
        return err;
    record_start(h);
    return h->options->launch(h->options->launcher, loop_listener_port(h->listener), h->diag);
}

static void free_host(host *h)
{
    h->ended = true;
    loop_free(h->loop);
    record_close(h);
    transfer_free(h);
    replan_free(h);
    adapt_history_free(h->history);
    coordinator_free(&h->coordinator);
    nn_dataset_close(h->data);
    network_free(h->net);
    mem_free(h->timers);
    mem_free(h->of_node);
    mem_free(h->samples_of);
    mem_free(h->shard_of);
    mem_free(h->incarnation);
    mem_free(h->given_up);
    mem_free(h->health);
    mem_free(h->released);
    mem_free(h->addresses);
    mem_free(h->names);
    trust_free(h->keys);
}

static void record_end(host *h, edgeps_err err)
{
    double seconds = clock_since_s(h->begun_ns);
    char done[4200];
    snprintf(done, sizeof done, "all epochs are done; the model is %s/model.safetensors",
             h->options->out_dir);
    record_event(h, (meter_event){.kind = METER_END,
                                  .seconds = seconds,
                                  .accuracy = h->tally.accuracy,
                                  .generation = h->coordinator.plan.generation,
                                  .status = err_exit_status(err),
                                  .text = err ? h->diag->text : done});
    takeover_unmark(h);
}

/* With `follow` it may be that nobody is there to follow: then *alone, and all is to be begun
 * anew. */
static edgeps_err run(const host_options *options, bool follow, edgeps_diag *diag, bool *alone)
{
    host h = {.options = options,
              .diag = diag,
              .begun_ns = clock_now_ns(),
              .move_source = PLAN_NONE,
              .standby = PLAN_NONE};
    edgeps_err err = make(&h, follow);
    if (!err)
        err = open_doors(&h);
    if (!err) {
        tick(&h);
        loop_run(h.loop);
        err = h.outcome;
    }
    *alone = h.alone;
    if (h.started)
        record_end(&h, err);
    free_host(&h);
    return err;
}

edgeps_err host_run(const host_options *options, edgeps_diag *diag)
{
    bool alone = false;
    edgeps_err err = run(options, options->resume, diag, &alone);
    return alone ? run(options, false, diag, &alone) : err;
}
