/* Closed-form lower bounds of the round time, each for one resource of one plan element. The proofs
 * are in docs/algorithms/approx.md, section "Bounds". */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One stage of a chain: seconds for the first chunk, for all, for the last. */
typedef struct stage {
    double first_s, all_s, last_s;
} stage;

static stage hop(const place_times *t, size_t from, size_t to)
{
    double rate = problem_rate_bytes_per_s(t->gr->p, from, to);
    return (stage){t->first_wire / rate, t->all_wire / rate, t->last_wire / rate};
}

static stage sum(const place_times *t, size_t server)
{
    double rate = t->gr->p->nodes[server].sum_bytes_per_s;
    return (stage){t->first_sum / rate, t->all_sum / rate, t->last_sum / rate};
}

/* The first chunk reaches the stage, all chunks pass it, the last goes on through the rest: the
 * longest such path through the stages. */
static double pipeline_s(const stage *stages, size_t count)
{
    double before_s = 0, after_s = 0, longest_s = 0;
    for (size_t s = 0; s < count; s++)
        after_s += stages[s].last_s;
    for (size_t s = 0; s < count; s++) {
        after_s -= stages[s].last_s;
        longest_s = fmax(longest_s, before_s + stages[s].all_s + after_s);
        before_s += stages[s].first_s;
    }
    return longest_s;
}

static double round_trip_latency_s(const place_times *t, size_t a, size_t b)
{
    return problem_latency_s(t->gr->p, a, b) + problem_latency_s(t->gr->p, b, a);
}

double place_chain_s(const place_times *t, size_t global, size_t server, size_t worker)
{
    stage stages[] = {hop(t, worker, server), sum(t, server),         hop(t, server, global),
                      sum(t, global),         hop(t, global, server), hop(t, server, worker)};
    return t->gr->p->nodes[worker].compute_s + round_trip_latency_s(t, worker, server) +
           round_trip_latency_s(t, server, global) + pipeline_s(stages, 6);
}

static double base_chain_s(const place_times *t, size_t server, size_t worker)
{
    stage stages[] = {hop(t, worker, server), sum(t, server), hop(t, server, worker)};
    return t->gr->p->nodes[worker].compute_s + round_trip_latency_s(t, worker, server) +
           pipeline_s(stages, 3);
}

/* Least time from the last chunk's sum at `server` until it is back there. */
static double last_chunk_tail_s(const place_times *t, size_t global, size_t server)
{
    return hop(t, server, global).last_s + sum(t, global).last_s + hop(t, global, server).last_s +
           round_trip_latency_s(t, server, global);
}

/* Equal flows of `each_s` alone on a link, flow m starting no earlier than start_s[m-1] (ascending,
 * the last repeated): end[m] = max over t of start_s[t] + (m - t) each_s. */
static double next_end_s(double end_s, double start_s, double each_s)
{
    return fmax(end_s, start_s) + each_s;
}

void place_load_s(const place_times *t, size_t global, size_t server, size_t most, double *load)
{
    const problem_node *node = &t->gr->p->nodes[server];
    double down_s = t->all_wire / node->down_bytes_per_s;
    double up_s = t->all_wire / node->up_bytes_per_s;
    bool any = global == PLACE_ANY_GLOBAL;
    double tail_s = any ? 0 : last_chunk_tail_s(t, global, server);
    double in_s = t->lat_in_s[server], out_s = t->lat_out_s[server];
    double forward = any || server == global ? 0 : 1; /* its own push, and pull, on the network */
    double back_s = forward > 0 ? problem_latency_s(t->gr->p, global, server) : 0;
    double first_s = t->compute_s[0], end_s = 0;
    load[0] = 0;
    for (size_t m = 1; m <= most; m++) {
        double count = (double)m;
        double last_out_s = count * t->last_wire / node->up_bytes_per_s + out_s;
        double last_sum_s = count * t->last_sum / node->sum_bytes_per_s;
        double head_s = first_s + count * t->first_wire / node->down_bytes_per_s + in_s;
        size_t at = m <= t->gr->worker_count ? m - 1 : t->gr->worker_count - 1;
        end_s = next_end_s(end_s, t->compute_s[at], down_s);
        double pushes_s = end_s + in_s + last_sum_s + tail_s + last_out_s;
        double pulls_s = first_s + (count + forward) * down_s + back_s + last_out_s;
        double sends_s = head_s + count * t->first_sum / node->sum_bytes_per_s +
                         (count + forward) * up_s + out_s;
        double sums_s = head_s + count * t->all_sum / node->sum_bytes_per_s + tail_s + last_out_s;
        load[m] = fmax(load[m - 1], fmax(fmax(pushes_s, pulls_s), fmax(sends_s, sums_s)));
    }
}

static bool may_be_local(const place_times *t, size_t global, size_t server)
{
    return place_joins(t->gr, global, server) && place_room(t->gr, global, 1, server) > 0;
}

/* The starts of the possible local servers on other nodes, ascending, and their least latencies to
 * and from the global server. Returns their number. */
static size_t other_starts(const place_times *t, size_t global, double *starts, double latency_s[2])
{
    size_t count = 0;
    latency_s[0] = latency_s[1] = INFINITY;
    for (size_t j = 0; j < t->gr->count; j++) {
        if (j == global || !may_be_local(t, global, j) || t->start_s[j] == INFINITY)
            continue;
        starts[count++] = t->start_s[j];
        latency_s[0] = fmin(latency_s[0], problem_latency_s(t->gr->p, j, global));
        latency_s[1] = fmin(latency_s[1], problem_latency_s(t->gr->p, global, j));
    }
    qsort(starts, count, sizeof *starts, by_value);
    return count;
}

