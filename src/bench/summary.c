/* Rows summed up: a group of rows that agree in what the table tells apart becomes one line. */
#include "bench/bench_int.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

#define WITHIN 1.0     /* percent of gap */
#define EQUAL 1e-9     /* relative: the best was found */
#define ASYMPTOTIC 100 /* nodes; below, starting costs hide the growth */

typedef bool same_group(const bench_row *a, const bench_row *b);
typedef double row_value(const bench_row *row);

/* The rows of one line of a table. */
typedef struct group {
    const bench_row *all;
    size_t *at; /* which of them */
    size_t count;
    double *values; /* room for as many */
} group;

typedef void add_line(sheet *s, const group *g);

static const bench_row *row_at(const group *g, size_t k) { return &g->all[g->at[k]]; }

/* ---- values of a row ---- */

static double wall_s(const bench_row *row) { return bench_has_plan(row) ? row->a.wall_s : NAN; }

static double cpu_s(const bench_row *row) { return bench_has_plan(row) ? row->a.cpu_s : NAN; }

static double peak_mib(const bench_row *row)
{
    return bench_has_plan(row) ? (double)row->a.peak_bytes / BENCH_MIB : NAN;
}

static double gap_percent(const bench_row *row) { return 100 * (1 - 1 / bench_proved_ratio(row)); }

/* ---- values of a group ---- */

/* Sorted, without those that are not known; returns how many there are. */
static size_t collect(const group *g, row_value *value)
{
    size_t count = 0;
    for (size_t k = 0; k < g->count; k++) {
        double v = value(row_at(g, k));
        if (!isnan(v))
            g->values[count++] = v;
    }
    stats_sort(g->values, count);
    return count;
}

static void add_quantile(sheet *s, const group *g, row_value *value, double fraction)
{
    size_t count = collect(g, value);
    sheet_number(s, count ? stats_quantile(g->values, count, fraction) : NAN);
}

static double mean_of(const group *g, row_value *value)
{
    size_t count = collect(g, value);
    return count ? stats_mean(g->values, count) : NAN;
}

/* Share of the known values that are not above `most`, in percent. */
static void add_share(sheet *s, const group *g, row_value *value, double most)
{
    size_t count = collect(g, value), within = 0;
    while (within < count && g->values[within] <= most)
        within++;
    sheet_number(s, count ? 100 * (double)within / (double)count : NAN);
}

static void add_slope(sheet *s, const group *g, row_value *value)
{
    double *x = mem_alloc(g->count, sizeof *x);
    size_t count = 0;
    s->failed |= !x;
    for (size_t k = 0; x && k < g->count; k++) {
        double v = value(row_at(g, k));
        if (isnan(v) || row_at(g, k)->c.nodes < ASYMPTOTIC)
            continue;
        x[count] = log((double)row_at(g, k)->c.nodes);
        g->values[count++] = log(v);
    }
    sheet_number(s, count ? stats_slope(x, g->values, count) : NAN);
    mem_free(x);
}

static size_t plans(const group *g)
{
    size_t count = 0;
    for (size_t k = 0; k < g->count; k++)
        count += bench_has_plan(row_at(g, k));
    return count;
}

/* ---- quality ---- */

static bool same_search(const bench_row *a, const bench_row *b)
{
    return strcmp(a->c.algorithm, b->c.algorithm) == 0 && a->c.polish == b->c.polish;
}

static void add_search(sheet *s, const group *g)
{
    sheet_text(s, row_at(g, 0)->c.algorithm);
    sheet_text(s, row_at(g, 0)->c.polish ? "yes" : "no");
}

static const char *const quality_columns[] = {
    "algorithm",       "polish", "instances",           "proved best known", "median", "mean",
    "90th percentile", "worst",  "best found, percent", "median cpu_s",      NULL};

