#include "formats/topology.h"

#include "base/mem.h"
#include "formats/topology_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
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

static topology *must_parse(const char *text)
{
    topology *graph = NULL;
    edgeps_diag diag = {.text = ""};
    if (topology_parse(text, strlen(text), TOPOLOGY_AUTO, "x", &diag, &graph))
        fail_msg("%s", diag.text);
    return graph;
}

static void refuses(const char *text, const char *words)
{
    topology *graph = NULL;
    edgeps_diag diag = {.text = ""};
    edgeps_err err = topology_parse(text, strlen(text), TOPOLOGY_AUTO, "x", &diag, &graph);
    if (err != EDGEPS_FORMAT)
        fail_msg("%s gives '%s', not '%s'", text, err_text(err), words);
    assert_null(graph);
    if (!strstr(diag.text, words))
        fail_msg("'%s' lacks '%s'", diag.text, words);
}

static void is_edge(const topology *graph, size_t k, topology_edge expected)
{
    const topology_edge *edge = &graph->edges[k];
    bool same_rate = edge->bytes_per_s == expected.bytes_per_s ||
                     (isnan(edge->bytes_per_s) && isnan(expected.bytes_per_s));
    bool same_time = edge->latency_s == expected.latency_s ||
                     (isnan(edge->latency_s) && isnan(expected.latency_s));
    if (edge->from != expected.from || edge->to != expected.to || !same_rate || !same_time)
        fail_msg("edge %zu: %u to %u, %g B/s, %g s", k, edge->from, edge->to, edge->bytes_per_s,
                 edge->latency_s);
}

/* ---- GraphML */

static void graphml_has_the_keys_of_the_topology_zoo(void **state)
{
    (void)state;
    topology *graph = must_read(SEEDS "graphml/zoo.graphml");
    assert_string_equal(graph->name, "Sample");
    assert_int_equal(graph->node_count, 7);
    assert_string_equal(graph->nodes[0].name, "0");
    assert_string_equal(graph->nodes[0].label, "K\xc3\xb6ln");
    assert_true(graph->nodes[0].latitude_deg == 50.93 && graph->nodes[0].longitude_deg == 6.95);
    assert_true(isnan(graph->nodes[2].latitude_deg));
    assert_true(graph->nodes[3].external && !graph->nodes[2].external);
    assert_true(graph->nodes[4].junction && !graph->nodes[4].label);
    assert_int_equal(graph->edge_count, 14);
    is_edge(graph, 0, (topology_edge){0, 1, 2.5e9 / 8, NAN});
    is_edge(graph, 1, (topology_edge){1, 0, 2.5e9 / 8, NAN});
    is_edge(graph, 2, (topology_edge){0, 1, 155e6 / 8, NAN});
    is_edge(graph, 4, (topology_edge){1, 2, NAN, NAN});
    is_edge(graph, 6, (topology_edge){1, 3, 10e9 / 8, NAN});
    is_edge(graph, 8, (topology_edge){1, 4, 10e9 / 8, NAN});
    is_edge(graph, 10, (topology_edge){4, 5, 48 * 51.84e6 / 8, NAN});
    is_edge(graph, 12, (topology_edge){4, 2, NAN, NAN});
    topology_free(graph);
}

static void graphml_has_the_drawings_of_yed(void **state)
{
    (void)state;
    topology *graph = must_read(SEEDS "graphml/yed.graphml");
    assert_int_equal(graph->node_count, 3);
    assert_string_equal(graph->nodes[0].label, "New York");
    assert_true(graph->nodes[1].junction); /* a frame */
    assert_string_equal(graph->nodes[2].name, "n1::n0");
    assert_int_equal(graph->edge_count, 3); /* without heads both ways, with one its way */
    is_edge(graph, 0, (topology_edge){0, 2, 12.5e6, NAN});
    is_edge(graph, 1, (topology_edge){2, 0, 12.5e6, NAN});
    is_edge(graph, 2, (topology_edge){0, 2, 125e6, NAN});
    topology_free(graph);
}

#define XML                                                                                        \
    "<graphml><key id='s' for='edge' attr.name='LinkSpeedRaw'/><graph edgedefault='directed'>"
