/* The integer program over y alone: least sum of y_j under rows sum_j a_j y_j >= need that are
 * added as they are found. */
#include "cover/cover_int.h"

#include "base/mem.h"

#include <math.h>

/* A bound of the LP counts up to the rounding of its sums. */
#define ROUNDING 1e-6

#define LEAST_NODES_FOR_CUTS 100

void cover_master_free(cover_master *m)
{
    mem_free(m->column_of);
    mem_free(m->entries);
    mem_free(m->rows);
    mem_free(m->y);
    mem_free(m->forced);
    mem_free(m->share);
    *m = (cover_master){0};
}

edgeps_err cover_master_make(const cover_reduced *r, size_t servers, cover_master *out)
{
    cover_master m = {.servers = servers};
    m.column_of = mem_alloc(servers, sizeof *m.column_of);
    m.forced = mem_alloc(servers, sizeof *m.forced);
    m.y = mem_alloc(servers, sizeof *m.y);
    m.share = mem_alloc(servers, sizeof *m.share);
    if (!m.column_of || !m.forced || !m.y || !m.share) {
        cover_master_free(&m);
        return EDGEPS_NOMEM;
    }
    for (size_t j = 0; j < servers; j++) {
        bool in = r->column[j] || r->forced[j];
        m.column_of[j] = in ? (uint32_t)m.column_count : COVER_NOBODY;
        m.forced[j] = r->forced[j];
        m.column_count += in;
    }
    *out = m;
    return EDGEPS_OK;
}

edgeps_err cover_master_add(cover_master *m, const double *coefficient, double need)
{
    size_t count = 0, at = m->row_count ? m->rows[m->row_count - 1].end : 0;
    for (size_t j = 0; j < m->servers; j++)
        count += coefficient[j] > 0 && m->column_of[j] != COVER_NOBODY;
    void *rows = mem_grow(m->rows, m->row_count + 1, sizeof *m->rows, &m->row_room);
    if (!rows)
        return EDGEPS_NOMEM;
    m->rows = rows;
    void *entries = mem_grow(m->entries, at + count, sizeof *m->entries, &m->entry_room);
    if (!entries)
        return EDGEPS_NOMEM;
    m->entries = entries;
    for (size_t j = 0; j < m->servers; j++)
        if (coefficient[j] > 0 && m->column_of[j] != COVER_NOBODY)
            m->entries[at++] = (cover_entry){(uint32_t)j, fmin(coefficient[j], need)};
    m->rows[m->row_count++] = (cover_row){need, at};
    return EDGEPS_OK;
}

/* CLP and CBC read columns; the rows are turned. */
static edgeps_err pose(const cover_master *m, double budget, cover_lp *out)
{
    size_t entries = m->row_count ? m->rows[m->row_count - 1].end : 0, begin = 0;
    cover_lp g;
    edgeps_err err =
        cover_lp_make(m->row_count + 1, m->column_count, entries + m->column_count, &g);
    if (err)
        return err;
    CoinBigIndex *start = g.start;
    for (size_t e = 0; e < entries; e++)
        start[m->column_of[m->entries[e].server] + 1]++;
    for (size_t k = 0; k < m->column_count; k++)
        start[k + 1] += start[k] + 1;
    for (size_t r = 0; r < m->row_count; begin = m->rows[r++].end) {
        cover_lp_row(&g, r, m->rows[r].need, INFINITY);
        for (size_t e = begin; e < m->rows[r].end; e++) {
            CoinBigIndex at = start[m->column_of[m->entries[e].server]]++;
            g.index[at] = (int)r;
            g.value[at] = m->entries[e].coefficient;
        }
    }
    cover_lp_row(&g, m->row_count, -INFINITY, budget);
    for (size_t j = 0; j < m->servers; j++) {
        uint32_t k = m->column_of[j];
        if (k == COVER_NOBODY)
            continue;
        g.index[start[k]] = (int)m->row_count;
        g.value[start[k]++] = 1;
        g.column_lower[k] = m->forced[j];
        g.column_upper[k] = g.objective[k] = 1;
    }
    for (size_t k = m->column_count; k > 0; k--)
        start[k] = start[k - 1];
    start[0] = 0;
    g.columns = (int)m->column_count;
    *out = g;
    return EDGEPS_OK;
}

