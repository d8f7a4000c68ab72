/* What attributes of graphs, nodes and edges mean, whatever format they stand in. The keys are
 * those of the Topology Zoo (Knight et al., IEEE JSAC 29(9), 2011) and of Shadow's network graphs
 * (shadow.github.io/docs/guide/network_graph_spec.html). */
#include "formats/topology_int.h"

#include "base/mem.h"
#include "formats/quantity.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define LEAST_BYTES_PER_S 1e-18
#define MOST_BYTES_PER_S 1e18
#define OC1_BYTES_PER_S (51.84e6 / 8)
#define STM1_BYTES_PER_S (155.52e6 / 8)

/* ---- rates and times as people write them */

static const char *skip_spaces(const char *text) { return text + strspn(text, " \t"); }

/* "k", "Ki", "M", ...; 1 where there is none. Small letters as well: nobody means milli. */
static const char *skip_prefix(const char *text, double *factor)
{
    static const char letters[] = "kmgt";
    static const double decimal[] = {1e3, 1e6, 1e9, 1e12};
    static const double binary[] = {0x1p10, 0x1p20, 0x1p30, 0x1p40};
    char letter = (char)(*text | 0x20);
    const char *at = *text ? strchr(letters, letter) : NULL;
    *factor = at && *at ? decimal[at - letters] : 1;
    if (!at || !*at)
        return text;
    if (text[1] != 'i')
        return text + 1;
    *factor = binary[at - letters];
    return text + 2;
}

/* Longest first, so that no name is taken for the beginning of another. */
static const struct {
    const char *name;
    double bytes;
} amounts[] = {
    {"bits/s", 0.125}, {"bit/s", 0.125}, {"bits", 0.125}, {"bit", 0.125}, {"bps", 0.125},
    {"b/s", 0.125},    {"bytes/s", 1},   {"byte/s", 1},   {"bytes", 1},   {"byte", 1},
    {"B/s", 1},        {"Bps", 1},       {"B", 1},        {"b", 0.125},
};

static const char *skip_amount(const char *text, double *bytes)
{
    for (size_t k = 0; k < sizeof amounts / sizeof *amounts; k++) {
        size_t length = strlen(amounts[k].name);
        if (strncmp(text, amounts[k].name, length) == 0) {
            *bytes = amounts[k].bytes;
            return text + length;
        }
    }
    return text;
}

static bool in_range(double bytes_per_s)
{
    return bytes_per_s == 0 ||
           (bytes_per_s >= LEAST_BYTES_PER_S && bytes_per_s <= MOST_BYTES_PER_S);
}

/* "100 Mbit", "13112 Kibit", "2.5 MB/s": an amount per second, the second said or not. */
static edgeps_err read_rate(const char *text, edgeps_diag *diag, double *out)
{
    double value = 0, factor = 1, bytes = 0;
    const char *rest = quantity_number(text, &value);
    if (rest == text || value < 0)
        return diag_fail(diag, EDGEPS_FORMAT, "'%.40s' is no rate; write it like \"100 Mbit\"",
                         text);
    const char *unit = skip_prefix(skip_spaces(rest), &factor);
    const char *end = skip_amount(unit, &bytes);
    if (end == unit || *skip_spaces(end))
        return diag_fail(diag, EDGEPS_FORMAT,
                         "'%.40s' has no unit of a rate; write it like \"100 Mbit\"", text);
    if (!in_range(value * factor * bytes))
        return diag_fail(diag, EDGEPS_FORMAT, "'%.40s' is beyond any real rate", text);
    *out = value * factor * bytes;
    return EDGEPS_OK;
}

static const struct {
    const char *name;
    double per_s;
} times[] = {
    {"ns", 1e9},        {"nanosecond", 1e9},  {"us", 1e6},   {"\xc2\xb5s", 1e6},
    {"\xce\xbcs", 1e6}, {"microsecond", 1e6}, {"ms", 1e3},   {"millisecond", 1e3},
    {"s", 1},           {"sec", 1},           {"second", 1},
};

static bool names_unit(const char *text, const char *name)
{
    size_t length = strlen(name);
    if (strncmp(text, name, length) != 0)
        return false;
    text += length;
    return !*text || (length > 2 && strcmp(text, "s") == 0);
}

static edgeps_err read_time(const char *text, edgeps_diag *diag, double *out)
{
    double value = 0;
    const char *rest = quantity_number(text, &value), *unit = skip_spaces(rest);
    if (rest == text || value < 0)
        return diag_fail(diag, EDGEPS_FORMAT, "'%.40s' is no time; write it like \"10 ms\"", text);
    for (size_t k = 0; k < sizeof times / sizeof *times; k++) {
        if (!names_unit(unit, times[k].name))
            continue;
        if (value / times[k].per_s > ROUTE_MAX_LATENCY_S)
            return diag_fail(diag, EDGEPS_FORMAT, "'%.40s' is more than a day", text);
        *out = value / times[k].per_s;
        return EDGEPS_OK;
    }
    return diag_fail(diag, EDGEPS_FORMAT, "'%.40s' has no unit of time; write it like \"10 ms\"",
                     text);
}

