#include "network/generate.h"

#include "base/mem.h"
#include "base/rng.h"
#include "network/random_graph.h"
#include "network/route.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define SITE_LATENCY_S 200e-6       /* middle of a node's way to its site's switch */
#define NODE_LATENCY_S 5e-3         /* middle of an access link's latency without sites */
#define FIBRE_KM_PER_S 200e3        /* two thirds of the speed of light */
#define DETOUR 1.5                  /* cables over the straight line */
#define LATENCY_JITTER 0.2          /* the way back differs by up to this part */
#define RATE_STEP_BYTES_PER_S 125.0 /* 1 kbit/s */
#define FREE_STEP_BYTES 1024.0
#define US_PER_S 1e6
#define MOST_MIDDLE 1e15 /* the largest spread around it stays a quantity */

/* What is drawn for one use does not shift what is drawn for another. */
enum { STREAM_NODES = 1, STREAM_SITES, STREAM_PAIRS, STREAM_GRAPH, STREAM_STORAGE /* + epoch */ };

const char *const generate_kind_names[] = {
    [GENERATE_TWO_TIER] = "two-tier",
    [GENERATE_THESIS] = "thesis",
    [GENERATE_WAXMAN] = "waxman",
    [GENERATE_BARABASI_ALBERT] = "barabasi-albert",
    NULL,
};

generate_options generate_defaults(generate_kind kind, size_t nodes, uint64_t seed)
{
    return (generate_options){
        .kind = kind,
        .nodes = nodes,
        .seed = seed,
        .spread = 10,
        .rate_bytes_per_s = kind == GENERATE_TWO_TIER ? 1e9 / 8 : 100e6 / 8,
        .wan_bytes_per_s = kind == GENERATE_TWO_TIER ? 50e6 / 8 : 200e6 / 8,
        .compute_samples_per_s = 1000,
        .free_bytes = 8 << 20,
        .epochs = kind == GENERATE_THESIS ? 5 : 1,
        .links = 2,
        .alpha = 0.15,
        .beta = 0.6,
    };
}

/* Whole steps, at least one, of three digits: what the last bit of a library's power decides is
 * rounded away, and files stay readable. */
static double round_to(double value, double step)
{
    double steps = value / step, digit = 1;
    while (steps >= 1000 * digit)
        digit *= 10;
    return fmax(1, floor(steps / digit + 0.5) * digit) * step;
}

static double draw(rng *r, double middle, double spread, double step)
{
    return round_to(middle * pow(spread, rng_uniform(r) - 0.5), step);
}

static double draw_part(rng *r, double whole, double spread, double step)
{
    return round_to(whole * pow(spread, -rng_uniform(r)), step);
}

static double draw_time_s(rng *r, double middle_s, double spread)
{
    return draw(r, middle_s * US_PER_S, spread, 1) / US_PER_S;
}

static char *numbered(const char *stem, size_t number, size_t count)
{
    char text[NETWORK_MAX_NAME + 1];
    int width = snprintf(NULL, 0, "%zu", count);
    snprintf(text, sizeof text, "%s%0*zu", stem, width, number);
    return mem_copy_text(text);
}

static edgeps_err no_memory(edgeps_diag *diag)
{
    return diag_fail(diag, EDGEPS_NOMEM, "no memory for a generated network");
}

static edgeps_err name_network(network *net, const generate_options *o, edgeps_diag *diag)
{
    char text[96];
    snprintf(text, sizeof text, "%s, %zu nodes, seed %" PRIu64, generate_kind_names[o->kind],
             o->nodes, o->seed);
    net->name = mem_copy_text(text);
    return net->name ? EDGEPS_OK : no_memory(diag);
}

static edgeps_err draw_nodes(network *net, const generate_options *o, edgeps_diag *diag)
{
    rng r = rng_make(o->seed, STREAM_NODES), storage = rng_make(o->seed, STREAM_STORAGE + 1);
    double latency_s = o->kind == GENERATE_THESIS ? NODE_LATENCY_S : SITE_LATENCY_S;
    for (size_t i = 0; i < net->count; i++) {
        network_node *node = &net->nodes[i];
        node->name = numbered("n", i + 1, net->count);
        if (!node->name)
            return no_memory(diag);
        node->down_bytes_per_s =
            draw(&r, o->rate_bytes_per_s, o->rate_spread, RATE_STEP_BYTES_PER_S);
        node->up_bytes_per_s =
            draw_part(&r, node->down_bytes_per_s, o->asymmetry, RATE_STEP_BYTES_PER_S);
        node->compute_samples_per_s = draw(&r, o->compute_samples_per_s, o->compute_spread, 1);
        node->access_s = draw_time_s(&r, latency_s, o->spread);
        node->free_bytes =
            (int64_t)draw(&storage, (double)o->free_bytes, o->free_spread, FREE_STEP_BYTES);
    }
    return EDGEPS_OK;
}

