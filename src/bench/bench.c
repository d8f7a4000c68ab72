#include "bench/bench.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bench/bench_int.h"
#include "bench/output.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Everything that was measured. */
typedef struct results {
    bench_row *rows;
    size_t count;
    sheet pcenter;
    sheet every;
    sheet summary[BENCH_SUMMARIES];
} results;

/* The sheets in the order of printing, and the files that hold them. */
static const char *const file_names[] = {"pcenter", "quality", "settings", "exact",
                                         "approx",  "growth",  "rows"};
#define SETTINGS 2
#define SHEETS (sizeof file_names / sizeof *file_names)

static const sheet *sheet_at(const results *all, size_t k)
{
    return k == 0 ? &all->pcenter : k < SHEETS - 1 ? &all->summary[k - 1] : &all->every;
}

void bench_progress(FILE *progress, const char *format, ...)
{
    static int64_t last_ns;
    int64_t now_ns = clock_now_ns();
    va_list arguments;
    if (!progress || (last_ns && now_ns - last_ns < CLOCK_NS_PER_S))
        return;
    last_ns = now_ns;
    va_start(arguments, format);
    vfprintf(progress, format, arguments);
    va_end(arguments);
    putc('\n', progress);
}

/* ---- what is asked ---- */

static bool is_known(const char *algorithm)
{
    for (size_t a = 0; a < place_algorithm_count; a++)
        if (strcmp(place_algorithms[a].name, algorithm) == 0)
            return true;
    return strncmp(algorithm, "exec:", 5) == 0;
}

static edgeps_err check_request(const bench_request *r, edgeps_diag *diag)
{
    char first[4096];
    struct stat found;
    for (size_t a = 0; a < r->algorithm_count; a++)
        if (!is_known(r->algorithms[a]))
            return diag_fail(diag, EDGEPS_USAGE,
                             "algorithm '%s' is not known; see edgeps plan --help",
                             r->algorithms[a]);
    snprintf(first, sizeof first, "%s/pmed1.txt", r->pcenter_folder ? r->pcenter_folder : "");
    if (r->pcenter_folder && stat(first, &found))
        return diag_fail(diag, EDGEPS_USAGE, "%s: cannot be read: %s", first, strerror(errno));
    if (r->out_folder && mkdir(r->out_folder, 0777) && errno != EEXIST)
        return diag_fail(diag, EDGEPS_IO, "%s: cannot be made: %s", r->out_folder, strerror(errno));
    return EDGEPS_OK;
}

/* ---- measuring ---- */

static edgeps_err measure_case(const bench_request *r, const bench_case *c, size_t of,
                               edgeps_diag *diag, results *all)
{
    bench_progress(r->progress, "%zu of %zu: %s, %zu nodes, seed %llu, %s, %s", all->count + 1, of,
                   bench_table_names[c->table], c->nodes, (unsigned long long)c->seed,
                   job_transfer_name(c->transfer), c->algorithm);
    edgeps_diag refusal = {.text = ""};
    edgeps_err err = bench_measure(c, &refusal, &all->rows[all->count]);
    if (err)
        return diag_fail(diag, err, "%s", refusal.text);
    all->count++;
    return EDGEPS_OK;
}

static edgeps_err measure_cases(const bench_request *r, edgeps_diag *diag, results *all)
{
    bench_case *cases = NULL;
    size_t count = 0;
    edgeps_err err = bench_cases(r, &cases, &count);
    if (!err && !(all->rows = mem_alloc(count, sizeof *all->rows)))
        err = EDGEPS_NOMEM;
    for (size_t k = 0; !err && k < count; k++)
        err = measure_case(r, &cases[k], count, diag, all);
    bench_compare(all->rows, all->count);
    mem_free(cases);
    return err;
}

/* ---- writing ---- */

static edgeps_err check_sheets(const results *all)
{
    for (size_t k = 0; k < SHEETS; k++)
        if (sheet_at(all, k)->failed)
            return EDGEPS_NOMEM;
    return EDGEPS_OK;
}

/* All but the settings and the rows of every search, which fill pages. */
static void print_markdown(const results *all, FILE *out)
{
    for (size_t k = 0; k < SHEETS - 1; k++)
        if (sheet_at(all, k)->count && k != SETTINGS)
            sheet_markdown(sheet_at(all, k), out);
}

static edgeps_err print_json(const results *all, FILE *out)
{
    json_t *tables = json_object();
    bool good = tables != NULL;
    for (size_t k = 0; good && k < SHEETS; k++)
        good = json_object_set_new(tables, file_names[k], sheet_json(sheet_at(all, k))) == 0;
    good = good && json_dumpf(tables, out, JSON_INDENT(1) | JSON_REAL_PRECISION(10)) == 0;
    json_decref(tables);
    fputc('\n', out);
    return good ? EDGEPS_OK : EDGEPS_NOMEM;
}

static bool write_figure(const bench_request *r, const results *all)
{
    char *program = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&program, &length);
    bool good = text != NULL;
    bool any = good && bench_figure(all->rows, all->count, text);
    if (text)
        good = fclose(text) == 0;
    good = good && (!any || output_figure(r->out_folder, "growth", program));
    free(program);
    return good;
}

static edgeps_err write_folder(const bench_request *r, const results *all, edgeps_diag *diag)
{
    bool good = true;
    for (size_t k = 0; good && k < SHEETS; k++)
        if (sheet_at(all, k)->count)
            good = output_sheet(r->out_folder, file_names[k], sheet_at(all, k));
    if (good && write_figure(r, all))
        return EDGEPS_OK;
    return diag_fail(diag, EDGEPS_IO, "%s: cannot be written: %s", r->out_folder, strerror(errno));
}

static edgeps_err report(const bench_request *r, results *all, edgeps_diag *diag)
{
    bench_summaries(all->rows, all->count, all->summary);
    all->every = bench_row_sheet(all->rows, all->count);
    edgeps_err err = check_sheets(all);
    if (!err && r->json)
        err = print_json(all, r->print);
    else if (!err)
        print_markdown(all, r->print);
    if (!err && r->out_folder)
        err = write_folder(r, all, diag);
    return err == EDGEPS_NOMEM ? diag_fail(diag, err, "no memory for the tables") : err;
}

static edgeps_err measure_and_report(const bench_request *request, edgeps_diag *diag)
{
    results all = {.pcenter = bench_pcenter_sheet()};
    edgeps_err err = EDGEPS_OK;
    if (request->table[BENCH_PCENTER])
        err = bench_pcenter(request, diag, &all.pcenter);
    if (!err)
        err = measure_cases(request, diag, &all);
    if (err == EDGEPS_NOMEM)
        diag_fail(diag, err, "no memory for the measurements");
    if (!err || err == EDGEPS_CANCELLED) {
        edgeps_err late = report(request, &all, diag);
        err = late ? late : err;
    }
    sheet_free(&all.pcenter);
    sheet_free(&all.every);
    for (size_t k = 0; k < BENCH_SUMMARIES; k++)
        sheet_free(&all.summary[k]);
    mem_free(all.rows);
    return err;
}

edgeps_err bench_place(const bench_request *request, edgeps_diag *diag)
{
    sigset_t interrupts, before;
    edgeps_err err = check_request(request, diag);
    if (err)
        return err;
    /* One that comes between two searches waits for the next, which ends at once. */
    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    sigaddset(&interrupts, SIGTERM);
    sigprocmask(SIG_BLOCK, &interrupts, &before);
    err = measure_and_report(request, diag);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return err;
}
