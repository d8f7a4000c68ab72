#include "sim/cluster.h"

#include <math.h>
#include <string.h>

#define WAIT_S 0.05 /* until it is looked again whether a process still stands still */

/* The answer that a move ended so; of a dead end the coordinator learns as the loss of a node. */
static edgeps_err answer(cluster *c, bool ok)
{
    return control_report(c, 0, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = ok});
}

static edgeps_err end_badly(cluster *c)
{
    edgeps_err err = handover_abandon(c);
    return err ? err : answer(c, false);
}

/* With a killed coordinator its move ends, too. */
static bool is_open(const cluster *c) { return c->move.open && c->move.life == c->life; }

/* A source that stands still hears of the next generation instead, which always follows. */
edgeps_err handover_abandon(cluster *c)
{
    int32_t from = c->move.from;
    bool serves_on = is_open(c) && from != PLAN_NONE && cluster_takes_part(c, (size_t)from) &&
                     !c->nodes[from].stopped;
    c->move.open = false;
    return serves_on ? roles_resume(c, (size_t)from) : EDGEPS_OK;
}

/* When both ends are heard again, where they are not. */
static edgeps_err at(cluster *c, double time_s, agenda_kind kind)
{
    const cluster_move *m = &c->move;
    time_s = fmax(time_s, c->nodes[m->to].muted_s);
    if (m->from != PLAN_NONE)
        time_s = fmax(time_s, c->nodes[m->from].muted_s);
    return cluster_at(c, time_s, (agenda_item){.kind = kind, .node = m->to, .index = m->number});
}

/* Sends the next chunk, with its share of the optimizer's state, as it is at this moment. */
static edgeps_err go_on(cluster *c)
{
    cluster_move *m = &c->move;
    cluster_node *source = &c->nodes[m->from];
    const versions *have = &source->global.have;
    int64_t chunk = 0;
    copier_step step = copier_next(&m->copier, have, &chunk);
    if (step == COPIER_FREEZE) {
        global_freeze(&source->global);
        source->frozen_life = c->life;
        step = copier_next(&m->copier, have, &chunk);
    }
    if (step == COPIER_END)
        return at(c, c->now_s, AGENDA_MOVED);
    m->under_way = chunk;
    m->payload = source->global_parameters[chunk];
    m->version = have->of[chunk];
    double bytes = (1 + JOB_OPTIMIZER_SLOTS) * (double)job_chunk_payload_bytes(&c->p->job, chunk);
    double rate = problem_rate_bytes_per_s(c->p, (size_t)m->from, (size_t)m->to);
    return at(c, c->now_s + bytes / rate, AGENDA_COPIED);
}

edgeps_err handover_begin(cluster *c)
{
    cluster_move *m = &c->move;
    int32_t from = c->coordinator.plan.global;
    bool is_there = from != PLAN_NONE && c->coordinator.present[from];
    m->number++;
    m->open = true;
    m->life = c->life;
    m->from = is_there ? from : PLAN_NONE;
    m->to = c->planned.global;
    if (c->nodes[m->to].full) {
        c->nodes[m->to].full = false;
        return end_badly(c);
    }
    if (m->from == PLAN_NONE) {
        memcpy(m->parameters, c->saved, (size_t)c->chunk_count * sizeof *c->saved);
        versions_fill(&m->have, c->saved_round);
        return at(c, c->now_s, AGENDA_MOVED);
    }
    copier_free(&m->copier);
    edgeps_err err = copier_make(c->chunk_count, true, &m->copier);
    return err || !cluster_takes_part(c, (size_t)m->from) ? err : go_on(c);
}

static bool concerns(const cluster *c, const agenda_item *item, bool gone)
{
    const cluster_move *m = &c->move;
    return is_open(c) && item->index == m->number && !gone &&
           cluster_takes_part(c, (size_t)m->to) &&
           (m->from == PLAN_NONE || cluster_takes_part(c, (size_t)m->from));
}

static bool stands_still(const cluster *c)
{
    const cluster_move *m = &c->move;
    return c->nodes[m->to].stopped || (m->from != PLAN_NONE && c->nodes[m->from].stopped);
}

edgeps_err handover_copied(cluster *c, const agenda_item *item, bool gone)
{
    cluster_move *m = &c->move;
    if (!concerns(c, item, gone))
        return EDGEPS_OK;
    if (stands_still(c))
        return at(c, c->now_s + WAIT_S, AGENDA_COPIED);
    m->parameters[m->under_way] = m->payload;
    m->have.of[m->under_way] = m->version;
    return go_on(c);
}

edgeps_err handover_arrived(cluster *c, const agenda_item *item, bool gone)
{
    cluster_move *m = &c->move;
    cluster_node *to = &c->nodes[m->to];
    if (!concerns(c, item, gone))
        return EDGEPS_OK;
    if (stands_still(c))
        return at(c, c->now_s + WAIT_S, AGENDA_MOVED);
    m->open = false;
    memcpy(to->global_parameters, m->parameters, (size_t)c->chunk_count * sizeof *m->parameters);
    global_restore(&to->global, m->have.of);
    return answer(c, true);
}

edgeps_err handover_cut(cluster *c, int32_t node)
{
    const cluster_move *m = &c->move;
    bool breaks = is_open(c) && m->from != PLAN_NONE && (node == m->from || node == m->to) &&
                  cluster_takes_part(c, (size_t)m->from) && cluster_takes_part(c, (size_t)m->to);
    return breaks ? end_badly(c) : EDGEPS_OK;
}
