#include "network/scenario.h"

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/topo.h"
#include "formats/quantity.h"
#include "formats/scenario_file.h"

#include <stdio.h>
#include <string.h>

enum {
    KIND,
    WHAT,
    STEPS,
    STEP,
    DEPTH,
    PERIOD,
    SEED,
    FORMAT,
    NODE,
    UNTIL,
    SHARE,
    REPLACE,
    OUT,
    HELP,
    OPTIONS
};

static const options_row rows[OPTIONS] = {
    [KIND] = {"kind", "KIND", NULL, "generate: walk, diurnal or burst", false},
    [WHAT] = {"what", "KEY", NULL,
              "what changes: up or down; generate also free (its default) or compute", false},
    [STEPS] = {"steps", "N", "24", "generate: changes of each node", false},
    [STEP] = {"step", "TIME", NULL,
              "seconds from change to change (default an epoch; 1 s in mahimahi)", false},
    [DEPTH] = {"depth", "X", "0.5", "generate: the part of a value that can be taken away", false},
    [PERIOD] = {"period", "X", "24", "generate: steps of a day, or from burst to burst", false},
    [SEED] = {"seed", "N", "1", "generate: the same seed gives the same lines", false},
    [FORMAT] = {"format", "NAME", "csv", "import: csv, churn or mahimahi", false},
    [NODE] = {"node", "NAME", NULL, "import, mahimahi: whose link it is", false},
    [UNTIL] = {"until", "TIME", NULL, "import, mahimahi: go on from the start until then", false},
    [SHARE] = {"share", "X", "0.9",
               "import, churn: the part of free storage that others take at their peak", false},
    [REPLACE] = {"replace", NULL, NULL, "leave out the scenario that is there", false},
    [OUT] = {"out", "FILE", NULL, "write the network there (-o) instead of printing", false},
    [HELP] = {"help", NULL, NULL, "this text", false},
};

static const options_table table = {rows, OPTIONS};

/* Where 0, which stands for what was not given, is no answer. */
static edgeps_err read_time(const char *const *value, int row, edgeps_diag *diag, double *out)
{
    if (!value[row])
        return EDGEPS_OK;
    if (quantity_parse(QUANTITY_TIME, value[row], diag, out))
        return diag_wrap(diag, EDGEPS_USAGE, "--%s", rows[row].name);
    return *out > 0 ? EDGEPS_OK
                    : diag_fail(diag, EDGEPS_USAGE, "--%s: must be above 0", rows[row].name);
}

static edgeps_err read_what(const char *const *value, bool rates, edgeps_diag *diag,
                            network_change *out)
{
    static const char *const names[] = {"up", "down", "free", "compute", NULL};
    static const char *const rate_names[] = {"up", "down", NULL};
    static const network_change changes[] = {NETWORK_UP, NETWORK_DOWN, NETWORK_FREE,
                                             NETWORK_COMPUTE};
    const char *name = value[WHAT] ? value[WHAT] : rates ? "" : "free";
    int found;
    edgeps_err err = options_choice("what", name, rates ? rate_names : names, diag, &found);
    if (!err)
        *out = changes[found];
    return err;
}

static edgeps_err generate(const char *const *value, edgeps_diag *diag, network *net)
{
    scenario_options o = {0};
    int kind;
    int64_t seed;
    if (!value[KIND])
        return diag_fail(diag, EDGEPS_USAGE, "--kind: is missing; see --help");
    edgeps_err err = options_choice("kind", value[KIND], scenario_kind_names, diag, &kind);
    if (!err)
        err = read_what(value, false, diag, &o.what);
    if (!err)
        err = options_whole("steps", value[STEPS], 1, SCENARIO_MOST_EVENTS, diag, &o.steps);
    if (!err)
        err = read_time(value, STEP, diag, &o.step_s);
    if (!err)
        err = options_real("depth", value[DEPTH], 1e-6, 0.999999, diag, &o.depth);
    if (!err)
        err = options_real("period", value[PERIOD], 1, 1e9, diag, &o.period);
    if (!err)
        err = options_whole("seed", value[SEED], 0, INT64_MAX, diag, &seed);
    if (err)
        return err;
    o.kind = (scenario_kind)kind;
    o.seed = (uint64_t)seed;
    return scenario_generate(&o, diag, net);
}

static edgeps_err import_mahimahi(const char *const *value, const char *path, edgeps_diag *diag,
                                  network *net)
{
    scenario_trace t = {.step_s = 1};
    if (!value[NODE])
        return diag_fail(diag, EDGEPS_USAGE, "--node: is missing; say whose link the trace is of");
    int64_t node = network_find(net, value[NODE]);
    if (node < 0)
        return diag_fail(diag, EDGEPS_USAGE, "--node: no node is called '%.63s'", value[NODE]);
    edgeps_err err = read_what(value, true, diag, &t.what);
    if (!err)
        err = read_time(value, STEP, diag, &t.step_s);
    if (!err)
        err = read_time(value, UNTIL, diag, &t.until_s);
    t.node = (uint32_t)node;
    return err ? err : scenario_read_mahimahi(path, &t, diag, net);
}

static edgeps_err import(const char *const *value, const char *path, edgeps_diag *diag,
                         network *net)
{
    static const char *const formats[] = {"csv", "churn", "mahimahi", NULL};
    int format;
    double step_s = 0, share;
    edgeps_err err = options_choice("format", value[FORMAT], formats, diag, &format);
    if (!err)
        err = read_time(value, STEP, diag, &step_s);
    if (!err)
        err = options_real("share", value[SHARE], 0, 1, diag, &share);
    if (err)
        return err;
    return format == 0   ? scenario_read_csv(path, diag, net)
           : format == 1 ? scenario_read_churn(path, share, step_s, diag, net)
                         : import_mahimahi(value, path, diag, net);
}

static edgeps_err run(bool imports, const char *const *value, const char *const *operands,
                      edgeps_diag *diag)
{
    network *net = NULL;
    if (!operands[0] || imports != (operands[1] != NULL))
        return diag_fail(diag, EDGEPS_USAGE, "takes a network%s; see edgeps scenario --help",
                         imports ? " and a file of what happens" : "");
    edgeps_err err = topo_load(operands[0], diag, &net);
    if (!err && value[REPLACE])
        net->event_count = 0;
    if (!err)
        err = imports ? import(value, operands[1], diag, net) : generate(value, diag, net);
    if (!err)
        err = topo_write_network(net, value[OUT], diag);
    network_free(net);
    return err;
}

static int help(void)
{
    options_help("scenario generate NETWORK --kind KIND [OPTIONS] | "
                 "scenario import NETWORK FILE [OPTIONS]",
                 "puts what happens in time behind the scenario of a network", table);
    return 0;
}

int cli_scenario(int argc, char **argv)
{
    const char *value[OPTIONS] = {NULL}, *operands[2];
    edgeps_diag diag = {.text = ""};
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return help();
    bool imports = argc > 1 && strcmp(argv[1], "import") == 0;
    if (!imports && (argc < 2 || strcmp(argv[1], "generate") != 0)) {
        fprintf(stderr,
                "edgeps scenario: neither generate nor import; see edgeps scenario --help\n");
        return 2;
    }
    edgeps_err err = options_read_two(table, argc - 1, argv + 1, value, operands, &diag);
    if (!err && value[HELP])
        return help();
    options_fill(table, value);
    if (!err)
        err = run(imports, value, operands, &diag);
    if (err)
        fprintf(stderr, "edgeps scenario %s: %s\n", argv[1], diag.text);
    return err_exit_status(err);
}
