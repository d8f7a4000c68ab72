/* Repetita's .graph: "NODES n", a heading, lines "label x y"; "EDGES m", a heading, lines "label
 * src dest weight bw delay". Ends are places in the list of nodes from 0, bw is in kbit/s, delay in
 * microseconds, and every line is one direction. x and y are degrees east and north; what is no
 * place on Earth, and the pair 0 0, says that the place is not known. Source: RepetitaParser and
 * the GraphML2DEFO converter of github.com/svissicchio/Repetita. */
#include "formats/topology_int.h"

#include "formats/quantity.h"

#include <math.h>
#include <string.h>

#define LINE_BYTES 1024
#define MOST_WORDS 6
#define MOST_KBIT_PER_S 1e15

/* The text line by line; `words` point into `line`. */
typedef struct lines {
    const char *at;
    const char *end;
    int number;
    char line[LINE_BYTES];
    const char *words[MOST_WORDS];
    size_t word_count;
} lines;

static edgeps_err wrong(const lines *l, edgeps_diag *diag, const char *what)
{
    edgeps_err err = diag_fail(diag, EDGEPS_FORMAT, "line %d: %s", l->number, what);
    if (diag)
        diag->line = l->number;
    return err;
}

static edgeps_err split(lines *l, edgeps_diag *diag)
{
    char *rest = l->line, *word;
    l->word_count = 0;
    while ((word = strtok_r(rest, " \t\r", &rest)) != NULL) {
        if (l->word_count == MOST_WORDS)
            return wrong(l, diag, "more than six words");
        l->words[l->word_count++] = word;
    }
    return EDGEPS_OK;
}

/* The next line that is not blank; no words at the end. */
static edgeps_err next_line(lines *l, edgeps_diag *diag)
{
    l->word_count = 0;
    while (l->word_count == 0 && l->at < l->end) {
        const char *stop = memchr(l->at, '\n', (size_t)(l->end - l->at));
        size_t length = (size_t)((stop ? stop : l->end) - l->at);
        l->number++;
        if (length >= sizeof l->line || memchr(l->at, '\0', length))
            return wrong(l, diag, "is no line of text");
        memcpy(l->line, l->at, length);
        l->line[length] = '\0';
        l->at += length + (stop != NULL);
        edgeps_err err = split(l, diag);
        if (err)
            return err;
    }
    return EDGEPS_OK;
}

static edgeps_err read_number(const lines *l, size_t word, double most, edgeps_diag *diag,
                              double *out)
{
    double value;
    const char *text = l->words[word], *rest = quantity_number(text, &value);
    if (rest == text || *rest || fabs(value) > most)
        return wrong(l, diag, "a number is wanted, with a point and no unit");
    *out = value;
    return EDGEPS_OK;
}

static edgeps_err read_count(const lines *l, double most, edgeps_diag *diag, size_t *out)
{
    double value = 0;
    edgeps_err err = read_number(l, 1, most, diag, &value);
    if (!err && (value < 0 || value != floor(value)))
        err = wrong(l, diag, "a number of lines is wanted");
    if (!err)
        *out = (size_t)value;
    return err;
}

/* "NODES 11" or "EDGES 28" and the heading below; the number may be missing. */
static edgeps_err read_heading(lines *l, const char *title, double most, edgeps_diag *diag,
                               size_t *count)
{
    *count = SIZE_MAX;
    edgeps_err err = EDGEPS_OK;
    if (l->word_count == 0 || l->word_count > 2 || strcmp(l->words[0], title) != 0)
        return diag_fail(diag, EDGEPS_FORMAT, "line %d: \"%s\" and their number are wanted",
                         l->number, title);
    if (l->word_count == 2)
        err = read_count(l, most, diag, count);
    if (!err)
        err = next_line(l, diag);
    if (!err && (l->word_count == 0 || strcmp(l->words[0], "label") != 0))
        err = wrong(l, diag, "the heading \"label ...\" is wanted");
    return err ? err : next_line(l, diag);
}

