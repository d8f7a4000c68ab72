#include "formats/network_graph.h"

#include "formats/quantity.h"

#include <math.h>

/* Names have no control characters, so this is all that JSON and DOT want escaped. */
void network_quote(const char *text, FILE *file)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

typedef struct style {
    const char *before;    /* each key */
    const char *quote;     /* around keys */
    const char *separator; /* between key and value */
} style;

static const style json = {", ", "\"", ": "}, dot = {" ", "", "="};

static void put_amount(FILE *file, style s, const char *key, quantity_kind kind, double value)
{
    char text[QUANTITY_TEXT_BYTES];
    if (!isfinite(value))
        return;
    quantity_text(kind, value, text);
    fprintf(file, "%s%s%s%s%s\"%s\"", s.before, s.quote, key, s.quote, s.separator, text);
}

static void put_node(FILE *file, style s, const network_node *node)
{
    put_amount(file, s, "host_bandwidth_up", QUANTITY_RATE, node->up_bytes_per_s);
    put_amount(file, s, "host_bandwidth_down", QUANTITY_RATE, node->down_bytes_per_s);
    put_amount(file, s, "compute", QUANTITY_SPEED, node->compute_samples_per_s);
    put_amount(file, s, "sum", QUANTITY_RATE, node->sum_bytes_per_s);
    put_amount(file, s, "free", QUANTITY_SIZE, (double)node->free_bytes);
    if (!node->train)
        fprintf(file, "%s%strain%s%sfalse", s.before, s.quote, s.quote, s.separator);
    if (!node->serve)
        fprintf(file, "%s%sserve%s%sfalse", s.before, s.quote, s.quote, s.separator);
}

static void put_edge(FILE *file, style s, const network *net, size_t i, size_t j)
{
    put_amount(file, s, "latency", QUANTITY_TIME, network_latency_s(net, i, j));
    put_amount(file, s, "bandwidth", QUANTITY_RATE, network_cap_bytes_per_s(net, i, j));
}

static bool joined(const network *net, size_t i, size_t j)
{
    return i != j && network_cap_bytes_per_s(net, i, j) > 0;
}

void network_node_link_write(const network *net, FILE *file)
{
    const char *separator = "\n";
    fputs("{\n \"directed\": true,\n \"multigraph\": false,\n \"graph\": {\"name\": ", file);
    network_quote(net->name ? net->name : "", file);
    fputs("},\n \"nodes\": [", file);
    for (size_t i = 0; i < net->count; i++, separator = ",\n") {
        fprintf(file, "%s  {\"id\": ", separator);
        network_quote(net->nodes[i].name, file);
        if (net->site_names) {
            fputs(", \"site\": ", file);
            network_quote(net->site_names[net->nodes[i].site], file);
        }
        put_node(file, json, &net->nodes[i]);
        fputc('}', file);
    }
    fputs("\n ],\n \"edges\": [", file);
    separator = "\n";
    for (size_t i = 0; i < net->count; i++)
        for (size_t j = 0; j < net->count; j++) {
            if (!joined(net, i, j))
                continue;
            fprintf(file, "%s  {\"source\": ", separator);
            network_quote(net->nodes[i].name, file);
            fputs(", \"target\": ", file);
            network_quote(net->nodes[j].name, file);
            put_edge(file, json, net, i, j);
            fputc('}', file);
            separator = ",\n";
        }
    fputs("\n ]\n}\n", file);
}

static void put_dot_node(FILE *file, const network_node *node)
{
    fputs("  ", file);
    network_quote(node->name, file);
    fputs(" [label=", file);
    network_quote(node->name, file);
    put_node(file, dot, node);
    fputs("]\n", file);
}

void network_dot_write(const network *net, FILE *file)
{
    fputs("digraph ", file);
    network_quote(net->name ? net->name : "network", file);
    fputs(" {\n", file);
    for (size_t s = 0; net->site_names && s < net->site_count; s++) {
        fprintf(file, " subgraph cluster_%zu {\n  label=", s + 1);
        network_quote(net->site_names[s], file);
        fputc('\n', file);
        for (size_t i = 0; i < net->count; i++)
            if (net->nodes[i].site == s)
                put_dot_node(file, &net->nodes[i]);
        fputs(" }\n", file);
    }
    for (size_t i = 0; !net->site_names && i < net->count; i++)
        put_dot_node(file, &net->nodes[i]);
    for (size_t i = 0; i < net->count; i++)
        for (size_t j = 0; j < net->count; j++) {
            if (!joined(net, i, j))
                continue;
            fputs("  ", file);
            network_quote(net->nodes[i].name, file);
            fputs(" -> ", file);
            network_quote(net->nodes[j].name, file);
            fputs(" [", file);
            put_edge(file, dot, net, i, j);
            fputs("]\n", file);
        }
    fputs("}\n", file);
}
