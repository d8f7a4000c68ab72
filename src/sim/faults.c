#include "sim/cluster.h"

#include "base/mem.h"

#include <assert.h>
#include <math.h>

#define BEAT_S 0.1

/* Breaks an edge; each end that lives notices. */
static edgeps_err cut_edge(cluster *c, uint32_t edge, int32_t child, cluster_role child_role)
{
    if (!wires_is_open(c->wires, edge))
        return EDGEPS_OK;
    int32_t parent = wires_parent(c->wires, edge);
    wires_close(c->wires, edge);
    cluster_role parent_role = child_role == CLUSTER_WORKER ? CLUSTER_LOCAL : CLUSTER_GLOBAL;
    edgeps_err err = cluster_at(c, c->now_s,
                                (agenda_item){.kind = AGENDA_ROLE,
                                              .role = parent_role,
                                              .node = parent,
                                              .event = {.kind = PROTO_CHILD_LOST, .node = child}});
    double retry_s = c->options->reconnect_s > 0 ? c->options->reconnect_s : 0.01;
    return err ? err
               : cluster_at(c, c->now_s + retry_s,
                            (agenda_item){.kind = AGENDA_ROLE,
                                          .role = child_role,
                                          .node = child,
                                          .event = {.kind = PROTO_PARENT_LOST}});
}

/* The edges of the node's roles to their parents; with `all` those of its children, too. */
static edgeps_err cut_edges(cluster *c, int32_t node, bool all)
{
    size_t n = c->p->count;
    assert(n > 0);
    edgeps_err err = EDGEPS_OK;
    for (uint32_t e = 0; !err && e < 2 * n; e++) {
        int32_t child = (int32_t)(e % n);
        bool touches = child == node ||
                       (all && wires_is_open(c->wires, e) && wires_parent(c->wires, e) == node);
        if (touches)
            err = cut_edge(c, e, child, e < n ? CLUSTER_WORKER : CLUSTER_LOCAL);
    }
    return err;
}

static edgeps_err come_back(cluster *c, int32_t node)
{
    if (c->nodes[node].alive)
        return EDGEPS_OK;
    edgeps_err err = cluster_restart(c, (size_t)node);
    return err ? err
               : control_report(c, c->options->detect_s,
                                (coordinator_event){.kind = COORDINATOR_JOINED, .node = node});
}

edgeps_err faults_end(cluster *c, int32_t node)
{
    cluster_node *n = &c->nodes[node];
    edgeps_err err = EDGEPS_OK;
    if (!n->alive)
        return EDGEPS_OK;
    n->alive = false;
    if (!n->given_up)
        err = control_report(c, c->options->detect_s,
                             (coordinator_event){.kind = COORDINATOR_LOST, .node = node});
    return err ? err : cut_edges(c, node, true);
}

static edgeps_err stop(cluster *c, int32_t node, double for_s)
{
    if (!c->nodes[node].alive || c->nodes[node].stopped)
        return EDGEPS_OK;
    c->nodes[node].stopped = true;
    return cluster_at(c, c->now_s + for_s, (agenda_item){.kind = AGENDA_GO_ON, .node = node});
}

static void mute(cluster *c, int32_t node, double for_s)
{
    bool loses = c->options->plant == SIM_FORGETS_LATE;
    double until_s = fmax(c->nodes[node].muted_s, c->now_s + for_s);
    c->nodes[node].muted_s = until_s;
    wires_hold(c->wires, (uint32_t)node, until_s, loses);
    wires_hold(c->wires, (uint32_t)(c->p->count + (size_t)node), until_s, loses);
}

