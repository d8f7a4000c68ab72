/* Time: nanoseconds of the monotonic clock (for durations) and wall-clock text (for records). */
#ifndef EDGEPS_BASE_CLOCK_H
#define EDGEPS_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define CLOCK_NS_PER_S 1000000000

int64_t clock_now_ns(void);

/* Seconds from a moment of clock_now_ns to now. */
double clock_since_s(int64_t then_ns);

/* Seconds since 1970 by the wall clock: for what another process shall reckon with. */
double clock_wall_s(void);

/* The UTC wall clock as "2026-01-31T12:00:00Z" into `text`. */
void clock_wall_text(char *text, size_t size);

#endif
