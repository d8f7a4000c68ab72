/* Center-capturing vertices and the Expanding Front, after Panigrahy and Vishwanathan 1998 and
 * Archer 2001. The proof of each step is in docs/algorithms/approx.md. */
#include "place/place_int.h"

#include "base/mem.h"
#include "cover/cover.h"

#include <math.h>
#include <string.h>

static const size_t step_lengths[] = {1, 2, 3, 5};
#define STEP_LENGTHS (sizeof step_lengths / sizeof *step_lengths)

/* Sets of nodes as bits, one row of `words` per node or set. */
typedef struct graph {
    const place_ground *gr;
    size_t words;
    uint64_t *out;   /* rows: whom a node serves */
    uint64_t *in;    /* rows: who serves it */
    uint64_t *reach; /* rows: whom it reaches in `steps` arcs */
    uint64_t *next;  /* scratch: rows of the next step length */
} graph;

typedef struct sets {
    uint64_t *active;  /* workers that no capturing vertex has taken */
    uint64_t *covered; /* nodes behind the front */
    uint64_t *grown;   /* scratch */
    double *open;      /* the LP's shares */
    cover_server *servers;
    cover_arc *arcs;
    uint32_t *number; /* of an uncovered worker in the LP */
} sets;

static uint64_t *row(uint64_t *rows, const graph *g, size_t node) { return rows + node * g->words; }

static bool has(const uint64_t *set, size_t node) { return set[node / 64] >> (node % 64) & 1; }

static void add(uint64_t *set, size_t node) { set[node / 64] |= (uint64_t)1 << (node % 64); }

static void add_all(uint64_t *set, const uint64_t *other, size_t words)
{
    for (size_t w = 0; w < words; w++)
        set[w] |= other[w];
}

static bool is_subset(const uint64_t *part, const uint64_t *whole, size_t words)
{
    for (size_t w = 0; w < words; w++)
        if (part[w] & ~whole[w])
            return false;
    return true;
}

static bool is_empty(const uint64_t *set, size_t words)
{
    for (size_t w = 0; w < words; w++)
        if (set[w])
            return false;
    return true;
}

static void graph_free(graph *g)
{
    mem_free(g->out);
    mem_free(g->in);
    mem_free(g->reach);
    mem_free(g->next);
}

static edgeps_err graph_make(const place_ground *gr, double *const *chain, double r_s, graph *out)
{
    graph g = {.gr = gr, .words = (gr->count + 63) / 64};
    size_t size = gr->count * g.words;
    g.out = mem_alloc(size, sizeof *g.out);
    g.in = mem_alloc(size, sizeof *g.in);
    g.reach = mem_alloc(size, sizeof *g.reach);
    g.next = mem_alloc(size, sizeof *g.next);
    if (!g.out || !g.in || !g.reach || !g.next) {
        graph_free(&g);
        return EDGEPS_NOMEM;
    }
    for (size_t j = 0; j < gr->count; j++)
        for (size_t i = 0; i < gr->count; i++)
            if (chain[j][i] <= r_s) {
                add(row(g.out, &g, j), i);
                add(row(g.in, &g, i), j);
            }
    memcpy(g.reach, g.out, size * sizeof *g.out);
    *out = g;
    return EDGEPS_OK;
}

/* Lets each arc of `reach` stand for one more step. */
static void reach_further(graph *g)
{
    size_t size = g->gr->count * g->words;
    memcpy(g->next, g->reach, size * sizeof *g->next);
    for (size_t j = 0; j < g->gr->count; j++)
        for (size_t i = 0; i < g->gr->count; i++)
            if (has(row(g->reach, g, j), i))
                add_all(row(g->next, g, j), row(g->out, g, i), g->words);
    memcpy(g->reach, g->next, size * sizeof *g->next);
}

