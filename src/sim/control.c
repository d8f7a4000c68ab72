#include "sim/cluster.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

edgeps_err control_report(cluster *c, double delay_s, coordinator_event event)
{
    return cluster_at(c, c->now_s + delay_s,
                      (agenda_item){.kind = AGENDA_COORDINATOR, .report = event});
}

static edgeps_err want_plan(cluster *c)
{
    const plan *in_force = &c->coordinator.plan;
    bool *absent = mem_alloc(c->p->count, sizeof *absent);
    plan next;
    if (!absent)
        return EDGEPS_NOMEM;
    for (size_t i = 0; i < c->p->count; i++)
        absent[i] = !c->coordinator.present[i];
    edgeps_err err = c->options->planner(c->options->context, absent, in_force, &next);
    bool global_gone = in_force->global != PLAN_NONE && absent[in_force->global];
    mem_free(absent);
    if (err == EDGEPS_INFEASIBLE)
        return control_report(c, 0, (coordinator_event){.kind = COORDINATOR_NO_PLAN});
    if (err)
        return err;
    plan_free(&c->moving);
    c->moving = next;
    return control_report(c, 0,
                          (coordinator_event){.kind = COORDINATOR_PLANNED,
                                              .plan = &c->moving,
                                              .move_count = next.global != in_force->global,
                                              .restored = global_gone});
}

/* The only state that moves is the global server's: local servers get theirs when they attach. */
static edgeps_err begin_move(cluster *c)
{
    const plan *in_force = &c->coordinator.plan;
    int32_t from = in_force->global, to = c->moving.global;
    double transfer_s = 0;
    if (from != PLAN_NONE && c->nodes[from].alive) {
        global_freeze(&c->nodes[from].global);
        transfer_s = (double)job_global_state_bytes(&c->p->job) /
                     problem_rate_bytes_per_s(c->p, (size_t)from, (size_t)to);
    }
    return cluster_at(c, c->now_s + transfer_s, (agenda_item){.kind = AGENDA_MOVED, .node = to});
}

edgeps_err control_moved(cluster *c, size_t node, bool arrived)
{
    const plan *in_force = &c->coordinator.plan;
    cluster_node *to = &c->nodes[node];
    int32_t from = in_force->global;
    bool from_checkpoint = from == PLAN_NONE || !c->coordinator.present[from];
    bool whole = arrived && to->alive && (from_checkpoint || c->nodes[from].alive);
    bool ok = whole && !to->full;
    to->full = false;
    if (ok && from_checkpoint) {
        memcpy(to->global_parameters, c->saved, (size_t)c->chunk_count * sizeof *c->saved);
        versions_fill(&to->global.have, c->saved_round);
    } else if (ok) {
        const cluster_node *source = &c->nodes[from];
        memcpy(to->global_parameters, source->global_parameters,
               (size_t)c->chunk_count * sizeof *c->saved);
        global_restore(&to->global, source->global.have.of);
    }
    const coordinator_event moved = {.kind = COORDINATOR_MOVED, .ok = ok};
    /* A target without room says so; of a dead end nothing is heard for a while. */
    return whole ? control_step(c, &moved) : control_report(c, c->options->detect_s, moved);
}

static edgeps_err announce(cluster *c)
{
    size_t k = c->announcement_count;
    plan *all = mem_resize(c->announcements, k + 1, sizeof *all);
    if (!all)
        return EDGEPS_NOMEM;
    c->announcements = all;
    edgeps_err err = plan_copy(&c->coordinator.plan, &all[k]);
    if (err)
        return err;
    c->announcement_count++;
    c->result.lost_globals += c->coordinator.restored;
    c->result.generations++;
    for (size_t i = 0; !err && i < c->p->count; i++) {
        double delay_s = c->options->most_control_delay_s * rng_uniform(&c->random);
        err = cluster_at(c, c->now_s + delay_s,
                         (agenda_item){.kind = AGENDA_PLAN, .node = (int32_t)i, .index = k});
    }
    return err;
}

static edgeps_err allow(cluster *c, int64_t round)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t i = 0; !err && i < c->p->count; i++)
        err = cluster_at(c, c->now_s,
                         (agenda_item){.kind = AGENDA_ALLOW,
                                       .node = (int32_t)i,
                                       .event = {.kind = PROTO_ALLOWED, .round = round}});
    return err;
}

