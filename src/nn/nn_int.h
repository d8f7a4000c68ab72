/* Layers as data, and what a backend does with them. Private to nn. */
#ifndef EDGEPS_NN_INT_H
#define EDGEPS_NN_INT_H

#include "nn/nn.h"

#include <stdbool.h>

typedef enum layer_kind {
    LAYER_CONV,
    LAYER_NORM, /* of a batch (Ioffe and Szegedy 2015) */
    LAYER_POOL, /* the largest of each window */
    LAYER_MEAN, /* of each plane */
    LAYER_LINEAR,
} layer_kind;

/* A layer takes (in, in_side, in_side) to (out, out_side, out_side); linear layers have sides of 1.
 * ReLU is the last that it does where `relu` says so. */
typedef struct layer {
    layer_kind kind;
    char name[20];
    int in;
    int out;
    int in_side;
    int out_side;
    int kernel; /* of convolutions, pooling and means */
    int stride;
    int pad;
    bool bias; /* of convolutions: those before a norm have none */
    bool skip; /* of norms: adds the output of the layer SKIP_LENGTH before */
    bool relu;
    int64_t weights;    /* offset of the weights in the flat vector; the bias follows them */
    int64_t statistics; /* of norms: offset of the means, then variances, of the `out` channels */
} layer;

#define LAYERS_MOST 40
#define SKIP_LENGTH 4 /* convolution, norm, convolution, and the norm that adds */
#define NORM_EPSILON 1e-5F

typedef struct net {
    nn_image image;
    layer layers[LAYERS_MOST];
    size_t count;
    int64_t parameter_count;
    int64_t statistic_count;
} net;

/* The net of a kind for images of this shape. */
void net_make(nn_kind kind, nn_image image, net *out);

/* A residual net with three stages of `blocks` blocks of width, 2 width and 4 width channels. */
void net_residual(nn_image image, int width, int blocks, net *out);

/* The k-th tensor of a net (from 0); false when there is none. */
bool net_tensor_at(const net *n, size_t k, nn_tensor *out);

void net_initialise(const net *n, uint64_t seed, float *parameters);

/* A model of any net. */
edgeps_err net_model(const net *n, nn_backend which, size_t max_batch, edgeps_diag *diag,
                     nn_model **out);

/* Weights of one output value; 0: a layer without parameters. */
static inline int64_t layer_fan_in(const layer *l)
{
    if (l->kind == LAYER_CONV)
        return (int64_t)l->in * l->kernel * l->kernel;
    return l->kind == LAYER_LINEAR ? l->in : l->kind == LAYER_NORM;
}

static inline int64_t layer_weight_count(const layer *l) { return l->out * layer_fan_in(l); }

static inline int64_t layer_bias(const layer *l) { return l->weights + layer_weight_count(l); }

static inline size_t layer_in_values(const layer *l)
{
    return (size_t)l->in * (size_t)(l->in_side * l->in_side);
}

static inline size_t layer_out_values(const layer *l)
{
    return (size_t)l->out * (size_t)(l->out_side * l->out_side);
}

static inline bool net_skip_starts(const net *n, size_t k)
{
    return k + SKIP_LENGTH < n->count && n->layers[k + SKIP_LENGTH].skip;
}

/* Gradients of outputs that live at a time: while that of the layer before is made, the end of a
 * skip still waits for its start. Layer k's is buffer k % GRADIENTS_KEPT. */
#define GRADIENTS_KEPT (SKIP_LENGTH + 1)

/* Values of the largest output. */
size_t net_most_values(const net *n);

/* A batch on its way through a net. */
typedef struct pass {
    const float *parameters;
    const float *images;
    size_t count;
    float *statistics; /* by which norms go: written by the pass, or read where `fixed` says so */
    bool fixed;
} pass;

/* What a backend keeps. `forward` leaves the logits (count, 10) in place and returns them;
 * `backward` takes the gradient of the logits, which the caller has written over them, and adds
 * nothing: it overwrites `gradient`; its pass is the last forward's, not fixed. Both return NULL or
 * an error when the backend fails. */
typedef struct backend {
    edgeps_err (*make)(const net *n, size_t max_batch, edgeps_diag *diag, void **state);
    void (*free)(void *state);
    float *(*forward)(void *state, const pass *p);
    edgeps_err (*backward)(void *state, const pass *p, float *gradient);
} backend;

/* ReLU in place, and the gradient through it: `out` is what relu left. */
void relu(float *values, size_t count);
void relu_back(float *gradient, const float *out, size_t count);

/* A batch through a norm whose statistics are given. */
void norm_fixed(const layer *l, const pass *p, const float *in, float *out);

/* Adds a batch of a skip's start to its end, and the gradient of the end to that of the start.
 * Where the end is smaller, every second row and column is taken, and channels that the start lacks
 * get nothing: option A of He et al. 2016, which has no parameters. */
void skip_add(const layer *start, const layer *end, size_t count, const float *in, float *out);
void skip_back(const layer *start, const layer *end, size_t count, const float *out_grad,
               float *in_grad);

extern const backend backend_ref;
extern const backend backend_dnnl;

#endif
