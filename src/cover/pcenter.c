#include "cover/pcenter.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cover/cover.h"
#include "cover/pcenter_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_NODES 20 /* of a covering problem's branch and cut, before others are tried ... */
#define NODES_GROWTH 8 /* ... and then more */
#define SWAPS 5000     /* of centers, to cover the points that are not looked at; grows alike */

typedef struct search {
    const pcenter_instance *c;
    const pcenter_options *options;
    int64_t end_ns;
    double **row;     /* per point looked at: its distances from all points */
    uint32_t *looked; /* ... which */
    size_t rows;
    bool *inside;    /* per point: it is looked at */
    double *nearest; /* per point: distance from the nearest of the centers tried last */
    uint32_t *owner; /* ... and that center */
    size_t *worst;   /* per point as a center: the farthest point it leaves out */
    cover_server *servers;
    double hard_low, hard_high; /* radii that took too many nodes lie between */
    size_t most_nodes;
    bool stopped;
    pcenter_answer a;
} search;

void pcenter_answer_free(pcenter_answer *a)
{
    mem_free(a->center);
    *a = (pcenter_answer){0};
}

static void search_free(search *s)
{
    for (size_t k = 0; k < s->rows; k++)
        mem_free(s->row[k]);
    mem_free(s->row);
    mem_free(s->looked);
    mem_free(s->inside);
    mem_free(s->nearest);
    mem_free(s->owner);
    mem_free(s->worst);
    mem_free(s->servers);
    pcenter_answer_free(&s->a);
}

static void forget_hard(search *s)
{
    s->hard_low = INFINITY;
    s->hard_high = -INFINITY;
}

static edgeps_err search_make(const pcenter_instance *c, const pcenter_options *o, search *out)
{
    size_t n = c->points;
    search s = {.c = c, .options = o, .most_nodes = FIRST_NODES, .a.upper = INFINITY};
    forget_hard(&s);
    if (o->deadline_s > 0)
        s.end_ns = clock_now_ns() + (int64_t)(o->deadline_s * CLOCK_NS_PER_S);
    s.row = mem_alloc(n, sizeof *s.row);
    s.looked = mem_alloc(n, sizeof *s.looked);
    s.inside = mem_alloc(n, sizeof *s.inside);
    s.nearest = mem_alloc(n, sizeof *s.nearest);
    s.owner = mem_alloc(n, sizeof *s.owner);
    s.worst = mem_alloc(n, sizeof *s.worst);
    s.servers = mem_alloc(n, sizeof *s.servers);
    s.a.center = mem_alloc(n, sizeof *s.a.center);
    if (!s.row || !s.looked || !s.inside || !s.nearest || !s.owner || !s.worst || !s.servers ||
        !s.a.center) {
        search_free(&s);
        return EDGEPS_NOMEM;
    }
    *out = s;
    return EDGEPS_OK;
}

static double left_s(const search *s)
{
    return s->end_ns ? (double)(s->end_ns - clock_now_ns()) / CLOCK_NS_PER_S : INFINITY;
}

static bool go_on(search *s)
{
    if (left_s(s) <= 0 || (s->options->go_on && !s->options->go_on(s->options->asked)))
        s->stopped = true;
    return !s->stopped;
}

static edgeps_err look_at(search *s, size_t point)
{
    if (s->inside[point])
        return EDGEPS_OK;
    double *row = mem_alloc(s->c->points, sizeof *row);
    if (!row)
        return EDGEPS_NOMEM;
    for (size_t j = 0; j < s->c->points; j++)
        row[j] = s->c->distance(s->c->context, j, point);
    s->inside[point] = true;
    s->looked[s->rows] = (uint32_t)point;
    s->row[s->rows++] = row;
    return EDGEPS_OK;
}

static void forget_centers(search *s)
{
    for (size_t i = 0; i < s->c->points; i++)
        s->nearest[i] = INFINITY;
}

static void add_center(search *s, size_t center)
{
    for (size_t i = 0; i < s->c->points; i++) {
        double distance = s->c->distance(s->c->context, center, i);
        if (distance < s->nearest[i]) {
            s->nearest[i] = distance;
            s->owner[i] = (uint32_t)center;
        }
    }
}

static size_t farthest(const search *s)
{
    size_t far = 0;
    for (size_t i = 1; i < s->c->points; i++)
        if (s->nearest[i] > s->nearest[far])
            far = i;
    return far;
}

