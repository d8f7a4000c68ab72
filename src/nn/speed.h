/* How fast this machine computes gradients. */
#ifndef EDGEPS_NN_SPEED_H
#define EDGEPS_NN_SPEED_H

#include "base/err.h"
#include "nn/nn.h"

#include <stddef.h>

/* What is timed. */
typedef struct nn_speed_of {
    nn_kind kind;
    nn_image image; /* what it reads */
    nn_backend backend;
    size_t batch;
} nn_speed_of;

/* What one core computes of the model, in samples per second of its own time, with batches of this
 * size: the best of a few turns, as other programs can only take from it. */
edgeps_err nn_core_speed(const nn_speed_of *of, edgeps_diag *diag, double *samples_per_s);

/* What this process computes, in samples per second, whatever keeps it from more: over a second. */
edgeps_err nn_speed(const nn_speed_of *of, edgeps_diag *diag, double *samples_per_s);

#endif
