/* The threshold problem of one global server: which server may take which worker, how many, and how
 * many servers, within limits of a round. Every restriction is a relaxation of what a plan within
 * these limits must keep, so what is refused here is refused for all plans. The proofs are in
 * docs/algorithms/approx.md, section "Bounds". */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>

place_limits place_whole_round(double round_s)
{
    return (place_limits){round_s, INFINITY, INFINITY, INFINITY, INFINITY, 0, INFINITY};
}

place_limits place_halves(double round_s, const double first_s[2], const double last_s[2])
{
    return (place_limits){round_s, first_s[1], last_s[1], round_s - first_s[0], round_s - last_s[0],
                          0,       INFINITY};
}

place_limits place_spread(const place_view *v, place_limits halves, const double spread_s[2])
{
    double each_s = v->t->all_wire / v->t->gr->p->nodes[v->global].up_bytes_per_s;
    halves.spread_s = spread_s[0];
    if (each_s > 0)
        halves.purse = spread_s[1] / each_s * (1 + 1e-9);
    return halves;
}

bool place_keeps(const place_limits *need, const place_limits *limits)
{
    return need->round_s <= limits->round_s && need->first_in_s <= limits->first_in_s &&
           need->all_in_s <= limits->all_in_s && need->all_out_s <= limits->all_out_s &&
           need->last_out_s <= limits->last_out_s;
}

static const place_limits nothing = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, 0, 0};

static place_relay relay_of(const place_times *t, size_t global, size_t j)
{
    const problem *p = t->gr->p;
    double out = problem_rate_bytes_per_s(p, j, global),
           back = problem_rate_bytes_per_s(p, global, j);
    double there_s = problem_latency_s(p, j, global), here_s = problem_latency_s(p, global, j);
    double sum = p->nodes[global].sum_bytes_per_s;
    double push[] = {t->first_wire / out, t->all_wire / out, t->last_wire / out};
    double add[] = {t->first_sum / sum, t->all_sum / sum, t->last_sum / sum};
    double pull[] = {t->first_wire / back, t->all_wire / back, t->last_wire / back};
    place_relay r = {.local = true, .here_s = here_s};
    r.share = j == global ? 0 : smaller_of(1, back / p->nodes[global].up_bytes_per_s);
    r.first_in_s = push[0] + add[0] + there_s;
    r.last_in_s = push[2] + add[2] + there_s;
    r.all_in_s = larger_of(push[1] + add[2], push[0] + add[1]) + there_s;
    r.first_out_s = pull[0] + here_s;
    r.all_out_s = pull[1] + here_s;
    r.last_out_s = pull[2] + here_s;
    r.through_s = larger_of(r.all_in_s + r.last_out_s, r.first_in_s + r.all_out_s);
    return r;
}

/* What the spread of all pulls adds to the way of one. */
static inline double wait_s(const place_view *v, double spread_s, size_t server)
{
    const place_relay *r = &v->relay[server];
    return larger_of(0, spread_s + r->here_s - r->all_out_s);
}

/* From the start of the round until the server has a worker's first chunk, and all but the last of
 * what it still has to add, complete. */
typedef struct push {
    double first_s, all_s;
} push;

static inline push push_of(const place_times *t, size_t server, size_t worker)
{
    double out_s = place_pace_s(t, worker, server), sum_s = t->pace[server].sum_s;
    double start_s = t->pace[worker].compute_s + place_latency_s(t, worker, server);
    double arrived_s = start_s + t->first_wire * out_s;
    /* All chunks pass the push, or the sum. */
    return (push){arrived_s + t->first_sum * sum_s,
                  larger_of(start_s + t->all_wire * out_s + t->last_sum * sum_s,
                            arrived_s + t->all_sum * sum_s)};
}

static inline place_limits way_there(const place_relay *r, push to)
{
    return (place_limits){.first_in_s = to.first_s + r->first_in_s,
                          .all_in_s = larger_of(to.all_s + r->last_in_s, to.first_s + r->all_in_s)};
}

