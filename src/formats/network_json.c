#include "formats/network_json.h"

#include "base/mem.h"
#include "formats/json_int.h"
#include "formats/network_json_int.h"
#include "formats/quantity.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_FILE_BYTES (INT64_C(1) << 30)
#define MAX_ACCESS_S 86400.0 /* the sum of two stays a quantity that can be written */

static const char *const network_keys[] = {"edgeps",  "name",  "nodes",    "sites",
                                           "latency", "pairs", "scenario", NULL};
static const char *const node_keys[] = {"name",    "address", "site", "up",    "down",  "latency",
                                        "compute", "sum",     "free", "train", "serve", NULL};
static const char *const pair_keys[] = {"from", "to", "cap", "latency", NULL};
static const char *const event_keys[] = {"epoch", "at",       "node", "free",    "fill",
                                         "up",    "down",     "cut",  "latency", "compute",
                                         "heal",  "continue", "kill", "stop",    NULL};

static edgeps_err read_bool(const json_t *object, const char *key, edgeps_diag *diag, bool *out)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        return EDGEPS_OK;
    if (!json_is_boolean(value))
        return diag_fail(diag, EDGEPS_FORMAT, "%s: must be true or false", key);
    *out = json_is_true(value);
    return EDGEPS_OK;
}

static edgeps_err read_value(const json_t *value, quantity_kind kind, edgeps_diag *diag,
                             double *out)
{
    if (json_is_number(value))
        return diag_fail(diag, EDGEPS_FORMAT,
                         "a bare number has no unit; write a text with one, such as %s",
                         kind == QUANTITY_RATE   ? "\"20 Mbit/s\""
                         : kind == QUANTITY_SIZE ? "\"512 MiB\""
                         : kind == QUANTITY_TIME ? "\"15 ms\""
                                                 : "\"900 samples/s\"");
    if (!json_is_string(value))
        return diag_fail(diag, EDGEPS_FORMAT, "must be a text with a unit");
    return quantity_parse(kind, json_string_value(value), diag, out);
}

static edgeps_err read_quantity(const json_t *object, const char *key, quantity_kind kind,
                                edgeps_diag *diag, double *out)
{
    const json_t *value = json_object_get(object, key);
    edgeps_err err = value ? read_value(value, kind, diag, out) : EDGEPS_OK;
    return err ? diag_wrap(diag, err, "%s", key) : EDGEPS_OK;
}

static edgeps_err need(const json_t *object, const char *key, const char *example,
                       edgeps_diag *diag)
{
    if (json_object_get(object, key))
        return EDGEPS_OK;
    return diag_fail(diag, EDGEPS_FORMAT, "%s: is missing; give one, such as %s", key, example);
}

static edgeps_err read_text(const json_t *object, const char *key, edgeps_diag *diag, char **out)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        return EDGEPS_OK;
    if (!json_is_string(value))
        return diag_fail(diag, EDGEPS_FORMAT, "%s: must be a text", key);
    *out = mem_copy_text(json_string_value(value));
    return *out ? EDGEPS_OK : diag_fail(diag, EDGEPS_NOMEM, "no memory for a text");
}

static edgeps_err read_rates(const json_t *object, network_node *node, edgeps_diag *diag)
{
    double free_bytes = 0;
    edgeps_err err = need(object, "up", "\"20 Mbit/s\"", diag);
    if (!err)
        err = need(object, "down", "\"20 Mbit/s\"", diag);
    if (!err && node->serve)
        err = need(object, "free", "\"512 MiB\", or \"serve\": false", diag);
    if (!err)
        err = read_quantity(object, "up", QUANTITY_RATE, diag, &node->up_bytes_per_s);
    if (!err)
        err = read_quantity(object, "down", QUANTITY_RATE, diag, &node->down_bytes_per_s);
    if (!err)
        err = read_quantity(object, "compute", QUANTITY_SPEED, diag, &node->compute_samples_per_s);
    if (!err)
        err = read_quantity(object, "sum", QUANTITY_RATE, diag, &node->sum_bytes_per_s);
    if (!err)
        err = read_quantity(object, "free", QUANTITY_SIZE, diag, &free_bytes);
    node->free_bytes = err ? 0 : (int64_t)free_bytes;
    return err;
}