/* Farthest first (Gonzalez 1985): the first centers, and the points that are hard to reach. */
static edgeps_err start(search *s)
{
    size_t point = 0;
    edgeps_err err = EDGEPS_OK;
    forget_centers(s);
    for (size_t k = 0; !err && k < s->c->centers && (k == 0 || s->nearest[point] > 0); k++) {
        err = look_at(s, point);
        add_center(s, point);
        s->a.center[s->a.center_count++] = (uint32_t)point;
        point = farthest(s);
    }
    s->a.upper = s->nearest[point];
    return err ? err : look_at(s, point);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The distances of the points looked at, from `low` to below `high`; ascending, distinct. */
static edgeps_err list_radii(const search *s, double low, double high, double **out, size_t *count)
{
    size_t found = 0, distinct = 0;
    for (size_t k = 0; k < s->rows; k++)
        for (size_t j = 0; j < s->c->points; j++)
            found += s->row[k][j] >= low && s->row[k][j] < high;
    double *list = mem_alloc(found, sizeof *list);
    if (!list)
        return EDGEPS_NOMEM;
    found = 0;
    for (size_t k = 0; k < s->rows; k++)
        for (size_t j = 0; j < s->c->points; j++)
            if (s->row[k][j] >= low && s->row[k][j] < high)
                list[found++] = s->row[k][j];
    qsort(list, found, sizeof *list, by_value);
    for (size_t l = 0; l < found; l++)
        if (l == 0 || list[l] > list[distinct - 1])
            list[distinct++] = list[l];
    *out = list;
    *count = distinct;
    return EDGEPS_OK;
}

/* The smallest distance of the points looked at above `radius`; at most the upper bound. */
static double next_radius(const search *s, double radius)
{
    double next = s->a.upper;
    for (size_t k = 0; k < s->rows; k++)
        for (size_t j = 0; j < s->c->points; j++)
            if (s->row[k][j] > radius)
                next = fmin(next, s->row[k][j]);
    return next;
}

/* Can p centers cover the points looked at? */
static edgeps_err cover_rows(search *s, double radius, cover_whole *out)
{
    size_t arcs = 0, n = s->c->points;
    cover_whole_options options = {
        .go_on = s->options->go_on, .context = s->options->asked, .most_nodes = s->most_nodes};
    for (size_t k = 0; k < s->rows; k++)
        for (size_t j = 0; j < n; j++)
            arcs += s->row[k][j] <= radius;
    cover_arc *pool = mem_alloc(arcs, sizeof *pool);
    if (!pool)
        return EDGEPS_NOMEM;
    arcs = 0;
    for (size_t j = 0; j < n; j++) {
        s->servers[j] = (cover_server){pool + arcs, 0, (double)s->rows};
        for (size_t k = 0; k < s->rows; k++)
            if (s->row[k][j] <= radius)
                pool[arcs + s->servers[j].arc_count++] = (cover_arc){(uint32_t)k, 1};
        arcs += s->servers[j].arc_count;
    }
    if (s->end_ns)
        options.deadline_s = fmax(left_s(s), 1e-3);
    cover_instance c = {s->rows, n, s->servers, (double)s->c->centers};
    edgeps_err err = cover_whole_solve(&c, &options, out);
    s->a.coverings++;
    mem_free(pool);
    return err;
}

/* Takes the centers if they are the best so far; returns their radius over all points. */
static double try_centers(search *s, const bool *open)
{
    forget_centers(s);
    for (size_t j = 0; j < s->c->points; j++)
        if (open[j])
            add_center(s, j);
    double radius = s->nearest[farthest(s)];
    if (radius >= s->a.upper)
        return radius;
    s->a.upper = radius;
    s->a.center_count = 0;
    for (size_t j = 0; j < s->c->points; j++)
        if (open[j])
            s->a.center[s->a.center_count++] = (uint32_t)j;
    return radius;
}

/* The farthest point that each center leaves out. */
static edgeps_err look_at_worst(search *s, double radius)
{
    size_t n = s->c->points;
    edgeps_err err = EDGEPS_OK;
    for (size_t j = 0; j < n; j++)
        s->worst[j] = n;
    for (size_t i = 0; i < n; i++) {
        size_t *worst = &s->worst[s->owner[i]];
        if (s->nearest[i] > radius && (*worst == n || s->nearest[i] > s->nearest[*worst]))
            *worst = i;
    }
    for (size_t j = 0; !err && j < n; j++)
        if (s->worst[j] < n)
            err = look_at(s, s->worst[j]);
    return err;
}

/* Exchanges centers until they cover all points, or it gives up; *reached is their radius. */
static edgeps_err improve(search *s, double radius, bool *open, double *reached)
{
    size_t count = 0;
    bool covered;
    for (size_t j = 0; j < s->c->points; j++)
        count += open[j];
    for (; count < s->c->centers && s->nearest[farthest(s)] > 0; count++) {
        size_t point = farthest(s);
        open[point] = true;
        add_center(s, point);
    }
    edgeps_err err =
        pcenter_swap(s->c, radius, SWAPS * (s->most_nodes / FIRST_NODES), open, &covered);
    if (!err)
        *reached = try_centers(s, open);
    return err;
}

/* Centers that cover the points looked at: whoever they leave out joins these. */
static edgeps_err use_centers(search *s, double radius, bool *open, bool *within)
{
    double reached = try_centers(s, open);
    edgeps_err err = EDGEPS_OK;
    if (reached > radius)
        err = look_at_worst(s, radius);
    if (!err && reached > radius)
        err = improve(s, radius, open, &reached);
    *within = reached <= radius;
    return err;
}

/* The question was too hard for now; exchanges may still find centers. */
static edgeps_err put_off(search *s, double radius)
{
    double reached;
    bool *open = mem_alloc(s->c->points, sizeof *open);
    if (!open)
        return EDGEPS_NOMEM;
    for (size_t k = 0; k < s->a.center_count; k++)
        open[s->a.center[k]] = true;
    try_centers(s, open);
    edgeps_err err = improve(s, radius, open, &reached);
    mem_free(open);
    if (!err && reached > radius) {
        s->hard_low = fmin(s->hard_low, radius);
        s->hard_high = fmax(s->hard_high, radius);
    }
    return err;
}

/* Settles whether the radius does: raises the lower bound above it, or finds centers within it.
 * Unless that is too hard for now. */
static edgeps_err decide(search *s, double radius)
{
    bool within = false;
    while (!within && go_on(s)) {
        cover_whole answer;
        edgeps_err err = cover_rows(s, radius, &answer);
        if (err)
            return err;
        cover_verdict verdict = answer.verdict;
        if (verdict == COVER_YES)
            err = use_centers(s, radius, answer.open, &within);
        cover_whole_free(&answer);
        if (verdict == COVER_NO)
            s->a.lower = next_radius(s, radius);
        if (verdict == COVER_UNSURE)
            err = put_off(s, radius);
        if (err || verdict != COVER_YES)
            return err;
    }
    return EDGEPS_OK;
}

/* The middle one of the distances from `low` to below `high`; false when there is none. */
static edgeps_err middle_radius(const search *s, double low, double high, double *radius, bool *any)
{
    double *list;
    size_t count;
    edgeps_err err = list_radii(s, low, high, &list, &count);
    if (err)
        return err;
    *any = count > 0;
    if (*any)
        *radius = list[count / 2];
    mem_free(list);
    return EDGEPS_OK;
}

/* Which radius to try next: below those that are too hard, above them, or with more effort any. */
static edgeps_err choose_radius(search *s, double *radius, bool *any)
{
    edgeps_err err = middle_radius(s, s->a.lower, fmin(s->hard_low, s->a.upper), radius, any);
    if (err || *any || s->hard_low == INFINITY)
        return err;
    err = middle_radius(s, nextafter(s->hard_high, INFINITY), s->a.upper, radius, any);
    if (err || *any)
        return err;
    forget_hard(s);
    s->most_nodes *= NODES_GROWTH;
    return middle_radius(s, s->a.lower, s->a.upper, radius, any);
}

/* What is below the lower bound is refuted for the points looked at, so when none of their
 * distances is left between the bounds, these are equal. */
static edgeps_err run(search *s)
{
    bool any = true;
    edgeps_err err = start(s);
    while (!err && any && s->a.lower < s->a.upper && go_on(s)) {
        double radius;
        err = choose_radius(s, &radius, &any);
        if (!err && any)
            err = decide(s, radius);
    }
    if (!any)
        s->a.lower = s->a.upper;
    s->a.rows = s->rows;
    return err;
}

edgeps_err pcenter_solve(const pcenter_instance *c, const pcenter_options *options,
                         pcenter_answer *out)
{
    search s;
    edgeps_err err = search_make(c, options, &s);
    if (err)
        return err;
    err = run(&s);
    if (!err) {
        *out = s.a;
        s.a = (pcenter_answer){0};
    }
    search_free(&s);
    return err;
}
