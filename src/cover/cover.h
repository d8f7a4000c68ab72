/* The covering LP under capacities: can fractional servers of total mass `budget` cover all
 * workers?
 *
 *     sum_j y_j <= budget,  0 <= y_j <= 1,  0 <= x_ij <= y_j,  sum_i size_ij x_ij <= capacity_j
 * y_j, sum_j x_ij >= 1 for every worker i,  x_ij only where server j has an arc to worker i
 *
 * Two ways to the answer. Multiplicative weights (Plotkin, Shmoys and Tardos 1995; Young 1995):
 * with x_ij = y_j z_ij, the best answer to worker weights w is a fractional knapsack per server and
 * then the servers of highest value; if their value is below sum_i w_i, no solution exists, and w
 * is a certificate that anyone can check. CLP solves what the weights leave open; its "no" counts
 * only when its dual prices pass the same check. So a "no" is always proved.
 *
 * An instance borrows its arrays. Answers own theirs; cover_answer_free and cover_whole_free
 * release them.
 */
#ifndef EDGEPS_COVER_COVER_H
#define EDGEPS_COVER_COVER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cover_arc {
    uint32_t worker;
    double size; /* >= 0, of the server's capacity */
} cover_arc;

typedef struct cover_server {
    const cover_arc *arcs;
    size_t arc_count;
    double capacity; /* >= 0 */
} cover_server;

typedef struct cover_instance {
    size_t worker_count;
    size_t server_count;
    const cover_server *servers;
    double budget; /* >= 0 */
} cover_instance;

typedef enum cover_verdict {
    COVER_YES,   /* `open` covers every worker at least `coverage` times */
    COVER_NO,    /* proved by `weight` */
    COVER_UNSURE /* the weights decided nothing and the instance is too large for CLP */
} cover_verdict;

typedef struct cover_options {
    double epsilon;         /* step of the weights, and slack of their "yes"; 0: 0.1 */
    size_t most_iterations; /* of the weights; 0: 200 */
    size_t most_exact_arcs; /* larger instances are not given to CLP; 0: none is */
} cover_options;

typedef struct cover_answer {
    cover_verdict verdict;
    double *weight;  /* per worker: the certificate of a "no", else the last weights */
    double *open;    /* per server: y */
    double coverage; /* of the worker that `open` covers least; 1 when CLP said yes */
    size_t iterations;
} cover_answer;

/* Decides. Without CLP a "yes" has slack: coverage >= 1 - epsilon. O(iterations x arcs) on
 * average before CLP. EDGEPS_NOMEM, or EDGEPS_INTERNAL when CLP breaks down. */
edgeps_err cover_decide(const cover_instance *c, const cover_options *options, cover_answer *out);

/* The same by CLP alone: an exact answer up to its tolerance of 1e-7, UNSURE in between. */
edgeps_err cover_solve(const cover_instance *c, cover_answer *out);

void cover_answer_free(cover_answer *a);

/* Whole servers: y_j and x_ij are 0 or 1, and sizes must be. */
typedef struct cover_whole_options {
    bool least;                   /* as few servers as can be; else any number within the budget */
    double deadline_s;            /* from the call; 0: none */
    bool fractional;              /* stop where the LP and its rounding do not decide */
    size_t most_nodes;            /* of each branch and cut, then stop; 0: as many as it takes */
    bool (*go_on)(void *context); /* asked now and then; false: stop; NULL: nobody is asked */
    void *context;
} cover_whole_options;

typedef struct cover_whole {
    cover_verdict verdict; /* UNSURE: stopped */
    size_t at_least;       /* no fewer servers suffice: proved; SIZE_MAX: not even all */
    size_t count;          /* servers in `open`, 0 unless the verdict is yes */
    bool *open;
    uint32_t *server; /* per worker, when the verdict is yes: an open server */
    size_t masters;   /* integer programs solved */
} cover_whole;

/* Covers all workers with whole servers, at most the budget of them. With `least` a yes has the
 * least number when count == at_least, else the run was stopped. Rows are generated: an integer
 * program over y alone (CBC) with the cuts of Hall's theorem. As CBC has
 * global state, one call in the process is in it at a time. EDGEPS_NOMEM, or EDGEPS_INTERNAL when
 * the solvers break down. */
edgeps_err cover_whole_solve(const cover_instance *c, const cover_whole_options *options,
                             cover_whole *out);

void cover_whole_free(cover_whole *w);

/* True when the weights prove that there is no solution. O(arcs) on average. */
edgeps_err cover_refutes(const cover_instance *c, const double *weight, bool *refutes);

/* Least mass of servers that covers all workers when capacities and budget are ignored (fractional
 * set cover, by CLP), and the servers' shares in `open` (server_count). INFINITY, and `open`
 * untouched, when some worker has no arc. */
edgeps_err cover_least_mass(const cover_instance *c, double *open, double *mass);

/* The relaxation in which T is a variable: least T with sum_j x_ij = 1 and sum_j time_ij x_ij <= T
 * for every worker i, x_ij <= y_j, sum_i x_ij <= capacity_j y_j, sum_j y_j <= budget, y_j <= 1. */
typedef struct cover_timed {
    size_t worker_count;
    size_t server_count;
    const double *time;     /* [server * worker_count + worker], INFINITY: it cannot serve it */
    const double *capacity; /* workers per server */
    double budget;
} cover_timed;

/* One LP by CLP: y into `open` (server_count), T into *time. *time is INFINITY, and `open`
 * untouched, when there is no solution. A lower bound of the largest time with whole servers, and a
 * weak one: a worker's mean may mix a near server with a far one. */
edgeps_err cover_least_time(const cover_timed *c, double *open, double *time);

#endif
