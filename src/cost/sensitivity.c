/* Why a link that holds down no flow gains nothing: rates are max-min fair exactly when every flow
 * has a full link on which none is faster (Bertsekas and Gallager 1992, section 6.5.2). These links
 * stay what they are when another link is widened, so the same rates are fair for it too, at every
 * instant of the round. Why a worker on its server's own node gains nothing by computing faster
 * when another worker delivers each chunk as late: the server waits for that one, and nothing of
 * the first crosses the network on its way up. */
#include "cost/sensitivity.h"

#include "base/mem.h"
#include "base/parallel.h"
#include "cost/round_int.h"

#include <math.h>
#include <stdlib.h>

typedef struct study {
    const problem *p;
    const cost_step *step;
    parallel_watch watch;
    tree t;
    round_trace trace;
    problem *copies; /* one for each thread */
    size_t copy_count;
    bool *played; /* per gain */
    cost_sensitivity result;
} study;

void cost_improve(problem_node *node, cost_resource resource, const cost_step *step)
{
    switch (resource) {
    case COST_UP:
        node->up_bytes_per_s += step->rate_bytes_per_s;
        break;
    case COST_DOWN:
        node->down_bytes_per_s += step->rate_bytes_per_s;
        break;
    case COST_WORK:
        node->compute_s /= step->speed_factor;
        break;
    case COST_SUMMING:
        node->sum_bytes_per_s *= step->speed_factor;
        break;
    default:
        break;
    }
}

/* Is worker `w` on its server's node, and does some other child deliver each chunk as late? */
static bool nobody_waits(const study *s, size_t w)
{
    const tree *t = &s->t;
    size_t l = t->worker_local[w], chunks = s->trace.chunks;
    if (t->worker_node[w] != t->local_node[l])
        return false;
    const double *own_s = s->trace.arrive_s + w * chunks;
    for (size_t c = 0; c < chunks; c++) {
        bool later = false;
        for (size_t v = t->local_first[l]; v < t->local_first[l + 1] && !later; v++)
            later = v != w && s->trace.arrive_s[v * chunks + c] >= own_s[c];
        if (!later)
            return false;
    }
    return true;
}

/* An endless round has an incomplete trace, which proves nothing. */
static void list_gain(study *s, cost_resource resource, uint32_t node, bool idle)
{
    cost_sensitivity *r = &s->result;
    if (idle && r->round_s < INFINITY)
        r->idle++;
    else
        r->gains[r->count++] = (cost_gain){resource, (int32_t)node, 0};
}

static void list_links(study *s, const bool *server, bool of_servers)
{
    const problem *p = s->p;
    for (uint32_t i = 0; i < p->count; i++) {
        if (server[i] != of_servers)
            continue;
        if (p->nodes[i].up_bytes_per_s < INFINITY)
            list_gain(s, COST_UP, i, !s->trace.up_limited[i]);
        if (p->nodes[i].down_bytes_per_s < INFINITY)
            list_gain(s, COST_DOWN, i, !s->trace.down_limited[i]);
    }
}

static void list_speeds(study *s, const bool *server)
{
    const problem *p = s->p;
    for (uint32_t i = 0; i < p->count; i++)
        if (server[i] && p->nodes[i].sum_bytes_per_s < INFINITY)
            list_gain(s, COST_SUMMING, i, false);
    for (size_t w = 0; w < s->t.workers; w++)
        if (p->nodes[s->t.worker_node[w]].compute_s > 0)
            list_gain(s, COST_WORK, s->t.worker_node[w], nobody_waits(s, w));
}

/* The changes that have to be played, servers first. */
static edgeps_err list_gains(study *s)
{
    size_t n = s->p->count;
    bool *server = mem_alloc(n, sizeof *server);
    s->result.gains = mem_alloc(4 * n, sizeof *s->result.gains);
    s->played = mem_alloc(4 * n, sizeof *s->played);
    if (!server || !s->result.gains || !s->played) {
        mem_free(server);
        return EDGEPS_NOMEM;
    }
    server[s->t.global_node[0]] = true;
    for (size_t l = 0; l < s->t.locals; l++)
        server[s->t.local_node[l]] = true;
    if (s->step->rate_bytes_per_s > 0)
        list_links(s, server, true);
    if (s->step->speed_factor > 1)
        list_speeds(s, server);
    if (s->step->rate_bytes_per_s > 0)
        list_links(s, server, false);
    mem_free(server);
    return EDGEPS_OK;
}

static edgeps_err make_copies(study *s)
{
    size_t threads = parallel_threads(s->result.count);
    s->copies = mem_alloc(threads, sizeof *s->copies);
    if (!s->copies)
        return EDGEPS_NOMEM;
    for (; s->copy_count < threads; s->copy_count++) {
        edgeps_err err = problem_lend(s->p, &s->copies[s->copy_count]);
        if (err)
            return err;
    }
    return EDGEPS_OK;
}

static edgeps_err play_change(void *context, size_t thread, size_t item)
{
    study *s = context;
    cost_gain *gain = &s->result.gains[item];
    problem_node *node = &s->copies[thread].nodes[gain->node];
    double round_s;
    cost_improve(node, gain->resource, s->step);
    edgeps_err err = round_play(&s->copies[thread], &s->t, NULL, &round_s, NULL);
    *node = s->p->nodes[gain->node];
    if (err)
        return err;
    gain->gain_s = round_s == s->result.round_s ? 0 : s->result.round_s - round_s;
    s->played[item] = true;
    return EDGEPS_OK;
}

static int by_gain(const void *a, const void *b)
{
    const cost_gain *x = a, *y = b;
    if (x->gain_s != y->gain_s)
        return x->gain_s > y->gain_s ? -1 : 1;
    return x->node != y->node ? x->node - y->node : (int)x->resource - (int)y->resource;
}

static void sort_gains(study *s)
{
    cost_sensitivity *r = &s->result;
    size_t kept = 0;
    for (size_t k = 0; k < r->count; k++)
        if (s->played[k])
            r->gains[kept++] = r->gains[k];
    r->left = r->count - kept;
    r->count = kept;
    qsort(r->gains, kept, sizeof *r->gains, by_gain);
}

static edgeps_err run_study(study *s, const plan *pl)
{
    edgeps_err err = tree_make(&s->p->job, pl, 1, &s->t);
    if (!err)
        err = round_trace_make(s->p, &s->t, &s->trace);
    if (!err)
        err = round_play(s->p, &s->t, &s->trace, &s->result.round_s, NULL);
    if (!err)
        err = list_gains(s);
    if (!err)
        err = make_copies(s);
    if (!err)
        err = parallel_run(s->copy_count, s->result.count, play_change, s, &s->watch);
    return err;
}

edgeps_err cost_find_gains(const problem *p, const plan *pl, const cost_step *step,
                           cost_go_on *go_on, void *context, cost_sensitivity *out)
{
    study s = {.p = p, .step = step, .watch = {go_on, context}};
    edgeps_err err = run_study(&s, pl);
    if (!err) {
        sort_gains(&s);
        *out = s.result;
    } else {
        cost_sensitivity_free(&s.result);
    }
    for (size_t c = 0; c < s.copy_count; c++)
        problem_unlend(&s.copies[c]);
    mem_free(s.copies);
    mem_free(s.played);
    round_trace_free(&s.trace);
    tree_free(&s.t);
    return err;
}

void cost_sensitivity_free(cost_sensitivity *s)
{
    mem_free(s->gains);
    *s = (cost_sensitivity){0};
}
