/* What must hold of any bytes that a reader of topologies takes: ends are nodes, amounts are
 * amounts, and the network, where there is one, can be written and read back. For the fuzz targets
 * alone. */
#ifndef EDGEPS_FORMATS_FUZZ_TOPOLOGY_H
#define EDGEPS_FORMATS_FUZZ_TOPOLOGY_H

#include "base/mem.h"
#include "formats/network_json.h"
#include "formats/topology.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void fuzz_require(int fact)
{
    if (!fact)
        abort();
}

static void fuzz_network(const topology *graph)
{
    const topology_options options = {.link_bytes_per_s = 1e6,
                                      .host_bytes_per_s = 1e6,
                                      .cable_factor = 1.5,
                                      .drop_disconnected = true};
    network *net = NULL, *again = NULL;
    topology_report report = {0};
    edgeps_diag diag = {.text = ""};
    char *text = NULL;
    if (graph->node_count > 100)
        return;
    if (network_from_topology(graph, &options, &diag, &net, &report)) {
        fuzz_require(diag.text[0] != '\0');
        return;
    }
    fuzz_require(network_json_text(net, &text) == EDGEPS_OK);
    fuzz_require(network_json_parse(text, strlen(text), "written", &diag, &again) == EDGEPS_OK);
    fuzz_require(again->count == net->count);
    for (size_t i = 0; i < net->count; i++)
        fuzz_require(network_cap_bytes_per_s(again, 0, i) == network_cap_bytes_per_s(net, 0, i));
    mem_free(text);
    network_free(net);
    network_free(again);
    topology_report_free(&report);
}

static void fuzz_topology(const uint8_t *bytes, size_t count, topology_format format)
{
    topology *graph = NULL;
    edgeps_diag diag = {.text = ""};
    if (topology_parse((const char *)bytes, count, format, "fuzz", &diag, &graph)) {
        fuzz_require(diag.text[0] != '\0');
        return;
    }
    fuzz_require(graph->node_count > 0);
    for (size_t k = 0; k < graph->edge_count; k++) {
        const topology_edge *edge = &graph->edges[k];
        fuzz_require(edge->from < graph->node_count && edge->to < graph->node_count);
        fuzz_require(!(edge->bytes_per_s < 0) && !(edge->latency_s < 0));
    }
    fuzz_network(graph);
    topology_free(graph);
}

#endif
