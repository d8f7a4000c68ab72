#include "sim/search.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/setting.h"
#include "cli/simulate.h"
#include "cost/cost.h"
#include "formats/quantity.h"
#include "formats/sim_json.h"
#include "sim/grid.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    EPOCHS = SETTING_OPTIONS,
    ADJUST,
    HYSTERESIS,
    EFFORT,
    SILENT,
    NETWORK,
    JSON,
    CSV,
    FAULT_SEARCH,
    NODES,
    FAULTS,
    REPLAY,
    HELP,
    OPTIONS
};

static const options_row rows[OPTIONS] = {
    SETTING_ROWS,
    [EPOCHS] = {"epochs", "E", "10", "passes over the data", false},
    [ADJUST] = {"adjust", "POLICY", "adjust", "adjust, static, replan or greedy-repair", false},
    [HYSTERESIS] = {"hysteresis", "X", "0.1", "gain of a move beyond its cost", false},
    [EFFORT] = {"effort", "X", "0",
                "of an adjustment, as a part of the usual one; 0: less for more than 50 nodes",
                false},
    [SILENT] = {"silent", "TIME", "2.5 s", "a node that is not heard for so long is gone", false},
    [NETWORK] = {"network", "MODEL", "fluid", "fluid, or simgrid where it is built in", false},
    [JSON] = {"json", NULL, NULL, "the training, or the search, as JSON", false},
    [CSV] = {"csv", NULL, NULL, "the training as CSV instead of a table", false},
    [FAULT_SEARCH] = {"fault-search", "RUNS", NULL, "draw and run so many scripts", false},
    [NODES] = {"nodes", "N", "8", "most nodes of a network", false},
    [FAULTS] = {"faults", "K", "3", "most faults of a run", false},
    [REPLAY] = {"replay", "SCRIPT", NULL, "run the script in this file", false},
    [HELP] = {"help", NULL, NULL, "this text", false},
};

static const options_table table = {rows, OPTIONS};

static void show_progress(void *context, size_t done)
{
    fprintf(stderr, "\r%zu of %zu runs", done, *(const size_t *)context);
}

static edgeps_err read_search(const char *const *value, edgeps_diag *diag, search_options *o)
{
    int64_t runs, seed, nodes, faults;
    edgeps_err err = options_whole("fault-search", value[FAULT_SEARCH], 1, 1000000000, diag, &runs);
    if (!err)
        err = options_whole("seed", value[SETTING_SEED], 0, INT64_MAX / 2, diag, &seed);
    if (!err)
        err = options_whole("nodes", value[NODES], 2, SCRIPT_MOST_NODES, diag, &nodes);
    if (!err)
        err = options_whole("faults", value[FAULTS], 0, SCRIPT_MOST_FAULTS, diag, &faults);
    if (!err)
        *o = (search_options){.seed = (uint64_t)seed,
                              .runs = (size_t)runs,
                              .most_nodes = (size_t)nodes,
                              .most_faults = (size_t)faults};
    return err;
}

static edgeps_err print_search_json(const search_options *o, const search_result *r,
                                    const char *found, edgeps_diag *diag)
{
    char *text;
    sim_json_search facts = {.seed = o->seed,
                             .most_nodes = o->most_nodes,
                             .most_faults = o->most_faults,
                             .runs = r->runs,
                             .faults = r->faults,
                             .found_seed = r->seed,
                             .broken = r->found ? r->broken : NULL,
                             .script = found};
    if (sim_json_search_text(&facts, &text))
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for the text");
    printf("%s\n", text);
    mem_free(text);
    return EDGEPS_OK;
}

/* The script on standard output, what is wrong with it in the diagnosis. */
static edgeps_err search(const char *const *value, edgeps_diag *diag)
{
    char text[SCRIPT_TEXT_BYTES] = "";
    search_options o;
    search_result r;
    edgeps_err err = read_search(value, diag, &o);
    if (err)
        return err;
    size_t runs = o.runs;
    o.progress = show_progress;
    o.context = &runs;
    err = search_run(&o, diag, &r);
    fprintf(stderr, "\n");
    if (err)
        return err;
    if (r.found)
        script_text(&r.smallest, text);
    if (value[JSON])
        err = print_search_json(&o, &r, text, diag);
    else if (r.found)
        printf("%s", text);
    else
        printf("%zu runs with %zu faults: no invariant broke\n", r.runs, r.faults);
    return err || !r.found
               ? err
               : diag_fail(diag, EDGEPS_INTERNAL, "seed %" PRIu64 " breaks an invariant: %s",
                           r.seed, r.broken);
}

