/* Whole servers under capacities. Given which servers are open, the workers' assignment is a flow;
 * it exists exactly when for every set S of workers
 *
 *     sum_j min(capacity_j, sized workers of S that j serves) + free workers of S that j serves
 *
 * over the open j is at least |S| (min cut). So an integer program over y alone suffices, with the
 * rows of a few S; each y it proposes is tried by the flow, which either assigns everybody or names
 * a set whose row y breaks. */
#include "cover/cover.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cover/cover_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_NODES 1000 /* of CBC between two questions whether to go on ... */
#define NODES_GROWTH 4   /* ... and their growth, as it starts anew each time */
#define MOST_NODES 1000000000

typedef struct solver {
    const cover_instance *c;
    const cover_whole_options *options;
    int64_t end_ns;
    size_t budget;
    cover_assign assign;
    cover_reduced reduced;
    cover_master master;
    double *coefficient; /* per server, of the row to be added */
    bool *in_set;        /* per worker */
    bool *has_row;       /* per worker: alone */
    bool *marked;        /* per server */
    uint64_t *by_degree; /* workers, those with the fewest servers first */
    cover_whole best;
} solver;

void cover_whole_free(cover_whole *w)
{
    mem_free(w->open);
    mem_free(w->server);
    *w = (cover_whole){0};
}

static void solver_free(solver *s)
{
    cover_assign_free(&s->assign);
    cover_reduced_free(&s->reduced);
    cover_master_free(&s->master);
    mem_free(s->coefficient);
    mem_free(s->in_set);
    mem_free(s->has_row);
    mem_free(s->marked);
    mem_free(s->by_degree);
    cover_whole_free(&s->best);
}

static edgeps_err solver_make(const cover_instance *c, const cover_whole_options *o, solver *out)
{
    solver s = {.c = c, .options = o};
    s.budget = (size_t)fmin(floor(c->budget + 1e-9), (double)c->server_count);
    if (o->deadline_s > 0)
        s.end_ns = clock_now_ns() + (int64_t)(o->deadline_s * CLOCK_NS_PER_S);
    edgeps_err err = cover_assign_make(c, &s.assign);
    s.coefficient = mem_alloc(c->server_count, sizeof *s.coefficient);
    s.in_set = mem_alloc(c->worker_count, sizeof *s.in_set);
    s.has_row = mem_alloc(c->worker_count, sizeof *s.has_row);
    s.marked = mem_alloc(c->server_count, sizeof *s.marked);
    s.by_degree = mem_alloc(c->worker_count, sizeof *s.by_degree);
    s.best.verdict = COVER_UNSURE;
    s.best.open = mem_alloc(c->server_count, sizeof *s.best.open);
    s.best.server = mem_alloc(c->worker_count, sizeof *s.best.server);
    if (err || !s.coefficient || !s.in_set || !s.has_row || !s.marked || !s.by_degree ||
        !s.best.open || !s.best.server) {
        solver_free(&s);
        return EDGEPS_NOMEM;
    }
    *out = s;
    return EDGEPS_OK;
}

static bool go_on(const solver *s)
{
    if (s->end_ns && clock_now_ns() >= s->end_ns)
        return false;
    return !s->options->go_on || s->options->go_on(s->options->context);
}

static void keep_best(solver *s, const bool *open, size_t count)
{
    if (s->best.verdict == COVER_YES && count >= s->best.count)
        return;
    s->best.verdict = COVER_YES;
    s->best.count = count;
    memcpy(s->best.open, open, s->c->server_count * sizeof *open);
    memcpy(s->best.server, s->assign.of, s->c->worker_count * sizeof *s->assign.of);
}

/* Does the k-th arc take the worker in at all? */
static bool reaches(const cover_assign *a, size_t k)
{
    return !a->sized[k] || a->room[a->server[k]] > 0;
}

/* The row of the workers in the set. */
static edgeps_err add_set(solver *s, size_t size)
{
    for (size_t j = 0; j < s->c->server_count; j++) {
        const cover_server *server = &s->c->servers[j];
        double sized = 0, free_of_size = 0;
        for (size_t k = 0; k < server->arc_count; k++) {
            if (!s->in_set[server->arcs[k].worker])
                continue;
            if (server->arcs[k].size > 0)
                sized++;
            else
                free_of_size++;
        }
        s->coefficient[j] = fmin(s->assign.room[j], sized) + free_of_size;
    }
    return cover_master_add(&s->master, s->coefficient, (double)size);
}

static edgeps_err add_stuck(solver *s, size_t stuck)
{
    memset(s->in_set, 0, s->c->worker_count * sizeof *s->in_set);
    for (size_t k = 0; k < stuck; k++)
        s->in_set[s->assign.queue[k]] = true;
    return add_set(s, stuck);
}

