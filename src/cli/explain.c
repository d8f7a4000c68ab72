#include "cli/explain.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/setting.h"
#include "formats/network_json.h"
#include "formats/plan_json.h"
#include "formats/quantity.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_FACTOR 1e6

enum { RATE = SETTING_OPTIONS, STORAGE, SPEED, TOP, REPLAN, WITHOUT, JSON, HELP, OPTIONS };

static const options_row rows[OPTIONS] = {
    SETTING_ROWS,
    [RATE] = {"rate", "RATE", "1 MB/s", "how much more a link gets", false},
    [STORAGE] = {"storage", "SIZE", "1 GiB", "how much more storage a node gets", false},
    [SPEED] = {"speed", "TIMES", "1.1", "how many times as fast a node works", false},
    [TOP] = {"top", "N", "10", "changes to list, best first", false},
    [REPLAN] = {"replan", NULL, NULL, "improve the plan for each of them, too", false},
    [WITHOUT] = {"without", "NODE", NULL, "plan anew without this node", false},
    [JSON] = {"json", NULL, NULL, "the answer as JSON", false},
    [HELP] = {"help", NULL, NULL, "this text", false},
};

static const options_table table = {rows, OPTIONS};

typedef struct work {
    const char *value[OPTIONS];
    const char *network_path;
    const char *plan_path; /* NULL: plan first */
    plan_json_origin origin;
    char max_locals[24];
    setting setting;
    explain_request request;
    network *net;
    problem *problem;
    plan plan;
    explain explain;
    explain_without without;
    char reason[256];
} work;

/* What the command line leaves open, the plan's file says, and else the table. */
static edgeps_err fill_values(work *w, edgeps_diag *diag)
{
    if (w->plan_path) {
        edgeps_err err = plan_json_load_origin(w->plan_path, diag, &w->origin);
        if (err)
            return err;
        snprintf(w->max_locals, sizeof w->max_locals, "%" PRId64, w->origin.max_locals);
        if (!w->value[SETTING_MAX_LOCALS] && w->origin.max_locals > 0)
            w->value[SETTING_MAX_LOCALS] = w->max_locals;
        if (!w->value[SETTING_MODEL] && w->origin.model[0])
            w->value[SETTING_MODEL] = w->origin.model;
        if (!w->value[SETTING_TRANSFER] && w->origin.transfer[0])
            w->value[SETTING_TRANSFER] = w->origin.transfer;
    }
    options_fill(table, w->value);
    return EDGEPS_OK;
}

static edgeps_err read_steps(work *w, edgeps_diag *diag)
{
    explain_request *r = &w->request;
    double storage_bytes = 0;
    int64_t top;
    if (quantity_parse(QUANTITY_RATE, w->value[RATE], diag, &r->step.rate_bytes_per_s))
        return diag_wrap(diag, EDGEPS_USAGE, "--rate");
    if (quantity_parse(QUANTITY_SIZE, w->value[STORAGE], diag, &storage_bytes))
        return diag_wrap(diag, EDGEPS_USAGE, "--storage");
    edgeps_err err =
        options_real("speed", w->value[SPEED], 1, MOST_FACTOR, diag, &r->step.speed_factor);
    if (!err)
        err = options_whole("top", w->value[TOP], 0, INT32_MAX, diag, &top);
    if (err)
        return err;
    r->storage_bytes = (int64_t)storage_bytes;
    r->top = (size_t)top;
    r->replan = w->value[REPLAN] != NULL;
    r->search = w->setting.place;
    return EDGEPS_OK;
}

static edgeps_err read_settings(work *w, edgeps_diag *diag)
{
    edgeps_err err = setting_read(w->value, diag, &w->setting);
    return err ? err : read_steps(w, diag);
}

static edgeps_err place(work *w, edgeps_diag *diag)
{
    place_result r;
    edgeps_err err = place_run(w->value[SETTING_ALGO], w->problem, &w->setting.place, diag, &r);
    if (err)
        return err;
    if (r.status == PLACE_INFEASIBLE)
        return diag_fail(diag, EDGEPS_INFEASIBLE, "%s: %s", w->network_path, r.reason);
    w->plan = r.plan;
    return EDGEPS_OK;
}