static edgeps_err draw_scenario(network *net, const generate_options *o, edgeps_diag *diag)
{
    network_event *event = mem_alloc((size_t)(o->epochs - 1) * net->count, sizeof *event);
    if (!event)
        return no_memory(diag);
    net->events = event;
    net->event_count = (size_t)(o->epochs - 1) * net->count;
    for (int epoch = 2; epoch <= o->epochs; epoch++) {
        rng r = rng_make(o->seed, STREAM_STORAGE + (uint64_t)epoch);
        for (size_t i = 0; i < net->count; i++, event++) {
            event->node = (uint32_t)i;
            event->change = NETWORK_FREE;
            event->epoch = epoch;
            event->value = draw(&r, (double)o->free_bytes, o->free_spread, FREE_STEP_BYTES);
        }
    }
    return EDGEPS_OK;
}

static double cable_s(random_point from, random_point to)
{
    return random_distance_km(from, to) * DETOUR / FIBRE_KM_PER_S;
}

static double whole_us_s(double time_s) { return floor(time_s * US_PER_S + 0.5) / US_PER_S; }

/* Every two sites reach each other, at the lower of the sender's up and the receiver's down rate.
 */
static edgeps_err draw_two_tier(network *net, const generate_options *o, const random_point *at,
                                edgeps_diag *diag)
{
    size_t n = net->site_count;
    rng rates = rng_make(o->seed, STREAM_GRAPH), ways = rng_make(o->seed, STREAM_PAIRS);
    double *up = mem_alloc(n, sizeof *up), *down = mem_alloc(n, sizeof *down);
    for (size_t s = 0; up && down && s < n; s++) {
        down[s] = draw(&rates, o->wan_bytes_per_s, o->rate_spread, RATE_STEP_BYTES_PER_S);
        up[s] = draw_part(&rates, down[s], o->asymmetry, RATE_STEP_BYTES_PER_S);
    }
    for (size_t k = 0; up && down && k < n * n; k++) {
        double detour = 1 + LATENCY_JITTER * rng_uniform(&ways);
        if (k / n == k % n)
            continue;
        net->latency_s[k] = whole_us_s(cable_s(at[k / n], at[k % n]) * detour);
        net->cap_bytes_per_s[k] = fmin(up[k / n], down[k % n]);
    }
    edgeps_err err = up && down ? EDGEPS_OK : no_memory(diag);
    mem_free(up);
    mem_free(down);
    return err;
}

static edgeps_err draw_graph(const generate_options *o, const random_point *at, size_t count,
                             edgeps_diag *diag, random_graph *out)
{
    random_graph graph = {0};
    rng r = rng_make(o->seed, STREAM_GRAPH);
    edgeps_err err = o->kind == GENERATE_WAXMAN
                         ? random_waxman(at, count, o->alpha, o->beta, &r, &graph)
                         : random_barabasi_albert(count, o->links, &r, &graph);
    if (!err)
        err = random_connect(at, count, &graph);
    if (err) {
        random_graph_free(&graph);
        return err == EDGEPS_NOMEM ? no_memory(diag)
                                   : diag_fail(diag, EDGEPS_USAGE,
                                               "the graph has more than %d links; take fewer sites",
                                               RANDOM_MAX_EDGES);
    }
    *out = graph;
    return EDGEPS_OK;
}

/* Both directions of every edge, each with a rate of its own. */
static edgeps_err make_routes(const generate_options *o, const random_point *at,
                              const random_graph *graph, size_t count, route_graph **out)
{
    rng r = rng_make(o->seed, STREAM_PAIRS);
    route_link *links = mem_alloc(2 * graph->edge_count, sizeof *links);
    if (!links)
        return EDGEPS_NOMEM;
    for (size_t k = 0; k < 2 * graph->edge_count; k++) {
        random_edge edge = graph->edges[k / 2];
        links[k] = (route_link){
            .from = k % 2 ? edge.b : edge.a,
            .to = k % 2 ? edge.a : edge.b,
            .latency_s = whole_us_s(cable_s(at[edge.a], at[edge.b])),
            .bytes_per_s = draw(&r, o->wan_bytes_per_s, o->rate_spread, RATE_STEP_BYTES_PER_S),
        };
    }
    edgeps_err err = route_make(count, links, 2 * graph->edge_count, ROUTE_LATENCY, out);
    mem_free(links);
    return err;
}

static edgeps_err draw_routes(network *net, const generate_options *o, const random_point *at,
                              edgeps_diag *diag)
{
    size_t n = net->site_count;
    random_graph graph = {0};
    route_graph *routes = NULL;
    edgeps_err err = draw_graph(o, at, n, diag, &graph);
    if (!err && make_routes(o, at, &graph, n, &routes))
        err = no_memory(diag);
    for (size_t s = 0; !err && s < n; s++)
        route_from(routes, s, net->latency_s + s * n, net->cap_bytes_per_s + s * n);
    for (size_t k = 0; !err && k < n * n; k++) /* sums of whole microseconds */
        net->latency_s[k] = whole_us_s(net->latency_s[k]);
    route_free(routes);
    random_graph_free(&graph);
    return err;
}