static edgeps_err add_worker(solver *s, size_t worker)
{
    const cover_assign *a = &s->assign;
    memset(s->coefficient, 0, s->c->server_count * sizeof *s->coefficient);
    for (size_t k = a->start[worker]; k < a->start[worker + 1]; k++)
        s->coefficient[a->server[k]] = reaches(a, k);
    s->has_row[worker] = true;
    return cover_master_add(&s->master, s->coefficient, 1);
}

/* Marks the worker's servers; false, and nothing marked, when one is marked already. */
static bool mark_apart(const cover_assign *a, size_t worker, bool *marked)
{
    for (size_t k = a->start[worker]; k < a->start[worker + 1]; k++)
        if (marked[a->server[k]])
            return false;
    for (size_t k = a->start[worker]; k < a->start[worker + 1]; k++)
        marked[a->server[k]] = true;
    return true;
}

static bool reached(const cover_assign *a, size_t worker, const bool *open)
{
    for (size_t k = a->start[worker]; k < a->start[worker + 1]; k++)
        if (open[a->server[k]] && reaches(a, k))
            return true;
    return false;
}

/* Rows of workers that no open server reaches, those with the fewest servers first; no two of them
 * share a server, so that each asks for one of its own. */
static edgeps_err add_unreached(solver *s, const bool *open)
{
    memset(s->marked, 0, s->c->server_count * sizeof *s->marked);
    for (size_t w = 0; w < s->c->worker_count; w++) {
        size_t i = s->by_degree[w];
        if (!s->reduced.row[i] || s->has_row[i] || reached(&s->assign, i, open) ||
            !mark_apart(&s->assign, i, s->marked))
            continue;
        edgeps_err err = add_worker(s, i);
        if (err)
            return err;
    }
    return EDGEPS_OK;
}

/* The rows that keep these open servers, which do not do, from being proposed again. */
static edgeps_err add_broken(solver *s, const bool *open, size_t stuck)
{
    size_t before = s->master.row_count;
    edgeps_err err = add_unreached(s, open);
    return err || s->master.row_count > before ? err : add_stuck(s, stuck);
}

