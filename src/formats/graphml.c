/* GraphML (graphml.graphdrawing.org), with the attributes of the Topology Zoo and the drawings that
 * yEd puts in. Elements are gone through in the order of the document, nodes before edges, in
 * nested graphs as well. Nothing is fetched, and a document that declares entities is refused. */
#include "formats/topology_int.h"

#include "base/mem.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdlib.h>
#include <string.h>

#define MOST_KEYS 1000

/* What the <key>s say; `name` is attr.name, or for drawings "nodegraphics" and "edgegraphics". */
typedef struct graphml_key {
    xmlChar *id;
    xmlChar *name;
    xmlNode *preset; /* <default> or NULL */
    bool of_nodes;
    bool of_edges;
    bool of_graphs;
} graphml_key;

typedef struct graphml {
    topology *graph;
    json_t *index;
    graphml_key *keys;
    size_t key_count;
    bool directed;
} graphml;

static bool is(const xmlNode *element, const char *name)
{
    return element->type == XML_ELEMENT_NODE && strcmp((const char *)element->name, name) == 0;
}

static edgeps_err no_memory(edgeps_diag *diag)
{
    return diag_fail(diag, EDGEPS_NOMEM, "no memory for a document");
}

/* The next element in the order of the document, children before siblings; NULL at the end. */
static xmlNode *next_element(xmlNode *at, const xmlNode *root)
{
    do {
        if (at->type == XML_ELEMENT_NODE && at->children)
            at = at->children;
        else {
            while (at != root && !at->next)
                at = at->parent;
            if (at == root)
                return NULL;
            at = at->next;
        }
    } while (at->type != XML_ELEMENT_NODE);
    return at;
}

static xmlNode *first_child(const xmlNode *parent, const char *name)
{
    xmlNode *child = parent->children;
    while (child && !is(child, name))
        child = child->next;
    return child;
}

static bool attribute_is(xmlNode *element, const char *name, const char *value)
{
    xmlChar *text = xmlGetProp(element, (const xmlChar *)name);
    bool same = text && strcmp((const char *)text, value) == 0;
    xmlFree(text);
    return same;
}

static edgeps_err wrap(const xmlNode *element, edgeps_diag *diag, edgeps_err err)
{
    if (!err)
        return EDGEPS_OK;
    if (diag)
        diag->line = (int)xmlGetLineNo(element);
    return diag_wrap(diag, err, "line %ld: %s", xmlGetLineNo(element), (const char *)element->name);
}

/* ---- keys */

static void read_key(xmlNode *element, graphml_key *key)
{
    bool all = !xmlHasProp(element, (const xmlChar *)"for") || attribute_is(element, "for", "all");
    key->of_nodes = all || attribute_is(element, "for", "node");
    key->of_edges = all || attribute_is(element, "for", "edge");
    key->of_graphs = all || attribute_is(element, "for", "graph");
    key->id = xmlGetProp(element, (const xmlChar *)"id");
    key->name = xmlGetProp(element, (const xmlChar *)"attr.name");
    if (!key->name)
        key->name = xmlGetProp(element, (const xmlChar *)"yfiles.type");
    key->preset = first_child(element, "default");
}

static edgeps_err read_keys(graphml *g, const xmlNode *root, edgeps_diag *diag)
{
    size_t count = 0;
    for (xmlNode *child = root->children; child; child = child->next)
        count += is(child, "key");
    if (count > MOST_KEYS)
        return diag_fail(diag, EDGEPS_FORMAT, "has more than %d keys", MOST_KEYS);
    g->keys = mem_alloc(count, sizeof *g->keys);
    if (!g->keys)
        return no_memory(diag);
    for (xmlNode *child = root->children; child; child = child->next)
        if (is(child, "key"))
            read_key(child, &g->keys[g->key_count++]);
    return EDGEPS_OK;
}

static void free_keys(graphml *g)
{
    for (size_t k = 0; k < g->key_count; k++) {
        xmlFree(g->keys[k].id);
        xmlFree(g->keys[k].name);
    }
    mem_free(g->keys);
}

/* ---- data */

