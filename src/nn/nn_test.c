#include "nn/nn.h"

#include "base/mem.h"
#include "base/rng.h"
#include "nn/dataset.h"
#include "nn/nn_int.h"
#include "nn/sgd.h"
#include "nn/synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64, SLOPE_BATCH = 8 };

static const nn_kind kinds[] = {NN_LENET5, NN_MLP};

/* Parameters, a batch of images with plain random values, and labels. */
typedef struct sample {
    size_t count;
    float *parameters;
    float *images;
    uint8_t labels[MOST];
} sample;

static sample make_sample(nn_kind kind, uint64_t seed)
{
    sample s = {.count = (size_t)nn_parameter_count(kind)};
    rng r = rng_make(seed, 0);
    s.parameters = mem_alloc(s.count, sizeof(float));
    s.images = mem_alloc((size_t)MOST * NN_IMAGE_VALUES, sizeof(float));
    nn_initialise(kind, seed, s.parameters);
    for (size_t k = 0; k < (size_t)MOST * NN_IMAGE_VALUES; k++)
        s.images[k] = (float)rng_normal(&r);
    for (size_t k = 0; k < MOST; k++)
        s.labels[k] = (uint8_t)rng_below(&r, NN_CLASSES);
    return s;
}

static void free_sample(sample *s)
{
    mem_free(s->parameters);
    mem_free(s->images);
}

static nn_model *make_model(nn_kind kind, nn_backend which)
{
    nn_model *m = NULL;
    assert_int_equal(nn_model_make(kind, which, MOST, NULL, &m), EDGEPS_OK);
    return m;
}

static void assert_close(const float *a, const float *b, size_t count, double tolerance)
{
    double difference = 0, norm = 0, worst = 0, largest = 0;
    for (size_t k = 0; k < count; k++) {
        double d = (double)a[k] - b[k];
        difference += d * d;
        norm += (double)b[k] * b[k];
        worst = fmax(worst, fabs(d));
        largest = fmax(largest, fabs((double)b[k]));
    }
    if (!(sqrt(difference) <= tolerance * sqrt(norm)) || !(worst <= tolerance * largest))
        fail_msg("norm differs by %g of %g, worst %g of %g", sqrt(difference), sqrt(norm), worst,
                 largest);
}

static void gradients_of_both_backends_agree_at_any_batch_size(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 7, 32, MOST, 7, 1};
    for (size_t k = 0; k < 2; k++) {
        sample s = make_sample(kinds[k], 3 + k);
        nn_model *ref = make_model(kinds[k], NN_REF), *fast = make_model(kinds[k], NN_DNNL);
        float *a = mem_alloc(s.count, sizeof *a), *b = mem_alloc(s.count, sizeof *b);
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
            double loss_a, loss_b;
            assert_int_equal(nn_gradient(ref, s.parameters,
                                         &(nn_batch){s.images, s.labels, sizes[n]}, a, &loss_a),
                             EDGEPS_OK);
            assert_int_equal(nn_gradient(fast, s.parameters,
                                         &(nn_batch){s.images, s.labels, sizes[n]}, b, &loss_b),
                             EDGEPS_OK);
            assert_close(b, a, s.count, 1e-5);
            assert_true(fabs(loss_a - loss_b) <= 1e-5 * loss_a);
        }
        nn_model_free(ref);
        nn_model_free(fast);
        mem_free(a);
        mem_free(b);
        free_sample(&s);
    }
}

static double loss_at(nn_model *m, sample *s, size_t count)
{
    size_t correct;
    double loss;
    assert_int_equal(
        nn_score(m, s->parameters, &(nn_batch){s->images, s->labels, count}, &correct, &loss),
        EDGEPS_OK);
    return loss;
}

/* The slope of the loss along a direction of one tensor, by central differences. Steps of `length`
 * are large against rounding, and so small that few ReLUs and pooling choices flip within them. */
