#include "bench/bench.h"

#include "base/file.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/predict.h"
#include "formats/quantity.h"

#include <stdio.h>
#include <string.h>

enum {
    TABLES,
    KIND,
    NODES,
    SEEDS,
    SEED,
    ALGORITHMS,
    DEADLINE,
    MAX_LOCALS,
    PCENTER,
    JSON,
    OUT,
    HELP,
    OPTIONS
};

static const options_row rows[OPTIONS] = {
    [TABLES] = {"tables", "NAMES", "quality,exact,approx,pcenter", "which, separated by commas",
                false},
    [KIND] = {"kind", "KIND", "two-tier", "two-tier, thesis, waxman or barabasi-albert", false},
    [NODES] = {"nodes", "LIST", NULL, "sizes, such as 10,100,1000, in place of each table's own",
               false},
    [SEEDS] = {"seeds", "N", "20", "networks of each size; fewer above 300 nodes", false},
    [SEED] = {"seed", "N", "1", "the first seed", false},
    [ALGORITHMS] = {"algorithms", "NAMES", NULL, "of quality and approx, separated by commas",
                    false},
    [DEADLINE] = {"deadline", "TIME", NULL, "of each search, in place of each table's own", false},
    [MAX_LOCALS] = {"max-locals", "K", NULL,
                    "most local servers (default the square root of nodes)", false},
    [PCENTER] = {"pcenter", "FOLDER", NULL, "with pmed1.txt to pmed15.txt and points of TSPLIB",
                 false},
    [JSON] = {"json", NULL, NULL, "the tables as JSON instead of Markdown", false},
    [OUT] = {"out", "FOLDER", NULL, "also write each table as CSV and Markdown there, and a figure",
             false},
    [HELP] = {"help", NULL, NULL, "this text", false},
};

static const options_table table = {rows, OPTIONS};

/* What the request borrows. */
typedef struct lists {
    options_words algorithms;
    size_t sizes[OPTIONS_MOST_WORDS];
} lists;

static edgeps_err read_tables(const char *value, bench_request *r, edgeps_diag *diag)
{
    options_words words;
    edgeps_err err = options_cut("tables", value, diag, &words);
    for (size_t k = 0; !err && k < words.count; k++) {
        int which;
        err = options_choice("tables", words.word[k], bench_table_names, diag, &which);
        if (!err)
            r->table[which] = true;
    }
    return err;
}

static edgeps_err read_nodes(const char *value, lists *l, bench_request *r, edgeps_diag *diag)
{
    options_words words;
    edgeps_err err = options_cut("nodes", value, diag, &words);
    for (size_t k = 0; !err && k < words.count; k++) {
        int64_t nodes;
        err = options_whole("nodes", words.word[k], 2, NETWORK_MAX_NODES, diag, &nodes);
        if (!err)
            l->sizes[k] = (size_t)nodes;
    }
    if (err)
        return err;
    r->nodes = l->sizes;
    r->node_count = words.count;
    return EDGEPS_OK;
}

static edgeps_err read_numbers(const char *const *value, bench_request *r, edgeps_diag *diag)
{
    int kind;
    int64_t seed, seeds, locals = 0;
    edgeps_err err = options_choice("kind", value[KIND], generate_kind_names, diag, &kind);
    if (!err)
        err = options_whole("seeds", value[SEEDS], 1, 100000, diag, &seeds);
    if (!err)
        err = options_whole("seed", value[SEED], 0, INT64_MAX - 100000, diag, &seed);
    if (!err && value[MAX_LOCALS])
        err = options_whole("max-locals", value[MAX_LOCALS], 1, NETWORK_MAX_NODES, diag, &locals);
    if (!err && value[DEADLINE] &&
        quantity_parse(QUANTITY_TIME, value[DEADLINE], diag, &r->deadline_s))
        err = diag_wrap(diag, EDGEPS_USAGE, "--deadline");
    if (err)
        return err;
    r->kind = (generate_kind)kind;
    r->seed = (uint64_t)seed;
    r->seeds = (size_t)seeds;
    r->max_locals = (size_t)locals;
    return EDGEPS_OK;
}

static edgeps_err read_request(const char *const *value, lists *l, bench_request *r,
                               edgeps_diag *diag)
{
    edgeps_err err = read_numbers(value, r, diag);
    if (!err)
        err = read_tables(value[TABLES], r, diag);
    if (!err && value[NODES])
        err = read_nodes(value[NODES], l, r, diag);
    if (!err && value[ALGORITHMS]) {
        err = options_cut("algorithms", value[ALGORITHMS], diag, &l->algorithms);
        r->algorithms = l->algorithms.word;
        r->algorithm_count = l->algorithms.count;
    }
    r->pcenter_folder = value[PCENTER];
    r->out_folder = value[OUT];
    r->json = value[JSON] != NULL;
    r->print = stdout;
    r->progress = stderr;
    return err;
}

static edgeps_err run(const char *const *value, const char *what, edgeps_diag *diag)
{
    lists l;
    bench_request r = {.nodes = NULL};
    if (!what || strcmp(what, "place") != 0)
        return diag_fail(diag, EDGEPS_USAGE,
                         "say what to measure: edgeps bench place, or edgeps bench predict");
    edgeps_err err = read_request(value, &l, &r, diag);
    if (!err)
        err = bench_place(&r, diag);
    edgeps_err said = err && err != EDGEPS_CANCELLED ? EDGEPS_OK : file_end_output(diag);
    return said ? said : err;
}

static edgeps_err place_command(int argc, char **argv, edgeps_diag *diag)
{
    const char *value[OPTIONS] = {NULL}, *what = NULL;
    edgeps_err err = options_read(table, argc, argv, value, &what, diag);
    if (!err && value[HELP]) {
        options_help("bench place [OPTIONS]", "measures the planner on networks drawn at random",
                     table);
        if (!what) {
            putchar('\n');
            predict_help();
        }
        return EDGEPS_OK;
    }
    options_fill(table, value);
    return err ? err : run(value, what, diag);
}

int cli_bench(int argc, char **argv)
{
    edgeps_diag diag = {.text = ""};
    bool is_predict = argc > 1 && strcmp(argv[1], "predict") == 0;
    edgeps_err err =
        is_predict ? predict_command(argc - 1, argv + 1, &diag) : place_command(argc, argv, &diag);
    if (err)
        fprintf(stderr, "edgeps bench: %s\n", diag.text);
    return err_exit_status(err);
}