#define XML_END "</graph></graphml>"

static void graphml_that_is_none_is_refused_with_its_place(void **state)
{
    (void)state;
    refuses("<graphml><graph>", "x: line 1: ");
    refuses("<html/>", "its first element is no <graphml>");
    refuses("<graphml/>", "holds no <graph>");
    refuses("<graphml><graph/></graphml>", "holds no nodes");
    refuses("<graphml><graph/>\n<graph/></graphml>", "line 2: graph: is the second");
    refuses(XML "\n<node/>" XML_END, "line 2: node: id: is missing");
    refuses(XML "<node id='a'/><node id='a'/>" XML_END, "two nodes are called 'a'");
    refuses(XML "<node id='a'/>\n<edge source='a' target='b'/>" XML_END,
            "line 2: edge: target: no node has the id 'b'");
    refuses(XML "<node id='a'/><edge source='a'/>" XML_END, "edge: target: is missing");
    refuses(XML "<node id='a'/><hyperedge/>" XML_END, "hyperedge: is not read");
    refuses(XML
            "<node id='a'/><edge source='a' target='a'><data key='s'>fast</data></edge>" XML_END,
            "LinkSpeedRaw: 'fast' is no number");
}

/* Neither fetched nor expanded: a small document stands for what would take the machine's memory.
 */
static void graphml_with_entities_is_refused(void **state)
{
    (void)state;
    topology *graph = NULL;
    edgeps_diag diag = {.text = ""};
    assert_int_equal(topology_read(SEEDS "graphml/entities.graphml", TOPOLOGY_AUTO, &diag, &graph),
                     EDGEPS_FORMAT);
    assert_non_null(strstr(diag.text, "declares entities"));
    refuses("<!DOCTYPE graphml [<!ENTITY f SYSTEM 'file:///etc/passwd'>]>" XML
            "<node id='&f;'/>" XML_END,
            "declares entities");
    refuses("<!DOCTYPE graphml [<!ENTITY % p SYSTEM 'http://localhost:1/'> %p;]>" XML XML_END,
            "declares entities");
    topology_free(must_parse("<!DOCTYPE graphml SYSTEM 'http://localhost:1/none.dtd'>" XML
                             "<node id='a'/>" XML_END));
}

/* ---- GML */

static void gml_has_the_hosts_of_shadow(void **state)
{
    (void)state;
    topology *graph = must_read(SEEDS "gml/shadow.gml");
    assert_int_equal(graph->node_count, 3);
    assert_string_equal(graph->nodes[0].label, "node at home\"");
    assert_string_equal(graph->nodes[1].label, "M\xc3\xbcnchen");
    assert_true(graph->nodes[0].down_bytes_per_s == 76200.0 * 1024 / 8);
    assert_true(graph->nodes[0].up_bytes_per_s == 83592.0 * 1024 / 8);
    assert_true(graph->nodes[2].up_bytes_per_s == 12.5e6);
    assert_int_equal(graph->edge_count, 9); /* a loop is one */
    is_edge(graph, 0, (topology_edge){0, 0, INFINITY, 0.001});
    is_edge(graph, 3, (topology_edge){0, 1, INFINITY, 0.118555});
    is_edge(graph, 4, (topology_edge){1, 0, INFINITY, 0.118555});
    assert_int_equal(graph->lossy_count, 1);
    topology_free(graph);
}

static void gml_has_edges_before_nodes_and_the_keys_of_the_zoo(void **state)
{
    (void)state;
    topology *graph = must_read(SEEDS "gml/zoo.gml");
    assert_string_equal(graph->name, "Sample");
    assert_string_equal(graph->nodes[0].label, "Soma");
    assert_true(graph->nodes[0].longitude_deg == -15.53333);
    assert_int_equal(graph->edge_count, 4);
    is_edge(graph, 0, (topology_edge){1, 0, 10e6 / 8, NAN});
    is_edge(graph, 2, (topology_edge){0, 1, 2.5e6 / 8, NAN});
    topology_free(graph);
}

