/* Shares of open servers to workers, by a maximum flow (Dinic 1970): worker i has one unit to give,
 * of which server j takes at most y_j, and capacity_j y_j from all together. */
#include "cover/question_int.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define NO_LEVEL UINT32_MAX
#define LEAST 1e-12 /* of a share that is worth moving */

void cover_flow_free(cover_flow *f)
{
    mem_free(f->take);
    mem_free(f->left);
    mem_free(f->room);
    mem_free(f->level);
    mem_free(f->next);
    mem_free(f->queue);
    mem_free(f->unseen);
    mem_free(f->path);
    *f = (cover_flow){0};
}

edgeps_err cover_flow_make(size_t workers, size_t servers, cover_flow *out)
{
    cover_flow f = {.workers = workers};
    f.take = mem_alloc(servers * workers, sizeof *f.take);
    f.left = mem_alloc(workers, sizeof *f.left);
    f.room = mem_alloc(servers, sizeof *f.room);
    f.level = mem_alloc(workers + servers, sizeof *f.level);
    f.next = mem_alloc(workers + servers, sizeof *f.next);
    f.queue = mem_alloc(workers + servers, sizeof *f.queue);
    f.unseen = mem_alloc(servers, sizeof *f.unseen);
    f.path = mem_alloc(workers + servers, sizeof *f.path);
    if (!f.take || !f.left || !f.room || !f.level || !f.next || !f.queue || !f.unseen || !f.path) {
        cover_flow_free(&f);
        return EDGEPS_NOMEM;
    }
    *out = f;
    return EDGEPS_OK;
}

/* What can still go along the arc out of a vertex: workers first, then servers. */
static double arc_left(const cover_flow *f, const cover_column *columns, size_t from, size_t to)
{
    if (from >= f->workers)
        return f->take[(from - f->workers) * f->workers + to];
    const cover_column *c = &columns[to];
    return cover_has(c->serves, from) ? c->share - f->take[to * f->workers + from] : 0;
}

/* All columns with an arc from the worker that have no level yet go to the queue. */
static size_t push_columns(cover_flow *f, const cover_column *columns, size_t worker, size_t tail)
{
    size_t kept = 0;
    for (size_t u = 0; u < f->unseen_count; u++) {
        uint32_t c = f->unseen[u];
        if (arc_left(f, columns, worker, c) <= LEAST) {
            f->unseen[kept++] = c;
            continue;
        }
        f->level[f->workers + c] = f->level[worker] + 1;
        f->queue[tail++] = (uint32_t)f->workers + c;
    }
    f->unseen_count = kept;
    return tail;
}

/* And all workers of whom the column took something. */
static size_t push_workers(cover_flow *f, const cover_column *columns, size_t column, size_t tail)
{
    const double *take = f->take + column * f->workers;
    for (size_t w = 0; w * COVER_WORD < f->workers; w++)
        for (uint64_t left = columns[column].serves[w]; left; left &= left - 1) {
            size_t i = w * COVER_WORD + (size_t)__builtin_ctzll(left);
            if (f->level[i] != NO_LEVEL || take[i] <= LEAST)
                continue;
            f->level[i] = f->level[f->workers + column] + 1;
            f->queue[tail++] = (uint32_t)i;
        }
    return tail;
}

/* Levels by breadth first from all workers with something left; false when no server with room is
 * reached. */
static bool find_levels(cover_flow *f, const cover_column *columns, size_t count)
{
    size_t tail = 0;
    bool found = false;
    for (size_t v = 0; v < f->workers + count; v++) {
        f->level[v] = NO_LEVEL;
        f->next[v] = 0;
    }
    for (size_t i = 0; i < f->workers; i++) {
        if (f->left[i] <= LEAST)
            continue;
        f->level[i] = 0;
        f->queue[tail++] = (uint32_t)i;
    }
    for (size_t c = 0; c < count; c++)
        f->unseen[c] = (uint32_t)c;
    f->unseen_count = count;
    for (size_t head = 0; head < tail; head++) {
        size_t v = f->queue[head];
        found |= v >= f->workers && f->room[v - f->workers] > LEAST;
        tail = v < f->workers ? push_columns(f, columns, v, tail)
                              : push_workers(f, columns, v - f->workers, tail);
    }
    return found;
}