static edgeps_err read_node(const json_t *object, network_node *node, edgeps_diag *diag)
{
    edgeps_err err = json_check_keys(object, node_keys, diag);
    if (!err)
        err = read_text(object, "name", diag, &node->name);
    if (!err && !node->name)
        err = diag_fail(diag, EDGEPS_FORMAT, "name: is missing");
    if (!err)
        err = read_text(object, "address", diag, &node->address);
    if (!err)
        err = read_bool(object, "train", diag, &node->train);
    if (!err)
        err = read_bool(object, "serve", diag, &node->serve);
    if (!err)
        err = read_rates(object, node, diag);
    if (!err)
        err = read_quantity(object, "latency", QUANTITY_TIME, diag, &node->access_s);
    if (!err && node->access_s > MAX_ACCESS_S)
        err = diag_fail(diag, EDGEPS_FORMAT, "latency: is more than a day");
    return err;
}

static edgeps_err wrap_node(edgeps_diag *diag, edgeps_err err, size_t i, const char *name)
{
    return name ? diag_wrap(diag, err, "nodes[%zu] '%.63s'", i, name)
                : diag_wrap(diag, err, "nodes[%zu]", i);
}

/* The index of the site called `name`, or -1. */
static int64_t find_site(const network *net, const char *name)
{
    for (size_t s = 0; s < net->site_count; s++)
        if (net->site_names[s] && strcmp(net->site_names[s], name) == 0)
            return (int64_t)s;
    return -1;
}

static edgeps_err read_sites(const json_t *array, network *net, edgeps_diag *diag)
{
    net->site_names = mem_alloc(net->site_count, sizeof *net->site_names);
    if (!net->site_names)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for sites");
    for (size_t s = 0; s < net->site_count; s++) {
        const char *name = json_string_value(json_array_get(array, s));
        if (!name || !*name || strlen(name) > NETWORK_MAX_NAME)
            return diag_fail(diag, EDGEPS_FORMAT, "sites[%zu]: must be a name of 1 to %d bytes", s,
                             NETWORK_MAX_NAME);
        if (find_site(net, name) >= 0)
            return diag_fail(diag, EDGEPS_FORMAT, "sites[%zu] '%.63s': is named twice", s, name);
        net->site_names[s] = mem_copy_text(name);
        if (!net->site_names[s])
            return diag_fail(diag, EDGEPS_NOMEM, "no memory for sites");
    }
    return EDGEPS_OK;
}

static edgeps_err read_site(const json_t *object, const network *net, network_node *node,
                            edgeps_diag *diag)
{
    const json_t *value = json_object_get(object, "site");
    if (!net->site_names)
        return value ? diag_fail(diag, EDGEPS_FORMAT,
                                 "site: the file names no \"sites\"; list them or leave it out")
                     : EDGEPS_OK;
    const char *name = json_string_value(value);
    if (!name)
        return diag_fail(diag, EDGEPS_FORMAT, "site: must be one of the file's \"sites\"");
    int64_t found = find_site(net, name);
    if (found < 0)
        return diag_fail(diag, EDGEPS_FORMAT, "site: no site is called '%.63s'", name);
    node->site = (uint32_t)found;
    return EDGEPS_OK;
}

/* Pairs of nodes have times of their own: they take up what the nodes say of theirs. */
static void fold_access(network *net)
{
    size_t n = net->count;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (i != j)
                net->latency_s[i * n + j] += net->nodes[i].access_s + net->nodes[j].access_s;
    for (size_t i = 0; i < n; i++)
        net->nodes[i].access_s = 0;
}

static bool has_own_pairs(const network *net) { return !net->site_names && net->site_count > 1; }

