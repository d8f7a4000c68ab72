#include "bench/bench.h"

#include "base/file.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "formats/quantity.h"

#include <stdio.h>
#include <string.h>

#define LIST_MOST 32
#define LIST_BYTES 1024

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
    char tables[LIST_BYTES], nodes[LIST_BYTES], algorithms[LIST_BYTES];
    const char *words[LIST_MOST];
    size_t sizes[LIST_MOST];
} lists;

/* Cuts the value of an option at its commas, in `text`, into words. */
static edgeps_err cut(int row, const char *value, char text[LIST_BYTES],
                      const char *words[LIST_MOST], size_t *count, edgeps_diag *diag)
{
    char *rest = NULL;
    if (strlen(value) >= LIST_BYTES)
        return diag_fail(diag, EDGEPS_USAGE, "--%s: is too long", rows[row].name);
    snprintf(text, LIST_BYTES, "%s", value);
    *count = 0;
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (*count == LIST_MOST)
            return diag_fail(diag, EDGEPS_USAGE, "--%s: at most %d", rows[row].name, LIST_MOST);
        words[(*count)++] = word;
    }
    if (*count == 0)
        return diag_fail(diag, EDGEPS_USAGE, "--%s: is empty; see --help", rows[row].name);
    return EDGEPS_OK;
}

static edgeps_err read_tables(const char *value, lists *l, bench_request *r, edgeps_diag *diag)
{
    const char *words[LIST_MOST];
    size_t count = 0;
    edgeps_err err = cut(TABLES, value, l->tables, words, &count, diag);
    for (size_t k = 0; !err && k < count; k++) {
        int which;
        err = options_choice("tables", words[k], bench_table_names, diag, &which);
        if (!err)
            r->table[which] = true;
    }
    return err;
}

static edgeps_err read_nodes(const char *value, lists *l, bench_request *r, edgeps_diag *diag)
{
    const char *words[LIST_MOST];
    edgeps_err err = cut(NODES, value, l->nodes, words, &r->node_count, diag);
    for (size_t k = 0; !err && k < r->node_count; k++) {
        int64_t nodes;
        err = options_whole("nodes", words[k], 2, NETWORK_MAX_NODES, diag, &nodes);
        if (!err)
            l->sizes[k] = (size_t)nodes;
    }
    r->nodes = l->sizes;
    return err;
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
        err = read_tables(value[TABLES], l, r, diag);
    if (!err && value[NODES])
        err = read_nodes(value[NODES], l, r, diag);
    if (!err && value[ALGORITHMS]) {
        err =
            cut(ALGORITHMS, value[ALGORITHMS], l->algorithms, l->words, &r->algorithm_count, diag);
        r->algorithms = l->words;
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
        return diag_fail(diag, EDGEPS_USAGE, "say what to measure: edgeps bench place");
    edgeps_err err = read_request(value, &l, &r, diag);
    if (!err)
        err = bench_place(&r, diag);
    edgeps_err said = err && err != EDGEPS_CANCELLED ? EDGEPS_OK : file_end_output(diag);
    return said ? said : err;
}

int cli_bench(int argc, char **argv)
{
    const char *value[OPTIONS] = {NULL}, *what = NULL;
    edgeps_diag diag = {.text = ""};
    edgeps_err err = options_read(table, argc, argv, value, &what, &diag);
    if (!err && value[HELP]) {
        options_help("bench place [OPTIONS]", "measures the planner on networks drawn at random",
                     table);
        return 0;
    }
    for (int k = 0; k < OPTIONS; k++)
        if (!value[k])
            value[k] = rows[k].fallback;
    if (!err)
        err = run(value, what, &diag);
    if (err)
        fprintf(stderr, "edgeps bench: %s\n", diag.text);
    return err_exit_status(err);
}
