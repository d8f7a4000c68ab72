#include "sim/cluster.h"

#include <inttypes.h>
#include <math.h>

edgeps_err books_broken(const cluster *c, const char *what, size_t node, int64_t round,
                        int64_t chunk)
{
    return diag_fail(c->diag, EDGEPS_INTERNAL,
                     "%s: node %s, round %" PRId64 ", chunk %" PRId64 ", at %.6f s, seed %" PRIu64,
                     what, c->p->nodes[node].name, round, chunk, c->now_s, c->options->seed);
}

static cluster_taken *line(cluster_taken *book, int64_t chunk, int64_t round, uint64_t generation)
{
    int64_t row = (int64_t)generation * CLUSTER_ROUNDS + round % CLUSTER_ROUNDS;
    return &book[chunk * CLUSTER_MEMORY + row % CLUSTER_MEMORY];
}

void books_take(cluster *c, cluster_role server, const proto_effect *effect, uint64_t generation)
{
    cluster_taken *book = c->nodes[effect->node].taken[server == CLUSTER_GLOBAL];
    *line(book, effect->chunk, effect->round, generation) =
        (cluster_taken){.generation = generation, .into = effect->round, .from = effect->before};
}

/* What the books say of one sum. */
typedef struct account {
    uint64_t sum;
    double weight;
    int64_t expected; /* children that did not pass */
    int64_t in;
} account;

static bool is_in(const cluster_taken *t, uint64_t generation, int64_t round)
{
    return t->generation == generation && t->into == round;
}

/* A gradient goes into one round only; that very round may be applied again. Where it was in a
 * later one, that is lost with all who held it, or else an older round could not be applied again.
 */
static edgeps_err count(cluster *c, size_t i, int64_t from, const proto_effect *effect)
{
    cluster_taken *counted = line(c->nodes[i].counted, effect->chunk, from, 0);
    if (counted->from == from && counted->into < effect->round)
        return books_broken(c, "a gradient is taken into two rounds", i, from, effect->chunk);
    c->result.stale_chunks += from != effect->round;
    *counted = (cluster_taken){.into = effect->round, .from = from};
    return EDGEPS_OK;
}

/* The sum of a local server of round `round` that is in an update. */
static edgeps_err add_local(cluster *c, const plan *pl, size_t j, int64_t round,
                            const proto_effect *effect, account *total)
{
    account own = {.sum = 0};
    edgeps_err err = EDGEPS_OK;
    for (size_t i = 0; !err && i < pl->count; i++) {
        const cluster_node *w = &c->nodes[i];
        if (pl->parent[i] != (int32_t)j)
            continue;
        const cluster_taken *t = line(w->taken[0], effect->chunk, round, pl->generation);
        own.expected += !(w->passed_round[effect->chunk] == round &&
                          w->passed_generation[effect->chunk] == pl->generation);
        if (!is_in(t, pl->generation, round))
            continue;
        own.in++;
        total->sum += roles_gradient(c, i, t->from, effect->chunk);
        total->weight += cluster_samples(i);
        err = count(c, i, t->from, effect);
    }
    double share = c->options->patience.quorum > 0 ? c->options->patience.quorum : 1;
    if (!err && (double)own.in < ceil(share * (double)own.expected - 1e-9))
        err = books_broken(c, "a sum closed below its quorum", j, round, effect->chunk);
    c->result.early_chunks += own.in < own.expected;
    return err;
}

static const plan *plan_of_generation(const cluster *c, uint64_t generation)
{
    for (size_t k = c->announcement_count; k-- > 0;)
        if (c->announcements[k].generation == generation)
            return &c->announcements[k];
    return NULL;
}

/* Whether some worker of a local server has a gradient to come. */
static bool expects(const cluster *c, const plan *pl, size_t j, const proto_effect *effect)
{
    for (size_t i = 0; i < pl->count; i++)
        if (pl->parent[i] == (int32_t)j &&
            !(c->nodes[i].passed_round[effect->chunk] == effect->round &&
              c->nodes[i].passed_generation[effect->chunk] == pl->generation))
            return true;
    return false;
}

/* An applied sum holds what the books say, from enough children, and nothing twice. */
static edgeps_err check_sum(cluster *c, size_t node, const proto_effect *effect)
{
    const cluster_node *n = &c->nodes[node];
    const plan *pl = plan_of_generation(c, n->global.family.generation);
    account total = {.sum = 0};
    edgeps_err err = EDGEPS_OK;
    for (size_t j = 0; pl && !err && j < pl->count; j++) {
        if (!plan_is_local(pl, j))
            continue;
        const cluster_taken *t =
            line(c->nodes[j].taken[1], effect->chunk, effect->round, pl->generation);
        bool in = is_in(t, pl->generation, effect->round);
        total.in += in;
        total.expected += expects(c, pl, j, effect);
        if (in)
            err = add_local(c, pl, j, t->from, effect, &total);
    }
    if (err)
        return err;
    if (!pl || total.sum != n->global_sum[effect->chunk] || total.weight != effect->weight)
        return books_broken(c, "a gradient was lost or counted twice", node, effect->round,
                            effect->chunk);
    double share = c->options->patience.quorum > 0 ? c->options->patience.quorum : 1;
    if ((double)total.in < ceil(share * (double)total.expected - 1e-9))
        return books_broken(c, "a sum closed below its quorum", node, effect->round, effect->chunk);
    c->result.early_chunks += total.in < total.expected;
    return EDGEPS_OK;
}

/* At most the round that runs is repeated: nobody of the tree has what is applied again. */
static edgeps_err check_repetition(cluster *c, size_t node, const proto_effect *effect)
{
    bool *applied = &c->applied[effect->round * c->chunk_count + effect->chunk];
    uint64_t generation = c->nodes[node].global.family.generation;
    for (size_t i = 0; *applied && i < c->p->count; i++) {
        const cluster_node *n = &c->nodes[i];
        bool holds =
            (n->worker.parent != PROTO_NO_NODE && n->worker.generation == generation &&
             n->worker.have.of[effect->chunk] >= effect->round) ||
            (n->local.parent != PROTO_NO_NODE && n->local.family.generation == generation &&
             n->local.have.of[effect->chunk] >= effect->round);
        if (n->alive && holds)
            return books_broken(c, "a round that a node holds is repeated", i, effect->round,
                                effect->chunk);
    }
    c->repeated[effect->round] |= *applied;
    *applied = true;
    return EDGEPS_OK;
}

edgeps_err books_check(cluster *c, size_t node, const proto_effect *effect)
{
    edgeps_err err = check_sum(c, node, effect);
    return err ? err : check_repetition(c, node, effect);
}

edgeps_err books_check_owner(const cluster *c)
{
    for (size_t i = 0; i < c->p->count; i++)
        for (size_t j = 0; j < i; j++) {
            const cluster_node *a = &c->nodes[i], *b = &c->nodes[j];
            if (a->alive && b->alive && a->global.active && b->global.active &&
                a->global.family.generation == b->global.family.generation)
                return books_broken(c, "a generation has two global servers", i,
                                    (int64_t)a->global.family.generation, 0);
        }
    return EDGEPS_OK;
}