/* A node's own latency is that of its access link: two of them add up on a path. */
static edgeps_err read_nodes(const json_t *array, network *net, bool matrix, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t i = 0; !err && i < net->count; i++) {
        const json_t *object = json_array_get(array, i);
        if (matrix && !net->site_names && json_object_get(object, "latency"))
            err =
                diag_fail(diag, EDGEPS_FORMAT,
                          "latency: is given by the matrix \"latency\" already; keep one of them");
        if (!err)
            err = read_node(object, &net->nodes[i], diag);
        if (!err)
            err = read_site(object, net, &net->nodes[i], diag);
        if (!err && network_find(net, net->nodes[i].name) != (int64_t)i)
            err = diag_fail(diag, EDGEPS_FORMAT, "name: is used twice; every node needs its own");
        if (err)
            err = wrap_node(diag, err, i, net->nodes[i].name);
    }
    if (!err && has_own_pairs(net))
        fold_access(net);
    return err;
}

static edgeps_err read_matrix(const json_t *rows, network *net, edgeps_diag *diag)
{
    size_t n = net->site_count;
    if (!json_is_array(rows) || json_array_size(rows) != n)
        return diag_fail(diag, EDGEPS_FORMAT, "latency: must be an array of %zu rows", n);
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(rows, i);
        if (!json_is_array(row) || json_array_size(row) != n)
            return diag_fail(diag, EDGEPS_FORMAT, "latency[%zu]: must be an array of %zu texts", i,
                             n);
        for (size_t j = 0; j < n; j++) {
            double *at = &net->latency_s[i * n + j];
            edgeps_err err = read_value(json_array_get(row, j), QUANTITY_TIME, diag, at);
            if (!err && i == j && *at != 0 && !net->site_names)
                err = diag_fail(diag, EDGEPS_FORMAT, "a node is at no distance from itself");
            if (err)
                return diag_wrap(diag, err, "latency[%zu][%zu]", i, j);
        }
    }
    return EDGEPS_OK;
}

static edgeps_err read_named(const json_t *object, const char *key, const network *net,
                             edgeps_diag *diag, size_t *out)
{
    const char *name = json_string_value(json_object_get(object, key));
    if (!name)
        return diag_fail(diag, EDGEPS_FORMAT, "%s: must be the name of a node", key);
    int64_t found = network_find(net, name);
    if (found < 0)
        return diag_fail(diag, EDGEPS_FORMAT, "%s: no node is called '%.63s'", key, name);
    *out = (size_t)found;
    return EDGEPS_OK;
}

/* One end of a pair: a site where the file has sites, else a node. */
static edgeps_err read_end(const json_t *object, const char *key, const network *net,
                           edgeps_diag *diag, size_t *out)
{
    if (!net->site_names)
        return read_named(object, key, net, diag, out);
    const char *name = json_string_value(json_object_get(object, key));
    int64_t found = name ? find_site(net, name) : -1;
    if (found < 0)
        return diag_fail(diag, EDGEPS_FORMAT, "%s: must be one of the file's \"sites\"", key);
    *out = (size_t)found;
    return EDGEPS_OK;
}

/* `seen` has a place for every direction. */
static edgeps_err read_pair(const json_t *object, network *net, bool *seen, edgeps_diag *diag)
{
    size_t from, to;
    edgeps_err err = json_check_keys(object, pair_keys, diag);
    if (!err)
        err = read_end(object, "from", net, diag, &from);
    if (!err)
        err = read_end(object, "to", net, diag, &to);
    if (!err && from == to && !net->site_names)
        err = diag_fail(diag, EDGEPS_FORMAT, "to: is the node that it comes from");
    if (!err && !json_object_get(object, "cap") && !json_object_get(object, "latency"))
        err = diag_fail(diag, EDGEPS_FORMAT, "says nothing; give cap, latency, or both");
    if (err)
        return err;
    size_t at = from * net->site_count + to;
    if (seen[at])
        return diag_fail(diag, EDGEPS_FORMAT,
                         "this direction is given twice; keep one, with cap and latency in it");
    seen[at] = true;
    err = read_quantity(object, "cap", QUANTITY_RATE, diag, &net->cap_bytes_per_s[at]);
    return err ? err : read_quantity(object, "latency", QUANTITY_TIME, diag, &net->latency_s[at]);
}

