#include "formats/topology.h"

#include "base/mem.h"
#include "formats/network_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SEEDS EDGEPS_SOURCE_DIR "/tests/fuzz/"

static topology *must_read(const char *path)
{
    topology *graph = NULL;
    edgeps_diag diag = {.text = ""};
    if (topology_read(path, TOPOLOGY_AUTO, &diag, &graph))
        fail_msg("%s", diag.text);
    return graph;
}

static network *must_make(const topology *graph, topology_options options, topology_report *report)
{
    network *net = NULL;
    edgeps_diag diag = {.text = ""};
    if (network_from_topology(graph, &options, &diag, &net, report))
        fail_msg("%s", diag.text);
    return net;
}

static void refuses(const topology *graph, topology_options options, edgeps_err expected,
                    const char *words)
{
    network *net = NULL;
    topology_report report = {0};
    edgeps_diag diag = {.text = ""};
    assert_int_equal(network_from_topology(graph, &options, &diag, &net, &report), expected);
    assert_null(net);
    assert_null(report.lines);
    if (!strstr(diag.text, words))
        fail_msg("'%s' lacks '%s'", diag.text, words);
}

static void tells(const topology_report *report, const char *words)
{
    for (size_t k = 0; k < report->count; k++)
        if (strstr(report->lines[k], words))
            return;
    for (size_t k = 0; k < report->count; k++)
        print_message("%s\n", report->lines[k]);
    fail_msg("no line tells '%s'", words);
}

static void is_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g is not %.17g", value, expected);
}

static void repetita_becomes_a_network_worked_out_by_hand(void **state)
{
    (void)state;
    topology *graph = must_read(SEEDS "repetita/triangle.graph");
    assert_int_equal(graph->node_count, 4);
    assert_int_equal(graph->edge_count, 7);
    assert_true(graph->edges[2].bytes_per_s == 62.5e6 && graph->edges[2].latency_s == 0.002);
    assert_true(isnan(graph->nodes[2].latitude_deg));
    assert_true(graph->nodes[3].latitude_deg == 48.85341);
    topology_report report = {0};
    network *net = must_make(graph, (topology_options){0}, &report);
    assert_int_equal(net->count, 4);
    assert_string_equal(net->nodes[1].name, "1_Oslo");
    /* Lyon -> Oslo: 1 Gbit/s at 8 ms and 0.6 Gbit/s at 4 ms: 1.6 Gbit/s at 6.5 ms */
    assert_true(network_cap_bytes_per_s(net, 0, 1) == 200e6);
    is_near(network_latency_s(net, 0, 1), 0.0065);
    is_near(network_latency_s(net, 1, 0), 0.008);
    assert_true(network_cap_bytes_per_s(net, 3, 2) == 62.5e6);
    assert_true(network_cap_bytes_per_s(net, 2, 3) == 31.25e6);
    is_near(network_latency_s(net, 2, 3), 0.0115);
    /* hosts take what their links carry together */
    assert_true(net->nodes[0].up_bytes_per_s == 200e6 + 1250e6);
    assert_true(net->nodes[0].down_bytes_per_s == 125e6 + 1250e6);
    tells(&report, "0_Lyon -> 1_Oslo: 2 parallel links are one, 1600 Mbit/s");
    tells(&report, "4 of 4 nodes have no rate; the sum of their links is taken");
    tells(&report, "every node computes 1000 samples/s and offers 1024 MiB");
    topology_report_free(&report);
    network_free(net);
    topology_free(graph);
}

/* Nodes 3 (another network) and 6 (no links) are not planned with;
 * 4 is a junction, and two nodes are called Praha. */
static void a_multigraph_of_the_zoo_needs_a_speed_and_its_island_left_out(void **state)
{
    (void)state;
    topology *graph = must_read(SEEDS "graphml/zoo.graphml");
    refuses(graph, (topology_options){0}, EDGEPS_FORMAT,
            "4 of 12 link directions have no speed; give one for all of them, such as "
            "--default-rate \"1 Gbit/s\"");
    topology_options options = {.link_bytes_per_s = 125e6, .cable_factor = 1.5};
    options.link_latency_s = 1e9;
    refuses(graph, options, EDGEPS_USAGE, "--default-latency: is not between 0 and a day");
    options.link_latency_s = 0;
    refuses(graph, options, EDGEPS_INFEASIBLE,
            "1 of 5 nodes have no routes to and from all others, 'Island' the first; leave them "
            "out with --drop-disconnected");
    options.drop_disconnected = true;
    topology_report report = {0};
    network *net = must_make(graph, options, &report);
    assert_int_equal(net->count, 4);
    assert_string_equal(net->name, "Sample");
    assert_string_equal(net->nodes[0].name, "K\xc3\xb6ln");
    assert_string_equal(net->nodes[1].name, "Praha (1)");
    assert_string_equal(net->nodes[2].name, "Praha (2)");
    assert_string_equal(net->nodes[3].name, "Wien");
    is_near(network_cap_bytes_per_s(net, 0, 1), 2655e6 / 8);
    /* by the junction, whose place is not known: no latency */
    is_near(network_cap_bytes_per_s(net, 1, 3), 48 * 51.84e6 / 8);
    assert_true(network_latency_s(net, 1, 3) == 0);
    /* 536.18 km by the angle between two vectors; 1.5 times that at 2e8 m/s */
    assert_true(fabs(network_latency_s(net, 0, 1) - 0.004021) < 1e-6);
    tells(&report, "Exchange: left out, is of another network");
    tells(&report, "Island: left out, is disconnected");
    tells(&report, "4 of 12 link directions have no speed; 1000 Mbit/s is taken:");
    tells(&report, "  Praha -- Praha");
    tells(&report, "  4 -- Praha");
    tells(&report, "4 of 12 link directions have no latency; that of a cable of 1.5 times the");
    tells(&report, "8 of 12 link directions have no latency; 0 ms is taken:");
    tells(&report, "-> Praha: 2 parallel links are one, 2655 Mbit/s");
    topology_report_free(&report);
    network_free(net);
    topology_free(graph);
}

