/* Processor time of one adjustment after the rates of a quarter of the nodes, or the free storage
 * of all, were drawn anew. */
#include "adapt/adapt.h"
#include "base/rng.h"
#include "place/place.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#define MOST_SITES 100

/* Log-uniform. */
static double spread(rng *r, double low, double high)
{
    return low * pow(high / low, rng_uniform(r));
}

static void draw_rates(network_node *node, rng *r)
{
    node->up_bytes_per_s = spread(r, 5e5, 2e7);
    node->down_bytes_per_s = spread(r, 1e6, 4e7);
    node->compute_samples_per_s = spread(r, 500, 5000);
}

/* A third has no room for a server, few have room for the global one. */
static void draw_free(network_node *node, const job *j, rng *r)
{
    int64_t least = job_local_need_bytes(j, 1);
    node->free_bytes = (int64_t)spread(r, 0.6, 6) * least;
    if (rng_below(r, 4) == 0)
        node->free_bytes += job_global_need_bytes(j, 64);
}

static network *make_network(size_t count, const job *j, rng *r)
{
    network *net = NULL;
    size_t sites = count < MOST_SITES ? count : MOST_SITES;
    if (network_make_sites(count, sites, NULL, &net))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        draw_rates(&net->nodes[i], r);
        draw_free(&net->nodes[i], j, r);
        net->nodes[i].site = (uint32_t)(i % sites);
    }
    for (size_t a = 0; a < sites; a++)
        for (size_t b = 0; b < sites; b++)
            network_set_latency_s(net, a, b, a == b ? 0 : 0.001 + 0.01 * rng_uniform(r));
    return net;
}

static void measure_step(const network *net, const job *j, const plan *pl, const char *what)
{
    problem *p = NULL;
    adapt_result r;
    edgeps_diag diag = {.text = ""};
    adapt_options options = {
        .mode = ADAPT_ADJUST, .algorithm = "greedy", .seed = 1, .horizon_epochs = 10};
    clock_t start = clock();
    if (problem_make(net, j, &(problem_options){.max_locals = 64}, &diag, &p) ||
        adapt_step(p, pl, &options, &diag, &r)) {
        printf("%s: %s\n", what, diag.text);
        problem_free(p);
        return;
    }
    double spent_s = (double)(clock() - start) / CLOCKS_PER_SEC;
    printf("%-16s n = %5zu: %7.3f s; epoch %.4g s -> %.4g s, %zu moves of %.3g s\n", what,
           net->count, spent_s, r.old_epoch_s, r.new_epoch_s, r.move_count, r.move_s);
    adapt_result_free(&r);
    problem_free(p);
}

static void measure_network(size_t count, job_transfer transfer)
{
    rng r = rng_make(1, count);
    job j;
    problem *p = NULL;
    place_result placed;
    if (job_make("lenet5", 60000, 32, transfer, NULL, &j))
        return;
    network *net = make_network(count, &j, &r);
    if (!net || problem_make(net, &j, &(problem_options){.max_locals = 64}, NULL, &p) ||
        place_run("greedy", p, &(place_options){.seed = 1}, NULL, &placed))
        goto out;
    printf("%s\n", job_transfer_name(transfer));
    measure_step(net, &j, &placed.plan, "nothing");
    for (size_t i = 0; i < count; i += 4)
        draw_rates(&net->nodes[i], &r);
    measure_step(net, &j, &placed.plan, "other rates");
    for (size_t i = 0; i < count; i++)
        draw_free(&net->nodes[i], &j, &r);
    measure_step(net, &j, &placed.plan, "other storage");
    place_result_free(&placed);
out:
    problem_free(p);
    network_free(net);
}

int main(void)
{
    for (int transfer = JOB_PIPELINED; transfer <= JOB_STORE_AND_FORWARD; transfer++) {
        measure_network(20, (job_transfer)transfer);
        measure_network(100, (job_transfer)transfer);
        measure_network(1000, (job_transfer)transfer);
    }
    return 0;
}
