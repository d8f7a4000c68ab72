/* Workers to open servers: first fit, then augmenting paths (a flow with unit supplies; Ford and
 * Fulkerson 1956). As sizes are 0 or 1, whoever can be served in parts can be served whole. */
#include "cover/cover_int.h"

#include "base/mem.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void cover_assign_free(cover_assign *a)
{
    mem_free(a->start);
    mem_free(a->server);
    mem_free(a->sized);
    mem_free(a->room);
    mem_free(a->load);
    mem_free(a->of);
    mem_free(a->queue);
    mem_free(a->from);
    mem_free(a->seen);
    *a = (cover_assign){0};
}

static void transpose(cover_assign *a)
{
    const cover_instance *c = a->c;
    for (size_t j = 0; j < c->server_count; j++) {
        const cover_server *s = &c->servers[j];
        a->room[j] = (uint32_t)fmin(floor(s->capacity), (double)c->worker_count);
        for (size_t k = 0; k < s->arc_count; k++)
            a->start[s->arcs[k].worker + 2]++;
    }
    for (size_t i = 0; i < c->worker_count; i++)
        a->start[i + 2] += a->start[i + 1];
    for (size_t j = 0; j < c->server_count; j++) {
        const cover_server *s = &c->servers[j];
        for (size_t k = 0; k < s->arc_count; k++) {
            size_t at = a->start[s->arcs[k].worker + 1]++;
            assert(s->arcs[k].size == 0 || s->arcs[k].size == 1);
            a->server[at] = (uint32_t)j;
            a->sized[at] = s->arcs[k].size > 0;
        }
    }
}

edgeps_err cover_assign_make(const cover_instance *c, cover_assign *out)
{
    cover_assign a = {.c = c};
    size_t arcs = 0, n = c->server_count;
    for (size_t j = 0; j < n; j++)
        arcs += c->servers[j].arc_count;
    a.start = mem_alloc(c->worker_count + 2, sizeof *a.start);
    a.server = mem_alloc(arcs, sizeof *a.server);
    a.sized = mem_alloc(arcs, sizeof *a.sized);
    a.room = mem_alloc(n, sizeof *a.room);
    a.load = mem_alloc(n, sizeof *a.load);
    a.of = mem_alloc(c->worker_count, sizeof *a.of);
    a.queue = mem_alloc(c->worker_count, sizeof *a.queue);
    a.from = mem_alloc(n, sizeof *a.from);
    a.seen = mem_alloc(n, sizeof *a.seen);
    if (!a.start || !a.server || !a.sized || !a.room || !a.load || !a.of || !a.queue || !a.from ||
        !a.seen) {
        cover_assign_free(&a);
        return EDGEPS_NOMEM;
    }
    transpose(&a);
    *out = a;
    return EDGEPS_OK;
}

/* Whoever takes no room of some open server goes there and never moves; the others go to the first
 * open server with room. */
static void first_fit(cover_assign *a, const bool *open, size_t worker)
{
    a->of[worker] = COVER_NOBODY;
    for (size_t k = a->start[worker]; k < a->start[worker + 1]; k++) {
        uint32_t j = a->server[k];
        if (open[j] && !a->sized[k]) {
            a->of[worker] = j;
            return;
        }
    }
    for (size_t k = a->start[worker]; k < a->start[worker + 1]; k++) {
        uint32_t j = a->server[k];
        if (open[j] && a->load[j] < a->room[j]) {
            a->load[j]++;
            a->of[worker] = j;
            return;
        }
    }
}

static bool takes_room(const cover_assign *a, size_t worker, uint32_t server)
{
    for (size_t k = a->start[worker]; k < a->start[worker + 1]; k++)
        if (a->server[k] == server)
            return a->sized[k];
    return false;
}

/* Each worker on the path that ends at `server` moves on by one server. */
static void turn_path(cover_assign *a, uint32_t server)
{
    uint32_t next = server;
    while (next != COVER_NOBODY) {
        uint32_t worker = a->from[next], before = a->of[worker];
        a->load[next] += takes_room(a, worker, next);
        a->of[worker] = next;
        if (before != COVER_NOBODY)
            a->load[before]--;
        next = before;
    }
}

static size_t push_children(cover_assign *a, uint32_t server, size_t tail)
{
    for (size_t i = 0; i < a->c->worker_count; i++)
        if (a->of[i] == server && takes_room(a, i, server))
            a->queue[tail++] = (uint32_t)i;
    return tail;
}

/* Breadth first from a worker without server; true when it found room. Otherwise the queue holds
 * the *reached workers, which fill all open servers in their reach and are more. */
static bool augment(cover_assign *a, const bool *open, size_t worker, size_t *reached)
{
    size_t tail = 0;
    memset(a->seen, 0, a->c->server_count * sizeof *a->seen);
    a->queue[tail++] = (uint32_t)worker;
    for (size_t head = 0; head < tail; head++) {
        uint32_t i = a->queue[head];
        for (size_t k = a->start[i]; k < a->start[i + 1]; k++) {
            uint32_t j = a->server[k];
            if (!open[j] || a->seen[j])
                continue;
            a->seen[j] = true;
            a->from[j] = i;
            if (a->load[j] < a->room[j]) {
                turn_path(a, j);
                return true;
            }
            tail = push_children(a, j, tail);
        }
    }
    *reached = tail;
    return false;
}

bool cover_assign_run(cover_assign *a, const bool *open, size_t *stuck)
{
    memset(a->load, 0, a->c->server_count * sizeof *a->load);
    for (size_t i = 0; i < a->c->worker_count; i++)
        first_fit(a, open, i);
    for (size_t i = 0; i < a->c->worker_count; i++)
        if (a->of[i] == COVER_NOBODY && !augment(a, open, i, stuck))
            return false;
    return true;
}