static void gml_that_is_none_is_refused_with_its_place(void **state)
{
    (void)state;
    refuses("graph [ node [ id 1 ]", "line 1: the text ends before the last ]");
    refuses("graph [\n label \"a", "line 2: a text begins with \" and never ends");
    refuses("graph [ ] ]", "a ] without its [");
    refuses("graph [ node ]", "a number, a text in \" or a [ is wanted");
    refuses("graph [ $ 1 ]", "a key or a ] is wanted");
    refuses("nodes 1", "holds no \"graph [\"");
    refuses("graph [ ]", "holds no nodes");
    refuses("graph [ node [ id 1 ] ]\ngraph [ ]", "line 2: a second graph");
    refuses("graph [\nnode [ label \"a\" ] ]", "node at line 2: id: is missing");
    refuses("graph [ node [ id 1 ] node [ id 1 ] ]", "two nodes are called '1'");
    refuses("graph [ node [ id 1 ]\n edge [ source 1 target 2 ] ]",
            "edge at line 2: target: no node has the id 2");
    refuses("graph [ node [ id 1 ] edge [ source 1 ] ]", "target: is missing");
    refuses("graph [ node [ id 1 host_bandwidth_up 100 ] ]",
            "host_bandwidth_up: '100' has no unit of a rate; write it like \"100 Mbit\"");
    refuses("graph [ node [ id 1 ] edge [ source 1 target 1 latency 10.0 ] ]",
            "latency: '10.0' has no unit of time; write it like \"10 ms\"");
    refuses("graph [ node [ id 1 ] edge [ source 1 target 1 latency \"25000 h\" ] ]", "no unit");
    refuses("graph [ node [ id 1 ] edge [ source 1 target 1 latency \"1e9 s\" ] ]",
            "more than a day");
    refuses("graph [ node [ id 1 label \"M\xfcnchen\" ] ]", "label: is not UTF-8; convert");
}

/* ---- node-link JSON */

static bool same_graph(const topology *a, const topology *b)
{
    if (a->node_count != b->node_count || a->edge_count != b->edge_count)
        return false;
    for (size_t v = 0; v < a->node_count; v++)
        if (strcmp(a->nodes[v].name, b->nodes[v].name) != 0)
            return false;
    for (size_t k = 0; k < a->edge_count; k++)
        if (a->edges[k].from != b->edges[k].from || a->edges[k].to != b->edges[k].to ||
            a->edges[k].bytes_per_s != b->edges[k].bytes_per_s ||
            a->edges[k].latency_s != b->edges[k].latency_s)
            return false;
    return true;
}

static void nodelink_says_the_same_with_edges_links_and_places(void **state)
{
    (void)state;
    topology *edges = must_read(SEEDS "nodelink/edges.json");
    topology *links = must_read(SEEDS "nodelink/links.json");
    topology *places = must_read(SEEDS "nodelink/places.json");
    assert_string_equal(edges->name, "square");
    assert_int_equal(edges->edge_count, 10);
    assert_string_equal(edges->nodes[2].name, "3");
    assert_string_equal(edges->nodes[3].name, "[0,1]");
    assert_true(edges->nodes[2].longitude_deg == 8.5);
    is_edge(edges, 2, (topology_edge){0, 1, 50e6 / 8, 5e-3});
    is_edge(edges, 5, (topology_edge){2, 1, 125e6, 1e-3});
    is_edge(edges, 8, (topology_edge){3, 0, 1250e6, 1e-3});
    assert_true(same_graph(edges, links));
    assert_true(same_graph(edges, places));
    topology_free(edges);
    topology_free(links);
    topology_free(places);
}

/* Ids that are numbers too: where every end is one, it is meant as one. */
static void nodelink_ends_are_ids_where_they_can_be(void **state)
{
    (void)state;
    topology *graph = must_parse("{\"directed\": true, \"nodes\": [{\"id\": 1}, {\"id\": 0}],"
                                 " \"links\": [{\"source\": 1, \"target\": 0}]}");
    is_edge(graph, 0, (topology_edge){0, 1, NAN, NAN});
    assert_int_equal(graph->edge_count, 1);
    topology_free(graph);
    graph = must_parse("{\"directed\": true, \"nodes\": [{\"name\": \"p\"}, {\"name\": \"q\"}],"
                       " \"links\": [{\"source\": 1, \"target\": 0}]}");
    is_edge(graph, 0, (topology_edge){1, 0, NAN, NAN});
    assert_string_equal(graph->nodes[1].name, "q");
    topology_free(graph);
}

