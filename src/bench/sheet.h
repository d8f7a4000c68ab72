/* A table of named columns, written as CSV (RFC 4180), as Markdown or as JSON. */
#ifndef EDGEPS_BENCH_SHEET_H
#define EDGEPS_BENCH_SHEET_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

typedef struct sheet_cell {
    char *text; /* owned; NULL: the number, or nothing where it is NAN */
    double number;
} sheet_cell;

/* sheet_free releases it. */
typedef struct sheet {
    const char *title;          /* borrowed, like the names */
    const char *const *columns; /* NULL at the end */
    size_t width;
    sheet_cell *cells; /* row after row */
    size_t count;      /* of cells */
    size_t room;
    bool failed; /* there was no memory for a cell */
} sheet;

sheet sheet_make(const char *title, const char *const *columns);
void sheet_free(sheet *s);

/* The next cell, from left to right and from top to bottom. Texts are copied; a NULL or a NAN
 * leaves the cell empty. A lack of memory shows in `failed`. */
void sheet_text(sheet *s, const char *text);
void sheet_number(sheet *s, double number);

void sheet_csv(const sheet *s, FILE *out);

/* With the title as a heading. */
void sheet_markdown(const sheet *s, FILE *out);

/* An array with an object for each row, empty cells left out; NULL without memory. */
json_t *sheet_json(const sheet *s);

#endif
