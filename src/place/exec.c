#include "place/place_int.h"

#include "base/filter.h"
#include "base/mem.h"
#include "formats/plan_json.h"
#include "formats/problem_json.h"

#include <stdio.h>

/* Most output: room for what `edgeps plan --json` says of a plan. */
#define BYTES_PER_PLAN ((size_t)1 << 20)
#define BYTES_PER_NODE ((size_t)1 << 10)

#define STATUS_NO_PLAN 3   /* as edgeps itself ends without one */
#define STATUS_NO_FILE 127 /* of the shell */

static bool go_on(void *watch) { return place_watch_go_on(watch, 0); }

static edgeps_err ask(const char *command, const problem *p, const place_options *options,
                      edgeps_diag *diag, filter_output *answer)
{
    place_watch w = place_watch_start(options);
    const problem_json_request request = {options->seed, options->deadline_s};
    const filter_limits limits = {
        .most_bytes = BYTES_PER_PLAN + p->count * BYTES_PER_NODE, .go_on = go_on, .watched = &w};
    char *text = NULL;
    edgeps_err err = problem_json_text(p, &request, diag, &text);
    if (!err)
        err = filter_run(command, text, &limits, diag, answer);
    mem_free(text);
    if (err == EDGEPS_CANCELLED && w.stopped == PLACE_STOPPED_DEADLINE)
        err = diag_fail(diag, EDGEPS_IO, "the command gave no plan within the deadline of %g s",
                        options->deadline_s);
    return err;
}

static edgeps_err read_answer(const filter_output *answer, const problem *p, edgeps_diag *diag,
                              plan *pl)
{
    if (answer->exit_status == STATUS_NO_FILE)
        return diag_fail(diag, EDGEPS_IO, "there is no such command");
    if (answer->exit_status)
        return diag_fail(diag, EDGEPS_IO, "the command ended with status %d", answer->exit_status);
    if (!answer->length)
        return diag_fail(diag, EDGEPS_FORMAT, "the command wrote no plan");
    edgeps_err err = plan_json_parse(answer->text, answer->length, p, diag, pl);
    if (err)
        return diag_wrap(diag, err, "its plan");
    err = plan_check(pl, p, diag);
    if (err) {
        plan_free(pl);
        diag_wrap(diag, err, "its plan breaks a constraint");
    }
    return err;
}

edgeps_err place_exec(const char *command, const problem *p, const place_options *options,
                      edgeps_diag *diag, place_result *out)
{
    filter_output answer = {0};
    place_result r = {.status = PLACE_FEASIBLE, .plan.global = PLAN_NONE};
    edgeps_err err = ask(command, p, options, diag, &answer);
    if (!err && answer.exit_status == STATUS_NO_PLAN) {
        r.status = PLACE_INFEASIBLE;
        snprintf(r.reason, sizeof r.reason, "exec:%.100s found no plan", command);
    } else if (!err) {
        err = read_answer(&answer, p, diag, &r.plan);
    }
    mem_free(answer.text);
    if (err)
        return diag_wrap(diag, err, "exec:%.100s", command);
    *out = r;
    return EDGEPS_OK;
}
