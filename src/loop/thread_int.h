/* How threads share the processor. Private to loop; apart from loop_int.h because the kernel's
 * header does not go with libc's. */
#ifndef EDGEPS_LOOP_THREAD_INT_H
#define EDGEPS_LOOP_THREAD_INT_H

#include <stdbool.h>

/* Lets the calling thread run soon after it wakes, in short turns, or in turns of the usual length.
 * Linux 6.12 and later (EEVDF: Stoica and Abdel-Wahab 1995); a short turn begins sooner and the
 * thread's share stays the same. Older kernels ignore it. */
void thread_take_short_turns(bool wanted);

#endif
