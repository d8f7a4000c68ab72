#include "sim/cluster.h"

#include "base/mem.h"

#include <string.h>

static edgeps_err make_node(const sim_options *options, int64_t chunks, cluster_node *n)
{
    size_t count = (size_t)chunks;
    edgeps_err err = worker_make(chunks, &n->worker);
    if (!err)
        err = local_make(chunks, &n->local);
    if (!err)
        err = global_make(chunks, &n->global);
    n->worker_parameters = mem_alloc(count, sizeof(uint64_t));
    n->local_parameters = mem_alloc(count, sizeof(uint64_t));
    n->local_sum = mem_alloc(count, sizeof(uint64_t));
    n->global_parameters = mem_alloc(count, sizeof(uint64_t));
    n->global_sum = mem_alloc(count, sizeof(uint64_t));
    n->passed_round = mem_alloc(count, sizeof *n->passed_round);
    n->passed_generation = mem_alloc(count, sizeof *n->passed_generation);
    n->taken[0] = mem_alloc(count * CLUSTER_MEMORY, sizeof **n->taken);
    n->taken[1] = mem_alloc(count * CLUSTER_MEMORY, sizeof **n->taken);
    n->counted = mem_alloc(count * CLUSTER_MEMORY, sizeof *n->counted);
    n->alive = true;
    n->worker.staleness = options->patience.staleness;
    n->local.family.patience = n->global.family.patience = options->patience;
    bool all = n->taken[0] && n->taken[1] && n->counted && n->passed_round &&
               n->passed_generation && n->worker_parameters && n->local_parameters &&
               n->local_sum && n->global_parameters && n->global_sum;
    return err ? err : all ? EDGEPS_OK : EDGEPS_NOMEM;
}

static void free_node(cluster_node *n)
{
    worker_free(&n->worker);
    local_free(&n->local);
    global_free(&n->global);
    mem_free(n->worker_parameters);
    mem_free(n->local_parameters);
    mem_free(n->local_sum);
    mem_free(n->global_parameters);
    mem_free(n->global_sum);
    mem_free(n->passed_round);
    mem_free(n->passed_generation);
    mem_free(n->taken[0]);
    mem_free(n->taken[1]);
    mem_free(n->counted);
}

static edgeps_err make_history(cluster *c)
{
    c->history_rounds = c->options->epochs * c->p->rounds + 1;
    c->history = mem_alloc((size_t)c->history_rounds, sizeof *c->history);
    c->round_end_s = mem_alloc((size_t)c->history_rounds, sizeof *c->round_end_s);
    c->saved = mem_alloc((size_t)c->chunk_count, sizeof *c->saved);
    c->applied = mem_alloc((size_t)(c->history_rounds * c->chunk_count), sizeof *c->applied);
    c->repeated = mem_alloc((size_t)c->history_rounds, sizeof *c->repeated);
    if (!c->history || !c->round_end_s || !c->saved || !c->applied || !c->repeated)
        return EDGEPS_NOMEM;
    for (int64_t r = 0; r < c->history_rounds; r++) {
        c->history[r] = mem_alloc((size_t)c->chunk_count, sizeof **c->history);
        if (!c->history[r])
            return EDGEPS_NOMEM;
    }
    for (int64_t k = 0; k < c->chunk_count; k++)
        c->saved[k] = c->history[0][k] = roles_initial(c, k);
    return EDGEPS_OK;
}

