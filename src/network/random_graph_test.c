#include "network/random_graph.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { N = 400 };

static random_point *draw_points(rng *r, size_t count)
{
    random_point *points = mem_alloc(count, sizeof *points);
    for (size_t v = 0; v < count; v++)
        points[v] = random_point_draw(r);
    return points;
}

/* Neither loops nor parallel edges. */
static void expect_simple(const random_graph *graph, size_t count)
{
    bool *joined = mem_alloc(count * count, sizeof *joined);
    for (size_t k = 0; k < graph->edge_count; k++) {
        size_t a = graph->edges[k].a, b = graph->edges[k].b;
        assert_true(a != b && a < count && b < count && !joined[a * count + b]);
        joined[a * count + b] = joined[b * count + a] = true;
    }
    mem_free(joined);
}

/* In bands of distance, as many pairs are joined as the formula says: within five standard
 * deviations of a sum of independent trials. */
static void waxman_edges_are_as_likely_as_the_formula_says(void **state)
{
    (void)state;
    enum { BANDS = 15 };
    const double alpha = 0.2, beta = 0.5, diagonal_km = 2000 * 1.4142135623730951;
    double expected[BANDS] = {0}, variance[BANDS] = {0}, found[BANDS] = {0};
    for (uint64_t seed = 1; seed <= 5; seed++) {
        rng r = rng_make(seed, 0);
        random_graph graph;
        random_point *at = draw_points(&r, N);
        assert_int_equal(random_waxman(at, N, alpha, beta, &r, &graph), EDGEPS_OK);
        expect_simple(&graph, N);
        for (size_t a = 0; a < N; a++)
            for (size_t b = 0; b < a; b++) {
                double d = hypot(at[a].x_km - at[b].x_km, at[a].y_km - at[b].y_km);
                double p = beta * exp(-d / (alpha * diagonal_km));
                expected[(int)(d / 200)] += p;
                variance[(int)(d / 200)] += p * (1 - p);
            }
        for (size_t k = 0; k < graph.edge_count; k++) {
            random_edge e = graph.edges[k];
            found[(int)(random_distance_km(at[e.a], at[e.b]) / 200)]++;
        }
        random_graph_free(&graph);
        mem_free(at);
    }
    for (int band = 0; band < BANDS; band++)
        if (!(fabs(found[band] - expected[band]) <= 5 * sqrt(variance[band])))
            fail_msg("from %d km: %g edges, expected %g", 200 * band, found[band], expected[band]);
    assert_true(expected[0] > 1000 && expected[9] > 100);
}

static void waxman_knows_its_ends(void **state)
{
    (void)state;
    rng r = rng_make(1, 0);
    random_graph none, all;
    random_point *at = draw_points(&r, 30);
    assert_int_equal(random_waxman(at, 30, 0.1, 0, &r, &none), EDGEPS_OK);
    assert_int_equal(random_waxman(at, 30, INFINITY, 1, &r, &all), EDGEPS_OK);
    assert_int_equal(none.edge_count, 0);
    assert_int_equal(all.edge_count, 30 * 29 / 2);
    random_graph_free(&none);
    random_graph_free(&all);
    mem_free(at);
}

static size_t *degrees_of(const random_graph *graph, size_t count)
{
    size_t *degrees = mem_alloc(count, sizeof *degrees);
    for (size_t k = 0; k < graph->edge_count; k++) {
        degrees[graph->edges[k].a]++;
        degrees[graph->edges[k].b]++;
    }
    return degrees;
}

/* The share of nodes of degree k tends to 2 m (m + 1) / (k (k + 1) (k + 2)) (Bollobas, Riordan,
 * Spencer, Tusnady, Random Structures Algorithms 18, 2001). */
static void barabasi_albert_degrees_fall_by_the_third_power(void **state)
{
    (void)state;
    enum { COUNT = 20000, M = 3 };
    rng r = rng_make(4, 0);
    random_graph graph;
    assert_int_equal(random_barabasi_albert(COUNT, M, &r, &graph), EDGEPS_OK);
    assert_int_equal(graph.edge_count, M * (M + 1) / 2 + (COUNT - M - 1) * M);
    size_t *degrees = degrees_of(&graph, COUNT), tail = 0, largest = 0;
    size_t with[12] = {0};
    for (size_t v = 0; v < COUNT; v++) {
        assert_true(degrees[v] >= M);
        if (degrees[v] < 12)
            with[degrees[v]]++;
        tail += degrees[v] >= 30;
        largest = degrees[v] > largest ? degrees[v] : largest;
    }
    for (size_t k = M; k < 12; k++) {
        double share = 2.0 * M * (M + 1) / (double)(k * (k + 1) * (k + 2)), mean = share * COUNT;
        if (!(fabs((double)with[k] - mean) <= 5 * sqrt(mean)))
            fail_msg("degree %zu: %zu nodes, expected %g", k, with[k], mean);
    }
    double mean = M * (M + 1) / (30.0 * 31) * COUNT; /* sum of the shares from 30 on */
    assert_true(fabs((double)tail - mean) <= 5 * sqrt(mean));
    assert_true(largest > 100); /* a graph of uniform attachment stays below 50 */
    mem_free(degrees);
    random_graph_free(&graph);
}

