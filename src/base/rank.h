/* A binary min-heap of the numbers 0..room-1, each at most once, in which a number's key can
 * change. Room is made beforehand, so ranking itself never fails. */
#ifndef EDGEPS_BASE_RANK_H
#define EDGEPS_BASE_RANK_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rank_item {
    double key;
    uint32_t id;
} rank_item;

typedef struct rank {
    rank_item *items; /* items[0] has the smallest key */
    uint32_t *place;  /* per number: where it stands + 1, or 0 */
    size_t count;
    size_t room;
} rank;

/* A zeroed `rank` has no room; rank_free releases it. Numbers that are there stay. */
edgeps_err rank_reserve(rank *r, size_t room);
void rank_free(rank *r);

/* Puts the number in, or changes its key. Equal keys come out in any, but always the same, order.
 * O(log count). */
void rank_set(rank *r, uint32_t id, double key);

/* Takes the number out if it is there. O(log count). */
void rank_remove(rank *r, uint32_t id);

/* Empties it. O(count). */
void rank_clear(rank *r);

#endif