/* What the prices of the rows prove: for every y that keeps the rows, with prices p >= 0,
 * sum y >= sum p need + sum_j (1 - sum p a_j) y_j, and y_j lies between its limits. */
static double priced_bound(const cover_master *m, const cover_lp *g, const double *price)
{
    double bound = 0;
    for (size_t r = 0; r < m->row_count; r++)
        bound += fmax(price[r], 0) * m->rows[r].need;
    for (int k = 0; k < g->columns; k++) {
        double reduced = 1;
        for (CoinBigIndex e = g->start[k]; e < g->start[k + 1]; e++)
            if (g->index[e] < (int)m->row_count)
                reduced -= fmax(price[g->index[e]], 0) * g->value[e];
        bound += reduced * (reduced < 0 ? 1 : g->column_lower[k]);
    }
    return bound;
}

edgeps_err cover_master_bound(cover_master *m)
{
    cover_lp g = {0};
    Clp_Simplex *model = NULL;
    edgeps_err err = pose(m, INFINITY, &g);
    if (!err)
        err = cover_lp_solve(&g, 1, &model);
    if (!err) {
        double bound = ceil(priced_bound(m, &g, Clp_getRowPrice(model)) - ROUNDING);
        if (bound > (double)m->at_least)
            m->at_least = (size_t)bound;
        for (size_t j = 0; j < m->servers; j++)
            if (m->column_of[j] != COVER_NOBODY)
                m->share[j] = Clp_getColSolution(model)[m->column_of[j]];
        Clp_deleteModel(model);
    }
    cover_lp_free(&g);
    return err;
}

bool cover_master_breaks(const cover_master *m, size_t first)
{
    size_t e = first > 0 ? m->rows[first - 1].end : 0;
    for (size_t r = first; r < m->row_count; r++) {
        double sum = 0;
        for (; e < m->rows[r].end; e++)
            sum += m->entries[e].coefficient * m->share[m->entries[e].server];
        if (sum < m->rows[r].need - ROUNDING)
            return true;
    }
    return false;
}

static void read_solution(cover_master *m, const double *solution)
{
    for (size_t j = 0; j < m->servers; j++)
        m->y[j] = m->column_of[j] != COVER_NOBODY && solution[m->column_of[j]] > 0.5;
}

/* One run of CBC; m->done when it decided. */
static edgeps_err run_cbc(cover_master *m, const cover_lp *g, const cover_master_limits *l)
{
    /* The rows are reduced and the LP has been rounded before; what CBC would do at the root takes
     * longer than the few nodes that are asked for at first. */
    const cover_branch_limits limits = {.most_nodes = l->most_nodes,
                                        .seconds = l->seconds,
                                        .any = l->any,
                                        .bare = true,
                                        .no_cuts = l->most_nodes < LEAST_NODES_FOR_CUTS};
    cover_branch_end end;
    double *solution = mem_alloc((size_t)g->columns, sizeof *solution);
    edgeps_err err = solution ? cover_lp_branch(g, &limits, solution, &end) : EDGEPS_NOMEM;
    if (!err) {
        m->found = end.found;
        m->proved = end.proved;
        m->done = end.done;
        if (end.found)
            read_solution(m, solution);
    }
    mem_free(solution);
    return err;
}

edgeps_err cover_master_solve(cover_master *m, const cover_master_limits *limits)
{
    cover_lp g = {0};
    edgeps_err err = pose(m, limits->budget, &g);
    if (!err)
        err = run_cbc(m, &g, limits);
    cover_lp_free(&g);
    if (err)
        return err;
    size_t count = 0;
    for (size_t j = 0; j < m->servers; j++)
        count += m->found && m->y[j];
    size_t bound = m->proved ? count : m->done && !m->found ? (size_t)limits->budget + 1 : 0;
    if (bound > m->at_least)
        m->at_least = bound;
    return EDGEPS_OK;
}
