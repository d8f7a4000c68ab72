/* Measurements of the planner as tables: each search runs in a process of its own (measure.h) on a
 * network drawn from its seed, and leaves one row. docs/benchmarks.md says what the tables hold. */
#ifndef EDGEPS_BENCH_BENCH_H
#define EDGEPS_BENCH_BENCH_H

#include "base/err.h"
#include "network/generate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum bench_table {
    BENCH_QUALITY, /* small instances against the proved best */
    BENCH_EXACT,   /* how much `exact` proves in how long */
    BENCH_APPROX,  /* larger networks, with and without polish, and the growth over n */
    BENCH_PCENTER, /* vertex p-center */
    BENCH_TABLES
} bench_table;

/* In the order of the tables, NULL at the end. */
extern const char *const bench_table_names[];

typedef struct bench_request {
    bool table[BENCH_TABLES];
    generate_kind kind;
    const size_t *nodes; /* NULL: each table has its own sizes */
    size_t node_count;
    const char *const *algorithms; /* NULL: each table has its own */
    size_t algorithm_count;
    uint64_t seed; /* the first */
    size_t seeds;
    double deadline_s;          /* of a search; 0: each table has its own */
    size_t max_locals;          /* 0: the square root of the number of nodes */
    const char *pcenter_folder; /* NULL: p-center instances are drawn */
    const char *out_folder;     /* made where it is missing; NULL: nothing is written */
    bool json;
    FILE *print;    /* gets the tables: as Markdown, or as one JSON object */
    FILE *progress; /* gets at most a line a second */
} bench_request;

/* Measures, prints and writes. EDGEPS_USAGE names what of the request is wrong. After SIGINT or
 * SIGTERM (EDGEPS_CANCELLED) what was finished has been printed and written. The caller must be
 * the only thread of its process. */
edgeps_err bench_place(const bench_request *request, edgeps_diag *diag);

#endif
