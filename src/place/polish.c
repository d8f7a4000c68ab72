/* Local search. The bound, which follows a move in microseconds, leads; the evaluator decides.
 *
 * 1. Relieve: descend on the bound where it is made (relieve.c).
 * 2. Walk: neighbours in a mixed order, in batches; the bound filters and orders a batch, the exact
 *    time decides.
 * 3. From a local optimum a few random moves lead away, and the search starts again.
 *
 * Effort is counted in estimated microseconds, so that a run repeats exactly. */
#include "place/place_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POLISH_STREAM 2
#define DEFAULT_WORK_US 300000 /* about what the search takes, in microseconds, up to ... */
#define WORK_NODES 100         /* ... this many nodes; larger networks get more */
#define MOST_WORK_US 4000000
#define BATCH 256            /* neighbours that are bounded, then tried best first */
#define BATCH_EVALUATIONS 24 /* ... this many of them */
#define KICK_MOVES 3         /* random moves away from a local optimum */
#define KICK_TRIES 100       /* draws for one of them */
#define LEAST_GAIN 1e-9      /* relative; smaller ones are rounding */
#define RELIEF_SHARE 0.3     /* of what is left of the effort, for one descent on the bound */

typedef struct neighbour {
    uint64_t number;
    double bound_s;
} neighbour;

typedef struct polish {
    const place_ground *gr;
    place_watch *watch;
    const place_judge *judge; /* NULL: the plan is alone on its links */
    place_moves moves;        /* the plan where the search is, and its neighbours */
    double now_s;
    plan *best; /* the caller's plan */
    double best_s;
    neighbour list[BATCH];
    uint64_t first[PLACE_MOVE_KINDS + 1]; /* numbers of the moves of each kind */
    rng r;
    uint64_t kicks_left;
    double work_left_us;
    double relief_us; /* about what a move with the bound of its plan alone takes, ... */
    double bound_us;  /* ... with the bound that counts */
} polish;

static void number_moves(polish *s)
{
    uint64_t n = s->gr->count, w = s->gr->worker_count;
    const uint64_t moves[PLACE_MOVE_KINDS] = {w * n, w * w, n * n, n * n, n, n, n};
    for (int kind = 0; kind < PLACE_MOVE_KINDS; kind++)
        s->first[kind + 1] = s->first[kind] + moves[kind];
}

static edgeps_err polish_make(const place_ground *gr, uint64_t seed, const place_judge *judge,
                              plan *best, polish *out)
{
    polish s = {.gr = gr, .judge = judge, .best = best, .r = rng_make(seed, POLISH_STREAM)};
    double workers = (double)gr->worker_count;
    number_moves(&s);
    s.relief_us = 0.3 + 0.1 * sqrt(workers);
    s.bound_us = s.relief_us + (judge ? judge->bound_us : 0);
    s.kicks_left = 2 * gr->worker_count;
    edgeps_err err = place_moves_make(gr, best, &s.moves);
    if (!err)
        *out = s;
    return err;
}

static bool make_neighbour(polish *s, uint64_t number)
{
    uint64_t n = s->gr->count, w = s->gr->worker_count;
    int kind = 0;
    while (number >= s->first[kind + 1])
        kind++;
    number -= s->first[kind];
    switch ((place_move_kind)kind) {
    case PLACE_MOVE_ATTACH:
        return place_move(&s->moves, PLACE_MOVE_ATTACH, s->gr->workers[number / n], number % n);
    case PLACE_MOVE_SWAP:
        return number / w < number % w &&
               place_move(&s->moves, PLACE_MOVE_SWAP, s->gr->workers[number / w],
                          s->gr->workers[number % w]);
    case PLACE_MOVE_SERVER:
    case PLACE_MOVE_SPLIT:
        return place_move(&s->moves, (place_move_kind)kind, number / n, number % n);
    default:
        return place_move(&s->moves, (place_move_kind)kind, number, 0);
    }
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
    uint64_t count = s->first[PLACE_MOVE_KINDS];
    walk k = {rng_below(&s->r, count), 1 + rng_below(&s->r, count), count, count};
    while (common_divisor(k.step, count) != 1)
        k.step++;
    return k;
}

static double bound_s(polish *s)
{
    if (s->judge)
        return s->judge->bound_s(s->judge->context, cost_search_plan(s->moves.search));
    return cost_search_bound_s(s->moves.search);
}

/* The next neighbours of the walk that may be faster, best bound first. */
static size_t list_batch(polish *s, walk *k)
{
    size_t count = 0;
    for (size_t b = 0; b < BATCH && k->left > 0; b++, k->left--) {
        uint64_t number = k->at;
        k->at = (k->at + k->step) % k->count;
        s->work_left_us -= s->bound_us;
        if (!make_neighbour(s, number))
            continue;
        neighbour found = {number, bound_s(s)};
        cost_search_undo(s->moves.search);
        if (found.bound_s < s->now_s * (1 - LEAST_GAIN))
            s->list[count++] = found;
    }
    qsort(s->list, count, sizeof *s->list, by_bound);
    return count < BATCH_EVALUATIONS ? count : BATCH_EVALUATIONS;
}

