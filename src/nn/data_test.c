#include "base/mem.h"
#include "base/rng.h"
#include "nn/dataset.h"
#include "nn/sgd.h"
#include "nn/split.h"
#include "nn/synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[64];

static const char *const files[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                    "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/edgeps-data-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(nn_synthetic_write(dir, 50, 20, 3, NULL), EDGEPS_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char path[128];
    for (size_t k = 0; k < 4; k++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[k]);
        unlink(path);
    }
    return rmdir(dir) ? -1 : 0;
}

static void a_written_set_reads_back_scaled(void **state)
{
    (void)state;
    nn_dataset *d;
    assert_int_equal(nn_dataset_open(dir, NN_MLP, NULL, &d), EDGEPS_OK);
    assert_int_equal(nn_dataset_count(d, NN_TRAIN), 50);
    assert_int_equal(nn_dataset_count(d, NN_TEST), 20);
    float images[2 * NN_IMAGE_VALUES];
    uint8_t labels[2];
    const uint32_t indices[] = {7, 49};
    nn_dataset_batch(d, NN_TRAIN, indices, 2, images, labels);
    assert_int_equal(labels[0], nn_dataset_labels(d, NN_TRAIN)[7]);
    assert_int_equal(labels[1], nn_dataset_labels(d, NN_TRAIN)[49]);
    for (size_t k = 0; k < 2 * (size_t)NN_IMAGE_VALUES; k++) {
        double grey = ((double)images[k] * 0.3081 + 0.1307) * 255;
        assert_true(fabs(grey - round(grey)) < 1e-3 && grey > -0.1 && grey < 255.1);
    }
    nn_dataset_close(d);
}

/* Changes one byte of a file (or cuts it there when `value` is -1) and expects this refusal. */
static void refuses(size_t file, long at, int value, edgeps_err expected, const char *words)
{
    char path[128];
    edgeps_diag diag = {.text = ""};
    nn_dataset *d = NULL;
    snprintf(path, sizeof path, "%s/%s", dir, files[file]);
    if (value < 0) {
        assert_int_equal(truncate(path, at), 0);
    } else {
        FILE *f = fopen(path, "r+e");
        assert_non_null(f);
        assert_int_equal(fseek(f, at, SEEK_SET), 0);
        fputc(value, f);
        fclose(f);
    }
    assert_int_equal(nn_dataset_open(dir, NN_MLP, &diag, &d), expected);
    assert_null(d);
    if (!strstr(diag.text, words) || !strstr(diag.text, files[file]))
        fail_msg("'%s' lacks '%s' or the file", diag.text, words);
    assert_int_equal(nn_synthetic_write(dir, 50, 20, 3, NULL), EDGEPS_OK);
}

static void damage_is_told_with_file_byte_and_remedy(void **state)
{
    (void)state;
    refuses(0, 3, 9, EDGEPS_FORMAT, "byte 0: magic");
    refuses(0, 10, -1, EDGEPS_FORMAT, "byte 0: the header of 16 bytes is cut off");
    refuses(0, 11, 27, EDGEPS_FORMAT, "byte 8: images of side 27, not 28");
    refuses(0, 15, 29, EDGEPS_FORMAT, "byte 12: images of side 29");
    refuses(0, 7, 51, EDGEPS_FORMAT, "byte 4: says 51 items");
    refuses(2, 4000, -1, EDGEPS_FORMAT, "byte 4: says 20 items");
    refuses(1, 8 + 5, 12, EDGEPS_FORMAT, "byte 13: label 12 is above 9; fetch it again");
    refuses(3, 0, -1, EDGEPS_FORMAT, "is empty or no plain file");
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, files[3]);
    unlink(path);
    edgeps_diag diag;
    nn_dataset *d;
    assert_int_equal(nn_dataset_open(dir, NN_MLP, &diag, &d), EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "No such file or directory; fetch MNIST with ./dev setup"));
}

static void opening_survives_each_allocation_failing(void **state)
{
    (void)state;
    edgeps_err err = EDGEPS_NOMEM;
    for (long n = 1; err; n++) {
        nn_dataset *d = NULL;
        mem_fail_at(n);
        err = nn_dataset_open(dir, NN_MLP, NULL, &d);
        mem_fail_at(0);
        assert_true(err == EDGEPS_OK ? d != NULL : err == EDGEPS_NOMEM && d == NULL);
        nn_dataset_close(d);
    }
}

static void a_folder_that_takes_no_files_is_named(void **state)
{
    (void)state;
    edgeps_diag diag;
    char missing[80];
    snprintf(missing, sizeof missing, "%s/none", dir);
    assert_int_equal(nn_synthetic_write(missing, 1, 1, 3, &diag), EDGEPS_IO);
    assert_non_null(strstr(diag.text, "/none: the train files cannot be written: No such file"));
}

enum { SAMPLES = 5000, PARTS = 12 };

static uint8_t *some_labels(void)
{
    uint8_t *labels = mem_alloc(SAMPLES, 1);
    for (size_t k = 0; k < SAMPLES; k++)
        labels[k] = (uint8_t)(k * 7 % 10);
    return labels;
}

