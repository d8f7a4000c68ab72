#include "formats/csv_int.h"

#include "base/mem.h"

#include <stdbool.h>
#include <string.h>

typedef struct reader {
    const char *at;
    const char *end;
    uint32_t line;
    char separator;
    char *put; /* where the next field goes */
} reader;

static char find_separator(const char *text, const char *end)
{
    static const char separators[] = "\t;,";
    bool quoted = false, seen[3] = {false};
    for (; text < end && (quoted || (*text != '\n' && *text != '\r')); text++) {
        const char *found = *text ? strchr(separators, *text) : NULL;
        if (*text == '"')
            quoted = !quoted;
        else if (found && !quoted)
            seen[found - separators] = true;
    }
    return seen[0] ? '\t' : seen[1] ? ';' : ',';
}

static bool at_field_end(const reader *r)
{
    return r->at == r->end || *r->at == r->separator || *r->at == '\n' || *r->at == '\r';
}

static void skip_spaces(reader *r)
{
    while (!at_field_end(r) && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
}

static edgeps_err fail(const reader *r, edgeps_diag *diag, const char *what)
{
    return diag_fail(diag, EDGEPS_FORMAT, "line %u: %s", (unsigned)r->line, what);
}

static edgeps_err read_quoted(reader *r, edgeps_diag *diag)
{
    uint32_t begun = r->line;
    for (r->at++; r->at < r->end; r->at++) {
        if (*r->at == '"' && (r->at + 1 == r->end || r->at[1] != '"'))
            break;
        r->at += *r->at == '"';
        r->line += *r->at == '\n';
        *r->put++ = *r->at;
    }
    if (r->at == r->end) {
        r->line = begun;
        return fail(r, diag, "a quote is not closed");
    }
    r->at++;
    skip_spaces(r);
    return at_field_end(r) ? EDGEPS_OK
                           : fail(r, diag, "text follows a closing quote; double quotes inside");
}

static edgeps_err read_field(reader *r, edgeps_diag *diag)
{
    skip_spaces(r);
    if (r->at < r->end && *r->at == '"') {
        edgeps_err err = read_quoted(r, diag);
        if (err)
            return err;
    } else {
        char *begin = r->put;
        while (!at_field_end(r))
            *r->put++ = *r->at++;
        while (r->put > begin && (r->put[-1] == ' ' || r->put[-1] == '\t'))
            r->put--;
    }
    *r->put++ = '\0';
    return EDGEPS_OK;
}

/* Past line ends; of several in a row as well. */
static void skip_lines(reader *r)
{
    for (; r->at < r->end && (*r->at == '\n' || *r->at == '\r'); r->at++)
        r->line += *r->at == '\n';
}

/* Arrays double where the count is a power of two. */
static bool grow(uint32_t **array, size_t count)
{
    if (count & (count - 1))
        return true;
    uint32_t *more = mem_resize(*array, count ? 2 * count : 1, sizeof *more);
    if (more)
        *array = more;
    return more != NULL;
}

static edgeps_err no_memory(edgeps_diag *diag)
{
    return diag_fail(diag, EDGEPS_NOMEM, "no memory for a table");
}

static edgeps_err read_row(reader *r, csv_table *table, edgeps_diag *diag)
{
    size_t width = 0;
    if (!grow(&table->lines, table->rows))
        return no_memory(diag);
    table->lines[table->rows++] = r->line;
    for (;; r->at++) {
        if (!grow(&table->fields, table->field_count))
            return no_memory(diag);
        table->fields[table->field_count++] = (uint32_t)(r->put - table->text);
        edgeps_err err = read_field(r, diag);
        if (err)
            return err;
        width++;
        if (r->at == r->end || *r->at != r->separator)
            break;
    }
    if (table->rows == 1)
        table->columns = width;
    if (width != table->columns)
        return diag_fail(diag, EDGEPS_FORMAT, "line %u: has %zu fields, the first line %zu",
                         (unsigned)table->lines[table->rows - 1], width, table->columns);
    return EDGEPS_OK;
}

edgeps_err csv_parse(const char *text, size_t length, edgeps_diag *diag, csv_table *out)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    size_t mark = length >= 3 && memcmp(text, byte_order_mark, 3) == 0 ? 3 : 0;
    reader r = {.at = text + mark, .end = text + length, .line = 1};
    csv_table table = {0};
    if (length >= UINT32_MAX)
        return diag_fail(diag, EDGEPS_FORMAT, "is larger than any such table");
    if (memchr(text, '\0', length))
        return diag_fail(diag, EDGEPS_FORMAT, "has a NUL byte; it must be text");
    table.text = mem_alloc(length + 1, 1); /* a field and its end take no more than in the text */
    edgeps_err err = table.text ? EDGEPS_OK : no_memory(diag);
    r.put = table.text;
    skip_lines(&r);
    r.separator = find_separator(r.at, r.end);
    while (!err && r.at < r.end) {
        err = read_row(&r, &table, diag);
        skip_lines(&r);
    }
    if (!err && table.rows == 0)
        err = diag_fail(diag, EDGEPS_FORMAT, "is empty");
    if (err)
        csv_free(&table);
    else
        *out = table;
    return err;
}

const char *csv_field(const csv_table *table, size_t row, size_t column)
{
    return table->text + table->fields[row * table->columns + column];
}

void csv_free(csv_table *table)
{
    mem_free(table->text);
    mem_free(table->fields);
    mem_free(table->lines);
    *table = (csv_table){0};
}

void csv_put(FILE *file, const char *field)
{
    size_t length = strlen(field);
    bool spaced = length && (field[0] == ' ' || field[length - 1] == ' ');
    if (!spaced && !strpbrk(field, ",;\t\"\r\n")) {
        fputs(field, file);
        return;
    }
    fputc('"', file);
    for (; *field; field++)
        fprintf(file, *field == '"' ? "\"\"" : "%c", *field);
    fputc('"', file);
}
