#include "bench/sheet.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

sheet sheet_make(const char *title, const char *const *columns)
{
    sheet s = {.title = title, .columns = columns};
    while (columns[s.width])
        s.width++;
    return s;
}

void sheet_free(sheet *s)
{
    for (size_t k = 0; k < s->count; k++)
        mem_free(s->cells[k].text);
    mem_free(s->cells);
    s->cells = NULL;
    s->count = s->room = 0;
}

static void add(sheet *s, sheet_cell cell)
{
    sheet_cell *cells = mem_grow(s->cells, s->count + 1, sizeof *cells, &s->room);
    if (!cells) {
        mem_free(cell.text);
        s->failed = true;
        return;
    }
    s->cells = cells;
    s->cells[s->count++] = cell;
}

void sheet_text(sheet *s, const char *text)
{
    sheet_cell cell = {.text = text ? mem_copy_text(text) : NULL, .number = NAN};
    s->failed |= text && !cell.text;
    add(s, cell);
}

void sheet_number(sheet *s, double number) { add(s, (sheet_cell){.number = number}); }

static void csv_text(const char *text, FILE *out)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

void sheet_csv(const sheet *s, FILE *out)
{
    for (size_t k = 0; k < s->width; k++) {
        fputs(k ? "," : "", out);
        csv_text(s->columns[k], out);
    }
    for (size_t k = 0, column = 0; k < s->count; k++) {
        const sheet_cell *cell = &s->cells[k];
        putc(column ? ',' : '\n', out);
        if (cell->text)
            csv_text(cell->text, out);
        else if (!isnan(cell->number))
            fprintf(out, "%.10g", cell->number);
        column = column + 1 < s->width ? column + 1 : 0;
    }
    putc('\n', out);
}

/* Columns of numbers stand to the right. */
static bool is_numeric(const sheet *s, size_t column)
{
    for (size_t k = column; k < s->count; k += s->width)
        if (s->cells[k].text)
            return false;
    return true;
}

void sheet_markdown(const sheet *s, FILE *out)
{
    fprintf(out, "## %s\n\n|", s->title);
    for (size_t k = 0; k < s->width; k++)
        fprintf(out, " %s |", s->columns[k]);
    fputs("\n|", out);
    for (size_t k = 0; k < s->width; k++)
        fputs(is_numeric(s, k) ? "---:|" : "---|", out);
    for (size_t k = 0, column = 0; k < s->count; k++) {
        const sheet_cell *cell = &s->cells[k];
        fputs(column ? " " : "\n| ", out);
        if (cell->text)
            fputs(cell->text, out);
        else if (!isnan(cell->number))
            fprintf(out, fabs(cell->number) < 1000 ? "%.4g" : "%.0f", cell->number);
        fputs(" |", out);
        column = column + 1 < s->width ? column + 1 : 0;
    }
    fputs("\n\n", out);
}

static json_t *row_json(const sheet *s, size_t first)
{
    json_t *row = json_object();
    for (size_t k = 0; row && k < s->width; k++) {
        const sheet_cell *cell = &s->cells[first + k];
        if (!cell->text && !isfinite(cell->number))
            continue;
        json_t *value = cell->text ? json_string(cell->text) : json_real(cell->number);
        if (json_object_set_new(row, s->columns[k], value)) {
            json_decref(row);
            return NULL;
        }
    }
    return row;
}

json_t *sheet_json(const sheet *s)
{
    json_t *rows = json_array();
    for (size_t k = 0; rows && k + s->width <= s->count; k += s->width) {
        if (json_array_append_new(rows, row_json(s, k))) {
            json_decref(rows);
            return NULL;
        }
    }
    return rows;
}