static edgeps_err read_when(const json_t *object, network_event *event, edgeps_diag *diag)
{
    const json_t *epoch = json_object_get(object, "epoch");
    if (!epoch == !json_object_get(object, "at"))
        return diag_fail(diag, EDGEPS_FORMAT,
                         "needs either \"epoch\": 2 or \"at\": \"30 s\", to say when");
    if (!epoch)
        return read_quantity(object, "at", QUANTITY_TIME, diag, &event->at_s);
    if (!json_is_integer(epoch) || json_integer_value(epoch) < 1 ||
        json_integer_value(epoch) > INT32_MAX)
        return diag_fail(diag, EDGEPS_FORMAT, "epoch: must be a whole number from 1");
    event->epoch = (int)json_integer_value(epoch);
    return EDGEPS_OK;
}

static const struct {
    const char *key;
    network_change change;
    quantity_kind kind;
    bool strike; /* true instead of a quantity */
} changes[] = {
    {"free", NETWORK_FREE, QUANTITY_SIZE, false},
    {"up", NETWORK_UP, QUANTITY_RATE, false},
    {"down", NETWORK_DOWN, QUANTITY_RATE, false},
    {"compute", NETWORK_COMPUTE, QUANTITY_SPEED, false},
    {"kill", NETWORK_KILL, QUANTITY_TIME, true},
    {"stop", NETWORK_STOP, QUANTITY_TIME, true},
    {"latency", NETWORK_LATENCY, QUANTITY_TIME, false},
    {"fill", NETWORK_FILL, QUANTITY_SIZE, false},
    {"continue", NETWORK_CONTINUE, QUANTITY_TIME, true},
    {"cut", NETWORK_CUT, QUANTITY_TIME, true},
    {"heal", NETWORK_HEAL, QUANTITY_TIME, true},
};

static edgeps_err read_change(const json_t *object, network_event *event, edgeps_diag *diag)
{
    size_t found = 0;
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        const json_t *value = json_object_get(object, changes[k].key);
        if (!value)
            continue;
        found++;
        event->change = changes[k].change;
        if (changes[k].strike && !json_is_true(value))
            return diag_fail(diag, EDGEPS_FORMAT, "%s: must be true", changes[k].key);
        edgeps_err err = changes[k].strike ? EDGEPS_OK
                                           : read_quantity(object, changes[k].key, changes[k].kind,
                                                           diag, &event->value);
        if (err)
            return err;
    }
    if (found == 1 && event->change == NETWORK_COMPUTE && event->value == 0)
        return diag_fail(diag, EDGEPS_FORMAT,
                         "compute: must be above 0; a node falls out by \"kill\" or \"stop\"");
    if (found == 1 && event->change == NETWORK_LATENCY && event->value > MAX_ACCESS_S)
        return diag_fail(diag, EDGEPS_FORMAT, "latency: is more than a day");
    if (found == 1)
        return EDGEPS_OK;
    return diag_fail(diag, EDGEPS_FORMAT,
                     "needs exactly one of free, fill, up, down, latency, compute, kill, stop, "
                     "continue, cut, heal, to say what");
}

edgeps_err network_json_event(const json_t *object, const network *net, network_event *event,
                              edgeps_diag *diag)
{
    size_t node;
    edgeps_err err = json_check_keys(object, event_keys, diag);
    if (!err)
        err = read_named(object, "node", net, diag, &node);
    if (!err)
        err = read_when(object, event, diag);
    if (!err)
        err = read_change(object, event, diag);
    if (!err)
        event->node = (uint32_t)node;
    return err;
}

/* The elements of an optional array, one by one. */
static edgeps_err read_pairs(const json_t *array, network *net, edgeps_diag *diag)
{
    if (array && !json_is_array(array))
        return diag_fail(diag, EDGEPS_FORMAT, "pairs: must be an array");
    bool *seen = mem_alloc(net->site_count * net->site_count, sizeof *seen);
    if (!seen)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for pairs");
    edgeps_err err = EDGEPS_OK;
    for (size_t k = 0; !err && k < json_array_size(array); k++)
        if ((err = read_pair(json_array_get(array, k), net, seen, diag)))
            diag_wrap(diag, err, "pairs[%zu]", k);
    mem_free(seen);
    return err;
}