static edgeps_err save(cluster *c, int64_t round)
{
    int32_t node = c->coordinator.plan.global;
    const cluster_node *n = &c->nodes[node];
    if (n->alive) {
        memcpy(c->saved, n->global_parameters, (size_t)c->chunk_count * sizeof *c->saved);
        c->saved_round = round;
    }
    double delay_s = n->alive ? 0 : c->options->detect_s;
    return control_report(c, delay_s,
                          (coordinator_event){.kind = COORDINATOR_SAVED, .ok = n->alive});
}

static edgeps_err begin_faults(cluster *c)
{
    edgeps_err err = EDGEPS_OK;
    if (c->begun_s >= 0)
        return err;
    c->begun_s = c->now_s;
    for (size_t k = 0; !err && k < c->options->fault_count; k++)
        err = cluster_at(c, c->now_s + c->options->faults[k].at_s,
                         (agenda_item){.kind = AGENDA_FAULT, .index = k});
    return err;
}

static edgeps_err carry_out(cluster *c, const coordinator_effect *effect)
{
    switch (effect->kind) {
    case COORDINATOR_WANT_PLAN:
        return want_plan(c);
    case COORDINATOR_MOVE:
        return begin_move(c);
    case COORDINATOR_COMMIT:
        return control_report(c, 0, (coordinator_event){.kind = COORDINATOR_COMMITTED});
    case COORDINATOR_ANNOUNCE:
        return announce(c);
    case COORDINATOR_ALLOW:
        return allow(c, effect->round);
    case COORDINATOR_EPOCH_BEGUN:
        c->round_end_s[(effect->index - 1) * (size_t)c->coordinator.options.rounds_per_epoch] =
            c->now_s;
        return begin_faults(c);
    case COORDINATOR_SAVE:
        return save(c, effect->round);
    case COORDINATOR_FINISH:
        c->ended = true;
        return EDGEPS_OK;
    case COORDINATOR_FAIL:
        c->ended = true;
        c->outcome = diag_fail(c->diag, EDGEPS_INFEASIBLE, "%s",
                               effect->why == COORDINATOR_IMPOSSIBLE ? "no plan is left"
                                                                     : "no node is left");
        return EDGEPS_OK;
    case COORDINATOR_EPOCH_ENDED:
    case COORDINATOR_EXPEL:
        return EDGEPS_OK;
    }
    return EDGEPS_OK;
}

edgeps_err control_step(cluster *c, const coordinator_event *event)
{
    coordinator_effects effects = {.count = 0};
    coordinator_event stamped = *event;
    stamped.now_ns = (int64_t)(c->now_s * 1e9);
    edgeps_err err = coordinator_step(&c->coordinator, &stamped, &effects);
    for (size_t k = 0; !err && k < effects.count; k++)
        err = carry_out(c, &effects.items[k]);
    return err;
}

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

static edgeps_err come_back(cluster *c, int32_t node)
{
    if (c->nodes[node].alive)
        return EDGEPS_OK;
    edgeps_err err = cluster_restart(c, (size_t)node);
    return err ? err
               : control_report(c, c->options->detect_s,
                                (coordinator_event){.kind = COORDINATOR_JOINED, .node = node});
}

edgeps_err control_fault(cluster *c, const sim_fault *fault)
{
    size_t n = c->p->count;
    assert(n > 0);
    edgeps_err err = EDGEPS_OK;
    bool kill = fault->kind == SIM_KILL;
    if (fault->kind == SIM_RESTART)
        return come_back(c, fault->node);
    if (fault->kind == SIM_FULL) {
        c->nodes[fault->node].full = true;
        return EDGEPS_OK;
    }
    if (kill) {
        if (!c->nodes[fault->node].alive)
            return EDGEPS_OK;
        c->nodes[fault->node].alive = false;
        err = control_report(c, c->options->detect_s,
                             (coordinator_event){.kind = COORDINATOR_LOST, .node = fault->node});
    }
    for (uint32_t e = 0; !err && e < 2 * n; e++) {
        int32_t child = (int32_t)(e % n);
        bool touches = child == fault->node || (kill && wires_is_open(c->wires, e) &&
                                                wires_parent(c->wires, e) == fault->node);
        if (touches)
            err = cut_edge(c, e, child, e < n ? CLUSTER_WORKER : CLUSTER_LOCAL);
    }
    return err;
}
