#include "formats/iperf.h"

#include "base/mem.h"
#include "formats/gaps_int.h"
#include "formats/json_int.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES (INT64_C(1) << 28)
#define BITS_PER_BYTE 8
#define US_PER_S 1e6
#define MOST_BITS_PER_S 1e18
#define ROUNDED_BITS_PER_S 1e3 /* no measurement is more exact, and files stay readable */
#define LEAST_ROUNDED_BITS_PER_S 1e6

/* One result: what went from the client to the server, and the other way; NAN: not measured. */
typedef struct result {
    char client[NETWORK_MAX_NAME + 1];
    char server[NETWORK_MAX_NAME + 1];
    double there_bytes_per_s;
    double back_bytes_per_s;
    double round_trip_s;
} result;

typedef struct results {
    result *items;
    size_t count;
} results;

/* ---- whose it is */

/* "CLIENT->SERVER" or "CLIENT--SERVER", spaces around not counted; false where it is neither. */
static bool split_names(const char *text, const char *middle, const char *end, result *r)
{
    const char *at = strstr(text, middle);
    if (!at || at >= end)
        return false;
    const char *from[] = {text, at + strlen(middle)}, *to[] = {at, end};
    char *names[] = {r->client, r->server};
    for (int k = 0; k < 2; k++) {
        while (from[k] < to[k] && *from[k] == ' ')
            from[k]++;
        while (to[k] > from[k] && to[k][-1] == ' ')
            to[k]--;
        size_t length = (size_t)(to[k] - from[k]);
        if (length == 0 || length > NETWORK_MAX_NAME)
            return false;
        memcpy(names[k], from[k], length);
        names[k][length] = '\0';
    }
    return true;
}

/* "lyon--oslo.json"; a further "--" begins what tells results of one pair apart. */
static bool split_file(const char *file, result *r)
{
    const char *end = file + strlen(file) - strlen(".json"), *middle = strstr(file, "--");
    const char *more = middle ? strstr(middle + 2, "--") : NULL;
    return split_names(file, "--", more ? more : end, r);
}

static edgeps_err take_addresses(const json_t *start, result *r, edgeps_diag *diag)
{
    const json_t *connected = json_array_get(json_object_get(start, "connected"), 0);
    const char *local = json_string_value(json_object_get(connected, "local_host"));
    const char *remote = json_string_value(json_object_get(connected, "remote_host"));
    if (!local || !remote || strlen(local) > NETWORK_MAX_NAME || strlen(remote) > NETWORK_MAX_NAME)
        return diag_fail(diag, EDGEPS_FORMAT,
                         "does not say who was connected; name the file CLIENT--SERVER.json");
    memcpy(r->client, local, strlen(local) + 1);
    memcpy(r->server, remote, strlen(remote) + 1);
    return EDGEPS_OK;
}

/* Names go into JSON later. */
static bool printable(const char *name)
{
    json_t *read = json_string(name);
    json_decref(read);
    return read != NULL;
}

static edgeps_err name_hosts(const json_t *root, const char *file, result *r, edgeps_diag *diag)
{
    const char *title = json_string_value(json_object_get(root, "title"));
    edgeps_err err = EDGEPS_OK;
    bool titled = title && split_names(title, "->", title + strlen(title), r);
    if (!titled && !split_file(file, r))
        err = take_addresses(json_object_get(root, "start"), r, diag);
    if (!err && strcmp(r->client, r->server) == 0)
        err = diag_fail(diag, EDGEPS_FORMAT,
                        "client and server are both '%s'; name the file CLIENT--SERVER.json",
                        r->client);
    if (!err && !(printable(r->client) && printable(r->server)))
        err = diag_fail(diag, EDGEPS_FORMAT, "the name of the file is not UTF-8; rename it");
    return err;
}

/* ---- what was measured */

/* What the receiver got: what the sender wrote may still be on its way at the end. */
static edgeps_err read_rate(const json_t *end, const char *key, edgeps_diag *diag, double *out)
{
    const json_t *bits = json_object_get(json_object_get(end, key), "bits_per_second");
    if (!json_is_number(bits))
        return diag_fail(diag, EDGEPS_FORMAT,
                         "end.%s.bits_per_second: is missing; measure with iperf3 3.11 or later",
                         key);
    double value = json_number_value(bits);
    if (!(value >= 1 && value <= MOST_BITS_PER_S))
        return diag_fail(diag, EDGEPS_FORMAT,
                         "end.%s.bits_per_second: is %g, nothing arrived; measure again or take "
                         "the file away",
                         key, value);
    if (value >= LEAST_ROUNDED_BITS_PER_S)
        value = floor(value / ROUNDED_BITS_PER_S + 0.5) * ROUNDED_BITS_PER_S;
    *out = value / BITS_PER_BYTE;
    return EDGEPS_OK;
}

