/* The nets, layer by layer, and the names and first values of their parameters. */
#include "nn/nn_int.h"

#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define RESNET_WIDTH 16
#define RESNET_BLOCKS 3

static void place_sides(layer *l)
{
    switch (l->kind) {
    case LAYER_CONV:
        l->out_side = (l->in_side + 2 * l->pad - l->kernel) / l->stride + 1;
        break;
    case LAYER_NORM:
        l->out = l->in;
        l->out_side = l->in_side;
        break;
    case LAYER_POOL:
        l->out = l->in;
        l->out_side = l->in_side / l->kernel;
        break;
    case LAYER_MEAN:
        l->out = l->in;
        l->kernel = l->stride = l->in_side;
        l->out_side = 1;
        break;
    case LAYER_LINEAR:
        l->in *= l->in_side * l->in_side;
        l->in_side = l->out_side = 1;
        break;
    }
}

/* Appends a layer that reads what the last one leaves. */
static void append(net *n, layer l)
{
    assert(n->count < LAYERS_MOST);
    const layer *last = &n->layers[n->count ? n->count - 1 : 0];
    l.in = n->count ? last->out : n->image.channels;
    l.in_side = n->count ? last->out_side : n->image.side;
    place_sides(&l);
    l.weights = n->parameter_count;
    n->parameter_count += layer_weight_count(&l) + (l.bias ? l.out : 0);
    l.statistics = n->statistic_count;
    n->statistic_count += l.kind == LAYER_NORM ? 2 * (int64_t)l.out : 0;
    n->layers[n->count++] = l;
}

static void linear(net *n, const char *name, int out, bool relu_after)
{
    layer l = {.kind = LAYER_LINEAR, .out = out, .bias = true, .relu = relu_after};
    snprintf(l.name, sizeof l.name, "%s", name);
    append(n, l);
}

/* A convolution of 5 x 5 with ReLU, and the largest of each 2 x 2. */
static void conv5_pool(net *n, const char *name, int out, int pad)
{
    layer l = {.kind = LAYER_CONV, .out = out, .kernel = 5, .stride = 1, .pad = pad, .bias = true};
    l.relu = true;
    snprintf(l.name, sizeof l.name, "%s", name);
    append(n, l);
    append(n, (layer){.kind = LAYER_POOL, .kernel = 2, .stride = 2});
}

static void make_lenet5(net *n)
{
    conv5_pool(n, "conv1", 6, 2);
    conv5_pool(n, "conv2", 16, 0);
    linear(n, "fc1", 120, true);
    linear(n, "fc2", 84, true);
    linear(n, "fc3", NN_CLASSES, false);
}

static void make_mlp(net *n)
{
    linear(n, "fc1", 128, true);
    linear(n, "fc2", NN_CLASSES, false);
}

/* A convolution of 3 x 3 and its norm, PREFIXconvK and PREFIXbnK. */
static void conv3_norm(net *n, const char *prefix, int k, layer conv, bool skip)
{
    layer norm = {.kind = LAYER_NORM, .bias = true, .skip = skip, .relu = true};
    snprintf(conv.name, sizeof conv.name, "%sconv%d", prefix, k);
    snprintf(norm.name, sizeof norm.name, "%sbn%d", prefix, k);
    conv.kernel = 3;
    conv.pad = 1;
    append(n, conv);
    append(n, norm);
}

void net_residual(nn_image image, int width, int blocks, net *out)
{
    char prefix[12];
    *out = (net){.image = image};
    conv3_norm(out, "", 1, (layer){.out = width, .stride = 1}, false);
    for (int stage = 0; stage < 3; stage++)
        for (int block = 0; block < blocks; block++) {
            int channels = width << stage, stride = stage > 0 && block == 0 ? 2 : 1;
            snprintf(prefix, sizeof prefix, "layer%d.%d.", (stage + 1) % 10, block % 10);
            conv3_norm(out, prefix, 1, (layer){.out = channels, .stride = stride}, false);
            conv3_norm(out, prefix, 2, (layer){.out = channels, .stride = 1}, true);
        }
    append(out, (layer){.kind = LAYER_MEAN});
    linear(out, "fc", NN_CLASSES, false);
}

void net_make(nn_kind kind, nn_image image, net *out)
{
    *out = (net){.image = image};
    switch (kind) {
    case NN_LENET5:
        make_lenet5(out);
        break;
    case NN_MLP:
        make_mlp(out);
        break;
    case NN_RESNET20:
        net_residual(image, RESNET_WIDTH, RESNET_BLOCKS, out);
        break;
    }
}

size_t net_most_values(const net *n)
{
    size_t most = 0;
    for (size_t k = 0; k < n->count; k++) {
        size_t values = layer_out_values(&n->layers[k]);
        most = values > most ? values : most;
    }
    return most;
}

static void describe(const layer *l, bool bias, nn_tensor *out)
{
    *out = (nn_tensor){.rank = 1,
                       .shape = {l->out},
                       .offset = bias ? layer_bias(l) : l->weights,
                       .count = bias ? l->out : layer_weight_count(l)};
    snprintf(out->name, sizeof out->name, "%s.%s", l->name, bias ? "bias" : "weight");
    if (bias || l->kind == LAYER_NORM)
        return;
    out->rank = l->kind == LAYER_CONV ? 4 : 2;
    out->shape[1] = l->in;
    out->shape[2] = out->shape[3] = l->kernel;
}

bool net_tensor_at(const net *n, size_t k, nn_tensor *out)
{
    for (size_t i = 0, found = 0; i < n->count; i++) {
        const layer *l = &n->layers[i];
        size_t tensors = layer_fan_in(l) ? 1 + (size_t)l->bias : 0;
        if (k < found + tensors) {
            describe(l, k > found, out);
            return true;
        }
        found += tensors;
    }
    return false;
}

static void initialise_norm(const layer *l, float *parameters)
{
    for (int c = 0; c < l->out; c++) {
        parameters[l->weights + c] = 1;
        parameters[layer_bias(l) + c] = 0;
    }
}

void net_initialise(const net *n, uint64_t seed, float *parameters)
{
    rng r = rng_make(seed, 77);
    for (size_t k = 0; k < n->count; k++) {
        const layer *l = &n->layers[k];
        int64_t end = layer_bias(l) + (l->bias ? l->out : 0);
        if (l->kind == LAYER_NORM) {
            initialise_norm(l, parameters);
        } else if (l->kind == LAYER_CONV && !l->bias) {
            double deviation = sqrt(2 / (double)layer_fan_in(l));
            for (int64_t at = l->weights; at < end; at++)
                parameters[at] = (float)(deviation * rng_normal(&r));
        } else if (layer_fan_in(l)) {
            double bound = 1 / sqrt((double)layer_fan_in(l));
            for (int64_t at = l->weights; at < end; at++)
                parameters[at] = (float)(bound * (2 * rng_uniform(&r) - 1));
        }
    }
}
