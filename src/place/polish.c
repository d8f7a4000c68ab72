/* Local search on the evaluator. Neighbours are numbered and visited in a mixed order, in batches;
 * within a batch the closed-form bound filters and orders, the exact time decides. From a local
 * optimum a few random moves lead away, and the search starts again. Effort is counted in estimated
 * microseconds, so that a run repeats exactly. */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POLISH_STREAM 2
#define DEFAULT_WORK_US 300000 /* about what the search takes, in microseconds */
#define BATCH 256              /* neighbours that are bounded, then tried best first */
#define BATCH_EVALUATIONS 24   /* ... this many of them */
#define KICK_MOVES 3           /* random moves away from a local optimum */
#define KICK_TRIES 100         /* draws for one of them */
#define LEAST_GAIN 1e-9        /* relative; smaller ones are rounding */

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
    plan now; /* where the search is */
    double now_s;
    plan *best; /* the caller's plan */
    double best_s;
    plan trial;
    int32_t *children;
    double *scratch;
    neighbour list[BATCH];
    uint64_t first[MOVE_KINDS + 1]; /* numbers of the moves of each kind */
    rng r;
    uint64_t kicks_left;
    double work_left_us;
    double bound_us; /* what a bound and an evaluation cost, roughly */
    double evaluation_us;
} polish;

static void polish_free(polish *s)
{
    place_times_free(&s->times);
    plan_free(&s->trial);
    plan_free(&s->now);
    mem_free(s->children);
    mem_free(s->scratch);
}

static void number_moves(polish *s)
{
    uint64_t n = s->gr->count, w = s->gr->worker_count;
    const uint64_t moves[MOVE_KINDS] = {w * n, w * w, n * n, n, n, n};
    for (int kind = 0; kind < MOVE_KINDS; kind++)
        s->first[kind + 1] = s->first[kind] + moves[kind];
}

static edgeps_err polish_make(const place_ground *gr, uint64_t seed, plan *best, polish *out)
{
    polish s = {.gr = gr, .best = best, .r = rng_make(seed, POLISH_STREAM)};
    number_moves(&s);
    double workers = (double)gr->worker_count;
    s.bound_us = (double)gr->count / 5;
    s.evaluation_us = (double)job_chunk_count(&gr->p->job) * workers * (workers + 8) / 8;
    s.kicks_left = 2 * gr->worker_count;
    edgeps_err err = place_times_make(gr, &s.times);
    if (!err)
        err = plan_make(gr->count, &s.trial);
    if (!err)
        err = plan_copy(best, &s.now);
    s.children = mem_alloc(gr->count, sizeof *s.children);
    s.scratch = mem_alloc(4 * gr->count, sizeof *s.scratch);
    if (err || !s.children || !s.scratch) {
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
    plan_children(&s->now, s->children);
    for (size_t i = 0; i < n; i++) {
        int32_t to = PLAN_NONE;
        if (s->now.parent[i] != server)
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
    plan_children(&s->now, s->children);
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
    s->trial.global = s->now.global;
    memcpy(s->trial.parent, s->now.parent, gr->count * sizeof *s->trial.parent);
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
        made = s->now.global != (int32_t)number && gr->fan[number] > 0;
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

/* The numbers of all moves in an order that mixes the kinds: multiples of a step without a common
 * divisor with their count. */
typedef struct walk {
    uint64_t at, step, count, left;
} walk;

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static walk start_walk(polish *s)
{
    uint64_t count = s->first[MOVE_KINDS];
    walk k = {rng_below(&s->r, count), 1 + rng_below(&s->r, count), count, count};
    while (common_divisor(k.step, count) != 1)
        k.step++;
    return k;
}

/* The next neighbours of the walk that may be faster, best bound first. */
static size_t list_batch(polish *s, walk *k)
{
    size_t count = 0;
    for (size_t b = 0; b < BATCH && k->left > 0; b++, k->left--) {
        uint64_t number = k->at;
        k->at = (k->at + k->step) % k->count;
        if (!make_neighbour(s, number))
            continue;
        s->work_left_us -= s->bound_us;
        double bound_s = cost_bound_s(s->gr->p, &s->trial, s->scratch);
        if (bound_s < s->now_s * (1 - LEAST_GAIN))
            s->list[count++] = (neighbour){number, bound_s};
    }
    qsort(s->list, count, sizeof *s->list, by_bound);
    return count < BATCH_EVALUATIONS ? count : BATCH_EVALUATIONS;
}

static bool may_go_on(polish *s) { return s->work_left_us > 0 && place_watch_go_on(s->watch, 1); }

static void set_plan(plan *to, const plan *from)
{
    to->global = from->global;
    memcpy(to->parent, from->parent, from->count * sizeof *to->parent);
}

static edgeps_err evaluate(polish *s, const plan *pl, double *round_s)
{
    s->work_left_us -= s->evaluation_us;
    return cost_round_s(s->gr->p, pl, round_s);
}

/* Takes the first neighbour of the list that is faster; *moved says whether there was one. */
static edgeps_err take_faster(polish *s, size_t count, bool *moved)
{
    for (size_t l = 0; l < count && may_go_on(s); l++) {
        double round_s;
        make_neighbour(s, s->list[l].number);
        edgeps_err err = evaluate(s, &s->trial, &round_s);
        if (err)
            return err;
        if (round_s >= s->now_s * (1 - LEAST_GAIN))
            continue;
        s->now_s = round_s;
        set_plan(&s->now, &s->trial);
        *moved = true;
        break;
    }
    return EDGEPS_OK;
}

/* Moves to faster neighbours until a walk through all finds none. */
static edgeps_err descend(polish *s)
{
    edgeps_err err = EDGEPS_OK;
    walk k = start_walk(s);
    while (!err && k.left > 0 && may_go_on(s)) {
        bool moved = false;
        size_t count = list_batch(s, &k);
        err = take_faster(s, count, &moved);
        if (moved)
            k.left = k.count;
    }
    if (!err && s->now_s < s->best_s) {
        s->best_s = s->now_s;
        set_plan(s->best, &s->now);
    }
    return err;
}

/* A few random moves away from the best plan. */
static edgeps_err kick(polish *s)
{
    set_plan(&s->now, s->best);
    for (int k = 0; k < KICK_MOVES; k++) {
        for (int tries = 0; tries < KICK_TRIES; tries++) {
            if (!make_neighbour(s, rng_below(&s->r, s->first[MOVE_KINDS])))
                continue;
            set_plan(&s->now, &s->trial);
            break;
        }
    }
    s->kicks_left--;
    return evaluate(s, &s->now, &s->now_s);
}

edgeps_err place_polish(const place_ground *gr, const place_options *options, place_watch *w,
                        double work_us, plan *pl, double *round_s)
{
    polish s;
    edgeps_err err = polish_make(gr, options->seed, pl, &s);
    if (err)
        return err;
    s.watch = w;
    s.now_s = s.best_s = *round_s;
    s.work_left_us = work_us > 0 ? work_us : DEFAULT_WORK_US;
    err = descend(&s);
    while (!err && s.kicks_left > 0 && may_go_on(&s)) {
        err = kick(&s);
        if (!err)
            err = descend(&s);
    }
    *round_s = s.best_s;
    polish_free(&s);
    return err;
}
