/* One piece of work in a process of its own, so that its processor time and its peak of memory are
 * its own, and a crash or a lack of memory costs one row of a table and not the table.
 *
 * The caller must be the only thread of its process and collect no other children meanwhile. */
#ifndef EDGEPS_BENCH_MEASURE_H
#define EDGEPS_BENCH_MEASURE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Writes its answer, a value without pointers, into `answer`. */
typedef edgeps_err measure_work(const void *context, edgeps_diag *diag, void *answer);

/* Runs the work in a child and copies its answer of `size` bytes to `answer`. Fails as the work
 * does, and with EDGEPS_INTERNAL when the child dies by a signal, which the diagnosis names;
 * EDGEPS_CANCELLED when SIGINT or SIGTERM reaches this process meanwhile: the child is killed, its
 * answer dropped. */
edgeps_err measure_run(measure_work *work, const void *context, size_t size, edgeps_diag *diag,
                       void *answer);

/* Processor time of all threads of this process so far, in seconds, and the most memory it has had
 * resident, in bytes. */
double measure_cpu_s(void);
int64_t measure_peak_bytes(void);

#endif
