/* Depth-first branch and bound on the evaluator. A node of the tree is a plan of the first few
 * workers of a fixed order. Whatever the others do, the facts behind cost_bound_s stay true of
 * these few: more flows delay no flow's start and free no link. So the bound of the partial plan
 * holds for all its completions, and so do chains, loads and the fan. */
#include "place/exact_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_PER_LOOK 1024 /* between two looks at the clock */

typedef struct branch {
    const place_times *t;
    const place_view *v;
    const uint32_t *twin;
    place_best *best;
    double cutoff_s;
    size_t n;
    plan trial;
    int32_t *children, *remote; /* per server */
    int32_t locals;
    uint32_t *order;   /* workers, the one with the slowest fastest chain first */
    uint32_t *options; /* per place in the order: n servers, fastest chain first */
    size_t *option_count;
    size_t *next; /* per depth: the option to try next */
    uint64_t steps;
} branch;

static void branch_free(branch *b)
{
    plan_free(&b->trial);
    mem_free(b->children);
    mem_free(b->remote);
    mem_free(b->order);
    mem_free(b->options);
    mem_free(b->option_count);
    mem_free(b->next);
}

typedef struct timed {
    double time_s;
    uint32_t node;
} timed;

static int quickest_first(const void *a, const void *b)
{
    const timed *x = a, *y = b;
    if (x->time_s != y->time_s)
        return x->time_s < y->time_s ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static int slowest_first(const void *a, const void *b)
{
    const timed *x = a, *y = b;
    if (x->time_s != y->time_s)
        return x->time_s > y->time_s ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static void order_workers(branch *b, timed *list)
{
    const place_ground *gr = b->t->gr;
    for (size_t w = 0; w < gr->worker_count; w++) {
        double least_s = INFINITY;
        for (size_t j = 0; j < b->n; j++)
            least_s = fmin(least_s, b->v->chain[j][gr->workers[w]]);
        list[w] = (timed){least_s, gr->workers[w]};
    }
    qsort(list, gr->worker_count, sizeof *list, slowest_first);
    for (size_t w = 0; w < gr->worker_count; w++)
        b->order[w] = list[w].node;
}

static void list_options(branch *b, timed *list)
{
    for (size_t d = 0; d < b->t->gr->worker_count; d++) {
        size_t count = 0;
        for (size_t j = 0; j < b->n; j++) {
            double chain_s = b->v->chain[j][b->order[d]];
            if (chain_s < b->cutoff_s)
                list[count++] = (timed){chain_s, (uint32_t)j};
        }
        qsort(list, count, sizeof *list, quickest_first);
        for (size_t o = 0; o < count; o++)
            b->options[d * b->n + o] = list[o].node;
        b->option_count[d] = count;
    }
}

static edgeps_err branch_make(const place_view *v, double cutoff_s, branch *out)
{
    size_t n = v->t->gr->count, workers = v->t->gr->worker_count;
    branch b = {.t = v->t, .v = v, .cutoff_s = cutoff_s, .n = n};
    edgeps_err err = plan_make(n, &b.trial);
    timed *list = mem_alloc(n, sizeof *list);
    b.children = mem_alloc(n, sizeof *b.children);
    b.remote = mem_alloc(n, sizeof *b.remote);
    b.order = mem_alloc(workers, sizeof *b.order);
    b.options = mem_alloc(workers * n, sizeof *b.options);
    b.option_count = mem_alloc(workers, sizeof *b.option_count);
    b.next = mem_alloc(workers, sizeof *b.next);
    if (err || !list || !b.children || !b.remote || !b.order || !b.options || !b.option_count ||
        !b.next) {
        mem_free(list);
        branch_free(&b);
        return EDGEPS_NOMEM;
    }
    b.trial.global = (int32_t)v->global;
    order_workers(&b, list);
    list_options(&b, list);
    mem_free(list);
    *out = b;
    return EDGEPS_OK;
}

static void detach(branch *b, size_t worker)
{
    size_t server = (size_t)b->trial.parent[worker];
    b->locals -= --b->children[server] == 0;
    b->remote[server] -= worker != server;
    b->trial.parent[worker] = PLAN_NONE;
}

static void attach(branch *b, size_t worker, size_t server)
{
    b->locals += b->children[server]++ == 0;
    b->remote[server] += worker != server;
    b->trial.parent[worker] = (int32_t)server;
}

/* Could a further child come to `server`, the storage of the global server's node included? */
static bool has_place(const branch *b, size_t worker, size_t server)
{
    const place_view *v = b->v;
    int32_t locals = b->locals + (b->children[server] == 0);
    size_t remote = (size_t)b->remote[server] + (worker != server);
    if (locals > v->most_locals || !(v->fan[locals].round_s < b->cutoff_s) ||
        !(v->load[server][remote] < b->cutoff_s) ||
        b->children[server] >= place_room(b->t->gr, v->global, locals, server))
        return false;
    int32_t at_global = b->children[v->global];
    return at_global == 0 || at_global <= place_room(b->t->gr, v->global, locals, v->global);
}

/* An idle node like this one, with a smaller number: all plans with `server` opened here have their
 * mirror image with that one. */
static bool has_idle_twin(const branch *b, size_t worker, size_t server)
{
    if (b->children[server] > 0 || server == b->v->global || server == worker)
        return false;
    for (size_t a = b->twin[server]; a < server; a++)
        if (b->twin[a] == b->twin[server] && b->children[a] == 0 && a != b->v->global &&
            a != worker && b->trial.parent[a] == b->trial.parent[server])
            return true;
    return false;
}

/* Workers alike go to servers in the order of their numbers; the rest is mirror images. */
static bool is_mirrored(const branch *b, size_t depth, size_t server)
{
    size_t worker = b->order[depth];
    if (b->children[worker] > 0 || server == worker || worker == b->v->global)
        return false;
    for (size_t d = 0; d < depth; d++) {
        size_t other = b->order[d];
        int32_t parent = b->trial.parent[other];
        if (b->twin[other] == b->twin[worker] && other != b->v->global && b->children[other] == 0 &&
            other != server && parent != (int32_t)worker && (int32_t)server < parent)
            return true;
    }
    return false;
}

static bool others_have_places(const branch *b, size_t depth)
{
    for (size_t d = depth; d < b->t->gr->worker_count; d++) {
        bool any = false;
        for (size_t o = 0; !any && o < b->option_count[d]; o++)
            any = has_place(b, b->order[d], b->options[d * b->n + o]);
        if (!any)
            return false;
    }
    return true;
}

/* Goes on from the next option of this depth; false when there is none left. */
static bool attach_next(branch *b, size_t depth)
{
    size_t worker = b->order[depth];
    while (b->next[depth] < b->option_count[depth]) {
        size_t server = b->options[depth * b->n + b->next[depth]++];
        if (!has_place(b, worker, server) || has_idle_twin(b, worker, server) ||
            is_mirrored(b, depth, server))
            continue;
        attach(b, worker, server);
        b->steps++;
        if (cost_bound_s(b->t->gr->p, &b->trial, b->best->scratch) < b->cutoff_s &&
            others_have_places(b, depth + 1))
            return true;
        detach(b, worker);
    }
    return false;
}

static edgeps_err search(branch *b, place_watch *w)
{
    size_t depth = 0;
    b->next[0] = 0;
    for (;;) {
        if (b->steps % STEPS_PER_LOOK == 0 && !place_watch_go_on(w, w->now.done_fraction))
            return EDGEPS_OK;
        if (!attach_next(b, depth)) {
            if (depth == 0)
                return EDGEPS_OK;
            detach(b, b->order[--depth]);
            continue;
        }
        if (depth + 1 < b->t->gr->worker_count) {
            b->next[++depth] = 0;
            continue;
        }
        double round_s;
        edgeps_err err = place_best_offer(b->best, &b->trial, &round_s);
        if (err)
            return err;
        b->cutoff_s = fmin(b->cutoff_s, b->best->round_s);
        detach(b, b->order[depth]);
    }
}

edgeps_err place_branch(place_view *v, const uint32_t *twin, double cutoff_s, place_best *best,
                        place_watch *w)
{
    branch b;
    edgeps_err err = place_view_all_rows(v);
    if (!err)
        err = branch_make(v, cutoff_s, &b);
    if (err)
        return err;
    b.twin = twin;
    b.best = best;
    err = search(&b, w);
    branch_free(&b);
    return err;
}

static bool same_node(const problem_node *a, const problem_node *b)
{
    return a->train == b->train && a->serve == b->serve && a->up_bytes_per_s == b->up_bytes_per_s &&
           a->down_bytes_per_s == b->down_bytes_per_s && a->compute_s == b->compute_s &&
           a->sum_bytes_per_s == b->sum_bytes_per_s && a->free_bytes == b->free_bytes;
}

static bool same_way(const problem *p, const size_t a[2], const size_t b[2])
{
    return problem_latency_s(p, a[0], a[1]) == problem_latency_s(p, b[0], b[1]) &&
           problem_cap_bytes_per_s(p, a[0], a[1]) == problem_cap_bytes_per_s(p, b[0], b[1]);
}

/* Does exchanging the two leave the problem as it is? */
static bool exchangeable(const problem *p, size_t a, size_t b)
{
    if (!same_node(&p->nodes[a], &p->nodes[b]) || !same_way(p, (size_t[]){a, b}, (size_t[]){b, a}))
        return false;
    for (size_t c = 0; c < p->count; c++)
        if (c != a && c != b &&
            (!same_way(p, (size_t[]){a, c}, (size_t[]){b, c}) ||
             !same_way(p, (size_t[]){c, a}, (size_t[]){c, b})))
            return false;
    return true;
}

void place_twins(const problem *p, uint32_t *twin)
{
    for (size_t b = 0; b < p->count; b++) {
        twin[b] = (uint32_t)b;
        for (size_t a = 0; a < b && twin[b] == b; a++)
            if (twin[a] == a && exchangeable(p, a, b))
                twin[b] = (uint32_t)a;
    }
}
