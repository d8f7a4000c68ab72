#include "sim/wires.h"

#include "base/mem.h"

#include <math.h>

typedef struct queue {
    wires_message *items;
    size_t head;
    size_t count;
    size_t room;
    bool sending; /* the head is on the links */
} queue;

typedef struct wires_edge {
    int32_t child;
    int32_t parent;
    bool open;
    double held_s;   /* until when nothing arrives */
    bool loses;      /* what would have arrived before */
    uint64_t opened; /* grows with each opening: arrivals of earlier ones do not count */
    queue queues[2];
} wires_edge;

/* A message that left its last link and is on its way for a latency. */
typedef struct flight {
    wires_arrival arrival;
    uint64_t opened;
    size_t next_free;
} flight;

struct wires {
    const problem *p;
    fluid *links;
    wires_edge *edges;
    heap arrivals; /* of flights */
    flight *flights;
    size_t flight_count;
    size_t free_flight; /* 0: none, else index + 1 */
    double now_s;
};

edgeps_err wires_make(const problem *p, wires **out)
{
    size_t n = p->count;
    double *rates = mem_alloc(2 * n, sizeof *rates);
    wires *w = mem_alloc(1, sizeof *w);
    edgeps_err err = EDGEPS_NOMEM;
    if (!rates || !w)
        goto out;
    w->p = p;
    w->edges = mem_alloc(2 * n, sizeof *w->edges);
    if (!w->edges)
        goto out;
    for (size_t i = 0; i < n; i++) {
        rates[i] = p->nodes[i].up_bytes_per_s;
        rates[n + i] = p->nodes[i].down_bytes_per_s;
    }
    err = fluid_make(n, rates, rates + n, &w->links);
    if (err)
        goto out;
    *out = w;
    w = NULL;
out:
    mem_free(rates);
    wires_free(w);
    return err;
}

void wires_free(wires *w)
{
    if (!w)
        return;
    for (size_t e = 0; w->edges && e < 2 * w->p->count; e++) {
        mem_free(w->edges[e].queues[0].items);
        mem_free(w->edges[e].queues[1].items);
    }
    mem_free(w->edges);
    mem_free(w->flights);
    heap_free(&w->arrivals);
    fluid_free(w->links);
    mem_free(w);
}

static uint64_t tag_of(uint32_t e, wires_direction direction)
{
    return 2 * (uint64_t)e + direction;
}

void wires_close(wires *w, uint32_t e)
{
    wires_edge *edge = &w->edges[e];
    for (int d = 0; d < 2; d++) {
        if (edge->queues[d].sending)
            fluid_cancel(w->links, tag_of(e, (wires_direction)d));
        edge->queues[d].head = edge->queues[d].count = 0;
        edge->queues[d].sending = false;
    }
    edge->open = false;
}

void wires_open(wires *w, uint32_t e, int32_t child, int32_t parent)
{
    wires_close(w, e);
    wires_edge *edge = &w->edges[e];
    edge->child = child;
    edge->parent = parent;
    edge->open = true;
    edge->opened++;
}

void wires_hold(wires *w, uint32_t e, double until_s, bool loses)
{
    w->edges[e].held_s = until_s;
    w->edges[e].loses = loses;
}

bool wires_is_open(const wires *w, uint32_t e) { return w->edges[e].open; }

int32_t wires_parent(const wires *w, uint32_t e) { return w->edges[e].parent; }

