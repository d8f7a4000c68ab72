/* The threshold problem of one global server: which server may take which worker, how many, and how
 * many servers, within a round time. Every restriction is a relaxation of what a plan of that round
 * time must keep, so what is refused here is refused for all plans. */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static int by_value_down(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static void fill_chains(const place_times *t, place_view *v)
{
    const place_ground *gr = t->gr;
    for (size_t j = 0; j < gr->count; j++) {
        bool local = place_joins(gr, v->global, j) && place_room(gr, v->global, 1, j) > 0;
        for (size_t i = 0; i < gr->count; i++)
            v->chain[j * gr->count + i] =
                local && gr->path[j * gr->count + i] ? place_chain_s(t, v->global, j, i) : INFINITY;
        if (local)
            place_load_s(t, v->global, j, gr->count, v->load + j * (gr->count + 1));
    }
}

/* For the counting bound: a local server takes at most 1 + rate x (round time left after its turn
 * in the global server's links) workers. */
static edgeps_err fill_rates(const place_times *t, place_view *v)
{
    const place_ground *gr = t->gr;
    size_t count = 0;
    double *rates = mem_alloc(gr->count, sizeof *rates);
    if (!rates)
        return EDGEPS_NOMEM;
    for (size_t j = 0; j < gr->count; j++) {
        const problem_node *node = &gr->p->nodes[j];
        if (j != v->global && place_joins(gr, v->global, j) && gr->room[j] > 0)
            rates[count++] =
                1 / (t->all_wire / node->down_bytes_per_s + t->all_sum / node->sum_bytes_per_s +
                     t->all_wire / node->up_bytes_per_s);
    }
    qsort(rates, count, sizeof *rates, by_value_down);
    for (size_t k = 0; k < (size_t)v->most_locals && k < count; k++)
        v->rate[k] = rates[k];
    mem_free(rates);
    return EDGEPS_OK;
}

edgeps_err place_view_make(const place_times *t, size_t global, place_view *out)
{
    size_t count = t->gr->count;
    place_view v = {.global = global, .most_locals = t->gr->fan[global]};
    size_t most = (size_t)v.most_locals;
    edgeps_err err = EDGEPS_NOMEM;
    v.chain = mem_alloc(count * count, sizeof *v.chain);
    v.load = mem_alloc(count * (count + 1), sizeof *v.load);
    v.fan = mem_alloc(most + 1, sizeof *v.fan);
    v.rate = mem_alloc(most, sizeof *v.rate);
    if (!v.chain || !v.load || !v.fan || !v.rate)
        goto out;
    fill_chains(t, &v);
    err = fill_rates(t, &v);
    if (!err)
        err = place_fan_s(t, global, most, v.fan);
    if (!err) {
        *out = v;
        v = (place_view){0};
    }
out:
    place_view_free(&v);
    return err;
}

void place_view_free(place_view *v)
{
    mem_free(v->chain);
    mem_free(v->load);
    mem_free(v->fan);
    mem_free(v->rate);
    *v = (place_view){0};
}

/* The largest m <= most with table[m] <= r_s; the table does not fall, table[0] <= r_s. */
static size_t most_below(const double *table, size_t most, double r_s)
{
    size_t low = 0;
    while (low < most) {
        size_t middle = low + (most - low + 1) / 2;
        if (table[middle] <= r_s)
            low = middle;
        else
            most = middle - 1;
    }
    return low;
}

int32_t place_view_cap(const place_times *t, const place_view *v, size_t server, double r_s)
{
    size_t count = t->gr->count;
    int32_t room = place_room(t->gr, v->global, 1, server);
    if (room < 1)
        return 0;
    const double *load = v->load + server * (count + 1);
    int32_t own = v->chain[server * count + server] <= r_s;
    int32_t time = (int32_t)most_below(load, count, r_s) + own;
    return time < room ? time : room;
}

/* Can k local servers take all workers, given that the global server's links serve them one after
 * another at best? Store-and-forward only. */
static bool enough_turns(const place_times *t, const place_view *v, size_t k, double r_s)
{
    const problem_node *node = &t->gr->p->nodes[v->global];
    double turn_s = t->all_wire / node->down_bytes_per_s + t->all_wire / node->up_bytes_per_s;
    double left_s = r_s - t->compute_s[0] - (double)k * t->all_sum / node->sum_bytes_per_s;
    double workers = (double)t->gr->worker_count;
    double others = 0, all_but_last = 0; /* what k, k - 1 servers on other nodes take */
    for (size_t turn = 0; turn < k; turn++) {
        all_but_last = others;
        left_s -= turn_s;
        others += 1 + (left_s > 0 ? fmin(left_s * v->rate[turn], workers) : 0);
    }
    double own = place_view_cap(t, v, v->global, r_s);
    return fmax(others, own + all_but_last) >= workers * (1 - 1e-9);
}

int32_t place_view_locals(const place_times *t, const place_view *v, double r_s, double turns_s)
{
    size_t k = most_below(v->fan, (size_t)v->most_locals, r_s);
    if (t->first_wire < t->all_wire || v->global == PLACE_ANY_GLOBAL)
        return (int32_t)k;
    while (k > 0 && !enough_turns(t, v, k, turns_s))
        k--;
    return (int32_t)k;
}
