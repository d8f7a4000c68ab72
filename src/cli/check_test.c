/* Findings against what enumeration of nodes says; the code under test goes by sites. */
#include "cli/check.h"

#include "base/mem.h"
#include "base/rng.h"
#include "place/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NODES 9

static const char *const names[MOST_NODES] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};

/* Rates and caps are often 0, and sites hold several nodes. */
static network *draw_network(uint64_t seed, size_t count)
{
    rng r = rng_make(seed, 5);
    network *net;
    size_t sites = 1 + rng_below(&r, count);
    assert_int_equal(network_make_sites(count, sites, NULL, &net), EDGEPS_OK);
    for (size_t i = 0; i < count; i++) {
        network_node *node = &net->nodes[i];
        node->name = mem_copy_text(names[i]);
        node->site = (uint32_t)rng_below(&r, sites);
        node->up_bytes_per_s = rng_below(&r, 8) ? 1e6 : 0;
        node->down_bytes_per_s = rng_below(&r, 8) ? 1e6 : 0;
        node->compute_samples_per_s = 100;
        node->access_s = rng_uniform(&r);
        node->free_bytes = (int64_t)rng_below(&r, 4000000);
        node->train = i == 0 || rng_below(&r, 3);
        node->serve = i == 0 || rng_below(&r, 3);
    }
    for (size_t k = 0; k < sites * sites; k++) {
        net->cap_bytes_per_s[k] = rng_below(&r, 3) ? INFINITY : 0;
        net->latency_s[k] = rng_uniform(&r);
    }
    assert_int_equal(network_check(net, NULL), EDGEPS_OK);
    return net;
}

static check_facts judge(const network *net, const struct job *j)
{
    check_facts f;
    const check_request request = {net, j, 2};
    assert_int_equal(check_find(&request, NULL, &f), EDGEPS_OK);
    return f;
}

static bool takes_part(const network *net, size_t i)
{
    return net->nodes[i].train || net->nodes[i].serve;
}

static bool path(const network *net, size_t i, size_t j)
{
    return i != j && takes_part(net, i) && takes_part(net, j) &&
           network_rate_bytes_per_s(net, i, j) > 0;
}

static void paths_and_latencies_are_those_of_all_pairs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        network *net = draw_network(seed, 2 + seed % (MOST_NODES - 1));
        check_facts f = judge(net, NULL);
        uint64_t directions = 0, paths = 0, one_way = 0;
        double least = INFINITY, most = -INFINITY;
        for (size_t i = 0; i < net->count; i++)
            for (size_t j = 0; j < net->count; j++) {
                const network_node *from = &net->nodes[i], *to = &net->nodes[j];
                directions += i != j && takes_part(net, i) && takes_part(net, j);
                paths += path(net, i, j);
                one_way += path(net, i, j) && !path(net, j, i);
                /* Latencies are of nodes that reach anybody at all. */
                if (!path(net, i, j) || from->down_bytes_per_s == 0 || to->up_bytes_per_s == 0)
                    continue;
                least = fmin(least, network_latency_s(net, i, j));
                most = fmax(most, network_latency_s(net, i, j));
            }
        assert_int_equal(f.directions, directions);
        assert_int_equal(f.paths, paths);
        assert_int_equal(f.one_way, one_way);
        assert_true(f.least_latency_s == least);
        assert_int_equal(f.far_from != NULL, most > 0);
        if (f.far_from) {
            assert_true(f.most_latency_s == most);
            assert_true(network_latency_s(net, (size_t)network_find(net, f.far_from),
                                          (size_t)network_find(net, f.far_to)) == most);
        }
        check_free(&f);
        network_free(net);
    }
}

/* The transitive closure of pairs that can work together. */
static void close_over(const network *net, bool reach[MOST_NODES][MOST_NODES])
{
    for (size_t i = 0; i < net->count; i++)
        for (size_t j = 0; j < net->count; j++)
            reach[i][j] = i == j || ((net->nodes[i].serve || net->nodes[j].serve) &&
                                     path(net, i, j) && path(net, j, i));
    for (size_t k = 0; k < net->count; k++)
        for (size_t i = 0; i < net->count; i++)
            for (size_t j = 0; j < net->count; j++)
                reach[i][j] |= reach[i][k] && reach[k][j];
}

