/* The door to CBC. */
#include "cover/cover_int.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <Cbc_C_Interface.h>

/* CBC reads its parameters through variables of the process: two threads in it get each other's,
 * and proofs that are none. */
static pthread_mutex_t cbc_lock = PTHREAD_MUTEX_INITIALIZER;

static void set_number(Cbc_Model *model, const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.3f", value);
    Cbc_setParameter(model, name, text);
}

static void set_count(Cbc_Model *model, const char *name, long value)
{
    char text[32];
    snprintf(text, sizeof text, "%ld", value);
    Cbc_setParameter(model, name, text);
}

static void set_limits(Cbc_Model *model, const cover_branch_limits *l)
{
    Cbc_setParameter(model, "logLevel", "0");
    if (l->bare) {
        Cbc_setParameter(model, "preprocess", "off");
        Cbc_setParameter(model, "heuristics", "off");
    }
    if (l->no_cuts)
        Cbc_setParameter(model, "cuts", "off");
    set_count(model, "maxNodes", l->most_nodes);
    if (l->seconds > 0) {
        Cbc_setParameter(model, "timeMode", "elapsed");
        set_number(model, "seconds", l->seconds);
    }
    if (l->any)
        Cbc_setParameter(model, "maxSolutions", "1");
}

static edgeps_err solve(const cover_lp *g, const cover_branch_limits *l, double *solution,
                        cover_branch_end *end)
{
    Cbc_Model *model = Cbc_newModel();
    if (!model)
        return EDGEPS_NOMEM;
    set_limits(model, l);
    Cbc_loadProblem(model, g->columns, g->rows, g->start, g->index, g->value, g->column_lower,
                    g->column_upper, g->objective, g->row_lower, g->row_upper);
    for (int k = 0; k < g->columns; k++)
        Cbc_setInteger(model, k);
    Cbc_solve(model);
    *end = (cover_branch_end){0};
    if (Cbc_isProvenInfeasible(model)) {
        end->done = true;
    } else if (Cbc_bestSolution(model)) {
        end->found = true;
        end->proved = Cbc_isProvenOptimal(model) && !l->any;
        end->done = end->proved || l->any;
        memcpy(solution, Cbc_bestSolution(model), (size_t)g->columns * sizeof *solution);
    }
    edgeps_err err = Cbc_isAbandoned(model) ? EDGEPS_INTERNAL : EDGEPS_OK;
    Cbc_deleteModel(model);
    return err;
}

edgeps_err cover_lp_branch(const cover_lp *g, const cover_branch_limits *limits, double *solution,
                           cover_branch_end *end)
{
    pthread_mutex_lock(&cbc_lock);
    edgeps_err err = solve(g, limits, solution, end);
    pthread_mutex_unlock(&cbc_lock);
    return err;
}
