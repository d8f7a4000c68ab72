/* Layers as data, and what a backend does with them. Private to nn. */
#ifndef EDGEPS_NN_INT_H
#define EDGEPS_NN_INT_H

#include "nn/nn.h"

#include <stdbool.h>

typedef enum layer_kind { LAYER_CONV, LAYER_POOL, LAYER_LINEAR } layer_kind;

/* A layer takes (in, in_side, in_side) to (out, out_side, out_side); linear layers have sides of 1.
 * ReLU follows where `relu` says so (before the pooling that comes next). */
typedef struct layer {
    layer_kind kind;
    const char *name;
    int in;
    int out;
    int in_side;
    int out_side;
    int kernel; /* of convolutions and pooling */
    int pad;
    bool relu;
    int64_t weights; /* offset of the weights in the flat vector; the bias follows them */
} layer;

#define LAYERS_MOST 8

typedef struct net {
    layer layers[LAYERS_MOST];
    size_t count;
    int64_t parameter_count;
} net;

const net *net_of(nn_kind kind);

static inline int64_t layer_weight_count(const layer *l)
{
    if (l->kind == LAYER_POOL)
        return 0;
    return (int64_t)l->out * l->in * (l->kind == LAYER_CONV ? l->kernel * l->kernel : 1);
}

static inline int64_t layer_bias(const layer *l) { return l->weights + layer_weight_count(l); }

static inline size_t layer_in_values(const layer *l)
{
    return (size_t)l->in * (size_t)(l->in_side * l->in_side);
}

static inline size_t layer_out_values(const layer *l)
{
    return (size_t)l->out * (size_t)(l->out_side * l->out_side);
}

/* What a backend keeps. `forward` leaves the logits (count, 10) in place and returns them;
 * `backward` takes the gradient of the logits, which the caller has written over them, and adds
 * nothing: it overwrites `gradient`. Both return NULL or an error when the backend fails. */
typedef struct backend {
    edgeps_err (*make)(const net *n, size_t max_batch, edgeps_diag *diag, void **state);
    void (*free)(void *state);
    float *(*forward)(void *state, const float *parameters, const float *images, size_t count);
    edgeps_err (*backward)(void *state, const float *parameters, const float *images, size_t count,
                           float *gradient);
} backend;

/* ReLU in place, and the gradient through it: `out` is what relu left. */
void relu(float *values, size_t count);
void relu_back(float *gradient, const float *out, size_t count);

extern const backend backend_ref;
extern const backend backend_dnnl;

#endif
