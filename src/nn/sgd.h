/* The two inner loops of a parameter server: adding a gradient, and SGD with momentum (Polyak 1964,
 * in PyTorch's form). Memory bound; written so that the compiler vectorises them. */
#ifndef EDGEPS_NN_SGD_H
#define EDGEPS_NN_SGD_H

#include <stddef.h>

/* sum += x, n values. */
void nn_add(float *restrict sum, const float *restrict x, size_t n);

typedef struct nn_sgd {
    float scale; /* of the gradient: 1 / samples in its sum */
    float rate;
    float momentum;
} nn_sgd;

/* g = scale * gradient_sum; velocity = momentum * velocity + g; parameters -= rate * velocity. */
void nn_sgd_step(float *restrict parameters, float *restrict velocity,
                 const float *restrict gradient_sum, size_t count, const nn_sgd *how);

/* The velocity of a step from the parameters before and after it, whatever the velocity before:
 * (before - after) / rate. Exact up to the rounding of the parameters divided by the rate. */
void nn_sgd_velocity(const float *restrict before, const float *restrict after, size_t count,
                     float rate, float *restrict velocity);

#endif
