/* Farthest first (Gonzalez 1985), where distances have no symmetry to rely on: some nodes only
 * train, some pairs have no path, pair caps differ by direction. */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>

typedef struct far {
    const place_choice *c;
    double *gap_s; /* per worker: the way to the nearest chosen server; 0: nobody is nearer */
    bool *chosen;
    uint32_t *order;
    size_t count;
} far;

static double farthest_s(const place_ground *gr, size_t server)
{
    double worst_s = 0;
    for (size_t w = 0; w < gr->worker_count; w++)
        worst_s = fmax(worst_s, place_distance_s(gr->p, gr->workers[w], server));
    return worst_s;
}

/* The node whose farthest worker is nearest, among those that can be the global server. */
static size_t center(const far *f)
{
    const place_choice *c = f->c;
    size_t best = c->servers[0];
    double best_s = INFINITY;
    for (size_t s = 0; s < c->server_count; s++) {
        size_t j = c->servers[s];
        double worst_s = c->gr->fan[j] > 0 ? farthest_s(c->gr, j) : INFINITY;
        if (worst_s < best_s) {
            best = j;
            best_s = worst_s;
        }
    }
    return best;
}

static void take(far *f, size_t server)
{
    const place_ground *gr = f->c->gr;
    f->chosen[server] = true;
    f->order[f->count++] = (uint32_t)server;
    for (size_t w = 0; w < gr->worker_count; w++)
        f->gap_s[w] = fmin(f->gap_s[w], place_distance_s(gr->p, gr->workers[w], server));
}

/* The nearest server of the farthest worker: that worker's own node where it may serve. A worker
 * with nobody nearer than the chosen ones is passed over. False at the end. */
static bool take_farthest(far *f)
{
    const place_choice *c = f->c;
    size_t farthest = 0, nearest = c->gr->count;
    for (size_t w = 1; w < c->gr->worker_count; w++)
        if (f->gap_s[w] > f->gap_s[farthest])
            farthest = w;
    double nearest_s = f->gap_s[farthest];
    for (size_t s = 0; s < c->server_count; s++) {
        size_t j = c->servers[s];
        double way_s = place_distance_s(c->gr->p, c->gr->workers[farthest], j);
        if (!f->chosen[j] && c->gr->room[j] > 0 && way_s < nearest_s) {
            nearest = j;
            nearest_s = way_s;
        }
    }
    if (f->gap_s[farthest] <= 0)
        return false;
    if (nearest == c->gr->count)
        f->gap_s[farthest] = 0;
    else
        take(f, nearest);
    return true;
}

static edgeps_err choose(place_choice *c, uint64_t seed)
{
    (void)seed;
    edgeps_err err = EDGEPS_NOMEM;
    far f = {.c = c};
    f.gap_s = mem_alloc(c->gr->worker_count, sizeof *f.gap_s);
    f.chosen = mem_alloc(c->gr->count, sizeof *f.chosen);
    f.order = mem_alloc(c->gr->count, sizeof *f.order);
    if (!f.gap_s || !f.chosen || !f.order)
        goto out;
    for (size_t w = 0; w < c->gr->worker_count; w++)
        f.gap_s[w] = INFINITY;
    if (c->server_count > 0)
        take(&f, center(&f));
    while (f.count > 0 && f.count <= c->gr->p->max_locals && take_farthest(&f))
        continue;
    err = place_choice_prefixes(c, f.order, f.count);
out:
    mem_free(f.gap_s);
    mem_free(f.chosen);
    mem_free(f.order);
    return err;
}

edgeps_err place_gonzalez(const problem *p, const place_options *options, edgeps_diag *diag,
                          place_result *out)
{
    (void)diag;
    return place_choose(p, options, choose, out);
}
