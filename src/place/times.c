/* What the closed-form bounds of all global servers share. The proofs are in
 * docs/algorithms/approx.md, section "Bounds". */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_HARD 16  /* workers that quick bounds look at */
#define MOST_CROWD 64 /* workers at a server up to whom all starts count; the last alone above */
#define MOST_WAYS 4000000 /* of a worker through a server that are kept */
#define NOBODY UINT32_MAX

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* When a server has summed what a worker pushes to it, and how long the worker waits from when the
 * server has parameters. */
static moment near_push(const place_times *t, size_t server, size_t worker)
{
    moment ready = moment_at(t->pace[worker].compute_s);
    moment arrived =
        moment_plus(moment_through(&t->sent, ready, 1, place_pace_s(t, worker, server)),
                    place_latency_s(t, worker, server));
    return moment_through(&t->added, arrived, 1, t->pace[server].sum_s);
}

static moment near_pull(const place_times *t, size_t server, size_t worker)
{
    return moment_plus(moment_rest(&t->sent, 1, place_pace_s(t, server, worker)),
                       place_latency_s(t, server, worker));
}

double place_quick_bound_s(const place_times *t, size_t global, double *tail_s)
{
    const place_ground *gr = t->gr;
    const problem *p = gr->p;
    double worst_s = 0, sum_s = t->added.last / p->nodes[global].sum_bytes_per_s;
    for (size_t j = 0; j < gr->count; j++) {
        bool local = place_joins(gr, global, j) && place_room(gr, global, 1, j) > 0;
        tail_s[j] = local ? t->sent.last / problem_rate_bytes_per_s(p, j, global) + sum_s +
                                t->sent.last / problem_rate_bytes_per_s(p, global, j) +
                                problem_latency_s(p, j, global) + problem_latency_s(p, global, j)
                          : INFINITY;
    }
    for (size_t h = 0; h < t->hard_count; h++) {
        const double *chain_s = t->hard_s + h * gr->count;
        double best_s = INFINITY;
        for (size_t j = 0; j < gr->count; j++)
            if (chain_s[j] + tail_s[j] < best_s)
                best_s = chain_s[j] + tail_s[j];
        worst_s = fmax(worst_s, best_s);
    }
    return worst_s;
}

/* What a worker needs near a server, in four respects. */
enum { HARD_ROUND, HARD_FIRST_IN, HARD_ALL_IN, HARD_OUT, HARD_WAYS };

static void near_needs(const place_times *t, size_t server, size_t worker, double need[HARD_WAYS])
{
    double out_s = place_pace_s(t, worker, server);
    double start_s = t->pace[worker].compute_s + place_latency_s(t, worker, server);
    moment pull = near_pull(t, server, worker);
    need[HARD_ROUND] = moment_end_s(near_push(t, server, worker), pull);
    need[HARD_FIRST_IN] = start_s + t->sent.first * out_s;
    need[HARD_ALL_IN] = start_s + t->sent.all * out_s;
    need[HARD_OUT] = pull.first_s;
}

/* Also lowers `least`, HARD_WAYS per worker's node, to the needs here. */
static void fill_server(place_times *t, size_t server, double *least)
{
    const place_ground *gr = t->gr;
    double sum_s = t->added.first * t->pace[server].sum_s;
    place_way *ways = t->ways ? t->ways + server * gr->worker_count : NULL;
    t->start_s[server] = t->lat_in_s[server] = t->lat_out_s[server] = INFINITY;
    for (size_t w = 0; w < gr->worker_count; w++) {
        size_t i = gr->workers[w];
        double need[HARD_WAYS], *least_here = least + HARD_WAYS * i;
        if (ways)
            ways[w] = (place_way){INFINITY, INFINITY};
        if (!place_path(gr, server, i))
            continue;
        near_needs(t, server, i, need);
        if (ways)
            ways[w] = (place_way){need[HARD_ALL_IN] + sum_s, need[HARD_OUT]};
        t->start_s[server] = smaller_of(t->start_s[server], need[HARD_FIRST_IN] + sum_s);
        for (size_t way = 0; gr->room[server] > 0 && way < HARD_WAYS; way++)
            least_here[way] = smaller_of(least_here[way], need[way]);
        if (i == server)
            continue;
        t->lat_in_s[server] = smaller_of(t->lat_in_s[server], place_latency_s(t, i, server));
        t->lat_out_s[server] = smaller_of(t->lat_out_s[server], place_latency_s(t, server, i));
    }
}

