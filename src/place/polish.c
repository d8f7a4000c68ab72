/* Local search on the evaluator. Neighbours are numbered, so that all of them can be gone through
 * when they are few and drawn at random when they are many. The closed-form bound of a neighbour
 * filters and orders; the exact time decides. */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POLISH_STREAM 2
#define NEIGHBOUR_WORK 20000000 /* nodes touched per round of bounds */
#define EVALUATION_WORK 2000000 /* chunks x workers played in all */
#define MOST_EVALUATIONS 3000
#define LEAST_GAIN 1e-9 /* relative; smaller ones are rounding */

typedef enum move_kind {
    MOVE_ATTACH, /* worker a to server b, which may be closed so far */
    MOVE_SWAP,   /* the servers of workers a and b */
    MOVE_SERVER, /* all children of a to b */
    MOVE_CLOSE,  /* the children of a to the other open servers */
    MOVE_OPEN,   /* a takes its share of the workers */
    MOVE_GLOBAL, /* a becomes the global server */
    MOVE_KINDS
} move_kind;

typedef struct neighbour {
    uint64_t number;
    double bound_s;
} neighbour;

typedef struct polish {
    const place_ground *gr;
    place_watch *watch;
    place_times times;
    plan *now;
    double now_s;
    plan trial;
    int32_t *children;
    double *scratch;
    neighbour *list;
    size_t list_room;
    uint64_t first[MOVE_KINDS + 1]; /* numbers of the moves of each kind */
    rng r;
    size_t budget;
} polish;

static void polish_free(polish *s)
{
    place_times_free(&s->times);
    plan_free(&s->trial);
    mem_free(s->children);
    mem_free(s->scratch);
    mem_free(s->list);
}

static void number_moves(polish *s)
{
    uint64_t n = s->gr->count, w = s->gr->worker_count;
    const uint64_t moves[MOVE_KINDS] = {w * n, w * w, n * n, n, n, n};
    for (int kind = 0; kind < MOVE_KINDS; kind++)
        s->first[kind + 1] = s->first[kind] + moves[kind];
}

static edgeps_err polish_make(const place_ground *gr, uint64_t seed, plan *now, polish *out)
{
    polish s = {.gr = gr, .now = now, .r = rng_make(seed, POLISH_STREAM)};
    number_moves(&s);
    s.list_room = NEIGHBOUR_WORK / gr->count + 1;
    if (s.list_room > s.first[MOVE_KINDS])
        s.list_room = s.first[MOVE_KINDS];
    edgeps_err err = place_times_make(gr, &s.times);
    if (!err)
        err = plan_make(gr->count, &s.trial);
    s.children = mem_alloc(gr->count, sizeof *s.children);
    s.scratch = mem_alloc(4 * gr->count, sizeof *s.scratch);
    s.list = mem_alloc(s.list_room, sizeof *s.list);
    if (err || !s.children || !s.scratch || !s.list) {
        polish_free(&s);
        return EDGEPS_NOMEM;
    }
    *out = s;
    return EDGEPS_OK;
}

/* Does the trial keep all constraints? O(count). Leaves its children counted. */
static bool keeps_constraints(polish *s)
{
    const place_ground *gr = s->gr;
    size_t global = (size_t)s->trial.global;
    int32_t locals = 0;
    plan_children(&s->trial, s->children);
    for (size_t j = 0; j < gr->count; j++)
        locals += s->children[j] > 0;
    if (locals > gr->fan[global])
        return false;
    for (size_t j = 0; j < gr->count; j++)
        if (s->children[j] > 0 &&
            (!place_joins(gr, global, j) || s->children[j] > place_room(gr, global, locals, j)))
            return false;
    for (size_t w = 0; w < gr->worker_count; w++) {
        size_t i = gr->workers[w];
        if (!gr->path[(size_t)s->trial.parent[i] * gr->count + i])
            return false;
    }
    return true;
}

static bool swap_workers(polish *s, size_t a, size_t b)
{
    int32_t *parent = s->trial.parent;
    int32_t keep = parent[a];
    if (a >= b || parent[a] == parent[b])
        return false;
    parent[a] = parent[b];
    parent[b] = keep;
    return true;
}

static bool move_server(polish *s, int32_t from, int32_t to)
{
    bool moved = false;
    for (size_t i = 0; from != to && i < s->gr->count; i++)
        if (s->trial.parent[i] == from) {
            s->trial.parent[i] = to;
            moved = true;
        }
    return moved;
}

static bool close_server(polish *s, int32_t server)
{
    size_t n = s->gr->count;
    bool moved = false;
    plan_children(s->now, s->children);
    for (size_t i = 0; i < n; i++) {
        int32_t to = PLAN_NONE;
        if (s->now->parent[i] != server)
            continue;
        for (size_t j = 0; j < n; j++)
            if ((int32_t)j != server && s->children[j] > 0 && s->children[j] < s->gr->room[j] &&
                s->gr->path[j * n + i] &&
                (to == PLAN_NONE || s->times.base[j * n + i] < s->times.base[(size_t)to * n + i]))
                to = (int32_t)j;
        if (to == PLAN_NONE)
            return false;
        s->trial.parent[i] = to;
        s->children[to]++;
        moved = true;
    }
    return moved;
}

