/* A plan in a given number of shards. Each shard is an ordinary problem beside the others: its own
 * part of the job, on the storage that they leave and on links that they slow down. An algorithm
 * answers that problem; local search on one shard after the other follows, with the round of all
 * shards together as the judge. */
#include "place/shards_int.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

#define STREAM 3
#define WORK_US 3000000  /* about the time of local search, by a count, up to ... */
#define WORK_NODES 100   /* ... this many nodes; larger networks get more, up to ... */
#define MOST_WORK 4      /* ... so many times as much */
#define MAIN_SHARE 0.3   /* of it for the first descent, and for the last */
#define TURNS 10         /* in which each shard gets its part of the work */
#define MOST_RESTARTS 10 /* from sets that chance makes different, up to ... */
#define RESTART_WORK 400 /* nodes x shards x restarts; larger networks get fewer */
#define CLOSED_ONE_IN 3  /* nodes that do not serve a shard then */
#define LEAST_GAIN 1e-9  /* relative; smaller ones are rounding */

void shards_search_free(shards_search *q)
{
    plan_set_free(&q->now);
    plan_set_free(&q->best);
    mem_free(q->beside.nodes);
    mem_free(q->shared_caps);
    mem_free(q->children);
    mem_free(q->up_bytes);
    mem_free(q->down_bytes);
    mem_free(q->scratch);
}

edgeps_err shards_search_make(const problem *p, size_t shards, shards_search *out)
{
    shards_search q = {.p = p, .now_s = INFINITY, .best_s = INFINITY};
    edgeps_err err = plan_set_make(shards, p->count, &q.now);
    if (!err)
        err = plan_set_make(shards, p->count, &q.best);
    q.beside.nodes = mem_alloc(p->count, sizeof *q.beside.nodes);
    q.shared_caps = mem_alloc(p->site_count * p->site_count, sizeof *q.shared_caps);
    q.children = mem_alloc(p->count, sizeof *q.children);
    q.up_bytes = mem_alloc(p->count, sizeof *q.up_bytes);
    q.down_bytes = mem_alloc(p->count, sizeof *q.down_bytes);
    q.scratch = mem_alloc(COST_SET_SCRATCH * p->count, sizeof *q.scratch);
    if (err || !q.beside.nodes || !q.shared_caps || !q.children || !q.up_bytes || !q.down_bytes ||
        !q.scratch) {
        shards_search_free(&q);
        return EDGEPS_NOMEM;
    }
    *out = q;
    return EDGEPS_OK;
}

/* How a shard's problem shows the others. */
typedef enum shards_view {
    SLOWED,  /* links are as slow as what the others put on them makes them */
    COMMON,  /* all links are as slow as if all shards had the same servers */
    THINNED, /* slowed, and some nodes by chance do not serve */
} shards_view;

/* `bytes` there and back between two nodes. */
static void add_exchange(shards_search *q, size_t a, size_t b, double bytes)
{
    if (a == b)
        return;
    q->up_bytes[a] += bytes;
    q->down_bytes[a] += bytes;
    q->up_bytes[b] += bytes;
    q->down_bytes[b] += bytes;
}

/* Takes the storage of a shard's servers, and counts what it puts on the links. */
static void take(shards_search *q, const plan *pl, const job *part)
{
    double bytes = (double)job_wire_bytes(part);
    problem_node *nodes = q->beside.nodes;
    int64_t locals = 0;
    plan_children(pl, q->children);
    for (size_t i = 0; i < pl->count; i++)
        if (pl->parent[i] != PLAN_NONE)
            add_exchange(q, i, (size_t)pl->parent[i], bytes);
    for (size_t j = 0; j < pl->count; j++) {
        if (q->children[j] == 0)
            continue;
        nodes[j].free_bytes -= job_local_need_bytes(part, q->children[j]);
        add_exchange(q, j, (size_t)pl->global, bytes);
        locals++;
    }
    nodes[pl->global].free_bytes -= job_global_need_bytes(part, locals);
}

/* A link that carries `others` besides takes about so much longer for what this shard sends. */
static double slowed(double rate, double own, double others) { return rate * own / (own + others); }

/* By what the others put on each node's links. */
static void slow_links(shards_search *q)
{
    double own = (double)job_wire_bytes(&q->beside.job);
    for (size_t v = 0; v < q->p->count; v++) {
        problem_node *node = &q->beside.nodes[v];
        node->up_bytes_per_s = slowed(node->up_bytes_per_s, own, q->up_bytes[v]);
        node->down_bytes_per_s = slowed(node->down_bytes_per_s, own, q->down_bytes[v]);
    }
}

