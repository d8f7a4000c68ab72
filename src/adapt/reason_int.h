/* The sentence that goes with a result. Private to adapt. */
#ifndef EDGEPS_ADAPT_REASON_INT_H
#define EDGEPS_ADAPT_REASON_INT_H

#include "adapt/moves_int.h"

/* A line in a buffer of fixed size; what does not fit is cut. */
typedef struct line {
    char *text;
    size_t size;
    size_t length;
} line;

void line_add(line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What changes from one plan to the next: "global server lyon to paris, opens local server nice,
 * 2 workers re-attached". */
void reason_changes(line *l, const transition *t, const adapt_move *moves, size_t count);

#endif
