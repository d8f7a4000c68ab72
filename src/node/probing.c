/* An agent that is asked to measure before it has a job: it serves the probes of others, and sends
 * its own, on the loop's worker thread. */
#include "node/agent_int.h"

#include "base/log.h"
#include "base/mem.h"
#include "nn/speed.h"
#include "probe/probe.h"

#include <string.h>
#include <sys/statvfs.h>

#define BATCH 32 /* samples, of a model that is timed */

struct probing {
    agent *agent;
    probe_server *server;
    void *asked_bytes; /* what `asked` lends its texts from */
    message_probe asked;
    message_probed answer;
    edgeps_diag diag;
    conn *asker;
    bool at_work;
};

static int64_t free_at(const char *path)
{
    struct statvfs room;
    return statvfs(path, &room) ? 0 : (int64_t)(room.f_bavail * room.f_frsize);
}

static edgeps_err open_up(probing *p)
{
    nn_kind kind;
    edgeps_err err = EDGEPS_OK;
    probe_stop(p->server); /* of a prober before */
    p->server = NULL;
    if (*p->asked.model) {
        err = nn_kind_of(p->asked.model, &p->diag, &kind);
        if (!err)
            err = nn_speed(&(nn_speed_of){kind, nn_input(kind), NN_DNNL, BATCH}, &p->diag,
                           &p->answer.samples_per_s);
    }
    if (!err)
        err = probe_serve(p->asked.address, p->asked.token, p->agent->keys, &p->diag, &p->server);
    if (err)
        return err;
    p->answer.free_bytes = free_at(p->agent->options->storage ? p->agent->options->storage : ".");
    p->answer.port = (uint32_t)probe_port(p->server);
    return EDGEPS_OK;
}

static edgeps_err measure_peers(probing *p)
{
    const message_probe *m = &p->asked;
    probe_peer peers[MESSAGE_MOST_PEERS];
    const probe_how how = {.token = m->token,
                           .keys = p->agent->keys,
                           .settle_s = m->settle_s,
                           .window_s = m->window_s,
                           .restrained = m->restrained != 0};
    for (uint32_t k = 0; k < m->count; k++)
        peers[k] = (probe_peer){.node = m->names[k],
                                .address = m->addresses[k],
                                .port = (int)m->ports[k],
                                .pace_bytes_per_s = m->paces[k]};
    edgeps_err err = m->kind == MESSAGE_RATE ? probe_send(&how, peers, m->count, &p->diag)
                                             : probe_ping(&how, peers, m->count, &p->diag);
    for (uint32_t k = 0; !err && k < m->count; k++)
        p->answer.values[k] =
            m->kind == MESSAGE_RATE ? peers[k].rate_bytes_per_s : peers[k].there_and_back_s;
    p->answer.count = err ? 0 : m->count;
    return err;
}

static void work(void *ctx)
{
    probing *p = ctx;
    p->answer = (message_probed){.trouble = ""};
    edgeps_err err = p->asked.kind == MESSAGE_OPEN ? open_up(p) : measure_peers(p);
    if (err)
        p->answer.trouble = p->diag.text;
}

/* Whoever asked may be gone by now, and another one be called. */
static void done(void *ctx)
{
    probing *p = ctx;
    agent *a = p->agent;
    wire_writer w = {0};
    p->at_work = false;
    if (a->welcomed)
        probing_close(a);
    if (a->calling != p->asker)
        return;
    message_put_probed(&w, &p->answer);
    if (frame_send(a->calling, &a->stamp, MESSAGE_PROBED, 0, 0, &w) == EDGEPS_NOMEM)
        agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory to report"));
}

void probing_begin(agent *a, const void *payload, size_t bytes)
{
    if (!a->probing)
        a->probing = mem_alloc(1, sizeof *a->probing);
    probing *p = a->probing;
    void *copy = p && !p->at_work ? mem_alloc(bytes, 1) : NULL;
    if (!p || (!copy && !p->at_work)) {
        agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory to probe"));
        return;
    }
    if (!copy) {
        log_line(LOG_WARNING, "drops a probe: another one is under way");
        return;
    }
    memcpy(copy, payload, bytes);
    mem_free(p->asked_bytes);
    p->asked_bytes = copy;
    p->agent = a;
    p->asker = a->calling;
    if (!message_get_probe(copy, bytes, &p->asked)) {
        agent_fail(a, diag_fail(a->diag, EDGEPS_PROTOCOL, "the coordinator's probe is damaged"));
        return;
    }
    if (p->asked.kind == MESSAGE_OPEN) {
        edgeps_err err = agent_check_secrecy(a, "this node", p->asked.address);
        if (err) {
            agent_fail(a, err);
            return;
        }
    }
    p->at_work = true;
    if (loop_work(a->loop, work, done, p))
        agent_fail(a, diag_fail(a->diag, EDGEPS_NOMEM, "no memory to probe"));
}

void probing_close(agent *a)
{
    if (!a->probing || a->probing->at_work)
        return;
    probe_stop(a->probing->server);
    a->probing->server = NULL;
}

void probing_free(agent *a)
{
    if (!a->probing)
        return;
    probe_stop(a->probing->server);
    mem_free(a->probing->asked_bytes);
    mem_free(a->probing);
}