static void sets_free(sets *s)
{
    mem_free(s->active);
    mem_free(s->covered);
    mem_free(s->grown);
    mem_free(s->open);
    mem_free(s->servers);
    mem_free(s->arcs);
    mem_free(s->number);
}

static edgeps_err sets_make(const graph *g, sets *out)
{
    size_t n = g->gr->count;
    sets s = {
        .active = mem_alloc(g->words, sizeof *s.active),
        .covered = mem_alloc(g->words, sizeof *s.covered),
        .grown = mem_alloc(g->words, sizeof *s.grown),
        .open = mem_alloc(n, sizeof *s.open),
        .servers = mem_alloc(n, sizeof *s.servers),
        .arcs = mem_alloc(n * g->gr->worker_count, sizeof *s.arcs),
        .number = mem_alloc(n, sizeof *s.number),
    };
    if (!s.active || !s.covered || !s.grown || !s.open || !s.servers || !s.arcs || !s.number) {
        sets_free(&s);
        return EDGEPS_NOMEM;
    }
    *out = s;
    return EDGEPS_OK;
}

/* Everything that the set reaches in one step joins it. */
static void grow(const graph *g, uint64_t *rows, sets *s, uint64_t *set)
{
    memcpy(s->grown, set, g->words * sizeof *set);
    for (size_t j = 0; j < g->gr->count; j++)
        if (has(set, j))
            add_all(s->grown, row(rows, g, j), g->words);
    memcpy(set, s->grown, g->words * sizeof *set);
}

/* Takes capturing vertices until none is left; what they reach in two steps is theirs. */
static void capture(graph *g, sets *s, place_front *f)
{
    const place_ground *gr = g->gr;
    for (size_t w = 0; w < gr->worker_count; w++)
        add(s->active, gr->workers[w]);
    for (size_t w = 0; w < gr->worker_count; w++) {
        size_t v = gr->workers[w];
        const uint64_t *in = row(g->in, g, v);
        if (!has(s->active, v) || is_empty(in, g->words) ||
            !is_subset(in, row(g->out, g, v), g->words))
            continue;
        f->picks[f->pick_count++] = (uint32_t)v;
        memcpy(s->covered, row(g->out, g, v), g->words * sizeof *s->covered);
        grow(g, g->out, s, s->covered);
        for (size_t word = 0; word < g->words; word++)
            s->active[word] &= ~s->covered[word];
    }
    f->capturing = f->pick_count;
}

/* Starts the front: behind it is what the capturing vertices reach in two steps. */
static void start_front(const graph *g, sets *s, const place_front *f)
{
    memset(s->covered, 0, g->words * sizeof *s->covered);
    for (size_t c = 0; c < f->capturing; c++)
        add_all(s->covered, row(g->out, g, f->picks[c]), g->words);
    grow(g, g->out, s, s->covered);
}

/* The covering LP of the workers ahead of the front; its shares into s->open. */
static edgeps_err solve_rest(graph *g, sets *s, double *mass)
{
    const place_ground *gr = g->gr;
    size_t count = 0, arcs = 0;
    for (size_t w = 0; w < gr->worker_count; w++)
        if (!has(s->covered, gr->workers[w]))
            s->number[gr->workers[w]] = (uint32_t)count++;
    *mass = 0;
    if (count == 0)
        return EDGEPS_OK;
    for (size_t j = 0; j < gr->count; j++) {
        s->servers[j] = (cover_server){.arcs = s->arcs + arcs};
        for (size_t w = 0; w < gr->worker_count; w++) {
            size_t i = gr->workers[w];
            if (!has(s->covered, i) && has(row(g->reach, g, j), i))
                s->arcs[arcs + s->servers[j].arc_count++] = (cover_arc){s->number[i], 1};
        }
        arcs += s->servers[j].arc_count;
    }
    cover_instance c = {count, gr->count, s->servers, 0};
    return cover_least_mass(&c, s->open, mass);
}

