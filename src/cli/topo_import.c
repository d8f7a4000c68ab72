#include "base/mem.h"
#include "cli/options.h"
#include "cli/topo.h"
#include "formats/iperf.h"
#include "formats/network_csv.h"
#include "formats/quantity.h"
#include "formats/topology.h"
#include "formats/topology_json.h"

#include <stdio.h>
#include <string.h>

enum {
    FORMAT,
    DEFAULT_RATE,
    DEFAULT_LATENCY,
    CABLE_FACTOR,
    HOST_RATE,
    COMPUTE,
    FREE,
    NODES_PER_SITE,
    METRIC,
    KEEP_EXTERNAL,
    DROP_DISCONNECTED,
    KEEP_DISCONNECTED,
    JSON,
    OUT,
    HELP,
    OPTIONS
};

static const options_row rows[OPTIONS] = {
    [FORMAT] = {"format", "NAME", "auto",
                "graphml, gml, node-link or repetita; of a folder csv or iperf3", false},
    [DEFAULT_RATE] = {"default-rate", "RATE", NULL, "of links without a speed", false},
    [DEFAULT_LATENCY] = {"default-latency", "TIME", "0 s", "of links without a latency", false},
    [CABLE_FACTOR] = {"cable-factor", "X", NULL,
                      "latencies from coordinates: length of cable per distance", false},
    [HOST_RATE] = {"host-rate", "RATE", NULL,
                   "up and down of nodes that say none (default what their links or pairs give)",
                   false},
    [COMPUTE] = {"compute", "SPEED", "1000 samples/s", "of nodes that say none", false},
    [FREE] = {"free", "SIZE", "1 GiB", "storage of nodes that say none", false},
    [NODES_PER_SITE] = {"nodes-per-site", "N", "1", "nodes at every place of a graph", false},
    [METRIC] = {"metric", "NAME", "latency", "routes by latency or hops", false},
    [KEEP_EXTERNAL] = {"keep-external", NULL, NULL, "also nodes of other networks", false},
    [DROP_DISCONNECTED] = {"drop-disconnected", NULL, NULL,
                           "leave out what the largest part cannot reach", false},
    [KEEP_DISCONNECTED] = {"keep-disconnected", NULL, NULL,
                           "keep it, without paths, instead of refusing", false},
    [JSON] = {"json", NULL, NULL, "what was filled in as JSON; needs --out", false},
    [OUT] = {"out", "FILE", NULL, "write the network there (-o) instead of printing", false},
    [HELP] = {"help", NULL, NULL, "this text", false},
};

static const options_table table = {rows, OPTIONS};

void topo_import_help(void)
{
    options_help("topo import FILE|FOLDER [OPTIONS]",
                 "makes a network of a topology, of CSV tables, or of iperf3 results", table);
}

static edgeps_err read_quantity(const char *const *value, int row, quantity_kind kind,
                                edgeps_diag *diag, double *out)
{
    if (!value[row] || !quantity_parse(kind, value[row], diag, out))
        return EDGEPS_OK;
    return diag_wrap(diag, EDGEPS_USAGE, "--%s", rows[row].name);
}

/* Where nothing at all, which the import takes for "not given", makes no useful node or link. */
static edgeps_err read_positive(const char *const *value, int row, quantity_kind kind,
                                edgeps_diag *diag, double *out)
{
    edgeps_err err = read_quantity(value, row, kind, diag, out);
    if (!err && value[row] && !(*out > 0))
        err = diag_fail(diag, EDGEPS_USAGE, "--%s: must be above 0, not '%s'", rows[row].name,
                        value[row]);
    return err;
}

static edgeps_err read_amounts(const char *const *value, edgeps_diag *diag, topology_options *o)
{
    double free_bytes = 0;
    int64_t nodes = 1;
    edgeps_err err = read_positive(value, DEFAULT_RATE, QUANTITY_RATE, diag, &o->link_bytes_per_s);
    if (!err)
        err = read_quantity(value, DEFAULT_LATENCY, QUANTITY_TIME, diag, &o->link_latency_s);
    if (!err && value[CABLE_FACTOR])
        err = options_real("cable-factor", value[CABLE_FACTOR], 1, 100, diag, &o->cable_factor);
    if (!err)
        err = read_positive(value, HOST_RATE, QUANTITY_RATE, diag, &o->host_bytes_per_s);
    if (!err)
        err = read_positive(value, COMPUTE, QUANTITY_SPEED, diag, &o->compute_samples_per_s);
    if (!err)
        err = read_positive(value, FREE, QUANTITY_SIZE, diag, &free_bytes);
    if (!err)
        err = options_whole("nodes-per-site", value[NODES_PER_SITE], 1, NETWORK_MAX_NODES, diag,
                            &nodes);
    o->free_bytes = (int64_t)free_bytes;
    o->nodes_per_site = (size_t)nodes;
    return err;
}

