#include "formats/network_csv.h"

#include "base/mem.h"
#include "formats/csv_int.h"
#include "formats/gaps_int.h"
#include "formats/json_int.h"
#include "formats/quantity.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE_BYTES (INT64_C(1) << 30)
#define UNIT_BYTES 16

enum { NODES, RATES, LATENCY, TABLES };

static const char *const files[TABLES] = {
    [NODES] = "nodes.csv", [RATES] = "rates.csv", [LATENCY] = "latency.csv"};

typedef struct tables {
    csv_table table[TABLES]; /* without rows where there is no file */
    network *net;
} tables;

static bool join(char path[PATH_MAX], const char *folder, const char *file)
{
    return snprintf(path, PATH_MAX, "%s/%s", folder, file) < PATH_MAX;
}

bool network_csv_in(const char *folder)
{
    char path[PATH_MAX];
    for (int t = RATES; t <= LATENCY; t++)
        if (join(path, folder, files[t]) && access(path, F_OK) == 0)
            return true;
    return false;
}

/* Names go into JSON later. */
static edgeps_err check_encoding(const char *text, size_t length, edgeps_diag *diag)
{
    json_t *read = json_stringn(text, length);
    json_decref(read);
    return read
               ? EDGEPS_OK
               : diag_fail(diag, EDGEPS_FORMAT,
                           "is not UTF-8; convert the file, such as with iconv -f latin1 -t utf-8");
}

static edgeps_err load_table(const char *folder, const char *file, edgeps_diag *diag,
                             csv_table *out)
{
    char path[PATH_MAX], *text;
    size_t length;
    if (!join(path, folder, file))
        return diag_fail(diag, EDGEPS_USAGE, "%.200s: the path is too long", folder);
    if (access(path, F_OK) != 0)
        return EDGEPS_OK;
    edgeps_err err = json_read_file(path, MAX_FILE_BYTES, diag, &text, &length);
    if (err)
        return err;
    err = check_encoding(text, length, diag);
    if (!err)
        err = csv_parse(text, length, diag, out);
    mem_free(text);
    return err ? diag_wrap(diag, err, "%s", path) : EDGEPS_OK;
}

/* ---- amounts */

/* "up (Mbit/s)": a name, and the unit of the bare numbers below it. */
static void split_head(const char *head, char name[UNIT_BYTES], char unit[UNIT_BYTES])
{
    size_t length = strcspn(head, "(");
    const char *inside = head[length] ? head + length + 1 : "";
    while (length && head[length - 1] == ' ')
        length--;
    snprintf(name, UNIT_BYTES, "%.*s", (int)(length < UNIT_BYTES ? length : UNIT_BYTES), head);
    snprintf(unit, UNIT_BYTES, "%.*s", (int)strcspn(inside, ")"), inside);
}

static bool empty(const char *field) { return !*field || strcmp(field, "-") == 0; }

/* A quantity, or a bare number in `unit`. An empty field leaves `out` as it is. */
static edgeps_err read_amount(const char *field, const char *unit, quantity_kind kind,
                              edgeps_diag *diag, double *out)
{
    char text[QUANTITY_TEXT_BYTES];
    if (empty(field))
        return EDGEPS_OK;
    bool bare = *unit && field[strspn(field, "+-.0123456789eE")] == '\0';
    if (bare)
        snprintf(text, sizeof text, "%.40s %s", field, unit);
    return quantity_parse(kind, bare ? text : field, diag, out);
}

/* ---- nodes.csv */

enum { NAME, ADDRESS, UP, DOWN, OWN_LATENCY, COMPUTE, SUM, FREE, TRAIN, SERVE, COLUMNS };

static const char *const columns[COLUMNS] = {
    [NAME] = "name",          [ADDRESS] = "address", [UP] = "up",
    [DOWN] = "down",          [COMPUTE] = "compute", [SUM] = "sum",
    [FREE] = "free",          [TRAIN] = "train",     [SERVE] = "serve",
    [OWN_LATENCY] = "latency"};

static edgeps_err read_flag(const char *field, edgeps_diag *diag, bool *out)
{
    bool yes = strcmp(field, "true") == 0 || strcmp(field, "1") == 0;
    bool no = strcmp(field, "false") == 0 || strcmp(field, "0") == 0;
    if (!yes && !no && !empty(field))
        return diag_fail(diag, EDGEPS_FORMAT, "'%.40s' must be true or false", field);
    if (yes || no)
        *out = yes;
    return EDGEPS_OK;
}

