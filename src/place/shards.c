#include "place/shards_int.h"

#include "base/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PROOF_TOLERANCE 1e-9 /* up to the rounding of the evaluator's sums */
#define MOST_MISSES 2        /* numbers of shards in a row that are no faster */

void place_set_result_free(place_set_result *r) { plan_set_free(&r->set); }

/* ---- what is proved ---- */

/* The least two computing times of the workers. */
static void least_compute(const problem *p, double least_s[2])
{
    least_s[0] = least_s[1] = INFINITY;
    for (size_t i = 0; i < p->count; i++) {
        double compute_s = p->nodes[i].compute_s;
        if (!p->nodes[i].train)
            continue;
        least_s[1] = fmin(least_s[1], fmax(least_s[0], compute_s));
        least_s[0] = fmin(least_s[0], compute_s);
    }
}

/* Whatever the number of shards, every range of the parameters crosses both links of every worker's
 * node when there are two workers: if its global server is elsewhere, the node's own gradient goes
 * up and the parameters come down; if it is there, another worker's gradient comes down, and the
 * parameters go up after all have computed. */
static double link_bound_s(const problem *p)
{
    double bytes = (double)job_wire_bytes(&p->job), bound_s = 0, least_s[2];
    if (p->worker_count < 2)
        return 0;
    least_compute(p, least_s);
    for (size_t i = 0; i < p->count; i++) {
        const problem_node *node = &p->nodes[i];
        if (!node->train)
            continue;
        double others_s = node->compute_s > least_s[0] ? least_s[0] : least_s[1];
        bound_s = fmax(bound_s, node->compute_s + bytes / node->up_bytes_per_s);
        bound_s = fmax(bound_s, others_s + bytes / node->down_bytes_per_s);
    }
    return bound_s;
}

static int64_t kib_up(int64_t bytes) { return (bytes + 1023) / 1024; }

/* Even with one local server per shard. */
static int64_t least_need_bytes(const problem *p, size_t shards)
{
    int64_t need = 0;
    for (size_t s = 0; s < shards; s++) {
        job part = job_shard(&p->job, (int64_t)s, (int64_t)shards);
        need += job_global_need_bytes(&part, 1);
        need += job_local_need_bytes(&part, (int64_t)p->worker_count);
    }
    return need;
}

static bool total_reason(const problem *p, size_t shards, char *text, size_t size)
{
    int64_t need = least_need_bytes(p, shards), offered = 0;
    for (size_t j = 0; j < p->count; j++)
        if (p->nodes[j].serve)
            offered += p->nodes[j].free_bytes;
    if (need <= offered)
        return false;
    snprintf(text, size,
             "storage: the servers of %zu shard%s need at least %" PRId64
             " KiB together, all serving nodes offer %" PRId64 " KiB",
             shards, shards == 1 ? "" : "s", kib_up(need), offered / 1024);
    return true;
}

bool place_shards_may_help(const problem *p)
{
    int64_t local = job_local_need_bytes(&p->job, 1), global = job_global_need_bytes(&p->job, 1);
    int64_t larger = local > global ? local : global;
    char text[256];
    for (size_t j = 0; j < p->count; j++)
        if (p->nodes[j].serve && p->nodes[j].free_bytes >= larger)
            return false;
    return job_most_shards(&p->job) > 1 && !total_reason(p, 1, text, sizeof text);
}

/* Which constraint leaves no set; `found` is what the search for one came to. */
static edgeps_err infeasible_reason(const problem *p, size_t shards, place_found found, char *text,
                                    size_t size)
{
    place_ground gr;
    place_found alone = PLACE_FOUND;
    plan any;
    problem part = problem_shard(p, 0, shards);
    edgeps_err err = plan_make(p->count, &any);
    if (err)
        return err;
    err = place_ground_make(&part, &gr);
    if (!err) {
        err = place_find_any(&gr, &any, &alone);
        if (!err && alone != PLACE_FOUND)
            place_infeasible_reason(&gr, alone, text, size);
        place_ground_free(&gr);
    }
    if (!err && alone == PLACE_FOUND)
        snprintf(text, size,
                 "storage: one shard of %zu finds room, %s to spread the servers of all over the "
                 "serving nodes",
                 shards, found == PLACE_NONE ? "but there is no way" : "the search found no way");
    plan_free(&any);
    return err;
}