static edgeps_err take_content(const topology_owner *owner, const char *key, xmlNode *element,
                               edgeps_diag *diag)
{
    xmlChar *text = xmlNodeGetContent(element);
    if (!text)
        return no_memory(diag);
    edgeps_err err = topology_take(owner, key, (const char *)text, diag);
    xmlFree(text);
    return err;
}

/* yEd draws a link that has no direction as an edge without arrow heads, in a graph whose edges are
 * directed. */
static edgeps_err take_drawing(const topology_owner *owner, xmlNode *data, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    for (xmlNode *at = next_element(data, data); !err && at; at = next_element(at, data)) {
        bool label = is(at, owner->node ? "NodeLabel" : "EdgeLabel");
        if (label)
            err = take_content(owner, "label", at, diag);
        if (owner->link && is(at, "Arrows") && attribute_is(at, "source", "none") &&
            attribute_is(at, "target", "none"))
            owner->link->directed = false;
    }
    return err;
}

static edgeps_err take_data(const graphml *g, const topology_owner *owner, const char *id,
                            xmlNode *data, edgeps_diag *diag)
{
    for (size_t k = 0; k < g->key_count; k++) {
        const graphml_key *key = &g->keys[k];
        bool meant = owner->node ? key->of_nodes : owner->link ? key->of_edges : key->of_graphs;
        if (!meant || !key->id || !key->name || strcmp((const char *)key->id, id) != 0)
            continue;
        const char *name = (const char *)key->name;
        if (strcmp(name, "nodegraphics") == 0 || strcmp(name, "edgegraphics") == 0)
            return take_drawing(owner, data, diag);
        return take_content(owner, name, data, diag);
    }
    return EDGEPS_OK;
}

static edgeps_err take_presets(const graphml *g, const topology_owner *owner, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t k = 0; !err && k < g->key_count; k++)
        if (g->keys[k].preset && g->keys[k].id)
            err = take_data(g, owner, (const char *)g->keys[k].id, g->keys[k].preset, diag);
    return err;
}

static edgeps_err take_all(const graphml *g, const topology_owner *owner, const xmlNode *element,
                           edgeps_diag *diag)
{
    edgeps_err err = take_presets(g, owner, diag);
    for (xmlNode *child = element->children; !err && child; child = child->next) {
        xmlChar *id = is(child, "data") ? xmlGetProp(child, (const xmlChar *)"key") : NULL;
        if (id)
            err = take_data(g, owner, (const char *)id, child, diag);
        xmlFree(id);
    }
    return err;
}

/* ---- elements */

static edgeps_err read_node(graphml *g, xmlNode *element, edgeps_diag *diag)
{
    topology_node *node = NULL;
    xmlChar *id = xmlGetProp(element, (const xmlChar *)"id");
    edgeps_err err = id && *id ? topology_add_node(g->graph, (const char *)id, diag, &node)
                               : diag_fail(diag, EDGEPS_FORMAT, "id: is missing");
    xmlFree(id);
    if (err)
        return err;
    err = take_all(g, &(topology_owner){g->graph, node, NULL}, element, diag);
    node->junction |= first_child(element, "graph") != NULL; /* a frame around others */
    return err;
}

static edgeps_err read_end(const graphml *g, xmlNode *element, const char *key, edgeps_diag *diag,
                           int64_t *out)
{
    xmlChar *id = xmlGetProp(element, (const xmlChar *)key);
    edgeps_err err = EDGEPS_OK;
    *out = id ? topology_index_find(g->index, (const char *)id) : -1;
    if (id && *out < 0)
        err =
            diag_fail(diag, EDGEPS_FORMAT, "%s: no node has the id '%.63s'", key, (const char *)id);
    xmlFree(id);
    return err;
}

static edgeps_err read_edge(graphml *g, xmlNode *element, edgeps_diag *diag)
{
    topology_link link = topology_link_start(g->directed);
    if (xmlHasProp(element, (const xmlChar *)"directed"))
        link.directed = attribute_is(element, "directed", "true");
    edgeps_err err = read_end(g, element, "source", diag, &link.from);
    if (!err)
        err = read_end(g, element, "target", diag, &link.to);
    if (!err)
        err = take_all(g, &(topology_owner){g->graph, NULL, &link}, element, diag);
    return err ? err : topology_add_link(g->graph, &link, diag);
}

