#include "place/place_int.h"

#include <inttypes.h>
#include <stdio.h>

static int64_t kib_up(int64_t bytes) { return (bytes + 1023) / 1024; }

static size_t roomiest(const place_ground *gr)
{
    size_t best = gr->count;
    for (size_t j = 0; j < gr->count; j++)
        if (gr->p->nodes[j].serve &&
            (best == gr->count || gr->p->nodes[j].free_bytes > gr->p->nodes[best].free_bytes))
            best = j;
    return best;
}

static bool storage_reason(const place_ground *gr, const char *role, int64_t need_bytes, char *text,
                           size_t size)
{
    size_t best = roomiest(gr);
    const problem_node *node = &gr->p->nodes[best];
    if (need_bytes <= node->free_bytes)
        return false;
    snprintf(text, size,
             "storage: the %s server needs %" PRId64
             " KiB, the roomiest serving node (%s) offers %" PRId64 " KiB",
             role, kib_up(need_bytes), node->name, node->free_bytes / 1024);
    return true;
}

static bool path_reason(const place_ground *gr, char *text, size_t size)
{
    for (size_t w = 0; w < gr->worker_count; w++) {
        size_t i = gr->workers[w];
        bool reached = false;
        for (size_t j = 0; j < gr->count; j++)
            reached |= place_path(gr, j, i);
        if (reached)
            continue;
        snprintf(text, size, "worker %s: no path to any node that may serve", gr->p->nodes[i].name);
        return true;
    }
    return false;
}

/* Does `a` offer more room than `b`, or the same and come first? */
static bool roomier(const place_ground *gr, size_t a, size_t b)
{
    return gr->room[a] != gr->room[b] ? gr->room[a] > gr->room[b] : a < b;
}

/* Too few places even if every path existed and the global server took none of them. */
static bool places_reason(const place_ground *gr, char *text, size_t size)
{
    int64_t places = 0;
    size_t used = 0, last = gr->count;
    while (used < gr->p->max_locals) {
        size_t next = gr->count;
        for (size_t j = 0; j < gr->count; j++)
            if ((last == gr->count || roomier(gr, last, j)) &&
                (next == gr->count || roomier(gr, j, next)))
                next = j;
        if (next == gr->count || gr->room[next] == 0)
            break;
        places += gr->room[next];
        last = next;
        used++;
    }
    if (places >= (int64_t)gr->worker_count)
        return false;
    snprintf(text, size,
             "storage: %zu local server%s with the free storage can hold only %" PRId64
             " of %zu workers",
             used, used == 1 ? "" : "s", places, gr->worker_count);
    return true;
}

void place_infeasible_reason(const place_ground *gr, place_found found, char *text, size_t size)
{
    const job *j = &gr->p->job;
    if (path_reason(gr, text, size) ||
        storage_reason(gr, "global", job_global_need_bytes(j, 1), text, size) ||
        storage_reason(gr, "local", job_local_need_bytes(j, 1), text, size) ||
        places_reason(gr, text, size))
        return;
    snprintf(text, size,
             "paths and storage together: %s global server and at most %zu local servers that hold "
             "and reach all %zu workers",
             found == PLACE_NONE ? "there is no" : "the search found no", gr->p->max_locals,
             gr->worker_count);
}
