/* The clock of one emulated link: when have so many bytes passed? Pure arithmetic, no system call.
 *
 * The link serialises bytes one after another: `free_ns` is when it is through with all it was
 * given. An idle link saves up nothing, so a transfer of b bytes takes b / rate from its first byte
 * on. While it is busy, time that is lost because the process wakes late is made up for. A gap of a
 * few milliseconds is part of a busy time: TCP delivers in lumps.
 */
#ifndef EDGEPS_LOOP_LINK_H
#define EDGEPS_LOOP_LINK_H

#include <stdbool.h>
#include <stdint.h>

#define LINK_NEVER INT64_MAX

typedef struct link_clock {
    double bytes_per_s; /* INFINITY: no limit, 0: nothing passes */
    int64_t free_ns;
    int64_t busy_ns;   /* when it last passed or refused something */
    int64_t credit_ns; /* how far in the past an idle time ends, see link_rest */
    bool waited;       /* it has refused and not yet passed */
} link_clock;

bool link_is_limited(const link_clock *k);

/* When `bytes` more will have passed, LINK_NEVER at rate 0. A result after `now_ns` marks the link
 * as waited for. */
int64_t link_ready_ns(link_clock *k, int64_t bytes, int64_t now_ns);

/* Books bytes that have passed. */
void link_spend(link_clock *k, int64_t bytes, int64_t now_ns);

/* Nobody waits for the link: the next transfer starts from its own time, or `lenient`, a turn
 * before it, for bytes that have been on their way while the link seemed idle. */
void link_rest(link_clock *k, bool lenient);

/* Bytes that one user may pass before the next one's turn: about two milliseconds' worth. */
int64_t link_quantum_bytes(const link_clock *k);

/* Socket buffer for a link: small, so that back-pressure is felt within milliseconds. */
int link_buffer_bytes(double bytes_per_s);

#endif