static edgeps_err read_scenario(const json_t *array, network *net, edgeps_diag *diag)
{
    if (array && !json_is_array(array))
        return diag_fail(diag, EDGEPS_FORMAT, "scenario: must be an array");
    net->events = mem_alloc(json_array_size(array), sizeof *net->events);
    if (!net->events)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for the scenario");
    net->event_count = json_array_size(array);
    for (size_t k = 0; k < net->event_count; k++) {
        edgeps_err err = network_json_event(json_array_get(array, k), net, &net->events[k], diag);
        if (err)
            return diag_wrap(diag, err, "scenario[%zu]", k);
    }
    return EDGEPS_OK;
}

static edgeps_err check_version(const json_t *root, edgeps_diag *diag)
{
    const char *version = json_string_value(json_object_get(root, "edgeps"));
    if (version && strcmp(version, "network/1") == 0)
        return EDGEPS_OK;
    return diag_fail(diag, EDGEPS_FORMAT,
                     version ? "edgeps: version '%s' is not known; this program reads \"network/1\""
                             : "edgeps: is missing; a network file says \"edgeps\": \"network/1\"",
                     version);
}

/* Without sites, matrix and pairs, nothing but the nodes' own latencies lies between them: one site
 * is enough. */
static edgeps_err make_network(const json_t *root, edgeps_diag *diag, network **out)
{
    size_t count = json_array_size(json_object_get(root, "nodes"));
    const json_t *sites = json_object_get(root, "sites");
    if (!sites && (json_object_get(root, "latency") || json_object_get(root, "pairs")))
        return network_make(count, diag, out);
    if (!sites)
        return network_make_sites(count, 1, diag, out);
    if (json_array_size(sites) == 0 || json_array_size(sites) > NETWORK_MAX_SITES)
        return diag_fail(diag, EDGEPS_FORMAT, "sites: must be an array of 1 to %d names",
                         NETWORK_MAX_SITES);
    edgeps_err err = network_make_sites(count, json_array_size(sites), diag, out);
    return err ? err : read_sites(sites, *out, diag);
}

static edgeps_err read_network(const json_t *root, edgeps_diag *diag, network **out)
{
    network *net = NULL;
    const json_t *nodes = json_object_get(root, "nodes");
    const json_t *matrix = json_object_get(root, "latency");
    edgeps_err err = json_check_keys(root, network_keys, diag);
    if (!err)
        err = check_version(root, diag);
    if (!err && !json_is_array(nodes))
        err = diag_fail(diag, EDGEPS_FORMAT, "nodes: must be an array of nodes");
    if (!err)
        err = make_network(root, diag, &net);
    if (!err)
        err = read_text(root, "name", diag, &net->name);
    if (!err)
        err = read_nodes(nodes, net, matrix != NULL, diag);
    if (!err && matrix)
        err = read_matrix(matrix, net, diag);
    if (!err)
        err = read_pairs(json_object_get(root, "pairs"), net, diag);
    if (!err)
        err = read_scenario(json_object_get(root, "scenario"), net, diag);
    if (!err)
        err = network_check(net, diag);
    if (err)
        network_free(net);
    else
        *out = net;
    return err;
}

edgeps_err network_json_parse(const char *text, size_t length, const char *source,
                              edgeps_diag *diag, network **out)
{
    json_t *root = NULL;
    edgeps_err err = json_parse(text, length, diag, &root);
    if (!err)
        err = read_network(root, diag, out);
    json_decref(root);
    return err ? diag_wrap(diag, err, "%s", source) : EDGEPS_OK;
}

edgeps_err network_json_load(const char *path, edgeps_diag *diag, network **out)
{
    char *text;
    size_t length;
    edgeps_err err = json_read_file(path, MAX_FILE_BYTES, diag, &text, &length);
    if (err)
        return err;
    err = network_json_parse(text, length, path, diag, out);
    mem_free(text);
    return err;
}

