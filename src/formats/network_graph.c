#include "formats/network_graph.h"

#include "formats/quantity.h"

#include <math.h>

/* Names have no control characters, so this is all that JSON wants escaped. */
static void put_quoted(const char *text, FILE *file)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

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
    put_quoted(net->name ? net->name : "", file);
    fputs("},\n \"nodes\": [", file);
    for (size_t i = 0; i < net->count; i++, separator = ",\n") {
        fprintf(file, "%s  {\"id\": ", separator);
        put_quoted(net->nodes[i].name, file);
        if (net->site_names) {
            fputs(", \"site\": ", file);
            put_quoted(net->site_names[net->nodes[i].site], file);
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
            put_quoted(net->nodes[i].name, file);
            fputs(", \"target\": ", file);
            put_quoted(net->nodes[j].name, file);
            put_edge(file, net, i, j);
            fputc('}', file);
            separator = ",\n";
        }
    fputs("\n ]\n}\n", file);
}
