/* The oneDNN backend (C API of 2.x), the only file that knows it. Plain layouts throughout, so that
 * parameters and gradients stay one flat vector; a set of primitives per batch size, kept.
 * One thread: many agents share a machine's cores. */
#include "nn/nn_int.h"

#include "base/mem.h"

#include <dnnl.h>
#include <omp.h>

#include <string.h>

typedef struct step {
    dnnl_primitive_t forward, back_data, back_weights;
    dnnl_memory_t in, out, in_grad, out_grad;
    dnnl_memory_t weights, bias, weights_grad, bias_grad;
    dnnl_memory_t mean, variance; /* of norms */
    dnnl_memory_t workspace;      /* of pooling */
} step;

/* The primitives for batches of one size. */
typedef struct program {
    size_t count;
    step steps[LAYERS_MOST];
    struct program *next;
} program;

typedef struct state {
    const net *net;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    float *outputs[LAYERS_MOST]; /* (max_batch, layer_out_values) */
    float *gradients[GRADIENTS_KEPT];
    program *programs;
    program *current; /* of the last forward pass */
} state;

static void free_step(step *s)
{
    enum { PRIMITIVES = 3, MEMORIES = 11 };
    dnnl_primitive_t primitives[PRIMITIVES] = {s->forward, s->back_data, s->back_weights};
    dnnl_memory_t memories[MEMORIES] = {s->in,      s->out,      s->in_grad,      s->out_grad,
                                        s->weights, s->bias,     s->weights_grad, s->bias_grad,
                                        s->mean,    s->variance, s->workspace};
    for (int k = 0; k < PRIMITIVES; k++)
        if (primitives[k])
            dnnl_primitive_destroy(primitives[k]);
    for (int k = 0; k < MEMORIES; k++)
        if (memories[k])
            dnnl_memory_destroy(memories[k]);
}

static void free_program(program *p)
{
    for (size_t k = 0; k < LAYERS_MOST; k++)
        free_step(&p->steps[k]);
    mem_free(p);
}

static void free_state(void *opaque)
{
    state *s = opaque;
    if (!s)
        return;
    while (s->programs) {
        program *next = s->programs->next;
        free_program(s->programs);
        s->programs = next;
    }
    for (size_t k = 0; k < LAYERS_MOST; k++)
        mem_free(s->outputs[k]);
    for (size_t k = 0; k < GRADIENTS_KEPT; k++)
        mem_free(s->gradients[k]);
    if (s->stream)
        dnnl_stream_destroy(s->stream);
    if (s->engine)
        dnnl_engine_destroy(s->engine);
    mem_free(s);
}

static edgeps_err make_state(const net *n, size_t max_batch, edgeps_diag *diag, void **out)
{
    state *s = mem_alloc(1, sizeof *s);
    bool good = s != NULL;
    for (size_t k = 0; good && k < n->count; k++) {
        size_t values = max_batch * layer_out_values(&n->layers[k]);
        s->outputs[k] = mem_alloc(values, sizeof(float));
        good = s->outputs[k] != NULL;
    }
    for (size_t k = 0; good && k < GRADIENTS_KEPT; k++) {
        s->gradients[k] = mem_alloc(max_batch * net_most_values(n), sizeof(float));
        good = s->gradients[k] != NULL;
    }
    if (!good) {
        free_state(s);
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for a batch of %zu samples", max_batch);
    }
    s->net = n;
    if (dnnl_engine_create(&s->engine, dnnl_cpu, 0) ||
        dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags)) {
        free_state(s);
        return diag_fail(diag, EDGEPS_UNSUPPORTED,
                         "oneDNN has no CPU engine here; choose the reference backend");
    }
    *out = s;
    return EDGEPS_OK;
}

/* Shapes of a layer's tensors for a batch. */
typedef struct shapes {
    dnnl_memory_desc_t in, out, weights, bias;
} shapes;

static bool describe(const layer *l, size_t count, shapes *d)
{
    dnnl_dim_t n = (dnnl_dim_t)count;
    bool linear = l->kind == LAYER_LINEAR, norm = l->kind == LAYER_NORM;
    dnnl_format_tag_t data = linear ? dnnl_ab : dnnl_abcd;
    int rank = linear ? 2 : 4;
    dnnl_dims_t in = {n, l->in, l->in_side, l->in_side};
    dnnl_dims_t out = {n, l->out, l->out_side, l->out_side};
    dnnl_dims_t weights = {l->out, l->in, l->kernel, l->kernel};
    dnnl_dims_t bias = {l->out};
    return !dnnl_memory_desc_init_by_tag(&d->in, rank, in, dnnl_f32, data) &&
           !dnnl_memory_desc_init_by_tag(&d->out, rank, out, dnnl_f32, data) &&
           !dnnl_memory_desc_init_by_tag(&d->weights, norm ? 1 : rank, weights, dnnl_f32,
                                         norm ? dnnl_a : data) &&
           !dnnl_memory_desc_init_by_tag(&d->bias, 1, bias, dnnl_f32, dnnl_a);
}

