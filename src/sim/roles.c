#include "sim/cluster.h"

#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static uint64_t mix(uint64_t a, uint64_t b)
{
    rng r = rng_make(a, b);
    return rng_next(&r);
}

uint64_t roles_gradient(const cluster *c, size_t node, int64_t round, int64_t chunk)
{
    return mix(mix(c->options->seed + node, (uint64_t)round), (uint64_t)chunk);
}

uint64_t roles_initial(const cluster *c, int64_t chunk)
{
    return mix(c->options->seed, ~(uint64_t)chunk);
}

static uint32_t edge_of(const cluster *c, size_t node, cluster_role child_role)
{
    return (uint32_t)(child_role == CLUSTER_WORKER ? node : c->p->count + node);
}

static cluster_role child_of(cluster_role parent)
{
    return parent == CLUSTER_LOCAL ? CLUSTER_WORKER : CLUSTER_LOCAL;
}

static edgeps_err apply(cluster *c, size_t node, const proto_effect *effect)
{
    edgeps_err err = books_check(c, node, effect);
    if (err)
        return err;
    cluster_node *n = &c->nodes[node];
    uint64_t *parameter = &n->global_parameters[effect->chunk];
    *parameter = mix(*parameter, n->global_sum[effect->chunk]);
    c->history[effect->round][effect->chunk] = *parameter;
    c->progress_s = fmax(c->progress_s, c->now_s);
    return EDGEPS_OK;
}

/* A gradient of a round is computed on exactly the parameters that the round before left. */
static edgeps_err compute(cluster *c, size_t node, const proto_effect *effect)
{
    cluster_node *n = &c->nodes[node];
    if (effect->round <= n->computed_round)
        return books_broken(c, "a worker goes back", node, effect->round, 0);
    n->computed_round = effect->round;
    for (int64_t k = 0; k < c->chunk_count; k++)
        if (n->worker_parameters[k] != c->history[effect->round - 1][k])
            return books_broken(c, "a worker computes on wrong parameters", node, effect->round, k);
    agenda_item item = {
        .kind = AGENDA_ROLE,
        .role = CLUSTER_WORKER,
        .node = (int32_t)node,
        .event = {.kind = PROTO_COMPUTED, .round = effect->round, .weight = cluster_samples(node)}};
    double u = rng_uniform(&c->random), slowdown = 1 + c->options->most_slowdown * u * u * u * u;
    return cluster_at(c, c->now_s + slowdown * c->p->nodes[node].compute_s, item);
}

static edgeps_err sum(cluster *c, size_t node, cluster_role role, const proto_effect *effect)
{
    cluster_node *n = &c->nodes[node];
    double *busy_s = role == CLUSTER_LOCAL ? &n->local_busy_s : &n->global_busy_s;
    double bytes =
        (double)effect->node * (double)job_chunk_payload_bytes(&c->p->job, effect->chunk);
    double start_s = *busy_s > c->now_s ? *busy_s : c->now_s;
    *busy_s = start_s + bytes / c->p->nodes[node].sum_bytes_per_s;
    agenda_item item = {.kind = AGENDA_ROLE,
                        .role = role,
                        .node = (int32_t)node,
                        .event = {.kind = PROTO_SUMMED,
                                  .generation = effect->generation,
                                  .round = effect->round,
                                  .chunk = effect->chunk}};
    return cluster_at(c, *busy_s, item);
}

/* Payload of a chunk that leaves `role`: a gradient or sum, or parameters. */
static uint64_t payload_of(const cluster *c, size_t node, cluster_role role,
                           const proto_effect *effect)
{
    const cluster_node *n = &c->nodes[node];
    if (effect->kind == PROTO_SEND_UP)
        return role == CLUSTER_WORKER ? roles_gradient(c, node, effect->round, effect->chunk)
                                      : n->local_sum[effect->chunk];
    const uint64_t *const parameters[] = {[CLUSTER_WORKER] = n->worker_parameters,
                                          [CLUSTER_LOCAL] = n->local_parameters,
                                          [CLUSTER_GLOBAL] = n->global_parameters};
    return parameters[role][effect->chunk];
}

