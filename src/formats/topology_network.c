/* Routes and sites: a network from the links of a topology. */
#include "formats/topology_int.h"

#include "base/mem.h"
#include "formats/quantity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef topology_draft draft;

static edgeps_err make_routes(const draft *d, edgeps_diag *diag, route_graph **out)
{
    size_t count = 0;
    route_link *links = mem_alloc(d->edge_count, sizeof *links);
    if (!links)
        return topology_no_memory(diag);
    for (size_t k = 0; k < d->edge_count; k++) {
        const topology_edge *edge = &d->edges[k];
        if (edge->from != edge->to && edge->bytes_per_s > 0)
            links[count++] = (route_link){edge->from, edge->to, edge->latency_s, edge->bytes_per_s};
    }
    edgeps_err err = route_make(d->graph->node_count, links, count, d->options->metric, out);
    mem_free(links);
    return err ? topology_no_memory(diag) : EDGEPS_OK;
}

static bool hosts(const draft *d, size_t v) { return d->kept[v] && !d->graph->nodes[v].junction; }

/* The component with most hosts; of equal ones that of the first host. */
static uint32_t largest(const draft *d, const uint32_t *component, uint32_t *sizes)
{
    uint32_t best = 0;
    for (size_t v = 0; v < d->graph->node_count; v++)
        sizes[component[v]] += hosts(d, v);
    for (size_t v = d->graph->node_count; v-- > 0;)
        if (hosts(d, v) && sizes[component[v]] >= sizes[best])
            best = component[v];
    return best;
}

static edgeps_err refuse_disconnected(const draft *d, size_t outside, uint32_t first,
                                      edgeps_diag *diag)
{
    return diag_fail(diag, EDGEPS_INFEASIBLE,
                     "%zu of %zu nodes have no routes to and from all others, '%.63s' the first; "
                     "leave them out with --drop-disconnected",
                     outside, outside + d->site_count, topology_shown(d->graph, first));
}

static edgeps_err choose_sites(draft *d, const uint32_t *component, uint32_t main_one,
                               edgeps_diag *diag)
{
    size_t outside = 0;
    uint32_t first = 0;
    for (size_t v = d->graph->node_count; v-- > 0;)
        if (hosts(d, v) && component[v] != main_one) {
            outside++;
            first = (uint32_t)v;
        }
    for (size_t v = 0; v < d->graph->node_count; v++) {
        if (!hosts(d, v))
            continue;
        if (component[v] == main_one || d->options->keep_disconnected)
            d->sites[d->site_count++] = (uint32_t)v;
        else if (d->options->drop_disconnected &&
                 topology_report_add(&d->report, "%s: left out, is disconnected",
                                     topology_shown(d->graph, (uint32_t)v)))
            return topology_no_memory(diag);
    }
    if (outside && !d->options->keep_disconnected && !d->options->drop_disconnected)
        return refuse_disconnected(d, outside, first, diag);
    if (d->site_count == 0)
        return diag_fail(diag, EDGEPS_INFEASIBLE,
                         "no node is left; external ones stay with --keep-external");
    return EDGEPS_OK;
}

static edgeps_err find_sites(draft *d, const route_graph *routes, edgeps_diag *diag)
{
    size_t n = d->graph->node_count, count;
    uint32_t *component = mem_alloc(n, sizeof *component);
    uint32_t *sizes = mem_alloc(n, sizeof *sizes);
    edgeps_err err = EDGEPS_NOMEM;
    if (component && sizes)
        err = route_components(routes, component, &count);
    err = err ? topology_no_memory(diag)
              : choose_sites(d, component, largest(d, component, sizes), diag);
    mem_free(component);
    mem_free(sizes);
    return err;
}

/* ---- the network */

static int compare_shown(const void *a, const void *b, void *graph)
{
    return strcmp(topology_shown(graph, *(const uint32_t *)a),
                  topology_shown(graph, *(const uint32_t *)b));
}

/* Whether the site's label is that of another, by the sorted sites. */
static bool ambiguous(const draft *d, const uint32_t *sorted, size_t at)
{
    const char *name = topology_shown(d->graph, sorted[at]);
    return (at > 0 && strcmp(name, topology_shown(d->graph, sorted[at - 1])) == 0) ||
           (at + 1 < d->site_count && strcmp(name, topology_shown(d->graph, sorted[at + 1])) == 0);
}

static char *choose_name(const topology_node *node, bool unclear)
{
    char both[NETWORK_MAX_NAME + 2];
    if (!node->label || strlen(node->label) > NETWORK_MAX_NAME)
        return mem_copy_text(node->name);
    if (!unclear)
        return mem_copy_text(node->label);
    int length = snprintf(both, sizeof both, "%s (%s)", node->label, node->name);
    return mem_copy_text(length <= NETWORK_MAX_NAME ? both : node->name);
}

