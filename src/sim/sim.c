#include "sim/sim.h"

#include "base/mem.h"
#include "sim/cluster.h"

#include <math.h>

/* What an agent says is heard as long as its connection stands. */
static edgeps_err report_to_coordinator(cluster *c, const agenda_item *item)
{
    const coordinator_event *event = &item->report;
    cluster_node *n = &c->nodes[item->node];
    if (c->down || item->life != c->life)
        return EDGEPS_OK;
    if (c->now_s < c->frozen_s)
        return cluster_at(c, c->frozen_s, *item);
    bool said = event->kind == COORDINATOR_READY || event->kind == COORDINATOR_DONE ||
                event->kind == COORDINATOR_ROUND;
    if (said && (n->given_up || item->incarnation != n->incarnation))
        return EDGEPS_OK;
    if (event->kind == COORDINATOR_JOINED) {
        n->recorded = n->incarnation;
        n->life = c->life;
    }
    return control_step(c, event);
}

static edgeps_err happen_to_node(cluster *c, const agenda_item *item)
{
    size_t node = (size_t)item->node;
    if (item->incarnation != c->nodes[node].incarnation)
        return EDGEPS_OK;
    if (faults_holds(c, item))
        return faults_hold(c, item);
    switch (item->kind) {
    case AGENDA_ROLE:
        return roles_step(c, node, item->role, &item->event, item->payload);
    case AGENDA_PLAN:
        return roles_announce(c, node, &c->announcements[item->index]);
    case AGENDA_ALLOW:
        return roles_step(c, node, CLUSTER_WORKER, &item->event, 0);
    case AGENDA_CALL:
        return follow_call(c, node);
    default:
        return faults_go_on(c, node);
    }
}

static edgeps_err happen(cluster *c, const agenda_item *item)
{
    bool gone = item->incarnation != c->nodes[item->node].incarnation;
    bool lost = c->down || item->life != c->life;
    switch (item->kind) {
    case AGENDA_CONNECT:
        return roles_connect(c, item);
    case AGENDA_COORDINATOR:
        return report_to_coordinator(c, item);
    case AGENDA_COPIED:
        return lost ? EDGEPS_OK : handover_copied(c, item, gone);
    case AGENDA_MOVED:
        return lost ? EDGEPS_OK : handover_arrived(c, item, gone);
    case AGENDA_SAVE:
        return lost ? EDGEPS_OK : control_save(c, item, gone);
    case AGENDA_FAULT:
        return faults_strike(c, &c->options->faults[item->index]);
    case AGENDA_BEAT:
        return faults_beat(c);
    case AGENDA_FOLLOW:
        return follow_take_over(c);
    case AGENDA_GATHERED:
        return lost ? EDGEPS_OK : follow_gathered(c);
    default:
        return happen_to_node(c, item);
    }
}

/* All that is due now, messages before the agenda; what this brings about at the same instant too.
 */
static edgeps_err happen_now(cluster *c)
{
    edgeps_err err = EDGEPS_OK;
    wires_arrival arrival;
    agenda_item item;
    while (!err && !c->ended) {
        if (wires_take(c->wires, &arrival))
            err = roles_arrive(c, &arrival);
        else if (cluster_due(c, c->now_s, &item))
            err = happen(c, &item);
        else
            break;
        if (!err)
            err = books_check_owner(c);
    }
    return err;
}

static edgeps_err run(cluster *c, double most_s)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t i = 0; !err && i < c->p->count; i++)
        err = control_report(c, 0,
                             (coordinator_event){.kind = COORDINATOR_JOINED, .node = (int32_t)i});
    if (!err && c->options->silent_s > 0)
        err = cluster_at(c, 0, (agenda_item){.kind = AGENDA_BEAT});
    while (!err && !c->ended) {
        double next_s = wires_next_s(c->wires);
        if (c->agenda.count)
            next_s = fmin(next_s, c->agenda.items[0].key);
        if (!(next_s <= most_s))
            return diag_fail(
                c->diag, EDGEPS_INTERNAL, "the job hangs in epoch %lld after %.3f s, seed %llu",
                (long long)c->coordinator.epoch, c->now_s, (unsigned long long)c->options->seed);
        c->now_s = fmax(c->now_s, next_s);
        err = wires_advance(c->wires, c->now_s);
        if (!err)
            err = happen_now(c);
    }
    return err ? err : c->outcome;
}

static edgeps_err report(const cluster *c, sim_result *out)
{
    int64_t rounds = c->options->epochs * c->p->rounds;
    sim_result r = c->result;
    r.rounds = rounds;
    for (int64_t k = 0; k < c->history_rounds; k++)
        r.repeated_rounds += c->repeated[k];
    r.total_s = c->now_s - c->begun_s;
    r.round_s = mem_alloc((size_t)rounds, sizeof *r.round_s);
    if (!r.round_s)
        return EDGEPS_NOMEM;
    for (int64_t k = 0; k < rounds; k++)
        r.round_s[k] = c->round_end_s[k + 1] - c->round_end_s[k];
    *out = r;
    return EDGEPS_OK;
}

edgeps_err sim_run(const problem *p, const sim_options *options, edgeps_diag *diag, sim_result *out)
{
    cluster c;
    edgeps_err err = cluster_make(p, options, diag, &c);
    if (err)
        return err;
    err = run(&c, options->most_s > 0 ? options->most_s : 1e6);
    if (!err)
        err = report(&c, out);
    cluster_free(&c);
    return err;
}

void sim_result_free(sim_result *r)
{
    mem_free(r->round_s);
    *r = (sim_result){0};
}