static bool memory(const state *s, const dnnl_memory_desc_t *shape, void *values,
                   dnnl_memory_t *out)
{
    return !dnnl_memory_create(out, shape, s->engine, values);
}

/* Turns an operation into a primitive; keeps its description in `kept` when that is not NULL. */
static bool primitive(const state *s, const void *operation, const_dnnl_primitive_desc_t forward,
                      dnnl_primitive_t *out, dnnl_primitive_desc_t *kept)
{
    dnnl_primitive_desc_t description;
    if (dnnl_primitive_desc_create(&description, operation, NULL, s->engine, forward))
        return false;
    bool good = !dnnl_primitive_create(out, description);
    if (kept && good)
        *kept = description;
    else
        dnnl_primitive_desc_destroy(description);
    return good;
}

static bool make_conv(const state *s, const layer *l, const shapes *d, bool first, step *t)
{
    const dnnl_dims_t stride = {l->stride, l->stride}, pad = {l->pad, l->pad};
    const dnnl_memory_desc_t *bias = l->bias ? &d->bias : NULL;
    dnnl_convolution_desc_t forward, data, weights;
    dnnl_primitive_desc_t kept = NULL;
    bool good = !dnnl_convolution_forward_desc_init(&forward, dnnl_forward_training,
                                                    dnnl_convolution_direct, &d->in, &d->weights,
                                                    bias, &d->out, stride, pad, pad) &&
                primitive(s, &forward, NULL, &t->forward, &kept) &&
                !dnnl_convolution_backward_weights_desc_init(&weights, dnnl_convolution_direct,
                                                             &d->in, &d->weights, bias, &d->out,
                                                             stride, pad, pad) &&
                primitive(s, &weights, kept, &t->back_weights, NULL);
    if (good && !first)
        good = !dnnl_convolution_backward_data_desc_init(&data, dnnl_convolution_direct, &d->in,
                                                         &d->weights, &d->out, stride, pad, pad) &&
               primitive(s, &data, kept, &t->back_data, NULL);
    if (kept)
        dnnl_primitive_desc_destroy(kept);
    return good;
}

static bool make_linear(const state *s, const shapes *d, bool first, step *t)
{
    dnnl_inner_product_desc_t forward, data, weights;
    dnnl_primitive_desc_t kept = NULL;
    bool good = !dnnl_inner_product_forward_desc_init(&forward, dnnl_forward_training, &d->in,
                                                      &d->weights, &d->bias, &d->out) &&
                primitive(s, &forward, NULL, &t->forward, &kept) &&
                !dnnl_inner_product_backward_weights_desc_init(&weights, &d->in, &d->weights,
                                                               &d->bias, &d->out) &&
                primitive(s, &weights, kept, &t->back_weights, NULL);
    if (good && !first)
        good = !dnnl_inner_product_backward_data_desc_init(&data, &d->in, &d->weights, &d->out) &&
               primitive(s, &data, kept, &t->back_data, NULL);
    if (kept)
        dnnl_primitive_desc_destroy(kept);
    return good;
}

static bool make_pool(const state *s, const layer *l, const shapes *d, step *t)
{
    const dnnl_dims_t window = {l->kernel, l->kernel}, pad = {0, 0};
    dnnl_alg_kind_t how =
        l->kind == LAYER_POOL ? dnnl_pooling_max : dnnl_pooling_avg_exclude_padding;
    dnnl_pooling_desc_t forward, data;
    dnnl_primitive_desc_t kept = NULL;
    bool good =
        !dnnl_pooling_forward_desc_init(&forward, dnnl_forward_training, how, &d->in, &d->out,
                                        window, window, pad, pad) &&
        primitive(s, &forward, NULL, &t->forward, &kept) &&
        !dnnl_pooling_backward_desc_init(&data, how, &d->in, &d->out, window, window, pad, pad) &&
        primitive(s, &data, kept, &t->back_data, NULL);
    if (good && l->kind == LAYER_POOL)
        good = memory(s, dnnl_primitive_desc_query_md(kept, dnnl_query_workspace_md, 0),
                      DNNL_MEMORY_ALLOCATE, &t->workspace);
    if (kept)
        dnnl_primitive_desc_destroy(kept);
    return good;
}