static double slope_along(nn_model *m, sample *s, const nn_tensor *t, const float *direction,
                          float length)
{
    float *p = s->parameters + t->offset, *before = mem_alloc((size_t)t->count, sizeof *before);
    double loss[2];
    memcpy(before, p, (size_t)t->count * sizeof *p);
    for (int side = 0; side < 2; side++) {
        for (int64_t k = 0; k < t->count; k++)
            p[k] = before[k] + (side ? length : -length) * direction[k];
        loss[side] = loss_at(m, s, SLOPE_BATCH);
    }
    memcpy(p, before, (size_t)t->count * sizeof *p);
    mem_free(before);
    return (loss[1] - loss[0]) / (2 * (double)length);
}

/* A direction of unit length: `pull` of the gradient, the rest by chance. */
static void make_direction(const float *gradient, size_t count, float pull, rng *r,
                           float *direction)
{
    double norm = 0, length = 0;
    for (size_t k = 0; k < count; k++)
        norm += (double)gradient[k] * gradient[k];
    for (size_t k = 0; k < count; k++) {
        double chance = rng_normal(r) / sqrt((double)count);
        direction[k] = (float)(pull * gradient[k] / sqrt(norm) + (1 - (double)pull) * chance);
        length += (double)direction[k] * direction[k];
    }
    for (size_t k = 0; k < count; k++)
        direction[k] /= (float)sqrt(length);
}

/* Along the gradient a wrong length or direction shows, by chance a missing part does. */
static void gradients_are_the_slopes_of_the_loss(void **state)
{
    (void)state;
    static const float pulls[] = {1, 0.5F, 0.5F, 0.5F};
    for (size_t k = 0; k < 2; k++) {
        sample s = make_sample(kinds[k], 11);
        nn_model *m = make_model(kinds[k], NN_REF);
        float *gradient = mem_alloc(s.count, sizeof *gradient),
              *direction = mem_alloc(s.count, sizeof *direction);
        double loss;
        nn_tensor t;
        rng r = rng_make(4, 0);
        assert_int_equal(nn_gradient(m, s.parameters, &(nn_batch){s.images, s.labels, SLOPE_BATCH},
                                     gradient, &loss),
                         EDGEPS_OK);
        for (size_t i = 0; nn_tensor_at(kinds[k], i, &t); i++)
            for (size_t n = 0; n < sizeof pulls / sizeof *pulls; n++) {
                const float *g = gradient + t.offset;
                make_direction(g, (size_t)t.count, pulls[n], &r, direction);
                double expected = 0, slope = slope_along(m, &s, &t, direction, 3e-4F);
                for (int64_t v = 0; v < t.count; v++)
                    expected += (double)g[v] * direction[v];
                if (!(fabs(slope - expected) <= 2e-3 * fabs(expected) + 2e-3))
                    fail_msg("%s: slope %g, gradient %g", t.name, slope, expected);
            }
        nn_model_free(m);
        mem_free(gradient);
        mem_free(direction);
        free_sample(&s);
    }
}

static void the_gradient_of_a_batch_is_the_sum_of_its_samples(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        sample s = make_sample(kinds[k], 5);
        nn_model *m = make_model(kinds[k], NN_DNNL);
        float *whole = mem_alloc(s.count, sizeof *whole), *sum = mem_alloc(s.count, sizeof *sum),
              *one = mem_alloc(s.count, sizeof *one);
        double loss, loss_sum = 0, loss_one;
        assert_int_equal(
            nn_gradient(m, s.parameters, &(nn_batch){s.images, s.labels, 16}, whole, &loss),
            EDGEPS_OK);
        for (size_t i = 0; i < 16; i++) {
            assert_int_equal(
                nn_gradient(m, s.parameters,
                            &(nn_batch){s.images + i * NN_IMAGE_VALUES, s.labels + i, 1}, one,
                            &loss_one),
                EDGEPS_OK);
            nn_add(sum, one, s.count);
            loss_sum += loss_one;
        }
        assert_close(sum, whole, s.count, 1e-5);
        assert_true(fabs(loss - loss_sum) < 1e-5 * loss);
        nn_model_free(m);
        mem_free(whole);
        mem_free(sum);
        mem_free(one);
        free_sample(&s);
    }
}

