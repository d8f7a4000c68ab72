#include "cli/cli.h"

#include "cli/options.h"
#include "cli/topo.h"
#include "formats/network_sketch.h"
#include "formats/quantity.h"
#include "loop/loop.h"
#include "node/host.h"
#include "node/prober.h"

#include <stdio.h>

enum { ADDRESS, PORT, OUT, MODEL, SETTLE, WINDOW, MOST, WAIT, CERTS, INSECURE, HELP, OPTIONS };

static const options_row rows[OPTIONS] = {
    [ADDRESS] = {"address", "HOST", HOST_LOOPBACK, "where agents call", false},
    [PORT] = {"port", "N", "7700", "likewise", false},
    [OUT] = {"out", "FILE", NULL, "the network with what was measured (default: print it)", false},
    [MODEL] = {"model", "NAME", "lenet5", "what is computed where the file has no speed", false},
    [SETTLE] = {"settle", "SECONDS", "0.5", "of each probe, before it counts", false},
    [WINDOW] = {"window", "SECONDS", "1", "of each probe, in which it counts", false},
    [MOST] = {"most", "RATE", "1 Gbit/s", "no probe is faster", false},
    [WAIT] = {"wait", "SECONDS", "60", "for agents to call, and for each answer", false},
    [CERTS] = {"certs", "FOLDER", NULL, "TLS to agents, with these certificates (edgeps cert)",
               false},
    [INSECURE] = {"insecure", NULL, NULL, "let connections leave this host without TLS", false},
    [HELP] = {"help", NULL, NULL, "this text", false},
};

static const options_table table = {rows, OPTIONS};

static edgeps_err read_options(const char *const *value, prober_options *o, edgeps_diag *diag)
{
    int64_t port;
    edgeps_err err = options_whole("port", value[PORT], 1, 65535, diag, &port);
    if (!err)
        err = options_real("settle", value[SETTLE], 0, 20, diag, &o->settle_s);
    if (!err)
        err = options_real("window", value[WINDOW], 0.05, 20, diag, &o->window_s);
    if (!err)
        err = options_real("wait", value[WAIT], 1, 1e6, diag, &o->patience_s);
    if (!err && quantity_parse(QUANTITY_RATE, value[MOST], diag, &o->most_bytes_per_s))
        err = diag_wrap(diag, EDGEPS_USAGE, "--most");
    if (!err && o->most_bytes_per_s < 1)
        err = diag_fail(diag, EDGEPS_USAGE, "--most: %s is nothing to probe with", value[MOST]);
    o->port = err ? 0 : (int)port;
    o->address = value[ADDRESS];
    o->certs = value[CERTS];
    return err;
}

/* As of a run: plain bytes stay on loopback. */
static edgeps_err check_secrecy(const char *const *value, const network *net, edgeps_diag *diag)
{
    const char *beyond = loop_is_loopback(value[ADDRESS]) ? NULL : value[ADDRESS];
    for (size_t i = 0; !beyond && i < net->count; i++)
        if (net->nodes[i].address && !loop_is_loopback(net->nodes[i].address))
            beyond = net->nodes[i].address;
    if (!beyond || value[CERTS] || value[INSECURE])
        return EDGEPS_OK;
    return diag_fail(diag, EDGEPS_USAGE,
                     "%s is beyond loopback: give --certs FOLDER (edgeps cert init makes it), or "
                     "--insecure",
                     beyond);
}

/* Only a speed that is left out takes time of the nodes. */
static bool wants_speeds(const network_sketch *s)
{
    bool any = false;
    for (size_t i = 0; i < s->net->count; i++)
        any = any || s->gaps[i].compute;
    return any;
}

static void fill(network_sketch *s, const prober_found *found)
{
    size_t n = s->net->count;
    for (size_t i = 0; i < n; i++) {
        network_node *node = &s->net->nodes[i];
        if (s->gaps[i].up)
            node->up_bytes_per_s = found->up_bytes_per_s[i];
        if (s->gaps[i].down)
            node->down_bytes_per_s = found->down_bytes_per_s[i];
        if (s->gaps[i].compute)
            node->compute_samples_per_s = found->samples_per_s[i];
        if (s->gaps[i].free)
            node->free_bytes = (int64_t)found->free_bytes[i];
        for (size_t j = 0; s->latency && j < n; j++)
            if (j != i)
                network_set_latency_s(s->net, i, j, found->latency_s[i * n + j]);
    }
}

static edgeps_err probe(const char *path, const char *const *value, edgeps_diag *diag)
{
    network_sketch sketch;
    prober_found found;
    prober_options o = {.net = NULL};
    edgeps_err err = read_options(value, &o, diag);
    if (!err)
        err = network_sketch_load(path, diag, &sketch);
    if (err)
        return err;
    o.net = sketch.net;
    o.model = wants_speeds(&sketch) ? value[MODEL] : NULL;
    err = check_secrecy(value, sketch.net, diag);
    if (!err)
        err = prober_run(&o, diag, &found);
    if (!err) {
        fill(&sketch, &found);
        prober_free(&found);
        err = topo_write_network(sketch.net, value[OUT], diag);
    }
    network_sketch_free(&sketch);
    return err;
}

int cli_probe(int argc, char **argv)
{
    const char *value[OPTIONS] = {NULL}, *path = NULL;
    edgeps_diag diag = {.text = ""};
    edgeps_err err = options_read(table, argc, argv, value, &path, &diag);
    if (!err && value[HELP]) {
        options_help("probe NETWORK [OPTIONS]",
                     "lets agents measure what the network file leaves out", table);
        return 0;
    }
    options_fill(table, value);
    if (!err && !path)
        err = diag_fail(&diag, EDGEPS_USAGE, "no network file given; see edgeps probe --help");
    if (!err)
        err = probe(path, value, &diag);
    if (err)
        fprintf(stderr, "edgeps probe: %s\n", diag.text);
    return err_exit_status(err);
}
