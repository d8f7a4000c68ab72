/* Writes what the PyTorch oracle compares: for a model, parameters, a batch, and each backend's
 * gradient and loss, as raw little-endian numbers. usage: nn_dump MODEL BATCH SEED SIDE
 * >FILE
 *
 *     u32 parameters, u32 batch, f32 parameters[], f32 images[batch x channels x SIDE x SIDE], u8
 * labels[batch], then for ref and dnnl: f64 loss sum, f32 gradient[]
 */
#include "base/mem.h"
#include "base/rng.h"
#include "nn/nn.h"

#include <stdio.h>
#include <stdlib.h>

static int put(const void *bytes, size_t size, size_t count)
{
    return fwrite(bytes, size, count, stdout) == count;
}

static int dump(nn_kind kind, size_t batch, uint64_t seed, int side)
{
    nn_image image = {nn_input(kind).channels, side};
    size_t values = batch * nn_image_values(image);
    uint32_t head[] = {(uint32_t)nn_parameter_count(kind), (uint32_t)batch};
    float *parameters = mem_alloc(head[0], sizeof(float)),
          *gradient = mem_alloc(head[0], sizeof(float));
    float *images = mem_alloc(values, sizeof(float));
    uint8_t *labels = mem_alloc(batch, 1);
    int good = parameters && gradient && images && labels;
    rng r = rng_make(seed, 1);
    if (!good)
        return 0;
    nn_initialise(kind, seed, parameters);
    for (size_t k = 0; k < values; k++)
        images[k] = (float)rng_normal(&r);
    for (size_t k = 0; k < batch; k++)
        labels[k] = (uint8_t)rng_below(&r, NN_CLASSES);
    good = put(head, sizeof head, 1) && put(parameters, sizeof(float), head[0]) &&
           put(images, sizeof(float), values) && put(labels, 1, batch);
    for (int which = NN_REF; good && which <= NN_DNNL; which++) {
        nn_model *m = NULL;
        double loss = 0;
        good = !nn_model_make(kind, image, (nn_backend)which, batch, NULL, &m) &&
               !nn_gradient(m, parameters, &(nn_batch){images, labels, batch}, gradient, &loss) &&
               put(&loss, sizeof loss, 1) && put(gradient, sizeof(float), head[0]);
        nn_model_free(m);
    }
    mem_free(parameters);
    mem_free(gradient);
    mem_free(images);
    mem_free(labels);
    return good;
}

int main(int argc, char **argv)
{
    nn_kind kind;
    if (argc != 5 || nn_kind_of(argv[1], NULL, &kind))
        return 2;
    size_t batch = strtoul(argv[2], NULL, 10);
    int side = (int)strtol(argv[4], NULL, 10);
    return dump(kind, batch, strtoull(argv[3], NULL, 10), side) ? 0 : 1;
}
