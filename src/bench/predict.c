#include "bench/predict_int.h"

#include "base/mem.h"
#include "bench/bench_int.h"
#include "bench/output.h"
#include "formats/network_json.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MODEL "lenet5"
#define BATCH 32

const char *const predict_table_names[] = {"epochs", "order", NULL};

typedef struct results {
    const predict_request *r;
    predict_row *rows;
    size_t count;
    size_t room;
} results;

/* One network with one discipline. */
typedef struct setting {
    network *net;
    job_transfer transfer;
    problem *p;
    predict_origin origin; /* of the first run in this network */
} setting;

/* ---- measuring ---- */

static edgeps_err measure_row(results *all, setting *s, const predict_choice *choice,
                              predict_table table, edgeps_diag *diag)
{
    const predict_request *r = all->r;
    char name[256];
    predict_row row = {.table = table,
                       .nodes = s->net->count,
                       .plan = choice->name,
                       .seed = choice->seed,
                       .transfer = s->transfer,
                       .dilation = r->dilation,
                       .rounds = s->p->rounds,
                       .predicted_s = choice->round_s * (double)s->p->rounds,
                       .simulated_s = NAN,
                       .origin = s->origin};
    snprintf(row.network, sizeof row.network, "%s", s->net->name);
    snprintf(name, sizeof name, "%s-%zu-%s-%s-%zu", predict_table_names[table], s->net->count,
             job_transfer_name(s->transfer), choice->name, all->count);
    fprintf(r->progress, "%zu: %s, %s, %s, predicted %.3f s\n", all->count + 1, s->net->name,
            job_transfer_name(s->transfer), choice->name, row.predicted_s);
    double round_s = NAN;
    edgeps_err err = r->other_round_s ? r->other_round_s(s->p, &choice->plan, &round_s) : EDGEPS_OK;
    if (err)
        return diag_fail(diag, err, "the other simulator broke off");
    row.simulated_s = round_s * (double)s->p->rounds;
    const predict_trial trial = {r, s->net, s->p, choice, name, !s->origin.kernel[0]};
    err = predict_emulate(&trial, diag, &row);
    predict_row *rows = err ? NULL : mem_grow(all->rows, all->count + 1, sizeof *rows, &all->room);
    if (!err && !rows)
        err = EDGEPS_NOMEM;
    if (err)
        return err;
    s->origin = row.origin;
    all->rows = rows;
    all->rows[all->count++] = row;
    return EDGEPS_OK;
}

static edgeps_err make_problem(const predict_request *r, setting *s, edgeps_diag *diag)
{
    job j;
    int64_t workers = 0;
    for (size_t i = 0; i < s->net->count; i++)
        workers += s->net->nodes[i].train;
    const problem_options po = {.max_locals = (size_t)ceil(sqrt((double)s->net->count))};
    problem_free(s->p);
    s->p = NULL;
    edgeps_err err = job_make(MODEL, r->rounds * BATCH * workers, BATCH, s->transfer, diag, &j);
    return err ? err : problem_make(s->net, &j, &po, diag, &s->p);
}

static edgeps_err measure_epochs(results *all, setting *s, edgeps_diag *diag)
{
    predict_choice choices[PREDICT_PLANS] = {{.name = NULL}};
    size_t count = 0;
    edgeps_err err = make_problem(all->r, s, diag);
    if (!err)
        err = predict_choose(s->p, all->r, diag, choices, &count);
    for (size_t k = 0; !err && k < count; k++)
        err = measure_row(all, s, &choices[k], PREDICT_EPOCHS, diag);
    predict_choices_free(choices, PREDICT_PLANS);
    return err;
}

static edgeps_err measure_order(results *all, setting *s, edgeps_diag *diag)
{
    edgeps_err err = make_problem(all->r, s, diag);
    for (size_t k = 0; !err && k < all->r->seeds; k++) {
        predict_choice choice = {.name = NULL};
        err = predict_random(s->p, all->r->seed + k, diag, &choice);
        if (!err)
            err = measure_row(all, s, &choice, PREDICT_ORDER, diag);
        plan_free(&choice.plan);
    }
    return err;
}

/* What the scenario would change stays as it is at the beginning. */
static edgeps_err load(const char *path, edgeps_diag *diag, network **out)
{
    edgeps_err err = network_json_load(path, diag, out);
    if (err)
        return diag_wrap(diag, err, "--networks");
    mem_free((*out)->events);
    (*out)->events = NULL;
    (*out)->event_count = 0;
    return EDGEPS_OK;
}