/* As if every shard sent the same as this one. */
static void share_links(shards_search *q)
{
    double others = (double)q->now.count - 1;
    size_t pairs = q->p->site_count * q->p->site_count;
    for (size_t v = 0; v < q->p->count; v++) {
        problem_node *node = &q->beside.nodes[v];
        node->up_bytes_per_s = slowed(node->up_bytes_per_s, 1, others);
        node->down_bytes_per_s = slowed(node->down_bytes_per_s, 1, others);
        node->sum_bytes_per_s = slowed(node->sum_bytes_per_s, 1, others);
    }
    for (size_t k = 0; k < pairs; k++)
        q->shared_caps[k] = slowed(q->p->cap_bytes_per_s[k], 1, others);
    q->beside.cap_bytes_per_s = q->shared_caps;
}

/* Makes q->beside the problem of shard `s` beside the others of q->now that have their places. */
static void leave(shards_search *q, size_t s, shards_view view)
{
    size_t n = q->p->count, count = q->now.count;
    problem_node *nodes = q->beside.nodes;
    q->beside = problem_shard(q->p, s, count);
    q->beside.nodes = nodes;
    memcpy(nodes, q->p->nodes, n * sizeof *nodes);
    memset(q->up_bytes, 0, n * sizeof *q->up_bytes);
    memset(q->down_bytes, 0, n * sizeof *q->down_bytes);
    for (size_t o = 0; o < count; o++) {
        job part = job_shard(&q->p->job, (int64_t)o, (int64_t)count);
        if (o != s && q->now.shards[o].global != PLAN_NONE)
            take(q, &q->now.shards[o], &part);
    }
    if (view == COMMON)
        share_links(q);
    else
        slow_links(q);
    for (size_t v = 0; view == THINNED && v < n; v++)
        nodes[v].serve &= rng_below(&q->r, CLOSED_ONE_IN) > 0;
}

static bool shard_goes_on(void *context, const place_progress *now)
{
    return place_watch_go_on(context, now->done_fraction);
}

/* Has the algorithm place the shard of q->beside; the rest of the set's search has `runs` more. */
static edgeps_err run_algorithm(shards_search *q, shards_view view, size_t runs, place_result *out)
{
    place_options options = *q->watch->options;
    options.no_polish |= view != COMMON;
    options.deadline_s = place_watch_share_s(q->watch, 1 / (double)(runs + 1));
    options.progress = shard_goes_on;
    options.context = q->watch;
    return place_run(q->algorithm, &q->beside, &options, q->diag, out);
}

static void set_roles(plan *to, const plan *from)
{
    to->global = from->global;
    memcpy(to->parent, from->parent, from->count * sizeof *from->parent);
}

static void remember(shards_search *q)
{
    if (q->now_s >= q->best_s)
        return;
    q->best_s = q->now_s;
    plan_set_assign(&q->best, &q->now);
    place_watch_best(q->watch, q->best_s);
}

static void clear(plan *pl)
{
    pl->global = PLAN_NONE;
    for (size_t i = 0; i < pl->count; i++)
        pl->parent[i] = PLAN_NONE;
}

/* Places one shard beside the others; it keeps the place it has when there is none for it. */
static edgeps_err place_one(shards_search *q, size_t s, shards_view view, size_t runs, bool *placed)
{
    place_result r;
    leave(q, s, view);
    /* No shard is larger than those before it. */
    *placed = view == COMMON && s > 0 && !plan_check(&q->now.shards[s - 1], &q->beside, NULL);
    if (*placed) {
        set_roles(&q->now.shards[s], &q->now.shards[s - 1]);
        return EDGEPS_OK;
    }
    edgeps_err err = run_algorithm(q, view, runs, &r);
    if (err)
        return err;
    *placed = r.status != PLACE_INFEASIBLE;
    if (*placed)
        set_roles(&q->now.shards[s], &r.plan);
    /* The first shard is the largest; without others this bounds every plan. */
    if (*placed && view == SLOWED && s == 0 && q->now_s == INFINITY)
        q->bound_s = fmax(q->bound_s, r.lower_bound_s);
    place_result_free(&r);
    return EDGEPS_OK;
}

/* Places one shard after the other; q->now_s stays INFINITY when one finds no room. */
static edgeps_err place_in_turn(shards_search *q, shards_view view)
{
    size_t count = q->now.count;
    q->now_s = INFINITY;
    for (size_t s = 0; s < count; s++)
        clear(&q->now.shards[s]);
    for (size_t s = 0; s < count; s++) {
        bool placed;
        edgeps_err err = place_one(q, s, view, 2 * count - s, &placed);
        if (!err && !placed && view == THINNED)
            err = place_one(q, s, SLOWED, 2 * count - s, &placed);
        if (err || !placed)
            return err;
    }
    return cost_set_round_s(q->p, &q->now, &q->now_s);
}

