#include "place/place_int.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

place_watch place_watch_start(const place_options *options)
{
    place_watch w = {.options = options, .now = {.phase = "search", .best_s = INFINITY}};
    if (options->deadline_s > 0)
        w.end_ns = clock_now_ns() + (int64_t)(options->deadline_s * CLOCK_NS_PER_S);
    return w;
}

bool place_watch_go_on(place_watch *w, double done_fraction)
{
    const place_options *o = w->options;
    if (w->stopped)
        return false;
    w->now.done_fraction = done_fraction;
    if (w->end_ns && clock_now_ns() >= w->end_ns)
        w->stopped = PLACE_STOPPED_DEADLINE;
    else if (o->progress && !o->progress(o->context, &w->now))
        w->stopped = PLACE_STOPPED_CANCELLED;
    return !w->stopped;
}

double place_watch_share_s(const place_watch *w, double share)
{
    double left_s = (double)(w->end_ns - clock_now_ns()) / CLOCK_NS_PER_S;
    return w->end_ns ? fmax(share * left_s, 1e-6) : 0;
}

void place_watch_best(place_watch *w, double round_s)
{
    w->now.best_s = fmin(w->now.best_s, round_s);
}

/* The largest m <= most with need(m) <= bytes; needs grow with m. */
static int32_t most_within(const job *j, int64_t (*need)(const job *, int64_t), int64_t bytes,
                           int32_t most)
{
    int32_t low = 0;
    while (low < most) {
        int32_t middle = low + (most - low + 1) / 2;
        if (need(j, middle) <= bytes)
            low = middle;
        else
            most = middle - 1;
    }
    return low;
}

int32_t place_room(const place_ground *gr, size_t global, int32_t locals, size_t server)
{
    if (server != global)
        return gr->room[server];
    const problem_node *node = &gr->p->nodes[server];
    int64_t left = node->free_bytes - job_global_need_bytes(&gr->p->job, locals);
    return node->serve
               ? most_within(&gr->p->job, job_local_need_bytes, left, (int32_t)gr->worker_count)
               : 0;
}

bool place_joins(const place_ground *gr, size_t global, size_t server)
{
    return gr->p->nodes[server].serve &&
           (server == global || problem_connected(gr->p, server, global));
}

void place_ground_room(place_ground *gr, size_t node)
{
    const problem *p = gr->p;
    int64_t bytes = p->nodes[node].free_bytes;
    if (!p->nodes[node].serve)
        return;
    gr->room[node] = most_within(&p->job, job_local_need_bytes, bytes, (int32_t)gr->worker_count);
    gr->fan[node] = most_within(&p->job, job_global_need_bytes, bytes, (int32_t)p->max_locals);
}

static void fill_ground(place_ground *gr)
{
    const problem *p = gr->p;
    for (size_t j = 0; j < p->count; j++)
        if (p->nodes[j].train)
            gr->workers[gr->worker_count++] = (uint32_t)j;
    for (size_t j = 0; j < p->count; j++) {
        place_ground_room(gr, j);
        gr->linked[j] = p->nodes[j].up_bytes_per_s > 0 && p->nodes[j].down_bytes_per_s > 0;
    }
    for (size_t a = 0; a < p->site_count; a++)
        for (size_t b = 0; b < p->site_count; b++)
            gr->sites[a * p->site_count + b] = p->cap_bytes_per_s[a * p->site_count + b] > 0 &&
                                               p->cap_bytes_per_s[b * p->site_count + a] > 0;
}

edgeps_err place_ground_make(const problem *p, place_ground *out)
{
    place_ground gr = {.p = p, .count = p->count};
    gr.linked = mem_alloc(p->count, sizeof *gr.linked);
    gr.sites = mem_alloc(p->site_count * p->site_count, sizeof *gr.sites);
    gr.room = mem_alloc(p->count, sizeof *gr.room);
    gr.fan = mem_alloc(p->count, sizeof *gr.fan);
    gr.workers = mem_alloc(p->count, sizeof *gr.workers);
    if (!gr.linked || !gr.sites || !gr.room || !gr.fan || !gr.workers) {
        place_ground_free(&gr);
        return EDGEPS_NOMEM;
    }
    fill_ground(&gr);
    *out = gr;
    return EDGEPS_OK;
}

void place_ground_free(place_ground *gr)
{
    mem_free(gr->linked);
    mem_free(gr->sites);
    mem_free(gr->room);
    mem_free(gr->fan);
    mem_free(gr->workers);
    *gr = (place_ground){0};
}

double place_distance_s(const problem *p, size_t worker, size_t server)
{
    if (worker == server)
        return 0;
    double bytes = (double)job_wire_bytes(&p->job);
    return bytes / problem_rate_bytes_per_s(p, worker, server) +
           bytes / problem_rate_bytes_per_s(p, server, worker) +
           problem_latency_s(p, worker, server) + problem_latency_s(p, server, worker);
}

edgeps_err place_best_make(const problem *p, place_best *out)
{
    place_best b = {.p = p, .round_s = INFINITY};
    b.scratch = mem_alloc(COST_SCRATCH * p->count, sizeof *b.scratch);
    edgeps_err err = b.scratch ? plan_make(p->count, &b.plan) : EDGEPS_NOMEM;
    if (err)
        place_best_free(&b);
    else
        *out = b;
    return err;
}

void place_best_free(place_best *b)
{
    plan_free(&b->plan);
    mem_free(b->scratch);
    b->scratch = NULL;
}

void place_best_keep(place_best *b, const plan *pl, double round_s)
{
    if (round_s >= b->round_s)
        return;
    b->round_s = round_s;
    if (b->watch)
        place_watch_best(b->watch, round_s);
    b->plan.global = pl->global;
    memcpy(b->plan.parent, pl->parent, pl->count * sizeof *pl->parent);
}

edgeps_err place_best_offer(place_best *b, const plan *pl, double *round_s)
{
    *round_s = cost_bound_s(b->p, pl, b->scratch);
    if (*round_s >= b->round_s)
        return EDGEPS_OK;
    edgeps_err err = cost_round_counted_s(b->p, pl, round_s, &b->work_us);
    if (!err)
        place_best_keep(b, pl, *round_s);
    return err;
}
