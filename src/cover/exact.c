/* The covering LP through CLP. It is posed so that it always has a solution: cover as much as the
 * budget allows. The prices of the covering rows are then the certificate when that is not all. */
#include "cover/cover.h"

#include "base/mem.h"
#include "cover/cover_int.h"

#include <math.h>
#include <string.h>

#define TOLERANCE 1e-7

static size_t count_arcs(const cover_instance *c)
{
    size_t arcs = 0;
    for (size_t j = 0; j < c->server_count; j++)
        arcs += c->servers[j].arc_count;
    return arcs;
}

/* Rows: a worker's coverage each, a server's capacity each, the budget, x <= y for each arc. */
static edgeps_err pose_most_coverage(const cover_instance *c, cover_lp *out)
{
    size_t workers = c->worker_count, servers = c->server_count, arcs = count_arcs(c);
    size_t budget_row = workers + servers, link_row = budget_row + 1;
    edgeps_err err = cover_lp_make(link_row + arcs, servers + arcs + workers,
                                   2 * servers + 4 * arcs + workers, out);
    if (err)
        return err;
    for (size_t i = 0; i < workers; i++)
        cover_lp_row(out, i, 0, INFINITY);
    for (size_t j = 0; j < servers; j++)
        cover_lp_row(out, workers + j, -INFINITY, 0);
    cover_lp_row(out, budget_row, -INFINITY, c->budget);
    for (size_t a = 0; a < arcs; a++)
        cover_lp_row(out, link_row + a, -INFINITY, 0);
    size_t arc = 0;
    for (size_t j = 0; j < servers; j++) {
        cover_lp_begin(out, 1, 0);
        cover_lp_entry(out, workers + j, -c->servers[j].capacity);
        cover_lp_entry(out, budget_row, 1);
        for (size_t a = 0; a < c->servers[j].arc_count; a++)
            cover_lp_entry(out, link_row + arc++, -1);
        cover_lp_end(out);
    }
    arc = 0;
    for (size_t j = 0; j < servers; j++) {
        for (size_t a = 0; a < c->servers[j].arc_count; a++) {
            cover_lp_begin(out, 1, 0);
            cover_lp_entry(out, c->servers[j].arcs[a].worker, 1);
            cover_lp_entry(out, workers + j, c->servers[j].arcs[a].size);
            cover_lp_entry(out, link_row + arc++, 1);
            cover_lp_end(out);
        }
    }
    for (size_t i = 0; i < workers; i++) {
        cover_lp_begin(out, 1, 1);
        cover_lp_entry(out, i, -1);
        cover_lp_end(out);
    }
    return EDGEPS_OK;
}

static edgeps_err read_answer(const cover_instance *c, const double *prices, const double *columns,
                              double covered, cover_answer *a)
{
    bool refutes = false;
    edgeps_err err = EDGEPS_OK;
    for (size_t i = 0; i < c->worker_count; i++)
        a->weight[i] = fmin(fabs(prices[i]), 1);
    for (size_t j = 0; j < c->server_count; j++)
        a->open[j] = columns[j];
    if (covered >= (double)c->worker_count - TOLERANCE) {
        a->verdict = COVER_YES;
        a->coverage = 1;
    } else {
        err = cover_refutes(c, a->weight, &refutes);
        a->verdict = refutes ? COVER_NO : COVER_UNSURE;
    }
    return err;
}

edgeps_err cover_solve(const cover_instance *c, cover_answer *out)
{
    cover_lp g = {0};
    Clp_Simplex *model = NULL;
    cover_answer a;
    edgeps_err err = cover_answer_make(c, &a);
    if (err)
        return err;
    err = pose_most_coverage(c, &g);
    if (!err)
        err = cover_lp_solve(&g, -1, &model);
    if (!err) {
        err = read_answer(c, Clp_getRowPrice(model), Clp_getColSolution(model),
                          Clp_getObjValue(model), &a);
        Clp_deleteModel(model);
    }
    if (err)
        cover_answer_free(&a);
    else
        *out = a;
    cover_lp_free(&g);
    return err;
}

static edgeps_err pose_least_mass(const cover_instance *c, cover_lp *out)
{
    edgeps_err err = cover_lp_make(c->worker_count, c->server_count, count_arcs(c), out);
    if (err)
        return err;
    for (size_t i = 0; i < c->worker_count; i++)
        cover_lp_row(out, i, 1, INFINITY);
    for (size_t j = 0; j < c->server_count; j++) {
        cover_lp_begin(out, 1, 1);
        for (size_t a = 0; a < c->servers[j].arc_count; a++)
            cover_lp_entry(out, c->servers[j].arcs[a].worker, 1);
        cover_lp_end(out);
    }
    return EDGEPS_OK;
}

static edgeps_err every_worker_has_an_arc(const cover_instance *c, bool *all)
{
    size_t found = 0;
    bool *seen = mem_alloc(c->worker_count, sizeof *seen);
    if (!seen)
        return EDGEPS_NOMEM;
    for (size_t j = 0; j < c->server_count; j++)
        for (size_t a = 0; a < c->servers[j].arc_count; a++) {
            found += !seen[c->servers[j].arcs[a].worker];
            seen[c->servers[j].arcs[a].worker] = true;
        }
    mem_free(seen);
    *all = found == c->worker_count;
    return EDGEPS_OK;
}

edgeps_err cover_least_mass(const cover_instance *c, double *open, double *mass)
{
    cover_lp g = {0};
    Clp_Simplex *model = NULL;
    bool possible = false;
    edgeps_err err = every_worker_has_an_arc(c, &possible);
    if (err)
        return err;
    if (!possible) {
        *mass = INFINITY;
        return EDGEPS_OK;
    }
    err = pose_least_mass(c, &g);
    if (!err)
        err = cover_lp_solve(&g, 1, &model);
    if (!err) {
        memcpy(open, Clp_getColSolution(model), c->server_count * sizeof *open);
        *mass = Clp_getObjValue(model);
        Clp_deleteModel(model);
    }
    cover_lp_free(&g);
    return err;
}