static void nodelink_that_is_none_is_refused_with_its_place(void **state)
{
    (void)state;
    refuses("{\"nodes\": [{\"id\": 1}]}", "x: has neither \"edges\" nor \"links\"");
    refuses("{\"nodes\": [{\"id\": 1}], \"edges\": [], \"links\": []}", "keep one of them");
    refuses("{\"nodes\": [{\"id\": 1}], \"edges\": 3}", "edges: must be an array");
    refuses("{\"edges\": []}", "nodes: must be an array");
    refuses("{\"nodes\": [], \"edges\": []}", "holds no nodes");
    refuses("{\"nodes\": [{\"id\": 1}, {\"id\": \"1\"}], \"edges\": []}",
            "two nodes are called '1'");
    refuses("{\"nodes\": [1], \"edges\": []}", "nodes[0]: must be an object");
    refuses("{\"nodes\": [{\"id\": 1}], \"edges\": [{\"source\": 1}]}",
            "edges[0]: target: is missing");
    refuses("{\"nodes\": [{\"id\": \"a\"}], \"links\": [{\"source\": 0, \"target\": 1}]}",
            "links[0]: target: no node has the id '1'");
    refuses("{\"nodes\": [{\"id\": \"a\"}], \"links\": [{\"source\": \"a\", \"target\": \"b\"}]}",
            "links[0]: target: no node has the id 'b'");
    refuses("{\"nodes\": [{\"id\": 1}], \"edges\": [{\"source\": 1, \"target\": 1,"
            " \"latency\": 10}]}",
            "edges[0]: latency: '10' has no unit of time");
    refuses("{\"edgeps\": \"network/1\"}", "is a file of edgeps itself");
    refuses("{\"nodes\": [}", "x: line 1, column 12: ");
}

/* ---- Repetita */

#define NODES_AB "NODES 2\nlabel x y\na 1 2\nb 3 4\n\n"
#define EDGES "EDGES 1\nlabel src dest weight bw delay\n"

static void repetita_that_is_none_is_refused_with_its_line(void **state)
{
    (void)state;
    refuses("NODES 1\nlabel x y\na 1 2\n", "line 3: \"EDGES\" and their number are wanted");
    refuses("NODES 2\nlabel x y\na 1 2\n\n" EDGES, "NODES says 2, there are 1");
    refuses("NODES x\n", "line 1: a number is wanted");
    refuses("NODES 1\na 1 2\n", "the heading \"label ...\" is wanted");
    refuses("NODES 1\nlabel x y\na 1\n", "line 3: a node is \"label x y\"");
    refuses("NODES 2\nlabel x y\na 1 2\na 3 4\n\n" EDGES, "two nodes are called 'a'");
    refuses(NODES_AB EDGES "e 0 2 1 1000 10\n", "line 8: an edge's ends are numbers of nodes");
    refuses(NODES_AB EDGES "e x 1 1 1000 10\n", "line 8: a number is wanted");
    refuses(NODES_AB EDGES "e 0 0.5 1 1000 10\n", "line 8: an edge's ends are numbers of nodes");
    refuses(NODES_AB EDGES "e 0 1 1 1000\n", "line 8: an edge is \"label src dest");
    refuses(NODES_AB EDGES "e 0 1 1 -1000 10\n", "line 8: bw and delay are not negative");
    refuses(NODES_AB EDGES "e 0 1 1 1,5 10\n", "line 8: a number is wanted, with a point");
    refuses(NODES_AB EDGES "e 0 1 1 1000 1e99\n", "line 8: a number is wanted");
    refuses(NODES_AB EDGES "e 0 1 1 1000 10 7\n", "line 8: more than six words");
    refuses(NODES_AB "EDGES 2\nlabel src dest weight bw delay\ne 0 1 1 1000 10\n",
            "EDGES says 2, there are 1");
}