static void what_is_disconnected_or_external_can_be_kept(void **state)
{
    (void)state;
    topology *graph = must_read(SEEDS "graphml/zoo.graphml");
    topology_report report = {0};
    network *net = must_make(graph,
                             (topology_options){.link_bytes_per_s = 125e6,
                                                .host_bytes_per_s = 1e6,
                                                .keep_external = true,
                                                .keep_disconnected = true},
                             &report);
    assert_int_equal(net->count, 6);
    assert_string_equal(net->nodes[3].name, "Exchange");
    assert_string_equal(net->nodes[5].name, "Island");
    assert_true(network_cap_bytes_per_s(net, 0, 5) == 0);
    assert_true(network_cap_bytes_per_s(net, 5, 0) == 0);
    is_near(network_cap_bytes_per_s(net, 0, 3), 2655e6 / 8);
    assert_true(net->nodes[5].up_bytes_per_s == 1e6);
    topology_report_free(&report);
    network_free(net);
    topology_free(graph);
}

/* A place that can be left but not come back to counts as disconnected. */
static void one_way_streets_do_not_connect(void **state)
{
    (void)state;
    static const char text[] = "NODES 3\nlabel x y\na 0 0\nb 0 0\nc 0 0\n"
                               "EDGES 3\nlabel src dest weight bw delay\n"
                               "e 0 1 1 8 1\ne 1 0 1 8 1\ne 2 0 1 8 1\n";
    topology *graph = NULL;
    assert_int_equal(topology_parse(text, strlen(text), TOPOLOGY_AUTO, "x", NULL, &graph),
                     EDGEPS_OK);
    refuses(graph, (topology_options){0}, EDGEPS_INFEASIBLE, "'c' the first");
    topology_free(graph);
}

static void shadow_hosts_limit_and_links_do_not(void **state)
{
    (void)state;
    topology *graph = must_read(SEEDS "gml/shadow.gml");
    topology_report report = {0};
    network *net = must_make(graph, (topology_options){0}, &report);
    assert_true(net->nodes[0].up_bytes_per_s == 83592.0 * 1024 / 8);
    assert_true(net->nodes[1].down_bytes_per_s == 12.5e6);
    assert_true(isinf(network_cap_bytes_per_s(net, 0, 1)));
    is_near(network_latency_s(net, 0, 1), 0.118555);
    is_near(network_latency_s(net, 0, 2), 0.138555); /* by 1: Shadow's shortest path */
    tells(&report, "9 of 9 link directions have no speed of their own");
    tells(&report, "packet loss or jitter, which is left out: 1");
    topology_report_free(&report);
    network_free(net);
    net = must_make(graph, (topology_options){.metric = ROUTE_HOPS}, &report);
    is_near(network_latency_s(net, 0, 2), 0.5);
    topology_report_free(&report);
    network_free(net);
    topology_free(graph);
}

static void several_nodes_at_a_site_see_its_loop(void **state)
{
    (void)state;
    topology *graph = must_read(SEEDS "gml/shadow.gml");
    topology_report report = {0};
    network *net = must_make(graph, (topology_options){.nodes_per_site = 2}, &report), *again;
    assert_int_equal(net->count, 6);
    assert_int_equal(net->site_count, 3);
    assert_string_equal(net->nodes[3].name, "M\xc3\xbcnchen/2");
    assert_string_equal(net->site_names[1], "M\xc3\xbcnchen");
    is_near(network_latency_s(net, 2, 3), 0.002);
    is_near(network_latency_s(net, 1, 4), 0.138555);
    char *text;
    assert_int_equal(network_json_text(net, &text), EDGEPS_OK);
    assert_int_equal(network_json_parse(text, strlen(text), "written", NULL, &again), EDGEPS_OK);
    assert_true(network_latency_s(again, 2, 3) == network_latency_s(net, 2, 3));
    mem_free(text);
    network_free(again);
    topology_report_free(&report);
    network_free(net);
    topology_free(graph);
}