static edgeps_err send_chunk(cluster *c, size_t node, cluster_role role, const proto_effect *effect)
{
    proto_event_kind kind = effect->kind == PROTO_SEND_UP     ? PROTO_PUSHED
                            : effect->kind == PROTO_SEND_DOWN ? PROTO_PULLED
                                                              : PROTO_GIVEN;
    wires_message m = {.event = {.kind = kind,
                                 .node = (int32_t)node,
                                 .generation = effect->generation,
                                 .round = effect->round,
                                 .chunk = effect->chunk,
                                 .weight = effect->weight,
                                 .again = effect->again},
                       .bytes = (double)job_chunk_wire_bytes(&c->p->job, effect->chunk),
                       .payload = payload_of(c, node, role, effect)};
    if (kind != PROTO_PULLED)
        return wires_send(c->wires, edge_of(c, node, role), WIRES_UP, m);
    return wires_send(c->wires, edge_of(c, (size_t)effect->node, child_of(role)), WIRES_DOWN, m);
}

/* What a child tells of its versions: those of this moment. */
static edgeps_err send_versions(cluster *c, uint32_t edge, wires_message message)
{
    size_t child = edge % c->p->count;
    const versions *have =
        edge < c->p->count ? &c->nodes[child].worker.have : &c->nodes[child].local.have;
    size_t bytes = (size_t)c->chunk_count * sizeof *have->of;
    cluster_versions *letter = mem_alloc(1, sizeof *letter + bytes);
    if (!letter)
        return EDGEPS_NOMEM;
    letter->next = c->letters;
    c->letters = letter;
    memcpy(letter->of, have->of, bytes);
    message.event.have = letter->of;
    message.event.whole = edge < c->p->count || c->nodes[child].local.family.whole;
    return wires_send(c->wires, edge, WIRES_UP, message);
}

static edgeps_err want_edge(cluster *c, size_t node, cluster_role role, const proto_effect *effect)
{
    uint32_t edge = edge_of(c, node, role);
    c->wanted[edge]++;
    wires_close(c->wires, edge);
    agenda_item item = {
        .kind = AGENDA_CONNECT,
        .role = role,
        .node = effect->node,
        .edge = edge,
        .wanted = c->wanted[edge],
        .event = {.kind = PROTO_ATTACH, .node = (int32_t)node, .generation = effect->generation}};
    return cluster_at(c, c->now_s, item);
}

static edgeps_err end_edge(cluster *c, size_t node, cluster_role role)
{
    uint32_t edge = edge_of(c, node, role);
    c->wanted[edge]++;
    if (!wires_is_open(c->wires, edge))
        return EDGEPS_OK;
    agenda_item item = {.kind = AGENDA_ROLE,
                        .role = role == CLUSTER_WORKER ? CLUSTER_LOCAL : CLUSTER_GLOBAL,
                        .node = wires_parent(c->wires, edge),
                        .event = {.kind = PROTO_CHILD_LOST, .node = (int32_t)node}};
    wires_close(c->wires, edge);
    return cluster_at(c, c->now_s, item);
}

/* The parent ends the edge of a child: the child learns that it lost its parent. */
static edgeps_err refuse(cluster *c, cluster_role role, const proto_effect *effect)
{
    cluster_role child = child_of(role);
    wires_close(c->wires, edge_of(c, (size_t)effect->node, child));
    agenda_item item = {.kind = AGENDA_ROLE,
                        .role = child,
                        .node = effect->node,
                        .event = {.kind = PROTO_PARENT_LOST}};
    double retry_s = c->options->reconnect_s > 0 ? c->options->reconnect_s : 0.01;
    return cluster_at(c, c->now_s + retry_s, item);
}

/* Only an epoch's last round is told. */
static edgeps_err report_done(cluster *c, size_t node, int64_t round)
{
    if (round % c->coordinator.options.rounds_per_epoch != 0)
        return EDGEPS_OK;
    c->nodes[node].done_round = round;
    return control_report(
        c, 0, (coordinator_event){.kind = COORDINATOR_DONE, .node = (int32_t)node, .round = round});
}

static edgeps_err arm(cluster *c, size_t node, cluster_role role, const proto_effect *effect)
{
    agenda_item item = {
        .kind = AGENDA_ROLE,
        .role = role,
        .node = (int32_t)node,
        .event = {.kind = PROTO_LATE, .generation = effect->generation, .round = effect->round}};
    return cluster_at(c, c->now_s + (double)effect->after_ns / 1e9, item);
}

static edgeps_err round_done(cluster *c, size_t node, cluster_role role, const proto_effect *effect)
{
    if (role == CLUSTER_GLOBAL)
        return control_report(
            c, 0,
            (coordinator_event){.kind = COORDINATOR_ROUND,
                                .node = (int32_t)node,
                                .generation = c->nodes[node].global.family.generation,
                                .round = effect->round});
    c->round_end_s[effect->round] = c->now_s;
    return report_done(c, node, effect->round);
}