/* The closed server takes an equal share of the workers, those with the shortest way to it. */
static bool open_server(polish *s, size_t server)
{
    const place_ground *gr = s->gr;
    const double *base = s->times.base + server * gr->count;
    const bool *path = gr->path + server * gr->count;
    size_t locals = 1;
    plan_children(s->now, s->children);
    if (s->children[server] > 0 || gr->room[server] < 1)
        return false;
    for (size_t j = 0; j < gr->count; j++)
        locals += s->children[j] > 0;
    size_t share = (gr->worker_count + locals - 1) / locals;
    if (share > (size_t)gr->room[server])
        share = (size_t)gr->room[server];
    for (size_t taken = 0; taken < share; taken++) {
        size_t next = gr->count;
        for (size_t w = 0; w < gr->worker_count; w++) {
            size_t i = gr->workers[w];
            if (path[i] && s->trial.parent[i] != (int32_t)server &&
                (next == gr->count || base[i] < base[next]))
                next = i;
        }
        if (next == gr->count)
            return taken > 0;
        s->trial.parent[next] = (int32_t)server;
    }
    return true;
}

/* Makes the neighbour in `trial`; false when there is no such neighbour or it is not feasible. */
static bool make_neighbour(polish *s, uint64_t number)
{
    const place_ground *gr = s->gr;
    uint64_t n = gr->count;
    int kind = 0;
    bool made = false;
    while (number >= s->first[kind + 1])
        kind++;
    number -= s->first[kind];
    s->trial.global = s->now->global;
    memcpy(s->trial.parent, s->now->parent, gr->count * sizeof *s->trial.parent);
    switch ((move_kind)kind) {
    case MOVE_ATTACH: {
        int32_t *parent = &s->trial.parent[gr->workers[number / n]];
        made = *parent != (int32_t)(number % n);
        *parent = (int32_t)(number % n);
        break;
    }
    case MOVE_SWAP:
        made = swap_workers(s, gr->workers[number / gr->worker_count],
                            gr->workers[number % gr->worker_count]);
        break;
    case MOVE_SERVER:
        made = move_server(s, (int32_t)(number / n), (int32_t)(number % n));
        break;
    case MOVE_CLOSE:
        made = close_server(s, (int32_t)number);
        break;
    case MOVE_OPEN:
        made = open_server(s, number);
        break;
    default:
        made = s->now->global != (int32_t)number && gr->fan[number] > 0;
        s->trial.global = (int32_t)number;
    }
    return made && keeps_constraints(s);
}

static int by_bound(const void *a, const void *b)
{
    const neighbour *x = a, *y = b;
    if (x->bound_s != y->bound_s)
        return x->bound_s < y->bound_s ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static size_t list_neighbours(polish *s)
{
    size_t count = 0;
    bool all = s->list_room == s->first[MOVE_KINDS];
    for (size_t l = 0; l < s->list_room; l++) {
        uint64_t number = all ? l : rng_below(&s->r, s->first[MOVE_KINDS]);
        if (!make_neighbour(s, number))
            continue;
        double bound_s = cost_bound_s(s->gr->p, &s->trial, s->scratch);
        if (bound_s < s->now_s * (1 - LEAST_GAIN))
            s->list[count++] = (neighbour){number, bound_s};
    }
    qsort(s->list, count, sizeof *s->list, by_bound);
    return count;
}

/* Takes the first neighbour that is faster; *moved says whether there was one. */
static edgeps_err step(polish *s, bool *moved)
{
    size_t count = list_neighbours(s);
    *moved = false;
    for (size_t l = 0; l < count && s->budget > 0 && place_watch_go_on(s->watch, 1); l++) {
        double round_s;
        make_neighbour(s, s->list[l].number);
        edgeps_err err = cost_round_s(s->gr->p, &s->trial, &round_s);
        if (err)
            return err;
        s->budget--;
        if (round_s >= s->now_s * (1 - LEAST_GAIN))
            continue;
        s->now_s = round_s;
        s->now->global = s->trial.global;
        memcpy(s->now->parent, s->trial.parent, s->gr->count * sizeof *s->now->parent);
        *moved = true;
        break;
    }
    return EDGEPS_OK;
}

static size_t default_budget(const place_ground *gr)
{
    uint64_t each = (uint64_t)job_chunk_count(&gr->p->job) * gr->worker_count;
    uint64_t budget = EVALUATION_WORK / each + 10;
    return budget < MOST_EVALUATIONS ? budget : MOST_EVALUATIONS;
}

edgeps_err place_polish(const place_ground *gr, const place_options *options, place_watch *w,
                        size_t budget, plan *pl, double *round_s)
{
    polish s;
    bool moved = true;
    edgeps_err err = polish_make(gr, options->seed, pl, &s);
    if (err)
        return err;
    s.watch = w;
    s.now_s = *round_s;
    s.budget = budget ? budget : default_budget(gr);
    while (!err && moved && s.budget > 0 && place_watch_go_on(w, 1))
        err = step(&s, &moved);
    *round_s = s.now_s;
    polish_free(&s);
    return err;
}