/* The LP's mass on nodes ahead of the front. */
static double mass_ahead(const graph *g, const sets *s)
{
    double mass = 0;
    for (size_t j = 0; j < g->gr->count; j++)
        if (!has(s->covered, j))
            mass += s->open[j];
    return mass;
}

/* The vertex that newly covers most mass, then most workers; count when none covers anything. */
static size_t best_pick(graph *g, const sets *s)
{
    size_t n = g->gr->count, best = n, best_workers = 0;
    double best_mass = 0;
    for (size_t j = 0; j < n; j++) {
        double mass = 0;
        size_t workers = 0;
        for (size_t i = 0; i < n; i++)
            if (has(row(g->reach, g, j), i) && !has(s->covered, i)) {
                mass += s->open[i];
                workers++;
            }
        if (workers > 0 &&
            (best == n || mass > best_mass || (mass == best_mass && workers > best_workers))) {
            best = j;
            best_mass = mass;
            best_workers = workers;
        }
    }
    return best;
}

static bool all_covered(const graph *g, const sets *s)
{
    for (size_t w = 0; w < g->gr->worker_count; w++)
        if (!has(s->covered, g->gr->workers[w]))
            return false;
    return true;
}

/* The picks of one phase. */
static void pick_phase(graph *g, sets *s, size_t wanted, place_front *f)
{
    for (size_t q = 0; q < wanted; q++) {
        size_t pick = best_pick(g, s);
        if (pick == g->gr->count)
            return;
        f->picks[f->pick_count++] = (uint32_t)pick;
        add_all(s->covered, row(g->reach, g, pick), g->words);
        add(s->covered, pick);
    }
}

/* The front at the present step length. Sets pick_count to 0 when some worker cannot be reached. */
static edgeps_err expand(graph *g, sets *s, place_front *f)
{
    double first_mass = 0;
    f->pick_count = f->capturing;
    f->phases = 0;
    start_front(g, s, f);
    grow(g, g->reach, s, s->covered);
    while (!all_covered(g, s) && f->phases < PLACE_FRONT_PHASES) {
        double mass;
        edgeps_err err = solve_rest(g, s, &mass);
        if (err)
            return err;
        if (mass == INFINITY)
            break;
        if (f->phases == 0)
            first_mass = mass;
        double share = first_mass / (double)((uint64_t)1 << f->phases);
        size_t wanted = share < 1 ? 1 : (size_t)share;
        pick_phase(g, s, wanted, f);
        f->mass[f->phases] = mass;
        f->left[f->phases] = mass_ahead(g, s);
        f->wanted[f->phases++] = wanted;
        grow(g, g->reach, s, s->covered);
    }
    if (!all_covered(g, s))
        f->pick_count = 0;
    return EDGEPS_OK;
}

static edgeps_err run_lengths(graph *g, sets *s, size_t locals, place_front *f)
{
    size_t steps = 1;
    for (size_t l = 0; l < STEP_LENGTHS; l++) {
        for (; steps < step_lengths[l]; steps++)
            reach_further(g);
        f->steps = steps;
        edgeps_err err = expand(g, s, f);
        if (err || f->pick_count == 0 || f->pick_count <= locals)
            return err;
    }
    return EDGEPS_OK;
}

edgeps_err place_front_run(const place_ground *gr, double *const *chain, double r_s, size_t locals,
                           place_front *out)
{
    graph g = {0};
    sets s = {0};
    place_front f = {.picks = mem_alloc(2 * gr->count, sizeof *f.picks)};
    edgeps_err err = f.picks ? graph_make(gr, chain, r_s, &g) : EDGEPS_NOMEM;
    if (!err)
        err = sets_make(&g, &s);
    if (!err) {
        capture(&g, &s, &f);
        err = run_lengths(&g, &s, locals, &f);
    }
    if (!err) {
        *out = f;
        f.picks = NULL;
    }
    mem_free(f.picks);
    sets_free(&s);
    graph_free(&g);
    return err;
}
