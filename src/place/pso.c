/* Particle swarm (Kennedy and Eberhart 1995) as in Flag-Swap, which places the aggregators of
 * hierarchical federated learning (Ali-Pour, Bekrani, Samizadeh, Gascon-Samson 2025): a particle
 * names a node for every role, by whole numbers that its velocity shifts. */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define PSO_STREAM 8
#define PARTICLES 10
#define ITERATIONS 60
#define IDLE 10 /* ends after so many iterations without success */
#define INERTIA 0.1
#define OWN_PULL 0.1   /* to the best that the particle has found */
#define SWARM_PULL 1.0 /* to the best that the swarm has found */
#define FASTEST 0.1    /* of the nodes to choose from, in one step */

/* Coordinates: the global server, the number of local servers in use, the local servers, as places
 * in the list of servers. */
enum { GLOBAL, IN_USE, FIRST_LOCAL };

typedef struct particle {
    int32_t *at;
    int32_t *best_at;
    double *speed;
    double best_s;
} particle;

typedef struct swarm {
    place_choice *c;
    rng r;
    size_t slots; /* for local servers */
    size_t dimensions;
    particle all[PARTICLES];
    int32_t *best_at;
    double best_s;
    int32_t *places; /* of all particles */
    double *speeds;
    bool *open;
} swarm;

static void swarm_free(swarm *s)
{
    mem_free(s->places);
    mem_free(s->speeds);
    mem_free(s->open);
}

static edgeps_err swarm_make(place_choice *c, uint64_t seed, swarm *out)
{
    size_t most = c->gr->p->max_locals, m = c->server_count;
    swarm s = {.c = c, .r = rng_make(seed, PSO_STREAM), .best_s = INFINITY};
    s.slots = most < m ? most : m;
    s.dimensions = FIRST_LOCAL + s.slots;
    s.places = mem_alloc((2 * PARTICLES + 1) * s.dimensions, sizeof *s.places);
    s.speeds = mem_alloc(PARTICLES * s.dimensions, sizeof *s.speeds);
    s.open = mem_alloc(c->gr->count, sizeof *s.open);
    if (!s.places || !s.speeds || !s.open) {
        swarm_free(&s);
        return EDGEPS_NOMEM;
    }
    for (size_t i = 0; i < PARTICLES; i++)
        s.all[i] =
            (particle){s.places + 2 * i * s.dimensions, s.places + (2 * i + 1) * s.dimensions,
                       s.speeds + i * s.dimensions, INFINITY};
    s.best_at = s.places + (size_t)(2 * PARTICLES) * s.dimensions;
    *out = s;
    return EDGEPS_OK;
}

/* Where the coordinate ends, exclusive: it goes on at 0. */
static int32_t range(const swarm *s, size_t dimension)
{
    return (int32_t)(dimension == IN_USE ? s->slots : s->c->server_count);
}

/* A local server that is named twice is the next one in the list. */
static void place_locals(swarm *s, const particle *one)
{
    memset(s->open, 0, s->c->gr->count * sizeof *s->open);
    for (int32_t l = 0; l <= one->at[IN_USE]; l++) {
        int32_t *at = &one->at[FIRST_LOCAL + l];
        while (s->open[s->c->servers[*at]])
            *at = (*at + 1) % range(s, FIRST_LOCAL);
        s->open[s->c->servers[*at]] = true;
    }
}

static edgeps_err judge(swarm *s, particle *one)
{
    double round_s;
    size_t bytes = s->dimensions * sizeof *one->at;
    place_locals(s, one);
    edgeps_err err = place_choice_try(s->c, s->c->servers[one->at[GLOBAL]], s->open, &round_s);
    if (!err && round_s < one->best_s) {
        one->best_s = round_s;
        memcpy(one->best_at, one->at, bytes);
    }
    if (!err && round_s < s->best_s) {
        s->best_s = round_s;
        memcpy(s->best_at, one->at, bytes);
    }
    return err;
}

static void scatter(swarm *s, particle *one)
{
    for (size_t d = 0; d < s->dimensions; d++)
        one->best_at[d] = one->at[d] = (int32_t)rng_below(&s->r, (uint64_t)range(s, d));
}

static void fly(swarm *s, particle *one)
{
    for (size_t d = 0; d < s->dimensions; d++) {
        int32_t end = range(s, d);
        double most = fmax(1, floor(FASTEST * end));
        double own = OWN_PULL * rng_uniform(&s->r) * (one->best_at[d] - one->at[d]);
        double all = SWARM_PULL * rng_uniform(&s->r) * (s->best_at[d] - one->at[d]);
        double speed = round(INERTIA * one->speed[d] + own + all);
        one->speed[d] = fmax(-most, fmin(speed, most));
        one->at[d] = (one->at[d] + (int32_t)one->speed[d] + end) % end;
    }
}

static edgeps_err choose(place_choice *c, uint64_t seed)
{
    swarm s;
    int idle = 0;
    if (c->server_count == 0)
        return EDGEPS_OK;
    edgeps_err err = swarm_make(c, seed, &s);
    if (err)
        return err;
    for (int n = 0; !err && n < ITERATIONS * PARTICLES && idle < IDLE * PARTICLES; n++) {
        double before_s = s.best_s;
        particle *one = &s.all[n % PARTICLES];
        if (n > 0 && !place_choice_go_on(c, (double)n / (ITERATIONS * PARTICLES)))
            break;
        /* A swarm without any plan has nowhere to fly to. */
        if (n < PARTICLES || s.best_s == INFINITY)
            scatter(&s, one);
        else
            fly(&s, one);
        err = judge(&s, one);
        idle = s.best_s < before_s ? 0 : idle + 1;
    }
    swarm_free(&s);
    return err;
}

edgeps_err place_pso(const problem *p, const place_options *options, edgeps_diag *diag,
                     place_result *out)
{
    (void)diag;
    return place_choose(p, options, choose, out);
}