/* One shard of the set, judged among the others. */
typedef struct among {
    shards_search *q;
    size_t s;
} among;

static edgeps_err round_among(void *context, const plan *pl, double *round_s)
{
    const among *a = context;
    plan *place = &a->q->now.shards[a->s], kept = *place;
    *place = *pl;
    edgeps_err err = cost_set_round_s(a->q->p, &a->q->now, round_s);
    *place = kept;
    return err;
}

static double bound_among(void *context, const plan *pl)
{
    const among *a = context;
    plan *place = &a->q->now.shards[a->s], kept = *place;
    *place = *pl;
    double bound_s = cost_set_bound_s(a->q->p, &a->q->now, a->q->scratch);
    *place = kept;
    return bound_s;
}

static edgeps_err polish_shard(shards_search *q, size_t s, double *work_us)
{
    double nodes = (double)q->p->count, shards = (double)q->now.count;
    double workers = (double)q->p->worker_count;
    among a = {q, s};
    place_judge judge = {.round_s = round_among, .bound_s = bound_among, .context = &a};
    place_ground gr;
    judge.work_us = *work_us;
    judge.seed = rng_next(&q->r);
    judge.bound_us = PLACE_BOUND_US * nodes * shards;
    judge.evaluation_us = workers * (1.5 * shards + 0.6 * (double)job_chunk_count(&q->p->job));
    leave(q, s, SLOWED);
    edgeps_err err = place_ground_make(&q->beside, &gr);
    if (err)
        return err;
    err = place_polish_among(&gr, q->watch, &judge, &q->now.shards[s], &q->now_s);
    *work_us = judge.work_us;
    place_ground_free(&gr);
    return err;
}

/* Improves shard after shard, until a sweep over all finds nothing. */
static edgeps_err improve(shards_search *q, double work_us)
{
    size_t count = q->now.count;
    double before_s = INFINITY, turn_us = work_us / (TURNS * (double)count);
    edgeps_err err = EDGEPS_OK;
    while (!err && work_us > 0 && q->now_s < before_s * (1 - LEAST_GAIN)) {
        before_s = q->now_s;
        for (size_t s = 0; !err && s < count && place_watch_go_on(q->watch, 0); s++) {
            double left_us = fmin(turn_us, work_us);
            work_us -= left_us;
            err = polish_shard(q, s, &left_us);
            work_us += left_us;
        }
    }
    remember(q);
    return err;
}

/* Other sets, made by a quick algorithm where nodes are left out by chance, and improved. */
static edgeps_err restart(shards_search *q, size_t restarts, double work_us)
{
    const char *algorithm = q->algorithm;
    edgeps_err err = EDGEPS_OK;
    q->algorithm = "greedy";
    for (size_t k = 0; !err && k < restarts && place_watch_go_on(q->watch, 0); k++) {
        err = place_in_turn(q, THINNED);
        if (!err && q->now_s < INFINITY)
            err = improve(q, work_us / (double)restarts);
    }
    q->algorithm = algorithm;
    return err;
}

static edgeps_err improve_best(shards_search *q, double work_us)
{
    q->now_s = q->best_s;
    plan_set_assign(&q->now, &q->best);
    return improve(q, work_us);
}

/* One shard after the other, in two ways; where both run into a dead end, by the integer program.
 */
static edgeps_err start(shards_search *q)
{
    q->found = PLACE_FOUND;
    edgeps_err err = place_in_turn(q, SLOWED);
    remember(q);
    if (!err)
        err = place_in_turn(q, COMMON);
    remember(q);
    if (err || q->best_s < INFINITY)
        return err;
    err = shards_find(q->p, q->watch, &q->now, &q->found);
    if (!err && q->found == PLACE_FOUND)
        err = cost_set_round_s(q->p, &q->now, &q->now_s);
    remember(q);
    return err;
}

edgeps_err shards_search_run(shards_search *q)
{
    double size = fmin(fmax(1, (double)q->p->count / WORK_NODES), MOST_WORK);
    double work_us = WORK_US * size, main_us = MAIN_SHARE * work_us;
    size_t runs = q->p->count * q->best.count;
    size_t restarts = runs < RESTART_WORK / MOST_RESTARTS ? MOST_RESTARTS : RESTART_WORK / runs;
    q->r = rng_make(q->watch->options->seed, STREAM);
    edgeps_err err = start(q);
    if (err || q->watch->options->no_polish || q->best_s == INFINITY)
        return err;
    q->watch->now.phase = "polish";
    err = improve_best(q, main_us);
    if (!err)
        err = restart(q, restarts, work_us - 2 * main_us);
    if (!err)
        err = improve_best(q, main_us);
    return err;
}
