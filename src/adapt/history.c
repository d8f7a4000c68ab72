#include "adapt/history.h"

#include "base/mem.h"

#include <math.h>

#define TOLERANCE 0.1
#define MARGIN 0.05   /* of a forecast, that a server which opens or grows leaves free */
#define CLEAR 2       /* a trend stands out by this factor from the noise around it */
#define NEW_SHARE 0.5 /* of an observation in trend and noise */

typedef enum capacity { HOLDS_NOTHING, HOLDS_LOCAL, HOLDS_GLOBAL } capacity;

typedef struct conditions {
    double up_bytes_per_s;
    double down_bytes_per_s;
    double compute_s;
    capacity holds;
} conditions;

typedef struct past {
    conditions since; /* the last change */
    int64_t free_bytes;
    double trend_bytes; /* per epoch */
    double noise_bytes; /* mean distance of the steps from the trend */
} past;

struct adapt_history {
    size_t count;
    size_t transitions;
    size_t changes;
    bool begun;
    past nodes[];
};

edgeps_err adapt_history_make(size_t count, adapt_history **out)
{
    adapt_history *h = mem_alloc(1, sizeof *h + count * sizeof h->nodes[0]);
    if (!h)
        return EDGEPS_NOMEM;
    h->count = count;
    *out = h;
    return EDGEPS_OK;
}

void adapt_history_free(adapt_history *h) { mem_free(h); }

static conditions conditions_of(const problem *p, size_t v)
{
    const problem_node *node = &p->nodes[v];
    conditions c = {node->up_bytes_per_s, node->down_bytes_per_s, node->compute_s, HOLDS_NOTHING};
    if (!node->serve)
        return c;
    if (node->free_bytes >= job_global_need_bytes(&p->job, 1))
        c.holds = HOLDS_GLOBAL;
    else if (node->free_bytes >= job_local_need_bytes(&p->job, 1))
        c.holds = HOLDS_LOCAL;
    return c;
}

static bool differ(double a, double b) { return fabs(a - b) > TOLERANCE * fmax(a, b); }

static bool have_changed(const conditions *a, const conditions *b)
{
    return a->holds != b->holds || differ(a->up_bytes_per_s, b->up_bytes_per_s) ||
           differ(a->down_bytes_per_s, b->down_bytes_per_s) || differ(a->compute_s, b->compute_s);
}

static void add_free(past *n, int64_t free_bytes)
{
    double step = (double)(free_bytes - n->free_bytes);
    n->noise_bytes += NEW_SHARE * (fabs(step - n->trend_bytes) - n->noise_bytes);
    n->trend_bytes += NEW_SHARE * (step - n->trend_bytes);
    n->free_bytes = free_bytes;
}

void adapt_history_add(adapt_history *h, const problem *measured)
{
    for (size_t v = 0; v < h->count; v++) {
        past *n = &h->nodes[v];
        conditions now = conditions_of(measured, v);
        if (!h->begun) {
            n->since = now;
            n->free_bytes = measured->nodes[v].free_bytes;
            continue;
        }
        if (have_changed(&n->since, &now)) {
            n->since = now;
            h->changes++;
        }
        add_free(n, measured->nodes[v].free_bytes);
    }
    h->transitions += h->begun;
    h->begun = true;
}

double adapt_history_horizon(const adapt_history *h, size_t servers)
{
    double met = (double)h->changes * (double)servers / (double)h->count;
    return fmax(1, ((double)h->transitions + 1) / (met + 1));
}

void adapt_history_forecast(const adapt_history *h, int64_t *free_bytes)
{
    for (size_t v = 0; v < h->count; v++) {
        const past *n = &h->nodes[v];
        free_bytes[v] = n->free_bytes;
        if (-n->trend_bytes > CLEAR * n->noise_bytes)
            free_bytes[v] = (int64_t)fmax(0, (double)n->free_bytes + n->trend_bytes);
    }
}

void adapt_history_advise(const adapt_history *h, const plan *current, double epochs_left,
                          int64_t *free_bytes, adapt_options *options)
{
    size_t servers = plan_local_count(current) + 1;
    adapt_history_forecast(h, free_bytes);
    options->horizon_epochs = fmin(adapt_history_horizon(h, servers), epochs_left);
    options->forecast_bytes = epochs_left > 1 ? free_bytes : NULL;
    options->margin = MARGIN;
}
