#include "formats/network_sketch.h"

#include "base/mem.h"
#include "formats/json_int.h"
#include "formats/network_json.h"

#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES (INT64_C(1) << 30)

/* Puts a value where none is; whether it did. */
static bool fill(json_t *node, const char *key, const char *value)
{
    return !json_object_get(node, key) && json_object_set_new(node, key, json_string(value)) == 0;
}

static network_gap fill_node(json_t *node)
{
    return (network_gap){
        .up = fill(node, "up", "1 B/s"),
        .down = fill(node, "down", "1 B/s"),
        .compute =
            !json_is_false(json_object_get(node, "train")) && fill(node, "compute", "1 samples/s"),
        .free = !json_is_false(json_object_get(node, "serve")) && fill(node, "free", "1 B"),
    };
}

/* The strict reader sees a file without gaps. */
static edgeps_err read(json_t *root, const char *path, edgeps_diag *diag, network_sketch *s)
{
    json_t *nodes = json_object_get(root, "nodes");
    size_t count = json_array_size(nodes);
    s->gaps = mem_alloc(count > 0 ? count : 1, sizeof *s->gaps);
    if (!s->gaps)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for %zu nodes", count);
    s->latency = !json_object_get(root, "latency") && !json_object_get(root, "sites") &&
                 !json_object_get(root, "pairs");
    for (size_t i = 0; i < count; i++) {
        json_t *node = json_array_get(nodes, i);
        if (!json_is_object(node))
            continue;
        s->gaps[i] = fill_node(node);
        s->latency = s->latency && !json_object_get(node, "latency");
    }
    char *text = json_dumps(root, JSON_COMPACT);
    if (!text)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for the file");
    edgeps_err err = network_json_parse(text, strlen(text), path, diag, &s->net);
    free(text);
    return err;
}

/* Each node gets a site of its own, between which latencies can be put. */
static edgeps_err spread(network_sketch *s, edgeps_diag *diag)
{
    network *net = NULL, *old = s->net;
    edgeps_err err = network_make(old->count, diag, &net);
    if (err)
        return err;
    for (size_t i = 0; i < net->count; i++) {
        network_node blank = net->nodes[i];
        net->nodes[i] = old->nodes[i];
        net->nodes[i].site = blank.site;
        old->nodes[i] = blank;
    }
    net->name = old->name;
    net->events = old->events;
    net->event_count = old->event_count;
    old->name = NULL;
    old->events = NULL;
    old->event_count = 0;
    network_free(old);
    s->net = net;
    return EDGEPS_OK;
}

edgeps_err network_sketch_load(const char *path, edgeps_diag *diag, network_sketch *out)
{
    char *text = NULL;
    size_t length;
    json_t *root = NULL;
    network_sketch s = {.net = NULL};
    edgeps_err err = json_read_file(path, MAX_FILE_BYTES, diag, &text, &length);
    if (err)
        return err;
    err = json_parse(text, length, diag, &root);
    if (err)
        err = diag_wrap(diag, err, "%s", path);
    if (!err)
        err = read(root, path, diag, &s);
    if (!err && s.latency)
        err = spread(&s, diag);
    json_decref(root);
    mem_free(text);
    if (err)
        network_sketch_free(&s);
    else
        *out = s;
    return err;
}

void network_sketch_free(network_sketch *s)
{
    network_free(s->net);
    mem_free(s->gaps);
    *s = (network_sketch){.net = NULL};
}
