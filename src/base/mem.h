/* Checked allocation with failure injection.
 *
 * Every allocation of the project goes through here, so that a test can let the n-th one fail and
 * see that nothing leaks and no output is touched. Memory comes zeroed. The counters are atomic.
 */
#ifndef EDGEPS_BASE_MEM_H
#define EDGEPS_BASE_MEM_H

#include "base/api.h"

#include <stddef.h>

EDGEPS_API_BEGIN

/* `count` zeroed elements of `size` bytes, or NULL; a product that overflows counts as no memory.
 * A count of 0 gives a valid pointer. The caller frees with mem_free. */
void *mem_alloc(size_t count, size_t size);

/* Like realloc for `count` elements of `size` bytes; the old block stays valid on NULL. The grown
 * part is not zeroed. */
void *mem_resize(void *block, size_t count, size_t size);

/* Makes a growing array of *room elements hold at least `wanted`, by doubling, and sets *room.
 * Returns where the array is now, as it was if it has room; NULL, and the old block valid, without
 * memory. */
void *mem_grow(void *block, size_t wanted, size_t size, size_t *room);

/* A copy of `text`, or NULL when there is no memory. */
char *mem_copy_text(const char *text);

/* Frees; NULL is fine. */
void mem_free(void *block);

/* For tests: the n-th allocation from now on (1 = the next) and all after it fail; 0 switches this
 * off. `mem_allocations` counts the calls since the last mem_fail_at. */
void mem_fail_at(long nth);
long mem_allocations(void);

EDGEPS_API_END

#endif
