/* What both backends do in the same plain loops. */
#include "nn/nn_int.h"

#include <math.h>

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

void norm_fixed(const layer *l, const pass *p, const float *in, float *out)
{
    const float *mean = p->statistics + l->statistics, *variance = mean + l->out;
    size_t plane = (size_t)l->out_side * (size_t)l->out_side;
    for (size_t s = 0; s < p->count; s++)
        for (int c = 0; c < l->out; c++, in += plane, out += plane) {
            float scale = p->parameters[l->weights + c] / sqrtf(variance[c] + NORM_EPSILON);
            float shift = p->parameters[layer_bias(l) + c] - scale * mean[c];
            for (size_t k = 0; k < plane; k++)
                out[k] = scale * in[k] + shift;
        }
}

static void add_row(const float *start, float *end, int values, int stride)
{
    for (int x = 0; x < values; x++)
        end[x] += start[x * stride];
}

static void add_row_back(const float *end, float *start, int values, int stride)
{
    for (int x = 0; x < values; x++)
        start[x * stride] += end[x];
}

/* Where row y of channel c of sample s begins in a layer's batch. */
static size_t row_at(const layer *l, size_t s, int c, int y)
{
    return s * layer_out_values(l) + (size_t)((c * l->out_side + y) * l->out_side);
}

void skip_add(const layer *start, const layer *end, size_t count, const float *in, float *out)
{
    int stride = start->out_side > end->out_side ? 2 : 1;
    for (size_t s = 0; s < count; s++)
        for (int c = 0; c < start->out; c++)
            for (int y = 0; y < end->out_side; y++)
                add_row(in + row_at(start, s, c, y * stride), out + row_at(end, s, c, y),
                        end->out_side, stride);
}

void skip_back(const layer *start, const layer *end, size_t count, const float *out_grad,
               float *in_grad)
{
    int stride = start->out_side > end->out_side ? 2 : 1;
    for (size_t s = 0; s < count; s++)
        for (int c = 0; c < start->out; c++)
            for (int y = 0; y < end->out_side; y++)
                add_row_back(out_grad + row_at(end, s, c, y),
                             in_grad + row_at(start, s, c, y * stride), end->out_side, stride);
}