static void tensors_cover_the_flat_vector_in_pytorchs_order(void **state)
{
    (void)state;
    static const char *const lenet[] = {"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias",
                                        "fc1.weight",   "fc1.bias",   "fc2.weight",   "fc2.bias",
                                        "fc3.weight",   "fc3.bias"};
    for (size_t k = 0; k < 2; k++) {
        int64_t next = 0;
        nn_tensor t;
        size_t count = 0;
        for (; nn_tensor_at(kinds[k], count, &t); count++) {
            int64_t values = 1;
            for (size_t d = 0; d < t.rank; d++)
                values *= t.shape[d];
            assert_int_equal(t.offset, next);
            assert_int_equal(t.count, values);
            next += values;
            if (kinds[k] == NN_LENET5)
                assert_string_equal(t.name, lenet[count]);
        }
        assert_int_equal(count, kinds[k] == NN_LENET5 ? 10 : 4);
        assert_int_equal(next, nn_parameter_count(kinds[k]));
    }
    assert_int_equal(nn_parameter_count(NN_LENET5), 61706);
    assert_int_equal(nn_parameter_count(NN_MLP), 101770);
}

static void initial_parameters_follow_the_seed_and_stay_within_their_bound(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        sample a = make_sample(kinds[k], 8), b = make_sample(kinds[k], 8),
               c = make_sample(kinds[k], 9);
        assert_memory_equal(a.parameters, b.parameters, a.count * sizeof(float));
        assert_memory_not_equal(a.parameters, c.parameters, a.count * sizeof(float));
        nn_tensor t;
        for (size_t i = 0; nn_tensor_at(kinds[k], i, &t); i += 2) {
            double bound = 1 / sqrt((double)t.count / (double)t.shape[0]), largest = 0;
            for (int64_t v = t.offset; v < t.offset + t.count + t.shape[0]; v++)
                largest = fmax(largest, fabs((double)a.parameters[v]));
            assert_true(largest <= bound * (1 + 1e-6) && largest > 0.8 * bound);
        }
        free_sample(&a);
        free_sample(&b);
        free_sample(&c);
    }
}

static void threads_stay_what_they_were(void **state)
{
    (void)state;
    sample s = make_sample(NN_LENET5, 2);
    nn_model *m = make_model(NN_LENET5, NN_DNNL);
    float *gradient = mem_alloc(s.count, sizeof *gradient);
    double loss;
    assert_int_equal(
        nn_gradient(m, s.parameters, &(nn_batch){s.images, s.labels, MOST}, gradient, &loss),
        EDGEPS_OK);
    size_t threads = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *e = readdir(tasks); e; e = readdir(tasks))
        threads += e->d_name[0] != '.';
    closedir(tasks);
    assert_int_equal(threads, 1);
    nn_model_free(m);
    mem_free(gradient);
    free_sample(&s);
}

static void train_epoch(nn_model *m, const nn_dataset *data, float *parameters, float *velocity)
{
    enum { BATCH = 50 };
    size_t count = (size_t)nn_parameter_count(NN_MLP);
    float *gradient = mem_alloc(count, sizeof *gradient);
    float *images = mem_alloc((size_t)BATCH * NN_IMAGE_VALUES, sizeof *images);
    uint8_t labels[BATCH];
    uint32_t indices[BATCH];
    for (uint32_t from = 0; from + BATCH <= nn_dataset_count(data, NN_TRAIN); from += BATCH) {
        double loss;
        for (uint32_t k = 0; k < BATCH; k++)
            indices[k] = from + k;
        nn_dataset_batch(data, NN_TRAIN, indices, BATCH, images, labels);
        assert_int_equal(
            nn_gradient(m, parameters, &(nn_batch){images, labels, BATCH}, gradient, &loss),
            EDGEPS_OK);
        nn_sgd_step(parameters, velocity, gradient, count, &(nn_sgd){1.0F / BATCH, 0.05F, 0.9F});
    }
    mem_free(gradient);
    mem_free(images);
}

