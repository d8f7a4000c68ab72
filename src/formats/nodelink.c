/* NetworkX's node-link JSON: {"directed", "graph", "nodes", "edges" or "links"}. NetworkX 3.6 calls
 * the list of edges "edges", those before it "links"; before 2.0 its ends are places in the list of
 * nodes. Sources: networkx issues 1951 and 8611, pull request 7565. */
#include "formats/topology_int.h"

#include "base/mem.h"
#include "formats/json_int.h"

#include <stdlib.h>
#include <string.h>

/* A scalar as text that the attributes are read from; NULL is not what is there but no memory.
 * Lists, as ids of grids are, as their JSON. The caller frees with mem_free. */
static edgeps_err text_of(const json_t *value, edgeps_diag *diag, char **out)
{
    if (json_is_string(value))
        *out = mem_copy_text(json_string_value(value));
    else {
        char *printed = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
        *out = printed ? mem_copy_text(printed) : NULL;
        free(printed);
    }
    return *out ? EDGEPS_OK : diag_fail(diag, EDGEPS_NOMEM, "no memory for a text");
}

static edgeps_err take_all(const topology_owner *owner, const json_t *object, edgeps_diag *diag)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        char *text = NULL;
        if (json_is_object(value) || json_is_array(value) || json_is_null(value))
            continue;
        edgeps_err err = text_of(value, diag, &text);
        if (!err)
            err = topology_take(owner, key, text, diag);
        mem_free(text);
        if (err)
            return err;
    }
    return EDGEPS_OK;
}

/* A node without an id is called by its "name", as D3 does, or else by its place. */
static edgeps_err read_node(const json_t *object, topology *graph, edgeps_diag *diag)
{
    if (!json_is_object(object))
        return diag_fail(diag, EDGEPS_FORMAT, "must be an object in braces");
    const json_t *id = json_object_get(object, "id");
    json_t *place = json_integer((json_int_t)graph->node_count);
    char *name = NULL;
    topology_node *node = NULL;
    if (!id)
        id = json_object_get(object, "name");
    edgeps_err err = text_of(id ? id : place, diag, &name);
    json_decref(place);
    if (!err)
        err = topology_add_node(graph, name, diag, &node);
    mem_free(name);
    return err ? err : take_all(&(topology_owner){graph, node, NULL}, object, diag);
}

static edgeps_err read_nodes(const json_t *array, topology *graph, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    if (!json_is_array(array))
        return diag_fail(diag, EDGEPS_FORMAT, "nodes: must be an array of nodes");
    for (size_t k = 0; !err && k < json_array_size(array); k++)
        if ((err = read_node(json_array_get(array, k), graph, diag)))
            diag_wrap(diag, err, "nodes[%zu]", k);
    return err;
}

/* Where an end is no id, all ends are places in the list of nodes. */
static edgeps_err by_ids(const json_t *array, const json_t *index, edgeps_diag *diag, bool *out)
{
    static const char *const ends[] = {"source", "target"};
    for (size_t k = 0; k < 2 * json_array_size(array); k++) {
        const json_t *end = json_object_get(json_array_get(array, k / 2), ends[k % 2]);
        char *text;
        if (!json_is_integer(end))
            continue;
        edgeps_err err = text_of(end, diag, &text);
        if (err)
            return err;
        bool found = topology_index_find(index, text) >= 0;
        mem_free(text);
        if (!found) {
            *out = false;
            return EDGEPS_OK;
        }
    }
    *out = true;
    return EDGEPS_OK;
}

typedef struct ends {
    const topology *graph;
    const json_t *index;
    bool ids;
} ends;

static edgeps_err read_end(const json_t *object, const char *key, const ends *e, edgeps_diag *diag,
                           int64_t *out)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        return diag_fail(diag, EDGEPS_FORMAT, "%s: is missing", key);
    char *text;
    edgeps_err err = text_of(value, diag, &text);
    if (err)
        return err;
    int64_t found = topology_index_find(e->index, text);
    if (!e->ids && json_is_integer(value)) {
        json_int_t place = json_integer_value(value);
        found = place >= 0 && place < (json_int_t)e->graph->node_count ? place : -1;
    }
    if (found < 0)
        err = diag_fail(diag, EDGEPS_FORMAT, "%s: no node has the id '%.63s'", key, text);
    mem_free(text);
    *out = found;
    return err;
}

static edgeps_err read_link(const json_t *object, bool directed, const ends *e, topology *graph,
                            edgeps_diag *diag)
{
    topology_link link = topology_link_start(directed);
    edgeps_err err = EDGEPS_OK;
    if (!json_is_object(object))
        err = diag_fail(diag, EDGEPS_FORMAT, "must be an object in braces");
    if (!err)
        err = read_end(object, "source", e, diag, &link.from);
    if (!err)
        err = read_end(object, "target", e, diag, &link.to);
    if (!err)
        err = take_all(&(topology_owner){graph, NULL, &link}, object, diag);
    return err ? err : topology_add_link(graph, &link, diag);
}

static edgeps_err read_links(const json_t *array, const char *key, bool directed, topology *graph,
                             edgeps_diag *diag)
{
    json_t *index = NULL;
    ends e = {.graph = graph};
    edgeps_err err = topology_index(graph, diag, &index);
    e.index = index;
    if (!err)
        err = by_ids(array, index, diag, &e.ids);
    for (size_t k = 0; !err && k < json_array_size(array); k++)
        if ((err = read_link(json_array_get(array, k), directed, &e, graph, diag)))
            diag_wrap(diag, err, "%s[%zu]", key, k);
    json_decref(index);
    return err;
}

static edgeps_err find_links(const json_t *root, edgeps_diag *diag, const char **key)
{
    const json_t *edges = json_object_get(root, "edges"), *links = json_object_get(root, "links");
    *key = edges ? "edges" : "links";
    if (edges && links)
        return diag_fail(diag, EDGEPS_FORMAT, "has \"edges\" and \"links\"; keep one of them");
    if (!edges && !links)
        return diag_fail(diag, EDGEPS_FORMAT,
                         "has neither \"edges\" nor \"links\"; save it with networkx's "
                         "node_link_data");
    if (!json_is_array(edges ? edges : links))
        return diag_fail(diag, EDGEPS_FORMAT, "%s: must be an array of edges", *key);
    return EDGEPS_OK;
}

static edgeps_err read_root(const json_t *root, topology *graph, edgeps_diag *diag)
{
    const char *key;
    const json_t *about = json_object_get(root, "graph");
    if (!json_is_object(root))
        return diag_fail(diag, EDGEPS_FORMAT, "must be an object in braces");
    if (json_object_get(root, "edgeps"))
        return diag_fail(diag, EDGEPS_FORMAT, "is a file of edgeps itself, no foreign topology");
    edgeps_err err = find_links(root, diag, &key);
    if (!err && json_is_object(about))
        err = take_all(&(topology_owner){graph, NULL, NULL}, about, diag);
    if (!err)
        err = read_nodes(json_object_get(root, "nodes"), graph, diag);
    if (!err)
        err = read_links(json_object_get(root, key), key,
                         json_is_true(json_object_get(root, "directed")), graph, diag);
    return err;
}

edgeps_err nodelink_read(const char *text, size_t length, edgeps_diag *diag, topology *graph)
{
    json_t *root = NULL;
    edgeps_err err = json_parse(text, length, diag, &root);
    if (!err)
        err = read_root(root, graph, diag);
    json_decref(root);
    return err;
}
