#include "formats/scenario_file.h"

#include "base/mem.h"
#include "formats/csv_int.h"
#include "formats/json_int.h"
#include "formats/network_json_int.h"
#include "formats/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES (INT64_C(1) << 30)
#define MOST_EVENTS 10000000
#define PACKET_PAYLOAD_BYTES 1448 /* of a packet of 1500: without IPv4, TCP and its time stamps */
#define MOST_TRACE_MS 1000000000000

typedef struct event_list {
    network_event *events;
    size_t count;
    size_t room;
} event_list;

static edgeps_err add(event_list *list, const network_event *e, edgeps_diag *diag)
{
    if (list->count == MOST_EVENTS)
        return diag_fail(diag, EDGEPS_FORMAT, "makes more than %d lines of a scenario",
                         MOST_EVENTS);
    network_event *grown =
        mem_grow(list->events, list->count + 1, sizeof *list->events, &list->room);
    if (!grown)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for a scenario");
    list->events = grown;
    list->events[list->count++] = *e;
    return EDGEPS_OK;
}

/* What was read belongs to the network when all of it is good. */
static edgeps_err finish(event_list *list, const char *path, edgeps_err err, edgeps_diag *diag,
                         network *net)
{
    if (!err && network_add_events(net, list->events, list->count))
        err = diag_fail(diag, EDGEPS_NOMEM, "no memory for a scenario");
    mem_free(list->events);
    return err ? diag_wrap(diag, err, "%s", path) : EDGEPS_OK;
}

static edgeps_err load_table(const char *path, edgeps_diag *diag, csv_table *out)
{
    char *text;
    size_t length;
    edgeps_err err = json_read_file(path, MOST_BYTES, diag, &text, &length);
    if (err)
        return err;
    err = csv_parse(text, length, diag, out);
    mem_free(text);
    return err ? diag_wrap(diag, err, "%s", path) : EDGEPS_OK;
}

/* ---- lines of a scenario ---- */

static int64_t find_column(const csv_table *table, const char *name)
{
    for (size_t c = 0; c < table->columns; c++)
        if (strcmp(csv_field(table, 0, c), name) == 0)
            return (int64_t)c;
    return -1;
}

/* Fields are quantities, but for whole numbers and what is true. */
static json_t *field_value(const char *name, const char *text)
{
    char *end;
    errno = 0;
    long long whole = strtoll(text, &end, 10);
    if (strcmp(name, "epoch") == 0 && *end == '\0' && errno == 0)
        return json_integer(whole);
    return strcmp(text, "true") == 0 ? json_true() : json_string(text);
}

typedef struct series {
    csv_table table;
    size_t when; /* columns */
    size_t node;
    const network *net;
    event_list list;
} series;

/* The line that one field makes together with when and where. */
static edgeps_err read_field(series *s, size_t row, size_t column, edgeps_diag *diag)
{
    network_event event = {0};
    json_t *o = json_object();
    const size_t used[] = {s->when, s->node, column};
    for (size_t k = 0; k < 3; k++) {
        const char *name = csv_field(&s->table, 0, used[k]);
        json_object_set_new(o, name, field_value(name, csv_field(&s->table, row, used[k])));
    }
    edgeps_err err = json_object_size(o) == 3
                         ? network_json_event(o, s->net, &event, diag)
                         : diag_fail(diag, EDGEPS_FORMAT,
                                     "a field is no text in UTF-8, or two columns have one name");
    json_decref(o);
    return err ? err : add(&s->list, &event, diag);
}

static edgeps_err read_rows(series *s, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t row = 1; !err && row < s->table.rows; row++) {
        for (size_t c = 0; !err && c < s->table.columns; c++)
            if (c != s->when && c != s->node && *csv_field(&s->table, row, c))
                err = read_field(s, row, c, diag);
        if (err)
            diag_wrap(diag, err, "line %" PRIu32, s->table.lines[row]);
    }
    return err;
}