/* A word without chunk from a server to its child. */
static edgeps_err send_down_word(cluster *c, cluster_role role, proto_event_kind kind,
                                 const proto_effect *effect)
{
    wires_message m = {
        .event = {.kind = kind, .generation = effect->generation, .chunk = effect->chunk}};
    return wires_send(c->wires, edge_of(c, (size_t)effect->node, child_of(role)), WIRES_DOWN, m);
}

static edgeps_err pass(cluster *c, size_t node, cluster_role role, const proto_effect *effect)
{
    if (role == CLUSTER_WORKER) {
        c->nodes[node].passed_round[effect->chunk] = effect->round;
        c->nodes[node].passed_generation[effect->chunk] = effect->generation;
        c->result.passes++;
    }
    wires_message m = {.event = {.kind = PROTO_PASSED,
                                 .node = (int32_t)node,
                                 .generation = effect->generation,
                                 .round = effect->round,
                                 .chunk = effect->chunk}};
    return wires_send(c->wires, edge_of(c, node, role), WIRES_UP, m);
}

static void store(cluster_node *n, cluster_role role, const proto_effect *effect, uint64_t payload)
{
    uint64_t *const parameters[] = {[CLUSTER_WORKER] = n->worker_parameters,
                                    [CLUSTER_LOCAL] = n->local_parameters,
                                    [CLUSTER_GLOBAL] = n->global_parameters};
    parameters[role][effect->chunk] = payload;
}

static edgeps_err carry_out(cluster *c, size_t node, cluster_role role, const proto_effect *effect,
                            uint64_t payload)
{
    cluster_node *n = &c->nodes[node];
    uint64_t *sums = role == CLUSTER_LOCAL ? n->local_sum : n->global_sum;
    switch (effect->kind) {
    case PROTO_CONNECT:
        return want_edge(c, node, role, effect);
    case PROTO_DISCONNECT:
        return end_edge(c, node, role);
    case PROTO_ACCEPT:
        return send_down_word(c, role, PROTO_ATTACHED, effect);
    case PROTO_ASK:
        return send_down_word(c, role, PROTO_ASKED, effect);
    case PROTO_HAVE:
        return send_versions(c, edge_of(c, node, role),
                             (wires_message){.event = {.kind = PROTO_HAS,
                                                       .node = (int32_t)node,
                                                       .generation = effect->generation}});
    case PROTO_REFUSE:
        return refuse(c, role, effect);
    case PROTO_PASS:
        return pass(c, node, role, effect);
    case PROTO_SEND_UP:
    case PROTO_SEND_DOWN:
    case PROTO_GIVE:
        return send_chunk(c, node, role, effect);
    case PROTO_TAKE_FIRST:
    case PROTO_TAKE:
        sums[effect->chunk] = payload + (effect->kind == PROTO_TAKE ? sums[effect->chunk] : 0);
        books_take(c, role, effect,
                   role == CLUSTER_LOCAL ? n->local.family.generation
                                         : n->global.family.generation);
        return EDGEPS_OK;
    case PROTO_STORE:
        if (effect->round <= effect->before)
            return books_broken(c, "a version goes back", node, effect->round, effect->chunk);
        store(n, role, effect, payload);
        return EDGEPS_OK;
    case PROTO_DROP:
        c->result.dropped_chunks++;
        if (c->options->plant == SIM_ADDS_DROPPED && role != CLUSTER_WORKER)
            sums[effect->chunk] += payload;
        return EDGEPS_OK;
    case PROTO_SUM:
        if (effect->node == 0)
            sums[effect->chunk] = 0;
        return sum(c, node, role, effect);
    case PROTO_APPLY:
        return apply(c, node, effect);
    case PROTO_COMPUTE:
        return compute(c, node, effect);
    case PROTO_ROUND_DONE:
        return round_done(c, node, role, effect);
    case PROTO_ROUND_MISSED:
        c->result.missed_rounds++;
        return report_done(c, node, effect->round);
    case PROTO_ARM:
        return arm(c, node, role, effect);
    case PROTO_READY:
        return control_report(c, 0,
                              (coordinator_event){.kind = COORDINATOR_READY,
                                                  .node = (int32_t)node,
                                                  .generation = effect->generation});
    }
    return EDGEPS_OK;
}

static edgeps_err carry_out_all(cluster *c, size_t node, cluster_role role, uint64_t payload)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t k = 0; !err && k < c->effects.count; k++)
        err = carry_out(c, node, role, &c->effects.items[k], payload);
    c->effects.count = 0;
    return err;
}