static bool may_go_on(polish *s)
{
    return !s->moves.err && s->work_left_us > 0 && place_watch_go_on(s->watch, 1);
}

static edgeps_err evaluate(polish *s, double *round_s)
{
    const plan *pl = cost_search_plan(s->moves.search);
    double work_us = s->judge ? s->judge->evaluation_us : 0;
    edgeps_err err = s->judge ? s->judge->round_s(s->judge->context, pl, round_s)
                              : cost_round_counted_s(s->gr->p, pl, round_s, &work_us);
    s->work_left_us -= work_us;
    return err;
}

/* Takes the first neighbour of the list that is faster; *moved says whether there was one. */
static edgeps_err take_faster(polish *s, size_t count, bool *moved)
{
    for (size_t l = 0; l < count && may_go_on(s); l++) {
        double round_s;
        if (!make_neighbour(s, s->list[l].number))
            continue;
        edgeps_err err = evaluate(s, &round_s);
        if (err)
            return err;
        if (round_s >= s->now_s * (1 - LEAST_GAIN)) {
            cost_search_undo(s->moves.search);
            continue;
        }
        s->now_s = round_s;
        cost_search_keep(s->moves.search);
        *moved = true;
        break;
    }
    return EDGEPS_OK;
}

static void remember_best(polish *s)
{
    const plan *now = cost_search_plan(s->moves.search);
    if (s->now_s >= s->best_s)
        return;
    s->best_s = s->now_s;
    place_watch_best(s->watch, s->best_s);
    s->best->global = now->global;
    memcpy(s->best->parent, now->parent, now->count * sizeof *now->parent);
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
    remember_best(s);
    return err;
}

/* A descent on the bound, from where the walk goes on if the round has become faster as well. */
static edgeps_err relieve(polish *s)
{
    double effort = RELIEF_SHARE * s->work_left_us / s->relief_us, spent = effort;
    double before_s = s->now_s;
    place_relieve(&s->moves, &s->r, s->watch, &effort);
    s->work_left_us -= (spent - effort) * s->relief_us;
    edgeps_err err = s->moves.err ? s->moves.err : evaluate(s, &s->now_s);
    if (!err && s->now_s > before_s && before_s == s->best_s) {
        cost_search_set(s->moves.search, s->best);
        s->now_s = s->best_s;
    }
    remember_best(s);
    return err;
}

/* A few random moves away from the best plan. */
static edgeps_err kick(polish *s)
{
    cost_search_set(s->moves.search, s->best);
    for (int k = 0; k < KICK_MOVES; k++) {
        for (int tries = 0; tries < KICK_TRIES; tries++) {
            if (!make_neighbour(s, rng_below(&s->r, s->first[PLACE_MOVE_KINDS])))
                continue;
            cost_search_keep(s->moves.search);
            break;
        }
    }
    s->kicks_left--;
    return evaluate(s, &s->now_s);
}

static double default_work_us(const place_ground *gr)
{
    double nodes = (double)gr->count;
    return fmin(MOST_WORK_US, DEFAULT_WORK_US * fmax(1, nodes / WORK_NODES));
}

/* From the plan in s->best, which takes *round_s; releases `s`. */
static edgeps_err run(polish *s, double work_us, double *round_s)
{
    s->now_s = s->best_s = *round_s;
    s->work_left_us = work_us;
    edgeps_err err = relieve(s);
    if (!err)
        err = descend(s);
    while (!err && s->kicks_left > 0 && may_go_on(s)) {
        err = kick(s);
        if (!err)
            err = relieve(s);
        if (!err)
            err = descend(s);
    }
    *round_s = s->best_s;
    if (!err)
        err = s->moves.err;
    place_moves_free(&s->moves);
    return err;
}

edgeps_err place_polish(const place_ground *gr, const place_options *options, place_watch *w,
                        double work_us, plan *pl, double *round_s)
{
    polish s;
    edgeps_err err = polish_make(gr, options->seed, NULL, pl, &s);
    s.watch = w;
    return err ? err : run(&s, work_us > 0 ? work_us : default_work_us(gr), round_s);
}

edgeps_err place_polish_among(const place_ground *gr, place_watch *w, place_judge *judge, plan *pl,
                              double *round_s)
{
    polish s;
    edgeps_err err = polish_make(gr, judge->seed, judge, pl, &s);
    s.watch = w;
    if (!err)
        err = run(&s, judge->work_us, round_s);
    judge->work_us = err ? 0 : s.work_left_us;
    return err;
}
