#include "formats/topology.h"

#include "base/mem.h"
#include "formats/network_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

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

static bool tells(const topology_report *report, const char *words)
{
    for (size_t k = 0; k < report->count; k++)
        if (strstr(report->lines[k], words))
            return true;
    return false;
}

static void repetita_becomes_a_network_worked_out_by_hand(void **state)
{
    (void)state;
    topology *graph = must_read(EDGEPS_SOURCE_DIR "/tests/topology/triangle.graph");
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
    assert_true(fabs(network_latency_s(net, 0, 1) - 0.0065) < 1e-12);
    assert_true(network_latency_s(net, 1, 0) == 0.008);
    assert_true(network_cap_bytes_per_s(net, 3, 2) == 62.5e6);
    assert_true(network_cap_bytes_per_s(net, 2, 3) == 31.25e6);
    assert_true(fabs(network_latency_s(net, 2, 3) - 0.0115) < 1e-12);
    /* hosts take what their links carry together */
    assert_true(net->nodes[0].up_bytes_per_s == 200e6 + 1250e6);
    assert_true(net->nodes[0].down_bytes_per_s == 125e6 + 1250e6);
    assert_true(tells(&report, "0_Lyon -> 1_Oslo: 2 parallel links are one, 1.6 Gbit/s") ||
                tells(&report, "0_Lyon -> 1_Oslo: 2 parallel links are one, 1600 Mbit/s"));
    topology_report_free(&report);
    network_free(net);
    topology_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repetita_becomes_a_network_worked_out_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