/* The least round trip that the client saw while it sent; servers do not report theirs. */
static double round_trip_s(const json_t *end)
{
    const json_t *streams = json_object_get(end, "streams"), *stream;
    double least_us = INFINITY;
    size_t k;
    json_array_foreach(streams, k, stream)
    {
        const json_t *sender = json_object_get(stream, "sender");
        double us = json_number_value(json_object_get(sender, "min_rtt"));
        if (json_is_true(json_object_get(sender, "sender")) && us > 0)
            least_us = fmin(least_us, us);
    }
    return isfinite(least_us) ? least_us / US_PER_S : NAN;
}

static edgeps_err read_rates(const json_t *start, const json_t *end, result *r, edgeps_diag *diag)
{
    const json_t *test = json_object_get(start, "test_start");
    bool reverse = json_number_value(json_object_get(test, "reverse")) != 0;
    r->there_bytes_per_s = r->back_bytes_per_s = NAN;
    r->round_trip_s = round_trip_s(end);
    edgeps_err err = read_rate(end, "sum_received", diag,
                               reverse ? &r->back_bytes_per_s : &r->there_bytes_per_s);
    if (!err && json_object_get(end, "sum_received_bidir_reverse"))
        err = read_rate(end, "sum_received_bidir_reverse", diag, &r->back_bytes_per_s);
    return err;
}

static edgeps_err read_result(const json_t *root, const char *file, result *r, edgeps_diag *diag)
{
    const json_t *start = json_object_get(root, "start"), *end = json_object_get(root, "end");
    const char *error = json_string_value(json_object_get(root, "error"));
    if (error)
        return diag_fail(diag, EDGEPS_FORMAT,
                         "the measurement failed: %.200s; repeat it or take the file away", error);
    if (!json_is_object(start) || !json_is_object(end))
        return diag_fail(diag, EDGEPS_FORMAT, "is no result of iperf3 --json");
    if (json_object_get(start, "accepted_connection"))
        return diag_fail(diag, EDGEPS_FORMAT,
                         "is the server's side, which does not know what the client received; "
                         "take the client's");
    edgeps_err err = name_hosts(root, file, r, diag);
    return err ? err : read_rates(start, end, r, diag);
}

static edgeps_err parse(const char *text, size_t length, edgeps_diag *diag, json_t **out)
{
    edgeps_diag found = {.text = ""};
    edgeps_err err = json_parse(text, length, &found, out);
    if (err && strstr(found.text, "duplicate"))
        return diag_fail(diag, err,
                         "%s; iperf3 before 3.11 mixes both directions of --bidir up: measure with "
                         "--reverse instead",
                         found.text);
    return err ? diag_fail(diag, err, "%s", found.text) : EDGEPS_OK;
}

static edgeps_err load_result(const char *folder, const char *file, edgeps_diag *diag, result *out)
{
    char path[PATH_MAX], *text;
    size_t length;
    json_t *root = NULL;
    if (snprintf(path, sizeof path, "%s/%s", folder, file) >= (int)sizeof path)
        return diag_fail(diag, EDGEPS_USAGE, "%.200s: the path is too long", folder);
    edgeps_err err = json_read_file(path, MAX_FILE_BYTES, diag, &text, &length);
    if (err)
        return err;
    err = parse(text, length, diag, &root);
    if (!err)
        err = read_result(root, file, out, diag);
    json_decref(root);
    mem_free(text);
    return err ? diag_wrap(diag, err, "%s", path) : EDGEPS_OK;
}

static int is_result(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > strlen(".json") &&
           strcmp(entry->d_name + length - strlen(".json"), ".json") == 0;
}

/* By bytes, in whatever order the disk has them. */
static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

bool network_iperf_in(const char *folder)
{
    struct dirent **files = NULL;
    int count = scandir(folder, &files, is_result, compare_names);
    for (int k = 0; k < count; k++)
        free(files[k]);
    free(files);
    return count > 0;
}

static edgeps_err load_all(const char *folder, edgeps_diag *diag, results *out)
{
    struct dirent **files = NULL;
    int count = scandir(folder, &files, is_result, compare_names);
    if (count < 0)
        return diag_fail(diag, EDGEPS_USAGE, "%s: cannot be read: %s", folder, strerror(errno));
    out->items = mem_alloc((size_t)count, sizeof *out->items);
    edgeps_err err = EDGEPS_OK;
    if (!out->items)
        err = diag_fail(diag, EDGEPS_NOMEM, "no memory for results");
    else if (count == 0)
        err = diag_fail(diag, EDGEPS_USAGE, "%s: holds no *.json, as iperf3 --json prints them",
                        folder);
    for (int k = 0; !err && k < count; k++)
        err = load_result(folder, files[k]->d_name, diag, &out->items[out->count++]);
    for (int k = 0; k < count; k++)
        free(files[k]);
    free(files);
    return err;
}

