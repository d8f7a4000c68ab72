#include "base/mem.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 16 /* elements of a growing array */

static atomic_long allocations;
static atomic_long fail_from;

static int must_fail(size_t count, size_t size)
{
    long n = atomic_fetch_add(&allocations, 1) + 1;
    long from = atomic_load(&fail_from);
    return (from != 0 && n >= from) || (size != 0 && count > SIZE_MAX / 2 / size);
}

void *mem_alloc(size_t count, size_t size)
{
    if (must_fail(count, size))
        return NULL;
    return calloc(count ? count : 1, size ? size : 1);
}

void *mem_resize(void *block, size_t count, size_t size)
{
    if (must_fail(count, size))
        return NULL;
    size_t bytes = count * size;
    return realloc(block, bytes ? bytes : 1);
}

void *mem_grow(void *block, size_t wanted, size_t size, size_t *room)
{
    if (block && wanted <= *room)
        return block;
    size_t more = *room <= SIZE_MAX / 2 ? 2 * *room : SIZE_MAX;
    if (more < FIRST_ROOM)
        more = FIRST_ROOM;
    if (more < wanted)
        more = wanted;
    void *grown = mem_resize(block, more, size);
    if (grown)
        *room = more;
    return grown;
}

char *mem_copy_text(const char *text)
{
    size_t length = strlen(text) + 1;
    char *copy = mem_alloc(length, 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

void mem_free(void *block) { free(block); }

void mem_fail_at(long nth)
{
    atomic_store(&allocations, 0);
    atomic_store(&fail_from, nth);
}

long mem_allocations(void) { return atomic_load(&allocations); }