/* ---- one number of shards ---- */

typedef struct request {
    const char *name; /* of the algorithm */
    const problem *p;
    place_options options;
    edgeps_diag *diag;
} request;

static edgeps_err place_whole(const request *q, place_set_result *out)
{
    place_result r;
    edgeps_err err = place_run(q->name, q->p, &q->options, q->diag, &r);
    if (err)
        return err;
    place_set_result set = {
        .status = r.status, .cost = r.cost, .lower_bound_s = r.lower_bound_s, .stopped = r.stopped};
    memcpy(set.reason, r.reason, sizeof set.reason);
    if (r.status != PLACE_INFEASIBLE) {
        err = plan_set_make(1, q->p->count, &set.set);
        if (!err) {
            plan_set_assign(&set.set, &(plan_set){1, &r.plan});
            set.set.shards[0].generation = r.plan.generation;
        }
    }
    place_result_free(&r);
    if (!err)
        *out = set;
    return err;
}

static edgeps_err finish(shards_search *q, place_set_result *r)
{
    edgeps_err err = plan_set_check(&q->best, q->p, q->diag);
    if (err)
        return diag_wrap(q->diag, EDGEPS_INTERNAL, "placement made shards that break a constraint");
    err = cost_set_evaluate(q->p, &q->best, &r->cost);
    if (err)
        return err;
    for (size_t s = 0; s < q->best.count; s++)
        q->best.shards[s].generation = 1;
    snprintf(r->reason, sizeof r->reason, "%zu shards, as asked for: %.4g s", q->best.count,
             r->cost.round_s);
    r->lower_bound_s = fmin(q->bound_s, r->cost.round_s);
    r->status = PLACE_FEASIBLE;
    if (r->lower_bound_s >= r->cost.round_s * (1 - PROOF_TOLERANCE))
        r->status = PLACE_OPTIMAL;
    r->set = q->best;
    q->best = (plan_set){0};
    return EDGEPS_OK;
}

static edgeps_err place_several(shards_search *q, place_set_result *out)
{
    place_set_result r = {.status = PLACE_INFEASIBLE};
    edgeps_err err = shards_search_run(q);
    if (!err && q->best_s < INFINITY)
        err = finish(q, &r);
    else if (!err)
        err = infeasible_reason(q->p, q->best.count, q->found, r.reason, sizeof r.reason);
    r.stopped = q->watch->stopped;
    if (!err)
        *out = r;
    return err;
}

/* `known_s`: the round time of a plan in another number of shards; INFINITY without one. */
static edgeps_err place_count(const request *q, size_t shards, double known_s,
                              place_set_result *out)
{
    shards_search search;
    place_set_result r = {.status = PLACE_INFEASIBLE};
    if (shards == 1)
        return place_whole(q, out);
    if (total_reason(q->p, shards, r.reason, sizeof r.reason)) {
        *out = r;
        return EDGEPS_OK;
    }
    edgeps_err err = shards_search_make(q->p, shards, &search);
    if (err)
        return err;
    place_watch w = place_watch_start(&q->options);
    search.algorithm = q->name;
    search.watch = &w;
    search.diag = q->diag;
    w.now.best_s = known_s;
    w.now.bound_s = search.bound_s = link_bound_s(q->p);
    err = place_several(&search, out);
    shards_search_free(&search);
    return err;
}

/* ---- any number of shards ---- */

typedef struct automatic {
    const problem *p;
    place_watch watch; /* for all numbers together */
    size_t first;      /* the least number that fits; 0: none so far */
    size_t last;       /* tried so far */
    place_set_result best;
    double second_s; /* of the best other number, and which */
    size_t second;
    size_t misses;
} automatic;

