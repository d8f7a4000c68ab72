/* A binary min-heap of (key, id): the event queue of everything that runs in virtual time.
 * Equal keys come out in the order in which they went in, so runs replay. */
#ifndef EDGEPS_BASE_HEAP_H
#define EDGEPS_BASE_HEAP_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct heap_item {
    double key;
    uint64_t order; /* set by heap_push */
    uint64_t id;
} heap_item;

typedef struct heap {
    heap_item *items;
    size_t count;
    size_t room;
    uint64_t pushed;
} heap;

/* A zeroed `heap` is an empty one; heap_free empties it. */
edgeps_err heap_push(heap *h, double key, uint64_t id);

/* Takes the smallest item out; false when the heap is empty. */
bool heap_pop(heap *h, heap_item *out);

void heap_free(heap *h);

#endif
