#include "sim/search.h"

#include "base/file.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FAULT_SEARCH, SEED, NODES, FAULTS, REPLAY, HELP, OPTIONS };

static const options_row rows[OPTIONS] = {
    [FAULT_SEARCH] = {"fault-search", "RUNS", NULL, "draw and run so many scripts", false},
    [SEED] = {"seed", "N", "1", "of the first run; each next one has the next", false},
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
        err = options_whole("seed", value[SEED], 0, INT64_MAX / 2, diag, &seed);
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

/* The script on standard output, what is wrong with it in the diagnosis. */
static edgeps_err search(const char *const *value, edgeps_diag *diag)
{
    char text[SCRIPT_TEXT_BYTES];
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
    if (!r.found) {
        printf("%zu runs with %zu faults: no invariant broke\n", r.runs, r.faults);
        return EDGEPS_OK;
    }
    script_text(&r.smallest, text);
    printf("%s", text);
    return diag_fail(diag, EDGEPS_INTERNAL, "seed %" PRIu64 " breaks an invariant: %s", r.seed,
                     r.broken);
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

static edgeps_err run(const char *const *value, edgeps_diag *diag)
{
    if (!value[FAULT_SEARCH] == !value[REPLAY])
        return diag_fail(diag, EDGEPS_USAGE,
                         "say what to simulate: --fault-search RUNS or --replay SCRIPT");
    edgeps_err err = value[REPLAY] ? replay(value[REPLAY], diag) : search(value, diag);
    return err ? err : file_end_output(diag);
}

int cli_sim(int argc, char **argv)
{
    const char *value[OPTIONS] = {NULL}, *operand = NULL;
    edgeps_diag diag = {.text = ""};
    edgeps_err err = options_read(table, argc, argv, value, &operand, &diag);
    if (!err && value[HELP]) {
        options_help(
            "sim [OPTIONS]",
            "runs the training protocol in virtual time, in search of faults that break it", table);
        return 0;
    }
    options_fill(table, value);
    if (!err && operand)
        err = diag_fail(&diag, EDGEPS_USAGE, "'%s' is no option; see --help", operand);
    if (!err)
        err = run(value, &diag);
    if (err)
        fprintf(stderr, "edgeps sim: %s\n", diag.text);
    return err_exit_status(err);
}
