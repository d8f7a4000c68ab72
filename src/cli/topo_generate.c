#include "cli/options.h"
#include "cli/topo.h"
#include "formats/quantity.h"
#include "network/generate.h"

enum {
    KIND,
    NODES,
    SEED,
    SITES,
    LINKS,
    ALPHA,
    BETA,
    SPREAD,
    RATE_SPREAD,
    ASYMMETRY,
    COMPUTE_SPREAD,
    FREE_SPREAD,
    RATE,
    WAN_RATE,
    COMPUTE,
    FREE,
    EPOCHS,
    OUT,
    HELP,
    OPTIONS
};

static const options_row rows[OPTIONS] = {
    [KIND] = {"kind", "KIND", NULL, "two-tier, thesis, waxman or barabasi-albert", false},
    [NODES] = {"nodes", "N", NULL, "number of nodes", false},
    [SEED] = {"seed", "N", "1", "the same seed gives the same network", false},
    [SITES] = {"sites", "N", NULL,
               "where nodes stand (default in two-tier sqrt of nodes, in graphs all nodes)", false},
    [LINKS] = {"links", "N", NULL, "barabasi-albert: of a site that joins (default 2)", false},
    [ALPHA] = {"alpha", "X", NULL, "waxman: how likely long links are (default 0.15)", false},
    [BETA] = {"beta", "X", NULL, "waxman: how likely all links are (default 0.6)", false},
    [SPREAD] = {"spread", "X", NULL, "largest over smallest of each value (default 10)", false},
    [RATE_SPREAD] = {"rate-spread", "X", NULL, "... of down rates (default that of all)", false},
    [ASYMMETRY] = {"asymmetry", "X", NULL, "most down over up (default the spread)", false},
    [COMPUTE_SPREAD] = {"compute-spread", "X", NULL, "... of speeds (default that of all)", false},
    [FREE_SPREAD] = {"free-spread", "X", NULL, "... of storage (default that of all)", false},
    [RATE] = {"rate", "RATE", NULL,
              "middle of down rates (default 1 Gbit/s in two-tier, else 100 Mbit/s)", false},
    [WAN_RATE] = {"wan-rate", "RATE", NULL,
                  "middle of links between sites (default 200, in two-tier 50 Mbit/s)", false},
    [COMPUTE] = {"compute", "SPEED", NULL, "middle of speeds (default 1000 samples/s)", false},
    [FREE] = {"free", "SIZE", NULL, "middle of free storage (default 8 MiB)", false},
    [EPOCHS] = {"epochs", "N", NULL,
                "draw free storage anew up to this epoch (default 5 in thesis, else 1)", false},
    [OUT] = {"out", "FILE", NULL, "write there (-o) instead of printing", false},
    [HELP] = {"help", NULL, NULL, "this text", false},
};

static const options_table table = {rows, OPTIONS};

void topo_generate_help(void)
{
    options_help("topo generate --kind KIND --nodes N [OPTIONS]", "draws a network at random",
                 table);
}

static edgeps_err read_whole(const char *const *value, int row, int64_t most, edgeps_diag *diag,
                             int64_t *out)
{
    return value[row] ? options_whole(rows[row].name, value[row], 1, most, diag, out) : EDGEPS_OK;
}

static edgeps_err read_real(const char *const *value, int row, double least, double most,
                            edgeps_diag *diag, double *out)
{
    return value[row] ? options_real(rows[row].name, value[row], least, most, diag, out)
                      : EDGEPS_OK;
}

static edgeps_err read_quantity(const char *const *value, int row, quantity_kind kind,
                                edgeps_diag *diag, double *out)
{
    if (!value[row] || !quantity_parse(kind, value[row], diag, out))
        return EDGEPS_OK;
    return diag_wrap(diag, EDGEPS_USAGE, "--%s", rows[row].name);
}

static edgeps_err read_spreads(const char *const *value, edgeps_diag *diag, generate_options *o)
{
    double *const spreads[] = {&o->spread, &o->rate_spread, &o->asymmetry, &o->compute_spread,
                               &o->free_spread};
    edgeps_err err = EDGEPS_OK;
    for (int k = 0; !err && k <= FREE_SPREAD - SPREAD; k++)
        err = read_real(value, SPREAD + k, 1, GENERATE_MAX_SPREAD, diag, spreads[k]);
    return err;
}

static edgeps_err read_base(const char *const *value, edgeps_diag *diag, generate_options *o)
{
    int kind;
    int64_t nodes, seed;
    for (int k = KIND; k <= NODES; k++)
        if (!value[k])
            return diag_fail(diag, EDGEPS_USAGE, "--%s: is missing; see --help", rows[k].name);
    edgeps_err err = options_choice("kind", value[KIND], generate_kind_names, diag, &kind);
    if (!err)
        err = options_whole("nodes", value[NODES], 1, NETWORK_MAX_NODES, diag, &nodes);
    if (!err)
        err = options_whole("seed", value[SEED] ? value[SEED] : rows[SEED].fallback, 0, INT64_MAX,
                            diag, &seed);
    if (!err)
        *o = generate_defaults((generate_kind)kind, (size_t)nodes, (uint64_t)seed);
    return err;
}

static edgeps_err read_options(const char *const *value, edgeps_diag *diag, generate_options *o)
{
    edgeps_err err = read_base(value, diag, o);
    if (err)
        return err;
    int64_t sites = 0, links = (int64_t)o->links, epochs = o->epochs;
    double free_bytes = (double)o->free_bytes;
    err = read_whole(value, SITES, NETWORK_MAX_SITES, diag, &sites);
    if (!err)
        err = read_whole(value, LINKS, NETWORK_MAX_SITES, diag, &links);
    if (!err)
        err = read_real(value, ALPHA, 1e-3, 1e3, diag, &o->alpha);
    if (!err)
        err = read_real(value, BETA, 0, 1, diag, &o->beta);
    if (!err)
        err = read_whole(value, EPOCHS, GENERATE_MAX_EVENTS, diag, &epochs);
    if (!err)
        err = read_spreads(value, diag, o);
    if (!err)
        err = read_quantity(value, RATE, QUANTITY_RATE, diag, &o->rate_bytes_per_s);
    if (!err)
        err = read_quantity(value, WAN_RATE, QUANTITY_RATE, diag, &o->wan_bytes_per_s);
    if (!err)
        err = read_quantity(value, COMPUTE, QUANTITY_SPEED, diag, &o->compute_samples_per_s);
    if (!err)
        err = read_quantity(value, FREE, QUANTITY_SIZE, diag, &free_bytes);
    o->sites = (size_t)sites;
    o->links = (size_t)links;
    o->epochs = (int)epochs;
    o->free_bytes = (int64_t)free_bytes;
    return err;
}

edgeps_err topo_generate(int argc, char **argv, edgeps_diag *diag)
{
    const char *value[OPTIONS] = {NULL}, *operand;
    generate_options o;
    network *net = NULL;
    edgeps_err err = options_read(table, argc, argv, value, &operand, diag);
    if (!err && value[HELP]) {
        topo_generate_help();
        return EDGEPS_OK;
    }
    if (!err && operand)
        err = diag_fail(diag, EDGEPS_USAGE, "'%s': is no option; see --help", operand);
    if (!err)
        err = read_options(value, diag, &o);
    if (!err)
        err = generate_network(&o, diag, &net);
    if (!err)
        err = topo_write_network(net, value[OUT], diag);
    network_free(net);
    return err;
}