edgeps_err cluster_make(const problem *p, const sim_options *options, edgeps_diag *diag,
                        cluster *out)
{
    cluster c = {.p = p,
                 .options = options,
                 .diag = diag,
                 .chunk_count = job_chunk_count(&p->job),
                 .begun_s = -1,
                 .planned = {.global = PLAN_NONE},
                 .recorded = {.global = PLAN_NONE},
                 .random = rng_make(options->seed, 1)};
    coordinator_options co = {.node_count = p->count,
                              .epochs = options->epochs,
                              .rounds_per_epoch = p->rounds,
                              .silent_after_ns = (int64_t)(options->silent_s * 1e9)};
    edgeps_err err = coordinator_make(&co, &c.coordinator);
    if (!err)
        err = wires_make(p, &c.wires);
    if (!err)
        err = make_history(&c);
    if (!err)
        err = versions_make(c.chunk_count, &c.move.have);
    c.move.parameters = mem_alloc((size_t)c.chunk_count, sizeof *c.move.parameters);
    c.nodes = mem_alloc(p->count, sizeof *c.nodes);
    c.wanted = mem_alloc(2 * p->count, sizeof *c.wanted);
    if (!err && (!c.nodes || !c.wanted || !c.move.parameters))
        err = EDGEPS_NOMEM;
    for (size_t i = 0; !err && i < p->count; i++)
        err = make_node(options, c.chunk_count, &c.nodes[i]);
    if (err) {
        cluster_free(&c);
        return diag_fail(diag, err, "no memory for a virtual cluster of %zu nodes", p->count);
    }
    *out = c;
    return EDGEPS_OK;
}

void cluster_free(cluster *c)
{
    for (size_t i = 0; c->nodes && i < c->p->count; i++)
        free_node(&c->nodes[i]);
    for (int64_t r = 0; c->history && r < c->history_rounds; r++)
        mem_free(c->history[r]);
    for (size_t k = 0; k < c->announcement_count; k++)
        plan_free(&c->announcements[k]);
    mem_free(c->announcements);
    mem_free(c->nodes);
    mem_free(c->wanted);
    mem_free(c->history);
    mem_free(c->round_end_s);
    mem_free(c->saved);
    mem_free(c->applied);
    mem_free(c->repeated);
    mem_free(c->items);
    mem_free(c->held);
    for (cluster_versions *v = c->letters; v;) {
        cluster_versions *next = v->next;
        mem_free(v);
        v = next;
    }
    heap_free(&c->agenda);
    plan_free(&c->planned);
    plan_free(&c->recorded);
    copier_free(&c->move.copier);
    versions_free(&c->move.have);
    mem_free(c->move.parameters);
    coordinator_free(&c->coordinator);
    proto_effects_free(&c->effects);
    wires_free(c->wires);
}

edgeps_err cluster_restart(cluster *c, size_t node)
{
    const cluster_node *old = &c->nodes[node];
    cluster_node fresh = {.incarnation = old->incarnation + 1,
                          .recorded = old->recorded,
                          .muted_s = old->muted_s,
                          .twice_s = old->twice_s,
                          .clock_s = old->clock_s};
    edgeps_err err = make_node(c->options, c->chunk_count, &fresh);
    if (err) {
        free_node(&fresh);
        return err;
    }
    /* The books outlive a process. */
    cluster_node *before = &c->nodes[node];
    for (int k = 0; k < 2; k++) {
        cluster_taken *kept = before->taken[k];
        before->taken[k] = fresh.taken[k];
        fresh.taken[k] = kept;
    }
    cluster_taken *counted = before->counted;
    before->counted = fresh.counted;
    fresh.counted = counted;
    free_node(before);
    *before = fresh;
    c->wanted[node]++;
    c->wanted[c->p->count + node]++;
    return EDGEPS_OK;
}

edgeps_err cluster_at(cluster *c, double time_s, agenda_item item)
{
    item.incarnation = c->nodes[item.node].incarnation;
    item.life = c->life;
    size_t slot = c->item_count;
    agenda_item *items = c->items;
    if ((slot & (slot - 1)) == 0) /* room doubles at each power of two */
        items = mem_resize(items, slot ? 2 * slot : 1, sizeof *items);
    if (!items)
        return EDGEPS_NOMEM;
    c->items = items;
    edgeps_err err = heap_push(&c->agenda, time_s, slot);
    if (err)
        return err;
    items[slot] = item;
    c->item_count++;
    return EDGEPS_OK;
}

bool cluster_due(cluster *c, double time_s, agenda_item *out)
{
    heap_item top;
    if (!c->agenda.count || c->agenda.items[0].key > time_s || !heap_pop(&c->agenda, &top))
        return false;
    *out = c->items[top.id];
    if (c->agenda.count == 0)
        c->item_count = 0;
    return true;
}
