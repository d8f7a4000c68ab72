/* The links of a network from the edges of a topology: what is left out, what is missing, what is
 * one. */
#include "formats/topology_int.h"

#include "base/mem.h"
#include "formats/quantity.h"

#include <math.h>
#include <stdlib.h>

#define EARTH_RADIUS_M 6371008.8 /* mean, of IUGG */
#define RADIANS_PER_DEG 0.017453292519943295
#define MOST_LISTED 200 /* lines of the report on one matter */

typedef topology_draft draft;

edgeps_err topology_no_memory(edgeps_diag *diag)
{
    return diag_fail(diag, EDGEPS_NOMEM, "no memory for the network of a topology");
}

const char *topology_shown(const topology *graph, uint32_t v)
{
    return graph->nodes[v].label ? graph->nodes[v].label : graph->nodes[v].name;
}

static edgeps_err keep_nodes(draft *d, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t v = 0; !err && v < d->graph->node_count; v++) {
        d->kept[v] = d->options->keep_external || !d->graph->nodes[v].external;
        if (!d->kept[v])
            err = topology_report_add(&d->report, "%s: left out, is of another network",
                                      topology_shown(d->graph, (uint32_t)v));
    }
    return err ? topology_no_memory(diag) : EDGEPS_OK;
}

static void keep_edges(draft *d)
{
    for (size_t k = 0; k < d->graph->edge_count; k++) {
        const topology_edge *edge = &d->graph->edges[k];
        if (d->kept[edge->from] && d->kept[edge->to])
            d->edges[d->edge_count++] = *edge;
    }
}

/* ---- gaps */

/* Whether `next` is the other direction of `edge`, as readers append what has none. */
static bool opposite(const topology_edge *edge, const topology_edge *next)
{
    return edge->from == next->to && edge->to == next->from && edge->from != edge->to;
}

static edgeps_err list_edges(draft *d, const bool *marked)
{
    edgeps_err err = EDGEPS_OK;
    size_t listed = 0, more = 0;
    for (size_t k = 0; !err && k < d->edge_count; k++) {
        const topology_edge *edge = &d->edges[k];
        if (!marked[k])
            continue;
        bool both = k + 1 < d->edge_count && marked[k + 1] && opposite(edge, edge + 1);
        if (listed++ < MOST_LISTED)
            err =
                topology_report_add(&d->report, "  %s %s %s", topology_shown(d->graph, edge->from),
                                    both ? "--" : "->", topology_shown(d->graph, edge->to));
        else
            more++;
        k += both;
    }
    if (!err && more)
        err = topology_report_add(&d->report, "  and %zu more", more);
    return err;
}

/* Tells what was filled in, and where, unless it was everywhere. */
static edgeps_err tell_filled(draft *d, const bool *marked, size_t missing, const char *what,
                              const char *taken)
{
    bool all = missing == d->edge_count;
    edgeps_err err =
        topology_report_add(&d->report, "%zu of %zu link directions have no %s; %s is taken%s",
                            missing, d->edge_count, what, taken, all ? "" : ":");
    return err || all ? err : list_edges(d, marked);
}

static edgeps_err fill_speeds(draft *d, bool *marked, edgeps_diag *diag)
{
    size_t missing = 0;
    double rate = d->options->link_bytes_per_s;
    for (size_t k = 0; k < d->edge_count; k++)
        missing += marked[k] = isnan(d->edges[k].bytes_per_s);
    if (missing == 0)
        return EDGEPS_OK;
    if (rate == 0)
        return diag_fail(diag, EDGEPS_FORMAT,
                         "%zu of %zu link directions have no speed; give one for all of them, "
                         "such as --default-rate \"1 Gbit/s\"",
                         missing, d->edge_count);
    for (size_t k = 0; k < d->edge_count; k++)
        if (marked[k])
            d->edges[k].bytes_per_s = rate;
    char text[QUANTITY_TEXT_BYTES];
    quantity_text(QUANTITY_RATE, rate, text);
    return tell_filled(d, marked, missing, "speed", text) ? topology_no_memory(diag) : EDGEPS_OK;
}

/* Haversine: well conditioned for near places. */
static double distance_m(const topology_node *a, const topology_node *b)
{
    double lat_a = a->latitude_deg * RADIANS_PER_DEG, lat_b = b->latitude_deg * RADIANS_PER_DEG;
    double half_lat = sin((lat_b - lat_a) / 2);
    double half_lon = sin((b->longitude_deg - a->longitude_deg) * RADIANS_PER_DEG / 2);
    double square = half_lat * half_lat + cos(lat_a) * cos(lat_b) * half_lon * half_lon;
    return 2 * EARTH_RADIUS_M * asin(sqrt(square > 1 ? 1 : square));
}

/* NAN where a place is not known. In whole microseconds: what mathematical libraries differ in lies
 * far below. */
static double signal_s(const draft *d, const topology_edge *edge)
{
    double metres = distance_m(&d->graph->nodes[edge->from], &d->graph->nodes[edge->to]);
    return round(metres * d->options->cable_factor / TOPOLOGY_SIGNAL_M_PER_S * 1e6) / 1e6;
}

