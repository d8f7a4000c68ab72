/* Store-and-forward has a barrier: the global server passes nothing on before all pushes have been
 * summed. With P the time of that, every push ends by P and every pull begins there, so a round of
 * R has both all push sides within P and all pull sides within R - P, for some P. That is more than
 * each worker's way there and back within R, as the slowest push and the slowest pull may be those
 * of two workers. */
#include "place/exact_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void place_sides_free(place_sides *s)
{
    place_side *both[] = {&s->push, &s->pull};
    for (size_t k = 0; k < 2; k++) {
        mem_free(both[k]->chain);
        mem_free(both[k]->load);
        mem_free(both[k]->fan);
    }
    *s = (place_sides){.count = 0};
}

static bool make_side(size_t n, size_t locals, place_side *out)
{
    out->chain = mem_alloc(n * n, sizeof *out->chain);
    out->load = mem_alloc(n * (n + 1), sizeof *out->load);
    out->fan = mem_alloc(locals + 1, sizeof *out->fan);
    return out->chain && out->load && out->fan;
}

/* A lone gradient from one node to the other. */
static double cross_s(const place_times *t, size_t from, size_t to)
{
    return t->all_wire / problem_rate_bytes_per_s(t->gr->p, from, to) +
           problem_latency_s(t->gr->p, from, to);
}

static double sum_s(const place_times *t, size_t node)
{
    return t->all_sum / t->gr->p->nodes[node].sum_bytes_per_s;
}

static void fill_server(const place_times *t, const place_view *v, size_t j, place_sides *s)
{
    const place_ground *gr = t->gr;
    const problem_node *node = &gr->p->nodes[j];
    size_t n = gr->count;
    double there_s = cross_s(t, j, v->global) + sum_s(t, v->global);
    double back_s = cross_s(t, v->global, j), end_s = 0;
    for (size_t w = 0; w < gr->worker_count; w++) {
        size_t i = gr->workers[w];
        bool allowed = v->chain[j * n + i] < INFINITY;
        s->push.chain[j * n + i] =
            !allowed ? INFINITY
                     : gr->p->nodes[i].compute_s + cross_s(t, i, j) + sum_s(t, j) + there_s;
        s->pull.chain[j * n + i] = allowed ? back_s + cross_s(t, j, i) : INFINITY;
    }
    for (size_t m = 1; m <= n; m++) {
        size_t at = m <= gr->worker_count ? m - 1 : gr->worker_count - 1;
        end_s = fmax(end_s, t->compute_s[at]) + t->all_wire / node->down_bytes_per_s;
        s->push.load[j * (n + 1) + m] = end_s + t->lat_in_s[j] + (double)m * sum_s(t, j) + there_s;
        s->pull.load[j * (n + 1) + m] =
            back_s + (double)m * t->all_wire / node->up_bytes_per_s + t->lat_out_s[j];
    }
}

/* With k local servers, at least k less the global server's own on other nodes. */
static edgeps_err fill_fans(const place_times *t, const place_view *v, place_sides *s)
{
    const problem *p = t->gr->p;
    size_t g = v->global, others = 0, own = 0;
    double least_in_s = INFINITY, least_out_s = INFINITY, end_s = 0;
    double *starts = mem_alloc(t->gr->count, sizeof *starts);
    if (!starts)
        return EDGEPS_NOMEM;
    for (size_t j = 0; j < t->gr->count; j++) {
        if (!place_joins(t->gr, g, j) || place_room(t->gr, g, 1, j) < 1 ||
            t->start_s[j] == INFINITY)
            continue;
        own += j == g;
        if (j == g)
            continue;
        starts[others++] = t->start_s[j];
        least_in_s = fmin(least_in_s, problem_latency_s(p, j, g));
        least_out_s = fmin(least_out_s, problem_latency_s(p, g, j));
    }
    qsort(starts, others, sizeof *starts, by_value);
    for (size_t k = 1; k <= (size_t)v->most_locals; k++) {
        size_t remote = k - own;
        double push_s = 0, pull_s = 0;
        if (remote > others) {
            push_s = INFINITY;
        } else if (remote > 0) {
            end_s = fmax(end_s, starts[remote - 1]) + t->all_wire / p->nodes[g].down_bytes_per_s;
            push_s = end_s + least_in_s + (double)k * sum_s(t, g);
            pull_s = (double)remote * t->all_wire / p->nodes[g].up_bytes_per_s + least_out_s;
        }
        s->push.fan[k] = fmax(s->push.fan[k - 1], push_s);
        s->pull.fan[k] = fmax(s->pull.fan[k - 1], pull_s);
    }
    mem_free(starts);
    return EDGEPS_OK;
}

/* Every worker has to push and to pull somewhere. */
static double least_s(const place_ground *gr, const place_side *side)
{
    double worst_s = 0;
    for (size_t w = 0; w < gr->worker_count; w++) {
        double best_s = INFINITY;
        for (size_t j = 0; j < gr->count; j++)
            best_s = fmin(best_s, side->chain[j * gr->count + gr->workers[w]]);
        worst_s = fmax(worst_s, best_s);
    }
    return fmax(worst_s, side->fan[1]);
}

edgeps_err place_sides_make(const place_times *t, const place_view *v, place_sides *out)
{
    size_t n = t->gr->count;
    place_sides s = {.count = n, .most_locals = v->most_locals};
    edgeps_err err = EDGEPS_NOMEM;
    if (make_side(n, (size_t)v->most_locals, &s.push) &&
        make_side(n, (size_t)v->most_locals, &s.pull)) {
        for (size_t j = 0; j < n; j++)
            fill_server(t, v, j, &s);
        err = fill_fans(t, v, &s);
    }
    if (err) {
        place_sides_free(&s);
        return err;
    }
    s.push.least_s = least_s(t->gr, &s.push);
    s.pull.least_s = least_s(t->gr, &s.pull);
    *out = s;
    return EDGEPS_OK;
}

static int32_t most_within(const double *table, int32_t most, double limit_s)
{
    int32_t m = 0;
    while (m < most && table[m + 1] <= limit_s)
        m++;
    return m;
}

int32_t place_side_cap(const place_sides *s, const place_side *side, size_t server, double limit_s)
{
    const double *load = side->load + server * (s->count + 1);
    bool own = side->chain[server * s->count + server] <= limit_s;
    return most_within(load, (int32_t)s->count, limit_s) + own;
}

int32_t place_side_locals(const place_sides *s, const place_side *side, double limit_s)
{
    return most_within(side->fan, s->most_locals, limit_s);
}
