#include "cli/predict.h"

#include "base/file.h"
#include "bench/predict.h"
#include "cli/options.h"
#include "sim/grid.h"

#include <limits.h>
#include <stdlib.h>

enum {
    TABLES,
    NETWORKS,
    SEEDS,
    SEED,
    DILATION,
    ROUNDS,
    EPOCHS,
    QUICK,
    FORCE,
    DATA,
    JSON,
    OUT,
    HELP,
    OPTIONS
};

static const options_row rows[OPTIONS] = {
    [TABLES] = {"tables", "NAMES", "epochs,order", "which, separated by commas", false},
    [NETWORKS] = {"networks", "FILES", "examples/six-site.json,examples/twenty-site.json",
                  "separated by commas", false},
    [SEEDS] = {"seeds", "N", "20", "random plans to draw", false},
    [SEED] = {"seed", "N", "1", "of the first random plan, and of the runs", false},
    [DILATION] = {"dilation", "D", "3", "slow the networks down so many times for the emulation",
                  false},
    [ROUNDS] = {"rounds", "N", "6", "of an epoch", false},
    [EPOCHS] = {"epochs", "E", "4", "of each run; the first is not counted", false},
    [QUICK] = {"quick", NULL, NULL, "two plans of each network, pipelined, instead of eight",
               false},
    [FORCE] = {"force", NULL, NULL, "go on in a lab that is not as asked", false},
    [DATA] = {"data", "DIR", NULL,
              "folder with the four IDX files (default: where ./dev setup puts MNIST)", false},
    [JSON] = {"json", NULL, NULL, "the tables as JSON instead of Markdown", false},
    [OUT] = {"out", "FOLDER", NULL, "where tables, figures and runs go", false},
    [HELP] = {"help", NULL, NULL, "this text", false},
};

static const options_table table = {rows, OPTIONS};

static edgeps_err read_tables(const char *value, predict_request *r, edgeps_diag *diag)
{
    options_words words;
    edgeps_err err = options_cut("tables", value, diag, &words);
    for (size_t k = 0; !err && k < words.count; k++) {
        int which;
        err = options_choice("tables", words.word[k], predict_table_names, diag, &which);
        if (!err)
            r->table[which] = true;
    }
    return err;
}

static edgeps_err read_numbers(const char *const *value, predict_request *r, edgeps_diag *diag)
{
    int64_t seed = 0, seeds = 0;
    edgeps_err err = options_whole("seeds", value[SEEDS], 1, 1000, diag, &seeds);
    if (!err)
        err = options_whole("seed", value[SEED], 0, INT64_MAX - 1000, diag, &seed);
    if (!err)
        err = options_real("dilation", value[DILATION], 0.01, 1e4, diag, &r->dilation);
    if (!err)
        err = options_whole("rounds", value[ROUNDS], 1, 1000, diag, &r->rounds);
    if (!err)
        err = options_whole("epochs", value[EPOCHS], 2, PREDICT_MOST_EPOCHS, diag, &r->epochs);
    r->seed = (uint64_t)seed;
    r->seeds = (size_t)seeds;
    return err;
}

static edgeps_err run(const char *const *value, edgeps_diag *diag)
{
    char default_dir[PATH_MAX], data_dir[PATH_MAX];
    options_words networks;
    predict_request r = {.quick = value[QUICK] != NULL,
                         .force = value[FORCE] != NULL,
                         .out_folder = value[OUT],
                         .other_round_s = grid_is_there() ? grid_round_s : NULL,
                         .json = value[JSON] != NULL,
                         .print = stdout,
                         .progress = stderr};
    if (!value[OUT])
        return diag_fail(diag, EDGEPS_USAGE, "say where the tables go: --out FOLDER");
    edgeps_err err = read_tables(value[TABLES], &r, diag);
    if (!err)
        err = read_numbers(value, &r, diag);
    if (!err)
        err = options_cut("networks", value[NETWORKS], diag, &networks);
    if (err)
        return err;
    r.networks = networks.word;
    r.network_count = networks.count;
    options_default_data(default_dir, sizeof default_dir);
    const char *data = value[DATA] ? value[DATA] : default_dir;
    r.data_folder = realpath(data, data_dir);
    if (!r.data_folder)
        return diag_fail(diag, EDGEPS_USAGE,
                         "%s: is no folder; --data says where the four IDX files are", data);
    err = bench_predict(&r, diag);
    edgeps_err said = err && err != EDGEPS_CANCELLED ? EDGEPS_OK : file_end_output(diag);
    return said ? said : err;
}

void predict_help(void)
{
    options_help("bench predict --out FOLDER [OPTIONS]",
                 "trains plans in the lab and compares the times with the predicted ones", table);
}

edgeps_err predict_command(int argc, char **argv, edgeps_diag *diag)
{
    const char *value[OPTIONS] = {NULL}, *more = NULL;
    edgeps_err err = options_read(table, argc, argv, value, &more, diag);
    if (!err && more)
        return diag_fail(diag, EDGEPS_USAGE, "'%s': one argument too many; see --help", more);
    if (!err && value[HELP]) {
        predict_help();
        return EDGEPS_OK;
    }
    options_fill(table, value);
    return err ? err : run(value, diag);
}