/* The same with the way back. */
static inline void add_way_back(const place_view *v, double spread_s, size_t server, size_t worker,
                                push to, place_limits *need)
{
    const place_times *t = v->t;
    const place_relay *r = &v->relay[server];
    double back_s = place_pace_s(t, server, worker), end_s = place_latency_s(t, server, worker);
    double last_s = end_s + t->last_wire * back_s, pulls_s = end_s + t->all_wire * back_s;
    /* The global server's pulls to its own workers are among those that spread. */
    double wait = server == v->global ? 0 : wait_s(v, spread_s, server);
    if (spread_s > 0 && server == v->global && worker != server)
        last_s = pulls_s = larger_of(pulls_s, spread_s + end_s);
    need->all_out_s = larger_of(r->all_out_s + last_s, r->first_out_s + pulls_s) + wait;
    need->last_out_s = r->last_out_s + last_s + wait;
    need->round_s = larger_of(larger_of(to.all_s + r->last_in_s + r->last_out_s + last_s,
                                        to.first_s + r->through_s + last_s),
                              to.first_s + r->first_in_s + r->first_out_s + pulls_s);
}

/* As place_path. */
static inline bool has_path(const place_times *t, size_t server, size_t worker)
{
    const place_pace *a = &t->pace[server], *b = &t->pace[worker];
    return a->serve &&
           (server == worker ||
            (a->linked && b->linked && t->gr->sites[a->site * t->gr->p->site_count + b->site]));
}

place_limits place_view_chain(const place_view *v, double spread_s, size_t server, size_t worker)
{
    if (!v->relay[server].local || !has_path(v->t, server, worker))
        return nothing;
    push to = push_of(v->t, server, worker);
    place_limits need = way_there(&v->relay[server], to);
    add_way_back(v, spread_s, server, worker, to, &need);
    return need;
}

/* As place_keeps of the chain, but most are refused on the way there. */
static inline bool serves(const place_view *v, const place_limits *limits, size_t server,
                          size_t worker)
{
    if (!has_path(v->t, server, worker))
        return false;
    push to = push_of(v->t, server, worker);
    place_limits need = way_there(&v->relay[server], to);
    if (need.first_in_s > limits->first_in_s || need.all_in_s > limits->all_in_s)
        return false;
    add_way_back(v, limits->spread_s, server, worker, to, &need);
    return place_keeps(&need, limits);
}

bool place_view_serves(const place_view *v, const place_limits *limits, size_t server,
                       size_t worker)
{
    return v->relay[server].local && serves(v, limits, server, worker);
}

/* As serves, where all ways are known. On the global server a worker may have to wait for others'
 * pulls, which its way alone does not tell. */
static size_t reach_by_ways(const place_view *v, const place_limits *limits, size_t server,
                            const cover_list *of, size_t most, uint32_t *served)
{
    const place_times *t = v->t;
    const place_relay *r = &v->relay[server];
    const place_way *ways = t->ways + server * t->gr->worker_count;
    double in_s = smaller_of(limits->first_in_s, limits->all_in_s) - r->all_in_s;
    double out_s = smaller_of(limits->all_out_s, limits->last_out_s) - r->all_out_s -
                   wait_s(v, limits->spread_s, server);
    double both_s = limits->round_s - r->all_in_s - r->all_out_s;
    size_t count = 0;
    for (size_t o = 0; o < of->count && count < most; o++) {
        const place_way *way = &ways[of->workers[o]];
        served[count] = of->workers[o];
        count += (way->in_s <= in_s) & (way->out_s <= out_s) & (way->in_s + way->out_s <= both_s);
    }
    return count;
}

size_t place_view_reach(const place_view *v, const place_limits *limits, size_t server,
                        const cover_list *of, size_t most, uint32_t *served)
{
    const uint32_t *nodes = v->t->gr->workers;
    size_t count = 0;
    if (!v->relay[server].local)
        return 0;
    if (v->t->ways && server != v->global)
        return reach_by_ways(v, limits, server, of, most, served);
    for (size_t o = 0; o < of->count && count < most; o++)
        if (serves(v, limits, server, nodes[of->workers[o]]))
            served[count++] = of->workers[o];
    return count;
}

