#include "base/filter.h"
#include "base/mem.h"
#include "cli/options.h"
#include "cli/topo.h"
#include "formats/network_dot.h"
#include "formats/plan_json.h"

#include <stdio.h>
#include <string.h>

/* Graphviz takes its time for a large graph; what it writes grows with the graph. */
#define MOST_SVG_BYTES ((size_t)1 << 30)
#define STATUS_NO_GRAPHVIZ 127

enum { PLAN, TO, OUT, HELP, OPTIONS };

static const options_row rows[OPTIONS] = {
    [PLAN] = {"plan", "FILE", NULL, "draw this plan, as edgeps plan --json wrote it", false},
    [TO] = {"to", "FORMAT", "svg", "svg, for which Graphviz must be there, or dot", false},
    [OUT] = {"out", "FILE", NULL, "write there (-o) instead of printing", false},
    [HELP] = {"help", NULL, NULL, "this text", false},
};

static const options_table table = {rows, OPTIONS};

enum { TO_SVG, TO_DOT };

static const char *const formats[] = {[TO_SVG] = "svg", [TO_DOT] = "dot", NULL};

void topo_draw_help(void)
{
    options_help("topo draw NETWORK [OPTIONS]", "makes a picture of a network, or of a plan in it",
                 table);
}

/* The plan says for which job it is; a drawing does without what it does not say. */
static edgeps_err load_plan(const char *path, const network *net, edgeps_diag *diag, job *j,
                            bool *known, plan *pl)
{
    plan_json_origin origin;
    problem *p = NULL;
    edgeps_err err = plan_json_load_origin(path, diag, &origin);
    if (err)
        return err;
    *known = origin.model[0] != '\0';
    job_transfer transfer = strcmp(origin.transfer, job_transfer_name(JOB_STORE_AND_FORWARD)) == 0
                                ? JOB_STORE_AND_FORWARD
                                : JOB_PIPELINED;
    err = job_make(*known ? origin.model : "lenet5", 1, 1, transfer, diag, j);
    if (err)
        return diag_wrap(diag, err, "%s", path);
    err = problem_make(net, j, NULL, diag, &p);
    if (!err)
        err = plan_json_load(path, p, diag, pl);
    problem_free(p);
    j->model = NULL; /* the name is lent from `origin` */
    return err;
}

static edgeps_err draw_svg(const char *dot, edgeps_diag *diag, char **svg)
{
    static const char command[] = "command -v dot >/dev/null || exit 127; exec dot -Tsvg";
    const filter_limits limits = {.most_bytes = MOST_SVG_BYTES};
    filter_output out = {.text = NULL};
    edgeps_err err = filter_run(command, dot, &limits, diag, &out);
    if (err)
        return diag_wrap(diag, err, "dot");
    if (out.exit_status == STATUS_NO_GRAPHVIZ)
        err = diag_fail(diag, EDGEPS_UNSUPPORTED,
                        "there is no command dot, which draws SVG; install the package graphviz, "
                        "or write --to dot");
    else if (out.exit_status)
        err = diag_fail(diag, EDGEPS_IO, "dot -Tsvg ended with status %d", out.exit_status);
    if (err)
        mem_free(out.text);
    else
        *svg = out.text;
    return err;
}

static edgeps_err draw(const network *net, const char *const *value, int format, edgeps_diag *diag)
{
    plan pl = {.global = PLAN_NONE};
    job j;
    bool known = false;
    char *text = NULL, *svg = NULL;
    edgeps_err err = value[PLAN] ? load_plan(value[PLAN], net, diag, &j, &known, &pl) : EDGEPS_OK;
    if (!err && network_dot_text(net, value[PLAN] ? &pl : NULL, known ? &j : NULL, &text))
        err = diag_fail(diag, EDGEPS_NOMEM, "no memory for the drawing");
    if (!err && format == TO_SVG)
        err = draw_svg(text, diag, &svg);
    if (!err)
        err = topo_write(svg ? svg : text, value[OUT], diag);
    mem_free(text);
    mem_free(svg);
    plan_free(&pl);
    return err;
}

edgeps_err topo_draw(int argc, char **argv, edgeps_diag *diag)
{
    const char *value[OPTIONS] = {NULL}, *path = NULL;
    int format = 0;
    network *net = NULL;
    edgeps_err err = options_read(table, argc, argv, value, &path, diag);
    if (!err && value[HELP]) {
        topo_draw_help();
        return EDGEPS_OK;
    }
    options_fill(table, value);
    if (!err && !path)
        err = diag_fail(diag, EDGEPS_USAGE, "no network file given; see --help");
    if (!err)
        err = options_choice("to", value[TO], formats, diag, &format);
    if (!err)
        err = topo_load(path, diag, &net);
    if (!err)
        err = draw(net, value, format, diag);
    network_free(net);
    return err;
}
