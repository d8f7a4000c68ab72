/* The candidates for the global server in the order of their quick bounds. */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static int by_bound(const void *a, const void *b)
{
    const place_candidate *x = a, *y = b;
    if (x->bound_s != y->bound_s)
        return x->bound_s < y->bound_s ? -1 : 1;
    return (x->global > y->global) - (x->global < y->global);
}

void place_sort_candidates(place_candidate *list, size_t count)
{
    qsort(list, count, sizeof *list, by_bound);
}

edgeps_err place_candidates(const place_times *t, place_candidate **out, size_t *count)
{
    const place_ground *gr = t->gr;
    size_t found = 0;
    place_candidate *list = mem_alloc(gr->count, sizeof *list);
    double *scratch = mem_alloc(gr->count, sizeof *scratch);
    if (!list || !scratch) {
        mem_free(list);
        mem_free(scratch);
        return EDGEPS_NOMEM;
    }
    for (size_t g = 0; g < gr->count; g++) {
        double bound_s = gr->fan[g] > 0 ? place_quick_bound_s(t, g, scratch) : INFINITY;
        if (bound_s < INFINITY)
            list[found++] = (place_candidate){(uint32_t)g, bound_s, INFINITY};
    }
    place_sort_candidates(list, found);
    mem_free(scratch);
    *out = list;
    *count = found;
    return EDGEPS_OK;
}