static edgeps_err read_text(const char *field, edgeps_diag *diag, char **out)
{
    if (!*field)
        return EDGEPS_OK;
    *out = mem_copy_text(field);
    return *out ? EDGEPS_OK : diag_fail(diag, EDGEPS_NOMEM, "no memory for a text");
}

static edgeps_err read_free(const char *field, const char *unit, edgeps_diag *diag, int64_t *out)
{
    double bytes = (double)*out;
    edgeps_err err = read_amount(field, unit, QUANTITY_SIZE, diag, &bytes);
    *out = (int64_t)bytes;
    return err;
}

static edgeps_err read_cell(int column, const char *field, const char *unit, network_node *node,
                            edgeps_diag *diag)
{
    switch (column) {
    case NAME:
        return read_text(field, diag, &node->name);
    case ADDRESS:
        return read_text(field, diag, &node->address);
    case UP:
        return read_amount(field, unit, QUANTITY_RATE, diag, &node->up_bytes_per_s);
    case DOWN:
        return read_amount(field, unit, QUANTITY_RATE, diag, &node->down_bytes_per_s);
    case OWN_LATENCY:
        return read_amount(field, unit, QUANTITY_TIME, diag, &node->access_s);
    case COMPUTE:
        return read_amount(field, unit, QUANTITY_SPEED, diag, &node->compute_samples_per_s);
    case SUM:
        return read_amount(field, unit, QUANTITY_RATE, diag, &node->sum_bytes_per_s);
    case FREE:
        return read_free(field, unit, diag, &node->free_bytes);
    case TRAIN:
        return read_flag(field, diag, &node->train);
    default:
        return read_flag(field, diag, &node->serve);
    }
}

/* COLUMNS when none is called so. */
static int find_column(const char *name)
{
    int k = 0;
    while (k < COLUMNS && strcmp(columns[k], name) != 0)
        k++;
    return k;
}

static edgeps_err read_column(const csv_table *table, size_t c, network *net, bool *seen,
                              edgeps_diag *diag)
{
    char name[UNIT_BYTES], unit[UNIT_BYTES];
    edgeps_err err = EDGEPS_OK;
    split_head(csv_field(table, 0, c), name, unit);
    int column = find_column(name);
    if (column == COLUMNS)
        err = diag_fail(diag, EDGEPS_FORMAT,
                        "no column is called '%.40s'; there are: name, address, up, down, latency, "
                        "compute, sum, free, train, serve",
                        name);
    else if (seen[column])
        err = diag_fail(diag, EDGEPS_FORMAT, "the column '%s' is there twice", name);
    if (err)
        return diag_wrap(diag, err, "line %u", (unsigned)table->lines[0]);
    seen[column] = true;
    for (size_t r = 1; !err && r < table->rows; r++)
        if ((err = read_cell(column, csv_field(table, r, c), unit, &net->nodes[r - 1], diag)))
            diag_wrap(diag, err, "line %u: %s", (unsigned)table->lines[r], name);
    return err;
}

static edgeps_err read_nodes(const csv_table *table, network *net, edgeps_diag *diag)
{
    bool seen[COLUMNS] = {false};
    edgeps_err err = EDGEPS_OK;
    for (size_t c = 0; !err && c < table->columns; c++)
        err = read_column(table, c, net, seen, diag);
    for (size_t i = 0; !err && i < net->count; i++)
        if (!net->nodes[i].name)
            err = diag_fail(diag, EDGEPS_FORMAT, "line %u: name: is missing",
                            (unsigned)table->lines[i + 1]);
    return err;
}

static edgeps_err make_nodes(const csv_table *table, bool pairs, edgeps_diag *diag, network **out)
{
    network *net = NULL;
    edgeps_err err = table->rows < 2 ? diag_fail(diag, EDGEPS_FORMAT, "has no row of a node")
                                     : gaps_make(table->rows - 1, pairs, diag, &net);
    if (!err)
        err = read_nodes(table, net, diag);
    if (err)
        network_free(net);
    else
        *out = net;
    return err;
}

edgeps_err gaps_read_nodes(const char *folder, edgeps_diag *diag, network **out)
{
    csv_table table = {0};
    network *net = NULL;
    edgeps_err err = load_table(folder, files[NODES], diag, &table);
    if (!err && table.rows && (err = make_nodes(&table, true, diag, &net)))
        diag_wrap(diag, err, "%s/%s", folder, files[NODES]);
    csv_free(&table);
    if (!err)
        *out = net;
    return err;
}