/* No site stays empty; beyond that, nodes choose among all of them. */
static edgeps_err draw_sites(network *net, const generate_options *o, edgeps_diag *diag)
{
    rng r = rng_make(o->seed, STREAM_SITES);
    size_t n = net->site_count;
    random_point *at = mem_alloc(n, sizeof *at);
    net->site_names = mem_alloc(n, sizeof *net->site_names);
    edgeps_err err = at && net->site_names ? EDGEPS_OK : no_memory(diag);
    for (size_t s = 0; !err && s < n; s++) {
        at[s] = random_point_draw(&r);
        net->site_names[s] = numbered("site", s + 1, n);
        if (!net->site_names[s])
            err = no_memory(diag);
    }
    for (size_t i = 0; i < net->count; i++)
        net->nodes[i].site = (uint32_t)(i < n ? i : rng_below(&r, n));
    if (!err)
        err = o->kind == GENERATE_TWO_TIER ? draw_two_tier(net, o, at, diag)
                                           : draw_routes(net, o, at, diag);
    mem_free(at);
    return err;
}

static edgeps_err check_spreads(const generate_options *o, edgeps_diag *diag)
{
    const struct {
        const char *name;
        double spread;
    } spreads[] = {
        {"spread", o->spread},           {"rate-spread", o->rate_spread},
        {"asymmetry", o->asymmetry},     {"compute-spread", o->compute_spread},
        {"free-spread", o->free_spread},
    };
    for (size_t k = 0; k < sizeof spreads / sizeof *spreads; k++)
        if (!(spreads[k].spread >= 1 && spreads[k].spread <= GENERATE_MAX_SPREAD))
            return diag_fail(diag, EDGEPS_USAGE, "%s: %g is not within 1 and %g", spreads[k].name,
                             spreads[k].spread, GENERATE_MAX_SPREAD);
    return EDGEPS_OK;
}

static edgeps_err check(const generate_options *o, edgeps_diag *diag)
{
    edgeps_err err = check_spreads(o, diag);
    if (err)
        return err;
    const struct {
        const char *name;
        double middle;
    } middles[] = {
        {"rate", o->rate_bytes_per_s},
        {"wan-rate", o->wan_bytes_per_s},
        {"compute", o->compute_samples_per_s},
        {"free", (double)o->free_bytes},
    };
    for (size_t k = 0; k < sizeof middles / sizeof *middles; k++)
        if (!(middles[k].middle > 0 && middles[k].middle <= MOST_MIDDLE))
            return diag_fail(diag, EDGEPS_USAGE, "%s: must be above 0 and at most %g",
                             middles[k].name, MOST_MIDDLE);
    if (o->epochs < 1 || (uint64_t)o->epochs * o->nodes > GENERATE_MAX_EVENTS)
        return diag_fail(diag, EDGEPS_USAGE,
                         "epochs: %d of %zu nodes; their product is 1 to %d at most", o->epochs,
                         o->nodes, GENERATE_MAX_EVENTS);
    if (o->sites > o->nodes)
        return diag_fail(diag, EDGEPS_USAGE, "sites: %zu are more than the %zu nodes", o->sites,
                         o->nodes);
    if (o->links < 1 || o->links > NETWORK_MAX_SITES)
        return diag_fail(diag, EDGEPS_USAGE, "links: %zu is not within 1 and %d", o->links,
                         NETWORK_MAX_SITES);
    if (!(o->alpha > 0 && o->beta >= 0 && o->beta <= 1))
        return diag_fail(diag, EDGEPS_USAGE, "alpha: must be above 0, beta within 0 and 1");
    return EDGEPS_OK;
}

static size_t site_count(const generate_options *o)
{
    if (o->kind == GENERATE_THESIS)
        return 1;
    if (o->sites)
        return o->sites;
    return o->kind == GENERATE_TWO_TIER ? (size_t)ceil(sqrt((double)o->nodes)) : o->nodes;
}

static void fill_spread(double *own, double spread)
{
    if (*own == 0)
        *own = spread;
}

static generate_options with_spreads(generate_options o)
{
    fill_spread(&o.rate_spread, o.spread);
    fill_spread(&o.asymmetry, o.spread);
    fill_spread(&o.compute_spread, o.spread);
    fill_spread(&o.free_spread, o.spread);
    return o;
}

edgeps_err generate_network(const generate_options *asked, edgeps_diag *diag, network **out)
{
    network *net = NULL;
    const generate_options filled = with_spreads(*asked), *o = &filled;
    edgeps_err err = check(o, diag);
    if (!err)
        err = network_make_sites(o->nodes, site_count(o), diag, &net);
    if (!err)
        err = name_network(net, o, diag);
    if (!err)
        err = draw_nodes(net, o, diag);
    if (!err && o->kind != GENERATE_THESIS)
        err = draw_sites(net, o, diag);
    if (!err)
        err = draw_scenario(net, o, diag);
    if (err)
        network_free(net);
    else
        *out = net;
    return err;
}
