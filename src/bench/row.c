#include "bench/bench_int.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bench/measure.h"
#include "job/job.h"
#include "problem/problem.h"

#include <math.h>
#include <string.h>

#define MODEL "lenet5"
#define SAMPLES 60000
#define BATCH 32

static edgeps_err draw_problem(const bench_case *c, edgeps_diag *diag, network **net, problem **p)
{
    generate_options o = generate_defaults(c->kind, c->nodes, c->seed);
    job j;
    problem_options po = {.max_locals = c->max_locals};
    o.spread = c->spread;
    o.free_bytes = c->free_bytes;
    edgeps_err err = generate_network(&o, diag, net);
    if (!err)
        err = job_make(MODEL, SAMPLES, BATCH, c->transfer, diag, &j);
    return err ? err : problem_make(*net, &j, &po, diag, p);
}

static edgeps_err run_case(const void *context, edgeps_diag *diag, void *answer)
{
    const bench_case *c = context;
    network *net = NULL;
    problem *p = NULL;
    place_options options = {
        .seed = c->seed, .deadline_s = c->deadline_s, .gap = c->gap, .no_polish = !c->polish};
    place_result r;
    edgeps_err err = draw_problem(c, diag, &net, &p);
    double cpu_s = measure_cpu_s();
    int64_t start_ns = clock_now_ns();
    if (!err)
        err = place_run(c->algorithm, p, &options, diag, &r);
    if (!err) {
        *(bench_answer *)answer = (bench_answer){
            .status = r.status,
            .stopped = r.stopped,
            .round_s = r.cost.round_s,
            .bound_s = r.lower_bound_s,
            .wall_s = clock_since_s(start_ns),
            .cpu_s = measure_cpu_s() - cpu_s,
            .peak_bytes = measure_peak_bytes(),
            .globals_solved = r.globals_solved,
            .globals_pruned = r.globals_pruned,
            .threshold_solved = r.threshold_solved,
        };
        place_result_free(&r);
    }
    problem_free(p);
    network_free(net);
    return err;
}

edgeps_err bench_measure(const bench_case *c, edgeps_diag *diag, bench_row *out)
{
    bench_row row = {.c = *c, .best_s = NAN};
    row.err = measure_run(run_case, c, sizeof row.a, diag, &row.a);
    if (row.err == EDGEPS_CANCELLED)
        return row.err;
    if (!row.err && row.a.status == PLACE_INFEASIBLE)
        row.err = EDGEPS_INFEASIBLE;
    *out = row;
    return EDGEPS_OK;
}

bool bench_same_instance(const bench_case *a, const bench_case *b)
{
    return a->kind == b->kind && a->nodes == b->nodes && a->seed == b->seed &&
           a->spread == b->spread && a->free_bytes == b->free_bytes &&
           a->max_locals == b->max_locals && a->transfer == b->transfer;
}

bool bench_has_plan(const bench_row *row) { return row->err == EDGEPS_OK; }

void bench_compare(bench_row *rows, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        if (!bench_has_plan(&rows[k]) || rows[k].a.status != PLACE_OPTIMAL)
            continue;
        for (size_t other = 0; other < count; other++)
            if (bench_same_instance(&rows[k].c, &rows[other].c))
                rows[other].best_s = rows[k].a.round_s;
    }
}

double bench_proved_ratio(const bench_row *row)
{
    return bench_has_plan(row) && row->a.bound_s > 0 ? row->a.round_s / row->a.bound_s : NAN;
}

double bench_best_ratio(const bench_row *row)
{
    return bench_has_plan(row) ? row->a.round_s / row->best_s : NAN;
}

/* What came out, in a word. */
static const char *outcome(const bench_row *row)
{
    if (row->err)
        return row->err == EDGEPS_INFEASIBLE ? "infeasible"
               : row->err == EDGEPS_USAGE    ? "refused"
                                             : "failed";
    return row->a.status == PLACE_OPTIMAL ? "optimal" : "feasible";
}

static void add_answer(sheet *s, const bench_row *row)
{
    const bench_answer *a = &row->a;
    bool known = bench_has_plan(row);
    sheet_number(s, known ? a->round_s : NAN);
    sheet_number(s, known ? a->bound_s : NAN);
    sheet_number(s, bench_proved_ratio(row));
    sheet_number(s, bench_best_ratio(row));
    sheet_number(s, known ? a->wall_s : NAN);
    sheet_number(s, known ? a->cpu_s : NAN);
    sheet_number(s, known ? (double)a->peak_bytes / BENCH_MIB : NAN);
    sheet_text(s, known ? place_stop_name(a->stopped) : NULL);
    sheet_number(s, known ? (double)a->globals_solved : NAN);
    sheet_number(s, known ? (double)a->globals_pruned : NAN);
    sheet_text(s, known ? (a->threshold_solved ? "yes" : "no") : NULL);
}

sheet bench_row_sheet(const bench_row *rows, size_t count)
{
    static const char *const columns[] = {"table",
                                          "kind",
                                          "n",
                                          "seed",
                                          "spread",
                                          "free_mib",
                                          "max_locals",
                                          "transfer",
                                          "algorithm",
                                          "polish",
                                          "outcome",
                                          "round_s",
                                          "bound_s",
                                          "round_to_bound",
                                          "round_to_best",
                                          "wall_s",
                                          "cpu_s",
                                          "peak_mib",
                                          "stopped",
                                          "globals_solved",
                                          "globals_pruned",
                                          "threshold_solved",
                                          NULL};
    sheet s = sheet_make("Every search", columns);
    for (size_t k = 0; k < count; k++) {
        const bench_case *c = &rows[k].c;
        sheet_text(&s, bench_table_names[c->table]);
        sheet_text(&s, generate_kind_names[c->kind]);
        sheet_number(&s, (double)c->nodes);
        sheet_number(&s, (double)c->seed);
        sheet_number(&s, c->spread);
        sheet_number(&s, (double)c->free_bytes / BENCH_MIB);
        sheet_number(&s, (double)c->max_locals);
        sheet_text(&s, job_transfer_name(c->transfer));
        sheet_text(&s, c->algorithm);
        sheet_text(&s, c->polish ? "yes" : "no");
        sheet_text(&s, outcome(&rows[k]));
        add_answer(&s, &rows[k]);
    }
    return s;
}
