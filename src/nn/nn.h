/* Neural nets: three models, two backends, flat parameters.
 *
 * Parameters and gradients are one float vector in the order and layout of PyTorch's
 * model.parameters(): convolution weights (out, in, height, width), linear weights (out, in), each
 * followed by its bias. Gradients are those of the SUM of the samples' cross-entropy losses, so
 * that sums over workers need no knowledge of batch sizes.
 *
 * LeNet-5 (LeCun et al. 1998, with ReLU and max pooling): conv 1->6 5x5 pad 2, pool 2, conv 6->16
 * 5x5, pool 2, linear 400-120-84-10. MLP: linear 784-128-10 with ReLU. ResNet-20 (He et al. 2016,
 * section 4.2): conv 3x3 of 16 channels, three stages of three blocks with 16, 32 and 64, batch
 * norm, skips without parameters (option A), the mean of each plane, linear 64-10.
 *
 * Batch norm takes mean and variance from the batch at hand in nn_gradient, so that the samples of
 * a batch act on each other. Statistics to score by are no part of the state: nn_observe takes them
 * from training samples when they are wanted.
 */
#ifndef EDGEPS_NN_NN_H
#define EDGEPS_NN_NN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NN_IMAGE_SIDE 28
#define NN_IMAGE_VALUES (NN_IMAGE_SIDE * NN_IMAGE_SIDE)
#define NN_CLASSES 10

typedef enum nn_kind { NN_LENET5, NN_MLP, NN_RESNET20 } nn_kind;

/* Values of a sample: (channels, side, side). */
typedef struct nn_image {
    int channels;
    int side;
} nn_image;

static inline size_t nn_image_values(nn_image i)
{
    return (size_t)i.channels * (size_t)(i.side * i.side);
}

typedef enum nn_backend {
    NN_REF,  /* plain C, to be read: the oracle */
    NN_DNNL, /* oneDNN, one thread */
} nn_backend;

/* A model with its buffers; belongs to one thread at a time. */
typedef struct nn_model nn_model;

/* "lenet5", "mlp" or "resnet20"; EDGEPS_USAGE otherwise. */
edgeps_err nn_kind_of(const char *name, edgeps_diag *diag, nn_kind *out);

/* What a model reads: LeNet-5 and the MLP 1 x 28 x 28, ResNet-20 3 x 32 x 32. */
nn_image nn_input(nn_kind kind);

/* What a model reads of samples of the shape `of`: ResNet-20 takes any side, and of a grey image
 * three copies, so that its parameters are the same for all data. EDGEPS_USAGE when the others
 * would have to read what is not theirs. */
edgeps_err nn_input_of(nn_kind kind, nn_image of, edgeps_diag *diag, nn_image *out);

int64_t nn_parameter_count(nn_kind kind);

/* One tensor of the flat vector, as PyTorch names it. */
typedef struct nn_tensor {
    char name[32]; /* "conv1.weight", "layer1.0.bn2.bias", ... */
    size_t rank;
    int64_t shape[4];
    int64_t offset; /* in values */
    int64_t count;
} nn_tensor;

#define NN_TENSORS_MOST 64

/* The k-th tensor (from 0); false when there is none. */
bool nn_tensor_at(nn_kind kind, size_t k, nn_tensor *out);

/* Uniform in +-1/sqrt(fan in), as PyTorch's default for these layers; convolutions before a norm
 * normal with variance 2/fan in (He et al. 2015), norms 1 and 0. The same for a seed everywhere. */
void nn_initialise(nn_kind kind, uint64_t seed, float *parameters);

/* Samples that are computed together; lent. */
typedef struct nn_batch {
    const float *images;   /* (count, channels, side, side) */
    const uint8_t *labels; /* (count) */
    size_t count;          /* at least 1 */
} nn_batch;

/* A model for batches up to `max_batch` of images that nn_input or nn_input_of gave.
 * EDGEPS_UNSUPPORTED when the backend refuses. */
edgeps_err nn_model_make(nn_kind kind, nn_image image, nn_backend which, size_t max_batch,
                         edgeps_diag *diag, nn_model **out);
void nn_model_free(nn_model *m);

/* The gradient of a batch of at most max_batch samples. Overwrites `gradient`; `loss_sum` is the
 * sum of the losses. The first batch of a size builds what the backend needs for it, which later
 * batches reuse; EDGEPS_INTERNAL when that or the pass fails: `gradient` is then undefined, and the
 * model stays usable. */
edgeps_err nn_gradient(nn_model *m, const float *parameters, const nn_batch *batch, float *gradient,
                       double *loss_sum);

/* Means and variances for nn_score: those of the samples of all nn_observe since nn_forget, batch
 * by batch as in training (Wu and Johnson 2021). Nothing to do for models without batch norm. */
void nn_forget(nn_model *m);
edgeps_err nn_observe(nn_model *m, const float *parameters, const nn_batch *batch);

/* How many samples the model gets right, and the sum of their losses. Batch norm goes by
 * what was observed; when nothing was, by the batch. */
edgeps_err nn_score(nn_model *m, const float *parameters, const nn_batch *batch, size_t *correct,
                    double *loss_sum);

#endif
