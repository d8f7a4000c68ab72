/* What the ways of deciding share: the answer, linear programs, the assignment of workers to whole
 * servers, and the reductions. Private to this room. */
#ifndef EDGEPS_COVER_COVER_INT_H
#define EDGEPS_COVER_COVER_INT_H

#include "cover/cover.h"
#include "cover/question.h"

#include <Clp_C_Interface.h>

/* An undecided answer with zeroed arrays. */
edgeps_err cover_answer_make(const cover_instance *c, cover_answer *out);

/* ---- a linear program, column by column in reserved space ---- */

typedef struct cover_lp {
    int rows, columns;
    CoinBigIndex *start; /* columns + 1 */
    int *index;
    double *value;
    double *column_lower, *column_upper;
    double *objective;
    double *row_lower, *row_upper;
} cover_lp;

edgeps_err cover_lp_make(size_t rows, size_t columns, size_t entries, cover_lp *out);
void cover_lp_free(cover_lp *g);

void cover_lp_row(cover_lp *g, size_t row, double lower, double upper);

/* Opens the next column, from 0 to `upper`; its entries follow, then cover_lp_end. */
void cover_lp_begin(cover_lp *g, double upper, double objective);
void cover_lp_entry(cover_lp *g, size_t row, double value);
void cover_lp_end(cover_lp *g);

/* By CLP; the caller deletes the model. sense 1: least objective, -1: greatest. */
edgeps_err cover_lp_solve(const cover_lp *g, double sense, Clp_Simplex **out);

typedef struct cover_branch_limits {
    long most_nodes;
    double seconds; /* 0: none */
    bool any;       /* the first solution will do */
    bool bare;      /* no preprocessing and no heuristics, ... */
    bool no_cuts;   /* ... no cuts */
} cover_branch_limits;

typedef struct cover_branch_end {
    bool found;
    bool proved; /* ... and it is the best */
    bool done;   /* not cut short; without `found`: there is no solution */
} cover_branch_end;

/* Least objective with all columns whole, by CBC; one call in the process is in it at a time.
 * `solution` (columns) is untouched unless one is found. */
edgeps_err cover_lp_branch(const cover_lp *g, const cover_branch_limits *limits, double *solution,
                           cover_branch_end *end);

/* ---- workers to whole servers under capacity ---- */

/* An instance with sizes 0 and 1, seen from its workers. It borrows the instance. */
typedef struct cover_assign {
    const cover_instance *c;
    size_t *start;    /* per worker: its arcs are start[i] to start[i + 1] of */
    uint32_t *server; /* ... server, ascending */
    bool *sized;      /* ... and whether the worker takes one of its capacity */
    uint32_t *room;   /* per server: workers of size 1 that it takes at most */
    uint32_t *load;   /* ... and has */
    uint32_t *of;     /* per worker: its server or COVER_NOBODY */
    uint32_t *queue;  /* workers that the last search reached */
    uint32_t *from;   /* per server: the worker that the search came from */
    bool *seen;       /* per server */
} cover_assign;

edgeps_err cover_assign_make(const cover_instance *c, cover_assign *out);
void cover_assign_free(cover_assign *a);

/* Assigns all workers to open servers, by augmenting paths, into a->of. When that fails, returns
 * false and in a->queue[0..*stuck) workers that the open servers in their reach cannot hold
 * together (Hall's theorem). O(workers x arcs) at worst. */
bool cover_assign_run(cover_assign *a, const bool *open, size_t *stuck);

/* ---- reductions ---- */

typedef struct cover_reduced {
    bool *row;    /* per worker: not covered as soon as another worker is */
    bool *column; /* per server: not replaceable by another */
    bool *forced; /* per server: some worker has no other */
} cover_reduced;

edgeps_err cover_reduce(const cover_assign *a, cover_reduced *out);
void cover_reduced_free(cover_reduced *r);

/* ---- the integer program over y ---- */

typedef struct cover_entry {
    uint32_t server;
    double coefficient;
} cover_entry;

/* sum of the entries up to `end`, from the end of the row before, is at least `need`. */
typedef struct cover_row {
    double need;
    size_t end;
} cover_row;

typedef struct cover_master {
    size_t servers;
    uint32_t *column_of; /* COVER_NOBODY: reduced away */
    size_t column_count;
    bool *forced;
    cover_entry *entries;
    cover_row *rows;
    size_t row_count, row_room, entry_room;
    size_t at_least; /* proved for every y that keeps the rows */
    double *share;   /* per server: y of the last LP */
    bool *y;         /* the last proposal, when `found` */
    bool found;
    bool proved; /* ... and it is the least */
    bool done;   /* the last run of CBC was not cut short */
} cover_master;

typedef struct cover_master_limits {
    double budget;
    long most_nodes;
    double seconds; /* 0: none */
    bool any;       /* the first solution will do */
} cover_master_limits;

edgeps_err cover_master_make(const cover_reduced *r, size_t servers, cover_master *out);
void cover_master_free(cover_master *m);

/* Adds the row sum_j coefficient_j y_j >= need. */
edgeps_err cover_master_add(cover_master *m, const double *coefficient, double need);

/* Raises at_least by the LP; its prices are checked, so it is proved. Fills in share. */
edgeps_err cover_master_bound(cover_master *m);

/* Do the shares of the last LP break one of the rows from `first` on? */
bool cover_master_breaks(const cover_master *m, size_t first);

/* Asks CBC for a y of at most `budget` servers; raises at_least when it proves something. */
edgeps_err cover_master_solve(cover_master *m, const cover_master_limits *limits);

#endif