static void assert_partition(const nn_partition *p, size_t samples)
{
    bool *seen = mem_alloc(samples, sizeof *seen);
    assert_int_equal(p->offsets[0], 0);
    assert_int_equal(p->offsets[p->parts], samples);
    for (size_t q = 0; q < p->parts; q++)
        assert_true(p->offsets[q] < p->offsets[q + 1]);
    for (size_t k = 0; k < samples; k++) {
        assert_true(p->indices[k] < samples);
        assert_false(seen[p->indices[k]]);
        seen[p->indices[k]] = true;
    }
    mem_free(seen);
}

static void every_sample_goes_to_exactly_one_part(void **state)
{
    (void)state;
    uint8_t *labels = some_labels();
    static const double alphas[] = {0.05, 0.5, 100};
    for (uint64_t seed = 1; seed <= 5; seed++)
        for (size_t k = 0; k < 4; k++) {
            nn_partition p;
            assert_int_equal(nn_split(labels, SAMPLES, PARTS,
                                      &(nn_split_way){k ? NN_SPLIT_DIRICHLET : NN_SPLIT_IID,
                                                      k ? alphas[k - 1] : 0, seed},
                                      &p),
                             EDGEPS_OK);
            assert_partition(&p, SAMPLES);
            for (size_t q = 0; k == 0 && q < PARTS; q++) {
                size_t size = p.offsets[q + 1] - p.offsets[q];
                assert_true(size == SAMPLES / PARTS || size == SAMPLES / PARTS + 1);
            }
            nn_partition_free(&p);
        }
    nn_partition p;
    assert_int_equal(nn_split(labels, 3, 3, &(nn_split_way){NN_SPLIT_DIRICHLET, 0.01, 1}, &p),
                     EDGEPS_OK);
    assert_partition(&p, 3);
    nn_partition_free(&p);
    assert_int_equal(nn_split(labels, 3, 4, &(nn_split_way){NN_SPLIT_IID, 0, 1}, &p), EDGEPS_USAGE);
    mem_free(labels);
}

/* Mean over the parts of the share of a part's commonest label. */
static double skew(const uint8_t *labels, double alpha, uint64_t seed)
{
    nn_partition p;
    double sum = 0;
    assert_int_equal(
        nn_split(labels, SAMPLES, PARTS, &(nn_split_way){NN_SPLIT_DIRICHLET, alpha, seed}, &p),
        EDGEPS_OK);
    for (size_t q = 0; q < PARTS; q++) {
        size_t of_label[10] = {0}, most = 0;
        for (size_t k = p.offsets[q]; k < p.offsets[q + 1]; k++)
            of_label[labels[p.indices[k]]]++;
        for (int c = 0; c < 10; c++)
            most = of_label[c] > most ? of_label[c] : most;
        sum += (double)most / (double)(p.offsets[q + 1] - p.offsets[q]);
    }
    nn_partition_free(&p);
    return sum / PARTS;
}

static void dirichlet_shards_are_the_more_skewed_the_smaller_alpha(void **state)
{
    (void)state;
    uint8_t *labels = some_labels();
    for (uint64_t seed = 1; seed <= 5; seed++) {
        double sharp = skew(labels, 0.05, seed), middle = skew(labels, 0.5, seed),
               flat = skew(labels, 100, seed);
        assert_true(sharp > middle && middle > flat);
        assert_true(flat < 0.2 && sharp > 0.5);
    }
    mem_free(labels);
}

static void the_same_seed_gives_the_same_split(void **state)
{
    (void)state;
    uint8_t *labels = some_labels();
    nn_partition a, b, c;
    assert_int_equal(
        nn_split(labels, SAMPLES, PARTS, &(nn_split_way){NN_SPLIT_DIRICHLET, 0.5, 4}, &a),
        EDGEPS_OK);
    assert_int_equal(
        nn_split(labels, SAMPLES, PARTS, &(nn_split_way){NN_SPLIT_DIRICHLET, 0.5, 4}, &b),
        EDGEPS_OK);
    assert_int_equal(
        nn_split(labels, SAMPLES, PARTS, &(nn_split_way){NN_SPLIT_DIRICHLET, 0.5, 5}, &c),
        EDGEPS_OK);
    assert_memory_equal(a.indices, b.indices, SAMPLES * sizeof *a.indices);
    assert_memory_not_equal(a.indices, c.indices, SAMPLES * sizeof *a.indices);
    nn_partition_free(&a);
    nn_partition_free(&b);
    nn_partition_free(&c);
    mem_free(labels);
}

static void splitting_survives_each_allocation_failing(void **state)
{
    (void)state;
    uint8_t *labels = some_labels();
    edgeps_err err = EDGEPS_NOMEM;
    for (long n = 1; err; n++) {
        nn_partition p = {0};
        mem_fail_at(n);
        err = nn_split(labels, SAMPLES, PARTS, &(nn_split_way){NN_SPLIT_DIRICHLET, 0.5, 4}, &p);
        mem_fail_at(0);
        assert_true(err == EDGEPS_OK ? p.indices != NULL : err == EDGEPS_NOMEM && !p.indices);
        nn_partition_free(&p);
    }
    mem_free(labels);
}

