/* Little-endian loads and stores, the same on every machine. Private to wire. */
#ifndef EDGEPS_WIRE_BYTES_INT_H
#define EDGEPS_WIRE_BYTES_INT_H

#include <stdint.h>
#include <string.h>

static inline void bytes_put(uint8_t *at, uint64_t value, int width)
{
    for (int i = 0; i < width; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t bytes_get(const uint8_t *at, int width)
{
    uint64_t value = 0;
    for (int i = 0; i < width; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static inline uint64_t bytes_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double bytes_to_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
