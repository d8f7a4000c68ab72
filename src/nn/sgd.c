#include "nn/sgd.h"

void nn_add(float *restrict sum, const float *restrict x, size_t n)
{
    for (size_t k = 0; k < n; k++)
        sum[k] += x[k];
}

void nn_sgd_velocity(const float *restrict before, const float *restrict after, size_t count,
                     float rate, float *restrict velocity)
{
    for (size_t k = 0; k < count; k++)
        velocity[k] = (before[k] - after[k]) / rate;
}

void nn_sgd_step(float *restrict parameters, float *restrict velocity,
                 const float *restrict gradient_sum, size_t count, const nn_sgd *how)
{
    const float scale = how->scale, rate = how->rate, momentum = how->momentum;
    for (size_t k = 0; k < count; k++) {
        float v = momentum * velocity[k] + scale * gradient_sum[k];
        velocity[k] = v;
        parameters[k] -= rate * v;
    }
}
