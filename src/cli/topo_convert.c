#include "cli/options.h"
#include "cli/topo.h"
#include "formats/network_csv.h"
#include "formats/network_graph.h"

#include <stdio.h>

enum { TO, OUT, HELP, OPTIONS };

static const options_row rows[OPTIONS] = {
    [TO] = {"to", "FORMAT", NULL, "network, csv (a folder) or node-link", false},
    [OUT] = {"out", "FILE", NULL, "write there (-o) instead of printing", false},
    [HELP] = {"help", NULL, NULL, "this text", false},
};

static const options_table table = {rows, OPTIONS};

enum { TO_NETWORK, TO_CSV, TO_NODE_LINK };

static const char *const formats[] = {
    [TO_NETWORK] = "network", [TO_CSV] = "csv", [TO_NODE_LINK] = "node-link", NULL};

void topo_convert_help(void)
{
    options_help("topo convert NETWORK --to FORMAT [OPTIONS]",
                 "writes a network file, or a folder of CSV tables, in another format", table);
}

static edgeps_err convert(const network *net, int format, const char *out, edgeps_diag *diag)
{
    switch (format) {
    case TO_NETWORK:
        return topo_write_network(net, out, diag);
    case TO_CSV:
        if (net->event_count)
            fprintf(stderr, "the scenario has no place in tables and is left out\n");
        return network_csv_save(net, out, diag);
    default:
        return topo_write_with(net, network_node_link_write, out, diag);
    }
}

edgeps_err topo_convert(int argc, char **argv, edgeps_diag *diag)
{
    const char *value[OPTIONS] = {NULL}, *path = NULL;
    int format = 0;
    network *net = NULL;
    edgeps_err err = options_read(table, argc, argv, value, &path, diag);
    if (!err && value[HELP]) {
        topo_convert_help();
        return EDGEPS_OK;
    }
    if (!err && !path)
        err = diag_fail(diag, EDGEPS_USAGE, "no network file given; see --help");
    if (!err && !value[TO])
        err = diag_fail(diag, EDGEPS_USAGE, "--to: is missing; see --help");
    if (!err)
        err = options_choice("to", value[TO], formats, diag, &format);
    if (!err && format == TO_CSV && !value[OUT])
        err = diag_fail(diag, EDGEPS_USAGE, "--to csv: needs --out FOLDER");
    if (!err)
        err = topo_load(path, diag, &net);
    if (!err)
        err = convert(net, format, value[OUT], diag);
    network_free(net);
    return err;
}
