/* The baseline that knows no rates: local servers at equal distances in the list of nodes, workers
 * dealt out to them in turn. */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define UNIFORM_STREAM 6

typedef struct deal {
    place_choice *c;
    size_t start; /* where the turn begins among the servers */
    bool *open;
    int32_t *cap;
    double **turns; /* [server][worker]: turns from the worker's own server to this one */
} deal;

static void deal_free(deal *d)
{
    mem_free(d->open);
    mem_free(d->cap);
    for (size_t s = 0; d->turns && s < d->c->server_count; s++)
        mem_free(d->turns[d->c->servers[s]]);
    mem_free(d->turns);
}

static edgeps_err deal_make(place_choice *c, uint64_t seed, deal *out)
{
    size_t n = c->gr->count;
    rng r = rng_make(seed, UNIFORM_STREAM);
    deal d = {.c = c};
    d.start = c->server_count ? rng_below(&r, c->server_count) : 0;
    d.open = mem_alloc(n, sizeof *d.open);
    d.cap = mem_alloc(n, sizeof *d.cap);
    d.turns = mem_alloc(n, sizeof *d.turns);
    if (!d.open || !d.cap || !d.turns) {
        deal_free(&d);
        return EDGEPS_NOMEM;
    }
    for (size_t s = 0; s < c->server_count; s++) {
        double **row = &d.turns[c->servers[s]];
        *row = mem_alloc(n, sizeof **row);
        if (!*row) {
            deal_free(&d);
            return EDGEPS_NOMEM;
        }
    }
    *out = d;
    return EDGEPS_OK;
}

/* Worker w belongs to server w mod opened; the assignment goes on to the next where it is full or
 * cannot be reached. */
static void deal_out(deal *d, size_t global)
{
    const place_ground *gr = d->c->gr;
    size_t opened = 0, turn = 0;
    for (size_t j = 0; j < gr->count; j++)
        opened += d->open[j];
    for (size_t j = 0; j < gr->count; j++) {
        d->cap[j] = d->open[j] ? place_room(gr, global, (int32_t)opened, j) : 0;
        for (size_t w = 0; d->open[j] && w < gr->worker_count; w++)
            d->turns[j][gr->workers[w]] = (double)((turn + opened - w % opened) % opened);
        turn += d->open[j];
    }
}

/* Dealing with this global server into c->trial; *served is false when somebody finds no room. */
static bool deal_for(deal *d, size_t global)
{
    place_choice *c = d->c;
    size_t m = c->server_count, k = (size_t)c->gr->fan[global];
    k = k < m ? k : m;
    memset(d->open, 0, c->gr->count * sizeof *d->open);
    for (size_t s = 0; s < k; s++) {
        size_t j = c->servers[(d->start + s * m / k) % m];
        d->open[j] = place_joins(c->gr, global, j) && place_room(c->gr, global, (int32_t)k, j) > 0;
    }
    do {
        deal_out(d, global);
        if (place_match_run(&c->match, d->turns, INFINITY, d->cap) == c->gr->worker_count) {
            c->trial.global = (int32_t)global;
            memcpy(c->trial.parent, c->match.parent, c->gr->count * sizeof *c->trial.parent);
            return true;
        }
    } while (place_choice_relieve(c, global, d->open));
    return false;
}

static edgeps_err choose(place_choice *c, uint64_t seed)
{
    deal d;
    edgeps_err err = deal_make(c, seed, &d);
    if (err)
        return err;
    for (size_t s = 0; !err && s < c->gr->count && c->best_s == INFINITY; s++) {
        size_t global = (d.start + s) % c->gr->count;
        double round_s;
        if (!place_choice_go_on(c, 0))
            break;
        if (c->gr->fan[global] < 1)
            continue;
        c->tried[global] = true;
        if (deal_for(&d, global))
            err = place_choice_offer(c, &round_s);
    }
    deal_free(&d);
    return err;
}

edgeps_err place_uniform(const problem *p, const place_options *options, edgeps_diag *diag,
                         place_result *out)
{
    (void)diag;
    return place_choose(p, options, choose, out);
}