/* All draws of Gamma(0.001) underflow in every eighth label; 300 splits share them out evenly. */
static void tiny_alphas_favour_no_part(void **state)
{
    (void)state;
    enum { SPLITS = 300, FEW = 3, COUNT = 600 };
    uint8_t *labels = some_labels();
    size_t size[FEW] = {0};
    for (uint64_t seed = 0; seed < SPLITS; seed++) {
        nn_partition p;
        assert_int_equal(
            nn_split(labels, COUNT, FEW, &(nn_split_way){NN_SPLIT_DIRICHLET, 1e-3, seed}, &p),
            EDGEPS_OK);
        for (size_t q = 0; q < FEW; q++)
            size[q] += p.offsets[q + 1] - p.offsets[q];
        nn_partition_free(&p);
    }
    /* 3000 labels to three parts: a part's share has a deviation of 0.009 */
    for (size_t q = 0; q < FEW; q++)
        assert_true(fabs((double)size[q] / (SPLITS * COUNT) - 1.0 / FEW) < 0.035);
    mem_free(labels);
}

static void alphas_that_are_no_concentration_are_refused(void **state)
{
    (void)state;
    static const double alphas[] = {0, -1, NAN, INFINITY};
    uint8_t *labels = some_labels();
    nn_partition p;
    for (size_t k = 0; k < sizeof alphas / sizeof *alphas; k++)
        assert_int_equal(
            nn_split(labels, SAMPLES, PARTS, &(nn_split_way){NN_SPLIT_DIRICHLET, alphas[k], 1}, &p),
            EDGEPS_USAGE);
    mem_free(labels);
}

static void rounds_cover_a_shard_once(void **state)
{
    (void)state;
    for (size_t shard = 0; shard < 60; shard++)
        for (size_t rounds = 1; rounds < 20; rounds++) {
            size_t next = 0;
            for (size_t r = 0; r < rounds; r++) {
                size_t first, count;
                nn_round_range(shard, rounds, r, &first, &count);
                assert_int_equal(first, next);
                assert_true(count <= shard / rounds + 1 && count + 1 >= shard / rounds);
                next += count;
            }
            assert_int_equal(next, shard);
        }
}

/* What a standby derives is what the global server has, within the rounding of the parameters. */
static void velocity_follows_from_two_versions_of_the_parameters(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    float p[COUNT], before[COUNT], v[COUNT], gradient[COUNT], derived[COUNT];
    rng r = rng_make(3, 0);
    const nn_sgd how = {.scale = 1, .rate = 0.03F, .momentum = 0.9F};
    for (size_t k = 0; k < COUNT; k++) {
        before[k] = p[k] = (float)(rng_uniform(&r) - 0.5);
        v[k] = 0.02F * (float)(rng_uniform(&r) - 0.5);
        gradient[k] = 0.01F * (float)(rng_uniform(&r) - 0.5);
    }
    nn_sgd_step(p, v, gradient, COUNT, &how);
    nn_sgd_velocity(before, p, COUNT, how.rate, derived);
    for (size_t k = 0; k < COUNT; k++)
        assert_true(fabsf(derived[k] - v[k]) <= 2 * FLT_EPSILON * 0.5F / how.rate);
}

static void sgd_follows_its_formula(void **state)
{
    (void)state;
    float p[] = {1, -2}, v[] = {0.5F, 0}, sum[] = {4, -8};
    nn_sgd_step(p, v, sum, 2, &(nn_sgd){0.25F, 0.1F, 0.9F});
    /* v = 0.9 x 0.5 + 1 = 1.45; p = 1 - 0.145.  v = -2; p = -2 + 0.2 */
    assert_true(fabsf(v[0] - 1.45F) < 1e-6F && fabsf(p[0] - 0.855F) < 1e-6F);
    assert_true(fabsf(v[1] + 2) < 1e-6F && fabsf(p[1] + 1.8F) < 1e-6F);
    nn_add(sum, v, 2);
    assert_true(fabsf(sum[0] - 5.45F) < 1e-6F && fabsf(sum[1] + 10) < 1e-6F);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_written_set_reads_back_scaled),
        UNIT(opening_survives_each_allocation_failing),
        cmocka_unit_test(every_sample_goes_to_exactly_one_part),
        cmocka_unit_test(dirichlet_shards_are_the_more_skewed_the_smaller_alpha),
        cmocka_unit_test(the_same_seed_gives_the_same_split),
        cmocka_unit_test(splitting_survives_each_allocation_failing),
        cmocka_unit_test(tiny_alphas_favour_no_part),
        cmocka_unit_test(alphas_that_are_no_concentration_are_refused),
        cmocka_unit_test(rounds_cover_a_shard_once),
        cmocka_unit_test(sgd_follows_its_formula),
        cmocka_unit_test(velocity_follows_from_two_versions_of_the_parameters),
        UNIT(a_folder_that_takes_no_files_is_named),
        UNIT(damage_is_told_with_file_byte_and_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
