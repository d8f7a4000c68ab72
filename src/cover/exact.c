/* The covering LP through CLP. It is posed so that it always has a solution: cover as much as the
 * budget allows. The prices of the covering rows are then the certificate when that is not all. */
#include "cover/cover.h"

#include "base/mem.h"
#include "cover/cover_int.h"

#include <math.h>
#include <string.h>

#include <Clp_C_Interface.h>

#define TOLERANCE 1e-7

/* A linear program in columns, grown column by column in reserved space. */
typedef struct program {
    int rows, columns;
    CoinBigIndex *start; /* columns + 1 */
    int *index;
    double *value;
    double *column_upper; /* lower bounds are 0 */
    double *objective;
    double *row_lower, *row_upper;
} program;

static void program_free(program *g)
{
    mem_free(g->start);
    mem_free(g->index);
    mem_free(g->value);
    mem_free(g->column_upper);
    mem_free(g->objective);
    mem_free(g->row_lower);
    mem_free(g->row_upper);
}

static edgeps_err program_make(size_t rows, size_t columns, size_t entries, program *out)
{
    program g = {.rows = (int)rows};
    if (rows > INT32_MAX || columns > INT32_MAX || entries > INT32_MAX)
        return EDGEPS_NOMEM;
    g.start = mem_alloc(columns + 1, sizeof *g.start);
    g.index = mem_alloc(entries, sizeof *g.index);
    g.value = mem_alloc(entries, sizeof *g.value);
    g.column_upper = mem_alloc(columns, sizeof *g.column_upper);
    g.objective = mem_alloc(columns, sizeof *g.objective);
    g.row_lower = mem_alloc(rows, sizeof *g.row_lower);
    g.row_upper = mem_alloc(rows, sizeof *g.row_upper);
    if (!g.start || !g.index || !g.value || !g.column_upper || !g.objective || !g.row_lower ||
        !g.row_upper) {
        program_free(&g);
        return EDGEPS_NOMEM;
    }
    *out = g;
    return EDGEPS_OK;
}

static void set_row(program *g, size_t row, double lower, double upper)
{
    g->row_lower[row] = lower;
    g->row_upper[row] = upper;
}

static void add_entry(program *g, size_t row, double value)
{
    CoinBigIndex at = g->start[g->columns + 1]++;
    g->index[at] = (int)row;
    g->value[at] = value;
}

/* Opens the next column; its entries follow, then end_column. */
static void begin_column(program *g, double upper, double objective)
{
    g->start[g->columns + 1] = g->start[g->columns];
    g->column_upper[g->columns] = upper;
    g->objective[g->columns] = objective;
}

static void end_column(program *g) { g->columns++; }

static size_t count_arcs(const cover_instance *c)
{
    size_t arcs = 0;
    for (size_t j = 0; j < c->server_count; j++)
        arcs += c->servers[j].arc_count;
    return arcs;
}

/* Rows: a worker's coverage each, a server's capacity each, the budget, x <= y for each arc. */
static edgeps_err pose_most_coverage(const cover_instance *c, program *out)
{
    size_t workers = c->worker_count, servers = c->server_count, arcs = count_arcs(c);
    size_t budget_row = workers + servers, link_row = budget_row + 1;
    edgeps_err err = program_make(link_row + arcs, servers + arcs + workers,
                                  2 * servers + 4 * arcs + workers, out);
    if (err)
        return err;
    for (size_t i = 0; i < workers; i++)
        set_row(out, i, 0, INFINITY);
    for (size_t j = 0; j < servers; j++)
        set_row(out, workers + j, -INFINITY, 0);
    set_row(out, budget_row, -INFINITY, c->budget);
    for (size_t a = 0; a < arcs; a++)
        set_row(out, link_row + a, -INFINITY, 0);
    size_t arc = 0;
    for (size_t j = 0; j < servers; j++) {
        begin_column(out, 1, 0);
        add_entry(out, workers + j, -c->servers[j].capacity);
        add_entry(out, budget_row, 1);
        for (size_t a = 0; a < c->servers[j].arc_count; a++)
            add_entry(out, link_row + arc++, -1);
        end_column(out);
    }
    arc = 0;
    for (size_t j = 0; j < servers; j++) {
        for (size_t a = 0; a < c->servers[j].arc_count; a++) {
            begin_column(out, 1, 0);
            add_entry(out, c->servers[j].arcs[a].worker, 1);
            add_entry(out, workers + j, c->servers[j].arcs[a].size);
            add_entry(out, link_row + arc++, 1);
            end_column(out);
        }
    }
    for (size_t i = 0; i < workers; i++) {
        begin_column(out, 1, 1);
        add_entry(out, i, -1);
        end_column(out);
    }
    return EDGEPS_OK;
}

/* Solves; the caller deletes the model. */
static edgeps_err solve(const program *g, double sense, Clp_Simplex **out)
{
    Clp_Simplex *model = Clp_newModel();
    if (!model)
        return EDGEPS_NOMEM;
    Clp_setLogLevel(model, 0);
    Clp_loadProblem(model, g->columns, g->rows, g->start, g->index, g->value, NULL, g->column_upper,
                    g->objective, g->row_lower, g->row_upper);
    Clp_setObjSense(model, sense);
    Clp_primal(model, 0);
    if (Clp_status(model) != 0) {
        Clp_deleteModel(model);
        return EDGEPS_INTERNAL;
    }
    *out = model;
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
    program g = {0};
    Clp_Simplex *model = NULL;
    cover_answer a;
    edgeps_err err = cover_answer_make(c, &a);
    if (err)
        return err;
    err = pose_most_coverage(c, &g);
    if (!err)
        err = solve(&g, -1, &model);
    if (!err) {
        err = read_answer(c, Clp_getRowPrice(model), Clp_getColSolution(model),
                          Clp_getObjValue(model), &a);
        Clp_deleteModel(model);
    }
    if (err)
        cover_answer_free(&a);
    else
        *out = a;
    program_free(&g);
    return err;
}

static edgeps_err pose_least_mass(const cover_instance *c, program *out)
{
    edgeps_err err = program_make(c->worker_count, c->server_count, count_arcs(c), out);
    if (err)
        return err;
    for (size_t i = 0; i < c->worker_count; i++)
        set_row(out, i, 1, INFINITY);
    for (size_t j = 0; j < c->server_count; j++) {
        begin_column(out, 1, 1);
        for (size_t a = 0; a < c->servers[j].arc_count; a++)
            add_entry(out, c->servers[j].arcs[a].worker, 1);
        end_column(out);
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
    program g = {0};
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
        err = solve(&g, 1, &model);
    if (!err) {
        memcpy(open, Clp_getColSolution(model), c->server_count * sizeof *open);
        *mass = Clp_getObjValue(model);
        Clp_deleteModel(model);
    }
    program_free(&g);
    return err;
}