static edgeps_err read_node(const lines *l, edgeps_diag *diag, topology *graph)
{
    double x = 0, y = 0;
    topology_node *node;
    if (l->word_count != 3)
        return wrong(l, diag, "a node is \"label x y\"");
    edgeps_err err = read_number(l, 1, INFINITY, diag, &x);
    if (!err)
        err = read_number(l, 2, INFINITY, diag, &y);
    if (!err)
        err = topology_add_node(graph, l->words[0], diag, &node);
    if (!err && (x != 0 || y != 0) && fabs(x) <= 180 && fabs(y) <= 90) {
        node->longitude_deg = x;
        node->latitude_deg = y;
    }
    return err;
}

static edgeps_err read_end(const lines *l, size_t word, const topology *graph, edgeps_diag *diag,
                           uint32_t *out)
{
    double value = -1;
    edgeps_err err = read_number(l, word, TOPOLOGY_MAX_NODES, diag, &value);
    if (!err && (value < 0 || value >= (double)graph->node_count || value != floor(value)))
        err = wrong(l, diag, "an edge's ends are numbers of nodes, from 0");
    if (!err)
        *out = (uint32_t)value;
    return err;
}

static edgeps_err read_edge(const lines *l, edgeps_diag *diag, topology *graph)
{
    topology_edge edge = {0};
    double kbit_per_s = -1, delay_us = -1;
    if (l->word_count != 6)
        return wrong(l, diag, "an edge is \"label src dest weight bw delay\"");
    edgeps_err err = read_end(l, 1, graph, diag, &edge.from);
    if (!err)
        err = read_end(l, 2, graph, diag, &edge.to);
    if (!err)
        err = read_number(l, 4, MOST_KBIT_PER_S, diag, &kbit_per_s);
    if (!err)
        err = read_number(l, 5, ROUTE_MAX_LATENCY_S * 1e6, diag, &delay_us);
    if (!err && (kbit_per_s < 0 || delay_us < 0))
        err = wrong(l, diag, "bw and delay are not negative");
    edge.bytes_per_s = kbit_per_s * 1e3 / 8;
    edge.latency_s = delay_us / 1e6;
    return err ? err : topology_add_edge(graph, edge, diag);
}

static edgeps_err read_nodes(lines *l, edgeps_diag *diag, topology *graph)
{
    size_t count;
    edgeps_err err = read_heading(l, "NODES", TOPOLOGY_MAX_NODES, diag, &count);
    while (!err && l->word_count > 0 && strcmp(l->words[0], "EDGES") != 0) {
        err = read_node(l, diag, graph);
        if (!err)
            err = next_line(l, diag);
    }
    if (!err && count != SIZE_MAX && count != graph->node_count)
        err = diag_fail(diag, EDGEPS_FORMAT, "line %d: NODES says %zu, there are %zu", l->number,
                        count, graph->node_count);
    return err;
}

static edgeps_err read_edges(lines *l, edgeps_diag *diag, topology *graph)
{
    size_t count;
    edgeps_err err = read_heading(l, "EDGES", TOPOLOGY_MAX_EDGES, diag, &count);
    while (!err && l->word_count > 0) {
        err = read_edge(l, diag, graph);
        if (!err)
            err = next_line(l, diag);
    }
    if (!err && count != SIZE_MAX && count != graph->edge_count)
        err = diag_fail(diag, EDGEPS_FORMAT, "line %d: EDGES says %zu, there are %zu", l->number,
                        count, graph->edge_count);
    return err;
}

edgeps_err repetita_read(const char *text, size_t length, edgeps_diag *diag, topology *graph)
{
    lines l = {.at = text, .end = text + length};
    json_t *index = NULL;
    edgeps_err err = next_line(&l, diag);
    if (!err)
        err = read_nodes(&l, diag, graph);
    if (!err)
        err = topology_index(graph, diag, &index);
    json_decref(index);
    return err ? err : read_edges(&l, diag, graph);
}