static bool is_hard(const place_times *t, uint32_t worker)
{
    for (size_t h = 0; h < t->hard_count; h++)
        if (t->hard[h] == worker)
            return true;
    return false;
}

/* In each respect in turn, the worker that needs most of those left. */
static void choose_hard(place_times *t, const double *least)
{
    const place_ground *gr = t->gr;
    size_t most = gr->worker_count < MOST_HARD ? gr->worker_count : MOST_HARD;
    while (t->hard_count < most) {
        size_t way = t->hard_count % HARD_WAYS;
        uint32_t hardest = NOBODY;
        for (size_t w = 0; w < gr->worker_count; w++) {
            uint32_t i = gr->workers[w];
            if (!is_hard(t, i) && (hardest == NOBODY ||
                                   least[HARD_WAYS * i + way] > least[HARD_WAYS * hardest + way]))
                hardest = i;
        }
        t->hard[t->hard_count++] = hardest;
    }
    for (size_t h = 0; h < t->hard_count; h++)
        for (size_t j = 0; j < gr->count; j++) {
            bool path = gr->room[j] > 0 && place_path(gr, j, t->hard[h]);
            t->hard_s[h * gr->count + j] =
                path ? moment_end_s(near_push(t, j, t->hard[h]), near_pull(t, j, t->hard[h]))
                     : INFINITY;
        }
}

static int by_rank(const void *a, const void *b)
{
    const place_rank *x = a, *y = b;
    int order = by_value(&x->value, &y->value);
    return order ? order : (x->server > y->server) - (x->server < y->server);
}

static int by_rank_down(const void *a, const void *b) { return by_rank(b, a); }

/* Rates are asked for where there is one chunk only. */
static edgeps_err fill_ranks(place_times *t)
{
    size_t count = t->gr->count, ways = t->one_chunk ? PLACE_TURNS : 0;
    t->starts = mem_alloc(count, sizeof *t->starts);
    if (!t->starts)
        return EDGEPS_NOMEM;
    for (size_t j = 0; j < count; j++)
        t->starts[j] = (place_rank){t->start_s[j], (uint32_t)j};
    qsort(t->starts, count, sizeof *t->starts, by_rank);
    for (size_t way = 0; way < ways; way++) {
        t->rates[way] = mem_alloc(count, sizeof **t->rates);
        if (!t->rates[way])
            return EDGEPS_NOMEM;
        for (size_t j = 0; j < count; j++) {
            const place_pace *pace = &t->pace[j];
            double push_s = t->sent.all * pace->down_s + t->added.all * pace->sum_s;
            double pull_s = t->sent.all * pace->up_s;
            double each_s[] = {push_s, pull_s, push_s + pull_s};
            t->rates[way][j] = (place_rank){1 / each_s[way], (uint32_t)j};
        }
        qsort(t->rates[way], count, sizeof **t->rates, by_rank_down);
    }
    return EDGEPS_OK;
}

moment place_queue(const amounts *a, moment before, double pace_s)
{
    return (moment){before.first_s + a->first * pace_s, before.body_s + a->body * pace_s,
                    before.all_s + a->all * pace_s};
}

/* When `more` workers, none of whom starts before the next in order of start does, join: no earlier
 * than if they queue behind those before, or the last of them alone. */
static place_crowd join(const place_times *t, size_t server, place_crowd c, size_t more)
{
    double down_s = t->pace[server].down_s;
    c.m += more;
    size_t last = c.m < t->gr->worker_count ? c.m : t->gr->worker_count;
    moment start = moment_at(t->compute_s[last - 1]);
    c.passed = moment_later(place_queue(&t->sent, c.passed, (double)more * down_s),
                            place_queue(&t->sent, start, down_s));
    return c;
}

place_crowd place_times_crowd(const place_times *t, size_t server, size_t m)
{
    size_t kept = m < t->most_crowd ? m : t->most_crowd;
    place_crowd c = t->crowds[server * t->most_crowd + kept - 1];
    return m > kept ? join(t, server, c, m - kept) : c;
}

