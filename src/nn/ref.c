/* The reference backend: every layer as its formula says, one after another. */
#include "nn/nn_int.h"

#include "base/mem.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct ref {
    const net *net;
    float *outputs[LAYERS_MOST]; /* (max_batch, layer_out_values) */
    float *gradients[GRADIENTS_KEPT];
    uint32_t *winners[LAYERS_MOST]; /* of pooling: where in its input each output came from */
} ref;

static void ref_free(void *state)
{
    ref *r = state;
    if (!r)
        return;
    for (size_t k = 0; k < LAYERS_MOST; k++) {
        mem_free(r->outputs[k]);
        mem_free(r->winners[k]);
    }
    for (size_t k = 0; k < GRADIENTS_KEPT; k++)
        mem_free(r->gradients[k]);
    mem_free(r);
}

static edgeps_err ref_make(const net *n, size_t max_batch, edgeps_diag *diag, void **state)
{
    ref *r = mem_alloc(1, sizeof *r);
    bool good = r != NULL;
    for (size_t k = 0; good && k < n->count; k++) {
        size_t values = max_batch * layer_out_values(&n->layers[k]);
        bool pool = n->layers[k].kind == LAYER_POOL;
        r->outputs[k] = mem_alloc(values, sizeof(float));
        r->winners[k] = pool ? mem_alloc(values, sizeof(uint32_t)) : NULL;
        good = r->outputs[k] && (r->winners[k] || !pool);
    }
    for (size_t k = 0; good && k < GRADIENTS_KEPT; k++) {
        r->gradients[k] = mem_alloc(max_batch * net_most_values(n), sizeof(float));
        good = r->gradients[k] != NULL;
    }
    if (!good) {
        ref_free(r);
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for a batch of %zu samples", max_batch);
    }
    r->net = n;
    *state = r;
    return EDGEPS_OK;
}

/* Where the window's `offset` falls for output position `out_at`; false: on the padding. */
static bool inside(const layer *l, int out_at, int offset, int *in_at)
{
    *in_at = out_at * l->stride + offset - l->pad;
    return *in_at >= 0 && *in_at < l->in_side;
}

/* One plane of a convolution: out[y][x] += w[dy][dx] in[y stride + dy - pad][x stride + dx - pad].
 */
static void conv_plane(const layer *l, const float *w, const float *in, float *out)
{
    for (int y = 0; y < l->out_side; y++)
        for (int dy = 0; dy < l->kernel; dy++) {
            int in_y, in_x;
            if (!inside(l, y, dy, &in_y))
                continue;
            for (int dx = 0; dx < l->kernel; dx++)
                for (int x = 0; x < l->out_side; x++)
                    if (inside(l, x, dx, &in_x))
                        out[y * l->out_side + x] +=
                            w[dy * l->kernel + dx] * in[in_y * l->in_side + in_x];
        }
}

static void conv_forward(const layer *l, const float *w, const float *bias, const float *in,
                         float *out)
{
    int in_plane = l->in_side * l->in_side, out_plane = l->out_side * l->out_side;
    for (int o = 0; o < l->out; o++) {
        for (int p = 0; p < out_plane; p++)
            out[o * out_plane + p] = l->bias ? bias[o] : 0;
        for (int i = 0; i < l->in; i++)
            conv_plane(l, w + (o * l->in + i) * l->kernel * l->kernel, in + i * in_plane,
                       out + o * out_plane);
    }
}

/* Adds the plane's part of the weights' and (unless NULL) the input's gradient. */
static void conv_plane_back(const layer *l, const float *w, const float *in, const float *out_grad,
                            float *w_grad, float *in_grad)
{
    for (int y = 0; y < l->out_side; y++)
        for (int dy = 0; dy < l->kernel; dy++) {
            int in_y, in_x;
            if (!inside(l, y, dy, &in_y))
                continue;
            for (int dx = 0; dx < l->kernel; dx++)
                for (int x = 0; x < l->out_side; x++) {
                    if (!inside(l, x, dx, &in_x))
                        continue;
                    float g = out_grad[y * l->out_side + x];
                    w_grad[dy * l->kernel + dx] += g * in[in_y * l->in_side + in_x];
                    if (in_grad)
                        in_grad[in_y * l->in_side + in_x] += g * w[dy * l->kernel + dx];
                }
        }
}

