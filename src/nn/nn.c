#include "nn/nn.h"

#include "base/mem.h"
#include "base/rng.h"
#include "nn/nn_int.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const net nets[] = {
    [NN_LENET5] = {{{LAYER_CONV, "conv1", 1, 6, 28, 28, 5, 2, true, 0},
                    {LAYER_POOL, "pool1", 6, 6, 28, 14, 2, 0, false, 0},
                    {LAYER_CONV, "conv2", 6, 16, 14, 10, 5, 0, true, 156},
                    {LAYER_POOL, "pool2", 16, 16, 10, 5, 2, 0, false, 0},
                    {LAYER_LINEAR, "fc1", 400, 120, 1, 1, 1, 0, true, 2572},
                    {LAYER_LINEAR, "fc2", 120, 84, 1, 1, 1, 0, true, 50692},
                    {LAYER_LINEAR, "fc3", 84, 10, 1, 1, 1, 0, false, 60856}},
                   7,
                   61706},
    [NN_MLP] = {{{LAYER_LINEAR, "fc1", 784, 128, 1, 1, 1, 0, true, 0},
                 {LAYER_LINEAR, "fc2", 128, 10, 1, 1, 1, 0, false, 100480}},
                2,
                101770},
};

struct nn_model {
    const net *net;
    const backend *backend;
    void *state;
    size_t max_batch;
};

const net *net_of(nn_kind kind) { return &nets[kind]; }

edgeps_err nn_kind_of(const char *name, edgeps_diag *diag, nn_kind *out)
{
    if (strcmp(name, "lenet5") != 0 && strcmp(name, "mlp") != 0)
        return diag_fail(diag, EDGEPS_USAGE, "model '%s' is not known; choose lenet5 or mlp", name);
    *out = name[0] == 'l' ? NN_LENET5 : NN_MLP;
    return EDGEPS_OK;
}

int64_t nn_parameter_count(nn_kind kind) { return nets[kind].parameter_count; }

static void describe(const layer *l, bool bias, nn_tensor *out)
{
    static const char *const names[][2] = {
        {"conv1.weight", "conv1.bias"}, {"conv2.weight", "conv2.bias"}, {"fc1.weight", "fc1.bias"},
        {"fc2.weight", "fc2.bias"},     {"fc3.weight", "fc3.bias"},
    };
    size_t row = 0;
    while (strncmp(names[row][0], l->name, strlen(l->name)) != 0)
        row++;
    *out = (nn_tensor){.name = names[row][bias],
                       .rank = 1,
                       .shape = {l->out},
                       .offset = layer_bias(l),
                       .count = l->out};
    if (bias)
        return;
    out->rank = l->kind == LAYER_CONV ? 4 : 2;
    out->shape[1] = l->in;
    out->shape[2] = out->shape[3] = l->kernel;
    out->offset = l->weights;
    out->count = layer_weight_count(l);
}

bool nn_tensor_at(nn_kind kind, size_t k, nn_tensor *out)
{
    const net *n = &nets[kind];
    for (size_t i = 0, found = 0; i < n->count; i++) {
        if (n->layers[i].kind == LAYER_POOL)
            continue;
        if (k < found + 2) {
            describe(&n->layers[i], k == found + 1, out);
            return true;
        }
        found += 2;
    }
    return false;
}

void nn_initialise(nn_kind kind, uint64_t seed, float *parameters)
{
    const net *n = &nets[kind];
    rng r = rng_make(seed, 77);
    for (size_t k = 0; k < n->count; k++) {
        const layer *l = &n->layers[k];
        if (l->kind == LAYER_POOL)
            continue;
        int fan_in = l->in * (l->kind == LAYER_CONV ? l->kernel * l->kernel : 1);
        double bound = 1 / sqrt(fan_in);
        for (int64_t at = l->weights; at < layer_bias(l) + l->out; at++)
            parameters[at] = (float)(bound * (2 * rng_uniform(&r) - 1));
    }
}

edgeps_err nn_model_make(nn_kind kind, nn_backend which, size_t max_batch, edgeps_diag *diag,
                         nn_model **out)
{
    nn_model *m = mem_alloc(1, sizeof *m);
    if (!m)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for a model");
    m->net = &nets[kind];
    m->backend = which == NN_REF ? &backend_ref : &backend_dnnl;
    m->max_batch = max_batch;
    edgeps_err err = m->backend->make(m->net, max_batch, diag, &m->state);
    if (err) {
        mem_free(m);
        return err;
    }
    *out = m;
    return EDGEPS_OK;
}

void nn_model_free(nn_model *m)
{
    if (!m)
        return;
    m->backend->free(m->state);
    mem_free(m);
}

void relu(float *values, size_t count)
{
    for (size_t k = 0; k < count; k++)
        values[k] = values[k] > 0 ? values[k] : 0;
}

void relu_back(float *gradient, const float *out, size_t count)
{
    for (size_t k = 0; k < count; k++)
        gradient[k] = out[k] > 0 ? gradient[k] : 0;
}

/* Softmax of one row of logits in place; the loss of its label. */
static double softmax(float *row, uint8_t label)
{
    float top = row[0];
    double sum = 0;
    for (int c = 1; c < NN_CLASSES; c++)
        top = fmaxf(top, row[c]);
    double at_label = (double)row[label] - top;
    for (int c = 0; c < NN_CLASSES; c++)
        sum += row[c] = expf(row[c] - top);
    for (int c = 0; c < NN_CLASSES; c++)
        row[c] /= (float)sum;
    return log(sum) - at_label;
}

edgeps_err nn_gradient(nn_model *m, const float *parameters, const nn_batch *batch, float *gradient,
                       double *loss_sum)
{
    assert(batch->count >= 1 && batch->count <= m->max_batch);
    float *logits = m->backend->forward(m->state, parameters, batch->images, batch->count);
    if (!logits)
        return EDGEPS_INTERNAL;
    double loss = 0;
    for (size_t i = 0; i < batch->count; i++) {
        float *row = logits + i * NN_CLASSES;
        loss += softmax(row, batch->labels[i]);
        row[batch->labels[i]] -= 1; /* d loss / d logits = softmax - one hot */
    }
    edgeps_err err =
        m->backend->backward(m->state, parameters, batch->images, batch->count, gradient);
    if (!err)
        *loss_sum = loss;
    return err;
}

edgeps_err nn_score(nn_model *m, const float *parameters, const nn_batch *batch, size_t *correct,
                    double *loss_sum)
{
    assert(batch->count >= 1 && batch->count <= m->max_batch);
    float *logits = m->backend->forward(m->state, parameters, batch->images, batch->count);
    if (!logits)
        return EDGEPS_INTERNAL;
    double loss = 0;
    size_t right = 0;
    for (size_t i = 0; i < batch->count; i++) {
        float *row = logits + i * NN_CLASSES;
        int best = 0;
        for (int c = 1; c < NN_CLASSES; c++)
            if (row[c] > row[best])
                best = c;
        right += best == batch->labels[i];
        loss += softmax(row, batch->labels[i]);
    }
    *correct = right;
    *loss_sum = loss;
    return EDGEPS_OK;
}
