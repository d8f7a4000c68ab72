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
    dnnl_memory_t workspace; /* of pooling */
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
    float *outputs[LAYERS_MOST];   /* (max_batch, layer_out_values) */
    float *gradients[LAYERS_MOST]; /* likewise */
    program *programs;
    program *current; /* of the last forward pass */
} state;

static void free_step(step *s)
{
    enum { PRIMITIVES = 3, MEMORIES = 9 };
    dnnl_primitive_t primitives[PRIMITIVES] = {s->forward, s->back_data, s->back_weights};
    dnnl_memory_t memories[MEMORIES] = {s->in,           s->out,       s->in_grad,
                                        s->out_grad,     s->weights,   s->bias,
                                        s->weights_grad, s->bias_grad, s->workspace};
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
    for (size_t k = 0; k < LAYERS_MOST; k++) {
        mem_free(s->outputs[k]);
        mem_free(s->gradients[k]);
    }
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
        s->gradients[k] = mem_alloc(values, sizeof(float));
        good = s->outputs[k] && s->gradients[k];
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
    bool linear = l->kind == LAYER_LINEAR;
    dnnl_format_tag_t data = linear ? dnnl_ab : dnnl_abcd;
    int rank = linear ? 2 : 4;
    dnnl_dims_t in = {n, l->in, l->in_side, l->in_side};
    dnnl_dims_t out = {n, l->out, l->out_side, l->out_side};
    dnnl_dims_t weights = {l->out, l->in, l->kernel, l->kernel};
    dnnl_dims_t bias = {l->out};
    return !dnnl_memory_desc_init_by_tag(&d->in, rank, in, dnnl_f32, data) &&
           !dnnl_memory_desc_init_by_tag(&d->out, rank, out, dnnl_f32, data) &&
           !dnnl_memory_desc_init_by_tag(&d->weights, rank, weights, dnnl_f32, data) &&
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
    const dnnl_dims_t stride = {1, 1}, pad = {l->pad, l->pad};
    dnnl_convolution_desc_t forward, data, weights;
    dnnl_primitive_desc_t kept = NULL;
    bool good = !dnnl_convolution_forward_desc_init(&forward, dnnl_forward_training,
                                                    dnnl_convolution_direct, &d->in, &d->weights,
                                                    &d->bias, &d->out, stride, pad, pad) &&
                primitive(s, &forward, NULL, &t->forward, &kept) &&
                !dnnl_convolution_backward_weights_desc_init(&weights, dnnl_convolution_direct,
                                                             &d->in, &d->weights, &d->bias, &d->out,
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
    dnnl_pooling_desc_t forward, data;
    dnnl_primitive_desc_t kept = NULL;
    bool good = !dnnl_pooling_forward_desc_init(&forward, dnnl_forward_training, dnnl_pooling_max,
                                                &d->in, &d->out, window, window, pad, pad) &&
                primitive(s, &forward, NULL, &t->forward, &kept) &&
                !dnnl_pooling_backward_desc_init(&data, dnnl_pooling_max, &d->in, &d->out, window,
                                                 window, pad, pad) &&
                primitive(s, &data, kept, &t->back_data, NULL) &&
                memory(s, dnnl_primitive_desc_query_md(kept, dnnl_query_workspace_md, 0),
                       DNNL_MEMORY_ALLOCATE, &t->workspace);
    if (kept)
        dnnl_primitive_desc_destroy(kept);
    return good;
}

/* Parameters, gradients and images get their places when a pass runs. */
static bool make_step(const state *s, size_t k, size_t count, step *t)
{
    const layer *l = &s->net->layers[k];
    shapes d;
    bool good = describe(l, count, &d) &&
                memory(s, &d.in, k ? s->outputs[k - 1] : DNNL_MEMORY_NONE, &t->in) &&
                memory(s, &d.in, k ? s->gradients[k - 1] : DNNL_MEMORY_NONE, &t->in_grad) &&
                memory(s, &d.out, s->outputs[k], &t->out) &&
                memory(s, &d.out, s->gradients[k], &t->out_grad);
    if (good && l->kind == LAYER_POOL)
        return make_pool(s, l, &d, t);
    good = good && memory(s, &d.weights, DNNL_MEMORY_NONE, &t->weights) &&
           memory(s, &d.bias, DNNL_MEMORY_NONE, &t->bias) &&
           memory(s, &d.weights, DNNL_MEMORY_NONE, &t->weights_grad) &&
           memory(s, &d.bias, DNNL_MEMORY_NONE, &t->bias_grad);
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

static bool step_forward(const state *s, const layer *l, step *t, const float *parameters)
{
    if (l->kind == LAYER_POOL) {
        const dnnl_exec_arg_t args[] = {
            {DNNL_ARG_SRC, t->in}, {DNNL_ARG_DST, t->out}, {DNNL_ARG_WORKSPACE, t->workspace}};
        return run(s, t->forward, args, 3);
    }
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, t->in},
                                    {DNNL_ARG_WEIGHTS, t->weights},
                                    {DNNL_ARG_BIAS, t->bias},
                                    {DNNL_ARG_DST, t->out}};
    return place(t->weights, parameters + l->weights) &&
           place(t->bias, parameters + layer_bias(l)) && run(s, t->forward, args, 4);
}

