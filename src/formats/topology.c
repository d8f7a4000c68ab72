#include "formats/topology_int.h"

#include "base/mem.h"
#include "formats/json_int.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_FILE_BYTES (INT64_C(1) << 28)
#define LINE_BYTES 512

static const struct {
    const char *name;
    topology_format format;
    edgeps_err (*read)(const char *, size_t, edgeps_diag *, topology *);
} formats[] = {
    {"auto", TOPOLOGY_AUTO, NULL},
    {"graphml", TOPOLOGY_GRAPHML, graphml_read},
    {"gml", TOPOLOGY_GML, gml_read},
    {"node-link", TOPOLOGY_NODELINK, nodelink_read},
    {"repetita", TOPOLOGY_REPETITA, repetita_read},
};

bool topology_format_named(const char *name, topology_format *out)
{
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (strcmp(name, formats[k].name) == 0) {
            *out = formats[k].format;
            return true;
        }
    return false;
}

/* What editors on Windows put in front of UTF-8. */
static size_t byte_order_mark(const char *text, size_t length)
{
    return length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* XML begins with "<", JSON with "{", and Repetita's files with the word NODES: what is left is
 * GML, which may begin with any word. */
static topology_format guess(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    if (at == length)
        return TOPOLOGY_AUTO;
    if (text[at] == '<')
        return TOPOLOGY_GRAPHML;
    if (text[at] == '{')
        return TOPOLOGY_NODELINK;
    if (length - at >= 5 && memcmp(text + at, "NODES", 5) == 0)
        return TOPOLOGY_REPETITA;
    return TOPOLOGY_GML;
}

topology *topology_make(void) { return mem_alloc(1, sizeof(topology)); }

void topology_free(topology *graph)
{
    if (!graph)
        return;
    for (size_t v = 0; v < graph->node_count; v++) {
        mem_free(graph->nodes[v].name);
        mem_free(graph->nodes[v].label);
    }
    mem_free(graph->name);
    mem_free(graph->nodes);
    mem_free(graph->edges);
    mem_free(graph);
}

edgeps_err topology_add_node(topology *graph, const char *name, edgeps_diag *diag,
                             topology_node **out)
{
    if (graph->node_count == TOPOLOGY_MAX_NODES)
        return diag_fail(diag, EDGEPS_FORMAT, "more than %d nodes", TOPOLOGY_MAX_NODES);
    topology_node *nodes =
        mem_grow(graph->nodes, graph->node_count + 1, sizeof *nodes, &graph->node_room);
    graph->nodes = nodes ? nodes : graph->nodes;
    char *copy = nodes ? mem_copy_text(name) : NULL;
    if (!copy)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for nodes");
    topology_node *node = &graph->nodes[graph->node_count++];
    *node = (topology_node){.name = copy,
                            .latitude_deg = NAN,
                            .longitude_deg = NAN,
                            .up_bytes_per_s = NAN,
                            .down_bytes_per_s = NAN};
    *out = node;
    return EDGEPS_OK;
}

edgeps_err topology_add_edge(topology *graph, topology_edge edge, edgeps_diag *diag)
{
    if (graph->edge_count == TOPOLOGY_MAX_EDGES)
        return diag_fail(diag, EDGEPS_FORMAT, "more than %d directed edges", TOPOLOGY_MAX_EDGES);
    topology_edge *edges =
        mem_grow(graph->edges, graph->edge_count + 1, sizeof *edges, &graph->edge_room);
    if (!edges)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for edges");
    graph->edges = edges;
    graph->edges[graph->edge_count++] = edge;
    return EDGEPS_OK;
}

static const char *name_of(const void *graph, size_t v)
{
    return ((const topology *)graph)->nodes[v].name;
}

edgeps_err topology_index(const topology *graph, edgeps_diag *diag, json_t **out)
{
    return json_index(graph, graph->node_count, name_of, diag, out);
}

int64_t topology_index_find(const json_t *index, const char *name)
{
    const json_t *found = json_object_get(index, name);
    return found ? (int64_t)json_integer_value(found) : -1;
}

edgeps_err topology_report_add(topology_report *report, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    char **lines = mem_grow(report->lines, report->count + 1, sizeof *lines, &report->room);
    if (!lines)
        return EDGEPS_NOMEM;
    report->lines = lines;
    lines[report->count] = mem_copy_text(line);
    if (!lines[report->count])
        return EDGEPS_NOMEM;
    report->count++;
    return EDGEPS_OK;
}

void topology_report_free(topology_report *report)
{
    for (size_t k = 0; k < report->count; k++)
        mem_free(report->lines[k]);
    mem_free(report->lines);
    *report = (topology_report){0};
}

/* Where hosts have rates, as in Shadow's graphs, the links between are as wide as they need. */
static void widen_links(topology *graph)
{
    bool hosts = false;
    for (size_t v = 0; v < graph->node_count; v++)
        hosts |= !isnan(graph->nodes[v].up_bytes_per_s) || !isnan(graph->nodes[v].down_bytes_per_s);
    for (size_t k = 0; hosts && k < graph->edge_count; k++)
        if (isnan(graph->edges[k].bytes_per_s))
            graph->edges[k].bytes_per_s = INFINITY;
}

static edgeps_err read_as(topology_format format, const char *text, size_t length,
                          edgeps_diag *diag, topology *graph)
{
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        if (formats[k].format != format || !formats[k].read)
            continue;
        edgeps_err err = formats[k].read(text, length, diag, graph);
        if (!err && graph->node_count == 0)
            err = diag_fail(diag, EDGEPS_FORMAT, "holds no nodes");
        return err;
    }
    return diag_fail(diag, EDGEPS_FORMAT,
                     "is no topology; GraphML, GML, node-link JSON and Repetita are read");
}

edgeps_err topology_parse(const char *text, size_t length, topology_format format,
                          const char *source, edgeps_diag *diag, topology **out)
{
    topology *graph = topology_make();
    if (!graph)
        return diag_fail(diag, EDGEPS_NOMEM, "%s: no memory for a topology", source);
    size_t mark = byte_order_mark(text, length);
    text += mark;
    length -= mark;
    if (format == TOPOLOGY_AUTO)
        format = guess(text, length);
    edgeps_err err = read_as(format, text, length, diag, graph);
    if (err) {
        topology_free(graph);
        return diag_wrap(diag, err, "%s", source);
    }
    widen_links(graph);
    *out = graph;
    return EDGEPS_OK;
}

edgeps_err topology_read(const char *path, topology_format format, edgeps_diag *diag,
                         topology **out)
{
    char *text;
    size_t length;
    edgeps_err err = json_read_file(path, MAX_FILE_BYTES, diag, &text, &length);
    if (err)
        return err;
    err = topology_parse(text, length, format, path, diag, out);
    mem_free(text);
    return err;
}
