/* A small data set made from a seed: each class is a fixed pattern of blots, each sample that
 * pattern, moved and noisy. For trials and tests where MNIST is not at hand. */
#ifndef EDGEPS_NN_SYNTHETIC_H
#define EDGEPS_NN_SYNTHETIC_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Writes the four IDX files into the folder `dir`, which exists. EDGEPS_IO names folder and set. */
edgeps_err nn_synthetic_write(const char *dir, size_t train_count, size_t test_count, uint64_t seed,
                              edgeps_diag *diag);

#endif
