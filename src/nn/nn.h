/* Neural nets: two models, two backends, flat parameters.
 *
 * Parameters and gradients are one float vector in the order and layout of PyTorch's
 * model.parameters(): convolution weights (out, in, height, width), linear weights (out, in), each
 * followed by its bias. Gradients are those of the SUM of the samples' cross-entropy losses, so
 * that sums over workers need no knowledge of batch sizes.
 *
 * LeNet-5 (LeCun et al. 1998, with ReLU and max pooling): conv 1->6 5x5 pad 2, pool 2, conv 6->16
 * 5x5, pool 2, linear 400-120-84-10. MLP: linear 784-128-10 with ReLU.
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

typedef enum nn_kind { NN_LENET5, NN_MLP } nn_kind;

typedef enum nn_backend {
    NN_REF,  /* plain C, to be read: the oracle */
    NN_DNNL, /* oneDNN, one thread */
} nn_backend;

/* A model with its buffers; belongs to one thread at a time. */
typedef struct nn_model nn_model;

/* "lenet5" or "mlp"; EDGEPS_USAGE otherwise. */
edgeps_err nn_kind_of(const char *name, edgeps_diag *diag, nn_kind *out);

int64_t nn_parameter_count(nn_kind kind);

/* One tensor of the flat vector, as PyTorch names it. */
typedef struct nn_tensor {
    const char *name; /* "conv1.weight", "fc1.bias", ... */
    size_t rank;
    int64_t shape[4];
    int64_t offset; /* in values */
    int64_t count;
} nn_tensor;

/* The k-th tensor (from 0); false when there is none. */
bool nn_tensor_at(nn_kind kind, size_t k, nn_tensor *out);

/* Uniform in +-1/sqrt(fan in), as PyTorch's default for these layers; the same for a seed
 * everywhere. */
void nn_initialise(nn_kind kind, uint64_t seed, float *parameters);

/* Samples that are computed together; lent. */
typedef struct nn_batch {
    const float *images;   /* (count, 784) */
    const uint8_t *labels; /* (count) */
    size_t count;          /* at least 1 */
} nn_batch;

/* A model for batches up to `max_batch`. EDGEPS_UNSUPPORTED when the backend refuses. */
edgeps_err nn_model_make(nn_kind kind, nn_backend backend, size_t max_batch, edgeps_diag *diag,
                         nn_model **out);
void nn_model_free(nn_model *m);

/* The gradient of a batch of at most max_batch samples. Overwrites `gradient`; `loss_sum` is the
 * sum of the losses. The first batch of a size builds what the backend needs for it, which later
 * batches reuse; EDGEPS_INTERNAL when that or the pass fails: `gradient` is then undefined, and the
 * model stays usable. */
edgeps_err nn_gradient(nn_model *m, const float *parameters, const nn_batch *batch, float *gradient,
                       double *loss_sum);

/* How many samples the model gets right, and the sum of their losses. */
edgeps_err nn_score(nn_model *m, const float *parameters, const nn_batch *batch, size_t *correct,
                    double *loss_sum);

#endif
