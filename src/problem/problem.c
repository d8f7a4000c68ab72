#include "problem/problem.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

double problem_rate_bytes_per_s(const problem *p, size_t from, size_t to)
{
    if (from == to)
        return INFINITY;
    double rate = fmin(p->nodes[from].up_bytes_per_s, p->nodes[to].down_bytes_per_s);
    return fmin(rate, p->cap_bytes_per_s[from * p->count + to]);
}

bool problem_connected(const problem *p, size_t a, size_t b)
{
    return problem_rate_bytes_per_s(p, a, b) > 0 && problem_rate_bytes_per_s(p, b, a) > 0;
}

static void fill_nodes(problem *p, const network *net, const bool *absent)
{
    for (size_t i = 0; i < net->count; i++) {
        const network_node *node = &net->nodes[i];
        bool present = !absent || !absent[i];
        p->nodes[i] = (problem_node){
            .name = node->name,
            .train = node->train && present,
            .serve = node->serve && present,
            .up_bytes_per_s = node->up_bytes_per_s,
            .down_bytes_per_s = node->down_bytes_per_s,
            .sum_bytes_per_s = node->sum_bytes_per_s,
            .free_bytes = node->free_bytes,
        };
        p->worker_count += p->nodes[i].train;
    }
}

static void fill_compute(problem *p, const network *net, const int64_t *worker_samples)
{
    double equal_share = (double)p->job.sample_count / (double)p->worker_count;
    for (size_t i = 0; i < p->count; i++) {
        if (!p->nodes[i].train)
            continue;
        double samples = worker_samples ? (double)worker_samples[i] : equal_share;
        double per_round = samples / (double)p->rounds;
        p->nodes[i].compute_s = per_round / net->nodes[i].compute_samples_per_s;
    }
}

static edgeps_err check_someone_left(const problem *p, edgeps_diag *diag)
{
    bool serves = false;
    for (size_t i = 0; i < p->count; i++)
        serves |= p->nodes[i].serve;
    if (!p->worker_count)
        return diag_fail(diag, EDGEPS_INFEASIBLE, "no node is left that may train");
    if (!serves)
        return diag_fail(diag, EDGEPS_INFEASIBLE, "no node is left that may serve");
    return EDGEPS_OK;
}

/* A worker that reaches no other node cannot train with the others, wherever the servers are. */
static edgeps_err check_no_worker_cut_off(const problem *p, edgeps_diag *diag)
{
    if (p->worker_count < 2)
        return EDGEPS_OK;
    for (size_t i = 0; i < p->count; i++) {
        size_t other = 0;
        while (other < p->count && (other == i || !problem_connected(p, i, other)))
            other++;
        if (p->nodes[i].train && other == p->count)
            return diag_fail(diag, EDGEPS_INFEASIBLE,
                             "node '%s' is cut off: no path to and from any other node; give it "
                             "rates above 0, or \"train\": false",
                             p->nodes[i].name);
    }
    return EDGEPS_OK;
}

edgeps_err problem_make(const network *net, const job *j, const problem_options *options,
                        edgeps_diag *diag, problem **out)
{
    static const problem_options defaults;
    const problem_options *o = options ? options : &defaults;
    edgeps_err err = EDGEPS_NOMEM;
    problem *p = mem_alloc(1, sizeof *p);
    if (!p)
        goto out;
    size_t pairs = net->count * net->count;
    p->count = net->count;
    p->job = *j;
    p->max_locals = o->max_locals && o->max_locals < net->count ? o->max_locals : net->count;
    p->nodes = mem_alloc(net->count, sizeof *p->nodes);
    p->latency_s = mem_alloc(pairs, sizeof(double));
    p->cap_bytes_per_s = mem_alloc(pairs, sizeof(double));
    if (!p->nodes || !p->latency_s || !p->cap_bytes_per_s)
        goto out;
    memcpy(p->latency_s, net->latency_s, pairs * sizeof(double));
    memcpy(p->cap_bytes_per_s, net->cap_bytes_per_s, pairs * sizeof(double));
    fill_nodes(p, net, o->absent);
    err = check_someone_left(p, diag);
    if (!err)
        err = check_no_worker_cut_off(p, diag);
    if (err)
        goto out;
    p->rounds = o->rounds ? o->rounds : job_rounds(j, (int64_t)p->worker_count);
    fill_compute(p, net, o->worker_samples);
    *out = p;
    p = NULL;
out:
    problem_free(p);
    if (err == EDGEPS_NOMEM)
        diag_fail(diag, err, "no memory for a problem of %zu nodes", net->count);
    return err;
}

void problem_free(problem *p)
{
    if (!p)
        return;
    mem_free(p->nodes);
    mem_free(p->latency_s);
    mem_free(p->cap_bytes_per_s);
    mem_free(p);
}