static edgeps_err replay(const char *path, edgeps_diag *diag)
{
    char text[SCRIPT_TEXT_BYTES + 1];
    script s;
    FILE *file = fopen(path, "re");
    if (!file)
        return diag_fail(diag, EDGEPS_USAGE, "%s: %s", path, strerror(errno));
    size_t length = fread(text, 1, sizeof text - 1, file);
    bool whole = feof(file) && !ferror(file);
    fclose(file);
    text[length] = '\0';
    if (!whole || strlen(text) != length)
        return diag_fail(diag, EDGEPS_FORMAT, "%s: no script: too long, or not a text", path);
    edgeps_err err = script_parse(text, diag, &s);
    if (err)
        return diag_wrap(diag, err, "%s", path);
    err = script_run(&s, diag);
    if (!err)
        printf("%s: no invariant broke\n", path);
    return err;
}

static edgeps_err read_training(const char *const *value, edgeps_diag *diag, simulate_request *r)
{
    static const char *const policies[] = {"adjust", "static", "replan", "greedy-repair", NULL};
    static const adapt_mode modes[] = {ADAPT_ADJUST, ADAPT_OFF, ADAPT_REPLAN, ADAPT_REPAIR};
    static const char *const networks[] = {"fluid", "simgrid", NULL};
    int policy, network_model;
    training_options *o = &r->options;
    edgeps_err err = setting_read(value, diag, &r->setting);
    if (!err)
        err = options_whole("epochs", value[EPOCHS], 1, 1000000, diag, &o->epochs);
    if (!err)
        err = options_choice("adjust", value[ADJUST], policies, diag, &policy);
    if (!err)
        err = options_choice("network", value[NETWORK], networks, diag, &network_model);
    if (!err && network_model == 1 && !grid_is_there())
        err = diag_fail(diag, EDGEPS_UNSUPPORTED,
                        "--network simgrid: this program was built without SimGrid; install "
                        "libsimgrid-dev 3.32 or later and build again");
    if (!err)
        err = options_real("hysteresis", value[HYSTERESIS], 0, 1e6, diag, &o->hysteresis);
    if (!err)
        err = options_real("effort", value[EFFORT], 0, 1e3, diag, &o->effort);
    if (!err && quantity_parse(QUANTITY_TIME, value[SILENT], diag, &o->silent_s))
        err = diag_wrap(diag, EDGEPS_USAGE, "--silent");
    if (!err && value[JSON] && value[CSV])
        err = diag_fail(diag, EDGEPS_USAGE, "--csv: does not go with --json");
    if (!err && value[SETTING_DEADLINE])
        err = diag_fail(diag, EDGEPS_USAGE, "--deadline: would not give the same run each time");
    if (err)
        return err;
    r->policy = policies[policy];
    r->network = networks[network_model];
    r->output = value[JSON] ? SIMULATE_JSON : value[CSV] ? SIMULATE_CSV : SIMULATE_TABLE;
    o->policy = modes[policy];
    o->algorithm = value[SETTING_ALGO];
    o->seed = r->setting.place.seed;
    o->max_locals = r->setting.max_locals;
    o->network = network_model == 1 ? grid_round_s : cost_round_s;
    return EDGEPS_OK;
}

static edgeps_err run(const char *const *value, const char *path, edgeps_diag *diag)
{
    simulate_request r = {.path = path};
    edgeps_err err;
    if (!path + !value[FAULT_SEARCH] + !value[REPLAY] != 2)
        return diag_fail(
            diag, EDGEPS_USAGE,
            "say what to simulate: a network file, or --fault-search RUNS, or --replay SCRIPT");
    if (value[REPLAY])
        err = replay(value[REPLAY], diag);
    else if (value[FAULT_SEARCH])
        err = search(value, diag);
    else if (!(err = read_training(value, diag, &r)))
        err = simulate_run(&r, diag);
    return err ? err : file_end_output(diag);
}

int cli_sim(int argc, char **argv)
{
    const char *value[OPTIONS] = {NULL}, *operand = NULL;
    edgeps_diag diag = {.text = ""};
    edgeps_err err = options_read(table, argc, argv, value, &operand, &diag);
    if (!err && value[HELP]) {
        options_help("sim NETWORK [OPTIONS] | --fault-search RUNS | --replay SCRIPT",
                     "runs trainings in virtual time: one with its times, or many in search of "
                     "faults that break the protocol",
                     table);
        return 0;
    }
    options_fill(table, value);
    if (!err)
        err = run(value, operand, &diag);
    if (err)
        fprintf(stderr, "edgeps sim: %s\n", diag.text);
    return err_exit_status(err);
}