edgeps_err faults_strike(cluster *c, const sim_fault *fault)
{
    cluster_node *n = &c->nodes[fault->node];
    edgeps_err err = EDGEPS_OK;
    double amount_s = sim_fault_has_amount(fault->kind) ? fault->amount_s : 0;
    c->progress_s = fmax(c->progress_s, c->now_s + amount_s + c->options->silent_s);
    switch (fault->kind) {
    case SIM_KILL:
        return faults_end(c, fault->node);
    case SIM_RESTART:
        return come_back(c, fault->node);
    case SIM_CUT:
        err = handover_cut(c, fault->node);
        return err ? err : cut_edges(c, fault->node, false);
    case SIM_FULL:
        n->full = true;
        return EDGEPS_OK;
    case SIM_UNSAVED:
        c->unsaved = true;
        return EDGEPS_OK;
    case SIM_STOP:
        return stop(c, fault->node, amount_s);
    case SIM_DELAY:
        mute(c, fault->node, amount_s);
        return EDGEPS_OK;
    case SIM_TWICE:
        n->twice_s = c->now_s + amount_s;
        return EDGEPS_OK;
    case SIM_CLOCK:
        n->clock_s += amount_s;
        c->clock_s += fault->node == 0 ? amount_s : 0;
        return EDGEPS_OK;
    case SIM_FREEZE:
        if (!c->down)
            c->frozen_s = fmax(c->frozen_s, c->now_s + amount_s);
        return EDGEPS_OK;
    case SIM_FOLLOW:
        return follow_kill(c, amount_s);
    }
    return EDGEPS_OK;
}

bool faults_holds(const cluster *c, const agenda_item *item)
{
    const cluster_node *n = &c->nodes[item->node];
    bool for_it = item->kind == AGENDA_ROLE || item->kind == AGENDA_PLAN ||
                  item->kind == AGENDA_ALLOW || item->kind == AGENDA_CALL;
    return for_it && n->alive && n->stopped && item->incarnation == n->incarnation;
}

edgeps_err faults_hold(cluster *c, const agenda_item *item)
{
    if (c->options->plant == SIM_FORGETS_HELD)
        return EDGEPS_OK;
    agenda_item *held = mem_grow(c->held, c->held_count + 1, sizeof *held, &c->held_room);
    if (!held)
        return EDGEPS_NOMEM;
    c->held = held;
    held[c->held_count++] = *item;
    return EDGEPS_OK;
}

edgeps_err faults_go_on(cluster *c, size_t node)
{
    edgeps_err err = EDGEPS_OK;
    size_t kept = 0, count = c->held_count;
    c->nodes[node].stopped = false;
    for (size_t k = 0; k < count; k++) {
        if (c->held[k].node != (int32_t)node)
            c->held[kept++] = c->held[k];
        else if (!err)
            err = cluster_at(c, c->now_s, c->held[k]);
    }
    c->held_count = kept;
    if (err || c->nodes[node].life == c->life)
        return err;
    return cluster_at(c, c->now_s, (agenda_item){.kind = AGENDA_CALL, .node = (int32_t)node});
}

edgeps_err faults_give_up(cluster *c, size_t node)
{
    cluster_node *n = &c->nodes[node];
    n->given_up = true;
    c->result.given_up++;
    return cluster_at(c, fmax(c->now_s, n->muted_s) + CLUSTER_CALL_S,
                      (agenda_item){.kind = AGENDA_CALL, .node = (int32_t)node});
}

/* The coordinator looks at its clock before it hears what has come meanwhile. */
static edgeps_err look_and_hear(cluster *c)
{
    if (c->options->plant == SIM_BLAMES_SILENCE)
        c->coordinator.ticked_ns = (int64_t)((c->now_s + c->clock_s) * 1e9);
    edgeps_err err = control_step(c, &(coordinator_event){.kind = COORDINATOR_TICK});
    for (size_t i = 0; !err && i < c->p->count; i++) {
        const cluster_node *n = &c->nodes[i];
        if (cluster_takes_part(c, i) && !n->stopped && n->muted_s <= c->now_s && n->life == c->life)
            err = control_step(c,
                               &(coordinator_event){.kind = COORDINATOR_HEARD, .node = (int32_t)i});
    }
    return err;
}

edgeps_err faults_beat(cluster *c)
{
    double most_s = c->options->progress_s;
    if (most_s > 0 && c->now_s > c->progress_s + most_s)
        return diag_fail(c->diag, EDGEPS_INTERNAL,
                         "no round in %.3f s without any trouble: epoch %lld, at %.3f s, seed %llu",
                         most_s, (long long)c->coordinator.epoch, c->now_s,
                         (unsigned long long)c->options->seed);
    edgeps_err err = c->down || c->now_s < c->frozen_s ? EDGEPS_OK : look_and_hear(c);
    return err ? err : cluster_at(c, c->now_s + BEAT_S, (agenda_item){.kind = AGENDA_BEAT});
}