static edgeps_err read_number(const char *text, double least, double most, edgeps_diag *diag,
                              double *out)
{
    double value = 0;
    const char *rest = quantity_number(text, &value);
    if (rest == text || *skip_spaces(rest) || !(value >= least && value <= most))
        return diag_fail(diag, EDGEPS_FORMAT, "'%.40s' is no number from %g to %g", text, least,
                         most);
    *out = value;
    return EDGEPS_OK;
}

static edgeps_err read_truth(const char *text, edgeps_diag *diag, bool *out)
{
    double value;
    if (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0) {
        *out = (*text | 0x20) == 't';
        return EDGEPS_OK;
    }
    if (read_number(text, 0, 1, NULL, &value))
        return diag_fail(diag, EDGEPS_FORMAT, "'%.40s' is neither true nor false", text);
    *out = value != 0;
    return EDGEPS_OK;
}

/* ---- rates in labels */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

/* "OC-192c" and "STM-16": `name` at `text`, then a number, a hyphen between them or not. */
static const char *skip_carrier(const char *text, const char *name, double *level)
{
    size_t length = strlen(name);
    if (strncmp(text, name, length) != 0)
        return text;
    const char *digits = text + length + (text[length] == '-');
    double value;
    const char *end = is_digit(*digits) ? quantity_number(digits, &value) : digits;
    if (end == digits)
        return text;
    *level = value;
    return end + (*end == 'c');
}

/* "10 Gbps", "10G", "10GE": a number, a prefix, and an amount, "E" for Ethernet, or nothing. */
static const char *skip_speed(const char *text, double *bytes_per_s)
{
    double value = 0, factor = 1, bytes = 0.125;
    const char *rest = quantity_number(text, &value);
    if (rest == text)
        return text;
    const char *unit = skip_spaces(rest);
    const char *after = skip_prefix(unit, &factor), *end = skip_amount(after, &bytes);
    bool bare = end == after && *unit >= 'a'; /* "100 m" is a length */
    if (after == unit || bare)
        return text;
    if (end == after && *end == 'E')
        end++;
    if (is_letter(*end) || is_digit(*end))
        return text;
    *bytes_per_s = value * factor * bytes;
    return end;
}

static const char *skip_any_speed(const char *text, double *bytes_per_s)
{
    double level;
    const char *end = skip_carrier(text, "OC", &level);
    if (end != text) {
        *bytes_per_s = level * OC1_BYTES_PER_S;
        return end;
    }
    end = skip_carrier(text, "STM", &level);
    if (end != text) {
        *bytes_per_s = level * STM1_BYTES_PER_S;
        return end;
    }
    return is_digit(*text) ? skip_speed(text, bytes_per_s) : text;
}

/* Passes over what cannot be the beginning of a speed: the rest of a word or of a number. */
static const char *skip_word(const char *text)
{
    if (!is_letter(*text) && !is_digit(*text))
        return text + 1;
    while (is_letter(*text) || is_digit(*text) || (*text == '.' && is_digit(text[1])))
        text++;
    return text;
}

double topology_label_rate(const char *text)
{
    double found = NAN;
    while (*text) {
        double rate = 0;
        const char *end = skip_any_speed(text, &rate);
        if (end == text) {
            /* "< 100 Mb/s", "1-2.5 Gb/s", "2 x 10G", "4*155M": a bound, a range or a product */
            if (strchr("<>*~+", *text) || (*text == '-' && is_digit(text[1])) ||
                (strchr("xX", *text) && !is_letter(text[1])))
                return NAN;
            text = skip_word(text);
            continue;
        }
        if (!isnan(found) || !(rate > 0) || !in_range(rate))
            return NAN;
        found = rate;
        text = end;
        if (*text && strchr("+*xX", *text))
            return NAN;
    }
    return found;
}

/* ---- attributes */

static bool is_utf8(const char *text)
{
    json_t *copy = json_string(text); /* refuses what is not */
    json_decref(copy);
    return copy != NULL;
}

/* One line without controls, as names of nodes are; an empty text is none. */
static edgeps_err set_text(const char *value, edgeps_diag *diag, char **out)
{
    size_t length = strlen(value);
    while (length && strchr(" \t\r\n", value[length - 1]))
        length--;
    size_t first = strspn(value, " \t\r\n");
    if (first >= length)
        return EDGEPS_OK;
    if (!is_utf8(value))
        return diag_fail(diag, EDGEPS_FORMAT,
                         "is not UTF-8; convert the file, such as with iconv -f latin1 -t utf-8");
    char *text = mem_alloc(length - first + 1, 1);
    if (!text)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for a label");
    for (size_t k = first; k < length; k++)
        text[k - first] = (unsigned char)value[k] < ' ' || value[k] == 0x7f ? ' ' : value[k];
    mem_free(*out);
    *out = text;
    return EDGEPS_OK;
}

