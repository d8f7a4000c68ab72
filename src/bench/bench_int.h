/* What the parts of this room share. */
#ifndef EDGEPS_BENCH_BENCH_INT_H
#define EDGEPS_BENCH_BENCH_INT_H

#include "bench/bench.h"
#include "bench/sheet.h"
#include "place/place.h"

#define BENCH_MIB 1048576.0

/* One search: everything that decides its answer. */
typedef struct bench_case {
    bench_table table;
    generate_kind kind;
    size_t nodes;
    uint64_t seed;
    double spread;      /* of rates and speeds, and of free storage ... */
    int64_t free_bytes; /* ... around this */
    size_t max_locals;
    job_transfer transfer;
    const char *algorithm;
    bool polish;
    double deadline_s; /* 0: none */
    double gap;
} bench_case;

typedef struct bench_answer {
    place_status status;
    place_stop stopped;
    double round_s;
    double bound_s;
    double wall_s;
    double cpu_s;
    int64_t peak_bytes;
    size_t globals_solved;
    size_t globals_pruned;
    bool threshold_solved;
} bench_answer;

typedef struct bench_row {
    bench_case c;
    edgeps_err err; /* other than EDGEPS_OK: there is no answer */
    bench_answer a;
    double best_s; /* proved for this instance by another row; NAN: none is known */
} bench_row;

/* The searches of the tables that are asked for, in order; p-center is no placement and has none.
 * mem_free releases them. */
edgeps_err bench_cases(const bench_request *r, bench_case **out, size_t *count);

/* Draws the network and places. EDGEPS_CANCELLED alone is a failure of the call; all others are the
 * row's. */
edgeps_err bench_measure(const bench_case *c, edgeps_diag *diag, bench_row *out);

/* The same network, job and most local servers. */
bool bench_same_instance(const bench_case *a, const bench_case *b);

/* Fills in best_s from the rows in which the best was proved. */
void bench_compare(bench_row *rows, size_t count);

bool bench_has_plan(const bench_row *row);

/* round over bound, and round over the best; NAN where either is unknown. */
double bench_proved_ratio(const bench_row *row);
double bench_best_ratio(const bench_row *row);

sheet bench_row_sheet(const bench_row *rows, size_t count);

/* The tables that sum rows up, one sheet each; empty where there are no rows. */
#define BENCH_SUMMARIES 5
void bench_summaries(const bench_row *rows, size_t count, sheet out[BENCH_SUMMARIES]);

/* A program for gnuplot that draws time and memory over n as SVG on its standard output. Returns
 * false, and writes nothing, when there are not two sizes to draw. */
bool bench_figure(const bench_row *rows, size_t count, FILE *out);

/* Vertex p-center; adds a row for each instance. */
sheet bench_pcenter_sheet(void);
edgeps_err bench_pcenter(const bench_request *r, edgeps_diag *diag, sheet *out);

/* Prints a line of progress if the last one is a second old. */
void bench_progress(FILE *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