/* The gradients of its weights are made together with that of its input. */
static bool make_norm(const state *s, const shapes *d, step *t)
{
    enum { FLAGS = dnnl_use_scale | dnnl_use_shift };
    dnnl_batch_normalization_desc_t forward, data;
    dnnl_primitive_desc_t kept = NULL;
    bool good = memory(s, &d->bias, DNNL_MEMORY_NONE, &t->mean) &&
                memory(s, &d->bias, DNNL_MEMORY_NONE, &t->variance) &&
                !dnnl_batch_normalization_forward_desc_init(&forward, dnnl_forward_training, &d->in,
                                                            NORM_EPSILON, FLAGS) &&
                primitive(s, &forward, NULL, &t->forward, &kept) &&
                !dnnl_batch_normalization_backward_desc_init(&data, dnnl_backward, &d->in, &d->in,
                                                             NORM_EPSILON, FLAGS) &&
                primitive(s, &data, kept, &t->back_data, NULL);
    if (kept)
        dnnl_primitive_desc_destroy(kept);
    return good;
}

/* Parameters, gradients and images get their places when a pass runs. */
static bool make_step(const state *s, size_t k, size_t count, step *t)
{
    const layer *l = &s->net->layers[k];
    shapes d;
    float *in = k ? s->outputs[k - 1] : DNNL_MEMORY_NONE;
    float *in_grad = k ? s->gradients[(k - 1) % GRADIENTS_KEPT] : DNNL_MEMORY_NONE;
    bool good = describe(l, count, &d) && memory(s, &d.in, in, &t->in) &&
                memory(s, &d.in, in_grad, &t->in_grad) &&
                memory(s, &d.out, s->outputs[k], &t->out) &&
                memory(s, &d.out, s->gradients[k % GRADIENTS_KEPT], &t->out_grad);
    if (good && !layer_fan_in(l))
        return make_pool(s, l, &d, t);
    good = good && memory(s, &d.weights, DNNL_MEMORY_NONE, &t->weights) &&
           memory(s, &d.bias, DNNL_MEMORY_NONE, &t->bias) &&
           memory(s, &d.weights, DNNL_MEMORY_NONE, &t->weights_grad) &&
           memory(s, &d.bias, DNNL_MEMORY_NONE, &t->bias_grad);
    if (good && l->kind == LAYER_NORM)
        return make_norm(s, &d, t);
    return good &&
           (l->kind == LAYER_CONV ? make_conv(s, l, &d, k == 0, t) : make_linear(s, &d, k == 0, t));
}

static program *program_for(state *s, size_t count)
{
    for (program *p = s->programs; p; p = p->next)
        if (p->count == count)
            return p;
    program *p = mem_alloc(1, sizeof *p);
    bool good = p != NULL;
    for (size_t k = 0; good && k < s->net->count; k++)
        good = make_step(s, k, count, &p->steps[k]);
    if (!good) {
        if (p)
            free_program(p);
        return NULL;
    }
    p->count = count;
    p->next = s->programs;
    s->programs = p;
    return p;
}

static bool place(dnnl_memory_t m, const float *values)
{
    return !dnnl_memory_set_data_handle(m, (float *)values);
}

static bool run(const state *s, dnnl_primitive_t primitive, const dnnl_exec_arg_t *args, int count)
{
    return !dnnl_primitive_execute(primitive, s->stream, count, args);
}

static bool pool_forward(const state *s, const layer *l, const step *t)
{
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, t->in}, {DNNL_ARG_DST, t->out}, {DNNL_ARG_WORKSPACE, t->workspace}};
    return run(s, t->forward, args, l->kind == LAYER_POOL ? 3 : 2);
}

static bool norm_forward(const state *s, const layer *l, const step *t, const pass *p)
{
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, t->in},     {DNNL_ARG_SCALE, t->weights},
                                    {DNNL_ARG_SHIFT, t->bias}, {DNNL_ARG_DST, t->out},
                                    {DNNL_ARG_MEAN, t->mean},  {DNNL_ARG_VARIANCE, t->variance}};
    float *mean = p->statistics + l->statistics;
    return place(t->mean, mean) && place(t->variance, mean + l->out) && run(s, t->forward, args, 6);
}

