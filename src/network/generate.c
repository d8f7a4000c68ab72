#include "network/generate.h"

#include "base/mem.h"
#include "base/rng.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define SITE_LATENCY_S 200e-6       /* middle of a node's way to its site's switch */
#define NODE_LATENCY_S 5e-3         /* middle of an access link's latency without sites */
#define PLANE_KM 2000               /* side of the square where sites lie */
#define FIBRE_KM_PER_S 200e3        /* two thirds of the speed of light */
#define DETOUR 1.5                  /* cables over the straight line */
#define LATENCY_JITTER 0.2          /* the way back differs by up to this part */
#define RATE_STEP_BYTES_PER_S 125.0 /* 1 kbit/s */
#define FREE_STEP_BYTES 1024.0
#define US_PER_S 1e6
#define MOST_MIDDLE 1e15 /* the largest spread around it stays a quantity */

/* What is drawn for one use does not shift what is drawn for another. */
enum { STREAM_NODES = 1, STREAM_SITES, STREAM_PAIRS, STREAM_STORAGE /* + epoch */ };

const char *const generate_kind_names[] = {
    [GENERATE_TWO_TIER] = "two-tier",
    [GENERATE_THESIS] = "thesis",
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
        .wan_bytes_per_s = 50e6 / 8,
        .compute_samples_per_s = 1000,
        .free_bytes = 8 << 20,
        .epochs = kind == GENERATE_THESIS ? 5 : 1,
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
    double latency_s = o->kind == GENERATE_TWO_TIER ? SITE_LATENCY_S : NODE_LATENCY_S;
    for (size_t i = 0; i < net->count; i++) {
        network_node *node = &net->nodes[i];
        node->name = numbered("n", i + 1, net->count);
        if (!node->name)
            return no_memory(diag);
        node->down_bytes_per_s = draw(&r, o->rate_bytes_per_s, o->spread, RATE_STEP_BYTES_PER_S);
        node->up_bytes_per_s =
            draw_part(&r, node->down_bytes_per_s, o->spread, RATE_STEP_BYTES_PER_S);
        node->compute_samples_per_s = draw(&r, o->compute_samples_per_s, o->spread, 1);
        node->access_s = draw_time_s(&r, latency_s, o->spread);
        node->free_bytes =
            (int64_t)draw(&storage, (double)o->free_bytes, o->spread, FREE_STEP_BYTES);
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
            event->value = draw(&r, (double)o->free_bytes, o->spread, FREE_STEP_BYTES);
        }
    }
    return EDGEPS_OK;
}

typedef struct site {
    double x_km;
    double y_km;
    double up_bytes_per_s;
    double down_bytes_per_s;
} site;

static void draw_pairs(network *net, const generate_options *o, const site *sites)
{
    rng r = rng_make(o->seed, STREAM_PAIRS);
    size_t n = net->site_count;
    for (size_t from = 0; from < n; from++)
        for (size_t to = 0; to < n; to++) {
            if (from == to)
                continue;
            double x = sites[from].x_km - sites[to].x_km, y = sites[from].y_km - sites[to].y_km;
            double way_s = sqrt(x * x + y * y) * DETOUR / FIBRE_KM_PER_S;
            way_s *= 1 + LATENCY_JITTER * rng_uniform(&r);
            net->latency_s[from * n + to] = round_to(way_s * US_PER_S, 1) / US_PER_S;
            net->cap_bytes_per_s[from * n + to] =
                fmin(sites[from].up_bytes_per_s, sites[to].down_bytes_per_s);
        }
}

/* No site stays empty; beyond that, nodes choose among all of them. */
static edgeps_err draw_sites(network *net, const generate_options *o, edgeps_diag *diag)
{
    rng r = rng_make(o->seed, STREAM_SITES);
    site *sites = mem_alloc(net->site_count, sizeof *sites);
    net->site_names = mem_alloc(net->site_count, sizeof *net->site_names);
    bool good = sites && net->site_names;
    for (size_t s = 0; good && s < net->site_count; s++) {
        sites[s].x_km = (double)rng_below(&r, PLANE_KM);
        sites[s].y_km = (double)rng_below(&r, PLANE_KM);
        sites[s].down_bytes_per_s = draw(&r, o->wan_bytes_per_s, o->spread, RATE_STEP_BYTES_PER_S);
        sites[s].up_bytes_per_s =
            draw_part(&r, sites[s].down_bytes_per_s, o->spread, RATE_STEP_BYTES_PER_S);
        net->site_names[s] = numbered("site", s + 1, net->site_count);
        good = net->site_names[s] != NULL;
    }
    if (good) {
        for (size_t i = 0; i < net->count; i++)
            net->nodes[i].site =
                (uint32_t)(i < net->site_count ? i : rng_below(&r, net->site_count));
        draw_pairs(net, o, sites);
    }
    mem_free(sites);
    return good ? EDGEPS_OK : no_memory(diag);
}

static edgeps_err check(const generate_options *o, edgeps_diag *diag)
{
    if (!(o->spread >= 1 && o->spread <= GENERATE_MAX_SPREAD))
        return diag_fail(diag, EDGEPS_USAGE, "spread: %g is not within 1 and %g", o->spread,
                         GENERATE_MAX_SPREAD);
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
    return EDGEPS_OK;
}

static size_t site_count(const generate_options *o)
{
    if (o->kind != GENERATE_TWO_TIER)
        return 1;
    return o->sites ? o->sites : (size_t)ceil(sqrt((double)o->nodes));
}

edgeps_err generate_network(const generate_options *o, edgeps_diag *diag, network **out)
{
    network *net = NULL;
    edgeps_err err = check(o, diag);
    if (!err)
        err = network_make_sites(o->nodes, site_count(o), diag, &net);
    if (!err)
        err = name_network(net, o, diag);
    if (!err)
        err = draw_nodes(net, o, diag);
    if (!err && o->kind == GENERATE_TWO_TIER)
        err = draw_sites(net, o, diag);
    if (!err)
        err = draw_scenario(net, o, diag);
    if (err)
        network_free(net);
    else
        *out = net;
    return err;
}
