#include "bench/bench_int.h"

#include <string.h>

/* A line of the figure is a discipline of an algorithm, with or without polish. */
static bool same_line(const bench_row *a, const bench_row *b)
{
    return a->c.transfer == b->c.transfer && a->c.polish == b->c.polish &&
           strcmp(a->c.algorithm, b->c.algorithm) == 0;
}

static bool is_drawn(const bench_row *row)
{
    return row->c.table == BENCH_APPROX && bench_has_plan(row);
}

static bool begins_line(const bench_row *rows, size_t k)
{
    if (!is_drawn(&rows[k]))
        return false;
    for (size_t before = 0; before < k; before++)
        if (is_drawn(&rows[before]) && same_line(&rows[before], &rows[k]))
            return false;
    return true;
}

static void write_points(const bench_row *rows, size_t count, FILE *out)
{
    size_t lines = 0;
    for (size_t first = 0; first < count; first++) {
        if (!begins_line(rows, first))
            continue;
        fprintf(out, "$line%zu << end\n", ++lines);
        for (size_t k = first; k < count; k++)
            if (is_drawn(&rows[k]) && same_line(&rows[first], &rows[k]))
                fprintf(out, "%zu %g %g\n", rows[k].c.nodes, rows[k].a.cpu_s,
                        (double)rows[k].a.peak_bytes / BENCH_MIB);
        fputs("end\n", out);
    }
}

static void write_plot(const bench_row *rows, size_t count, int column, FILE *out)
{
    size_t line = 0;
    fprintf(out, "plot");
    for (size_t k = 0; k < count; k++) {
        if (!begins_line(rows, k))
            continue;
        fprintf(out, "%s $line%zu using 1:%d with points title '%s, %s%s'", line ? "," : "",
                line + 1, column, rows[k].c.algorithm, job_transfer_name(rows[k].c.transfer),
                rows[k].c.polish ? ", polish" : "");
        line++;
    }
    fputc('\n', out);
}

bool bench_figure(const bench_row *rows, size_t count, FILE *out)
{
    size_t least = SIZE_MAX, most = 0;
    for (size_t k = 0; k < count; k++) {
        if (!is_drawn(&rows[k]))
            continue;
        least = rows[k].c.nodes < least ? rows[k].c.nodes : least;
        most = rows[k].c.nodes > most ? rows[k].c.nodes : most;
    }
    if (least >= most)
        return false;
    fputs("set terminal svg size 900,480 background 'white'\nset logscale xy\nset grid\n"
          "set key below left Left reverse noenhanced\nset xlabel 'nodes'\n",
          out);
    write_points(rows, count, out);
    fputs("set multiplot layout 1,2\nset ylabel 'processor time, s'\n", out);
    write_plot(rows, count, 2, out);
    fputs("set ylabel 'peak of memory, MiB'\n", out);
    write_plot(rows, count, 3, out);
    fputs("unset multiplot\n", out);
    return true;
}