/* Workers that the node reaches, itself too; 0 where none of those reached may serve, and where the
 * node itself is dead. */
static size_t workers_around(const network *net, bool reach[MOST_NODES][MOST_NODES], size_t i)
{
    size_t workers = 0;
    bool serves = false;
    for (size_t j = 0; j < net->count; j++) {
        workers += reach[i][j] && net->nodes[j].train;
        serves |= reach[i][j] && net->nodes[j].serve;
    }
    bool dead = net->nodes[i].up_bytes_per_s == 0 || net->nodes[i].down_bytes_per_s == 0;
    return serves && !dead ? workers : 0;
}

static bool named(const check_facts *f, const char *code, const char *node,
                  check_severity *severity)
{
    for (size_t k = 0; k < f->count; k++)
        if (strcmp(f->findings[k].code, code) == 0 && f->findings[k].node &&
            strcmp(f->findings[k].node, node) == 0) {
            *severity = f->findings[k].severity;
            return true;
        }
    return false;
}

static void those_outside_of_the_largest_part_are_cut_off(void **state)
{
    (void)state;
    size_t split = 0, whole = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        network *net = draw_network(seed, 2 + seed % (MOST_NODES - 1));
        check_facts f = judge(net, NULL);
        bool reach[MOST_NODES][MOST_NODES];
        size_t most = 0, cut = 0, named_workers = 0, workers = 0;
        close_over(net, reach);
        for (size_t i = 0; i < net->count; i++) {
            workers += net->nodes[i].train;
            most = (size_t)fmax((double)most, (double)workers_around(net, reach, i));
        }
        for (size_t i = 0; i < net->count; i++) {
            check_severity severity;
            if (!named(&f, "cut-off", names[i], &severity))
                continue;
            cut++;
            assert_int_equal(severity, net->nodes[i].train ? CHECK_ERROR : CHECK_WARNING);
            named_workers += net->nodes[i].train;
        }
        if (workers > 1)
            assert_int_equal(named_workers, workers - most);
        split += cut > 0;
        whole += cut == 0;
        check_free(&f);
        network_free(net);
    }
    assert_true(split > 20 && whole > 20);
}

/* With a job an error is said exactly where enumeration of all plans finds none. */
static void errors_say_that_there_is_no_plan(void **state)
{
    (void)state;
    size_t feasible = 0, infeasible = 0;
    struct job j;
    assert_int_equal(job_make("lenet5", 60000, 32, JOB_PIPELINED, NULL, &j), EDGEPS_OK);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        network *net = draw_network(seed, 1 + seed % 5);
        check_facts f = judge(net, &j);
        problem *p = NULL;
        place_result r = {.status = PLACE_INFEASIBLE};
        edgeps_err err = problem_make(net, &j, &(problem_options){.max_locals = 2}, NULL, &p);
        if (!err)
            err = place_run("brute", p, &(place_options){.no_polish = true}, NULL, &r);
        assert_true(err == EDGEPS_OK || err == EDGEPS_INFEASIBLE);
        if ((f.counts[CHECK_ERROR] > 0) != (r.status == PLACE_INFEASIBLE))
            fail_msg("seed %llu: %zu errors, %s", (unsigned long long)seed, f.counts[CHECK_ERROR],
                     f.count ? f.findings[0].text : "");
        feasible += r.status != PLACE_INFEASIBLE;
        infeasible += r.status == PLACE_INFEASIBLE;
        place_result_free(&r);
        problem_free(p);
        check_free(&f);
        network_free(net);
    }
    assert_true(feasible > 20 && infeasible > 20);
}

static network *equal_nodes(size_t count)
{
    network *net;
    assert_int_equal(network_make(count, NULL, &net), EDGEPS_OK);
    for (size_t i = 0; i < count; i++) {
        net->nodes[i].name = mem_copy_text(names[i]);
        net->nodes[i].up_bytes_per_s = net->nodes[i].down_bytes_per_s = 1e6;
        net->nodes[i].compute_samples_per_s = 1000;
        net->nodes[i].free_bytes = 1 << 30;
    }
    return net;
}