static place_limits crowd_need(const place_view *v, double spread_s, size_t server,
                               const place_crowd *c)
{
    const place_times *t = v->t;
    const problem_node *node = &t->gr->p->nodes[server];
    const place_relay *r = &v->relay[server];
    bool other = server != v->global; /* its own push, and pull, on the network */
    double count = (double)c->m, flows = count + other;
    double each_up_s = 1 / node->up_bytes_per_s, each_sum_s = count / node->sum_bytes_per_s;
    double in_s = t->lat_in_s[server], out_s = t->lat_out_s[server];
    double last_out_s = count * t->last_wire * each_up_s + out_s;
    double pulls_s = count * t->all_wire * each_up_s + out_s;
    double wait = wait_s(v, spread_s, server), all_down_s = c->all_s;
    double arrived_s = c->first_s + in_s;
    /* The global server's own workers share its links with the other local servers: these are at
     * least as many as their shares say. */
    if (!other && spread_s > 0) {
        double pushes_s = t->compute_s[0] + count * t->all_wire / node->down_bytes_per_s +
                          spread_s * node->up_bytes_per_s / node->down_bytes_per_s;
        all_down_s = larger_of(all_down_s, pushes_s);
    }
    double first_s = arrived_s + t->first_sum * each_sum_s;
    double all_s = larger_of(all_down_s + in_s + t->last_sum * each_sum_s,
                             arrived_s + t->all_sum * each_sum_s);
    double down_s = t->compute_s[0] + flows * t->all_wire / node->down_bytes_per_s +
                    (other ? problem_latency_s(t->gr->p, v->global, server) : 0) + last_out_s;
    double up_s = first_s + flows * t->all_wire * each_up_s + out_s;
    place_limits need = {0};
    need.first_in_s = first_s + r->first_in_s;
    need.all_in_s = larger_of(all_s + r->last_in_s, first_s + r->all_in_s);
    need.all_out_s = larger_of(r->first_out_s + pulls_s, r->all_out_s + last_out_s) + wait;
    need.last_out_s = r->last_out_s + last_out_s + wait;
    need.round_s =
        larger_of(larger_of(need.all_in_s + need.last_out_s, need.first_in_s + need.all_out_s),
                  larger_of(down_s, up_s));
    return need;
}

place_limits place_view_load(const place_view *v, double spread_s, size_t server, size_t m)
{
    if (m == 0)
        return (place_limits){0};
    place_crowd c = place_times_crowd(v->t, server, m);
    return crowd_need(v, spread_s, server, &c);
}

/* By the start of the first of them alone: the largest m with a + m b <= limit for each. */
int32_t place_view_most(const place_view *v, const place_limits *limits, size_t server)
{
    const place_times *t = v->t;
    const problem_node *node = &t->gr->p->nodes[server];
    const place_relay *r = &v->relay[server];
    int32_t room = r->local ? place_room(t->gr, v->global, 1, server) : 0;
    if (room < 1)
        return 0;
    double in_s = limits->all_in_s - t->compute_s[0] - t->lat_in_s[server] - r->last_in_s;
    double out_s = limits->all_out_s - r->first_out_s - t->lat_out_s[server] -
                   wait_s(v, limits->spread_s, server);
    double round_s = limits->round_s - t->compute_s[0];
    double slow = smaller_of(node->down_bytes_per_s, node->up_bytes_per_s);
    double most = smaller_of(round_s * slow, smaller_of(in_s * node->down_bytes_per_s,
                                                        out_s * node->up_bytes_per_s)) /
                  t->all_wire;
    /* Its own worker comes on top, and rounding may lose one. */
    most = larger_of(most, 0) * (1 + 1e-9) + 1;
    return most < room ? (int32_t)most : room;
}

int32_t place_view_cap(const place_view *v, const place_limits *limits, size_t server)
{
    int32_t most = place_view_most(v, limits, server), cap = 0;
    if (most < 1)
        return 0;
    int32_t own = place_view_serves(v, limits, server, server);
    int32_t room = place_room(v->t->gr, v->global, 1, server) - own;
    most = most < room ? most : room;
    /* Nearly always it is `most` itself or one less. */
    for (int32_t step = 1, above = most + 1; above - cap > 1;
         step = cap > 0 ? (above - cap) / 2 : 2 * step) {
        int32_t trial = above - step > cap ? above - step : cap + 1;
        place_limits need = place_view_load(v, limits->spread_s, server, (size_t)trial);
        if (place_keeps(&need, limits))
            cap = trial;
        else
            above = trial;
    }
    return cap + own;
}

/* ---- the global server's own links ---- */

/* The first from this rank on that is a possible local server on another node. */
static size_t next_other(const place_view *v, const place_rank *list, size_t rank)
{
    while (rank < v->t->gr->count &&
           (list[rank].server == v->global || !v->relay[list[rank].server].local))
        rank++;
    return rank;
}

