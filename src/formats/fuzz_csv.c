/* Whatever is read as a table must survive being written and read again unchanged. */
#include "formats/csv_int.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    csv_table table, again;
    char *text = NULL;
    size_t length = 0;
    if (csv_parse((const char *)bytes, count, NULL, &table))
        return 0;
    FILE *file = open_memstream(&text, &length);
    for (size_t k = 0; file && k < table.rows * table.columns; k++) {
        const char *field = csv_field(&table, k / table.columns, k % table.columns);
        /* An empty line is none, and a byte order mark none of the text. */
        if (*field)
            csv_put(file, field);
        else
            fputs("\"\"", file);
        fputc((k + 1) % table.columns ? ',' : '\n', file);
    }
    if (!file || fclose(file) || memcmp(text, "\xef\xbb\xbf", 3) == 0)
        goto out;
    if (csv_parse(text, length, NULL, &again) || again.rows != table.rows ||
        again.columns != table.columns)
        abort();
    for (size_t k = 0; k < table.rows * table.columns; k++)
        if (strcmp(csv_field(&table, k / table.columns, k % table.columns),
                   csv_field(&again, k / table.columns, k % table.columns)) != 0)
            abort();
    csv_free(&again);
out:
    csv_free(&table);
    free(text);
    return 0;
}
