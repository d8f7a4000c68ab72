/* The relaxation of placement as it is usually written down: least T such that every worker's mean
 * time to the servers that share it is at most T. */
#include "cover/cover.h"

#include "base/mem.h"
#include "cover/cover_int.h"

#include <math.h>

#define UNSERVED 1e4 /* of the largest time: what a worker left out costs */
#define TOLERANCE 1e-6

/* Where the rows and columns of each kind begin. */
typedef struct places {
    size_t arcs;
    size_t shares, times, capacities, budget, links; /* rows */
    double largest;                                  /* of the times: they are divided by it */
} places;

static places lay_out(const cover_timed *c)
{
    places at = {0};
    for (size_t a = 0; a < c->server_count * c->worker_count; a++)
        if (c->time[a] < INFINITY) {
            at.arcs++;
            at.largest = fmax(at.largest, c->time[a]);
        }
    at.times = at.shares + c->worker_count;
    at.capacities = at.times + c->worker_count;
    at.budget = at.capacities + c->server_count;
    at.links = at.budget + 1;
    return at;
}

static void pose_rows(const cover_timed *c, const places *at, cover_lp *g)
{
    for (size_t i = 0; i < c->worker_count; i++) {
        cover_lp_row(g, at->shares + i, 1, 1);
        cover_lp_row(g, at->times + i, -INFINITY, 0);
    }
    for (size_t j = 0; j < c->server_count; j++)
        cover_lp_row(g, at->capacities + j, -INFINITY, 0);
    cover_lp_row(g, at->budget, -INFINITY, c->budget);
    for (size_t a = 0; a < at->arcs; a++)
        cover_lp_row(g, at->links + a, -INFINITY, 0);
}

/* Columns: y of each server, x of each arc, what is left out of each worker, T. */
static void pose_columns(const cover_timed *c, const places *at, cover_lp *g)
{
    size_t workers = c->worker_count, arc = 0;
    for (size_t j = 0; j < c->server_count; j++) {
        cover_lp_begin(g, 1, 0);
        cover_lp_entry(g, at->capacities + j, -c->capacity[j]);
        cover_lp_entry(g, at->budget, 1);
        for (size_t i = 0; i < workers; i++)
            if (c->time[j * workers + i] < INFINITY)
                cover_lp_entry(g, at->links + arc++, -1);
        cover_lp_end(g);
    }
    arc = 0;
    for (size_t a = 0; a < c->server_count * workers; a++) {
        if (c->time[a] == INFINITY)
            continue;
        cover_lp_begin(g, 1, 0);
        cover_lp_entry(g, at->shares + a % workers, 1);
        cover_lp_entry(g, at->times + a % workers, c->time[a] / at->largest);
        cover_lp_entry(g, at->capacities + a / workers, 1);
        cover_lp_entry(g, at->links + arc++, 1);
        cover_lp_end(g);
    }
    for (size_t i = 0; i < workers; i++) {
        cover_lp_begin(g, 1, UNSERVED);
        cover_lp_entry(g, at->shares + i, 1);
        cover_lp_end(g);
    }
    cover_lp_begin(g, INFINITY, 1);
    for (size_t i = 0; i < workers; i++)
        cover_lp_entry(g, at->times + i, -1);
    cover_lp_end(g);
}

static void read_solution(const cover_timed *c, const places *at, const double *columns,
                          double *open, double *time)
{
    const double *left_out = columns + c->server_count + at->arcs;
    double out = 0;
    for (size_t i = 0; i < c->worker_count; i++)
        out += left_out[i];
    *time = INFINITY;
    if (out > TOLERANCE)
        return;
    *time = left_out[c->worker_count] * at->largest;
    for (size_t j = 0; j < c->server_count; j++)
        open[j] = fmax(0, fmin(columns[j], 1));
}

edgeps_err cover_least_time(const cover_timed *c, double *open, double *time)
{
    cover_lp g;
    Clp_Simplex *model;
    places at = lay_out(c);
    if (!(at.largest > 0))
        at.largest = 1;
    size_t workers = c->worker_count, servers = c->server_count;
    edgeps_err err = cover_lp_make(at.links + at.arcs, servers + at.arcs + workers + 1,
                                   2 * servers + 5 * at.arcs + 2 * workers, &g);
    if (err)
        return err;
    pose_rows(c, &at, &g);
    pose_columns(c, &at, &g);
    err = cover_lp_solve(&g, 1, &model);
    if (!err) {
        read_solution(c, &at, Clp_getColSolution(model), open, time);
        Clp_deleteModel(model);
    }
    cover_lp_free(&g);
    return err;
}
