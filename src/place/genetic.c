/* A steady-state genetic algorithm on sets of servers (Holland 1975; sets and their crossover after
 * Alp, Erkut and Drezner 2003, for the p-median). An individual is a global server and its local
 * servers; the assignment, not the genes, keeps the constraints. */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define GENETIC_STREAM 7
#define POPULATION 20
#define CHILDREN 600
#define IDLE 4      /* times nodes x sqrt(locals): ends after so many children without success */
#define MUTATED 0.3 /* part of the children with another local server */
#define MUTATED_GLOBAL 0.1 /* ... and with another global server */

typedef struct individual {
    size_t global;
    bool *open;
    double round_s;
} individual;

typedef struct genetic {
    place_choice *c;
    rng r;
    individual all[POPULATION + 1]; /* the last is the child */
    bool *pool;
    uint32_t *globals;
    size_t global_count;
} genetic;

static void genetic_free(genetic *x)
{
    mem_free(x->pool);
    mem_free(x->globals);
}

static edgeps_err genetic_make(place_choice *c, uint64_t seed, genetic *out)
{
    size_t n = c->gr->count;
    genetic x = {.c = c, .r = rng_make(seed, GENETIC_STREAM)};
    x.pool = mem_alloc((POPULATION + 1) * n, sizeof *x.pool);
    x.globals = mem_alloc(n, sizeof *x.globals);
    if (!x.pool || !x.globals) {
        genetic_free(&x);
        return EDGEPS_NOMEM;
    }
    for (size_t i = 0; i <= POPULATION; i++)
        x.all[i].open = x.pool + i * n;
    for (size_t g = 0; g < n; g++)
        if (c->gr->fan[g] > 0)
            x.globals[x.global_count++] = (uint32_t)g;
    *out = x;
    return EDGEPS_OK;
}

static size_t any_global(genetic *x) { return x->globals[rng_below(&x->r, x->global_count)]; }

static size_t any_server(genetic *x) { return x->c->servers[rng_below(&x->r, x->c->server_count)]; }

static edgeps_err judge(genetic *x, individual *one)
{
    return place_choice_try(x->c, one->global, one->open, &one->round_s);
}

static edgeps_err seed_population(genetic *x)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t i = 0; !err && i < POPULATION; i++) {
        individual *one = &x->all[i];
        one->global = any_global(x);
        size_t most = (size_t)x->c->gr->fan[one->global];
        for (uint64_t k = 1 + rng_below(&x->r, most); k > 0; k--)
            one->open[any_server(x)] = true;
        one->round_s = INFINITY;
        if (i == 0 || place_choice_go_on(x->c, 0))
            err = judge(x, one);
    }
    return err;
}

/* The better of two. */
static const individual *parent(genetic *x)
{
    const individual *a = &x->all[rng_below(&x->r, POPULATION)];
    const individual *b = &x->all[rng_below(&x->r, POPULATION)];
    return a->round_s <= b->round_s ? a : b;
}

/* What both parents have, and half of what one has. */
static void cross(genetic *x, const individual *a, const individual *b, individual *child)
{
    child->global = rng_below(&x->r, 2) ? a->global : b->global;
    for (size_t j = 0; j < x->c->gr->count; j++)
        child->open[j] = a->open[j] == b->open[j] ? a->open[j] : rng_below(&x->r, 2) != 0;
}

static void mutate(genetic *x, individual *child)
{
    if (rng_uniform(&x->r) < MUTATED) {
        size_t in = any_server(x), out = any_server(x);
        child->open[out] = false;
        child->open[in] = true;
    }
    if (rng_uniform(&x->r) < MUTATED_GLOBAL)
        child->global = any_global(x);
}

static bool present(const genetic *x, const individual *child)
{
    for (size_t i = 0; i < POPULATION; i++)
        if (x->all[i].global == child->global &&
            memcmp(x->all[i].open, child->open, x->c->gr->count * sizeof *child->open) == 0)
            return true;
    return false;
}

/* The child takes the place of the worst, unless it is worse or there already. */
static void replace_worst(genetic *x)
{
    individual *child = &x->all[POPULATION], *worst = &x->all[0];
    for (size_t i = 1; i < POPULATION; i++)
        if (x->all[i].round_s > worst->round_s)
            worst = &x->all[i];
    if (child->round_s >= worst->round_s || present(x, child))
        return;
    individual other = *worst;
    *worst = *child;
    *child = other;
}

static bool is_idle(const place_choice *c, size_t children)
{
    size_t limit = IDLE * c->gr->count;
    return children * children > limit * limit * c->gr->p->max_locals;
}

static edgeps_err choose(place_choice *c, uint64_t seed)
{
    genetic x;
    size_t idle = 0;
    edgeps_err err = genetic_make(c, seed, &x);
    if (err)
        return err;
    bool any = x.global_count > 0 && c->server_count > 0;
    if (any)
        err = seed_population(&x);
    for (int n = 0; !err && any && n < CHILDREN && !is_idle(c, idle); n++) {
        double before_s = c->best_s;
        if (!place_choice_go_on(c, (double)n / CHILDREN))
            break;
        const individual *a = parent(&x), *b = parent(&x);
        cross(&x, a, b, &x.all[POPULATION]);
        mutate(&x, &x.all[POPULATION]);
        err = judge(&x, &x.all[POPULATION]);
        if (!err)
            replace_worst(&x);
        idle = c->best_s < before_s ? 0 : idle + 1;
    }
    genetic_free(&x);
    return err;
}

edgeps_err place_genetic(const problem *p, const place_options *options, edgeps_diag *diag,
                         place_result *out)
{
    (void)diag;
    return place_choose(p, options, choose, out);
}
