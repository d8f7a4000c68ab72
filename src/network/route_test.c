#include "network/route.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

#define MOST_NODES 24

static route_graph *must_make(size_t count, const route_link *links, size_t link_count,
                              route_metric metric)
{
    route_graph *graph = NULL;
    assert_int_equal(route_make(count, links, link_count, metric, &graph), EDGEPS_OK);
    return graph;
}

/* Floyd and Warshall's three loops over (latency in ns, hops, width), apart from Dijkstra in all.
 */
typedef struct truth {
    int64_t ns;
    int64_t hops;
    double width;
} truth;

static bool truer(truth a, truth b, route_metric metric)
{
    int64_t first = metric == ROUTE_HOPS ? a.hops - b.hops : a.ns - b.ns;
    int64_t second = metric == ROUTE_HOPS ? a.ns - b.ns : a.hops - b.hops;
    if (first)
        return first < 0;
    return second ? second < 0 : a.width > b.width;
}

static void floyd_warshall(size_t n, const route_link *links, size_t link_count,
                           route_metric metric, truth t[MOST_NODES][MOST_NODES])
{
    const truth none = {INT64_C(1) << 60, 1 << 20, 0};
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            t[i][j] = i == j ? (truth){0, 0, INFINITY} : none;
    for (size_t k = 0; k < link_count; k++) {
        truth one = {llround(links[k].latency_s * 1e9), 1, links[k].bytes_per_s};
        truth *at = &t[links[k].from][links[k].to];
        if (truer(one, *at, metric))
            *at = one;
    }
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                truth a = t[i][k], b = t[k][j];
                truth both = {a.ns + b.ns, a.hops + b.hops, fmin(a.width, b.width)};
                if (both.width > 0 && truer(both, t[i][j], metric))
                    t[i][j] = both;
            }
}

/* Few different latencies, 0 among them, so that ties are the rule. */
static size_t draw(rng *r, size_t n, route_link *links)
{
    size_t count = rng_below(r, 4 * n);
    for (size_t k = 0; k < count; k++)
        links[k] = (route_link){(uint32_t)rng_below(r, n), (uint32_t)rng_below(r, n),
                                (double)rng_below(r, 4) * 1e-3 + (double)rng_below(r, 2) * 1e-9,
                                1.0 + (double)rng_below(r, 5)};
    return count;
}

static void compare_row(uint64_t seed, route_graph *graph, size_t n, size_t from, const truth *row)
{
    double latency_s[MOST_NODES], width[MOST_NODES];
    route_from(graph, from, latency_s, width);
    for (size_t j = 0; j < n; j++) {
        double expected_s = row[j].width > 0 ? (double)row[j].ns / 1e9 : INFINITY;
        if (latency_s[j] != expected_s || width[j] != row[j].width)
            fail_msg("seed %d: %zu to %zu: %g s, %g B/s; not %g s, %g B/s", (int)seed, from, j,
                     latency_s[j], width[j], expected_s, row[j].width);
    }
}

static void routes_are_those_of_floyd_and_warshall(void **state)
{
    (void)state;
    static truth t[MOST_NODES][MOST_NODES];
    route_link links[4 * MOST_NODES];
    for (uint64_t seed = 0; seed < 400; seed++) {
        rng r = rng_make(seed, 0);
        size_t n = 1 + rng_below(&r, MOST_NODES), count = draw(&r, n, links);
        route_metric metric = seed % 2 ? ROUTE_HOPS : ROUTE_LATENCY;
        route_graph *graph = must_make(n, links, count, metric);
        floyd_warshall(n, links, count, metric, t);
        for (size_t i = 0; i < n; i++)
            compare_row(seed, graph, n, i, t[i]);
        route_free(graph);
    }
}

