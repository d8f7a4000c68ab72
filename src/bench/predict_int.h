/* What the parts of the predictions share. */
#ifndef EDGEPS_BENCH_PREDICT_INT_H
#define EDGEPS_BENCH_PREDICT_INT_H

#include "bench/predict.h"
#include "bench/sheet.h"
#include "network/network.h"

/* What the lab is made of, as `edgeps lab check` tells. */
typedef struct predict_origin {
    char kernel[96];
    char qdisc[32];
    char congestion_control[32];
} predict_origin;

/* Times are seconds of an epoch. */
typedef struct predict_row {
    predict_table table;
    char network[NETWORK_MAX_NAME + 1];
    size_t nodes;
    const char *plan;
    uint64_t seed; /* of a random plan, and of the run */
    job_transfer transfer;
    double dilation;
    int64_t rounds;
    double predicted_s;
    double simulated_s; /* by the other simulator; NAN: there is none */
    double emulated_s;  /* median of the epochs after the first, like the least and the most */
    double fastest_s;
    double slowest_s;
    predict_origin origin;
} predict_row;

/* ---- plans (predict_plans.c) ---- */

#define PREDICT_PLANS 4

typedef struct predict_choice {
    const char *name;
    uint64_t seed;
    plan plan;
    double round_s;
} predict_choice;

/* The plan that `random` draws from the seed, without local search. EDGEPS_INFEASIBLE: there is
 * none. plan_free releases it. */
edgeps_err predict_random(const problem *p, uint64_t seed, edgeps_diag *diag, predict_choice *out);

/* The best plan, the median and the worst of the request's random plans by predicted time, and the
 * best with one local server; of a quick request the first and the last of these. */
edgeps_err predict_choose(const problem *p, const predict_request *r, edgeps_diag *diag,
                          predict_choice out[PREDICT_PLANS], size_t *count);
void predict_choices_free(predict_choice *choices, size_t count);

/* ---- emulation (predict_emulate.c) ---- */

/* Everything takes `dilation` times as long. */
void predict_slow_down(network *net, double dilation);

typedef struct predict_trial {
    const predict_request *r;
    const network *net; /* at its own speed */
    const problem *p;
    const predict_choice *choice;
    const char *name; /* of its folder in out_folder/runs, which must not be there yet */
    bool check;       /* measures the lab first, and fills in the row's origin */
} predict_trial;

/* Trains and fills in the row's times, at the network's own speed. */
edgeps_err predict_emulate(const predict_trial *t, edgeps_diag *diag, predict_row *row);

/* ---- tables (predict_sheet.c) ---- */

/* By how many percent the emulated, or the simulated, time is above the predicted one. */
double predict_emulated_off(const predict_row *row);
double predict_simulated_off(const predict_row *row);

sheet predict_rows_sheet(const predict_row *rows, size_t count, predict_table table);

/* A line for each network and discipline, and one for all; median and worst go by magnitude. */
sheet predict_summary_sheet(const predict_row *rows, size_t count);

/* A program for gnuplot that draws emulated over predicted times as SVG on its standard output. */
void predict_figure(const predict_row *rows, size_t count, predict_table table, FILE *out);

#endif
