#include "base/rank.h"

#include "base/mem.h"

#include <string.h>

edgeps_err rank_reserve(rank *r, size_t room)
{
    if (room <= r->room)
        return EDGEPS_OK;
    rank_item *items = mem_resize(r->items, room, sizeof *items);
    if (!items)
        return EDGEPS_NOMEM;
    r->items = items;
    uint32_t *place = mem_resize(r->place, room, sizeof *place);
    if (!place)
        return EDGEPS_NOMEM;
    memset(place + r->room, 0, (room - r->room) * sizeof *place);
    r->place = place;
    r->room = room;
    return EDGEPS_OK;
}

void rank_free(rank *r)
{
    mem_free(r->items);
    mem_free(r->place);
    *r = (rank){0};
}

static void put(rank *r, size_t at, rank_item item)
{
    r->items[at] = item;
    r->place[item.id] = (uint32_t)at + 1;
}

/* Finds the place of an item that may stand at `at`, moving the others out of its way. */
static void settle(rank *r, size_t at, rank_item item)
{
    while (at > 0 && r->items[(at - 1) / 2].key > item.key) {
        put(r, at, r->items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < r->count && r->items[child + 1].key < r->items[child].key)
            child++;
        if (child >= r->count || r->items[child].key >= item.key)
            break;
        put(r, at, r->items[child]);
        at = child;
    }
    put(r, at, item);
}

void rank_set(rank *r, uint32_t id, double key)
{
    size_t at = r->place[id] ? r->place[id] - 1 : r->count++;
    settle(r, at, (rank_item){key, id});
}

void rank_remove(rank *r, uint32_t id)
{
    if (!r->place[id])
        return;
    size_t at = r->place[id] - 1;
    r->place[id] = 0;
    rank_item last = r->items[--r->count];
    if (at < r->count)
        settle(r, at, last);
}

void rank_clear(rank *r)
{
    for (size_t k = 0; k < r->count; k++)
        r->place[r->items[k].id] = 0;
    r->count = 0;
}