static json_t *quantity(quantity_kind kind, double value)
{
    char text[QUANTITY_TEXT_BYTES];
    quantity_text(kind, value, text);
    return json_string(text);
}

static json_t *node_object(const network *net, const network_node *node)
{
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string(node->name));
    if (node->address)
        json_object_set_new(o, "address", json_string(node->address));
    if (net->site_names)
        json_object_set_new(o, "site", json_string(net->site_names[node->site]));
    if (node->access_s > 0)
        json_object_set_new(o, "latency", quantity(QUANTITY_TIME, node->access_s));
    json_object_set_new(o, "up", quantity(QUANTITY_RATE, node->up_bytes_per_s));
    json_object_set_new(o, "down", quantity(QUANTITY_RATE, node->down_bytes_per_s));
    json_object_set_new(o, "compute", quantity(QUANTITY_SPEED, node->compute_samples_per_s));
    if (isfinite(node->sum_bytes_per_s))
        json_object_set_new(o, "sum", quantity(QUANTITY_RATE, node->sum_bytes_per_s));
    json_object_set_new(o, "free", quantity(QUANTITY_SIZE, (double)node->free_bytes));
    json_object_set_new(o, "train", json_boolean(node->train));
    json_object_set_new(o, "serve", json_boolean(node->serve));
    return o;
}

static json_t *latency_rows(const network *net)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < net->site_count; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < net->site_count; j++)
            json_array_append_new(row,
                                  quantity(QUANTITY_TIME, net->latency_s[i * net->site_count + j]));
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *site_texts(const network *net)
{
    json_t *names = json_array();
    for (size_t s = 0; s < net->site_count; s++)
        json_array_append_new(names, json_string(net->site_names[s]));
    return names;
}

/* What stands at an end of a pair. */
static const char *place_name(const network *net, size_t site)
{
    return net->site_names ? net->site_names[site] : net->nodes[site].name;
}

static json_t *pair_objects(const network *net)
{
    json_t *pairs = json_array();
    size_t n = net->site_count;
    for (size_t k = 0; k < n * n; k++) {
        if (!isfinite(net->cap_bytes_per_s[k]))
            continue;
        json_t *o = json_object();
        json_object_set_new(o, "from", json_string(place_name(net, k / n)));
        json_object_set_new(o, "to", json_string(place_name(net, k % n)));
        json_object_set_new(o, "cap", quantity(QUANTITY_RATE, net->cap_bytes_per_s[k]));
        json_array_append_new(pairs, o);
    }
    return pairs;
}

static json_t *event_objects(const network *net)
{
    json_t *events = json_array();
    for (size_t k = 0; k < net->event_count; k++) {
        const network_event *e = &net->events[k];
        json_t *o = json_object();
        if (e->epoch)
            json_object_set_new(o, "epoch", json_integer(e->epoch));
        else
            json_object_set_new(o, "at", quantity(QUANTITY_TIME, e->at_s));
        json_object_set_new(o, "node", json_string(net->nodes[e->node].name));
        for (size_t c = 0; c < sizeof changes / sizeof *changes; c++)
            if (changes[c].change == e->change)
                json_object_set_new(o, changes[c].key,
                                    changes[c].strike ? json_true()
                                                      : quantity(changes[c].kind, e->value));
        json_array_append_new(events, o);
    }
    return events;
}

edgeps_err network_json_text(const network *net, char **text)
{
    json_t *root = json_object(), *nodes = json_array();
    json_object_set_new(root, "edgeps", json_string("network/1"));
    if (net->name)
        json_object_set_new(root, "name", json_string(net->name));
    for (size_t i = 0; i < net->count; i++)
        json_array_append_new(nodes, node_object(net, &net->nodes[i]));
    json_object_set_new(root, "nodes", nodes);
    if (net->site_names)
        json_object_set_new(root, "sites", site_texts(net));
    if (net->site_names || net->site_count > 1) {
        json_object_set_new(root, "latency", latency_rows(net));
        json_object_set_new(root, "pairs", pair_objects(net));
    }
    json_object_set_new(root, "scenario", event_objects(net));
    return json_take_text(root, JSON_INDENT(1), text);
}