static void fill_fan(place_view *v)
{
    const place_times *t = v->t;
    const problem_node *node = &t->gr->p->nodes[v->global];
    double in_s = INFINITY, out_s = INFINITY, head_s = INFINITY;
    double first_s = 0, all_s = 0;
    size_t rank = 0, others = 0;
    bool own = v->relay[v->global].local && t->start_s[v->global] < INFINITY;
    for (size_t j = 0; j < t->gr->count; j++) {
        if (!v->relay[j].local || t->start_s[j] == INFINITY)
            continue;
        head_s = smaller_of(head_s, t->start_s[j]);
        if (j == v->global)
            continue;
        others++;
        in_s = smaller_of(in_s, problem_latency_s(t->gr->p, j, v->global));
        out_s = smaller_of(out_s, problem_latency_s(t->gr->p, v->global, j));
    }
    v->fan[0] = (place_limits){0};
    for (size_t k = 1; k <= (size_t)v->most_locals; k++) {
        size_t remote = k - own;
        double count = (double)k, flows = (double)remote,
               each_sum_s = count / node->sum_bytes_per_s;
        place_limits *need = &v->fan[k];
        if (remote > others) {
            *need = nothing;
            continue;
        }
        double arrived_s = head_s, sent_s = 0, last_sent_s = 0;
        if (remote > 0) {
            rank = next_other(v, t->starts, rank);
            double start_s = t->starts[rank++].value;
            first_s = larger_of(first_s, start_s) + t->first_wire / node->down_bytes_per_s;
            all_s = larger_of(all_s, start_s) + t->all_wire / node->down_bytes_per_s;
            arrived_s = first_s + in_s;
            sent_s = flows * t->all_wire / node->up_bytes_per_s + out_s;
            last_sent_s = flows * t->last_wire / node->up_bytes_per_s + out_s;
        }
        need->first_in_s = arrived_s + t->first_sum * each_sum_s;
        need->all_in_s = larger_of(all_s + (remote ? in_s : 0) + t->last_sum * each_sum_s,
                                   arrived_s + t->all_sum * each_sum_s);
        need->all_out_s = sent_s;
        need->last_out_s = last_sent_s;
        need->round_s =
            larger_of(need->all_in_s + need->last_out_s, need->first_in_s + need->all_out_s);
    }
}

/* For the counting bound. */
static void fill_rates(place_view *v)
{
    const place_times *t = v->t;
    for (size_t way = 0; way < PLACE_TURNS; way++)
        for (size_t k = 0, rank = 0; k < (size_t)v->most_locals; k++, rank++) {
            rank = next_other(v, t->rates[way], rank);
            if (rank == t->gr->count)
                break;
            v->rate[way * (size_t)v->most_locals + k] = t->rates[way][rank].value;
        }
}

/* Can k local servers take all workers, given that the global server's links serve them one after
 * another at best? `own`: workers of the global server's node as one of them. */
static bool enough_turns(const place_view *v, double left_s, double turn_s, place_turns way,
                         size_t k, double own)
{
    const double *rate = v->rate + way * (size_t)v->most_locals;
    double workers = (double)v->t->gr->worker_count;
    double others = 0, all_but_last = 0; /* what k, k - 1 servers on other nodes take */
    for (size_t turn = 0; turn < k; turn++) {
        all_but_last = others;
        left_s -= turn_s;
        others += 1 + (left_s > 0 ? smaller_of(left_s * rate[turn], workers) : 0);
    }
    return larger_of(others, own + all_but_last) >= workers * (1 - 1e-9);
}

static bool enough_ways(const place_view *v, const place_limits *limits, size_t k, double own)
{
    const place_times *t = v->t;
    const problem_node *node = &t->gr->p->nodes[v->global];
    double in_s = t->all_wire / node->down_bytes_per_s, out_s = t->all_wire / node->up_bytes_per_s;
    double busy_s = t->compute_s[0] + (double)k * t->all_sum / node->sum_bytes_per_s;
    return enough_turns(v, limits->all_in_s - busy_s, in_s, PLACE_TURNS_IN, k, own) &&
           enough_turns(v, limits->all_out_s, out_s, PLACE_TURNS_OUT, k, own) &&
           enough_turns(v, limits->round_s - busy_s, in_s + out_s, PLACE_TURNS_BOTH, k, own);
}