static bool step_forward(const state *s, size_t k, const pass *p)
{
    const layer *l = &s->net->layers[k];
    const step *t = &s->current->steps[k];
    if (!layer_fan_in(l))
        return pool_forward(s, l, t);
    if (!place(t->weights, p->parameters + l->weights) ||
        !place(t->bias, p->parameters + layer_bias(l)))
        return false;
    if (l->kind == LAYER_NORM && p->fixed) {
        norm_fixed(l, p, s->outputs[k - 1], s->outputs[k]);
        return true;
    }
    if (l->kind == LAYER_NORM)
        return norm_forward(s, l, t, p);
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, t->in},
                                    {DNNL_ARG_WEIGHTS, t->weights},
                                    {DNNL_ARG_DST, t->out},
                                    {DNNL_ARG_BIAS, t->bias}};
    return run(s, t->forward, args, l->bias ? 4 : 3);
}

static float *forward_pass(void *opaque, const pass *p)
{
    state *s = opaque;
    omp_set_num_threads(1); /* a setting of the calling thread */
    s->current = program_for(s, p->count);
    bool good = s->current && place(s->current->steps[0].in, p->images);
    for (size_t k = 0; good && k < s->net->count; k++) {
        const layer *l = &s->net->layers[k];
        good = step_forward(s, k, p);
        if (l->skip)
            skip_add(l - SKIP_LENGTH, l, p->count, s->outputs[k - SKIP_LENGTH], s->outputs[k]);
        if (l->relu)
            relu(s->outputs[k], p->count * layer_out_values(l));
    }
    return good && !dnnl_stream_wait(s->stream) ? s->outputs[s->net->count - 1] : NULL;
}

static bool pool_backward(const state *s, const layer *l, const step *t)
{
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_DIFF_DST, t->out_grad},
                                    {DNNL_ARG_DIFF_SRC, t->in_grad},
                                    {DNNL_ARG_WORKSPACE, t->workspace}};
    return run(s, t->back_data, args, l->kind == LAYER_POOL ? 3 : 2);
}

static bool norm_backward(const state *s, const step *t)
{
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, t->in},
                                    {DNNL_ARG_SCALE, t->weights},
                                    {DNNL_ARG_SHIFT, t->bias}, /* 2.6 counts it, unused */
                                    {DNNL_ARG_MEAN, t->mean},
                                    {DNNL_ARG_VARIANCE, t->variance},
                                    {DNNL_ARG_DIFF_DST, t->out_grad},
                                    {DNNL_ARG_DIFF_SRC, t->in_grad},
                                    {DNNL_ARG_DIFF_SCALE, t->weights_grad},
                                    {DNNL_ARG_DIFF_SHIFT, t->bias_grad}};
    return run(s, t->back_data, args, 9);
}

static bool step_backward(const state *s, const layer *l, const step *t, float *gradient)
{
    if (!layer_fan_in(l))
        return pool_backward(s, l, t);
    if (!place(t->weights_grad, gradient + l->weights) ||
        !place(t->bias_grad, gradient + layer_bias(l)))
        return false;
    if (l->kind == LAYER_NORM)
        return norm_backward(s, t);
    const dnnl_exec_arg_t weights[] = {{DNNL_ARG_SRC, t->in},
                                       {DNNL_ARG_DIFF_DST, t->out_grad},
                                       {DNNL_ARG_DIFF_WEIGHTS, t->weights_grad},
                                       {DNNL_ARG_DIFF_BIAS, t->bias_grad}};
    const dnnl_exec_arg_t data[] = {{DNNL_ARG_DIFF_DST, t->out_grad},
                                    {DNNL_ARG_WEIGHTS, t->weights},
                                    {DNNL_ARG_DIFF_SRC, t->in_grad}};
    return run(s, t->back_weights, weights, l->bias ? 4 : 3) &&
           (!t->back_data || run(s, t->back_data, data, 3));
}

/* Parameters, images and statistics are still where the forward pass put them. */
static edgeps_err backward_pass(void *opaque, const pass *p, float *gradient)
{
    state *s = opaque;
    size_t last = s->net->count - 1;
    bool good = true;
    memcpy(s->gradients[last % GRADIENTS_KEPT], s->outputs[last],
           p->count * NN_CLASSES * sizeof(float));
    for (size_t k = last + 1; good && k-- > 0;) {
        const layer *l = &s->net->layers[k];
        float *out_grad = s->gradients[k % GRADIENTS_KEPT];
        if (net_skip_starts(s->net, k))
            skip_back(l, l + SKIP_LENGTH, p->count,
                      s->gradients[(k + SKIP_LENGTH) % GRADIENTS_KEPT], out_grad);
        if (l->relu)
            relu_back(out_grad, s->outputs[k], p->count * layer_out_values(l));
        good = step_backward(s, l, &s->current->steps[k], gradient);
    }
    return good && !dnnl_stream_wait(s->stream) ? EDGEPS_OK : EDGEPS_INTERNAL;
}

const backend backend_dnnl = {make_state, free_state, forward_pass, backward_pass};