static void components_are_who_reaches_each_other(void **state)
{
    (void)state;
    static truth t[MOST_NODES][MOST_NODES];
    route_link links[4 * MOST_NODES];
    for (uint64_t seed = 0; seed < 400; seed++) {
        rng r = rng_make(seed, 1);
        size_t n = 1 + rng_below(&r, MOST_NODES), count = draw(&r, n, links) / 2, found;
        uint32_t component[MOST_NODES];
        route_graph *graph = must_make(n, links, count, ROUTE_LATENCY);
        assert_int_equal(route_components(graph, component, &found), EDGEPS_OK);
        floyd_warshall(n, links, count, ROUTE_LATENCY, t);
        for (size_t i = 0; i < n; i++) {
            assert_true(component[i] < found);
            for (size_t j = 0; j < n; j++)
                if ((component[i] == component[j]) != (t[i][j].width > 0 && t[j][i].width > 0))
                    fail_msg("seed %d: nodes %zu and %zu", (int)seed, i, j);
        }
        route_free(graph);
    }
}

/* 0 -> 1 -> 3 and 0 -> 2 -> 3 take 2 ms each, the second is wider; 0 -> 3 is one hop of 5 ms. */
static void the_metrics_differ_as_worked_out_by_hand(void **state)
{
    (void)state;
    const route_link links[] = {
        {0, 1, 0.001, 10},  {1, 3, 0.001, 10}, {0, 2, 0.0015, 40},
        {2, 3, 0.0005, 20}, {0, 3, 0.005, 5},
    };
    double latency_s[4], width[4];
    route_graph *graph = must_make(4, links, 5, ROUTE_LATENCY);
    route_from(graph, 0, latency_s, width);
    assert_true(latency_s[3] == 0.002 && width[3] == 20);
    assert_true(latency_s[0] == 0 && isinf(width[0]));
    route_from(graph, 3, latency_s, width);
    assert_true(isinf(latency_s[0]) && width[0] == 0);
    route_free(graph);
    graph = must_make(4, links, 5, ROUTE_HOPS);
    route_from(graph, 0, latency_s, width);
    assert_true(latency_s[3] == 0.005 && width[3] == 5);
    route_free(graph);
}

/* A ring in which no link takes time: hops decide, and the search stays near-linear. */
static void links_without_latency_are_told_apart_by_hops(void **state)
{
    (void)state;
    enum { HALF = 10000, N = 2 * HALF };
    route_link *links = mem_alloc(2 * N, sizeof *links);
    double *latency_s = mem_alloc(N, sizeof *latency_s), *width = mem_alloc(N, sizeof *width);
    assert_true(links && latency_s && width);
    for (uint32_t v = 0; v < N; v++) {
        links[2 * v] = (route_link){v, (v + 1) % N, 0, 1 + v};
        links[2 * v + 1] = (route_link){(v + 1) % N, v, 0, 1 + v};
    }
    route_graph *graph = must_make(N, links, 2 * N, ROUTE_LATENCY);
    route_from(graph, 0, latency_s, width);
    assert_true(width[5] == 1);           /* by 1, 2, 3, 4: the link 0 -> 1 */
    assert_true(width[N - 5] == N - 4);   /* the other way round */
    assert_true(width[HALF] == HALF + 1); /* both ways have as many hops: the wider */
    route_free(graph);
    mem_free(links);
    mem_free(latency_s);
    mem_free(width);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    const route_link links[] = {{0, 1, 0.001, 1}, {1, 0, 0.001, 1}};
    uint32_t component[2];
    size_t count;
    edgeps_err err = EDGEPS_NOMEM;
    for (long nth = 1; err; nth++) {
        route_graph *graph = NULL;
        mem_fail_at(nth);
        err = route_make(2, links, 2, ROUTE_LATENCY, &graph);
        if (!err)
            err = route_components(graph, component, &count);
        mem_fail_at(0);
        route_free(graph);
        assert_true(err == EDGEPS_OK || err == EDGEPS_NOMEM);
        assert_true(nth < 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_are_those_of_floyd_and_warshall),
        cmocka_unit_test(components_are_who_reaches_each_other),
        cmocka_unit_test(the_metrics_differ_as_worked_out_by_hand),
        cmocka_unit_test(links_without_latency_are_told_apart_by_hops),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
