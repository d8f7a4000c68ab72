/* What src/node/takeover.c does, over the virtual cluster's record. */
#include "sim/cluster.h"

#include <math.h>

edgeps_err follow_kill(cluster *c, double after_s)
{
    if (c->down)
        return EDGEPS_OK;
    c->down = true;
    c->life++;
    c->frozen_s = 0;
    return cluster_at(c, c->now_s + after_s, (agenda_item){.kind = AGENDA_FOLLOW});
}

/* What the coordinator before may not have heard. */
static edgeps_err tell_all(cluster *c, int32_t node)
{
    const cluster_node *n = &c->nodes[node];
    edgeps_err err = EDGEPS_OK;
    if (c->options->plant == SIM_FORGETS_DONE)
        return EDGEPS_OK;
    if (n->worker.said_ready)
        err = control_report(c, 0,
                             (coordinator_event){.kind = COORDINATOR_READY,
                                                 .node = node,
                                                 .generation = n->worker.generation});
    if (!err && n->done_round)
        err = control_report(
            c, 0,
            (coordinator_event){.kind = COORDINATOR_DONE, .node = node, .round = n->done_round});
    if (!err && n->global.active && versions_agree(&n->global.have))
        err = control_report(c, 0,
                             (coordinator_event){.kind = COORDINATOR_ROUND,
                                                 .node = node,
                                                 .generation = n->global.family.generation,
                                                 .round = n->global.have.top});
    return err;
}

/* An old process is kept where the record knows it; a new one is another incarnation. */
static edgeps_err say_hello(cluster *c, int32_t node)
{
    cluster_node *n = &c->nodes[node];
    bool kept = n->recorded == n->incarnation;
    n->recorded = n->incarnation;
    n->life = c->life;
    edgeps_err err = control_step(
        c, &(coordinator_event){.kind = COORDINATOR_JOINED, .node = node, .kept = kept});
    return err || !kept ? err : tell_all(c, node);
}

static edgeps_err gather(cluster *c, double from_s)
{
    double patience_s = fmax(c->options->silent_s, 2 * CLUSTER_CALL_S);
    return cluster_at(c, from_s + patience_s, (agenda_item){.kind = AGENDA_GATHERED});
}

edgeps_err follow_take_over(cluster *c)
{
    coordinator_options o = {.node_count = c->p->count,
                             .epochs = c->options->epochs,
                             .rounds_per_epoch = c->p->rounds,
                             .start_epoch = c->epochs_over,
                             .in_force = &c->recorded,
                             .epoch_begun = c->epoch_begun,
                             .silent_after_ns = (int64_t)(c->options->silent_s * 1e9)};
    coordinator fresh;
    edgeps_err err = coordinator_make(&o, &fresh);
    if (err)
        return err;
    coordinator_free(&c->coordinator);
    c->coordinator = fresh;
    c->down = false;
    c->result.followers++;
    c->life++;
    for (size_t i = 0; i < c->p->count; i++)
        c->nodes[i].given_up = false;
    for (size_t i = 0; !err && i < c->p->count; i++)
        err = cluster_at(
            c, fmax(c->now_s, c->nodes[i].muted_s) + CLUSTER_CALL_S * rng_uniform(&c->random),
            (agenda_item){.kind = AGENDA_CALL, .node = (int32_t)i});
    return err ? err : gather(c, c->now_s);
}

edgeps_err follow_gathered(cluster *c)
{
    edgeps_err err = EDGEPS_OK;
    if (c->now_s < c->frozen_s) /* whoever has called meanwhile is heard first */
        return gather(c, c->frozen_s);
    for (size_t i = 0; !err && i < c->p->count; i++) {
        if (c->coordinator.joined[i] || c->coordinator.phase != COORDINATOR_GATHERING)
            continue;
        c->nodes[i].given_up = plan_has_role(&c->coordinator.plan, i);
        err = control_step(c, &(coordinator_event){.kind = COORDINATOR_LOST, .node = (int32_t)i});
    }
    return err;
}

edgeps_err follow_call(cluster *c, size_t node)
{
    cluster_node *n = &c->nodes[node];
    bool waits = c->down || c->now_s < c->frozen_s || c->now_s < n->muted_s;
    if (!n->alive || (n->life == c->life && !n->given_up))
        return EDGEPS_OK;
    if (waits)
        return cluster_at(c, c->now_s + CLUSTER_CALL_S,
                          (agenda_item){.kind = AGENDA_CALL, .node = (int32_t)node});
    if (n->given_up)
        return faults_end(c, (int32_t)node);
    return say_hello(c, (int32_t)node);
}
