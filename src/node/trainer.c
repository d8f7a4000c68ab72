#include "node/trainer.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "nn/dataset.h"
#include "nn/nn.h"
#include "nn/split.h"

#include <string.h>

struct trainer {
    loop *loop;
    nn_dataset *data;
    nn_model *model;
    nn_partition partition;
    const uint32_t *shard; /* into the partition */
    size_t shard_count;
    uint32_t *order; /* of the shard's samples in the epoch */
    int64_t order_epoch;
    uint32_t *batch; /* sample indices of the round */
    size_t batch_count;
    float *images;
    uint8_t *labels;
    float *parameters;
    float *gradient;
    int64_t local_steps;
    float rate;   /* of a local step */
    float *walk;  /* with local steps: the parameters on their way; else NULL */
    float *slope; /* likewise: the gradient of one step */
    size_t parameter_count;
    int64_t rounds;
    uint64_t seed;
    bool emulate;
    double samples_per_s;
    int64_t started_ns;
    double loss;
    edgeps_err err;
    trainer_done *done;
    void *context;
};

static edgeps_err open_data(trainer *t, const message_welcome *s, nn_kind kind, edgeps_diag *diag)
{
    edgeps_err err = nn_dataset_open(s->data_dir, kind, diag, &t->data);
    if (err)
        return err;
    nn_split_way way = {s->dirichlet ? NN_SPLIT_DIRICHLET : NN_SPLIT_IID, s->alpha, s->seed};
    size_t samples = (size_t)s->sample_count;
    if (samples > nn_dataset_count(t->data, NN_TRAIN))
        return diag_fail(diag, EDGEPS_FORMAT, "%s: holds fewer than %zu training samples",
                         s->data_dir, samples);
    err = nn_split(nn_dataset_labels(t->data, NN_TRAIN), samples, s->shard_count, &way,
                   &t->partition);
    if (err)
        return diag_fail(diag, err, "cannot split %zu samples over %u workers", samples,
                         s->shard_count);
    t->shard = t->partition.indices + t->partition.offsets[s->shard];
    t->shard_count = t->partition.offsets[s->shard + 1] - t->partition.offsets[s->shard];
    return EDGEPS_OK;
}

static edgeps_err make_buffers(trainer *t)
{
    size_t most = t->shard_count / (size_t)t->rounds + 1;
    t->order = mem_alloc(t->shard_count, sizeof *t->order);
    t->batch = mem_alloc(most, sizeof *t->batch);
    t->images = mem_alloc(most * nn_image_values(nn_dataset_image(t->data)), sizeof *t->images);
    t->labels = mem_alloc(most, 1);
    t->parameters = mem_alloc(t->parameter_count, sizeof *t->parameters);
    t->gradient = mem_alloc(t->parameter_count, sizeof *t->gradient);
    bool all = t->order && t->batch && t->images && t->labels && t->parameters && t->gradient;
    if (t->local_steps > 1) {
        t->walk = mem_alloc(t->parameter_count, sizeof *t->walk);
        t->slope = mem_alloc(t->parameter_count, sizeof *t->slope);
        all &= t->walk && t->slope;
    }
    return all ? EDGEPS_OK : EDGEPS_NOMEM;
}

/* The backend builds what it needs for a batch of a size when it meets the first one, which takes
 * as long as dozens of batches; a step has one of two sizes. Built on the thread that computes,
 * while the node waits for its plan and parameters, it holds no round up. What fails here fails in
 * the first round again, and is told there. The parameters are zeros of its own, as those of the
 * job may arrive meanwhile. */
static void warm_up(void *ctx)
{
    trainer *t = ctx;
    size_t steps = (size_t)(t->rounds * t->local_steps);
    size_t least = t->shard_count / steps, most = least + (t->shard_count % steps > 0);
    float *zeros = mem_alloc(t->parameter_count, sizeof *zeros);
    double loss;
    for (size_t size = least > 0 ? least : 1; zeros && size <= most; size++)
        nn_gradient(t->model, zeros, &(nn_batch){t->images, t->labels, size}, t->gradient, &loss);
    mem_free(zeros);
}

static void warmed(void *ctx) { (void)ctx; }

edgeps_err trainer_make(loop *l, const message_welcome *s, edgeps_diag *diag, trainer **out)
{
    nn_kind kind;
    edgeps_err err = nn_kind_of(s->model, diag, &kind);
    trainer *t = mem_alloc(1, sizeof *t);
    if (!err && !t)
        err = diag_fail(diag, EDGEPS_NOMEM, "no memory for a worker");
    if (err)
        goto out;
    t->loop = l;
    t->rounds = s->rounds;
    t->local_steps = s->local_steps;
    t->rate = (float)s->rate;
    t->seed = s->seed;
    t->emulate = s->emulate;
    t->samples_per_s = s->samples_per_s;
    t->parameter_count = (size_t)nn_parameter_count(kind);
    err = open_data(t, s, kind, diag);
    if (!err)
        err =
            nn_model_make(kind, nn_dataset_image(t->data), s->reference_backend ? NN_REF : NN_DNNL,
                          t->shard_count / (size_t)t->rounds + 1, diag, &t->model);
    if (!err && make_buffers(t))
        err = diag_fail(diag, EDGEPS_NOMEM, "no memory for a worker's buffers");
    if (!err)
        err = loop_work(l, warm_up, warmed, t);
    if (err)
        goto out;
    *out = t;
    t = NULL;
out:
    trainer_free(t);
    return err;
}