static edgeps_err load(work *w, edgeps_diag *diag)
{
    const problem_options po = {.max_locals = w->setting.max_locals};
    edgeps_err err = network_json_load(w->network_path, diag, &w->net);
    if (err)
        return err;
    err = problem_make(w->net, &w->setting.job, &po, diag, &w->problem);
    if (err)
        return diag_wrap(diag, err, "%s", w->network_path);
    if (!w->plan_path)
        return place(w, diag);
    err = plan_json_load(w->plan_path, w->problem, diag, &w->plan);
    if (!err && (err = plan_check(&w->plan, w->problem, diag)))
        diag_wrap(diag, err, "%s", w->plan_path);
    return err;
}

static edgeps_err plan_without(work *w, const problem *p, edgeps_diag *diag)
{
    place_result r;
    edgeps_err err = place_run(w->value[SETTING_ALGO], p, &w->setting.place, diag, &r);
    if (err)
        return err;
    if (r.status == PLACE_INFEASIBLE) {
        memcpy(w->reason, r.reason, sizeof w->reason);
        w->without.reason = w->reason;
    } else {
        w->without.round_s = r.cost.round_s;
        w->without.epoch_s = r.cost.epoch_s;
        w->without.global = p->nodes[r.plan.global].name;
    }
    place_result_free(&r);
    return EDGEPS_OK;
}

/* Plans the network anew with the node gone. */
static edgeps_err do_without(work *w, edgeps_diag *diag)
{
    int64_t node = network_find(w->net, w->value[WITHOUT]);
    bool *absent = mem_alloc(w->net->count, sizeof *absent);
    problem *p = NULL;
    edgeps_err err = EDGEPS_OK;
    if (!absent)
        err = diag_fail(diag, EDGEPS_NOMEM, "no memory for a network without a node");
    else if (node < 0)
        err = diag_fail(diag, EDGEPS_USAGE, "--without: no node is called '%s'", w->value[WITHOUT]);
    if (!err) {
        const problem_options po = {.max_locals = w->setting.max_locals, .absent = absent};
        edgeps_diag why = {.text = ""};
        absent[node] = true;
        w->without.node = w->net->nodes[node].name;
        w->explain.facts.without = &w->without;
        err = problem_make(w->net, &w->setting.job, &po, &why, &p);
        if (err == EDGEPS_INFEASIBLE) {
            snprintf(w->reason, sizeof w->reason, "%.255s", why.text);
            w->without.reason = w->reason;
            err = EDGEPS_OK;
        } else if (!err) {
            err = plan_without(w, p, diag);
        }
    }
    problem_free(p);
    mem_free(absent);
    return err;
}

static edgeps_err print(work *w, edgeps_diag *diag)
{
    char *text = NULL;
    w->explain.facts.network = w->net->name;
    if (w->value[JSON] && explain_json_text(&w->explain.facts, &text))
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for the answer's text");
    if (text)
        puts(text);
    else
        explain_print(&w->explain.facts);
    mem_free(text);
    return file_end_output(diag);
}

static edgeps_err run(work *w, edgeps_diag *diag)
{
    if (!w->network_path)
        return diag_fail(diag, EDGEPS_USAGE, "no network file given; see edgeps explain --help");
    edgeps_err err = fill_values(w, diag);
    if (!err)
        err = read_settings(w, diag);
    if (!err)
        err = load(w, diag);
    if (!err && (err = explain_find(w->problem, &w->plan, &w->request, &w->explain)))
        diag_fail(diag, err, "no memory to explain a plan of %zu nodes", w->problem->count);
    if (!err && w->value[WITHOUT])
        err = do_without(w, diag);
    return err ? err : print(w, diag);
}

int cli_explain(int argc, char **argv)
{
    work w = {.plan = {.global = PLAN_NONE}};
    const char *operands[2] = {NULL};
    edgeps_diag diag = {.text = ""};
    edgeps_err err = options_read_two(table, argc, argv, w.value, operands, &diag);
    if (!err && w.value[HELP]) {
        options_help("explain NETWORK [PLAN] [OPTIONS]",
                     "tells why a plan is as it is, and what would make its rounds shorter", table);
        return 0;
    }
    w.network_path = operands[0];
    w.plan_path = operands[1];
    if (!err)
        err = run(&w, &diag);
    explain_free(&w.explain);
    plan_free(&w.plan);
    problem_free(w.problem);
    network_free(w.net);
    if (err)
        fprintf(stderr, "edgeps explain: %s\n", diag.text);
    return err_exit_status(err);
}