static void push(cover_flow *f, size_t from, size_t to, double amount)
{
    if (from < f->workers)
        f->take[(to - f->workers) * f->workers + from] += amount;
    else
        f->take[(from - f->workers) * f->workers + to] -= amount;
}

/* Sends what fits along f->path to its last vertex, a server with room. */
static void push_path(cover_flow *f, const cover_column *columns, size_t length)
{
    double amount = fmin(f->left[f->path[0]], f->room[f->path[length - 1] - f->workers]);
    for (size_t a = 0; a + 1 < length; a++) {
        size_t from = f->path[a], to = f->path[a + 1];
        amount = fmin(amount, arc_left(f, columns, from, from < f->workers ? to - f->workers : to));
    }
    for (size_t a = 0; a + 1 < length; a++)
        push(f, f->path[a], f->path[a + 1], amount);
    f->left[f->path[0]] -= amount;
    f->room[f->path[length - 1] - f->workers] -= amount;
}

/* The next worker from `at` on that is in the set, or one beyond the last of its words. */
static size_t next_of(const uint64_t *set, size_t workers, size_t at)
{
    size_t w = at / COVER_WORD;
    uint64_t left = at < workers ? set[w] >> (at % COVER_WORD) << (at % COVER_WORD) : 0;
    while (!left && ++w * COVER_WORD < workers)
        left = set[w];
    return left ? w * COVER_WORD + (size_t)__builtin_ctzll(left) : workers;
}

/* The next vertex of the path, one level on; false: none is left. */
static bool step(cover_flow *f, const cover_column *columns, size_t count, size_t v, size_t *to)
{
    bool worker = v < f->workers;
    size_t others = worker ? count : f->workers;
    for (; f->next[v] < others; f->next[v]++) {
        if (!worker)
            f->next[v] = (uint32_t)next_of(columns[v - f->workers].serves, others, f->next[v]);
        size_t o = f->next[v];
        if (o == others)
            break;
        *to = worker ? f->workers + o : o;
        if (f->level[*to] == f->level[v] + 1 && arc_left(f, columns, v, o) > LEAST)
            return true;
    }
    return false;
}

/* Depth first along the levels until nothing more goes from this worker. */
static void drain(cover_flow *f, const cover_column *columns, size_t count, size_t worker)
{
    size_t length = 1, to;
    f->path[0] = (uint32_t)worker;
    while (length > 0 && f->left[worker] > LEAST) {
        size_t v = f->path[length - 1];
        if (v >= f->workers && f->room[v - f->workers] > LEAST) {
            push_path(f, columns, length);
            length = 1;
        } else if (step(f, columns, count, v, &to)) {
            f->path[length++] = (uint32_t)to;
        } else if (--length > 0) {
            f->next[f->path[length - 1]]++;
        }
    }
}

double cover_flow_run(cover_flow *f, const cover_column *columns, size_t count)
{
    double unserved = 0;
    memset(f->take, 0, count * f->workers * sizeof *f->take);
    for (size_t i = 0; i < f->workers; i++)
        f->left[i] = 1;
    for (size_t c = 0; c < count; c++) {
        f->room[c] = columns[c].share * columns[c].capacity;
        if (columns[c].aside != COVER_NOBODY)
            f->left[columns[c].aside] = fmax(0, f->left[columns[c].aside] - columns[c].share);
    }
    while (find_levels(f, columns, count))
        for (size_t i = 0; i < f->workers; i++)
            if (f->level[i] == 0)
                drain(f, columns, count, i);
    for (size_t i = 0; i < f->workers; i++)
        unserved += f->left[i];
    return unserved;
}

bool cover_flow_stuck(const cover_flow *f, size_t worker) { return f->level[worker] != NO_LEVEL; }
