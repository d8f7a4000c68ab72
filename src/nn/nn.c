#include "nn/nn.h"

#include "base/mem.h"
#include "nn/nn_int.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct nn_model {
    net net;
    const backend *backend;
    void *state;
    size_t max_batch;
    float *statistics; /* of the last batch's norms */
    float *observed;   /* those of all batches since nn_forget */
    size_t observed_count;
};

static const char *const names[] = {
    [NN_LENET5] = "lenet5", [NN_MLP] = "mlp", [NN_RESNET20] = "resnet20"};

edgeps_err nn_kind_of(const char *name, edgeps_diag *diag, nn_kind *out)
{
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(names[k], name) == 0) {
            *out = (nn_kind)k;
            return EDGEPS_OK;
        }
    return diag_fail(diag, EDGEPS_USAGE, "model '%s' is not known; choose lenet5, mlp or resnet20",
                     name);
}

nn_image nn_input(nn_kind kind)
{
    return kind == NN_RESNET20 ? (nn_image){3, 32} : (nn_image){1, NN_IMAGE_SIDE};
}

edgeps_err nn_input_of(nn_kind kind, nn_image of, edgeps_diag *diag, nn_image *out)
{
    nn_image usual = nn_input(kind);
    if (kind != NN_RESNET20 && (of.channels != usual.channels || of.side != usual.side))
        return diag_fail(diag, EDGEPS_USAGE,
                         "%s reads images of %d x %d x %d, not of %d x %d x %d; choose resnet20",
                         names[kind], usual.channels, usual.side, usual.side, of.channels, of.side,
                         of.side);
    *out = (nn_image){usual.channels, of.side};
    return EDGEPS_OK;
}

int64_t nn_parameter_count(nn_kind kind)
{
    net n;
    net_make(kind, nn_input(kind), &n);
    return n.parameter_count;
}

bool nn_tensor_at(nn_kind kind, size_t k, nn_tensor *out)
{
    net n;
    net_make(kind, nn_input(kind), &n);
    return net_tensor_at(&n, k, out);
}

void nn_initialise(nn_kind kind, uint64_t seed, float *parameters)
{
    net n;
    net_make(kind, nn_input(kind), &n);
    net_initialise(&n, seed, parameters);
}

edgeps_err net_model(const net *n, nn_backend which, size_t max_batch, edgeps_diag *diag,
                     nn_model **out)
{
    nn_model *m = mem_alloc(1, sizeof *m);
    if (!m)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for a model");
    m->net = *n;
    m->backend = which == NN_REF ? &backend_ref : &backend_dnnl;
    m->max_batch = max_batch;
    m->statistics = mem_alloc((size_t)n->statistic_count + 1, sizeof *m->statistics);
    m->observed = mem_alloc((size_t)n->statistic_count + 1, sizeof *m->observed);
    edgeps_err err = m->statistics && m->observed
                         ? m->backend->make(&m->net, max_batch, diag, &m->state)
                         : diag_fail(diag, EDGEPS_NOMEM, "no memory for a model");
    if (err)
        nn_model_free(m);
    else
        *out = m;
    return err;
}

edgeps_err nn_model_make(nn_kind kind, nn_image image, nn_backend which, size_t max_batch,
                         edgeps_diag *diag, nn_model **out)
{
    net n;
    net_make(kind, image, &n);
    return net_model(&n, which, max_batch, diag, out);
}

void nn_model_free(nn_model *m)
{
    if (!m)
        return;
    m->backend->free(m->state);
    mem_free(m->statistics);
    mem_free(m->observed);
    mem_free(m);
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

static pass pass_of(nn_model *m, const float *parameters, const nn_batch *batch)
{
    assert(batch->count >= 1 && batch->count <= m->max_batch);
    return (pass){.parameters = parameters,
                  .images = batch->images,
                  .count = batch->count,
                  .statistics = m->statistics};
}

edgeps_err nn_gradient(nn_model *m, const float *parameters, const nn_batch *batch, float *gradient,
                       double *loss_sum)
{
    pass p = pass_of(m, parameters, batch);
    float *logits = m->backend->forward(m->state, &p);
    if (!logits)
        return EDGEPS_INTERNAL;
    double loss = 0;
    for (size_t i = 0; i < batch->count; i++) {
        float *row = logits + i * NN_CLASSES;
        loss += softmax(row, batch->labels[i]);
        row[batch->labels[i]] -= 1; /* d loss / d logits = softmax - one hot */
    }
    edgeps_err err = m->backend->backward(m->state, &p, gradient);
    if (!err)
        *loss_sum = loss;
    return err;
}

void nn_forget(nn_model *m)
{
    m->observed_count = 0;
    memset(m->observed, 0, (size_t)m->net.statistic_count * sizeof *m->observed);
}

/* Mean and variance of two sets together (Chan, Golub and LeVeque 1983); `share` is the second's.
 */
static void pool_statistics(const layer *l, const float *batch, float share, float *all)
{
    float *mean = all + l->statistics, *variance = mean + l->out;
    const float *new_mean = batch + l->statistics, *new_variance = new_mean + l->out;
    for (int c = 0; c < l->out; c++) {
        float apart = new_mean[c] - mean[c];
        mean[c] += share * apart;
        variance[c] +=
            share * (new_variance[c] - variance[c]) + share * (1 - share) * apart * apart;
    }
}

edgeps_err nn_observe(nn_model *m, const float *parameters, const nn_batch *batch)
{
    if (m->net.statistic_count == 0)
        return EDGEPS_OK;
    pass p = pass_of(m, parameters, batch);
    if (!m->backend->forward(m->state, &p))
        return EDGEPS_INTERNAL;
    m->observed_count += batch->count;
    for (size_t k = 0; k < m->net.count; k++)
        if (m->net.layers[k].kind == LAYER_NORM)
            pool_statistics(&m->net.layers[k], m->statistics,
                            (float)batch->count / (float)m->observed_count, m->observed);
    return EDGEPS_OK;
}

edgeps_err nn_score(nn_model *m, const float *parameters, const nn_batch *batch, size_t *correct,
                    double *loss_sum)
{
    pass p = pass_of(m, parameters, batch);
    if (m->observed_count) {
        p.statistics = m->observed;
        p.fixed = true;
    }
    float *logits = m->backend->forward(m->state, &p);
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
