/* Local SGD against federated averaging as its authors write it: each worker walks a model of its
 * own, and the models are averaged. */
#include "node/node_fixture.h"

#include "base/mem.h"
#include "base/rng.h"
#include "nn/dataset.h"
#include "nn/nn.h"
#include "nn/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

enum { WORKERS = 3, SAMPLES = 360, BATCH = 20, STEPS = 3, ROUNDS = 2 };

typedef struct averaging {
    const fixture *f;
    nn_dataset *data;
    nn_partition parts;
    nn_model *model;
    size_t count; /* of parameters */
    float *global;
    float *local;
    float *gradient;
    double *mean;     /* of the workers' models, weighted by their samples */
    double *velocity; /* of the server */
    float *images;
    uint8_t *labels;
} averaging;

static void make_averaging(averaging *a, const fixture *f)
{
    nn_split_way way = {NN_SPLIT_DIRICHLET, f->options.alpha, f->options.seed};
    *a = (averaging){.f = f, .count = (size_t)nn_parameter_count(NN_MLP)};
    assert_int_equal(nn_dataset_open(f->data, NN_MLP, NULL, &a->data), EDGEPS_OK);
    assert_int_equal(
        nn_split(nn_dataset_labels(a->data, NN_TRAIN), SAMPLES, WORKERS, &way, &a->parts),
        EDGEPS_OK);
    assert_int_equal(nn_model_make(NN_MLP, nn_input(NN_MLP), NN_REF, SAMPLES, NULL, &a->model),
                     EDGEPS_OK);
    a->global = mem_alloc(a->count, sizeof(float));
    a->local = mem_alloc(a->count, sizeof(float));
    a->gradient = mem_alloc(a->count, sizeof(float));
    a->mean = mem_alloc(a->count, sizeof(double));
    a->velocity = mem_alloc(a->count, sizeof(double));
    a->images = mem_alloc((size_t)SAMPLES * NN_IMAGE_VALUES, sizeof(float));
    a->labels = mem_alloc(SAMPLES, 1);
    nn_initialise(NN_MLP, f->options.seed, a->global);
}

static void free_averaging(averaging *a)
{
    nn_model_free(a->model);
    nn_partition_free(&a->parts);
    nn_dataset_close(a->data);
    mem_free(a->global);
    mem_free(a->local);
    mem_free(a->gradient);
    mem_free(a->mean);
    mem_free(a->velocity);
    mem_free(a->images);
    mem_free(a->labels);
}

static void step(averaging *a, const uint32_t *indices, size_t count)
{
    double loss;
    if (count == 0)
        return;
    nn_dataset_batch(a->data, NN_TRAIN, indices, count, a->images, a->labels);
    assert_int_equal(nn_gradient(a->model, a->local, &(nn_batch){a->images, a->labels, count},
                                 a->gradient, &loss),
                     EDGEPS_OK);
    for (size_t i = 0; i < a->count; i++)
        a->local[i] -= (float)(a->f->options.rate / (double)count) * a->gradient[i];
}

/* Walks worker `w`'s model through its steps of the round; how many samples it took. The order of
 * its samples is the run's. */
static size_t walk(averaging *a, size_t w, size_t round)
{
    uint32_t order[SAMPLES], batch[SAMPLES];
    size_t begin = a->parts.offsets[w], count = a->parts.offsets[w + 1] - begin;
    size_t first, taken, from, some;
    rng r = rng_make(a->f->options.seed, (UINT64_C(1) << 32) + begin);
    rng_permutation(&r, count, order);
    nn_round_range(count, ROUNDS, round, &first, &taken);
    memcpy(a->local, a->global, a->count * sizeof(float));
    for (size_t k = 0; k < STEPS; k++) {
        nn_round_range(taken, STEPS, k, &from, &some);
        for (size_t i = 0; i < some; i++)
            batch[i] = a->parts.indices[begin + order[first + from + i]];
        step(a, batch, some);
    }
    return taken;
}

/* The mean model is what the server's optimizer moves to: at once without momentum. */
static void average_round(averaging *a, size_t round)
{
    double total = 0, rate = a->f->options.rate;
    memset(a->mean, 0, a->count * sizeof *a->mean);
    for (size_t w = 0; w < WORKERS; w++) {
        size_t taken = walk(a, w, round);
        total += (double)taken;
        for (size_t i = 0; i < a->count; i++)
            a->mean[i] += (double)taken * a->local[i];
    }
    for (size_t i = 0; i < a->count; i++) {
        double pseudo_gradient = (a->global[i] - a->mean[i] / total) / rate;
        a->velocity[i] = a->f->options.momentum * a->velocity[i] + pseudo_gradient;
        a->global[i] -= (float)(rate * a->velocity[i]);
    }
}

static double distance(const float *a, const float *b, const float *from, size_t count)
{
    double difference = 0, way = 0;
    for (size_t k = 0; k < count; k++) {
        difference += ((double)a[k] - b[k]) * ((double)a[k] - b[k]);
        way += ((double)b[k] - from[k]) * ((double)b[k] - from[k]);
    }
    return sqrt(difference / way);
}

static void compare_with_averaging(double momentum)
{
    fixture f;
    averaging a;
    edgeps_diag diag = {.text = ""};
    fixture_make(&f, WORKERS, SAMPLES, BATCH);
    f.options.job.local_steps = STEPS;
    f.options.dirichlet = true;
    f.options.alpha = 0.5;
    f.options.momentum = momentum;
    if (fixture_run(&f, &diag))
        fail_msg("%s", diag.text);
    assert_int_equal(f.rounds, ROUNDS);
    assert_int_equal(fixture_nth(&f, METER_EPOCH, 0)->measured.samples, SAMPLES);
    make_averaging(&a, &f);
    float *begin = mem_alloc(a.count, sizeof *begin);
    memcpy(begin, a.global, a.count * sizeof *begin);
    for (size_t r = 0; r < ROUNDS; r++)
        average_round(&a, r);
    float *trained = fixture_model(&f);
    double off = distance(trained, a.global, begin, a.count);
    if (!(off < 1e-5)) /* of the way that training went; float32 sums in another order */
        fail_msg("momentum %g: off by %g", momentum, off);
    mem_free(trained);
    mem_free(begin);
    free_averaging(&a);
    fixture_free(&f);
}

static void without_momentum_it_is_federated_averaging(void **state)
{
    (void)state;
    compare_with_averaging(0);
}

static void with_momentum_the_server_moves_along_the_pseudo_gradient(void **state)
{
    (void)state;
    compare_with_averaging(0.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_momentum_it_is_federated_averaging),
        cmocka_unit_test(with_momentum_the_server_moves_along_the_pseudo_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
