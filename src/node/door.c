/* Who comes to the coordinator's door: new processes are told all they must know, others are turned
 * away, and the events say why. */
#include "node/host_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdarg.h>

#define BEAT_S 0.25 /* most between two heartbeats */

/* Links that keep their rates by themselves are unlimited to the agents. */
static void put_peers(const host *h, size_t node, double *peers)
{
    size_t n = h->net->count;
    for (size_t k = 0; k < n; k++) {
        if (h->options->change_lab) {
            peers[k] = 0;
            peers[n + k] = peers[2 * n + k] = INFINITY;
            continue;
        }
        peers[k] = network_latency_s(h->net, node, k);
        peers[n + k] = network_cap_bytes_per_s(h->net, node, k);
        peers[2 * n + k] = network_cap_bytes_per_s(h->net, k, node);
    }
}

static void welcome(host *h, size_t node)
{
    const host_options *o = h->options;
    const network_node *of = &h->net->nodes[node];
    char storage[4096];
    if (o->node_storage)
        snprintf(storage, sizeof storage, "%s", o->node_storage[node]);
    else
        snprintf(storage, sizeof storage, "%s/nodes/%zu", o->out_dir, node);
    double *peers = mem_alloc(3 * h->net->count, sizeof *peers);
    if (!peers) {
        host_fail(h, diag_fail(h->diag, EDGEPS_NOMEM, "no memory for a welcome"));
        return;
    }
    put_peers(h, node, peers);
    message_welcome m = {
        .job = h->stamp.job,
        .node = (uint32_t)node,
        .incarnation = h->incarnation[node],
        .node_count = (uint32_t)h->net->count,
        .model = o->job.model,
        .store_and_forward = o->job.transfer == JOB_STORE_AND_FORWARD,
        .reference_backend = o->reference_backend,
        .emulate = o->emulate,
        .dirichlet = o->dirichlet,
        .alpha = o->alpha,
        .seed = o->seed,
        .sample_count = o->job.sample_count,
        .batch_samples = o->job.batch_samples,
        .local_steps = o->job.local_steps,
        .rounds = h->rounds,
        .rate = o->rate,
        .momentum = o->momentum,
        .patience = o->patience,
        .shard = h->shard_of[node],
        .shard_count = h->shard_count,
        .data_dir = o->data_dir,
        .storage_dir = storage,
        .up_bytes_per_s = o->change_lab ? INFINITY : of->up_bytes_per_s,
        .down_bytes_per_s = o->change_lab ? INFINITY : of->down_bytes_per_s,
        .samples_per_s = of->compute_samples_per_s,
        .free_bytes = of->free_bytes,
        .silent_s = o->silent_s,
        .beat_s = fmin(BEAT_S, o->suspect_s / 4),
        .orphan_s = o->orphan_s,
        .peers = peers,
        .addresses = h->addresses,
        .names = h->names,
    };
    wire_writer w = {0};
    message_put_welcome(&w, &m);
    mem_free(peers);
    host_send(h, node, MESSAGE_WELCOME, 0, 0, &w);
}

void door_refused(void *ctx, const char *text)
{
    char line[600];
    snprintf(line, sizeof line, "refused %s", text);
    record_event(ctx, (meter_event){.kind = METER_WARNING, .text = line});
}

void door_refuse(host *h, const member *m, const char *format, ...)
{
    char why[256], text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    snprintf(text, sizeof text, "%s: %s", conn_peer_text(m->conn), why);
    loop_refuse(h->loop, text);
}

/* The node that may join under this name, or -1. */
static int64_t identify(host *h, const member *m, const char *name)
{
    int64_t node = network_find(h->net, name);
    if (!frame_speaks_for(m->conn, name))
        door_refuse(h, m, "its certificate is that of %s, not of '%s'", conn_member(m->conn), name);
    else if (node < 0)
        door_refuse(h, m, "there is no node '%s'", name);
    else if (h->of_node[node])
        door_refuse(h, m, "node %s has joined already", name);
    else
        return node;
    return -1;
}

bool door_hello(host *h, member *m, const void *payload, uint64_t bytes)
{
    message_hello hello;
    if (m->node >= 0 || !message_get_hello(payload, bytes, &hello))
        return false;
    int64_t node = identify(h, m, hello.name);
    if (node < 0)
        return false;
    if (hello.job) {
        takeover_hello(h, m, node, &hello);
        return true;
    }
    edgeps_err err = takeover_new_process(h, (size_t)node);
    if (record_can_wait(err)) {
        door_refuse(h, m, "it cannot be recorded: %s", h->diag->text);
        return false;
    }
    m->node = node;
    m->measured = true;
    h->of_node[node] = m;
    if (err)
        host_fail(h, err);
    else
        welcome(h, (size_t)node);
    return true;
}