/* `sites` are in the order of the topology, so the place of one is found by halving. */
static size_t site_of(const draft *d, uint32_t v)
{
    size_t low = 0, high = d->site_count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (d->sites[middle] <= v)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static edgeps_err name_sites(draft *d, edgeps_diag *diag)
{
    bool ok = true;
    uint32_t *sorted = mem_alloc(d->site_count, sizeof *sorted);
    d->names = mem_alloc(d->site_count, sizeof *d->names);
    if (!sorted || !d->names) {
        mem_free(sorted);
        return topology_no_memory(diag);
    }
    memcpy(sorted, d->sites, d->site_count * sizeof *sorted);
    qsort_r(sorted, d->site_count, sizeof *sorted, compare_shown, (void *)d->graph);
    for (size_t k = 0; ok && k < d->site_count; k++) {
        char *name = choose_name(&d->graph->nodes[sorted[k]], ambiguous(d, sorted, k));
        d->names[site_of(d, sorted[k])] = name;
        ok = name != NULL;
    }
    mem_free(sorted);
    return ok ? EDGEPS_OK : topology_no_memory(diag);
}

/* What a host sends and receives at most: what the file says, else the default, else the sum of the
 * links of its place. */
static edgeps_err set_rates(draft *d, uint32_t v, network_node *node, edgeps_diag *diag)
{
    const topology_node *place = &d->graph->nodes[v];
    double preset = d->options->host_bytes_per_s;
    double up = preset > 0 ? preset : d->out_bytes_per_s[v];
    double down = preset > 0 ? preset : d->in_bytes_per_s[v];
    node->up_bytes_per_s = isnan(place->up_bytes_per_s) ? up : place->up_bytes_per_s;
    node->down_bytes_per_s = isnan(place->down_bytes_per_s) ? down : place->down_bytes_per_s;
    if (isfinite(node->up_bytes_per_s) && isfinite(node->down_bytes_per_s))
        return EDGEPS_OK;
    return diag_fail(diag, EDGEPS_FORMAT,
                     "node '%.63s': neither it nor its links have a rate; give one for all such "
                     "nodes, such as --host-rate \"100 Mbit/s\"",
                     topology_shown(d->graph, v));
}

static size_t per_site(const draft *d)
{
    return d->options->nodes_per_site ? d->options->nodes_per_site : 1;
}

static edgeps_err set_node(draft *d, size_t i, network_node *node, edgeps_diag *diag)
{
    size_t site = i / per_site(d);
    char name[2 * NETWORK_MAX_NAME];
    node->site = (uint32_t)site;
    if (per_site(d) == 1)
        node->name = mem_copy_text(d->names[site]);
    else {
        snprintf(name, sizeof name, "%s/%zu", d->names[site], i % per_site(d) + 1);
        node->name = mem_copy_text(name);
    }
    if (!node->name)
        return topology_no_memory(diag);
    double compute = d->options->compute_samples_per_s;
    node->compute_samples_per_s = compute > 0 ? compute : TOPOLOGY_COMPUTE_SAMPLES_PER_S;
    node->free_bytes = d->options->free_bytes ? d->options->free_bytes : TOPOLOGY_FREE_BYTES;
    return set_rates(d, d->sites[site], node, diag);
}

/* Sites are named only where they are not their nodes. */
static edgeps_err name_network(draft *d, network *net, edgeps_diag *diag)
{
    if (d->graph->name && !(net->name = mem_copy_text(d->graph->name)))
        return topology_no_memory(diag);
    if (per_site(d) == 1)
        return EDGEPS_OK;
    net->site_names = d->names;
    d->names = NULL;
    return EDGEPS_OK;
}

static void set_pair(network *net, size_t from, size_t to, double latency_s, double rate)
{
    network_set_latency_s(net, from, to, isfinite(latency_s) ? latency_s : 0);
    network_set_cap_bytes_per_s(net, from, to, rate);
}

static edgeps_err set_pairs(draft *d, route_graph *routes, network *net, edgeps_diag *diag)
{
    size_t n = d->graph->node_count, each = per_site(d);
    double *latency_s = mem_alloc(n, sizeof *latency_s);
    double *bytes_per_s = mem_alloc(n, sizeof *bytes_per_s);
    for (size_t i = 0; latency_s && bytes_per_s && i < d->site_count; i++) {
        route_from(routes, d->sites[i], latency_s, bytes_per_s);
        for (size_t j = 0; j < d->site_count; j++)
            set_pair(net, i * each, j * each, latency_s[d->sites[j]], bytes_per_s[d->sites[j]]);
    }
    bool ok = latency_s && bytes_per_s;
    mem_free(latency_s);
    mem_free(bytes_per_s);
    return ok ? EDGEPS_OK : topology_no_memory(diag);
}

/* What a loop says holds between the nodes of one site. */
static void set_loops(const draft *d, network *net)
{
    for (size_t k = 0; k < d->edge_count; k++) {
        const topology_edge *edge = &d->edges[k];
        size_t site = site_of(d, edge->from), at = site * per_site(d);
        if (edge->from == edge->to && d->sites[site] == edge->from && per_site(d) > 1)
            set_pair(net, at, at, edge->latency_s, edge->bytes_per_s);
    }
}

static edgeps_err make_network(draft *d, route_graph *routes, edgeps_diag *diag, network **out)
{
    network *net = NULL;
    size_t each = per_site(d);
    if (each > NETWORK_MAX_NODES)
        return diag_fail(diag, EDGEPS_FORMAT, "%zu nodes per site are too many", each);
    edgeps_err err = network_make_sites(d->site_count * each, d->site_count, diag, &net);
    for (size_t i = 0; !err && i < net->count; i++)
        err = set_node(d, i, &net->nodes[i], diag);
    if (!err)
        err = set_pairs(d, routes, net, diag);
    if (!err)
        set_loops(d, net);
    if (!err)
        err = name_network(d, net, diag);
    if (!err)
        err = network_check(net, diag);
    if (err)
        network_free(net);
    else
        *out = net;
    return err;
}

static edgeps_err tell_presets(draft *d, const network *net, edgeps_diag *diag)
{
    size_t rates = 0;
    for (size_t i = 0; i < d->site_count; i++)
        rates += isnan(d->graph->nodes[d->sites[i]].up_bytes_per_s) ||
                 isnan(d->graph->nodes[d->sites[i]].down_bytes_per_s);
    char text[QUANTITY_TEXT_BYTES] = "the sum of their links";
    if (d->options->host_bytes_per_s > 0)
        quantity_text(QUANTITY_RATE, d->options->host_bytes_per_s, text);
    edgeps_err err = EDGEPS_OK;
    if (rates)
        err = topology_report_add(&d->report, "%zu of %zu nodes have no rate; %s is taken", rates,
                                  d->site_count, text);
    quantity_text(QUANTITY_SIZE, (double)net->nodes[0].free_bytes, text);
    if (!err)
        err = topology_report_add(&d->report, "every node computes %g samples/s and offers %s",
                                  net->nodes[0].compute_samples_per_s, text);
    return err ? topology_no_memory(diag) : EDGEPS_OK;
}

static edgeps_err start(draft *d, edgeps_diag *diag)
{
    size_t n = d->graph->node_count;
    d->kept = mem_alloc(n, sizeof *d->kept);
    d->edges = mem_alloc(d->graph->edge_count, sizeof *d->edges);
    d->out_bytes_per_s = mem_alloc(n, sizeof *d->out_bytes_per_s);
    d->in_bytes_per_s = mem_alloc(n, sizeof *d->in_bytes_per_s);
    d->sites = mem_alloc(n, sizeof *d->sites);
    bool ok = d->kept && d->edges && d->out_bytes_per_s && d->in_bytes_per_s && d->sites;
    return ok ? EDGEPS_OK : topology_no_memory(diag);
}

static void finish(draft *d)
{
    mem_free(d->kept);
    mem_free(d->edges);
    mem_free(d->out_bytes_per_s);
    mem_free(d->in_bytes_per_s);
    mem_free(d->sites);
    for (size_t s = 0; d->names && s < d->site_count; s++)
        mem_free(d->names[s]);
    mem_free(d->names);
    topology_report_free(&d->report);
}

edgeps_err network_from_topology(const topology *graph, const topology_options *options,
                                 edgeps_diag *diag, network **out, topology_report *report)
{
    draft d = {.graph = graph, .options = options};
    route_graph *routes = NULL;
    network *net = NULL;
    edgeps_err err = start(&d, diag);
    if (!err)
        err = topology_fill(&d, diag);
    if (!err)
        err = make_routes(&d, diag, &routes);
    if (!err)
        err = find_sites(&d, routes, diag);
    if (!err)
        err = name_sites(&d, diag);
    if (!err)
        err = make_network(&d, routes, diag, &net);
    if (!err)
        err = tell_presets(&d, net, diag);
    route_free(routes);
    if (err)
        network_free(net);
    else {
        *out = net;
        *report = d.report;
        d.report = (topology_report){0};
    }
    finish(&d);
    return err;
}
