/* How many random cases a quick test draws. */
#ifndef EDGEPS_BASE_TEST_DRAWS_H
#define EDGEPS_BASE_TEST_DRAWS_H

#include <stddef.h>

/* `draws`, or a quarter of it in a sanitizer's build: that is some ten times slower, and looks for
 * errors of memory and threads, of which a quarter of the cases shows as many kinds. */
static inline size_t test_draws(size_t draws)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return (draws + 3) / 4;
#else
    return draws;
#endif
}

#endif