static edgeps_err fly(wires *w, uint32_t e, wires_direction direction, wires_message message,
                      double latency_s)
{
    const wires_edge *edge = &w->edges[e];
    bool is_held = edge->child != edge->parent && edge->held_s > w->now_s + latency_s;
    double arrives_s = is_held ? edge->held_s : w->now_s + latency_s;
    if (is_held && edge->loses)
        return EDGEPS_OK;
    if (!w->free_flight) {
        size_t room = w->flight_count ? 2 * w->flight_count : 64;
        flight *flights = mem_resize(w->flights, room, sizeof *flights);
        if (!flights)
            return EDGEPS_NOMEM;
        for (size_t k = w->flight_count; k < room; k++)
            flights[k].next_free = k + 1 < room ? k + 2 : 0;
        w->free_flight = w->flight_count + 1;
        w->flights = flights;
        w->flight_count = room;
    }
    size_t k = w->free_flight - 1;
    edgeps_err err = heap_push(&w->arrivals, arrives_s, k);
    if (err)
        return err;
    w->free_flight = w->flights[k].next_free;
    w->flights[k].arrival = (wires_arrival){e, direction, message};
    w->flights[k].opened = w->edges[e].opened;
    return EDGEPS_OK;
}

static double latency_s(const wires *w, const wires_edge *edge, wires_direction direction)
{
    if (edge->child == edge->parent)
        return 0;
    return direction == WIRES_UP
               ? problem_latency_s(w->p, (size_t)edge->child, (size_t)edge->parent)
               : problem_latency_s(w->p, (size_t)edge->parent, (size_t)edge->child);
}

/* Puts the head of a queue on the links, and whatever needs no links straight on its way. */
static edgeps_err start_head(wires *w, uint32_t e, wires_direction direction)
{
    wires_edge *edge = &w->edges[e];
    queue *q = &edge->queues[direction];
    while (q->count && !q->sending) {
        wires_message *head = &q->items[q->head];
        edgeps_err err;
        if (head->bytes > 0 && edge->child != edge->parent) {
            bool up = direction == WIRES_UP;
            size_t from = (size_t)(up ? edge->child : edge->parent);
            size_t to = (size_t)(up ? edge->parent : edge->child);
            q->sending = true;
            err = fluid_start(w->links, from, to, problem_cap_bytes_per_s(w->p, from, to),
                              head->bytes, tag_of(e, direction));
        } else {
            err = fly(w, e, direction, *head, latency_s(w, edge, direction));
            q->head++;
            q->count--;
        }
        if (err)
            return err;
    }
    return EDGEPS_OK;
}

edgeps_err wires_send(wires *w, uint32_t e, wires_direction direction, wires_message message)
{
    if (!w->edges[e].open)
        return EDGEPS_OK;
    queue *q = &w->edges[e].queues[direction];
    if (q->count == 0)
        q->head = 0;
    wires_message *items = mem_grow(q->items, q->head + q->count + 1, sizeof *items, &q->room);
    if (!items)
        return EDGEPS_NOMEM;
    q->items = items;
    q->items[q->head + q->count++] = message;
    return start_head(w, e, direction);
}

double wires_next_s(wires *w)
{
    double links_s = fluid_next_s(w->links);
    return w->arrivals.count ? fmin(links_s, w->arrivals.items[0].key) : links_s;
}

edgeps_err wires_advance(wires *w, double time_s)
{
    w->now_s = time_s;
    fluid_advance(w->links, time_s);
    uint64_t tag;
    while (fluid_take(w->links, &tag)) {
        uint32_t e = (uint32_t)(tag / 2);
        wires_direction direction = (wires_direction)(tag % 2);
        queue *q = &w->edges[e].queues[direction];
        edgeps_err err =
            fly(w, e, direction, q->items[q->head], latency_s(w, &w->edges[e], direction));
        q->head++;
        q->count--;
        q->sending = false;
        if (!err)
            err = start_head(w, e, direction);
        if (err)
            return err;
    }
    return EDGEPS_OK;
}

bool wires_take(wires *w, wires_arrival *out)
{
    while (w->arrivals.count && w->arrivals.items[0].key <= w->now_s) {
        heap_item item;
        heap_pop(&w->arrivals, &item);
        flight *f = &w->flights[item.id];
        const wires_edge *edge = &w->edges[f->arrival.edge];
        bool counts = edge->open && edge->opened == f->opened;
        *out = f->arrival;
        f->next_free = w->free_flight;
        w->free_flight = (size_t)item.id + 1;
        if (counts)
            return true;
    }
    return false;
}
