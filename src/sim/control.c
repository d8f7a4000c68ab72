#include "sim/cluster.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define WAIT_S 0.05 /* until it is looked again whether a process still stands still */

edgeps_err control_report(cluster *c, double delay_s, coordinator_event event)
{
    bool of_agent = event.kind == COORDINATOR_READY || event.kind == COORDINATOR_DONE ||
                    event.kind == COORDINATOR_ROUND;
    double time_s = c->now_s + delay_s;
    if (of_agent)
        time_s = fmax(time_s, c->nodes[event.node].muted_s);
    return cluster_at(
        c, time_s, (agenda_item){.kind = AGENDA_COORDINATOR, .node = event.node, .report = event});
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
    plan_free(&c->planned);
    c->planned = next;
    return control_report(c, 0,
                          (coordinator_event){.kind = COORDINATOR_PLANNED,
                                              .plan = &c->planned,
                                              .move_count = next.global != in_force->global,
                                              .restored = global_gone});
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
        err = cluster_at(c, fmax(c->now_s + delay_s, c->nodes[i].muted_s),
                         (agenda_item){.kind = AGENDA_PLAN, .node = (int32_t)i, .index = k});
    }
    return err;
}

static edgeps_err allow(cluster *c, int64_t round)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t i = 0; !err && i < c->p->count; i++)
        err = cluster_at(c, fmax(c->now_s, c->nodes[i].muted_s),
                         (agenda_item){.kind = AGENDA_ALLOW,
                                       .node = (int32_t)i,
                                       .event = {.kind = PROTO_ALLOWED, .round = round}});
    return err;
}

/* A checkpoint that is not written leaves the older one as it was. */
static edgeps_err write_checkpoint(cluster *c, const cluster_node *n, int64_t round)
{
    int64_t chunks = c->chunk_count;
    if (c->unsaved)
        chunks = c->options->plant == SIM_HALF_SAVES ? chunks / 2 : 0;
    memcpy(c->saved, n->global_parameters, (size_t)chunks * sizeof *c->saved);
    if (!c->unsaved)
        c->saved_round = round;
    c->unsaved = false;
    for (int64_t k = 0; k < c->chunk_count; k++)
        if (c->saved[k] != c->history[c->saved_round][k])
            return books_broken(c, "no checkpoint is whole", (size_t)c->coordinator.plan.global,
                                c->saved_round, k);
    return EDGEPS_OK;
}

edgeps_err control_save(cluster *c, const agenda_item *item, bool gone)
{
    const cluster_node *n = &c->nodes[item->node];
    bool ok = !gone && cluster_takes_part(c, (size_t)item->node);
    if (ok && n->stopped)
        return cluster_at(c, c->now_s + WAIT_S, *item);
    edgeps_err err = ok ? write_checkpoint(c, n, item->event.round) : EDGEPS_OK;
    return err ? err
               : control_report(c, ok ? 0 : c->options->detect_s,
                                (coordinator_event){.kind = COORDINATOR_SAVED, .ok = ok});
}

/* What another coordinator would find. */
static edgeps_err commit(cluster *c)
{
    plan copy;
    edgeps_err err = plan_copy(&c->coordinator.next, &copy);
    if (err)
        return err;
    plan_free(&c->recorded);
    c->recorded = copy;
    return control_report(c, 0, (coordinator_event){.kind = COORDINATOR_COMMITTED});
}

static edgeps_err begin_faults(cluster *c)
{
    edgeps_err err = EDGEPS_OK;
    if (c->begun_s >= 0)
        return err;
    c->begun_s = c->progress_s = c->now_s;
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
        return handover_begin(c);
    case COORDINATOR_ABANDON:
        return handover_abandon(c);
    case COORDINATOR_COMMIT:
        return commit(c);
    case COORDINATOR_ANNOUNCE:
        return announce(c);
    case COORDINATOR_ALLOW:
        return allow(c, effect->round);
    case COORDINATOR_EPOCH_BEGUN:
        c->epoch_begun = true;
        c->round_end_s[(effect->index - 1) * (size_t)c->coordinator.options.rounds_per_epoch] =
            c->now_s;
        return begin_faults(c);
    case COORDINATOR_SAVE:
        return cluster_at(c, c->now_s,
                          (agenda_item){.kind = AGENDA_SAVE,
                                        .node = c->coordinator.plan.global,
                                        .event = {.round = effect->round}});
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
        c->epochs_over = (int64_t)effect->index;
        c->epoch_begun = false;
        c->progress_s = fmax(c->progress_s, c->now_s);
        return EDGEPS_OK;
    case COORDINATOR_SUSPECT:
    case COORDINATOR_CLEAR:
        return EDGEPS_OK;
    case COORDINATOR_EXPEL:
        return faults_give_up(c, (size_t)effect->node);
    }
    return EDGEPS_OK;
}

edgeps_err control_step(cluster *c, const coordinator_event *event)
{
    coordinator_effects effects = {.count = 0};
    coordinator_event stamped = *event;
    stamped.now_ns = (int64_t)((c->now_s + c->clock_s) * 1e9);
    edgeps_err err = coordinator_step(&c->coordinator, &stamped, &effects);
    for (size_t k = 0; !err && k < effects.count; k++)
        err = carry_out(c, &effects.items[k]);
    return err;
}
