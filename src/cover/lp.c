/* A linear program, grown column by column in reserved space, and its solution by CLP. */
#include "cover/cover_int.h"

#include "base/mem.h"

#include <stdint.h>

void cover_lp_free(cover_lp *g)
{
    mem_free(g->start);
    mem_free(g->index);
    mem_free(g->value);
    mem_free(g->column_lower);
    mem_free(g->column_upper);
    mem_free(g->objective);
    mem_free(g->row_lower);
    mem_free(g->row_upper);
    *g = (cover_lp){0};
}

edgeps_err cover_lp_make(size_t rows, size_t columns, size_t entries, cover_lp *out)
{
    cover_lp g = {.rows = (int)rows};
    if (rows > INT32_MAX || columns > INT32_MAX || entries > INT32_MAX)
        return EDGEPS_NOMEM;
    g.start = mem_alloc(columns + 1, sizeof *g.start);
    g.index = mem_alloc(entries, sizeof *g.index);
    g.value = mem_alloc(entries, sizeof *g.value);
    g.column_lower = mem_alloc(columns, sizeof *g.column_lower);
    g.column_upper = mem_alloc(columns, sizeof *g.column_upper);
    g.objective = mem_alloc(columns, sizeof *g.objective);
    g.row_lower = mem_alloc(rows, sizeof *g.row_lower);
    g.row_upper = mem_alloc(rows, sizeof *g.row_upper);
    if (!g.start || !g.index || !g.value || !g.column_lower || !g.column_upper || !g.objective ||
        !g.row_lower || !g.row_upper) {
        cover_lp_free(&g);
        return EDGEPS_NOMEM;
    }
    *out = g;
    return EDGEPS_OK;
}

void cover_lp_row(cover_lp *g, size_t row, double lower, double upper)
{
    g->row_lower[row] = lower;
    g->row_upper[row] = upper;
}

void cover_lp_begin(cover_lp *g, double upper, double objective)
{
    g->start[g->columns + 1] = g->start[g->columns];
    g->column_upper[g->columns] = upper;
    g->objective[g->columns] = objective;
}

void cover_lp_entry(cover_lp *g, size_t row, double value)
{
    CoinBigIndex at = g->start[g->columns + 1]++;
    g->index[at] = (int)row;
    g->value[at] = value;
}

void cover_lp_end(cover_lp *g) { g->columns++; }

edgeps_err cover_lp_solve(const cover_lp *g, double sense, Clp_Simplex **out)
{
    Clp_Simplex *model = Clp_newModel();
    if (!model)
        return EDGEPS_NOMEM;
    Clp_setLogLevel(model, 0);
    Clp_loadProblem(model, g->columns, g->rows, g->start, g->index, g->value, g->column_lower,
                    g->column_upper, g->objective, g->row_lower, g->row_upper);
    Clp_setObjSense(model, sense);
    /* With costs to be kept low the start is dual feasible. */
    if (sense > 0)
        Clp_dual(model, 0);
    else
        Clp_primal(model, 0);
    if (Clp_status(model) != 0) {
        Clp_deleteModel(model);
        return EDGEPS_INTERNAL;
    }
    *out = model;
    return EDGEPS_OK;
}
