#include "base/heap.h"

#include "base/mem.h"

static bool before(const heap_item *a, const heap_item *b)
{
    return a->key < b->key || (a->key == b->key && a->order < b->order);
}

static void swap(heap_item *a, heap_item *b)
{
    heap_item t = *a;
    *a = *b;
    *b = t;
}

edgeps_err heap_push(heap *h, double key, uint64_t id)
{
    heap_item *items = mem_grow(h->items, h->count + 1, sizeof *items, &h->room);
    if (!items)
        return EDGEPS_NOMEM;
    h->items = items;
    size_t i = h->count++;
    h->items[i] = (heap_item){key, h->pushed++, id};
    for (; i && before(&h->items[i], &h->items[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&h->items[i], &h->items[(i - 1) / 2]);
    return EDGEPS_OK;
}

bool heap_pop(heap *h, heap_item *out)
{
    if (!h->count)
        return false;
    *out = h->items[0];
    h->items[0] = h->items[--h->count];
    for (size_t i = 0;;) {
        size_t least = i, left = 2 * i + 1, right = left + 1;
        if (left < h->count && before(&h->items[left], &h->items[least]))
            least = left;
        if (right < h->count && before(&h->items[right], &h->items[least]))
            least = right;
        if (least == i)
            return true;
        swap(&h->items[i], &h->items[least]);
        i = least;
    }
}

void heap_free(heap *h)
{
    mem_free(h->items);
    *h = (heap){0};
}
