/* Independent pieces of work on several threads. Results do not depend on how many there are, as
 * long as each piece writes only what is its own. */
#ifndef EDGEPS_BASE_PARALLEL_H
#define EDGEPS_BASE_PARALLEL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define PARALLEL_MOST 64

/* Piece `item` of the work, on thread number `thread`: below the number of threads, and never two
 * pieces at once with the same number. Number 0 is the thread that called parallel_run. */
typedef edgeps_err parallel_work(void *context, size_t thread, size_t item);

/* Whether to go on, asked on the caller's thread alone; NULL: always. */
typedef struct parallel_watch {
    bool (*go_on)(void *context, double done_fraction);
    void *context;
} parallel_watch;

/* How many threads to use: the processors there are, at most `items` and PARALLEL_MOST, at least
 * 1. */
size_t parallel_threads(size_t items);

/* Does the pieces 0..count-1, taken in this order, on at most `threads` threads, the caller's among
 * them; fewer where the system gives no more. After a failure no further piece begins; returns the
 * failure of the first piece that failed. `watch` (NULL: none) is asked before the first piece and
 * before each that the caller's thread takes; once it says no, no further piece begins. */
edgeps_err parallel_run(size_t threads, size_t count, parallel_work *work, void *context,
                        const parallel_watch *watch);

#endif
