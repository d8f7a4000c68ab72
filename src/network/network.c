#include "network/network.h"

#include "base/mem.h"

#include <assert.h>
#include <math.h>
#include <string.h>

edgeps_err network_make_sites(size_t count, size_t site_count, edgeps_diag *diag, network **out)
{
    if (count == 0 || count > NETWORK_MAX_NODES)
        return diag_fail(diag, EDGEPS_FORMAT, "nodes: 1 to %d, not %zu", NETWORK_MAX_NODES, count);
    if (site_count == 0 || site_count > NETWORK_MAX_SITES)
        return diag_fail(
            diag, EDGEPS_FORMAT,
            "%zu nodes with times or caps of their own; at most %d may have them: give "
            "them \"sites\"",
            site_count, NETWORK_MAX_SITES);
    network *net = mem_alloc(1, sizeof *net);
    if (!net)
        goto nomem;
    net->count = count;
    net->site_count = site_count;
    net->nodes = mem_alloc(count, sizeof *net->nodes);
    net->latency_s = mem_alloc(site_count * site_count, sizeof(double));
    net->cap_bytes_per_s = mem_alloc(site_count * site_count, sizeof(double));
    if (!net->nodes || !net->latency_s || !net->cap_bytes_per_s)
        goto nomem;
    for (size_t i = 0; i < count; i++) {
        net->nodes[i].train = net->nodes[i].serve = true;
        net->nodes[i].sum_bytes_per_s = INFINITY;
    }
    for (size_t k = 0; k < site_count * site_count; k++)
        net->cap_bytes_per_s[k] = INFINITY;
    *out = net;
    return EDGEPS_OK;
nomem:
    network_free(net);
    return diag_fail(diag, EDGEPS_NOMEM, "no memory for a network of %zu nodes", count);
}

edgeps_err network_make(size_t count, edgeps_diag *diag, network **out)
{
    edgeps_err err = network_make_sites(count, count, diag, out);
    for (size_t i = 0; !err && i < count; i++)
        (*out)->nodes[i].site = (uint32_t)i;
    return err;
}

static bool copy_text(const char *text, char **out)
{
    return !text || (*out = mem_copy_text(text)) != NULL;
}

static bool copy_names(char *const *names, size_t count, char ***out)
{
    bool ok = !names || (*out = mem_alloc(count, sizeof **out)) != NULL;
    for (size_t s = 0; names && ok && s < count; s++)
        ok = copy_text(names[s], &(*out)[s]);
    return ok;
}

edgeps_err network_copy(const network *net, network **out)
{
    network *copy = NULL;
    edgeps_err err = network_make_sites(net->count, net->site_count, NULL, &copy);
    if (err)
        return err;
    assert(copy);
    size_t pairs = net->site_count * net->site_count;
    memcpy(copy->latency_s, net->latency_s, pairs * sizeof(double));
    memcpy(copy->cap_bytes_per_s, net->cap_bytes_per_s, pairs * sizeof(double));
    bool ok = copy_text(net->name, &copy->name) &&
              copy_names(net->site_names, net->site_count, &copy->site_names);
    for (size_t i = 0; ok && i < net->count; i++) {
        copy->nodes[i] = net->nodes[i];
        copy->nodes[i].name = copy->nodes[i].address = NULL;
        ok = copy_text(net->nodes[i].name, &copy->nodes[i].name) &&
             copy_text(net->nodes[i].address, &copy->nodes[i].address);
    }
    copy->events = ok ? mem_alloc(net->event_count, sizeof *copy->events) : NULL;
    if (!copy->events) {
        network_free(copy);
        return EDGEPS_NOMEM;
    }
    if (net->event_count)
        memcpy(copy->events, net->events, net->event_count * sizeof *net->events);
    copy->event_count = net->event_count;
    *out = copy;
    return EDGEPS_OK;
}

void network_free(network *net)
{
    if (!net)
        return;
    for (size_t i = 0; net->nodes && i < net->count; i++) {
        mem_free(net->nodes[i].name);
        mem_free(net->nodes[i].address);
    }
    for (size_t s = 0; net->site_names && s < net->site_count; s++)
        mem_free(net->site_names[s]);
    mem_free(net->site_names);
    mem_free(net->name);
    mem_free(net->nodes);
    mem_free(net->latency_s);
    mem_free(net->cap_bytes_per_s);
    mem_free(net->events);
    mem_free(net);
}

int64_t network_find(const network *net, const char *name)
{
    for (size_t i = 0; i < net->count; i++)
        if (net->nodes[i].name && strcmp(net->nodes[i].name, name) == 0)
            return (int64_t)i;
    return -1;
}

static size_t site_pair(const network *net, size_t from, size_t to)
{
    return net->nodes[from].site * net->site_count + net->nodes[to].site;
}

double network_latency_s(const network *net, size_t from, size_t to)
{
    if (from == to)
        return 0;
    return net->nodes[from].access_s + net->nodes[to].access_s +
           net->latency_s[site_pair(net, from, to)];
}

double network_cap_bytes_per_s(const network *net, size_t from, size_t to)
{
    return from == to ? INFINITY : net->cap_bytes_per_s[site_pair(net, from, to)];
}

void network_set_latency_s(network *net, size_t from, size_t to, double latency_s)
{
    net->latency_s[site_pair(net, from, to)] = latency_s;
}

void network_set_cap_bytes_per_s(network *net, size_t from, size_t to, double cap_bytes_per_s)
{
    net->cap_bytes_per_s[site_pair(net, from, to)] = cap_bytes_per_s;
}