static void small_barabasi_albert_graphs_are_complete(void **state)
{
    (void)state;
    for (size_t count = 1; count <= 6; count++)
        for (size_t links = 1; links <= 6; links++) {
            rng r = rng_make(count, links);
            random_graph graph;
            assert_int_equal(random_barabasi_albert(count, links, &r, &graph), EDGEPS_OK);
            expect_simple(&graph, count);
            if (count <= links + 1)
                assert_int_equal(graph.edge_count, count * (count - 1) / 2);
            random_graph_free(&graph);
        }
}

static size_t parts_of(const random_graph *graph, size_t count)
{
    uint32_t *part = mem_alloc(count, sizeof *part);
    size_t parts = count;
    for (size_t v = 0; v < count; v++)
        part[v] = (uint32_t)v;
    for (size_t k = 0; k < graph->edge_count; k++) {
        uint32_t a = part[graph->edges[k].a], b = part[graph->edges[k].b];
        parts -= a != b;
        for (size_t v = 0; v < count; v++)
            if (part[v] == b)
                part[v] = a;
    }
    mem_free(part);
    return parts;
}

/* Every edge that connects is the shortest that leaves the part of the first node. */
static void connecting_takes_the_shortest_edges(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        enum { COUNT = 60 };
        rng r = rng_make(seed, 0);
        random_graph graph;
        random_point *at = draw_points(&r, COUNT);
        assert_int_equal(random_waxman(at, COUNT, 0.03, 0.9, &r, &graph), EDGEPS_OK);
        size_t before = graph.edge_count, parts = parts_of(&graph, COUNT);
        assert_true(parts > 1);
        assert_int_equal(random_connect(at, COUNT, &graph), EDGEPS_OK);
        expect_simple(&graph, COUNT);
        assert_int_equal(graph.edge_count, before + parts - 1);
        assert_int_equal(parts_of(&graph, COUNT), 1);
        while (graph.edge_count > before) {
            random_edge taken = graph.edges[--graph.edge_count];
            bool inside[COUNT] = {true};
            for (int step = 0; step < COUNT; step++)
                for (size_t k = 0; k < graph.edge_count; k++)
                    inside[graph.edges[k].a] = inside[graph.edges[k].b] =
                        inside[graph.edges[k].a] || inside[graph.edges[k].b];
            for (size_t a = 0; a < COUNT; a++)
                for (size_t b = 0; b < COUNT; b++)
                    assert_true(!inside[a] || inside[b] ||
                                random_distance_km(at[a], at[b]) >=
                                    random_distance_km(at[taken.a], at[taken.b]));
        }
        random_graph_free(&graph);
        mem_free(at);
    }
}

static edgeps_err draw_all(const random_point *at, random_graph *graph)
{
    rng r = rng_make(1, 0);
    edgeps_err err = random_barabasi_albert(9, 2, &r, graph);
    random_graph_free(graph);
    if (!err)
        err = random_waxman(at, 9, 0.1, 0.3, &r, graph);
    if (!err)
        err = random_connect(at, 9, graph);
    return err;
}

static void drawing_survives_each_allocation_failing(void **state)
{
    (void)state;
    rng r = rng_make(2, 0);
    random_point *at = draw_points(&r, 9);
    edgeps_err err = EDGEPS_NOMEM;
    for (long n = 1; err; n++) {
        random_graph graph = {0};
        mem_fail_at(n);
        err = draw_all(at, &graph);
        mem_fail_at(0);
        assert_true(err == EDGEPS_OK || err == EDGEPS_NOMEM);
        random_graph_free(&graph);
    }
    mem_free(at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waxman_edges_are_as_likely_as_the_formula_says),
        cmocka_unit_test(waxman_knows_its_ends),
        cmocka_unit_test(barabasi_albert_degrees_fall_by_the_third_power),
        cmocka_unit_test(small_barabasi_albert_graphs_are_complete),
        cmocka_unit_test(connecting_takes_the_shortest_edges),
        cmocka_unit_test(drawing_survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