static edgeps_err take_graph(topology *graph, const char *key, const char *value, edgeps_diag *diag)
{
    /* The Zoo calls a graph by "Network" and has a "label" beside it. */
    bool named = strcmp(key, "Network") == 0 || strcmp(key, "name") == 0;
    if (named || (strcmp(key, "label") == 0 && !graph->name))
        return set_text(value, diag, &graph->name);
    return EDGEPS_OK;
}

static edgeps_err take_node(topology_node *node, const char *key, const char *value,
                            edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    bool truth;
    if (strcmp(key, "label") == 0)
        err = set_text(value, diag, &node->label);
    else if (strcmp(key, "Latitude") == 0)
        err = read_number(value, -90, 90, diag, &node->latitude_deg);
    else if (strcmp(key, "Longitude") == 0)
        err = read_number(value, -180, 180, diag, &node->longitude_deg);
    else if (strcmp(key, "host_bandwidth_up") == 0)
        err = read_rate(value, diag, &node->up_bytes_per_s);
    else if (strcmp(key, "host_bandwidth_down") == 0)
        err = read_rate(value, diag, &node->down_bytes_per_s);
    else if (strcmp(key, "Internal") == 0) {
        err = read_truth(value, diag, &truth);
        node->external = !err && !truth;
    } else if (strcmp(key, "hyperedge") == 0) {
        err = read_truth(value, diag, &truth);
        node->junction = !err && truth;
    }
    return err;
}

topology_link topology_link_start(bool directed)
{
    return (topology_link){.from = -1,
                           .to = -1,
                           .directed = directed,
                           .raw_bytes_per_s = NAN,
                           .speed = NAN,
                           .speed_unit = NAN,
                           .bandwidth_bytes_per_s = NAN,
                           .label_bytes_per_s = NAN,
                           .latency_s = NAN};
}

/* The Zoo's "K", "M", "G"; what else stands there is no unit. */
static void read_speed_unit(const char *value, double *out)
{
    double factor;
    const char *end = skip_prefix(value, &factor);
    if (end != value && !*end)
        *out = factor / 8;
}

static edgeps_err read_raw(const char *value, edgeps_diag *diag, double *out)
{
    double bit_per_s = 0;
    edgeps_err err = read_number(value, 0, MOST_BYTES_PER_S, diag, &bit_per_s);
    if (!err)
        *out = bit_per_s / 8;
    return err;
}

static edgeps_err take_link(topology_link *link, const char *key, const char *value,
                            edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    double amount = 0;
    if (strcmp(key, "LinkSpeedRaw") == 0)
        err = read_raw(value, diag, &link->raw_bytes_per_s);
    else if (strcmp(key, "LinkSpeed") == 0)
        err = read_number(value, 0, 1e9, diag, &link->speed);
    else if (strcmp(key, "LinkSpeedUnits") == 0)
        read_speed_unit(value, &link->speed_unit);
    else if (strcmp(key, "LinkLabel") == 0 || strcmp(key, "label") == 0) {
        amount = topology_label_rate(value);
        link->label_bytes_per_s = isnan(amount) ? link->label_bytes_per_s : amount;
    } else if (strcmp(key, "bandwidth") == 0)
        err = read_rate(value, diag, &link->bandwidth_bytes_per_s);
    else if (strcmp(key, "latency") == 0)
        err = read_time(value, diag, &link->latency_s);
    else if (strcmp(key, "packet_loss") == 0) {
        err = read_number(value, 0, 1, diag, &amount);
        link->lossy |= amount > 0;
    } else if (strcmp(key, "jitter") == 0) {
        err = read_time(value, diag, &amount);
        link->lossy |= amount > 0;
    }
    return err;
}

/* The most exact source first. */
static double link_rate(const topology_link *link)
{
    if (!isnan(link->raw_bytes_per_s))
        return link->raw_bytes_per_s;
    if (!isnan(link->bandwidth_bytes_per_s))
        return link->bandwidth_bytes_per_s;
    double speed = link->speed * link->speed_unit;
    return isnan(speed) ? link->label_bytes_per_s : speed;
}

edgeps_err topology_take(const topology_owner *owner, const char *key, const char *value,
                         edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    if (!*value)
        return EDGEPS_OK;
    if (owner->node)
        err = take_node(owner->node, key, value, diag);
    else if (owner->link)
        err = take_link(owner->link, key, value, diag);
    else
        err = take_graph(owner->graph, key, value, diag);
    return err ? diag_wrap(diag, err, "%.40s", key) : EDGEPS_OK;
}

edgeps_err topology_add_link(topology *graph, const topology_link *link, edgeps_diag *diag)
{
    if (link->from < 0 || link->to < 0)
        return diag_fail(diag, EDGEPS_FORMAT, "%s: is missing",
                         link->from < 0 ? "source" : "target");
    topology_edge edge = {(uint32_t)link->from, (uint32_t)link->to, link_rate(link),
                          link->latency_s};
    graph->lossy_count += link->lossy;
    edgeps_err err = topology_add_edge(graph, edge, diag);
    if (err || link->directed || edge.from == edge.to)
        return err;
    topology_edge back = {edge.to, edge.from, edge.bytes_per_s, edge.latency_s};
    return topology_add_edge(graph, back, diag);
}
