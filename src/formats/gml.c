/* GML (Himsolt, 1997): keys with numbers, texts, or lists in brackets. The text is gone through
 * twice, for nodes and then for edges, whose ends may stand before the nodes they name. What is not
 * read, such as the graphics of a node, is passed over whatever it holds. */
#include "formats/topology_int.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 64

/* Where the reader is; GML_OTHER is a list of no interest, at any depth. */
typedef enum place { GML_TOP, GML_GRAPH, GML_NODE, GML_EDGE, GML_OTHER } place;

typedef struct gml {
    const char *at;
    const char *end;
    int line;
    char key[KEY_BYTES]; /* cut where it is longer: no such key is read */
    char *value;         /* room for the longest text */
    place place;
    place behind;   /* of GML_OTHER: what its end returns to */
    size_t depth;   /* of GML_OTHER: lists that are open */
    size_t graphs;  /* seen in this pass */
    int start_line; /* of the node or the edge */
    bool directed;
    bool edges; /* the second pass */
    topology *graph;
    json_t *index;
    topology_node *node;
    topology_link link;
} gml;

static edgeps_err wrong(const gml *g, int line, edgeps_diag *diag, const char *what)
{
    edgeps_err err = diag_fail(diag, EDGEPS_FORMAT, "line %d: %s", line, what);
    if (diag)
        diag->line = g->line;
    return err;
}

/* ---- tokens */

static void skip_blanks(gml *g)
{
    for (; g->at < g->end; g->at++) {
        if (*g->at == '#')
            while (g->at + 1 < g->end && g->at[1] != '\n')
                g->at++;
        else if (*g->at == '\n')
            g->line++;
        else if (*g->at != ' ' && *g->at != '\t' && *g->at != '\r')
            return;
    }
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' ||
           c == '+' || c == '-' || c == '.';
}

static size_t word_length(const gml *g)
{
    size_t length = 0;
    while (g->at + length < g->end && is_word(g->at[length]))
        length++;
    return length;
}

static void copy_key(gml *g, size_t length)
{
    size_t kept = length < KEY_BYTES ? length : KEY_BYTES - 1;
    memcpy(g->key, g->at, kept);
    g->key[kept] = '\0';
    g->at += length;
}

static size_t put_utf8(unsigned long code, char *out)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char heads[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(heads[more] | code >> (6 * more));
    for (size_t k = 1; k <= more; k++)
        out[k] = (char)(0x80 | (code >> (6 * (more - k)) & 0x3f));
    return more + 1;
}

static const struct {
    const char *name;
    char value;
} entities[] = {{"quot;", '"'}, {"amp;", '&'}, {"lt;", '<'}, {"gt;", '>'}, {"apos;", '\''}};

/* "#252;" or "#xfc;" at `text`, in `left` bytes; 0: none, and never more bytes than it takes up. */
static size_t read_code(const char *text, size_t left, unsigned long *code)
{
    char digits[12];
    size_t length = 0;
    bool hexadecimal = left > 1 && (text[1] | 0x20) == 'x';
    size_t first = hexadecimal ? 2 : 1;
    while (first + length < left && length + 1 < sizeof digits && is_word(text[first + length])) {
        digits[length] = text[first + length];
        length++;
    }
    digits[length] = '\0';
    if (length == 0 || first + length == left || text[first + length] != ';')
        return 0;
    char *rest;
    *code = strtoul(digits, &rest, hexadecimal ? 16 : 10);
    bool surrogate = *code >= 0xd800 && *code < 0xe000;
    return *rest || *code == 0 || *code > 0x10ffff || surrogate || *digits == '-'
               ? 0
               : first + length + 1;
}

/* What "&...;" stands for into `out`; returns the bytes after "&" that it takes up, 0: none. */
static size_t read_entity(const char *text, size_t left, char *out, size_t *written)
{
    unsigned long code;
    for (size_t k = 0; k < sizeof entities / sizeof *entities; k++) {
        size_t length = strlen(entities[k].name);
        if (length <= left && memcmp(text, entities[k].name, length) == 0) {
            *out = entities[k].value;
            *written = 1;
            return length;
        }
    }
    size_t length = left > 0 && *text == '#' ? read_code(text, left, &code) : 0;
    if (length)
        *written = put_utf8(code, out);
    return length;
}

static edgeps_err read_text(gml *g, edgeps_diag *diag)
{
    size_t used = 0;
    int start = g->line;
    for (g->at++; g->at < g->end && *g->at != '"'; g->at++) {
        size_t written = 0, taken = 0;
        if (*g->at == '&')
            taken = read_entity(g->at + 1, (size_t)(g->end - g->at - 1), g->value + used, &written);
        g->line += *g->at == '\n';
        if (taken == 0)
            g->value[used++] = *g->at;
        used += written;
        g->at += taken;
    }
    if (g->at == g->end)
        return wrong(g, start, diag, "a text begins with \" and never ends");
    g->at++;
    g->value[used] = '\0';
    return EDGEPS_OK;
}

/* ---- what it says */

static edgeps_err take_name(gml *g, edgeps_diag *diag)
{
    char *copy = mem_copy_text(g->value);
    if (!copy)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for nodes");
    mem_free(g->node->name);
    g->node->name = copy;
    return EDGEPS_OK;
}

static edgeps_err take_end(gml *g, edgeps_diag *diag, int64_t *out)
{
    *out = topology_index_find(g->index, g->value);
    if (*out >= 0)
        return EDGEPS_OK;
    return diag_fail(diag, EDGEPS_FORMAT, "%s: no node has the id %.63s", g->key, g->value);
}