void trainer_free(trainer *t)
{
    if (!t)
        return;
    nn_model_free(t->model);
    nn_partition_free(&t->partition);
    nn_dataset_close(t->data);
    mem_free(t->order);
    mem_free(t->batch);
    mem_free(t->images);
    mem_free(t->labels);
    mem_free(t->parameters);
    mem_free(t->gradient);
    mem_free(t->walk);
    mem_free(t->slope);
    mem_free(t);
}

float *trainer_parameters(trainer *t) { return t->parameters; }

const float *trainer_gradient(const trainer *t) { return t->gradient; }

void trainer_set_speed(trainer *t, double samples_per_s) { t->samples_per_s = samples_per_s; }

/* The epoch's order is a permutation of the shard, drawn from seed, epoch and shard. */
static void order_epoch(trainer *t, int64_t epoch)
{
    if (t->order_epoch == epoch)
        return;
    uint64_t stream = ((uint64_t)epoch << 32) + (uint64_t)(t->shard - t->partition.indices);
    rng r = rng_make(t->seed, stream);
    rng_permutation(&r, t->shard_count, t->order);
    t->order_epoch = epoch;
}

static void choose_batch(trainer *t, int64_t round)
{
    order_epoch(t, (round - 1) / t->rounds + 1);
    size_t first;
    nn_round_range(t->shard_count, (size_t)t->rounds, (size_t)((round - 1) % t->rounds), &first,
                   &t->batch_count);
    for (size_t k = 0; k < t->batch_count; k++)
        t->batch[k] = t->shard[t->order[first + k]];
}

/* The sum of the gradients at `parameters` over `count` of the round's samples from `first` on. */
static edgeps_err differentiate(trainer *t, size_t first, size_t count, const float *parameters,
                                float *gradient)
{
    double loss = 0;
    nn_dataset_batch(t->data, NN_TRAIN, t->batch + first, count, t->images, t->labels);
    edgeps_err err = nn_gradient(t->model, parameters, &(nn_batch){t->images, t->labels, count},
                                 gradient, &loss);
    t->loss += loss;
    return err;
}

static edgeps_err walk(trainer *t)
{
    edgeps_err err = EDGEPS_OK;
    float *to = t->walk, *pushed = t->gradient;
    memcpy(to, t->parameters, t->parameter_count * sizeof *to);
    for (int64_t k = 0; k < t->local_steps && !err; k++) {
        size_t first, count;
        nn_round_range(t->batch_count, (size_t)t->local_steps, (size_t)k, &first, &count);
        if (count == 0)
            continue;
        err = differentiate(t, first, count, to, t->slope);
        float step = t->rate / (float)count, share = (float)t->batch_count / (float)count;
        for (size_t i = 0; i < t->parameter_count && !err; i++) {
            to[i] -= step * t->slope[i];
            pushed[i] += share * t->slope[i];
        }
    }
    return err;
}

static void compute(void *ctx)
{
    trainer *t = ctx;
    t->loss = 0;
    t->err = EDGEPS_OK;
    if (t->batch_count == 0 || t->local_steps > 1)
        memset(t->gradient, 0, t->parameter_count * sizeof *t->gradient);
    if (t->batch_count == 0)
        return;
    t->err = t->local_steps > 1 ? walk(t)
                                : differentiate(t, 0, t->batch_count, t->parameters, t->gradient);
}

static void finish(void *ctx)
{
    trainer *t = ctx;
    double seconds = clock_since_s(t->started_ns);
    t->done(t->context, t->err ? -1 : (int64_t)t->batch_count, t->loss, seconds);
}

static void computed(void *ctx)
{
    trainer *t = ctx;
    int64_t due_ns = t->started_ns;
    if (t->emulate)
        due_ns += (int64_t)((double)t->batch_count / t->samples_per_s * CLOCK_NS_PER_S);
    int64_t left_ns = due_ns - clock_now_ns();
    if (left_ns <= 0 || loop_timer_start(t->loop, left_ns, finish, t, NULL))
        finish(t);
}

edgeps_err trainer_start(trainer *t, int64_t round, trainer_done *done, void *context)
{
    t->done = done;
    t->context = context;
    t->started_ns = clock_now_ns();
    choose_batch(t, round);
    return loop_work(t->loop, compute, computed, t);
}