static int fewest_first(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The first rows: workers that share no server, and all together. */
static edgeps_err add_first_rows(solver *s)
{
    for (size_t i = 0; i < s->c->worker_count; i++) {
        s->by_degree[i] = (uint64_t)(s->assign.start[i + 1] - s->assign.start[i]) << 32 | i;
        s->in_set[i] = true;
    }
    qsort(s->by_degree, s->c->worker_count, sizeof *s->by_degree, fewest_first);
    for (size_t w = 0; w < s->c->worker_count; w++)
        s->by_degree[w] = (uint32_t)s->by_degree[w];
    memset(s->master.y, 0, s->c->server_count * sizeof *s->master.y);
    edgeps_err err = add_unreached(s, s->master.y);
    return err ? err : add_set(s, s->c->worker_count);
}

/* How many of the workers without server this one would take. */
static size_t worth(const solver *s, size_t server, const bool *served)
{
    const cover_server *c = &s->c->servers[server];
    size_t sized = 0, free_of_size = 0;
    for (size_t k = 0; k < c->arc_count; k++) {
        bool new = !served[c->arcs[k].worker];
        sized += new && c->arcs[k].size > 0;
        free_of_size += new && !(c->arcs[k].size > 0);
    }
    return (sized < s->assign.room[server] ? sized : s->assign.room[server]) + free_of_size;
}

/* The best number still worth looking for: with `least`, below what is known. */
static size_t wanted(const solver *s)
{
    return s->best.verdict == COVER_YES ? s->best.count - 1 : s->budget;
}

/* Opens what takes most of the rest, again and again; a quick yes more often than not. */
static void try_greedy(solver *s, bool *open, bool *served)
{
    size_t stuck, count = 0;
    while (!cover_assign_run(&s->assign, open, &stuck)) {
        size_t best = 0, most = 0;
        if (++count > s->budget)
            return;
        for (size_t i = 0; i < s->c->worker_count; i++)
            served[i] = s->assign.of[i] != COVER_NOBODY;
        for (size_t j = 0; j < s->c->server_count; j++) {
            size_t gain = open[j] || !s->reduced.column[j] ? 0 : worth(s, j, served);
            if (gain > most) {
                best = j;
                most = gain;
            }
        }
        if (most == 0)
            return;
        open[best] = true;
    }
    keep_best(s, open, count);
}

static edgeps_err run_greedy(solver *s)
{
    bool *open = mem_alloc(s->c->server_count, sizeof *open);
    bool *served = mem_alloc(s->c->worker_count, sizeof *served);
    edgeps_err err = open && served ? EDGEPS_OK : EDGEPS_NOMEM;
    if (!err)
        try_greedy(s, open, served);
    mem_free(open);
    mem_free(served);
    return err;
}

static bool settled(const solver *s)
{
    if (s->best.verdict == COVER_YES)
        return !s->options->least || s->best.count <= s->master.at_least;
    return s->master.at_least > s->budget;
}

static size_t largest_share_left(const solver *s, const bool *open)
{
    size_t best = s->c->server_count;
    for (size_t j = 0; j < s->c->server_count; j++)
        if (!open[j] && s->master.share[j] > 0 &&
            (best == s->c->server_count || s->master.share[j] > s->master.share[best]))
            best = j;
    return best;
}

/* Opens the servers of the largest shares and tries them by the flow. *again: they miss a row that
 * the LP breaks too, so that it is worth solving anew. */
static edgeps_err round_shares(solver *s, bool *again)
{
    bool *open = s->master.y;
    size_t count = 0, stuck, next;
    *again = false;
    memset(open, 0, s->c->server_count * sizeof *open);
    for (; count < wanted(s); count++) {
        next = largest_share_left(s, open);
        if (next == s->c->server_count)
            break;
        open[next] = true;
    }
    if (cover_assign_run(&s->assign, open, &stuck)) {
        keep_best(s, open, count);
        return EDGEPS_OK;
    }
    size_t before = s->master.row_count;
    edgeps_err err = add_broken(s, open, stuck);
    *again = !err && cover_master_breaks(&s->master, before);
    return err;
}

/* One proposal of the integer program, tried by the flow. */
static edgeps_err propose(solver *s, bool *stopped)
{
    cover_master *m = &s->master;
    size_t most = s->options->most_nodes;
    cover_master_limits limits = {.budget = (double)wanted(s), .any = !s->options->least};
    edgeps_err err = EDGEPS_OK;
    limits.most_nodes = most ? (long)most : FIRST_NODES;
    do {
        *stopped = !go_on(s);
        if (*stopped)
            return EDGEPS_OK;
        if (s->end_ns)
            limits.seconds = fmax((double)(s->end_ns - clock_now_ns()) / CLOCK_NS_PER_S, 1e-3);
        err = cover_master_solve(m, &limits);
        s->best.masters++;
        if (limits.most_nodes < MOST_NODES)
            limits.most_nodes *= NODES_GROWTH;
    } while (!err && !m->done && !m->found && !most);
    *stopped = !m->done && !m->found;
    if (err || !m->found)
        return err;
    size_t stuck, count = 0;
    for (size_t j = 0; j < s->c->server_count; j++)
        count += m->y[j];
    if (!cover_assign_run(&s->assign, m->y, &stuck))
        return add_broken(s, m->y, stuck);
    keep_best(s, m->y, count);
    return EDGEPS_OK;
}

static edgeps_err search(solver *s)
{
    bool stopped = false;
    edgeps_err err = cover_reduce(&s->assign, &s->reduced);
    if (!err)
        err = cover_master_make(&s->reduced, s->c->server_count, &s->master);
    if (!err)
        err = run_greedy(s);
    if (!err && !settled(s))
        err = add_first_rows(s);
    while (!err && !settled(s) && !stopped) {
        bool again = true;
        err = cover_master_bound(&s->master);
        if (!err && !settled(s))
            err = round_shares(s, &again);
        if (err || again || settled(s))
            continue;
        if (s->options->fractional)
            stopped = true;
        else
            err = propose(s, &stopped);
    }
    s->best.at_least = s->master.at_least;
    if (!err && s->best.verdict != COVER_YES && s->master.at_least > s->budget)
        s->best.verdict = COVER_NO;
    return err;
}

static bool all_open_suffice(solver *s)
{
    size_t stuck;
    for (size_t j = 0; j < s->c->server_count; j++)
        s->best.open[j] = true;
    return cover_assign_run(&s->assign, s->best.open, &stuck);
}

edgeps_err cover_whole_solve(const cover_instance *c, const cover_whole_options *options,
                             cover_whole *out)
{
    solver s;
    edgeps_err err = solver_make(c, options, &s);
    if (err)
        return err;
    if (all_open_suffice(&s)) {
        err = search(&s);
    } else {
        s.best.verdict = COVER_NO;
        s.best.at_least = SIZE_MAX;
    }
    if (!err) {
        *out = s.best;
        s.best = (cover_whole){0};
    }
    solver_free(&s);
    return err;
}
