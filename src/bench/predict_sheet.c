#include "bench/predict_int.h"

#include "base/mem.h"
#include "base/stats.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef double row_value(const predict_row *row);

double predict_emulated_off(const predict_row *row)
{
    return 100 * (row->emulated_s / row->predicted_s - 1);
}

double predict_simulated_off(const predict_row *row)
{
    return 100 * (row->simulated_s / row->predicted_s - 1);
}

static void add_row(sheet *s, const predict_row *row)
{
    sheet_text(s, row->network);
    sheet_number(s, (double)row->nodes);
    sheet_text(s, job_transfer_name(row->transfer));
    sheet_text(s, row->plan);
    sheet_number(s, (double)row->seed);
    sheet_number(s, (double)row->rounds);
    sheet_number(s, row->predicted_s);
    sheet_number(s, row->simulated_s);
    sheet_number(s, row->emulated_s);
    sheet_number(s, row->fastest_s);
    sheet_number(s, row->slowest_s);
    sheet_number(s, predict_simulated_off(row));
    sheet_number(s, predict_emulated_off(row));
    sheet_number(s, row->dilation);
    sheet_text(s, row->origin.kernel);
    sheet_text(s, row->origin.qdisc);
    sheet_text(s, row->origin.congestion_control);
}

sheet predict_rows_sheet(const predict_row *rows, size_t count, predict_table table)
{
    static const char *const titles[] = {"Predicted and emulated epochs",
                                         "Random plans of one network"};
    static const char *const columns[] = {"network",
                                          "n",
                                          "transfer",
                                          "plan",
                                          "seed",
                                          "rounds",
                                          "predicted_s",
                                          "simgrid_s",
                                          "emulated_s",
                                          "fastest_s",
                                          "slowest_s",
                                          "simgrid off, percent",
                                          "emulated off, percent",
                                          "dilation",
                                          "kernel",
                                          "qdisc",
                                          "congestion control",
                                          NULL};
    sheet s = sheet_make(titles[table], columns);
    for (size_t k = 0; k < count; k++)
        if (rows[k].table == table)
            add_row(&s, &rows[k]);
    return s;
}

/* ---- summary ---- */

/* The rows of one line; `like` NULL: all. */
typedef struct group {
    const predict_row *rows;
    size_t count;
    const predict_row *like;
} group;

static bool same_line(const predict_row *a, const predict_row *b)
{
    return a->table == b->table && a->transfer == b->transfer &&
           strcmp(a->network, b->network) == 0;
}

static size_t collect(const group *g, row_value *value, double *values)
{
    size_t count = 0;
    for (size_t k = 0; k < g->count; k++) {
        double v = fabs(value(&g->rows[k]));
        if (!isnan(v) && (!g->like || same_line(&g->rows[k], g->like)))
            values[count++] = v;
    }
    stats_sort(values, count);
    return count;
}

static double tau(const group *g, double *predicted_s, double *emulated_s)
{
    size_t count = 0;
    for (size_t k = 0; k < g->count; k++)
        if (same_line(&g->rows[k], g->like)) {
            predicted_s[count] = g->rows[k].predicted_s;
            emulated_s[count++] = g->rows[k].emulated_s;
        }
    return stats_kendall(predicted_s, emulated_s, count);
}

static void add_line(sheet *s, const group *g)
{
    double *values = mem_alloc(g->count, sizeof *values), *others = NULL;
    if (!values || !(others = mem_alloc(g->count, sizeof *others))) {
        s->failed = true;
        mem_free(values);
        return;
    }
    sheet_text(s, g->like ? predict_table_names[g->like->table] : "all");
    sheet_text(s, g->like ? g->like->network : NULL);
    sheet_text(s, g->like ? job_transfer_name(g->like->transfer) : NULL);
    size_t count = collect(g, predict_emulated_off, values);
    sheet_number(s, (double)count);
    sheet_number(s, stats_quantile(values, count, 0.5));
    sheet_number(s, values[count - 1]);
    sheet_number(s, g->like && g->like->table == PREDICT_ORDER ? tau(g, values, others) : NAN);
    count = collect(g, predict_simulated_off, values);
    sheet_number(s, count ? values[count - 1] : NAN);
    mem_free(values);
    mem_free(others);
}

static bool begins_line(const predict_row *rows, size_t k)
{
    for (size_t before = 0; before < k; before++)
        if (same_line(&rows[before], &rows[k]))
            return false;
    return true;
}

sheet predict_summary_sheet(const predict_row *rows, size_t count)
{
    static const char *const columns[] = {"table",
                                          "network",
                                          "transfer",
                                          "plans",
                                          "median off, percent",
                                          "worst off, percent",
                                          "Kendall's tau",
                                          "simgrid: worst off, percent",
                                          NULL};
    assert(rows || count == 0);
    sheet s = sheet_make("How far emulated is from predicted", columns);
    for (size_t k = 0; k < count; k++)
        if (begins_line(rows, k))
            add_line(&s, &(group){rows, count, &rows[k]});
    if (count)
        add_line(&s, &(group){rows, count, NULL});
    return s;
}

/* ---- figure ---- */

/* A network and discipline is a line of the figure; both axes are logarithmic. */
void predict_figure(const predict_row *rows, size_t count, predict_table table, FILE *out)
{
    fputs("set terminal svg size 640,560 background 'white'\nset logscale xy\nset grid\n"
          "set key left top Left reverse noenhanced\nset xlabel 'predicted, s an epoch'\n"
          "set ylabel 'emulated, s an epoch'\n",
          out);
    size_t lines = 0;
    for (size_t first = 0; first < count; first++) {
        if (rows[first].table != table || !begins_line(rows, first))
            continue;
        fprintf(out, "$line%zu << end\n", ++lines);
        for (size_t k = first; k < count; k++)
            if (same_line(&rows[first], &rows[k]))
                fprintf(out, "%g %g %g %g\n", rows[k].predicted_s, rows[k].emulated_s,
                        rows[k].fastest_s, rows[k].slowest_s);
        fputs("end\n", out);
    }
    fputs("plot x with lines lc 'grey' title 'equal', 1.1*x with lines lc 'grey' dt 2 title "
          "'10 % off', x/1.1 with lines lc 'grey' dt 2 notitle",
          out);
    lines = 0;
    for (size_t k = 0; k < count; k++)
        if (rows[k].table == table && begins_line(rows, k))
            fprintf(out, ", $line%zu using 1:2:3:4 with yerrorbars title '%s, %s'", ++lines,
                    rows[k].network, job_transfer_name(rows[k].transfer));
    fputc('\n', out);
}
