/* Vertex p-center: OR-Library's pmed1..15 and TSPLIB's points from a folder, or drawn instances. */
#include "bench/bench_int.h"

#include "base/clock.h"
#include "bench/measure.h"
#include "cover/points.h"

#include <math.h>
#include <string.h>

#define DEADLINE_S 60

typedef struct instance {
    const char *folder; /* NULL: drawn */
    char name[32];
    uint64_t seed; /* of a drawn one, and its ... */
    size_t count;
    size_t centers; /* also of points in the plane */
    double deadline_s;
} instance;

typedef struct answer {
    size_t count, centers;
    double lower, upper, wall_s, cpu_s;
    int64_t peak_bytes;
    size_t rows, coverings;
} answer;

static edgeps_err make_points(const instance *i, edgeps_diag *diag, points *out)
{
    char path[4096];
    if (!i->folder)
        return points_draw(i->seed, i->count, i->centers, false, out);
    snprintf(path, sizeof path, "%s/%s", i->folder, i->name);
    return points_load(path, i->centers, diag, out);
}

static edgeps_err run_instance(const void *context, edgeps_diag *diag, void *out)
{
    const instance *i = context;
    points p;
    pcenter_answer a;
    edgeps_err err = make_points(i, diag, &p);
    if (err)
        return err;
    pcenter_instance c = points_instance(&p);
    double cpu_s = measure_cpu_s();
    int64_t start_ns = clock_now_ns();
    err = pcenter_solve(&c, &(pcenter_options){.deadline_s = i->deadline_s}, &a);
    if (!err) {
        *(answer *)out = (answer){
            .count = p.count,
            .centers = p.centers,
            .lower = a.lower,
            .upper = a.upper,
            .wall_s = clock_since_s(start_ns),
            .cpu_s = measure_cpu_s() - cpu_s,
            .peak_bytes = measure_peak_bytes(),
            .rows = a.rows,
            .coverings = a.coverings,
        };
        pcenter_answer_free(&a);
    }
    points_free(&p);
    return err;
}

sheet bench_pcenter_sheet(void)
{
    static const char *const columns[] = {
        "instance", "seed",  "n",        "p",       "lower", "upper",     "gap_percent",
        "wall_s",   "cpu_s", "peak_mib", "stopped", "rows",  "coverings", NULL};
    return sheet_make("Vertex p-center", columns);
}

static edgeps_err measure(const instance *i, FILE *progress, edgeps_diag *diag, sheet *out)
{
    answer a = {0};
    bench_progress(progress, "p-center: %s", i->name);
    edgeps_err err = measure_run(run_instance, i, sizeof a, diag, &a);
    if (err)
        return err;
    sheet_text(out, i->name);
    sheet_number(out, i->folder ? NAN : (double)i->seed);
    sheet_number(out, (double)a.count);
    sheet_number(out, (double)a.centers);
    sheet_number(out, a.lower);
    sheet_number(out, a.upper);
    sheet_number(out, a.upper > 0 ? 100 * (a.upper - a.lower) / a.upper : 0);
    sheet_number(out, a.wall_s);
    sheet_number(out, a.cpu_s);
    sheet_number(out, (double)a.peak_bytes / BENCH_MIB);
    sheet_text(out, a.lower < a.upper ? "deadline" : NULL);
    sheet_number(out, (double)a.rows);
    sheet_number(out, (double)a.coverings);
    return EDGEPS_OK;
}

static edgeps_err measure_folder(instance *i, FILE *progress, edgeps_diag *diag, sheet *out)
{
    static const char *const plane[] = {"rl1304.tsp", "u1432.tsp", "vm1748.tsp"};
    static const size_t centers[] = {10, 50, 100};
    edgeps_err err = EDGEPS_OK;
    for (int k = 1; !err && k <= 15; k++) {
        snprintf(i->name, sizeof i->name, "pmed%d.txt", k);
        err = measure(i, progress, diag, out);
    }
    for (size_t k = 0; !err && k < 9; k++) {
        snprintf(i->name, sizeof i->name, "%s", plane[k / 3]);
        i->centers = centers[k % 3];
        err = measure(i, progress, diag, out);
    }
    return err;
}

edgeps_err bench_pcenter(const bench_request *r, edgeps_diag *diag, sheet *out)
{
    edgeps_err err = EDGEPS_OK;
    instance i = {.folder = r->pcenter_folder,
                  .seed = r->seed,
                  .deadline_s = r->deadline_s > 0 ? r->deadline_s : DEADLINE_S};
    if (i.folder)
        return measure_folder(&i, r->progress, diag, out);
    for (size_t n = 100; !err && n <= 400; n *= 2) {
        i.count = n;
        i.centers = n / 10;
        snprintf(i.name, sizeof i.name, "drawn-%zu", n);
        err = measure(&i, r->progress, diag, out);
    }
    return err;
}
