/* How fast this machine computes gradients. */
#ifndef EDGEPS_CLI_CALIBRATE_H
#define EDGEPS_CLI_CALIBRATE_H

#include "base/err.h"
#include "nn/nn.h"

#include <stddef.h>

/* What one core computes of the model, in samples per second of its own time, with batches of this
 * size: the best of a few turns, as other programs can only take from it. */
edgeps_err calibrate_core(nn_kind kind, nn_backend backend, size_t batch, edgeps_diag *diag,
                          double *samples_per_s);

#endif