static edgeps_err take_value(gml *g, edgeps_diag *diag)
{
    topology_owner owner = {g->graph, NULL, NULL};
    if (g->place == GML_GRAPH && strcmp(g->key, "directed") == 0)
        g->directed = strcmp(g->value, "0") != 0;
    /* each pass has its own: graph and nodes the first, edges the second */
    if (g->place == GML_TOP || g->place == GML_OTHER || (g->place == GML_EDGE) != g->edges)
        return EDGEPS_OK;
    if (g->place == GML_NODE) {
        if (strcmp(g->key, "id") == 0)
            return take_name(g, diag);
        owner.node = g->node;
    }
    if (g->place == GML_EDGE) {
        if (strcmp(g->key, "source") == 0)
            return take_end(g, diag, &g->link.from);
        if (strcmp(g->key, "target") == 0)
            return take_end(g, diag, &g->link.to);
        owner.link = &g->link;
    }
    return topology_take(&owner, g->key, g->value, diag);
}

static edgeps_err open_list(gml *g, edgeps_diag *diag)
{
    g->start_line = g->place == GML_OTHER || g->place > GML_GRAPH ? g->start_line : g->line;
    if (g->place == GML_TOP && strcmp(g->key, "graph") == 0) {
        g->place = GML_GRAPH;
        return ++g->graphs > 1 ? wrong(g, g->line, diag, "a second graph; one a file is read")
                               : EDGEPS_OK;
    }
    if (g->place == GML_GRAPH && strcmp(g->key, "node") == 0) {
        g->place = GML_NODE;
        return g->edges ? EDGEPS_OK : topology_add_node(g->graph, "", diag, &g->node);
    }
    if (g->place == GML_GRAPH && strcmp(g->key, "edge") == 0) {
        g->place = GML_EDGE;
        g->link = topology_link_start(g->directed);
        return EDGEPS_OK;
    }
    if (g->place != GML_OTHER)
        g->behind = g->place;
    g->place = GML_OTHER;
    g->depth++;
    return EDGEPS_OK;
}

static edgeps_err close_list(gml *g, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    switch (g->place) {
    case GML_TOP:
        return wrong(g, g->line, diag, "a ] without its [");
    case GML_GRAPH:
        g->place = GML_TOP;
        break;
    case GML_NODE:
        if (!g->edges && !g->node->name[0])
            err = diag_fail(diag, EDGEPS_FORMAT, "id: is missing");
        g->place = GML_GRAPH;
        break;
    case GML_EDGE:
        if (g->edges)
            err = topology_add_link(g->graph, &g->link, diag);
        g->place = GML_GRAPH;
        break;
    case GML_OTHER:
        if (--g->depth == 0)
            g->place = g->behind;
        break;
    }
    return err;
}

/* The value of the key that was read. */
static edgeps_err read_value(gml *g, edgeps_diag *diag)
{
    skip_blanks(g);
    if (g->at < g->end && *g->at == '[') {
        g->at++;
        return open_list(g, diag);
    }
    edgeps_err err = EDGEPS_OK;
    if (g->at < g->end && *g->at == '"')
        err = read_text(g, diag);
    else {
        size_t length = word_length(g);
        if (length == 0)
            return wrong(g, g->line, diag, "a number, a text in \" or a [ is wanted");
        memcpy(g->value, g->at, length);
        g->value[length] = '\0';
        g->at += length;
    }
    return err ? err : take_value(g, diag);
}

/* One key with its value, or one "]". */
static edgeps_err read_pair(gml *g, edgeps_diag *diag)
{
    int line = g->line;
    place before = g->place;
    edgeps_err err = EDGEPS_OK;
    size_t length = word_length(g);
    if (*g->at == ']') {
        g->at++;
        err = close_list(g, diag);
    } else if (length == 0)
        return wrong(g, g->line, diag, "a key or a ] is wanted");
    else {
        copy_key(g, length);
        err = read_value(g, diag);
    }
    if (err && before == GML_NODE)
        return diag_wrap(diag, err, "node at line %d", g->start_line);
    if (err && before == GML_EDGE)
        return diag_wrap(diag, err, "edge at line %d", g->start_line);
    return err && before == GML_GRAPH ? diag_wrap(diag, err, "line %d", line) : err;
}

static edgeps_err read_pass(gml *g, const char *text, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    g->at = text;
    g->line = 1;
    g->graphs = 0;
    for (skip_blanks(g); !err && g->at < g->end; skip_blanks(g))
        err = read_pair(g, diag);
    if (!err && g->place != GML_TOP)
        err = wrong(g, g->line, diag, "the text ends before the last ]");
    if (!err && g->graphs == 0)
        err = diag_fail(diag, EDGEPS_FORMAT, "holds no \"graph [\"");
    return err;
}

edgeps_err gml_read(const char *text, size_t length, edgeps_diag *diag, topology *graph)
{
    gml g = {.end = text + length, .graph = graph, .value = mem_alloc(length + 1, 1)};
    edgeps_err err = EDGEPS_OK;
    if (!g.value)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for texts");
    err = read_pass(&g, text, diag);
    if (!err)
        err = topology_index(graph, diag, &g.index);
    g.edges = true;
    if (!err)
        err = read_pass(&g, text, diag);
    mem_free(g.value);
    json_decref(g.index);
    return err;
}