edgeps_err scenario_read_csv(const char *path, edgeps_diag *diag, network *net)
{
    series s = {.net = net};
    edgeps_err err = load_table(path, diag, &s.table);
    if (err)
        return err;
    int64_t at = find_column(&s.table, "at"), epoch = find_column(&s.table, "epoch");
    int64_t node = find_column(&s.table, "node");
    if ((at < 0) == (epoch < 0) || node < 0)
        err = diag_fail(diag, EDGEPS_FORMAT,
                        "line %" PRIu32 ": needs a column \"node\" and either \"at\" or \"epoch\"",
                        s.table.lines[0]);
    s.when = (size_t)(at < 0 ? epoch : at);
    s.node = (size_t)node;
    if (!err)
        err = read_rows(&s, diag);
    csv_free(&s.table);
    return finish(&s.list, path, err, diag, net);
}

/* ---- what is stored ---- */

static edgeps_err read_amount(const csv_table *table, size_t row, size_t column, edgeps_diag *diag,
                              double *out)
{
    const char *text = csv_field(table, row, column), *end = quantity_number(text, out);
    if (end == text || *end || !(*out >= 0))
        return diag_fail(diag, EDGEPS_FORMAT,
                         "line %" PRIu32 ": column '%.40s': '%.40s' is no amount",
                         table->lines[row], csv_field(table, 0, column), text);
    return EDGEPS_OK;
}

/* amounts: (rows - 1, columns - 1); peaks: (columns - 1). */
static edgeps_err read_amounts(const csv_table *table, edgeps_diag *diag, double *amounts,
                               double *peaks)
{
    size_t columns = table->columns - 1;
    for (size_t row = 1; row < table->rows; row++)
        for (size_t c = 0; c < columns; c++) {
            double *at = &amounts[(row - 1) * columns + c];
            edgeps_err err = read_amount(table, row, c + 1, diag, at);
            if (err)
                return err;
            peaks[c] = fmax(peaks[c], *at);
        }
    return EDGEPS_OK;
}

typedef struct churn {
    size_t rows;
    size_t columns;
    double *amounts;
    double *peaks;
    double share;
    double step_s;
} churn;

static edgeps_err follow_churn(const churn *h, const network *net, event_list *list,
                               edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t k = 0; !err && k < h->rows * net->count; k++) {
        size_t row = k / net->count, i = k % net->count, c = i % h->columns;
        const double *at = &h->amounts[row * h->columns + c];
        bool same = row > 0 && at[0] == *(at - h->columns);
        if (same || h->peaks[c] == 0)
            continue;
        double part = 1 - h->share * *at / h->peaks[c];
        network_event e = {.node = (uint32_t)i,
                           .change = NETWORK_FREE,
                           .epoch = h->step_s > 0 ? 0 : (int)row + 1,
                           .at_s = (double)row * h->step_s,
                           .value = floor((double)net->nodes[i].free_bytes * part)};
        err = add(list, &e, diag);
    }
    return err;
}

edgeps_err scenario_read_churn(const char *path, double share, double step_s, edgeps_diag *diag,
                               network *net)
{
    csv_table table;
    event_list list = {0};
    edgeps_err err = load_table(path, diag, &table);
    if (err)
        return err;
    churn h = {table.rows - 1, table.columns - 1, NULL, NULL, share, step_s};
    h.amounts = mem_alloc(h.rows * h.columns, sizeof *h.amounts);
    h.peaks = mem_alloc(h.columns, sizeof *h.peaks);
    if (!h.amounts || !h.peaks)
        err = diag_fail(diag, EDGEPS_NOMEM, "no memory for a table");
    else if (h.rows == 0 || h.columns == 0)
        err = diag_fail(diag, EDGEPS_FORMAT,
                        "needs a line of names, a column that numbers the rows, and amounts");
    if (!err)
        err = read_amounts(&table, diag, h.amounts, h.peaks);
    if (!err)
        err = follow_churn(&h, net, &list, diag);
    mem_free(h.amounts);
    mem_free(h.peaks);
    csv_free(&table);
    return finish(&list, path, err, diag, net);
}