/* ---- the network */

/* The node of this name, or at this address. */
static int64_t find_host(const network *net, const char *host)
{
    int64_t found = network_find(net, host);
    for (size_t i = 0; found < 0 && i < net->count; i++)
        if (net->nodes[i].address && strcmp(net->nodes[i].address, host) == 0)
            found = (int64_t)i;
    return found;
}

/* A node per host, in the order in which they first occur. */
static edgeps_err make_hosts(const results *all, edgeps_diag *diag, network **out)
{
    size_t known = 0;
    network *net = NULL;
    const char **names = mem_alloc(2 * all->count, sizeof *names);
    edgeps_err err = names ? EDGEPS_OK : diag_fail(diag, EDGEPS_NOMEM, "no memory for hosts");
    for (size_t k = 0; !err && k < 2 * all->count; k++) {
        const char *name = k % 2 ? all->items[k / 2].server : all->items[k / 2].client;
        size_t at = 0;
        while (at < known && strcmp(names[at], name) != 0)
            at++;
        names[at] = name;
        known += at == known;
    }
    if (!err)
        err = gaps_make(known, true, diag, &net);
    for (size_t i = 0; !err && i < known; i++)
        if (!(net->nodes[i].name = mem_copy_text(names[i])))
            err = diag_fail(diag, EDGEPS_NOMEM, "no memory for hosts");
    mem_free(names);
    if (err)
        network_free(net);
    else
        *out = net;
    return err;
}

/* The mean of all that was measured in this direction; `times` has the count of each. */
static void take_rate(network *net, size_t from, size_t to, double bytes_per_s, uint32_t *times)
{
    if (isnan(bytes_per_s))
        return;
    uint32_t count = ++times[from * net->count + to];
    double mean = count == 1 ? 0 : network_cap_bytes_per_s(net, from, to);
    network_set_cap_bytes_per_s(net, from, to, mean + (bytes_per_s - mean) / count);
}

/* Half of the least round trip, in both directions. */
static void take_latency(network *net, size_t a, size_t b, double round_trip_s)
{
    double latency_s = fmin(network_latency_s(net, a, b), round_trip_s / 2);
    network_set_latency_s(net, a, b, latency_s);
    network_set_latency_s(net, b, a, latency_s);
}

static edgeps_err take_results(const results *all, network *net, edgeps_diag *diag)
{
    uint32_t *times = mem_alloc(net->count * net->count, sizeof *times);
    edgeps_err err = times ? EDGEPS_OK : diag_fail(diag, EDGEPS_NOMEM, "no memory for results");
    for (size_t k = 0; !err && k < all->count; k++) {
        const result *r = &all->items[k];
        int64_t client = find_host(net, r->client), server = find_host(net, r->server);
        if (client < 0 || server < 0) {
            err = diag_fail(diag, EDGEPS_FORMAT,
                            "nodes.csv: has no node of the name or address '%s', which a result is "
                            "about",
                            client < 0 ? r->client : r->server);
            break;
        }
        take_rate(net, (size_t)client, (size_t)server, r->there_bytes_per_s, times);
        take_rate(net, (size_t)server, (size_t)client, r->back_bytes_per_s, times);
        take_latency(net, (size_t)client, (size_t)server, r->round_trip_s);
    }
    mem_free(times);
    return err;
}

edgeps_err network_iperf_load(const char *folder, const topology_options *options,
                              edgeps_diag *diag, network **out, topology_report *report)
{
    results all = {0};
    network *net = NULL;
    topology_report lines = {0};
    edgeps_err err = load_all(folder, diag, &all);
    if (!err)
        err = gaps_read_nodes(folder, diag, &net);
    if (!err && !net)
        err = make_hosts(&all, diag, &net);
    if (!err && (err = take_results(&all, net, diag)))
        diag_wrap(diag, err, "%s", folder);
    if (!err && (err = gaps_fill(net, options, diag, &lines)))
        diag_wrap(diag, err, "%s", folder);
    mem_free(all.items);
    if (err) {
        network_free(net);
        topology_report_free(&lines);
        return err;
    }
    *out = net;
    *report = lines;
    return EDGEPS_OK;
}