double network_rate_bytes_per_s(const network *net, size_t from, size_t to)
{
    if (from == to)
        return INFINITY;
    double rate = fmin(net->nodes[from].up_bytes_per_s, net->nodes[to].down_bytes_per_s);
    return fmin(rate, network_cap_bytes_per_s(net, from, to));
}

void network_apply(network *net, const network_event *event)
{
    network_node *node = &net->nodes[event->node];
    switch (event->change) {
    case NETWORK_FREE:
        node->free_bytes = (int64_t)event->value;
        break;
    case NETWORK_UP:
        node->up_bytes_per_s = event->value;
        break;
    case NETWORK_DOWN:
        node->down_bytes_per_s = event->value;
        break;
    case NETWORK_COMPUTE:
        node->compute_samples_per_s = event->value;
        break;
    case NETWORK_LATENCY:
        node->access_s = event->value;
        break;
    case NETWORK_FILL:
        node->free_bytes -= (int64_t)fmin(event->value, (double)node->free_bytes);
        break;
    case NETWORK_KILL:
    case NETWORK_STOP:
    case NETWORK_CONTINUE:
    case NETWORK_CUT:
    case NETWORK_HEAL:
        break;
    }
}

bool network_strikes(const network_event *event)
{
    return event->change == NETWORK_KILL || event->change == NETWORK_STOP ||
           event->change == NETWORK_CUT;
}

void network_follow(network_presence *node, const network_event *event)
{
    network_change change = event->change;
    node->dead |= change == NETWORK_KILL;
    node->frozen = change != NETWORK_CONTINUE && (node->frozen || change == NETWORK_STOP);
    node->cut = change != NETWORK_HEAL && (node->cut || change == NETWORK_CUT);
}

bool network_is_away(const network_presence *node)
{
    return node->dead || node->frozen || node->cut;
}

void network_follow_epoch(const network *net, int epoch, network_presence *nodes, bool *away)
{
    for (size_t k = 0; k < net->event_count; k++)
        if (net->events[k].epoch == epoch)
            network_follow(&nodes[net->events[k].node], &net->events[k]);
    for (size_t i = 0; i < net->count; i++)
        away[i] = network_is_away(&nodes[i]);
}

void network_apply_epochs(network *net, int epoch)
{
    for (int e = 1; e <= epoch; e++)
        for (size_t k = 0; k < net->event_count; k++)
            if (net->events[k].epoch == e)
                network_apply(net, &net->events[k]);
}

edgeps_err network_add_events(network *net, const network_event *events, size_t count)
{
    size_t before = net->event_count;
    network_event *all = mem_resize(net->events, before + count, sizeof *all);
    if (!all)
        return EDGEPS_NOMEM;
    for (size_t k = 0; k < count; k++)
        all[before + k] = events[k];
    net->events = all;
    net->event_count += count;
    return EDGEPS_OK;
}

/* Names stand in tables, messages and command lines. */
static bool printable(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == 0x7f)
            return false;
    return true;
}

static edgeps_err check_node(const network *net, size_t i, edgeps_diag *diag)
{
    const network_node *node = &net->nodes[i];
    if (!node->name || !node->name[0])
        return diag_fail(diag, EDGEPS_FORMAT, "node %zu: has no name", i + 1);
    if (strlen(node->name) > NETWORK_MAX_NAME)
        return diag_fail(diag, EDGEPS_FORMAT, "node '%.20s...': names have at most %d bytes",
                         node->name, NETWORK_MAX_NAME);
    if (!printable(node->name))
        return diag_fail(diag, EDGEPS_FORMAT, "node '%s': names have no control characters",
                         node->name);
    if (network_find(net, node->name) != (int64_t)i)
        return diag_fail(diag, EDGEPS_FORMAT, "node '%s': the name is used twice", node->name);
    const struct {
        const char *field;
        double value;
    } amounts[] = {
        {"up", node->up_bytes_per_s},
        {"down", node->down_bytes_per_s},
        {"compute", node->compute_samples_per_s},
        {"sum", node->sum_bytes_per_s},
        {"free", (double)node->free_bytes},
    };
    for (size_t k = 0; k < sizeof amounts / sizeof *amounts; k++)
        if (!(amounts[k].value >= 0))
            return diag_fail(diag, EDGEPS_FORMAT, "node '%s': %s: must not be negative", node->name,
                             amounts[k].field);
    if (node->sum_bytes_per_s == 0)
        return diag_fail(diag, EDGEPS_FORMAT,
                         "node '%s': sum: must be above 0; leave it out for no limit", node->name);
    if (node->train && node->compute_samples_per_s == 0)
        return diag_fail(diag, EDGEPS_FORMAT,
                         "node '%s': compute: a node that trains needs a speed, such as "
                         "\"900 samples/s\", or \"train\": false",
                         node->name);
    return EDGEPS_OK;
}

edgeps_err network_check(const network *net, edgeps_diag *diag)
{
    bool trains = false, serves = false;
    for (size_t i = 0; i < net->count; i++) {
        edgeps_err err = check_node(net, i, diag);
        if (err)
            return err;
        trains |= net->nodes[i].train;
        serves |= net->nodes[i].serve;
    }
    if (!trains || !serves)
        return diag_fail(diag, EDGEPS_FORMAT, "nodes: none has \"%s\": true; at least one must",
                         trains ? "serve" : "train");
    return EDGEPS_OK;
}