static edgeps_err read_options(const char *const *value, edgeps_diag *diag, topology_options *o)
{
    static const char *const metrics[] = {"latency", "hops", NULL};
    int metric;
    edgeps_err err = read_amounts(value, diag, o);
    if (!err)
        err = options_choice("metric", value[METRIC], metrics, diag, &metric);
    if (!err && value[DROP_DISCONNECTED] && value[KEEP_DISCONNECTED])
        err = diag_fail(diag, EDGEPS_USAGE,
                        "--drop-disconnected and --keep-disconnected exclude each other");
    if (!err && value[JSON] && !value[OUT])
        err = diag_fail(diag, EDGEPS_USAGE, "--json: needs --out FILE for the network");
    if (err)
        return err;
    o->metric = (route_metric)metric;
    o->keep_external = value[KEEP_EXTERNAL] != NULL;
    o->drop_disconnected = value[DROP_DISCONNECTED] != NULL;
    o->keep_disconnected = value[KEEP_DISCONNECTED] != NULL;
    return EDGEPS_OK;
}

static edgeps_err import_graph(const char *path, const char *format, const topology_options *o,
                               edgeps_diag *diag, network **net, topology_report *report)
{
    topology_format known;
    topology *graph = NULL;
    if (!topology_format_named(format, &known))
        return diag_fail(diag, EDGEPS_USAGE,
                         "--format: '%s' is none of: auto, graphml, gml, node-link, repetita, csv, "
                         "iperf3",
                         format);
    edgeps_err err = topology_read(path, known, diag, &graph);
    if (!err && (err = network_from_topology(graph, o, diag, net, report)))
        diag_wrap(diag, err, "%s", path);
    topology_free(graph);
    return err;
}

static edgeps_err import(const char *path, const char *format, const topology_options *o,
                         edgeps_diag *diag, network **net, topology_report *report)
{
    bool folder = topo_is_folder(path), guess = strcmp(format, "auto") == 0;
    bool csv = strcmp(format, "csv") == 0, iperf = strcmp(format, "iperf3") == 0;
    if ((csv || iperf) && !folder)
        return diag_fail(diag, EDGEPS_USAGE, "%s: is no folder, which --format %s needs", path,
                         format);
    if (folder && !guess && !csv && !iperf)
        return diag_fail(diag, EDGEPS_USAGE, "%s: is a folder, which is csv or iperf3", path);
    if (folder && guess)
        iperf = !network_csv_in(path) && network_iperf_in(path);
    if (iperf)
        return network_iperf_load(path, o, diag, net, report);
    if (folder)
        return network_csv_load(path, o, diag, net, report);
    return import_graph(path, format, o, diag, net, report);
}

/* What a person should know goes beside the network, which goes to a file or a pipe. */
static edgeps_err tell(const char *path, const char *const *value, const network *net,
                       const topology_report *report, edgeps_diag *diag)
{
    char *text = NULL;
    for (size_t k = 0; !value[JSON] && k < report->count; k++)
        fprintf(stderr, "%s\n", report->lines[k]);
    if (!value[JSON])
        return EDGEPS_OK;
    if (topology_report_json(report, path, net, &text))
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for the report");
    edgeps_err err = topo_write(text, NULL, diag);
    mem_free(text);
    return err;
}

edgeps_err topo_import(int argc, char **argv, edgeps_diag *diag)
{
    const char *value[OPTIONS] = {NULL}, *path = NULL;
    topology_options o = {0};
    topology_report report = {0};
    network *net = NULL;
    edgeps_err err = options_read(table, argc, argv, value, &path, diag);
    if (!err && value[HELP]) {
        topo_import_help();
        return EDGEPS_OK;
    }
    options_fill(table, value);
    if (!err && !path)
        err = diag_fail(diag, EDGEPS_USAGE, "no file or folder given; see --help");
    if (!err)
        err = read_options(value, diag, &o);
    if (!err)
        err = import(path, value[FORMAT], &o, diag, &net, &report);
    if (!err)
        err = topo_write_network(net, value[OUT], diag);
    if (!err)
        err = tell(path, value, net, &report, diag);
    topology_report_free(&report);
    network_free(net);
    return err;
}
