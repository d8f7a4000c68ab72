#include "nn/synthetic.h"

#include "base/rng.h"
#include "nn/nn.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BLOTS 4
#define BLOT_RADIUS 3.5
#define MOST_SHIFT 1.5
#define NOISE 30

typedef struct pattern {
    double x[BLOTS], y[BLOTS];
} pattern;

static void draw(const pattern *p, rng *r, uint8_t *image)
{
    double dx = MOST_SHIFT * (2 * rng_uniform(r) - 1), dy = MOST_SHIFT * (2 * rng_uniform(r) - 1);
    for (int k = 0; k < NN_IMAGE_VALUES; k++) {
        int row = k / NN_IMAGE_SIDE, column = k % NN_IMAGE_SIDE;
        double ink = NOISE * rng_normal(r);
        for (int b = 0; b < BLOTS; b++) {
            double x = column - p->x[b] - dx, y = row - p->y[b] - dy;
            ink += 255 * exp(-(x * x + y * y) / (BLOT_RADIUS * BLOT_RADIUS));
        }
        image[k] = (uint8_t)fmax(0, fmin(255, ink));
    }
}

static bool put(FILE *file, uint32_t value)
{
    const uint8_t bytes[] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
                             (uint8_t)value};
    return fwrite(bytes, 4, 1, file) == 1;
}

static bool write_samples(FILE *images, FILE *labels, size_t count, const pattern *patterns, rng *r)
{
    uint8_t image[NN_IMAGE_VALUES];
    bool good = put(images, 0x803) && put(images, (uint32_t)count) && put(images, NN_IMAGE_SIDE) &&
                put(images, NN_IMAGE_SIDE) && put(labels, 0x801) && put(labels, (uint32_t)count);
    for (size_t k = 0; good && k < count; k++) {
        int label = (int)rng_below(r, NN_CLASSES);
        draw(&patterns[label], r, image);
        good = fwrite(image, sizeof image, 1, images) == 1 && fputc(label, labels) != EOF;
    }
    return good;
}

static edgeps_err write_set(const char *dir, const char *set, size_t count, const pattern *patterns,
                            rng *r, edgeps_diag *diag)
{
    char image_path[4096], label_path[4096];
    snprintf(image_path, sizeof image_path, "%s/%s-images-idx3-ubyte", dir, set);
    snprintf(label_path, sizeof label_path, "%s/%s-labels-idx1-ubyte", dir, set);
    FILE *images = fopen(image_path, "we"), *labels = fopen(label_path, "we");
    bool good = images && labels && write_samples(images, labels, count, patterns, r);
    if (images && fclose(images))
        good = false;
    if (labels && fclose(labels))
        good = false;
    return good ? EDGEPS_OK
                : diag_fail(diag, EDGEPS_IO, "%s: the %s files cannot be written: %s", dir, set,
                            strerror(errno));
}

edgeps_err nn_synthetic_write(const char *dir, size_t train_count, size_t test_count, uint64_t seed,
                              edgeps_diag *diag)
{
    pattern patterns[NN_CLASSES];
    rng r = rng_make(seed, 11);
    for (int c = 0; c < NN_CLASSES; c++)
        for (int b = 0; b < BLOTS; b++) {
            patterns[c].x[b] = 4 + 20 * rng_uniform(&r);
            patterns[c].y[b] = 4 + 20 * rng_uniform(&r);
        }
    edgeps_err err = write_set(dir, "train", train_count, patterns, &r, diag);
    return err ? err : write_set(dir, "t10k", test_count, patterns, &r, diag);
}