/* Storage rises and falls, nodes go. */
static void draw_scenario(rng *r, network *net, const struct job *j, int epochs)
{
    const int64_t amounts[] = {0, job_local_need_bytes(j, 1), job_global_need_bytes(j, 1),
                               4 * job_global_need_bytes(j, 1)};
    net->event_count = 3 * (size_t)epochs;
    mem_free(net->events);
    net->events = mem_alloc(net->event_count, sizeof *net->events);
    assert_non_null(net->events);
    for (size_t k = 0; k < net->event_count; k++)
        net->events[k] = (network_event){
            .node = (uint32_t)rng_below(r, net->count),
            .change = rng_below(r, 9) ? NETWORK_FREE : NETWORK_KILL,
            .epoch = (int)rng_below(r, (uint64_t)epochs + 1),
            .value = (double)amounts[rng_below(r, 4)],
        };
}

static bool has_plan_in(const network *net, const struct job *j, int epoch)
{
    network *then;
    problem *p = NULL;
    bool absent[MOST_NODES] = {false};
    place_result r = {.status = PLACE_INFEASIBLE};
    assert_int_equal(network_copy(net, &then), EDGEPS_OK);
    network_apply_epochs(then, epoch);
    for (size_t k = 0; k < net->event_count; k++)
        if (net->events[k].change == NETWORK_KILL && net->events[k].epoch <= epoch &&
            net->events[k].epoch > 0)
            absent[net->events[k].node] = true;
    const problem_options limits = {.max_locals = 2, .absent = absent};
    if (!problem_make(then, j, &limits, NULL, &p))
        assert_int_equal(place_run("brute", p, &(place_options){.no_polish = true}, NULL, &r),
                         EDGEPS_OK);
    bool found = r.status != PLACE_INFEASIBLE;
    place_result_free(&r);
    problem_free(p);
    network_free(then);
    return found;
}

static void epochs_of_the_scenario_without_a_plan_are_named(void **state)
{
    (void)state;
    size_t with = 0, without = 0;
    struct job j;
    assert_int_equal(job_make("lenet5", 60000, 32, JOB_PIPELINED, NULL, &j), EDGEPS_OK);
    for (uint64_t seed = 1; seed <= 60; seed++) {
        rng r = rng_make(seed, 6);
        network *net = equal_nodes(2 + seed % 3);
        draw_scenario(&r, net, &j, 4);
        check_facts f = judge(net, &j);
        for (int epoch = 1; epoch <= 4; epoch++) {
            char words[24];
            size_t said = 0;
            bool happens = false;
            for (size_t k = 0; k < net->event_count; k++)
                happens |= net->events[k].epoch == epoch;
            snprintf(words, sizeof words, "epoch %d: no plan: ", epoch);
            for (size_t k = 0; k < f.count; k++)
                said += strncmp(f.findings[k].text, words, strlen(words)) == 0;
            bool possible = !happens || has_plan_in(net, &j, epoch);
            assert_int_equal(said, !possible);
            with += possible;
            without += !possible;
        }
        assert_int_equal(f.counts[CHECK_ERROR], 0);
        check_free(&f);
        network_free(net);
    }
    assert_true(with > 20 && without > 20);
}

static void expect_hint(const check_facts *f, const char *node, const char *words)
{
    for (size_t k = 0; k < f->count; k++)
        if (f->findings[k].severity == CHECK_HINT && f->findings[k].node &&
            strcmp(f->findings[k].node, node) == 0 && strstr(f->findings[k].text, words))
            return;
    fail_msg("no hint on %s: %s", node, words);
}