static void conv_backward(const layer *l, const float *parameters, const float *in,
                          const float *out_grad, float *gradient, float *in_grad)
{
    int in_plane = l->in_side * l->in_side, out_plane = l->out_side * l->out_side;
    for (int o = 0; o < l->out; o++) {
        for (int p = 0; l->bias && p < out_plane; p++)
            gradient[layer_bias(l) + o] += out_grad[o * out_plane + p];
        for (int i = 0; i < l->in; i++) {
            int64_t at = l->weights + (int64_t)(o * l->in + i) * l->kernel * l->kernel;
            conv_plane_back(l, parameters + at, in + i * in_plane, out_grad + o * out_plane,
                            gradient + at, in_grad ? in_grad + i * in_plane : NULL);
        }
    }
}

static void pool_forward(const layer *l, const float *in, float *out, uint32_t *winner)
{
    for (int c = 0; c < l->in; c++)
        for (int y = 0; y < l->out_side; y++)
            for (int x = 0; x < l->out_side; x++, out++, winner++) {
                uint32_t first =
                    (uint32_t)((c * l->in_side + y * l->kernel) * l->in_side + x * l->kernel);
                *winner = first;
                for (int k = 1; k < l->kernel * l->kernel; k++) {
                    uint32_t at = first + (uint32_t)(k / l->kernel * l->in_side + k % l->kernel);
                    if (in[at] > in[*winner])
                        *winner = at;
                }
                *out = in[*winner];
            }
}

static void linear_forward(const layer *l, const float *w, const float *bias, const float *in,
                           float *out)
{
    for (int o = 0; o < l->out; o++) {
        float sum = bias[o];
        for (int i = 0; i < l->in; i++)
            sum += w[o * l->in + i] * in[i];
        out[o] = sum;
    }
}

static void linear_backward(const layer *l, const float *parameters, const float *in,
                            const float *out_grad, float *gradient, float *in_grad)
{
    for (int o = 0; o < l->out; o++) {
        const float *w = parameters + l->weights + (int64_t)o * l->in;
        float *w_grad = gradient + l->weights + (int64_t)o * l->in;
        gradient[layer_bias(l) + o] += out_grad[o];
        for (int i = 0; i < l->in; i++) {
            w_grad[i] += out_grad[o] * in[i];
            if (in_grad)
                in_grad[i] += out_grad[o] * w[i];
        }
    }
}

static double channel_sum(const layer *l, size_t count, int c, const float *values)
{
    double sum = 0;
    int plane = l->in_side * l->in_side;
    for (size_t s = 0; s < count; s++)
        for (int p = 0; p < plane; p++)
            sum += values[s * layer_in_values(l) + (size_t)(c * plane + p)];
    return sum;
}

static double channel_scatter(const layer *l, size_t count, int c, const float *values, double mean)
{
    double sum = 0;
    int plane = l->in_side * l->in_side;
    for (size_t s = 0; s < count; s++)
        for (int p = 0; p < plane; p++) {
            double off = values[s * layer_in_values(l) + (size_t)(c * plane + p)] - mean;
            sum += off * off;
        }
    return sum;
}

static void norm_forward(const layer *l, const pass *p, const float *in, float *out)
{
    double values = (double)p->count * l->in_side * l->in_side;
    for (int c = 0; c < l->in; c++) {
        double mean = channel_sum(l, p->count, c, in) / values;
        p->statistics[l->statistics + c] = (float)mean;
        p->statistics[l->statistics + l->out + c] =
            (float)(channel_scatter(l, p->count, c, in, mean) / values);
    }
    norm_fixed(l, p, in, out);
}

/* With y the normalised input: d/dx = scale / deviation (g - mean(g) - y mean(g y)). */
static void norm_backward(const layer *l, const pass *p, const float *in, const float *out_grad,
                          float *gradient, float *in_grad)
{
    size_t plane = (size_t)l->in_side * (size_t)l->in_side;
    for (int c = 0; c < l->in; c++) {
        double mean = p->statistics[l->statistics + c], with_y = 0;
        double deviation = sqrt((double)p->statistics[l->statistics + l->out + c] + NORM_EPSILON);
        double sum = channel_sum(l, p->count, c, out_grad), values = (double)(p->count * plane);
        for (size_t s = 0; s < p->count; s++)
            for (size_t at = s * layer_in_values(l) + (size_t)c * plane, k = 0; k < plane; k++)
                with_y += out_grad[at + k] * (in[at + k] - mean) / deviation;
        gradient[l->weights + c] = (float)with_y;
        gradient[layer_bias(l) + c] = (float)sum;
        double scale = p->parameters[l->weights + c] / deviation;
        for (size_t s = 0; s < p->count; s++)
            for (size_t at = s * layer_in_values(l) + (size_t)c * plane, k = 0; k < plane; k++) {
                double y = (in[at + k] - mean) / deviation;
                in_grad[at + k] =
                    (float)(scale * (out_grad[at + k] - sum / values - y * with_y / values));
            }
    }
}

