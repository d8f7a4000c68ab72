/* The threshold problem of one global server: which server may take which worker, how many, and how
 * many servers, within limits of a round. Every restriction is a relaxation of what a plan within
 * these limits must keep, so what is refused here is refused for all plans. The proofs are in
 * docs/algorithms/approx.md, section "Bounds". */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>

#define NO_MOMENT                                                                                  \
    {                                                                                              \
        INFINITY, INFINITY, INFINITY                                                               \
    }

static const place_limits nothing = {INFINITY, NO_MOMENT, NO_MOMENT, 0, 0};

place_limits place_whole_round(double round_s)
{
    return (place_limits){round_s, NO_MOMENT, NO_MOMENT, 0, INFINITY};
}

place_limits place_halves(double round_s, moment from, moment to)
{
    moment out_s = {round_s - from.first_s, round_s - from.body_s, round_s - from.all_s};
    return (place_limits){round_s, to, out_s, 0, INFINITY};
}

place_limits place_spread(const place_view *v, place_limits halves, const double spread_s[2])
{
    double each_s = v->t->sent.all / v->t->gr->p->nodes[v->global].up_bytes_per_s;
    halves.spread_s = spread_s[0];
    if (each_s > 0)
        halves.purse = spread_s[1] / each_s * (1 + 1e-9);
    return halves;
}

place_limits place_waiting(const place_view *v, const place_limits *halves, const bool *open)
{
    size_t pulls = 0;
    for (size_t j = 0; j < v->t->gr->count; j++)
        pulls += open[j] && j != v->global;
    moment summed = moment_at(halves->in_s.all_s);
    double wait_s = (double)pulls * v->t->sent.all * v->t->pace[v->global].up_s;
    place_limits waiting = place_halves(halves->round_s + wait_s, summed, summed);
    waiting.spread_s = wait_s;
    return waiting;
}

static inline bool within(moment need, moment limit)
{
    return need.first_s <= limit.first_s && need.body_s <= limit.body_s &&
           need.all_s <= limit.all_s;
}

bool place_keeps(const place_limits *need, const place_limits *limits)
{
    return need->round_s <= limits->round_s && within(need->in_s, limits->in_s) &&
           within(need->out_s, limits->out_s);
}

static place_relay relay_of(const place_times *t, size_t global, size_t j)
{
    const problem *p = t->gr->p;
    double push_s = place_pace_s(t, j, global), pull_s = place_pace_s(t, global, j);
    moment_way push = way_through(&t->sent, 1, push_s, place_latency_s(t, j, global));
    moment_way sum = way_through(&t->added, 1, t->pace[global].sum_s, 0);
    place_relay r = {.local = true, .here_s = place_latency_s(t, global, j)};
    r.in = way_then(&push, &sum);
    r.out = way_through(&t->sent, 1, pull_s, r.here_s);
    r.share = j == global ? 0
                          : smaller_of(1, problem_rate_bytes_per_s(p, global, j) /
                                              p->nodes[global].up_bytes_per_s);
    return r;
}

/* What the spread of all pulls adds to the way of one. */
static inline double wait_s(const place_view *v, double spread_s, size_t server)
{
    const place_relay *r = &v->relay[server];
    return larger_of(0, spread_s + r->here_s - r->out.all_all_s);
}

/* When the server has summed what the worker pushes to it. */
static inline moment push_of(const place_times *t, size_t server, size_t worker)
{
    moment pushed = moment_through(&t->sent, moment_at(t->pace[worker].compute_s), 1,
                                   place_pace_s(t, worker, server));
    return moment_through(&t->added, moment_plus(pushed, place_latency_s(t, worker, server)), 1,
                          t->pace[server].sum_s);
}

/* From the global server's sums on; the round as well. */
static inline void add_way_back(const place_view *v, double spread_s, size_t server, size_t worker,
                                place_limits *need)
{
    const place_times *t = v->t;
    double end_s = place_latency_s(t, server, worker);
    moment pull = moment_plus(moment_rest(&t->sent, 1, place_pace_s(t, server, worker)), end_s);
    /* The global server's pulls to its own workers are among those that spread. */
    double wait = server == v->global ? 0 : wait_s(v, spread_s, server);
    if (spread_s > 0 && server == v->global && worker != server)
        pull = moment_later(pull, moment_at(spread_s + end_s));
    need->out_s = way_rest(&v->relay[server].out, pull);
    need->round_s = moment_end_s(need->in_s, need->out_s);
    need->out_s = moment_plus(need->out_s, wait);
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
    place_limits need = {.in_s = way_end(&v->relay[server].in, push_of(v->t, server, worker))};
    add_way_back(v, spread_s, server, worker, &need);
    return need;
}