/* ---- the matrices */

static edgeps_err find_node(const network *net, const csv_table *table, size_t row,
                            const char *name, edgeps_diag *diag, size_t *out)
{
    int64_t found = network_find(net, name);
    if (found < 0)
        return diag_fail(diag, EDGEPS_FORMAT, "line %u: no node is called '%.63s'",
                         (unsigned)table->lines[row], name);
    *out = (size_t)found;
    return EDGEPS_OK;
}

static edgeps_err read_heads(const csv_table *table, const network *net, edgeps_diag *diag,
                             size_t *to)
{
    for (size_t c = 1; c < table->columns; c++) {
        const char *name = csv_field(table, 0, c);
        edgeps_err err = find_node(net, table, 0, name, diag, &to[c]);
        for (size_t k = 1; !err && k < c; k++)
            if (to[k] == to[c])
                err = diag_fail(diag, EDGEPS_FORMAT, "line %u: '%.63s' has two columns",
                                (unsigned)table->lines[0], name);
        if (err)
            return err;
    }
    return EDGEPS_OK;
}

/* A matrix, and which node each of its columns is. */
typedef struct matrix {
    const csv_table *table;
    size_t *to;
    bool latency;
} matrix;

static edgeps_err read_row(const matrix *m, size_t r, size_t from, network *net, edgeps_diag *diag)
{
    const csv_table *table = m->table;
    const size_t *to = m->to;
    const char *unit = csv_field(table, 0, 0);
    edgeps_err err = EDGEPS_OK;
    for (size_t c = 1; !err && c < table->columns; c++) {
        double value = NAN;
        if (to[c] == from)
            continue;
        err = read_amount(csv_field(table, r, c), unit, m->latency ? QUANTITY_TIME : QUANTITY_RATE,
                          diag, &value);
        if (err)
            return diag_wrap(diag, err, "line %u: to %.63s", (unsigned)table->lines[r],
                             net->nodes[to[c]].name);
        if (m->latency)
            network_set_latency_s(net, from, to[c], value);
        else
            network_set_cap_bytes_per_s(net, from, to[c], value);
    }
    return err;
}

static edgeps_err read_rows(const matrix *m, network *net, bool *seen, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t r = 1; !err && r < m->table->rows; r++) {
        size_t from = 0;
        err = find_node(net, m->table, r, csv_field(m->table, r, 0), diag, &from);
        if (err)
            return err;
        if (seen[from])
            return diag_fail(diag, EDGEPS_FORMAT, "line %u: '%.63s' has two rows",
                             (unsigned)m->table->lines[r], net->nodes[from].name);
        seen[from] = true;
        err = read_row(m, r, from, net, diag);
    }
    return err;
}

static edgeps_err read_matrix(const csv_table *table, bool latency, network *net, edgeps_diag *diag)
{
    matrix m = {table, mem_alloc(table->columns, sizeof *m.to), latency};
    bool *seen = mem_alloc(net->count, sizeof *seen);
    edgeps_err err =
        m.to && seen ? EDGEPS_OK : diag_fail(diag, EDGEPS_NOMEM, "no memory for names");
    if (!err)
        err = read_heads(table, net, diag, m.to);
    if (!err)
        err = read_rows(&m, net, seen, diag);
    mem_free(m.to);
    mem_free(seen);
    return err;
}

/* Without nodes.csv, the rows of the first matrix name the nodes. */
static edgeps_err name_nodes(const csv_table *table, edgeps_diag *diag, network **out)
{
    if (table->rows < 2)
        return diag_fail(diag, EDGEPS_FORMAT, "has no row of a node");
    edgeps_err err = gaps_make(table->rows - 1, true, diag, out);
    network *net = *out;
    for (size_t i = 0; !err && i < net->count; i++)
        err = read_text(csv_field(table, i + 1, 0), diag, &net->nodes[i].name);
    for (size_t i = 0; !err && i < net->count; i++)
        if (!net->nodes[i].name)
            err = diag_fail(diag, EDGEPS_FORMAT, "line %u: the row has no name",
                            (unsigned)table->lines[i + 1]);
    return err;
}

