/* Labelled images in the IDX format of MNIST (LeCun, Cortes and Burges): four files in a folder,
 * mapped read-only, so that all processes of a machine share them. */
#ifndef EDGEPS_NN_DATASET_H
#define EDGEPS_NN_DATASET_H

#include "base/err.h"
#include "nn/nn.h"

#include <stddef.h>
#include <stdint.h>

typedef enum nn_set { NN_TRAIN, NN_TEST } nn_set;

typedef struct nn_dataset nn_dataset;

/* Opens train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
 * t10k-labels-idx1-ubyte in `dir`, for a model to read. A missing file is EDGEPS_USAGE, a damaged
 * one (magic, sizes, a label above 9, images that are not 28 x 28) EDGEPS_FORMAT; both name file,
 * place and remedy. */
edgeps_err nn_dataset_open(const char *dir, nn_kind reader, edgeps_diag *diag, nn_dataset **out);
void nn_dataset_close(nn_dataset *d);

/* Of what nn_dataset_batch copies. */
nn_image nn_dataset_image(const nn_dataset *d);

size_t nn_dataset_count(const nn_dataset *d, nn_set set);
const uint8_t *nn_dataset_labels(const nn_dataset *d, nn_set set);

/* Copies samples: images (count, channels, side, side) and labels (count). Values are scaled to
 * mean 0 and deviation 1 of MNIST's training set, (x / 255 - 0.1307) / 0.3081; a model of three
 * channels gets a grey image in each. */
void nn_dataset_batch(const nn_dataset *d, nn_set set, const uint32_t *indices, size_t count,
                      float *images, uint8_t *labels);

/* Checks one IDX file in memory: `rank` 3 for images, 1 for labels. `items` is how many there are,
 * `first` where they begin. */
edgeps_err nn_idx_check(const uint8_t *bytes, size_t size, int rank, edgeps_diag *diag,
                        size_t *items, const uint8_t **first);

#endif
