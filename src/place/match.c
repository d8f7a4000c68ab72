/* Assignment of workers to open servers under capacities: a first fit by time, then augmenting
 * paths (a maximum flow with unit supplies; Ford and Fulkerson 1956). */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

edgeps_err place_match_make(const place_ground *gr, place_match *out)
{
    place_match m = {.gr = gr};
    m.parent = mem_alloc(gr->count, sizeof *m.parent);
    m.load = mem_alloc(gr->count, sizeof *m.load);
    m.stuck = mem_alloc(gr->count, sizeof *m.stuck);
    m.open = mem_alloc(gr->count, sizeof *m.open);
    m.seen = mem_alloc(gr->count, sizeof *m.seen);
    m.dead = mem_alloc(gr->count, sizeof *m.dead);
    m.from = mem_alloc(gr->count, sizeof *m.from);
    m.queue = mem_alloc(gr->count, sizeof *m.queue);
    if (!m.parent || !m.load || !m.stuck || !m.open || !m.seen || !m.dead || !m.from || !m.queue) {
        place_match_free(&m);
        return EDGEPS_NOMEM;
    }
    *out = m;
    return EDGEPS_OK;
}

void place_match_free(place_match *m)
{
    mem_free(m->parent);
    mem_free(m->load);
    mem_free(m->stuck);
    mem_free(m->open);
    mem_free(m->seen);
    mem_free(m->dead);
    mem_free(m->from);
    mem_free(m->queue);
    *m = (place_match){0};
}

typedef struct arcs {
    double *const *time_s;
    double limit_s;
    const int32_t *cap;
} arcs;

static bool has_arc(const place_match *m, const arcs *a, size_t server, size_t worker)
{
    return place_path(m->gr, server, worker) &&
           (!a->time_s || a->time_s[server][worker] <= a->limit_s);
}

static void first_fit(place_match *m, const arcs *a, size_t worker)
{
    int32_t best = PLAN_NONE;
    double best_s = INFINITY;
    for (size_t s = 0; s < m->open_count; s++) {
        size_t j = m->open[s];
        if (m->load[j] >= a->cap[j] || !has_arc(m, a, j, worker))
            continue;
        double time_s = a->time_s ? a->time_s[j][worker] : 0;
        if (best == PLAN_NONE || time_s < best_s) {
            best = (int32_t)j;
            best_s = time_s;
        }
    }
    m->parent[worker] = best;
    if (best != PLAN_NONE)
        m->load[best]++;
}

/* Turns the path that ends at `server` around: each worker on it moves on by one server. */
static void turn_path(place_match *m, size_t server)
{
    int32_t next = (int32_t)server;
    m->load[server]++;
    while (next != PLAN_NONE) {
        size_t worker = m->from[next];
        int32_t before = m->parent[worker];
        m->parent[worker] = next;
        next = before;
    }
}

static size_t push_children(place_match *m, size_t server, size_t tail)
{
    for (size_t w = 0; w < m->gr->worker_count; w++)
        if (m->parent[m->gr->workers[w]] == (int32_t)server)
            m->queue[tail++] = m->gr->workers[w];
    return tail;
}

/* Breadth first from an unserved worker. True when it found a server with room; otherwise the
 * queue holds the stuck set, its size in *reached. What a search in vain has reached is full, and
 * leads to nothing else, for all later ones: it is not entered again, so that all searches in vain
 * together cost no more than one. */
static bool augment(place_match *m, const arcs *a, size_t worker, size_t *reached)
{
    size_t tail = 0;
    memcpy(m->seen, m->dead, m->gr->count * sizeof *m->seen);
    m->queue[tail++] = (uint32_t)worker;
    for (size_t head = 0; head < tail; head++) {
        for (size_t s = 0; s < m->open_count; s++) {
            size_t j = m->open[s];
            if (m->seen[j] || !has_arc(m, a, j, m->queue[head]))
                continue;
            m->seen[j] = true;
            m->from[j] = m->queue[head];
            if (m->load[j] < a->cap[j]) {
                turn_path(m, j);
                return true;
            }
            tail = push_children(m, j, tail);
        }
    }
    *reached = tail;
    memcpy(m->dead, m->seen, m->gr->count * sizeof *m->dead);
    return false;
}

size_t place_match_run(place_match *m, double *const *time_s, double limit_s, const int32_t *cap)
{
    const place_ground *gr = m->gr;
    arcs a = {time_s, limit_s, cap};
    size_t served = 0;
    m->open_count = m->stuck_count = 0;
    memset(m->dead, 0, gr->count * sizeof *m->dead);
    for (size_t j = 0; j < gr->count; j++) {
        m->parent[j] = PLAN_NONE;
        m->load[j] = 0;
        if (cap[j] > 0)
            m->open[m->open_count++] = (uint32_t)j;
    }
    for (size_t w = 0; w < gr->worker_count; w++)
        first_fit(m, &a, gr->workers[w]);
    for (size_t w = 0; w < gr->worker_count; w++) {
        size_t i = gr->workers[w];
        size_t reached = 0;
        if (m->parent[i] != PLAN_NONE || augment(m, &a, i, &reached)) {
            served++;
        } else if (!m->stuck_count) {
            m->stuck_count = reached;
            memcpy(m->stuck, m->queue, reached * sizeof *m->stuck);
        }
    }
    return served;
}