static char *network_text(const char *path)
{
    topology *graph = must_read(path);
    topology_report report = {0};
    network *net = must_make(graph, (topology_options){0}, &report);
    char *text = NULL;
    assert_int_equal(network_json_text(net, &text), EDGEPS_OK);
    topology_report_free(&report);
    network_free(net);
    topology_free(graph);
    return text;
}

/* The same network to the byte, so the same plans. */
static void edges_links_and_places_give_one_network(void **state)
{
    (void)state;
    char *edges = network_text(SEEDS "nodelink/edges.json");
    char *links = network_text(SEEDS "nodelink/links.json");
    char *places = network_text(SEEDS "nodelink/places.json");
    assert_string_equal(edges, links);
    assert_string_equal(edges, places);
    mem_free(edges);
    mem_free(links);
    mem_free(places);
}

/* Antipodes, a quarter of a meridian, and neighbours, by what a sphere of the mean radius says. */
static void latencies_come_from_distances_where_asked(void **state)
{
    (void)state;
    const double quarter_m = 6371008.8 * 3.14159265358979 / 2;
    const struct {
        double from[2];
        double to[2];
        double metres;
    } cases[] = {
        {{0, 0}, {0, 180}, 2 * quarter_m},
        {{90, 10}, {0, 77}, quarter_m},
        {{-90, 10}, {90, -77}, 2 * quarter_m},
        {{0, 179.5}, {0, -179.5}, quarter_m / 90},
        {{48, 11}, {48, 11}, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        topology *graph = topology_make();
        topology_node *node;
        topology_report report = {0};
        for (int end = 0; end < 2; end++) {
            const double *at = end ? cases[k].to : cases[k].from;
            assert_int_equal(topology_add_node(graph, end ? "b" : "a", NULL, &node), EDGEPS_OK);
            node->latitude_deg = at[0];
            node->longitude_deg = at[1];
        }
        topology_add_edge(graph, (topology_edge){0, 1, 1e6, NAN}, NULL);
        topology_add_edge(graph, (topology_edge){1, 0, 1e6, 0.5}, NULL);
        network *net = must_make(graph, (topology_options){.cable_factor = 1}, &report);
        assert_true(fabs(network_latency_s(net, 0, 1) - cases[k].metres / 2e8) <= 5e-7);
        assert_true(network_latency_s(net, 1, 0) == 0.5);
        topology_report_free(&report);
        network_free(net);
        topology_free(graph);
    }
}

static void a_host_that_nothing_limits_is_refused(void **state)
{
    (void)state;
    static const char text[] = "graph [ node [ id 1 ] node [ id 2 host_bandwidth_up \"1 Mbit\" ]"
                               " edge [ source 1 target 2 latency \"1 ms\" ] ]";
    topology *graph = NULL;
    assert_int_equal(topology_parse(text, strlen(text), TOPOLOGY_AUTO, "x", NULL, &graph),
                     EDGEPS_OK);
    refuses(graph, (topology_options){0}, EDGEPS_FORMAT,
            "node '1': neither it nor its links have a rate; give one for all such nodes, such as "
            "--host-rate");
    topology_report report = {0};
    network *net = must_make(graph, (topology_options){.host_bytes_per_s = 7}, &report);
    assert_true(net->nodes[0].up_bytes_per_s == 7 && net->nodes[1].up_bytes_per_s == 125e3);
    tells(&report, "2 of 2 nodes have no rate; 56 bit/s is taken");
    topology_report_free(&report);
    network_free(net);
    topology_free(graph);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    topology *graph = must_read(SEEDS "graphml/zoo.graphml");
    topology_options options = {
        .link_bytes_per_s = 1e6, .drop_disconnected = true, .nodes_per_site = 2};
    edgeps_err err = EDGEPS_NOMEM;
    for (long nth = 1; err; nth++) {
        network *net = NULL;
        topology_report report = {0};
        edgeps_diag diag = {.text = ""};
        mem_fail_at(nth);
        err = network_from_topology(graph, &options, &diag, &net, &report);
        mem_fail_at(0);
        if (err != EDGEPS_OK && (err != EDGEPS_NOMEM || net || report.lines || !diag.text[0]))
            fail_msg("allocation %ld: %s", nth, diag.text);
        network_free(net);
        topology_report_free(&report);
        assert_true(nth < 1000);
    }
    topology_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repetita_becomes_a_network_worked_out_by_hand),
        cmocka_unit_test(a_multigraph_of_the_zoo_needs_a_speed_and_its_island_left_out),
        cmocka_unit_test(what_is_disconnected_or_external_can_be_kept),
        cmocka_unit_test(one_way_streets_do_not_connect),
        cmocka_unit_test(shadow_hosts_limit_and_links_do_not),
        cmocka_unit_test(several_nodes_at_a_site_see_its_loop),
        cmocka_unit_test(edges_links_and_places_give_one_network),
        cmocka_unit_test(latencies_come_from_distances_where_asked),
        cmocka_unit_test(a_host_that_nothing_limits_is_refused),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