static edgeps_err fill_tables(tables *t, edgeps_diag *diag, int *at)
{
    bool pairs = t->table[RATES].rows || t->table[LATENCY].rows;
    edgeps_err err;
    *at = NODES;
    while (!t->table[*at].rows)
        ++*at;
    err = *at == NODES ? make_nodes(&t->table[NODES], pairs, diag, &t->net)
                       : name_nodes(&t->table[*at], diag, &t->net);
    for (int k = RATES; !err && k <= LATENCY; k++) {
        *at = k;
        if (t->table[k].rows)
            err = read_matrix(&t->table[k], k == LATENCY, t->net, diag);
    }
    return err;
}

edgeps_err network_csv_load(const char *folder, const topology_options *options, edgeps_diag *diag,
                            network **out, topology_report *report)
{
    tables t = {.net = NULL};
    topology_report lines = {0};
    int at = NODES;
    edgeps_err err = EDGEPS_OK;
    for (int k = 0; !err && k < TABLES; k++)
        err = load_table(folder, files[k], diag, &t.table[k]);
    if (!err && !t.table[NODES].rows && !t.table[RATES].rows && !t.table[LATENCY].rows)
        err = diag_fail(diag, EDGEPS_USAGE,
                        "%s: holds none of nodes.csv, rates.csv and latency.csv", folder);
    if (!err && (err = fill_tables(&t, diag, &at)))
        diag_wrap(diag, err, "%s/%s", folder, files[at]);
    if (!err && (err = gaps_fill(t.net, options, diag, &lines)))
        diag_wrap(diag, err, "%s", folder);
    for (int k = 0; k < TABLES; k++)
        csv_free(&t.table[k]);
    if (err) {
        network_free(t.net);
        topology_report_free(&lines);
        return err;
    }
    *out = t.net;
    *report = lines;
    return EDGEPS_OK;
}

/* ---- writing */

static void put_amount(FILE *file, quantity_kind kind, double value)
{
    char text[QUANTITY_TEXT_BYTES] = "";
    if (isfinite(value))
        quantity_text(kind, value, text);
    fprintf(file, ",%s", text);
}

static void write_nodes(FILE *file, const network *net, bool own_latency)
{
    fprintf(file, "name,address,up,down,%scompute,sum,free,train,serve\n",
            own_latency ? "latency," : "");
    for (size_t i = 0; i < net->count; i++) {
        const network_node *node = &net->nodes[i];
        csv_put(file, node->name);
        fputc(',', file);
        csv_put(file, node->address ? node->address : "");
        put_amount(file, QUANTITY_RATE, node->up_bytes_per_s);
        put_amount(file, QUANTITY_RATE, node->down_bytes_per_s);
        if (own_latency)
            put_amount(file, QUANTITY_TIME, node->access_s);
        put_amount(file, QUANTITY_SPEED, node->compute_samples_per_s);
        put_amount(file, QUANTITY_RATE, node->sum_bytes_per_s);
        put_amount(file, QUANTITY_SIZE, (double)node->free_bytes);
        fprintf(file, ",%s,%s\n", node->train ? "true" : "false", node->serve ? "true" : "false");
    }
}

static void write_matrix(FILE *file, const network *net, bool latency)
{
    for (size_t j = 0; j < net->count; j++) {
        fputc(',', file);
        csv_put(file, net->nodes[j].name);
    }
    fputc('\n', file);
    for (size_t i = 0; i < net->count; i++) {
        csv_put(file, net->nodes[i].name);
        for (size_t j = 0; j < net->count; j++)
            if (i == j)
                fputc(',', file);
            else if (latency)
                put_amount(file, QUANTITY_TIME, network_latency_s(net, i, j));
            else
                put_amount(file, QUANTITY_RATE, network_cap_bytes_per_s(net, i, j));
        fputc('\n', file);
    }
}

edgeps_err network_csv_save(const network *net, const char *folder, edgeps_diag *diag)
{
    char path[PATH_MAX];
    bool pairs = net->site_count > 1;
    if (mkdir(folder, 0777) && errno != EEXIST)
        return diag_fail(diag, EDGEPS_IO, "%s: cannot be made: %s", folder, strerror(errno));
    for (int t = 0; t < (pairs ? TABLES : NODES + 1); t++) {
        FILE *file = join(path, folder, files[t]) ? fopen(path, "we") : NULL;
        if (file && t == NODES)
            write_nodes(file, net, !pairs);
        else if (file)
            write_matrix(file, net, t == LATENCY);
        bool good = file && !ferror(file);
        if (file && fclose(file))
            good = false;
        if (!good)
            return diag_fail(diag, EDGEPS_IO, "%s: cannot be written: %s", path, strerror(errno));
    }
    return EDGEPS_OK;
}
