/* Local search with weights for covering by a given number of centers (after the weighting schemes
 * for set covering; Gao, Weise and Li 2014): an uncovered point is taken, the center that helps
 * most among those in its reach opens, the one that is missed least closes. What stays uncovered
 * grows in weight, which leads out of local optima. */
#include "cover/pcenter_int.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

#define STEP_WORK 4000 /* (points in reach)^2 of a step at full count */

/* Arcs in both directions: per center its points, per point its centers. */
typedef struct reach {
    size_t *start; /* n + 1 */
    uint32_t *of;
} reach;

typedef struct swap {
    size_t n;
    reach points, centers;
    bool *open;
    uint32_t *count;  /* per point: open centers in reach */
    uint64_t *weight; /* per point */
    uint64_t *worth;  /* per center: weight that opening it gains, or closing it loses */
    uint64_t *turn;   /* per center: of its last change */
    uint32_t *left;   /* the uncovered points, in no order ... */
    uint32_t *at;     /* ... and where each is */
    size_t left_count;
} swap;

static void swap_free(swap *s)
{
    mem_free(s->points.start);
    mem_free(s->points.of);
    mem_free(s->centers.start);
    mem_free(s->centers.of);
    mem_free(s->count);
    mem_free(s->weight);
    mem_free(s->worth);
    mem_free(s->turn);
    mem_free(s->left);
    mem_free(s->at);
}

static size_t count_arcs(const pcenter_instance *c, double radius, size_t *of_center,
                         size_t *of_point)
{
    size_t arcs = 0;
    for (size_t j = 0; j < c->points; j++)
        for (size_t i = 0; i < c->points; i++)
            if (c->distance(c->context, j, i) <= radius) {
                of_center[j + 1]++;
                of_point[i + 1]++;
                arcs++;
            }
    return arcs;
}

static void list_arcs(const pcenter_instance *c, double radius, swap *s)
{
    size_t n = c->points, at = 0;
    for (size_t i = 0; i < n; i++) {
        s->points.start[i + 1] += s->points.start[i];
        s->centers.start[i + 1] += s->centers.start[i];
    }
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            if (c->distance(c->context, j, i) <= radius) {
                s->points.of[at++] = (uint32_t)i;
                s->centers.of[s->centers.start[i] + s->at[i]++] = (uint32_t)j;
            }
}

static edgeps_err swap_make(const pcenter_instance *c, double radius, bool *open, swap *out)
{
    size_t n = c->points, arcs = 0;
    swap s = {.n = n, .open = open};
    s.points.start = mem_alloc(n + 1, sizeof *s.points.start);
    s.centers.start = mem_alloc(n + 1, sizeof *s.centers.start);
    if (s.points.start && s.centers.start)
        arcs = count_arcs(c, radius, s.points.start, s.centers.start);
    s.points.of = mem_alloc(arcs, sizeof *s.points.of);
    s.centers.of = mem_alloc(arcs, sizeof *s.centers.of);
    s.count = mem_alloc(n, sizeof *s.count);
    s.weight = mem_alloc(n, sizeof *s.weight);
    s.worth = mem_alloc(n, sizeof *s.worth);
    s.turn = mem_alloc(n, sizeof *s.turn);
    s.left = mem_alloc(n, sizeof *s.left);
    s.at = mem_alloc(n, sizeof *s.at);
    if (!s.points.start || !s.centers.start || !s.points.of || !s.centers.of || !s.count ||
        !s.weight || !s.worth || !s.turn || !s.left || !s.at) {
        swap_free(&s);
        return EDGEPS_NOMEM;
    }
    list_arcs(c, radius, &s);
    *out = s;
    return EDGEPS_OK;
}

static void add_left(swap *s, uint32_t point)
{
    s->at[point] = (uint32_t)s->left_count;
    s->left[s->left_count++] = point;
}

static void take_left(swap *s, uint32_t point)
{
    uint32_t last = s->left[--s->left_count];
    s->left[s->at[point]] = last;
    s->at[last] = s->at[point];
}