static edgeps_err fill_latencies(draft *d, bool *marked, edgeps_diag *diag)
{
    size_t missing = 0, measured = 0;
    double latency_s = d->options->link_latency_s;
    if (!(latency_s >= 0 && latency_s <= ROUTE_MAX_LATENCY_S))
        return diag_fail(diag, EDGEPS_USAGE, "--default-latency: is not between 0 and a day");
    for (size_t k = 0; k < d->edge_count; k++) {
        topology_edge *edge = &d->edges[k];
        marked[k] = false;
        if (!isnan(edge->latency_s))
            continue;
        if (d->options->cable_factor > 0)
            edge->latency_s = signal_s(d, edge);
        measured += !isnan(edge->latency_s);
        missing += marked[k] = isnan(edge->latency_s);
        if (marked[k])
            edge->latency_s = latency_s;
    }
    edgeps_err err = EDGEPS_OK;
    if (measured)
        err = topology_report_add(&d->report,
                                  "%zu of %zu link directions have no latency; that of a cable of "
                                  "%g times the distance is taken",
                                  measured, d->edge_count, d->options->cable_factor);
    if (!err && missing) {
        char text[QUANTITY_TEXT_BYTES];
        quantity_text(QUANTITY_TIME, latency_s, text);
        err = tell_filled(d, marked, missing, "latency", text);
    }
    return err ? topology_no_memory(diag) : EDGEPS_OK;
}

static edgeps_err tell_rest(draft *d, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    size_t unlimited = 0;
    for (size_t k = 0; k < d->edge_count; k++)
        unlimited += isinf(d->edges[k].bytes_per_s);
    if (unlimited)
        err = topology_report_add(&d->report,
                                  "%zu of %zu link directions have no speed of their own; the "
                                  "rates of the nodes limit them",
                                  unlimited, d->edge_count);
    if (!err && d->graph->lossy_count)
        err = topology_report_add(&d->report,
                                  "links with packet loss or jitter, which is left out: %zu",
                                  d->graph->lossy_count);
    return err ? topology_no_memory(diag) : EDGEPS_OK;
}

static edgeps_err fill_gaps(draft *d, edgeps_diag *diag)
{
    bool *marked = mem_alloc(d->edge_count, sizeof *marked);
    if (!marked)
        return topology_no_memory(diag);
    edgeps_err err = fill_speeds(d, marked, diag);
    if (!err)
        err = fill_latencies(d, marked, diag);
    if (!err)
        err = tell_rest(d, diag);
    mem_free(marked);
    return err;
}

/* ---- parallel edges */

/* By ends; what is equal after that is equal in all, so the order of the file does not matter. */
static int compare_edges(const void *a, const void *b)
{
    const topology_edge *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    if (x->bytes_per_s != y->bytes_per_s)
        return x->bytes_per_s < y->bytes_per_s ? -1 : 1;
    return (x->latency_s > y->latency_s) - (x->latency_s < y->latency_s);
}

/* Rates add up; the latency is what a byte meets on average when the load is spread by rate. */
static void join(topology_edge *into, const topology_edge *edge)
{
    double sum = into->bytes_per_s + edge->bytes_per_s;
    double share = sum > 0 ? edge->bytes_per_s / sum : 0;
    if (isinf(sum)) /* edges come in the order of their rates */
        share = 1;
    into->latency_s += (edge->latency_s - into->latency_s) * share;
    into->bytes_per_s = sum;
}

static edgeps_err tell_joined(draft *d, const topology_edge *edge, size_t parallel)
{
    char text[QUANTITY_TEXT_BYTES] = "no limit";
    if (isfinite(edge->bytes_per_s))
        quantity_text(QUANTITY_RATE, edge->bytes_per_s, text);
    return topology_report_add(&d->report, "%s -> %s: %zu parallel links are one, %s",
                               topology_shown(d->graph, edge->from),
                               topology_shown(d->graph, edge->to), parallel, text);
}

static edgeps_err join_parallel(draft *d, edgeps_diag *diag)
{
    size_t joined = 0;
    qsort(d->edges, d->edge_count, sizeof *d->edges, compare_edges);
    for (size_t k = 0; k < d->edge_count;) {
        topology_edge edge = d->edges[k];
        size_t next = k + 1;
        for (; next < d->edge_count && d->edges[next].from == edge.from &&
               d->edges[next].to == edge.to;
             next++)
            join(&edge, &d->edges[next]);
        if (next - k > 1 && tell_joined(d, &edge, next - k))
            return topology_no_memory(diag);
        d->edges[joined++] = edge;
        k = next;
    }
    d->edge_count = joined;
    for (size_t k = 0; k < joined; k++) {
        const topology_edge *edge = &d->edges[k];
        if (edge->from == edge->to)
            continue;
        d->out_bytes_per_s[edge->from] += edge->bytes_per_s;
        d->in_bytes_per_s[edge->to] += edge->bytes_per_s;
    }
    return EDGEPS_OK;
}

edgeps_err topology_fill(draft *d, edgeps_diag *diag)
{
    edgeps_err err = keep_nodes(d, diag);
    if (err)
        return err;
    keep_edges(d);
    err = fill_gaps(d, diag);
    return err ? err : join_parallel(d, diag);
}
