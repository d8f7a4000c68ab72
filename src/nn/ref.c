/* The reference backend: every layer as its formula says, one sample after another. */
#include "nn/nn_int.h"

#include "base/mem.h"

#include <string.h>

typedef struct ref {
    const net *net;
    float *outputs[LAYERS_MOST];    /* (max_batch, layer_out_values) */
    float *gradients[LAYERS_MOST];  /* of the same shape */
    uint32_t *winners[LAYERS_MOST]; /* of pooling: where in its input each output came from */
} ref;

static void ref_free(void *state)
{
    ref *r = state;
    if (!r)
        return;
    for (size_t k = 0; k < LAYERS_MOST; k++) {
        mem_free(r->outputs[k]);
        mem_free(r->gradients[k]);
        mem_free(r->winners[k]);
    }
    mem_free(r);
}

static edgeps_err ref_make(const net *n, size_t max_batch, edgeps_diag *diag, void **state)
{
    ref *r = mem_alloc(1, sizeof *r);
    bool good = r != NULL;
    for (size_t k = 0; good && k < n->count; k++) {
        size_t values = max_batch * layer_out_values(&n->layers[k]);
        r->outputs[k] = mem_alloc(values, sizeof(float));
        r->gradients[k] = mem_alloc(values, sizeof(float));
        r->winners[k] = mem_alloc(values, sizeof(uint32_t));
        good = r->outputs[k] && r->gradients[k] && r->winners[k];
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
    *in_at = out_at + offset - l->pad;
    return *in_at >= 0 && *in_at < l->in_side;
}

/* One plane of a convolution: out[y][x] += w[dy][dx] in[y + dy - pad][x + dx - pad]. */
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
            out[o * out_plane + p] = bias[o];
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
        for (int p = 0; p < out_plane; p++)
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

static const float *input_of(const ref *r, size_t k, size_t sample, const float *images)
{
    if (k == 0)
        return images + sample * layer_in_values(&r->net->layers[0]);
    return r->outputs[k - 1] + sample * layer_out_values(&r->net->layers[k - 1]);
}

static float *ref_forward(void *state, const float *parameters, const float *images, size_t count)
{
    ref *r = state;
    for (size_t s = 0; s < count; s++)
        for (size_t k = 0; k < r->net->count; k++) {
            const layer *l = &r->net->layers[k];
            size_t values = layer_out_values(l);
            const float *in = input_of(r, k, s, images);
            const float *w = parameters + l->weights, *bias = parameters + layer_bias(l);
            float *out = r->outputs[k] + s * values;
            if (l->kind == LAYER_CONV)
                conv_forward(l, w, bias, in, out);
            else if (l->kind == LAYER_POOL)
                pool_forward(l, in, out, r->winners[k] + s * values);
            else
                linear_forward(l, w, bias, in, out);
            if (l->relu)
                relu(out, values);
        }
    return r->outputs[r->net->count - 1];
}

static void layer_back(const ref *r, size_t k, size_t s, const float *parameters,
                       const float *images, float *gradient)
{
    const layer *l = &r->net->layers[k];
    size_t values = layer_out_values(l);
    const float *out = r->outputs[k] + s * values, *in = input_of(r, k, s, images);
    float *out_grad = r->gradients[k] + s * values;
    float *in_grad = k ? r->gradients[k - 1] + s * layer_in_values(l) : NULL;
    if (l->relu)
        relu_back(out_grad, out, values);
    if (in_grad)
        memset(in_grad, 0, layer_in_values(l) * sizeof *in_grad);
    if (l->kind == LAYER_CONV)
        conv_backward(l, parameters, in, out_grad, gradient, in_grad);
    else if (l->kind == LAYER_LINEAR)
        linear_backward(l, parameters, in, out_grad, gradient, in_grad);
    else
        for (size_t v = 0; v < values; v++)
            in_grad[r->winners[k][s * values + v]] += out_grad[v];
}

static edgeps_err ref_backward(void *state, const float *parameters, const float *images,
                               size_t count, float *gradient)
{
    ref *r = state;
    size_t last = r->net->count - 1;
    memcpy(r->gradients[last], r->outputs[last], count * NN_CLASSES * sizeof(float));
    memset(gradient, 0, (size_t)r->net->parameter_count * sizeof *gradient);
    for (size_t s = 0; s < count; s++)
        for (size_t k = last + 1; k-- > 0;)
            layer_back(r, k, s, parameters, images, gradient);
    return EDGEPS_OK;
}

const backend backend_ref = {ref_make, ref_free, ref_forward, ref_backward};