static edgeps_err fill_crowds(place_times *t)
{
    const place_ground *gr = t->gr;
    t->most_crowd = gr->worker_count < MOST_CROWD ? gr->worker_count : MOST_CROWD;
    t->crowds = mem_alloc(gr->count * t->most_crowd, sizeof *t->crowds);
    if (!t->crowds)
        return EDGEPS_NOMEM;
    for (size_t j = 0; j < gr->count; j++) {
        place_crowd c = {0};
        while (c.m < t->most_crowd) {
            c = join(t, j, c, 1);
            t->crowds[j * t->most_crowd + c.m - 1] = c;
        }
    }
    return EDGEPS_OK;
}

static edgeps_err fill_paces(place_times *t)
{
    const problem *p = t->gr->p;
    size_t pairs = p->site_count * p->site_count;
    t->pace = mem_alloc(p->count, sizeof *t->pace);
    t->cap_s = mem_alloc(pairs, sizeof *t->cap_s);
    if (!t->pace || !t->cap_s)
        return EDGEPS_NOMEM;
    for (size_t i = 0; i < p->count; i++) {
        const problem_node *node = &p->nodes[i];
        t->pace[i] = (place_pace){node->compute_s,
                                  node->access_s,
                                  1 / node->up_bytes_per_s,
                                  1 / node->down_bytes_per_s,
                                  1 / node->sum_bytes_per_s,
                                  node->site,
                                  node->serve,
                                  t->gr->linked[i]};
    }
    for (size_t pair = 0; pair < pairs; pair++)
        t->cap_s[pair] = 1 / p->cap_bytes_per_s[pair];
    return EDGEPS_OK;
}

static edgeps_err fill_all(place_times *t, double *least)
{
    const place_ground *gr = t->gr;
    for (size_t w = 0; w < gr->worker_count; w++)
        t->compute_s[w] = gr->p->nodes[gr->workers[w]].compute_s;
    for (size_t l = 0; l < HARD_WAYS * gr->count; l++)
        least[l] = INFINITY;
    qsort(t->compute_s, gr->worker_count, sizeof *t->compute_s, by_value);
    for (size_t s = 0; s < gr->count; s++)
        fill_server(t, s, least);
    choose_hard(t, least);
    edgeps_err err = fill_crowds(t);
    return err ? err : fill_ranks(t);
}

edgeps_err place_times_make(const place_ground *gr, place_times *out)
{
    const job *j = &gr->p->job;
    place_times t = {.gr = gr,
                     .sent = amounts_sent(j),
                     .added = amounts_added(j),
                     .one_chunk = job_chunk_count(j) == 1};
    double *least = mem_alloc(HARD_WAYS * gr->count, sizeof *least);
    t.compute_s = mem_alloc(gr->worker_count, sizeof *t.compute_s);
    t.start_s = mem_alloc(gr->count, sizeof *t.start_s);
    t.lat_in_s = mem_alloc(gr->count, sizeof *t.lat_in_s);
    t.lat_out_s = mem_alloc(gr->count, sizeof *t.lat_out_s);
    t.hard = mem_alloc(MOST_HARD, sizeof *t.hard);
    t.hard_s = mem_alloc(MOST_HARD * gr->count, sizeof *t.hard_s);
    bool keep = t.one_chunk && gr->count * gr->worker_count <= MOST_WAYS;
    if (keep)
        t.ways = mem_alloc(gr->count * gr->worker_count, sizeof *t.ways);
    edgeps_err err = EDGEPS_NOMEM;
    if ((!keep || t.ways) && least && t.compute_s && t.start_s && t.lat_in_s && t.lat_out_s &&
        t.hard && t.hard_s)
        err = fill_paces(&t);
    if (!err)
        err = fill_all(&t, least);
    mem_free(least);
    if (err)
        place_times_free(&t);
    else
        *out = t;
    return err;
}

void place_times_free(place_times *t)
{
    mem_free(t->pace);
    mem_free(t->cap_s);
    mem_free(t->crowds);
    mem_free(t->starts);
    for (size_t way = 0; way < PLACE_TURNS; way++)
        mem_free(t->rates[way]);
    mem_free(t->compute_s);
    mem_free(t->start_s);
    mem_free(t->lat_in_s);
    mem_free(t->lat_out_s);
    mem_free(t->ways);
    mem_free(t->hard);
    mem_free(t->hard_s);
    *t = (place_times){0};
}
