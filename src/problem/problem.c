#include "problem/problem.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

double problem_rate_bytes_per_s(const problem *p, size_t from, size_t to)
{
    if (from == to)
        return INFINITY;
    double rate = fmin(p->nodes[from].up_bytes_per_s, p->nodes[to].down_bytes_per_s);
    return fmin(rate, problem_cap_bytes_per_s(p, from, to));
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
            .site = node->site,
            .access_s = node->access_s,
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

/* All zero, without a site for any node yet. */
static problem *make_sites(size_t count, size_t site_count)
{
    problem *p = mem_alloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->count = count;
    p->site_count = site_count;
    p->nodes = mem_alloc(count, sizeof *p->nodes);
    p->latency_s = mem_alloc(site_count * site_count, sizeof(double));
    p->cap_bytes_per_s = mem_alloc(site_count * site_count, sizeof(double));
    if (p->nodes && p->latency_s && p->cap_bytes_per_s)
        return p;
    problem_free(p);
    return NULL;
}

static void copy_pairs(problem *to, const double *latency_s, const double *cap_bytes_per_s)
{
    size_t pairs = to->site_count * to->site_count;
    memcpy(to->latency_s, latency_s, pairs * sizeof(double));
    memcpy(to->cap_bytes_per_s, cap_bytes_per_s, pairs * sizeof(double));
}

edgeps_err problem_blank(size_t count, problem **out)
{
    problem *p = make_sites(count, count);
    if (!p)
        return EDGEPS_NOMEM;
    for (size_t i = 0; i < count; i++)
        p->nodes[i].site = (uint32_t)i;
    for (size_t k = 0; k < count * count; k++)
        p->cap_bytes_per_s[k] = INFINITY;
    *out = p;
    return EDGEPS_OK;
}

edgeps_err problem_copy(const problem *p, problem **out)
{
    problem *copy = make_sites(p->count, p->site_count);
    if (!copy)
        return EDGEPS_NOMEM;
    problem values = *p;
    values.nodes = copy->nodes;
    values.latency_s = copy->latency_s;
    values.cap_bytes_per_s = copy->cap_bytes_per_s;
    *copy = values;
    memcpy(copy->nodes, p->nodes, p->count * sizeof *p->nodes);
    copy_pairs(copy, p->latency_s, p->cap_bytes_per_s);
    *out = copy;
    return EDGEPS_OK;
}

problem problem_shard(const problem *p, size_t s, size_t shards)
{
    problem part = *p;
    part.job = job_shard(&p->job, (int64_t)s, (int64_t)shards);
    return part;
}

edgeps_err problem_make(const network *net, const job *j, const problem_options *options,
                        edgeps_diag *diag, problem **out)
{
    static const problem_options defaults;
    const problem_options *o = options ? options : &defaults;
    edgeps_err err = EDGEPS_NOMEM;
    problem *p = make_sites(net->count, net->site_count);
    if (!p)
        goto out;
    copy_pairs(p, net->latency_s, net->cap_bytes_per_s);
    p->job = *j;
    p->max_locals = o->max_locals && o->max_locals < net->count ? o->max_locals : net->count;
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

edgeps_err problem_lend(const problem *p, problem *out)
{
    problem lent = *p;
    lent.nodes = mem_alloc(p->count, sizeof *lent.nodes);
    if (!lent.nodes)
        return EDGEPS_NOMEM;
    memcpy(lent.nodes, p->nodes, p->count * sizeof *lent.nodes);
    *out = lent;
    return EDGEPS_OK;
}

void problem_unlend(problem *lent)
{
    mem_free(lent->nodes);
    lent->nodes = NULL;
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
