/* Seeded random numbers: xoshiro256** (Blackman and Vigna, 2018), seeded through splitmix64.
 *
 * The same seed and stream give the same numbers with every compiler. One generator belongs to one
 * thread; independent streams of one seed serve independent uses.
 */
#ifndef EDGEPS_BASE_RNG_H
#define EDGEPS_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct rng {
    uint64_t state[4];
} rng;

rng rng_make(uint64_t seed, uint64_t stream);

uint64_t rng_next(rng *r);

/* Uniform in [0, bound), without modulo bias; bound >= 1. */
uint64_t rng_below(rng *r, uint64_t bound);

/* Uniform in [0, 1), 53 bits. */
double rng_uniform(rng *r);

/* Standard normal (polar method of Marsaglia, 1964). */
double rng_normal(rng *r);

/* Gamma(shape, 1), shape > 0 (Marsaglia and Tsang, 2000). */
double rng_gamma(rng *r, double shape);

/* A uniform permutation of 0..count-1 into `order` (Fisher-Yates). */
void rng_permutation(rng *r, size_t count, uint32_t *order);

#endif