/* ---- packets ---- */

typedef struct packets {
    double *at_s;
    size_t count;
    size_t room;
} packets;

static edgeps_err read_packets(const char *text, edgeps_diag *diag, packets *out)
{
    long long last = 0;
    for (size_t line = 1; *text; line++) {
        char *end;
        errno = 0;
        long long ms = strtoll(text, &end, 10);
        bool whole = isdigit((unsigned char)*text) && /* strtoll would go on to the next line */
                     (*end == '\n' || *end == '\0' || strncmp(end, "\r\n", 2) == 0);
        if (!whole || errno || ms < last || ms > MOST_TRACE_MS)
            return diag_fail(diag, EDGEPS_FORMAT,
                             "line %zu: must be whole milliseconds, and not before the line above",
                             line);
        double *grown = mem_grow(out->at_s, out->count + 1, sizeof *out->at_s, &out->room);
        if (!grown)
            return diag_fail(diag, EDGEPS_NOMEM, "no memory for a trace");
        out->at_s = grown;
        out->at_s[out->count++] = (double)ms / 1000;
        last = ms;
        end += strcspn(end, "\n");
        text = end + (*end == '\n');
    }
    if (last == 0)
        return diag_fail(diag, EDGEPS_FORMAT, "has no line after 0 ms, so no length");
    return EDGEPS_OK;
}

/* Whether the next packet passes until then; the trace is over at its last, or begins anew. */
static bool next_passes(const packets *p, bool once, double end_s, size_t *next, double *turn_s)
{
    if (*turn_s + p->at_s[*next] > end_s || (once && *turn_s > 0))
        return false;
    if (++*next == p->count) {
        *next = 0;
        *turn_s += p->at_s[p->count - 1];
    }
    return true;
}

static edgeps_err follow_packets(const packets *p, const scenario_trace *t, event_list *list,
                                 edgeps_diag *diag)
{
    bool once = !(t->until_s > 0);
    double until_s = once ? p->at_s[p->count - 1] : t->until_s, turn_s = 0, before = -1;
    size_t next = 0;
    edgeps_err err = EDGEPS_OK;
    if (until_s / t->step_s > MOST_EVENTS)
        return diag_fail(diag, EDGEPS_USAGE, "%g s are more than %d steps of %g s", until_s,
                         MOST_EVENTS, t->step_s);
    for (int64_t step = 0; !err && (double)step * t->step_s < until_s; step++) {
        double begin_s = (double)step * t->step_s;
        double end_s = fmin((double)(step + 1) * t->step_s, until_s), passed = 0;
        while (next_passes(p, once, end_s, &next, &turn_s))
            passed++;
        double rate = floor(passed * PACKET_PAYLOAD_BYTES / (end_s - begin_s));
        network_event e = {.node = t->node, .change = t->what, .at_s = begin_s, .value = rate};
        if (rate != before)
            err = add(list, &e, diag);
        before = rate;
    }
    return err;
}

edgeps_err scenario_read_mahimahi(const char *path, const scenario_trace *t, edgeps_diag *diag,
                                  network *net)
{
    char *text;
    size_t length;
    packets p = {0};
    event_list list = {0};
    edgeps_err err = json_read_file(path, MOST_BYTES, diag, &text, &length);
    if (err)
        return err;
    char *ended = mem_resize(text, length + 1, 1);
    if (!ended)
        err = diag_fail(diag, EDGEPS_NOMEM, "no memory for a trace");
    else {
        text = ended;
        text[length] = '\0';
        err = strlen(text) == length ? read_packets(text, diag, &p)
                                     : diag_fail(diag, EDGEPS_FORMAT, "is no text");
    }
    if (!err)
        err = follow_packets(&p, t, &list, diag);
    mem_free(text);
    mem_free(p.at_s);
    return finish(&list, path, err, diag, net);
}
