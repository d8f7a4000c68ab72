/* Tables as spreadsheets write them (RFC 4180): fields in quotes may hold separators, line ends and
 * doubled quotes. The separator is the first of tab, semicolon and comma that the first line has
 * outside of quotes; spaces around a field do not count, empty lines are left out. */
#ifndef EDGEPS_FORMATS_CSV_INT_H
#define EDGEPS_FORMATS_CSV_INT_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Every row has the same number of columns; csv_free takes it all. A zeroed one is empty. */
typedef struct csv_table {
    size_t rows;
    size_t columns;
    char *text;       /* all fields */
    uint32_t *fields; /* rows x columns: where each begins */
    uint32_t *lines;  /* per row: its line in the text, from 1 */
    size_t field_count;
} csv_table;

/* EDGEPS_FORMAT with the line: a quote that is not closed, a row of another width, a NUL byte, no
 * row at all. At most 4 GiB. */
edgeps_err csv_parse(const char *text, size_t length, edgeps_diag *diag, csv_table *out);

/* The field, never NULL. */
const char *csv_field(const csv_table *table, size_t row, size_t column);

void csv_free(csv_table *table);

/* Writes one field, in quotes where it needs them. */
void csv_put(FILE *file, const char *field);

#endif