static void the_mlp_learns_the_synthetic_set(void **state)
{
    (void)state;
    char dir[] = "/tmp/edgeps-nn-XXXXXX", path[128];
    static const char *const files[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                        "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
    nn_dataset *data;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(nn_synthetic_write(dir, 1000, 60, 3, NULL), EDGEPS_OK);
    assert_int_equal(nn_dataset_open(dir, NULL, &data), EDGEPS_OK);
    sample s = make_sample(NN_MLP, 1);
    float *velocity = mem_alloc(s.count, sizeof *velocity);
    nn_model *m = make_model(NN_MLP, NN_DNNL);
    for (int epoch = 0; epoch < 3; epoch++)
        train_epoch(m, data, s.parameters, velocity);
    uint32_t indices[60];
    for (uint32_t k = 0; k < 60; k++)
        indices[k] = k;
    size_t correct;
    double loss;
    nn_dataset_batch(data, NN_TEST, indices, 60, s.images, s.labels);
    assert_int_equal(
        nn_score(m, s.parameters, &(nn_batch){s.images, s.labels, 60}, &correct, &loss), EDGEPS_OK);
    if (correct <= 54)
        fail_msg("%zu of 60 are right", correct);
    nn_model_free(m);
    mem_free(velocity);
    free_sample(&s);
    nn_dataset_close(data);
    for (size_t k = 0; k < 4; k++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[k]);
        unlink(path);
    }
    rmdir(dir);
}

static void making_a_model_survives_each_allocation_failing(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++)
        for (int which = 0; which < 2; which++) {
            edgeps_err err = EDGEPS_NOMEM;
            for (long n = 1; err; n++) {
                nn_model *m = NULL;
                mem_fail_at(n);
                err = nn_model_make(kinds[k], (nn_backend)which, 4, NULL, &m);
                mem_fail_at(0);
                assert_true(err == EDGEPS_OK ? m != NULL : err == EDGEPS_NOMEM && m == NULL);
                nn_model_free(m);
            }
        }
}

static void a_model_is_usable_after_a_batch_found_no_memory(void **state)
{
    (void)state;
    sample s = make_sample(NN_LENET5, 6);
    nn_model *m = make_model(NN_LENET5, NN_DNNL);
    float *gradient = mem_alloc(s.count, sizeof *gradient);
    double loss = -1;
    mem_fail_at(1);
    edgeps_err err =
        nn_gradient(m, s.parameters, &(nn_batch){s.images, s.labels, 3}, gradient, &loss);
    mem_fail_at(0);
    assert_int_equal(err, EDGEPS_INTERNAL);
    assert_true(loss == -1);
    assert_int_equal(
        nn_gradient(m, s.parameters, &(nn_batch){s.images, s.labels, 3}, gradient, &loss),
        EDGEPS_OK);
    assert_true(fabs(loss - 3 * log(10)) < 2); /* an untrained net guesses among ten */
    nn_model_free(m);
    mem_free(gradient);
    free_sample(&s);
}

static void unknown_models_are_refused_with_a_choice(void **state)
{
    (void)state;
    edgeps_diag diag;
    nn_kind kind = NN_LENET5;
    assert_int_equal(nn_kind_of("mlp", NULL, &kind), EDGEPS_OK);
    assert_int_equal(kind, NN_MLP);
    assert_int_equal(nn_kind_of("lenet", &diag, &kind), EDGEPS_USAGE);
    assert_int_equal(kind, NN_MLP);
    assert_string_equal(diag.text, "model 'lenet' is not known; choose lenet5 or mlp");
    assert_int_equal(nn_kind_of("lenet5", NULL, &kind), EDGEPS_OK);
    assert_int_equal(kind, NN_LENET5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_stay_what_they_were),
        cmocka_unit_test(gradients_of_both_backends_agree_at_any_batch_size),
        cmocka_unit_test(gradients_are_the_slopes_of_the_loss),
        cmocka_unit_test(the_gradient_of_a_batch_is_the_sum_of_its_samples),
        cmocka_unit_test(tensors_cover_the_flat_vector_in_pytorchs_order),
        cmocka_unit_test(initial_parameters_follow_the_seed_and_stay_within_their_bound),
        cmocka_unit_test(the_mlp_learns_the_synthetic_set),
        cmocka_unit_test(making_a_model_survives_each_allocation_failing),
        cmocka_unit_test(a_model_is_usable_after_a_batch_found_no_memory),
        cmocka_unit_test(unknown_models_are_refused_with_a_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
