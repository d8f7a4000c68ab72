#include "base/rng.h"

#include <math.h>

static uint64_t splitmix(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

rng rng_make(uint64_t seed, uint64_t stream)
{
    rng r;
    uint64_t x = seed;
    uint64_t mixed = splitmix(&x) ^ (stream * 0xd1342543de82ef95u);
    for (int i = 0; i < 4; i++)
        r.state[i] = splitmix(&mixed);
    return r;
}

static uint64_t rotate(uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }

uint64_t rng_next(rng *r)
{
    uint64_t *s = r->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t rng_below(rng *r, uint64_t bound)
{
    uint64_t reject = (0 - bound) % bound;
    uint64_t x;
    do
        x = rng_next(r);
    while (x < reject);
    return x % bound;
}

double rng_uniform(rng *r) { return (double)(rng_next(r) >> 11) * 0x1p-53; }

double rng_normal(rng *r)
{
    double u, v, s;
    do {
        u = 2 * rng_uniform(r) - 1;
        v = 2 * rng_uniform(r) - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    return u * sqrt(-2 * log(s) / s);
}

double rng_gamma(rng *r, double shape)
{
    double boost = 1;
    if (shape < 1) { /* Gamma(a) = Gamma(a + 1) U^(1/a) */
        boost = pow(1 - rng_uniform(r), 1 / shape);
        shape++;
    }
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = rng_normal(r), v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        if (log(1 - rng_uniform(r)) < 0.5 * x * x + d - d * v + d * log(v))
            return boost * d * v;
    }
}

void rng_permutation(rng *r, size_t count, uint32_t *order)
{
    for (size_t i = 0; i < count; i++) {
        size_t j = (size_t)rng_below(r, i + 1);
        order[i] = order[j];
        order[j] = (uint32_t)i;
    }
}