static void add_quality_line(sheet *s, const group *g)
{
    add_search(s, g);
    sheet_number(s, (double)plans(g));
    sheet_number(s, (double)collect(g, bench_best_ratio));
    add_quantile(s, g, bench_best_ratio, 0.5);
    sheet_number(s, mean_of(g, bench_best_ratio));
    add_quantile(s, g, bench_best_ratio, 0.9);
    add_quantile(s, g, bench_best_ratio, 1);
    add_share(s, g, bench_best_ratio, 1 + EQUAL);
    add_quantile(s, g, cpu_s, 0.5);
}

static bool same_spread(const bench_row *a, const bench_row *b)
{
    return same_search(a, b) && a->c.spread == b->c.spread;
}

static bool same_storage(const bench_row *a, const bench_row *b)
{
    return same_search(a, b) && a->c.free_bytes == b->c.free_bytes;
}

static bool same_locals(const bench_row *a, const bench_row *b)
{
    return same_search(a, b) && a->c.max_locals == b->c.max_locals;
}

static bool same_transfer(const bench_row *a, const bench_row *b)
{
    return same_search(a, b) && a->c.transfer == b->c.transfer;
}

static const char *const setting_columns[] = {"setting", "algorithm", "polish", "instances",
                                              "median",  "mean",      "worst",  NULL};

static void add_setting_line(sheet *s, const group *g, const char *setting)
{
    sheet_text(s, setting);
    add_search(s, g);
    sheet_number(s, (double)collect(g, bench_best_ratio));
    add_quantile(s, g, bench_best_ratio, 0.5);
    sheet_number(s, mean_of(g, bench_best_ratio));
    add_quantile(s, g, bench_best_ratio, 1);
}

static void add_spread_line(sheet *s, const group *g)
{
    char text[64];
    snprintf(text, sizeof text, "spread %g", row_at(g, 0)->c.spread);
    add_setting_line(s, g, text);
}

static void add_storage_line(sheet *s, const group *g)
{
    char text[64];
    snprintf(text, sizeof text, "%g MiB free", (double)row_at(g, 0)->c.free_bytes / BENCH_MIB);
    add_setting_line(s, g, text);
}

static void add_locals_line(sheet *s, const group *g)
{
    char text[64];
    snprintf(text, sizeof text, "K = %zu", row_at(g, 0)->c.max_locals);
    add_setting_line(s, g, text);
}

static void add_transfer_line(sheet *s, const group *g)
{
    add_setting_line(s, g, job_transfer_name(row_at(g, 0)->c.transfer));
}

/* ---- exact, approx, growth ---- */

static bool same_size(const bench_row *a, const bench_row *b)
{
    return same_transfer(a, b) && a->c.nodes == b->c.nodes;
}

static void add_size(sheet *s, const group *g)
{
    sheet_text(s, generate_kind_names[row_at(g, 0)->c.kind]);
    sheet_number(s, (double)row_at(g, 0)->c.nodes);
    sheet_text(s, job_transfer_name(row_at(g, 0)->c.transfer));
}

static const char *const exact_columns[] = {"kind",
                                            "n",
                                            "transfer",
                                            "seeds",
                                            "threshold problem solved, percent",
                                            "round within 1 %, percent",
                                            "median gap, percent",
                                            "worst gap, percent",
                                            "median wall_s",
                                            "worst wall_s",
                                            "median cpu_s",
                                            NULL};

/* 1 or 0; a search that came near enough before it had solved the threshold problem counts, too. */
static double threshold_solved(const bench_row *row)
{
    return bench_has_plan(row) ? row->a.threshold_solved || !row->a.stopped : NAN;
}

static void add_exact_line(sheet *s, const group *g)
{
    add_size(s, g);
    sheet_number(s, (double)plans(g));
    sheet_number(s, 100 * mean_of(g, threshold_solved));
    add_share(s, g, gap_percent, WITHIN * (1 + EQUAL));
    add_quantile(s, g, gap_percent, 0.5);
    add_quantile(s, g, gap_percent, 1);
    add_quantile(s, g, wall_s, 0.5);
    add_quantile(s, g, wall_s, 1);
    add_quantile(s, g, cpu_s, 0.5);
}

