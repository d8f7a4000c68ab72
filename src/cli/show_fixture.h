/* A stream in memory to print to, for tests. */
#ifndef EDGEPS_CLI_SHOW_FIXTURE_H
#define EDGEPS_CLI_SHOW_FIXTURE_H

#include <stdio.h>

typedef struct page {
    FILE *out;
    char *text;
    size_t size;
    size_t seen; /* bytes that were compared */
} page;

void page_open(page *p);

/* Compares all that was printed since the last call with `expected`. */
void page_expect(page *p, const char *expected);

void page_close(page *p);

#endif