static void slips_of_the_pen_are_hints(void **state)
{
    (void)state;
    network *net = equal_nodes(9);
    check_facts f = judge(net, NULL);
    assert_int_equal(f.count, 0);
    check_free(&f);
    net->nodes[0].up_bytes_per_s = 8e6;
    net->nodes[1].down_bytes_per_s = 1e6 / 1.048576;
    net->nodes[2].free_bytes = 1000000000;
    net->nodes[3].compute_samples_per_s = 2e6;
    net->nodes[4].up_bytes_per_s = 1e3;
    net->nodes[4].down_bytes_per_s = 1e5;
    net->nodes[5].free_bytes = 8 * net->nodes[6].free_bytes;
    network_set_latency_s(net, 7, 8, 0.04);
    network_set_latency_s(net, 8, 7, 0.01);
    f = judge(net, NULL);
    expect_hint(&f, "a", "a: up is 64 Mbit/s where most nodes have 8 Mbit/s; were bits and bytes");
    expect_hint(&f, "b", "were M and Mi mixed up?");
    expect_hint(&f, "c", "were G and Gi mixed up?");
    expect_hint(&f, "d", "compute is 2000000 samples/s where the median is 1000 samples/s");
    expect_hint(&f, "e", "up is 8 kbit/s and down 800 kbit/s, 100 times apart");
    assert_int_equal(f.counts[CHECK_ERROR] + f.counts[CHECK_WARNING], 0);
    size_t skewed = 0;
    for (size_t k = 0; k < f.count; k++) {
        skewed += strcmp(f.findings[k].code, "skewed") == 0;
        /* Sizes of storage are powers of two anyway. */
        assert_true(!f.findings[k].node || strcmp(f.findings[k].node, "f") != 0);
    }
    assert_int_equal(skewed, 1);
    check_free(&f);
    network_free(net);
}

static void too_small_a_node_is_named_with_what_it_needs(void **state)
{
    (void)state;
    char words[64];
    struct job j;
    network *net = equal_nodes(3);
    assert_int_equal(job_make("lenet5", 60000, 32, JOB_PIPELINED, NULL, &j), EDGEPS_OK);
    int64_t need = job_local_need_bytes(&j, 1);
    net->nodes[0].free_bytes = need;
    net->nodes[1].free_bytes = need - 1;
    check_facts f = judge(net, &j);
    assert_int_equal(f.count, 1);
    assert_int_equal(f.findings[0].severity, CHECK_WARNING);
    assert_string_equal(f.findings[0].node, "b");
    snprintf(words, sizeof words, "needs %lld KiB", (long long)(need + 1023) / 1024);
    assert_non_null(strstr(f.findings[0].text, words));
    check_free(&f);
    net->nodes[2].free_bytes = job_global_need_bytes(&j, 1) - 1;
    f = judge(net, &j);
    assert_int_equal(f.counts[CHECK_ERROR], 1);
    check_free(&f);
    network_free(net);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    struct job j;
    network *net = draw_network(3, 5);
    assert_int_equal(job_make("lenet5", 60000, 32, JOB_PIPELINED, NULL, &j), EDGEPS_OK);
    for (size_t i = 0; i < net->count; i++)
        net->nodes[i].up_bytes_per_s = net->nodes[i].down_bytes_per_s = 1e6;
    for (size_t k = 0; k < net->site_count * net->site_count; k++)
        net->cap_bytes_per_s[k] = INFINITY;
    const check_request request = {net, &j, 2};
    edgeps_err err = EDGEPS_NOMEM;
    long nth = 0;
    while (err == EDGEPS_NOMEM) {
        check_facts f = {.nodes = 77};
        mem_fail_at(++nth);
        err = check_find(&request, NULL, &f);
        mem_fail_at(0);
        if (err)
            assert_int_equal(f.nodes, 77);
        else
            check_free(&f);
    }
    assert_int_equal(err, EDGEPS_OK);
    assert_in_range(nth, 8, 1000);
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_and_latencies_are_those_of_all_pairs),
        cmocka_unit_test(those_outside_of_the_largest_part_are_cut_off),
        cmocka_unit_test(errors_say_that_there_is_no_plan),
        cmocka_unit_test(epochs_of_the_scenario_without_a_plan_are_named),
        cmocka_unit_test(slips_of_the_pen_are_hints),
        cmocka_unit_test(too_small_a_node_is_named_with_what_it_needs),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