static const char *const approx_columns[] = {"kind",
                                             "n",
                                             "transfer",
                                             "algorithm",
                                             "polish",
                                             "seeds",
                                             "median round / bound",
                                             "worst round / bound",
                                             "median wall_s",
                                             "worst wall_s",
                                             "median cpu_s",
                                             "peak_mib",
                                             NULL};

static void add_approx_line(sheet *s, const group *g)
{
    add_size(s, g);
    add_search(s, g);
    sheet_number(s, (double)plans(g));
    add_quantile(s, g, bench_proved_ratio, 0.5);
    add_quantile(s, g, bench_proved_ratio, 1);
    add_quantile(s, g, wall_s, 0.5);
    add_quantile(s, g, wall_s, 1);
    add_quantile(s, g, cpu_s, 0.5);
    add_quantile(s, g, peak_mib, 1);
}

static const char *const growth_columns[] = {
    "kind",   "transfer",           "algorithm",         "polish",
    "most n", "exponent of wall_s", "exponent of cpu_s", "exponent of peak_mib",
    NULL};

static void add_growth_line(sheet *s, const group *g)
{
    size_t most = 0;
    for (size_t k = 0; k < g->count; k++)
        most = row_at(g, k)->c.nodes > most ? row_at(g, k)->c.nodes : most;
    sheet_text(s, generate_kind_names[row_at(g, 0)->c.kind]);
    sheet_text(s, job_transfer_name(row_at(g, 0)->c.transfer));
    add_search(s, g);
    sheet_number(s, (double)most);
    add_slope(s, g, wall_s);
    add_slope(s, g, cpu_s);
    add_slope(s, g, peak_mib);
}

/* ---- all tables ---- */

typedef struct division {
    bench_table table;
    same_group *same;
    add_line *add;
} division;

/* A line for each group of the table's rows, in the order of their first rows. */
static void divide(const bench_row *rows, size_t count, const division *d, sheet *s)
{
    bool *taken = mem_alloc(count, sizeof *taken);
    group g = {.all = rows,
               .at = mem_alloc(count, sizeof *g.at),
               .values = mem_alloc(count, sizeof *g.values)};
    bool good = taken && g.at && g.values;
    s->failed |= !good;
    for (size_t first = 0; good && first < count; first++) {
        if (taken[first] || rows[first].c.table != d->table)
            continue;
        g.count = 0;
        for (size_t k = first; k < count; k++) {
            if (taken[k] || rows[k].c.table != d->table || !d->same(&rows[first], &rows[k]))
                continue;
            taken[k] = true;
            g.at[g.count++] = k;
        }
        d->add(s, &g);
    }
    mem_free(taken);
    mem_free(g.at);
    mem_free(g.values);
}

void bench_summaries(const bench_row *rows, size_t count, sheet out[BENCH_SUMMARIES])
{
    static const division settings[] = {
        {BENCH_QUALITY, same_spread, add_spread_line},
        {BENCH_QUALITY, same_storage, add_storage_line},
        {BENCH_QUALITY, same_locals, add_locals_line},
        {BENCH_QUALITY, same_transfer, add_transfer_line},
    };
    out[0] = sheet_make("Small instances: round over the proved best", quality_columns);
    out[1] = sheet_make("Small instances by setting: round over the proved best", setting_columns);
    out[2] = sheet_make("What exact proves in time", exact_columns);
    out[3] =
        sheet_make("Larger networks: round over the proved bound, time and memory", approx_columns);
    out[4] =
        sheet_make("Growth: exponents of n, by least squares from 100 nodes on", growth_columns);
    divide(rows, count, &(division){BENCH_QUALITY, same_search, add_quality_line}, &out[0]);
    for (size_t d = 0; d < sizeof settings / sizeof *settings; d++)
        divide(rows, count, &settings[d], &out[1]);
    divide(rows, count, &(division){BENCH_EXACT, same_size, add_exact_line}, &out[2]);
    divide(rows, count, &(division){BENCH_APPROX, same_size, add_approx_line}, &out[3]);
    divide(rows, count, &(division){BENCH_APPROX, same_transfer, add_growth_line}, &out[4]);
}