static edgeps_err read_nodes(graphml *g, xmlNode *top, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    for (xmlNode *at = next_element(top, top); !err && at; at = next_element(at, top)) {
        if (is(at, "node"))
            err = wrap(at, diag, read_node(g, at, diag));
        else if (is(at, "hyperedge"))
            err = wrap(at, diag,
                       diag_fail(diag, EDGEPS_FORMAT, "is not read; make it a node with edges"));
    }
    return err;
}

static edgeps_err read_edges(graphml *g, xmlNode *top, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    for (xmlNode *at = next_element(top, top); !err && at; at = next_element(at, top))
        if (is(at, "edge"))
            err = wrap(at, diag, read_edge(g, at, diag));
    return err;
}

static edgeps_err find_graph(const xmlNode *root, edgeps_diag *diag, xmlNode **out)
{
    if (!root || !is(root, "graphml"))
        return diag_fail(diag, EDGEPS_FORMAT, "is XML, but its first element is no <graphml>");
    *out = first_child(root, "graph");
    if (!*out)
        return diag_fail(diag, EDGEPS_FORMAT, "holds no <graph>");
    for (xmlNode *other = (*out)->next; other; other = other->next)
        if (is(other, "graph"))
            return wrap(other, diag,
                        diag_fail(diag, EDGEPS_FORMAT, "is the second; one a file is read"));
    return EDGEPS_OK;
}

static edgeps_err read_root(xmlNode *root, topology *graph, edgeps_diag *diag)
{
    graphml g = {.graph = graph};
    xmlNode *top = NULL;
    edgeps_err err = find_graph(root, diag, &top);
    if (err)
        return err;
    g.directed = attribute_is(top, "edgedefault", "directed");
    err = read_keys(&g, root, diag);
    if (!err)
        err = take_all(&g, &(topology_owner){graph, NULL, NULL}, top, diag);
    if (!err)
        err = read_nodes(&g, top, diag);
    if (!err)
        err = topology_index(graph, diag, &g.index);
    if (!err)
        err = read_edges(&g, top, diag);
    free_keys(&g);
    json_decref(g.index);
    return err;
}

/* ---- the document */

static void refuse_entity(void *parser, const xmlChar *name, int type, const xmlChar *public_id,
                          const xmlChar *system_id, xmlChar *content)
{
    (void)name, (void)type, (void)public_id, (void)system_id, (void)content;
    xmlStopParser(parser);
}

static edgeps_err broken(xmlParserCtxt *parser, edgeps_diag *diag)
{
    const xmlError *error = xmlCtxtGetLastError(parser);
    if (parser->errNo == XML_ERR_NO_MEMORY)
        return no_memory(diag);
    if (parser->errNo == XML_ERR_USER_STOP || !error)
        return diag_fail(diag, EDGEPS_FORMAT,
                         "declares entities, which are not read; write the texts out");
    size_t length = error->message ? strcspn(error->message, "\n") : 0;
    edgeps_err err = diag_fail(diag, EDGEPS_FORMAT, "line %d: %.*s", error->line, (int)length,
                               error->message ? error->message : "");
    if (diag)
        diag->line = error->line;
    return err;
}

edgeps_err graphml_read(const char *text, size_t length, edgeps_diag *diag, topology *graph)
{
    xmlParserCtxt *parser = xmlNewParserCtxt();
    if (!parser)
        return no_memory(diag);
    parser->sax->entityDecl = refuse_entity;
    xmlDoc *document = xmlCtxtReadMemory(parser, text, (int)length, NULL, NULL,
                                         XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
                                             XML_PARSE_NOCDATA);
    /* Of a parser that was stopped, what came before is there. */
    bool whole = document && parser->errNo != XML_ERR_USER_STOP;
    edgeps_err err =
        whole ? read_root(xmlDocGetRootElement(document), graph, diag) : broken(parser, diag);
    xmlFreeDoc(document);
    xmlFreeParserCtxt(parser);
    return err;
}