/* As place_keeps of the chain, but most are refused on the way there. */
static inline bool serves(const place_view *v, const place_limits *limits, size_t server,
                          size_t worker)
{
    if (!has_path(v->t, server, worker))
        return false;
    place_limits need = {.in_s = way_end(&v->relay[server].in, push_of(v->t, server, worker))};
    if (!within(need.in_s, limits->in_s))
        return false;
    add_way_back(v, limits->spread_s, server, worker, &need);
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
    double in_s = limits->in_s.all_s - r->in.all_all_s;
    double out_s = limits->out_s.all_s - r->out.all_all_s - wait_s(v, limits->spread_s, server);
    double both_s = limits->round_s - r->in.all_all_s - r->out.all_all_s;
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
    const place_pace *pace = &t->pace[server];
    const place_relay *r = &v->relay[server];
    bool other = server != v->global; /* its own push, and pull, on the network */
    double count = (double)c->m, flows = count + other, wait = wait_s(v, spread_s, server);
    moment passed = c->passed;
    /* The global server's own workers share its links with the other local servers: these are at
     * least as many as their shares say. */
    if (!other && spread_s > 0)
        passed.all_s =
            larger_of(passed.all_s, t->compute_s[0] + count * t->sent.all * pace->down_s +
                                        spread_s * pace->down_s / pace->up_s);
    moment complete = moment_plus(passed, t->lat_in_s[server]);
    moment summed = moment_through(&t->added, complete, count, pace->sum_s);
    moment rest = moment_plus(moment_rest(&t->sent, count, pace->up_s), t->lat_out_s[server]);
    place_limits need = {.in_s = way_end(&r->in, summed), .out_s = way_rest(&r->out, rest)};
    need.round_s = moment_end_s(need.in_s, need.out_s);
    need.out_s = moment_plus(need.out_s, wait);
    moment first = moment_at(t->compute_s[0]);
    if (other)
        need.round_s = larger_of(need.round_s,
                                 moment_end_s(moment_through(&t->sent, first, flows, pace->down_s),
                                              moment_plus(rest, r->here_s)));
    double up_s = summed.first_s + flows * t->sent.all * pace->up_s + t->lat_out_s[server];
    need.round_s = larger_of(need.round_s, up_s);
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
    double in_s = limits->in_s.all_s - t->compute_s[0] - t->lat_in_s[server] - r->in.all_all_s;
    double out_s = limits->out_s.first_s - r->out.first_first_s - t->lat_out_s[server] -
                   wait_s(v, limits->spread_s, server);
    double round_s = limits->round_s - t->compute_s[0];
    double slow = smaller_of(node->down_bytes_per_s, node->up_bytes_per_s);
    double most = smaller_of(round_s * slow, smaller_of(in_s * node->down_bytes_per_s,
                                                        out_s * node->up_bytes_per_s)) /
                  t->sent.all;
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

/* Latencies, and the earliest first chunk, of the possible local servers. */
typedef struct fan_ends {
    double in_s, out_s, head_s;
    size_t others; /* on other nodes */
} fan_ends;

static fan_ends ends_of(const place_view *v)
{
    const place_times *t = v->t;
    fan_ends e = {INFINITY, INFINITY, INFINITY, 0};
    for (size_t j = 0; j < t->gr->count; j++) {
        if (!v->relay[j].local || t->start_s[j] == INFINITY)
            continue;
        e.head_s = smaller_of(e.head_s, t->start_s[j]);
        if (j == v->global)
            continue;
        e.others++;
        e.in_s = smaller_of(e.in_s, place_latency_s(t, j, v->global));
        e.out_s = smaller_of(e.out_s, place_latency_s(t, v->global, j));
    }
    return e;
}

static void fill_fan(place_view *v)
{
    const place_times *t = v->t;
    const place_pace *pace = &t->pace[v->global];
    fan_ends e = ends_of(v);
    moment passed = moment_at(0);
    size_t rank = 0;
    bool own = v->relay[v->global].local && t->start_s[v->global] < INFINITY;
    v->fan[0] = (place_limits){0};
    for (size_t k = 1; k <= (size_t)v->most_locals; k++) {
        size_t remote = k - own;
        place_limits *need = &v->fan[k];
        if (remote > e.others) {
            *need = nothing;
            continue;
        }
        moment complete = moment_at(e.head_s);
        *need = (place_limits){0};
        if (remote > 0) {
            rank = next_other(v, t->starts, rank);
            passed = place_queue(&t->sent, moment_later(passed, moment_at(t->starts[rank++].value)),
                                 pace->down_s);
            complete = moment_plus(passed, e.in_s);
            need->out_s = moment_plus(moment_rest(&t->sent, (double)remote, pace->up_s), e.out_s);
        }
        need->in_s = moment_through(&t->added, complete, (double)k, pace->sum_s);
        need->round_s = moment_end_s(need->in_s, need->out_s);
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
    double in_s = t->sent.all / node->down_bytes_per_s, out_s = t->sent.all / node->up_bytes_per_s;
    double busy_s = t->compute_s[0] + (double)k * t->added.all / node->sum_bytes_per_s;
    return enough_turns(v, limits->in_s.all_s - busy_s, in_s, PLACE_TURNS_IN, k, own) &&
           enough_turns(v, limits->out_s.first_s, out_s, PLACE_TURNS_OUT, k, own) &&
           enough_turns(v, limits->round_s - busy_s, in_s + out_s, PLACE_TURNS_BOTH, k, own);
}

int32_t place_view_locals(const place_view *v, const place_limits *limits,
                          const place_limits *turns)
{
    int32_t k = 0;
    while (k < v->most_locals && place_keeps(&v->fan[k + 1], limits))
        k++;
    if (!v->t->one_chunk)
        return k;
    double own = place_view_cap(v, limits, v->global);
    while (k > 0 && !enough_ways(v, turns, (size_t)k, own))
        k--;
    return k;
}

/* ---- making ---- */

static place_limits larger(place_limits a, place_limits b)
{
    return (place_limits){.round_s = larger_of(a.round_s, b.round_s),
                          .in_s = moment_later(a.in_s, b.in_s),
                          .out_s = moment_later(a.out_s, b.out_s)};
}

static place_limits smaller(place_limits a, place_limits b)
{
    return (place_limits){.round_s = smaller_of(a.round_s, b.round_s),
                          .in_s = moment_earlier(a.in_s, b.in_s),
                          .out_s = moment_earlier(a.out_s, b.out_s)};
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
    if (v->t->one_chunk)
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