static void keep_better(automatic *a, place_set_result *r)
{
    if (r->status == PLACE_INFEASIBLE) {
        if (!a->first)
            memcpy(a->best.reason, r->reason, sizeof r->reason);
        a->misses += a->first > 0;
        return;
    }
    bool better = !a->first || r->cost.round_s < a->best.cost.round_s;
    place_set_result *worse = better ? &a->best : r;
    if (a->first && worse->cost.round_s < a->second_s) {
        a->second = worse->set.count;
        a->second_s = worse->cost.round_s;
    }
    a->misses = better ? 0 : a->misses + 1;
    if (!a->first)
        a->first = r->set.count;
    if (better) {
        place_set_result_free(&a->best);
        a->best = *r;
        *r = (place_set_result){0};
    }
}

static void finish_automatic(automatic *a)
{
    place_set_result *r = &a->best;
    if (a->watch.stopped)
        r->stopped = a->watch.stopped;
    if (r->status == PLACE_INFEASIBLE)
        return;
    /* What is proved for one number of shards says nothing of the others. */
    double bound_s = fmin(link_bound_s(a->p), r->cost.round_s);
    r->status = bound_s >= r->cost.round_s * (1 - PROOF_TOLERANCE) ? PLACE_OPTIMAL : PLACE_FEASIBLE;
    r->lower_bound_s = bound_s;
    if (a->second)
        snprintf(r->reason, sizeof r->reason,
                 "fastest of %zu to %zu shards: %zu take %.4g s, the next best %zu take %.4g s",
                 a->first, a->last, r->set.count, r->cost.round_s, a->second, a->second_s);
    else
        snprintf(r->reason, sizeof r->reason, "%zu shards are the least that fit: %.4g s",
                 r->set.count, r->cost.round_s);
}

static edgeps_err place_any_count(const request *whole, place_set_result *out)
{
    request q = *whole;
    automatic a = {.p = q.p, .watch = place_watch_start(&whole->options), .second_s = INFINITY};
    size_t most = (size_t)fmin((double)job_most_shards(&q.p->job), PLACE_MOST_SHARDS);
    char reason[sizeof a.best.reason] = "";
    edgeps_err err = EDGEPS_OK;
    a.best.status = PLACE_INFEASIBLE;
    /* The need of all shards together grows with their number. */
    while (!err && a.last < most && a.misses < MOST_MISSES &&
           !total_reason(q.p, a.last + 1, reason, sizeof reason) &&
           (a.last == 0 || place_watch_go_on(&a.watch, (double)a.last / (double)most))) {
        place_set_result r = {0};
        double known_s = a.first ? a.best.cost.round_s : INFINITY;
        q.options.deadline_s = place_watch_share_s(&a.watch, 0.5); /* more numbers may come */
        err = place_count(&q, ++a.last, known_s, &r);
        if (!err)
            keep_better(&a, &r);
        place_set_result_free(&r);
    }
    if (!err && !a.first && reason[0])
        memcpy(a.best.reason, reason, sizeof reason);
    if (!err) {
        finish_automatic(&a);
        *out = a.best;
        a.best = (place_set_result){0};
    }
    place_set_result_free(&a.best);
    return err;
}

edgeps_err place_shards(const char *name, const problem *p, size_t shards,
                        const place_options *options, edgeps_diag *diag, place_set_result *out)
{
    static const place_options defaults;
    const request q = {name, p, options ? *options : defaults, diag};
    int64_t most = job_most_shards(&p->job);
    edgeps_err err = place_check_request(name, p, &q.options, diag);
    if (!err && (int64_t)shards > most)
        err = diag_fail(diag, EDGEPS_USAGE,
                        "shards: this job can be cut into 1 to %" PRId64 ", not %zu", most, shards);
    if (err)
        return err;
    if (shards == PLACE_AUTO_SHARDS)
        err = place_any_count(&q, out);
    else
        err = place_count(&q, shards, INFINITY, out);
    if (err == EDGEPS_NOMEM)
        diag_fail(diag, err, "no memory to place the shards of %zu nodes", p->count);
    return err;
}