static float *forward_pass(void *opaque, const float *parameters, const float *images, size_t count)
{
    state *s = opaque;
    omp_set_num_threads(1); /* a setting of the calling thread */
    s->current = program_for(s, count);
    bool good = s->current && place(s->current->steps[0].in, images);
    for (size_t k = 0; good && k < s->net->count; k++) {
        const layer *l = &s->net->layers[k];
        good = step_forward(s, l, &s->current->steps[k], parameters);
        if (l->relu)
            relu(s->outputs[k], count * layer_out_values(l));
    }
    return good && !dnnl_stream_wait(s->stream) ? s->outputs[s->net->count - 1] : NULL;
}

static bool step_backward(const state *s, const layer *l, step *t, float *gradient)
{
    if (l->kind == LAYER_POOL) {
        const dnnl_exec_arg_t args[] = {{DNNL_ARG_DIFF_DST, t->out_grad},
                                        {DNNL_ARG_DIFF_SRC, t->in_grad},
                                        {DNNL_ARG_WORKSPACE, t->workspace}};
        return run(s, t->back_data, args, 3);
    }
    const dnnl_exec_arg_t weights[] = {{DNNL_ARG_SRC, t->in},
                                       {DNNL_ARG_DIFF_DST, t->out_grad},
                                       {DNNL_ARG_DIFF_WEIGHTS, t->weights_grad},
                                       {DNNL_ARG_DIFF_BIAS, t->bias_grad}};
    const dnnl_exec_arg_t data[] = {{DNNL_ARG_DIFF_DST, t->out_grad},
                                    {DNNL_ARG_WEIGHTS, t->weights},
                                    {DNNL_ARG_DIFF_SRC, t->in_grad}};
    return place(t->weights_grad, gradient + l->weights) &&
           place(t->bias_grad, gradient + layer_bias(l)) && run(s, t->back_weights, weights, 4) &&
           (!t->back_data || run(s, t->back_data, data, 3));
}

/* Parameters and images are still where the forward pass put them. */
static edgeps_err backward_pass(void *opaque, const float *parameters, const float *images,
                                size_t count, float *gradient)
{
    state *s = opaque;
    size_t last = s->net->count - 1;
    bool good = true;
    (void)parameters;
    (void)images;
    memcpy(s->gradients[last], s->outputs[last], count * NN_CLASSES * sizeof(float));
    for (size_t k = last + 1; good && k-- > 0;) {
        const layer *l = &s->net->layers[k];
        if (l->relu)
            relu_back(s->gradients[k], s->outputs[k], count * layer_out_values(l));
        good = step_backward(s, l, &s->current->steps[k], gradient);
    }
    return good && !dnnl_stream_wait(s->stream) ? EDGEPS_OK : EDGEPS_INTERNAL;
}

const backend backend_dnnl = {make_state, free_state, forward_pass, backward_pass};
