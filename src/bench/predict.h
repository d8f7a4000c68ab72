/* What the cost model predicts beside what the lab emulates, plan by plan: tables and figures.
 *
 * Each plan is trained by an `edgeps run --lab netns` of its own. The network is slowed down
 * before: rates and speeds are divided by the dilation, latencies are multiplied by it, and
 * measured times divided by it again, so that a network which computes more than this machine's
 * cores fits into them. docs/benchmarks.md says what the tables hold. */
#ifndef EDGEPS_BENCH_PREDICT_H
#define EDGEPS_BENCH_PREDICT_H

#include "base/err.h"
#include "plan/plan.h"
#include "problem/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum predict_table {
    PREDICT_EPOCHS, /* four plans of each network, both transfer disciplines */
    PREDICT_ORDER,  /* random plans of the last network, pipelined: the order of their times */
    PREDICT_TABLES
} predict_table;

/* In the order of the tables, NULL at the end. */
extern const char *const predict_table_names[];

#define PREDICT_MOST_EPOCHS 100

typedef struct predict_request {
    bool table[PREDICT_TABLES];
    const char *const *networks; /* files */
    size_t network_count;
    uint64_t seed; /* of the first random plan, and of the runs */
    size_t seeds;  /* random plans */
    double dilation;
    int64_t rounds; /* of an epoch */
    int64_t epochs; /* of a run, 2..PREDICT_MOST_EPOCHS; the first is not counted */
    bool quick;     /* the best plan and the single server, pipelined, alone */
    bool force;     /* be content with labs that are not as asked */
    const char *data_folder;
    const char *out_folder; /* made where it is missing */
    /* The round time by another simulator, as cost_round_s; NULL: there is none. */
    edgeps_err (*other_round_s)(const problem *p, const plan *pl, double *round_s);
    bool json;
    FILE *print;    /* gets the tables: as Markdown, or as one JSON object */
    FILE *progress; /* gets at most a line a second */
} predict_request;

/* Measures, prints and writes. EDGEPS_USAGE names what of the request is wrong, EDGEPS_INFEASIBLE
 * says that a network has no plan or that a lab is not as asked, EDGEPS_IO that a run failed. After
 * SIGINT or SIGTERM: EDGEPS_CANCELLED. What was finished before a failure has been printed and
 * written. The caller must be the only thread of its process. */
edgeps_err bench_predict(const predict_request *request, edgeps_diag *diag);

#endif