/* ---- all of them */

static void what_is_no_topology_is_refused(void **state)
{
    (void)state;
    refuses("", "is no topology");
    refuses(" \n", "is no topology");
    refuses("lyon,oslo\n1,2\n", "line 1: ");
    topology *graph = NULL;
    edgeps_diag diag = {.text = ""};
    assert_int_equal(topology_read("/nowhere.gml", TOPOLOGY_AUTO, &diag, &graph), EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "/nowhere.gml: cannot be read"));
    topology_format format = TOPOLOGY_AUTO;
    assert_true(topology_format_named("node-link", &format) && format == TOPOLOGY_NODELINK);
    assert_false(topology_format_named("dot", &format));
}

static void a_byte_order_mark_is_passed_over(void **state)
{
    (void)state;
    topology_free(must_parse("\xef\xbb\xbfgraph [ node [ id 1 ] ]"));
    topology_free(must_parse("\xef\xbb\xbf" XML "<node id='a'/>" XML_END));
    topology_free(must_parse("\xef\xbb\xbf{\"nodes\": [{\"id\": 1}], \"edges\": []}"));
}

static void labels_tell_a_rate_or_none(void **state)
{
    (void)state;
    const struct {
        const char *label;
        double bit_per_s;
    } cases[] = {
        {"10 Gbps", 10e9},
        {"2.5 Gbit/s", 2.5e9},
        {"Peering, 13 Gbps", 13e9},
        {"Fibre ottica spenta (Dark Fibre), 2.5 Gbps", 2.5e9},
        {"4Gbps", 4e9},
        {"10GE", 10e9},
        {"1G Ethernet", 1e9},
        {"45 mbps", 45e6},
        {"100 Mb/s", 100e6},
        {"2 MB/s", 16e6},
        {"OC-192c", 192 * 51.84e6},
        {"POS OC-48", 48 * 51.84e6},
        {"OC3", 3 * 51.84e6},
        {"STM-16", 16 * 155.52e6},
        {"512 Kibit/s", 512 * 1024.0},
        {"", NAN},
        {"DWDM", NAN},
        {"< 100 Mb/s", NAN},
        {"> 45Mbps", NAN},
        {"1-2.5 Gb/s", NAN},
        {"100-155 Mbit/s", NAN},
        {"2x10G", NAN},
        {"2 x 10G", NAN},
        {"2*155M", NAN},
        {"STM-4x4", NAN},
        {"10G+2.5G", NAN},
        {"1 Gbps / 10 Gbps", NAN},
        {"Completion 2007-2008", NAN},
        {"100 m", NAN},
        {"5 Miles", NAN},
        {"path from 178.117.126.209 to 61.200.99.58", NAN},
        {"GE", NAN},
        {"0 Mbps", NAN},
        {"1e300 Gbps", NAN},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double bit_per_s = topology_label_rate(cases[k].label) * 8;
        bool none = isnan(cases[k].bit_per_s);
        if (isnan(bit_per_s) != none || (!none && fabs(bit_per_s / cases[k].bit_per_s - 1) > 1e-12))
            fail_msg("'%s': %g bit/s", cases[k].label, bit_per_s);
    }
}

/* libxml2 and jansson have allocators of their own, which never fail here. */
static void survives_each_allocation_failing(void **state)
{
    (void)state;
    static const char *const files[] = {"graphml/zoo.graphml", "gml/shadow.gml",
                                        "nodelink/places.json", "repetita/triangle.graph"};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        char path[512];
        snprintf(path, sizeof path, "%s%s", SEEDS, files[k]);
        edgeps_err err = EDGEPS_NOMEM;
        for (long nth = 1; err; nth++) {
            topology *graph = NULL;
            edgeps_diag diag = {.text = ""};
            mem_fail_at(nth);
            err = topology_read(path, TOPOLOGY_AUTO, &diag, &graph);
            mem_fail_at(0);
            if (err != EDGEPS_OK && (err != EDGEPS_NOMEM || graph || !diag.text[0]))
                fail_msg("%s: allocation %ld: %s", path, nth, diag.text);
            topology_free(graph);
            assert_true(nth < 1000);
        }
    }
}

