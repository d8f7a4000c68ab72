#include "formats/network_graph.h"

#include "formats/json_int.h"
#include "formats/quantity.h"

#include <math.h>

static void put_amount(FILE *file, const char *key, quantity_kind kind, double value)
{
    char text[QUANTITY_TEXT_BYTES];
    if (!isfinite(value))
        return;
    quantity_text(kind, value, text);
    fprintf(file, ", \"%s\": \"%s\"", key, text);
}

static void put_node(FILE *file, const network_node *node)
{
    put_amount(file, "host_bandwidth_up", QUANTITY_RATE, node->up_bytes_per_s);
    put_amount(file, "host_bandwidth_down", QUANTITY_RATE, node->down_bytes_per_s);
    put_amount(file, "compute", QUANTITY_SPEED, node->compute_samples_per_s);
    put_amount(file, "sum", QUANTITY_RATE, node->sum_bytes_per_s);
    put_amount(file, "free", QUANTITY_SIZE, (double)node->free_bytes);
    if (!node->train)
        fputs(", \"train\": false", file);
    if (!node->serve)
        fputs(", \"serve\": false", file);
}

static void put_edge(FILE *file, const network *net, size_t i, size_t j)
{
    put_amount(file, "latency", QUANTITY_TIME, network_latency_s(net, i, j));
    put_amount(file, "bandwidth", QUANTITY_RATE, network_cap_bytes_per_s(net, i, j));
}

static bool joined(const network *net, size_t i, size_t j)
{
    return i != j && network_cap_bytes_per_s(net, i, j) > 0;
}

void network_node_link_write(const network *net, FILE *file)
{
    const char *separator = "\n";
    fputs("{\n \"directed\": true,\n \"multigraph\": false,\n \"graph\": {\"name\": ", file);
    json_put_quoted(file, net->name ? net->name : "");
    fputs("},\n \"nodes\": [", file);
    for (size_t i = 0; i < net->count; i++, separator = ",\n") {
        fprintf(file, "%s  {\"id\": ", separator);
        json_put_quoted(file, net->nodes[i].name);
        if (net->site_names) {
            fputs(", \"site\": ", file);
            json_put_quoted(file, net->site_names[net->nodes[i].site]);
        }
        put_node(file, &net->nodes[i]);
        fputc('}', file);
    }
    fputs("\n ],\n \"edges\": [", file);
    separator = "\n";
    for (size_t i = 0; i < net->count; i++)
        for (size_t j = 0; j < net->count; j++) {
            if (!joined(net, i, j))
                continue;
            fprintf(file, "%s  {\"source\": ", separator);
            json_put_quoted(file, net->nodes[i].name);
            fputs(", \"target\": ", file);
            json_put_quoted(file, net->nodes[j].name);
            put_edge(file, net, i, j);
            fputc('}', file);
            separator = ",\n";
        }
    fputs("\n ]\n}\n", file);
}