int32_t place_view_locals(const place_view *v, const place_limits *limits,
                          const place_limits *turns)
{
    int32_t k = 0;
    while (k < v->most_locals && place_keeps(&v->fan[k + 1], limits))
        k++;
    if (v->t->first_wire < v->t->all_wire)
        return k;
    double own = place_view_cap(v, limits, v->global);
    while (k > 0 && !enough_ways(v, turns, (size_t)k, own))
        k--;
    return k;
}

/* ---- making ---- */

static place_limits larger(place_limits a, place_limits b)
{
    return (place_limits){larger_of(a.round_s, b.round_s),
                          larger_of(a.first_in_s, b.first_in_s),
                          larger_of(a.all_in_s, b.all_in_s),
                          larger_of(a.all_out_s, b.all_out_s),
                          larger_of(a.last_out_s, b.last_out_s),
                          0,
                          0};
}

static place_limits smaller(place_limits a, place_limits b)
{
    return (place_limits){smaller_of(a.round_s, b.round_s),
                          smaller_of(a.first_in_s, b.first_in_s),
                          smaller_of(a.all_in_s, b.all_in_s),
                          smaller_of(a.all_out_s, b.all_out_s),
                          smaller_of(a.last_out_s, b.last_out_s),
                          0,
                          0};
}

/* Each hard worker where it is least. */
static void fill_least(place_view *v)
{
    const place_times *t = v->t;
    v->least = v->fan[v->most_locals > 0];
    for (size_t h = 0; h < t->hard_count; h++) {
        place_limits best = nothing;
        for (size_t j = 0; j < t->gr->count; j++)
            if (v->relay[j].local)
                best = smaller(best, place_view_chain(v, 0, j, t->hard[h]));
        v->least = larger(v->least, best);
    }
}

static void fill_view(place_view *v)
{
    const place_ground *gr = v->t->gr;
    for (size_t j = 0; j < gr->count; j++)
        if (place_joins(gr, v->global, j) && place_room(gr, v->global, 1, j) > 0)
            v->relay[j] = relay_of(v->t, v->global, j);
    fill_fan(v);
    if (v->t->first_wire == v->t->all_wire)
        fill_rates(v);
    fill_least(v);
}

edgeps_err place_view_make(const place_times *t, size_t global, place_view *out)
{
    size_t count = t->gr->count, most = (size_t)t->gr->fan[global];
    place_view v = {.t = t, .global = global, .most_locals = (int32_t)most};
    v.relay = mem_alloc(count, sizeof *v.relay);
    v.fan = mem_alloc(most + 1, sizeof *v.fan);
    v.rate = mem_alloc(PLACE_TURNS * most, sizeof *v.rate);
    v.chain = mem_alloc(count, sizeof *v.chain);
    v.load = mem_alloc(count, sizeof *v.load);
    if (!v.relay || !v.fan || !v.rate || !v.chain || !v.load) {
        place_view_free(&v);
        return EDGEPS_NOMEM;
    }
    fill_view(&v);
    *out = v;
    return EDGEPS_OK;
}

void place_view_free(place_view *v)
{
    for (size_t j = 0; v->chain && v->load && j < v->t->gr->count; j++) {
        mem_free(v->chain[j]);
        mem_free(v->load[j]);
    }
    mem_free(v->relay);
    mem_free(v->fan);
    mem_free(v->rate);
    mem_free(v->chain);
    mem_free(v->load);
    *v = (place_view){0};
}

edgeps_err place_view_rows(place_view *v, size_t server)
{
    size_t count = v->t->gr->count;
    if (v->chain[server])
        return EDGEPS_OK;
    double *chain = mem_alloc(count, sizeof *chain);
    double *load = mem_alloc(count + 1, sizeof *load);
    if (!chain || !load) {
        mem_free(chain);
        mem_free(load);
        return EDGEPS_NOMEM;
    }
    for (size_t i = 0; i < count; i++)
        chain[i] = place_view_chain(v, 0, server, i).round_s;
    for (size_t m = 1; m <= count; m++)
        load[m] = v->relay[server].local ? place_view_load(v, 0, server, m).round_s : INFINITY;
    v->chain[server] = chain;
    v->load[server] = load;
    return EDGEPS_OK;
}

edgeps_err place_view_all_rows(place_view *v)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t j = 0; !err && j < v->t->gr->count; j++)
        err = place_view_rows(v, j);
    return err;
}