static edgeps_err measure_network(results *all, size_t index, edgeps_diag *diag)
{
    const predict_request *r = all->r;
    setting s = {.net = NULL};
    edgeps_err err = load(r->networks[index], diag, &s.net);
    for (int transfer = JOB_PIPELINED; !err && r->table[PREDICT_EPOCHS] && transfer < 2;
         transfer++) {
        s.transfer = (job_transfer)transfer;
        if (s.transfer == JOB_PIPELINED || !r->quick)
            err = measure_epochs(all, &s, diag);
    }
    if (!err && r->table[PREDICT_ORDER] && index + 1 == r->network_count) {
        s.transfer = JOB_PIPELINED;
        err = measure_order(all, &s, diag);
    }
    problem_free(s.p);
    network_free(s.net);
    return err;
}

/* ---- writing ---- */

static const char *const sheet_names[] = {"epochs", "order", "summary"};
#define SHEETS (sizeof sheet_names / sizeof *sheet_names)

static bool write_figure(const results *all, predict_table table)
{
    char *program = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&program, &length);
    if (!text)
        return false;
    predict_figure(all->rows, all->count, table, text);
    bool good =
        fclose(text) == 0 && output_figure(all->r->out_folder, predict_table_names[table], program);
    free(program);
    return good;
}

static edgeps_err write_folder(const results *all, const sheet *sheets, edgeps_diag *diag)
{
    bool good = true;
    for (size_t k = 0; good && k < SHEETS; k++)
        if (sheets[k].count)
            good = output_sheet(all->r->out_folder, sheet_names[k], &sheets[k]);
    for (predict_table t = 0; good && t < PREDICT_TABLES; t++)
        if (sheets[t].count)
            good = write_figure(all, t);
    return good ? EDGEPS_OK
                : diag_fail(diag, EDGEPS_IO, "%s: cannot be written: %s", all->r->out_folder,
                            strerror(errno));
}

static edgeps_err print_json(const sheet *sheets, FILE *out)
{
    json_t *tables = json_object();
    bool good = tables != NULL;
    for (size_t k = 0; good && k < SHEETS; k++)
        good = json_object_set_new(tables, sheet_names[k], sheet_json(&sheets[k])) == 0;
    good = good && json_dumpf(tables, out, JSON_INDENT(1) | JSON_REAL_PRECISION(10)) == 0;
    json_decref(tables);
    fputc('\n', out);
    return good ? EDGEPS_OK : EDGEPS_NOMEM;
}

static edgeps_err report(const results *all, edgeps_diag *diag)
{
    sheet sheets[SHEETS] = {predict_rows_sheet(all->rows, all->count, PREDICT_EPOCHS),
                            predict_rows_sheet(all->rows, all->count, PREDICT_ORDER),
                            predict_summary_sheet(all->rows, all->count)};
    edgeps_err err = EDGEPS_OK;
    for (size_t k = 0; k < SHEETS; k++)
        err = sheets[k].failed ? EDGEPS_NOMEM : err;
    if (!err && all->r->json)
        err = print_json(sheets, all->r->print);
    for (size_t k = 0; !err && !all->r->json && k < SHEETS; k++)
        if (sheets[k].count)
            sheet_markdown(&sheets[k], all->r->print);
    if (!err)
        err = write_folder(all, sheets, diag);
    for (size_t k = 0; k < SHEETS; k++)
        sheet_free(&sheets[k]);
    return err;
}

static edgeps_err make_folders(const predict_request *r, edgeps_diag *diag)
{
    char runs[4096];
    snprintf(runs, sizeof runs, "%s/runs", r->out_folder);
    if ((mkdir(r->out_folder, 0777) && errno != EEXIST) || (mkdir(runs, 0777) && errno != EEXIST))
        return diag_fail(diag, EDGEPS_IO, "%s: cannot be made: %s", runs, strerror(errno));
    return EDGEPS_OK;
}

edgeps_err bench_predict(const predict_request *request, edgeps_diag *diag)
{
    sigset_t interrupts, before;
    results all = {.r = request};
    edgeps_err err = make_folders(request, diag);
    if (err)
        return err;
    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    sigaddset(&interrupts, SIGTERM);
    sigprocmask(SIG_BLOCK, &interrupts, &before);
    for (size_t k = 0; !err && k < request->network_count; k++)
        err = measure_network(&all, k, diag);
    if (err == EDGEPS_NOMEM)
        diag_fail(diag, err, "no memory for the measurements");
    edgeps_diag last = {.text = ""};
    edgeps_err late = !err || all.count ? report(&all, &last) : EDGEPS_OK;
    if (!err && late)
        err = diag_fail(diag, late, "%s", last.text[0] ? last.text : "no memory for the tables");
    mem_free(all.rows);
    /* What ended the measurement has been answered. */
    if (err == EDGEPS_CANCELLED)
        while (sigtimedwait(&interrupts, NULL, &(struct timespec){0}) > 0)
            continue;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return err;
}