static uint32_t sole_center(const swap *s, uint32_t point)
{
    size_t k = s->centers.start[point];
    while (!s->open[s->centers.of[k]])
        k++;
    return s->centers.of[k];
}

/* Adds to the worth of all centers in reach of the point. */
static void add_worth(swap *s, uint32_t point, uint64_t change)
{
    for (size_t k = s->centers.start[point]; k < s->centers.start[point + 1]; k++)
        s->worth[s->centers.of[k]] += change;
}

static void open_center(swap *s, uint32_t center)
{
    for (size_t k = s->points.start[center]; k < s->points.start[center + 1]; k++) {
        uint32_t i = s->points.of[k];
        if (s->count[i] == 0) {
            add_worth(s, i, -s->weight[i]);
            s->worth[center] += s->weight[i];
            take_left(s, i);
        } else if (s->count[i] == 1) {
            s->worth[sole_center(s, i)] -= s->weight[i];
        }
        s->count[i]++;
    }
    s->open[center] = true;
}

static void close_center(swap *s, uint32_t center)
{
    s->open[center] = false;
    for (size_t k = s->points.start[center]; k < s->points.start[center + 1]; k++) {
        uint32_t i = s->points.of[k];
        s->count[i]--;
        if (s->count[i] == 0) {
            s->worth[center] -= s->weight[i];
            add_worth(s, i, s->weight[i]);
            add_left(s, i);
        } else if (s->count[i] == 1) {
            s->worth[sole_center(s, i)] += s->weight[i];
        }
    }
}

static void begin(swap *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        s->weight[i] = 1;
        add_left(s, i);
        add_worth(s, i, 1);
    }
    for (uint32_t j = 0; j < s->n; j++)
        if (s->open[j])
            open_center(s, j);
}

/* The one in reach of the point that gains most, not the one just closed; n: there is none. */
static size_t best_to_open(const swap *s, uint32_t point, size_t closed)
{
    size_t best = s->n;
    for (size_t k = s->centers.start[point]; k < s->centers.start[point + 1]; k++) {
        uint32_t j = s->centers.of[k];
        if (j != closed && (best == s->n || s->worth[j] > s->worth[best] ||
                            (s->worth[j] == s->worth[best] && s->turn[j] < s->turn[best])))
            best = j;
    }
    return best;
}

/* The open one that is missed least, not the one just opened. */
static size_t best_to_close(const swap *s, size_t opened)
{
    size_t best = s->n;
    for (size_t j = 0; j < s->n; j++)
        if (s->open[j] && j != opened &&
            (best == s->n || s->worth[j] < s->worth[best] ||
             (s->worth[j] == s->worth[best] && s->turn[j] < s->turn[best])))
            best = j;
    return best;
}

static void run(swap *s, size_t steps)
{
    rng r = rng_make(1, s->n);
    size_t closed = s->n;
    for (uint64_t turn = 1; turn <= steps && s->left_count > 0; turn++) {
        size_t opened = best_to_open(s, s->left[rng_below(&r, s->left_count)], closed);
        if (opened == s->n)
            continue;
        open_center(s, (uint32_t)opened);
        closed = best_to_close(s, opened);
        s->turn[opened] = turn;
        close_center(s, (uint32_t)closed);
        s->turn[closed] = turn;
        for (size_t l = 0; l < s->left_count; l++) {
            s->weight[s->left[l]]++;
            add_worth(s, s->left[l], 1);
        }
    }
}

edgeps_err pcenter_swap(const pcenter_instance *c, double radius, size_t steps, bool *open,
                        bool *covered)
{
    swap s;
    edgeps_err err = swap_make(c, radius, open, &s);
    if (err)
        return err;
    double reached = (double)s.points.start[s.n] / (double)s.n;
    begin(&s);
    run(&s, (size_t)((double)steps * fmin(STEP_WORK / (reached * reached), 1)));
    *covered = s.left_count == 0;
    swap_free(&s);
    return EDGEPS_OK;
}
