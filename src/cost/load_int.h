/* What one link carries in a round, for the bound of a plan at once (bound.c) and under change
 * (search.c). */
#ifndef EDGEPS_COST_LOAD_INT_H
#define EDGEPS_COST_LOAD_INT_H

#include "cost/moment.h"

/* Pushes may be joined with pulls: whoever pushes a chunk waits for the pulls that follow, so the
 * last to pass is a pull's. */
typedef struct load {
    double start_s;
    moment rest; /* least, from when a pull has passed to the end; INFINITY without any */
    double count;
} load;

static const load no_load = {INFINITY, {INFINITY, INFINITY, INFINITY}, 0};

static inline void load_push(load *l, double start_s, double count)
{
    if (count > 0)
        l->start_s = smaller_of(l->start_s, start_s);
    l->count += count;
}

static inline void load_pull(load *l, double start_s, moment rest, double count)
{
    load_push(l, start_s, count);
    if (count > 0)
        l->rest = moment_earlier(l->rest, rest);
}

static inline double load_end_s(const amounts *a, const load *l, double rate)
{
    if (l->count == 0 || l->rest.all_s == INFINITY)
        return 0;
    return moment_end_s(moment_through(a, moment_at(l->start_s), l->count, 1 / rate), l->rest);
}

#endif