edgeps_err place_fan_s(const place_times *t, size_t global, size_t most, double *fan)
{
    const problem_node *node = &t->gr->p->nodes[global];
    double latency_s[2], end_s = 0;
    double *starts = mem_alloc(t->gr->count, sizeof *starts);
    if (!starts)
        return EDGEPS_NOMEM;
    size_t others = other_starts(t, global, starts, latency_s);
    size_t own = may_be_local(t, global, global);
    double head_s = others ? starts[0] : INFINITY;
    if (own)
        head_s = fmin(head_s, t->start_s[global]);
    fan[0] = 0;
    for (size_t k = 1; k <= most; k++) {
        size_t remote = k - own;
        double sums_s = head_s + (double)k * t->all_sum / node->sum_bytes_per_s;
        double time_s = remote > others ? INFINITY : sums_s;
        if (remote > 0 && remote <= others) {
            double flows = (double)remote;
            double last_out_s = flows * t->last_wire / node->up_bytes_per_s + latency_s[1];
            double start_s = starts[remote - 1];
            end_s = next_end_s(end_s, start_s, t->all_wire / node->down_bytes_per_s);
            double pushes_s =
                end_s + latency_s[0] + (double)k * t->last_sum / node->sum_bytes_per_s + last_out_s;
            double pulls_s =
                start_s + latency_s[0] + flows * t->all_wire / node->up_bytes_per_s + latency_s[1];
            time_s = fmax(fmax(pushes_s, pulls_s), sums_s + last_out_s);
        }
        fan[k] = fmax(fan[k - 1], time_s);
    }
    mem_free(starts);
    return EDGEPS_OK;
}

double place_least_tail_s(const place_times *t, size_t global)
{
    double least_s = INFINITY;
    for (size_t j = 0; j < t->gr->count; j++)
        if (may_be_local(t, global, j))
            least_s = fmin(least_s, last_chunk_tail_s(t, global, j));
    return least_s;
}

double place_quick_bound_s(const place_times *t, size_t global, double *tail_s)
{
    const place_ground *gr = t->gr;
    double worst_s = 0;
    for (size_t j = 0; j < gr->count; j++)
        tail_s[j] = may_be_local(t, global, j) ? last_chunk_tail_s(t, global, j) : INFINITY;
    for (size_t w = 0; w < gr->worker_count; w++) {
        const double *base = t->base + gr->workers[w];
        double best_s = INFINITY;
        for (size_t j = 0; j < gr->count; j++, base += gr->count)
            if (*base + tail_s[j] < best_s)
                best_s = *base + tail_s[j];
        worst_s = fmax(worst_s, best_s);
    }
    return worst_s;
}

static void fill_server(place_times *t, size_t server)
{
    const place_ground *gr = t->gr;
    const problem *p = gr->p;
    t->start_s[server] = t->lat_in_s[server] = t->lat_out_s[server] = INFINITY;
    for (size_t w = 0; w < gr->worker_count; w++) {
        size_t i = gr->workers[w];
        if (!gr->path[server * gr->count + i])
            continue;
        double push_s = hop(t, i, server).first_s + problem_latency_s(p, i, server);
        double start_s = p->nodes[i].compute_s + push_s + sum(t, server).first_s;
        t->base[server * gr->count + i] = base_chain_s(t, server, i);
        t->start_s[server] = fmin(t->start_s[server], start_s);
        if (i == server)
            continue;
        t->lat_in_s[server] = fmin(t->lat_in_s[server], problem_latency_s(p, i, server));
        t->lat_out_s[server] = fmin(t->lat_out_s[server], problem_latency_s(p, server, i));
    }
}

edgeps_err place_times_make(const place_ground *gr, place_times *out)
{
    const job *j = &gr->p->job;
    int64_t last = job_chunk_count(j) - 1;
    place_times t = {
        .gr = gr,
        .first_wire = (double)job_chunk_wire_bytes(j, 0),
        .all_wire = (double)job_wire_bytes(j),
        .last_wire = (double)job_chunk_wire_bytes(j, last),
        .first_sum = (double)job_chunk_payload_bytes(j, 0),
        .all_sum = (double)job_parameter_bytes(j),
        .last_sum = (double)job_chunk_payload_bytes(j, last),
    };
    t.base = mem_alloc(gr->count * gr->count, sizeof *t.base);
    t.compute_s = mem_alloc(gr->worker_count, sizeof *t.compute_s);
    t.start_s = mem_alloc(gr->count, sizeof *t.start_s);
    t.lat_in_s = mem_alloc(gr->count, sizeof *t.lat_in_s);
    t.lat_out_s = mem_alloc(gr->count, sizeof *t.lat_out_s);
    if (!t.base || !t.compute_s || !t.start_s || !t.lat_in_s || !t.lat_out_s) {
        place_times_free(&t);
        return EDGEPS_NOMEM;
    }
    for (size_t a = 0; a < gr->count * gr->count; a++)
        t.base[a] = INFINITY;
    for (size_t w = 0; w < gr->worker_count; w++)
        t.compute_s[w] = gr->p->nodes[gr->workers[w]].compute_s;
    qsort(t.compute_s, gr->worker_count, sizeof *t.compute_s, by_value);
    for (size_t s = 0; s < gr->count; s++)
        fill_server(&t, s);
    *out = t;
    return EDGEPS_OK;
}

void place_times_free(place_times *t)
{
    mem_free(t->base);
    mem_free(t->compute_s);
    mem_free(t->start_s);
    mem_free(t->lat_in_s);
    mem_free(t->lat_out_s);
    *t = (place_times){0};
}