static void mean_forward(const layer *l, const float *in, float *out)
{
    int plane = l->in_side * l->in_side;
    for (int c = 0; c < l->in; c++) {
        out[c] = 0;
        for (int p = 0; p < plane; p++)
            out[c] += in[c * plane + p];
        out[c] /= (float)plane;
    }
}

static void mean_backward(const layer *l, const float *out_grad, float *in_grad)
{
    assert(in_grad); /* no net begins with a mean */
    int plane = l->in_side * l->in_side;
    for (int c = 0; c < l->in; c++)
        for (int p = 0; p < plane; p++)
            in_grad[c * plane + p] = out_grad[c] / (float)plane;
}

/* One sample through a layer other than a norm. */
static void sample_forward(const ref *r, size_t k, size_t s, const float *parameters,
                           const float *in)
{
    const layer *l = &r->net->layers[k];
    const float *w = parameters + l->weights, *bias = parameters + layer_bias(l);
    float *out = r->outputs[k] + s * layer_out_values(l);
    if (l->kind == LAYER_CONV)
        conv_forward(l, w, bias, in, out);
    else if (l->kind == LAYER_POOL)
        pool_forward(l, in, out, r->winners[k] + s * layer_out_values(l));
    else if (l->kind == LAYER_MEAN)
        mean_forward(l, in, out);
    else
        linear_forward(l, w, bias, in, out);
}

static float *ref_forward(void *state, const pass *p)
{
    ref *r = state;
    for (size_t k = 0; k < r->net->count; k++) {
        const layer *l = &r->net->layers[k];
        const float *in = k ? r->outputs[k - 1] : p->images;
        if (l->kind != LAYER_NORM)
            for (size_t s = 0; s < p->count; s++)
                sample_forward(r, k, s, p->parameters, in + s * layer_in_values(l));
        else if (p->fixed)
            norm_fixed(l, p, in, r->outputs[k]);
        else
            norm_forward(l, p, in, r->outputs[k]);
        if (l->skip)
            skip_add(l - SKIP_LENGTH, l, p->count, r->outputs[k - SKIP_LENGTH], r->outputs[k]);
        if (l->relu)
            relu(r->outputs[k], p->count * layer_out_values(l));
    }
    return r->outputs[r->net->count - 1];
}

/* Adds one sample's part to the gradient; writes that of its input unless `in_grad` is NULL. */
static void sample_back(const ref *r, size_t k, size_t s, const pass *p, float *gradient)
{
    const layer *l = &r->net->layers[k];
    size_t values = layer_out_values(l), in_values = layer_in_values(l);
    const float *in = (k ? r->outputs[k - 1] : p->images) + s * in_values;
    const float *out_grad = r->gradients[k % GRADIENTS_KEPT] + s * values;
    float *in_grad = k ? r->gradients[(k - 1) % GRADIENTS_KEPT] + s * in_values : NULL;
    if (in_grad)
        memset(in_grad, 0, in_values * sizeof *in_grad);
    if (l->kind == LAYER_CONV)
        conv_backward(l, p->parameters, in, out_grad, gradient, in_grad);
    else if (l->kind == LAYER_LINEAR)
        linear_backward(l, p->parameters, in, out_grad, gradient, in_grad);
    else if (l->kind == LAYER_MEAN)
        mean_backward(l, out_grad, in_grad);
    else
        for (size_t v = 0; v < values; v++)
            in_grad[r->winners[k][s * values + v]] += out_grad[v];
}

static edgeps_err ref_backward(void *state, const pass *p, float *gradient)
{
    ref *r = state;
    size_t last = r->net->count - 1;
    memcpy(r->gradients[last % GRADIENTS_KEPT], r->outputs[last],
           p->count * NN_CLASSES * sizeof(float));
    memset(gradient, 0, (size_t)r->net->parameter_count * sizeof *gradient);
    for (size_t k = last + 1; k-- > 0;) {
        const layer *l = &r->net->layers[k];
        float *out_grad = r->gradients[k % GRADIENTS_KEPT];
        if (net_skip_starts(r->net, k))
            skip_back(l, l + SKIP_LENGTH, p->count,
                      r->gradients[(k + SKIP_LENGTH) % GRADIENTS_KEPT], out_grad);
        if (l->relu)
            relu_back(out_grad, r->outputs[k], p->count * layer_out_values(l));
        if (l->kind == LAYER_NORM)
            norm_backward(l, p, r->outputs[k - 1], out_grad, gradient,
                          r->gradients[(k - 1) % GRADIENTS_KEPT]);
        else
            for (size_t s = 0; s < p->count; s++)
                sample_back(r, k, s, p, gradient);
    }
    return EDGEPS_OK;
}

const backend backend_ref = {ref_make, ref_free, ref_forward, ref_backward};