/* Public collections, where they are beside the source tree. */
static void collection(const char *pattern, glob_t *found)
{
    char path[512];
    snprintf(path, sizeof path, "%s/../shared/data/%s", EDGEPS_SOURCE_DIR, pattern);
    if (glob(path, found->gl_pathc ? GLOB_APPEND : 0, NULL, found))
        print_message("left out: there is no %s\n", path);
}

static void every_file_of_the_collections_becomes_a_network(void **state)
{
    (void)state;
    const topology_options options = {.link_bytes_per_s = 1e6, .drop_disconnected = true};
    glob_t found = {0};
    collection("topology-zoo/*.graphml", &found);
    collection("shadow-atlas/*.gml", &found);
    collection("repetita/*.graph", &found);
    size_t count = found.gl_pathc;
    for (size_t k = 0; k < count; k++) {
        topology *graph = must_read(found.gl_pathv[k]);
        network *net = NULL;
        topology_report report = {0};
        edgeps_diag diag = {.text = ""};
        if (network_from_topology(graph, &options, &diag, &net, &report))
            fail_msg("%s: %s", found.gl_pathv[k], diag.text);
        for (size_t i = 0; i < net->count * net->count; i++)
            assert_true(network_rate_bytes_per_s(net, i / net->count, i % net->count) > 0);
        network_free(net);
        topology_report_free(&report);
        topology_free(graph);
    }
    globfree(&found);
    if (count == 0)
        skip();
}

static size_t count_rates(const topology *graph, double bit_per_s)
{
    size_t count = 0;
    for (size_t k = 0; k < graph->edge_count; k++)
        count += graph->edges[k].bytes_per_s == bit_per_s / 8;
    return count;
}

/* Repetita's authors read the Zoo with a program of their own. */
static void the_zoo_and_repetita_agree_on_one_network(void **state)
{
    (void)state;
    glob_t found = {0};
    collection("topology-zoo/Uninett2010.graphml", &found);
    collection("repetita/Uninett2010.graph", &found);
    if (found.gl_pathc < 2) {
        globfree(&found);
        skip();
    }
    topology *zoo = must_read(found.gl_pathv[0]), *repetita = must_read(found.gl_pathv[1]);
    globfree(&found);
    assert_int_equal(zoo->node_count, repetita->node_count);
    assert_int_equal(zoo->edge_count, repetita->edge_count);
    const double rates[] = {1e9, 2.5e9, 10e9};
    for (size_t k = 0; k < 3; k++) {
        assert_true(count_rates(zoo, rates[k]) > 0);
        assert_int_equal(count_rates(zoo, rates[k]), count_rates(repetita, rates[k]));
    }
    topology_free(zoo);
    topology_free(repetita);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphml_has_the_keys_of_the_topology_zoo),
        cmocka_unit_test(graphml_has_the_drawings_of_yed),
        cmocka_unit_test(graphml_that_is_none_is_refused_with_its_place),
        cmocka_unit_test(graphml_with_entities_is_refused),
        cmocka_unit_test(gml_has_the_hosts_of_shadow),
        cmocka_unit_test(gml_has_edges_before_nodes_and_the_keys_of_the_zoo),
        cmocka_unit_test(gml_that_is_none_is_refused_with_its_place),
        cmocka_unit_test(nodelink_says_the_same_with_edges_links_and_places),
        cmocka_unit_test(nodelink_ends_are_ids_where_they_can_be),
        cmocka_unit_test(nodelink_that_is_none_is_refused_with_its_place),
        cmocka_unit_test(repetita_that_is_none_is_refused_with_its_line),
        cmocka_unit_test(what_is_no_topology_is_refused),
        cmocka_unit_test(a_byte_order_mark_is_passed_over),
        cmocka_unit_test(labels_tell_a_rate_or_none),
        cmocka_unit_test(survives_each_allocation_failing),
        cmocka_unit_test(every_file_of_the_collections_becomes_a_network),
        cmocka_unit_test(the_zoo_and_repetita_agree_on_one_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