edgeps_err roles_step(cluster *c, size_t node, cluster_role role, const proto_event *event,
                      uint64_t payload)
{
    cluster_node *n = &c->nodes[node];
    proto_event stamped = *event;
    stamped.now_ns = (int64_t)((c->now_s + n->clock_s) * 1e9);
    if (!n->alive)
        return EDGEPS_OK;
    edgeps_err err;
    if (role == CLUSTER_WORKER)
        err = worker_step(&n->worker, &stamped, &c->effects);
    else if (role == CLUSTER_LOCAL)
        err = local_step(&n->local, &stamped, &c->effects);
    else
        err = global_step(&n->global, &stamped, &c->effects);
    return err ? err : carry_out_all(c, node, role, payload);
}

edgeps_err roles_resume(cluster *c, size_t node)
{
    edgeps_err err = global_thaw(&c->nodes[node].global, &c->effects);
    return err ? err : carry_out_all(c, node, CLUSTER_GLOBAL, 0);
}

static size_t list_children(const plan *pl, int32_t parent, int32_t *children)
{
    size_t count = 0;
    for (size_t i = 0; i < pl->count; i++)
        if (pl->parent[i] == parent)
            children[count++] = (int32_t)i;
    return count;
}

edgeps_err roles_announce(cluster *c, size_t node, const plan *pl)
{
    cluster_node *n = &c->nodes[node];
    uint64_t generation = pl->generation;
    if (!n->alive || generation < n->generation)
        return EDGEPS_OK;
    if (generation == n->generation) /* of a coordinator that takes over and knows of no move */
        return n->frozen_life < c->life ? roles_resume(c, node) : EDGEPS_OK;
    n->generation = generation;
    if (pl->parent[node] == PLAN_NONE)
        n->computed_round = 0; /* a worker that is left out forgets */
    int32_t *children = mem_alloc(pl->count, sizeof *children);
    if (!children)
        return EDGEPS_NOMEM;
    size_t count = 0;
    for (size_t j = 0; pl->global == (int32_t)node && j < pl->count; j++)
        if (plan_is_local(pl, j))
            children[count++] = (int32_t)j;
    edgeps_err err = global_plan(&n->global, generation, children, count, &c->effects);
    if (!err)
        err = carry_out_all(c, node, CLUSTER_GLOBAL, 0);
    count = list_children(pl, (int32_t)node, children);
    if (!err)
        err = local_plan(&n->local, &(local_part){generation, pl->global, children, count},
                         &c->effects);
    if (!err)
        err = carry_out_all(c, node, CLUSTER_LOCAL, 0);
    if (!err)
        err = worker_plan(&n->worker, generation, pl->parent[node], &c->effects);
    mem_free(children);
    return err ? err : carry_out_all(c, node, CLUSTER_WORKER, 0);
}

edgeps_err roles_connect(cluster *c, const agenda_item *item)
{
    size_t child = (size_t)item->event.node;
    if (c->wanted[item->edge] != item->wanted || !c->nodes[child].alive)
        return EDGEPS_OK;
    if (!c->nodes[item->node].alive || c->nodes[child].stopped ||
        c->nodes[child].muted_s > c->now_s) {
        double retry_s = c->options->reconnect_s > 0 ? c->options->reconnect_s : 0.01;
        return cluster_at(c, c->now_s + retry_s, *item);
    }
    wires_open(c->wires, item->edge, (int32_t)child, item->node);
    return send_versions(c, item->edge, (wires_message){.event = item->event});
}

edgeps_err roles_arrive(cluster *c, const wires_arrival *arrival)
{
    size_t n = c->p->count;
    bool from_worker = arrival->edge < n;
    size_t child = from_worker ? arrival->edge : arrival->edge - n;
    cluster_role child_role = from_worker ? CLUSTER_WORKER : CLUSTER_LOCAL;
    cluster_role parent_role = from_worker ? CLUSTER_LOCAL : CLUSTER_GLOBAL;
    bool up = arrival->direction == WIRES_UP;
    int32_t node = up ? wires_parent(c->wires, arrival->edge) : (int32_t)child;
    agenda_item item = {.kind = AGENDA_ROLE,
                        .role = up ? parent_role : child_role,
                        .node = node,
                        .incarnation = c->nodes[node].incarnation,
                        .event = arrival->message.event,
                        .payload = arrival->message.payload};
    edgeps_err err = EDGEPS_OK;
    int times = c->now_s < c->nodes[child].twice_s ? 2 : 1;
    for (int k = 0; !err && k < times; k++)
        err = faults_holds(c, &item)
                  ? faults_hold(c, &item)
                  : roles_step(c, (size_t)node, item.role, &item.event, item.payload);
    return err;
}
