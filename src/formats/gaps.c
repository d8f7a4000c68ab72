#include "formats/gaps_int.h"

#include "formats/quantity.h"

#include <math.h>

#define MOST_LISTED 200 /* lines of the report on one kind of gap */

edgeps_err gaps_make(size_t count, bool pairs, edgeps_diag *diag, network **out)
{
    network *net = NULL;
    edgeps_err err =
        pairs ? network_make(count, diag, &net) : network_make_sites(count, 1, diag, &net);
    if (err)
        return err;
    for (size_t i = 0; i < count; i++) {
        network_node *node = &net->nodes[i];
        node->up_bytes_per_s = node->down_bytes_per_s = node->compute_samples_per_s = NAN;
        node->free_bytes = -1;
    }
    for (size_t i = 0; pairs && i < count; i++)
        for (size_t j = 0; j < count; j++)
            if (i != j) {
                network_set_latency_s(net, i, j, NAN);
                network_set_cap_bytes_per_s(net, i, j, NAN);
            }
    *out = net;
    return EDGEPS_OK;
}

/* ---- nodes */

static double best_pair(const network *net, const topology_options *o, size_t i, bool up)
{
    double best = 0;
    for (size_t j = 0; j < net->count; j++) {
        double cap = up ? network_cap_bytes_per_s(net, i, j) : network_cap_bytes_per_s(net, j, i);
        if (i != j && isfinite(cap))
            best = fmax(best, cap);
    }
    if (best > 0)
        return best;
    return o->host_bytes_per_s > 0 ? o->host_bytes_per_s : NAN;
}

static double best_up(const network *net, const topology_options *o, size_t i)
{
    return best_pair(net, o, i, true);
}

static double best_down(const network *net, const topology_options *o, size_t i)
{
    return best_pair(net, o, i, false);
}

static double usual_speed(const network *net, const topology_options *o, size_t i)
{
    if (!net->nodes[i].train)
        return 0;
    return o->compute_samples_per_s > 0 ? o->compute_samples_per_s : TOPOLOGY_COMPUTE_SAMPLES_PER_S;
}

static double usual_free(const network *net, const topology_options *o, size_t i)
{
    if (!net->nodes[i].serve)
        return 0;
    return (double)(o->free_bytes ? o->free_bytes : TOPOLOGY_FREE_BYTES);
}

enum { UP, DOWN, COMPUTE, FREE, FIELDS };

static const struct {
    const char *name;
    const char *source;
    quantity_kind kind;
    double (*fill)(const network *net, const topology_options *o, size_t i);
} fields[FIELDS] = {
    [UP] = {"up rate", "the best of its pairs, or the default,", QUANTITY_RATE, best_up},
    [DOWN] = {"down rate", "the best of its pairs, or the default,", QUANTITY_RATE, best_down},
    [COMPUTE] = {"speed", "the default", QUANTITY_SPEED, usual_speed},
    [FREE] = {"free storage", "the default", QUANTITY_SIZE, usual_free},
};

static bool missing(const network_node *node, int field)
{
    const double values[FIELDS] = {
        [UP] = node->up_bytes_per_s,
        [DOWN] = node->down_bytes_per_s,
        [COMPUTE] = node->compute_samples_per_s,
        [FREE] = node->free_bytes < 0 ? NAN : 0,
    };
    return isnan(values[field]);
}

static void put(network_node *node, int field, double value)
{
    if (field == UP)
        node->up_bytes_per_s = value;
    else if (field == DOWN)
        node->down_bytes_per_s = value;
    else if (field == COMPUTE)
        node->compute_samples_per_s = value;
    else
        node->free_bytes = (int64_t)value;
}

static edgeps_err no_memory(edgeps_diag *diag)
{
    return diag_fail(diag, EDGEPS_NOMEM, "no memory for the report");
}

static edgeps_err list_more(topology_report *report, size_t count)
{
    return count > MOST_LISTED ? topology_report_add(report, "  and %zu more", count - MOST_LISTED)
                               : EDGEPS_OK;
}

static edgeps_err fill_nodes(network *net, const topology_options *o, int field, edgeps_diag *diag,
                             topology_report *report)
{
    size_t count = 0, listed = 0;
    char text[QUANTITY_TEXT_BYTES];
    for (size_t i = 0; i < net->count; i++)
        count += missing(&net->nodes[i], field);
    if (count && topology_report_add(report, "%zu of %zu nodes have no %s; %s is taken:", count,
                                     net->count, fields[field].name, fields[field].source))
        return no_memory(diag);
    for (size_t i = 0; i < net->count; i++) {
        network_node *node = &net->nodes[i];
        if (!missing(node, field))
            continue;
        double value = fields[field].fill(net, o, i);
        if (isnan(value))
            return diag_fail(diag, EDGEPS_FORMAT,
                             "node '%.63s': has no %s, and no pair tells one; give one for all "
                             "such nodes, such as --host-rate \"100 Mbit/s\"",
                             node->name, fields[field].name);
        put(node, field, value);
        quantity_text(fields[field].kind, value, text);
        if (listed++ < MOST_LISTED && topology_report_add(report, "  %s: %s", node->name, text))
            return no_memory(diag);
    }
    return list_more(report, count) ? no_memory(diag) : EDGEPS_OK;
}

/* ---- pairs */

static bool unknown(const network *net, size_t i, size_t j, bool latency)
{
    return i != j &&
           isnan(latency ? network_latency_s(net, i, j) : network_cap_bytes_per_s(net, i, j));
}

static edgeps_err list_pairs(const network *net, bool latency, const char *what,
                             topology_report *report)
{
    size_t count = 0, listed = 0, n = net->count;
    for (size_t k = 0; k < n * n; k++)
        count += unknown(net, k / n, k % n, latency);
    if (!count)
        return EDGEPS_OK;
    if (count == n * (n - 1))
        return topology_report_add(report, "no direction has a %s", what);
    edgeps_err err =
        topology_report_add(report, "%zu of %zu directions have no %s:", count, n * (n - 1), what);
    for (size_t k = 0; !err && k < n * n && listed < MOST_LISTED; k++)
        if (unknown(net, k / n, k % n, latency)) {
            listed++;
            err = topology_report_add(report, "  %s -> %s", net->nodes[k / n].name,
                                      net->nodes[k % n].name);
        }
    return err ? err : list_more(report, count);
}

/* Pairs have latencies of their own: they take up what the nodes say of theirs. */
static void fill_pairs(network *net, double preset_s)
{
    for (size_t i = 0; i < net->count; i++)
        for (size_t j = 0; j < net->count; j++) {
            double own_s = net->nodes[i].access_s + net->nodes[j].access_s;
            if (unknown(net, i, j, true))
                network_set_latency_s(net, i, j, own_s > 0 ? own_s : preset_s);
            if (unknown(net, i, j, false))
                network_set_cap_bytes_per_s(net, i, j, INFINITY);
        }
    for (size_t i = 0; i < net->count; i++)
        net->nodes[i].access_s = 0;
}

edgeps_err gaps_fill(network *net, const topology_options *options, edgeps_diag *diag,
                     topology_report *report)
{
    edgeps_err err = EDGEPS_OK;
    for (int field = 0; !err && field < FIELDS; field++)
        err = fill_nodes(net, options, field, diag, report);
    if (err)
        return err;
    if (net->site_count > 1) {
        if (list_pairs(net, false, "rate; the nodes' alone limit them", report) ||
            list_pairs(net, true, "latency; the nodes' own or the default is taken", report))
            return no_memory(diag);
        fill_pairs(net, options->link_latency_s);
    }
    return network_check(net, diag);
}
