#include "nn/dataset.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEAN 0.1307F
#define DEVIATION 0.3081F

typedef struct mapping {
    void *bytes;
    size_t size;
    size_t items;
    const uint8_t *first;
} mapping;

struct nn_dataset {
    nn_image image; /* as the model reads it */
    mapping images[2];
    mapping labels[2];
};

static uint32_t big_endian(const uint8_t *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

edgeps_err nn_idx_check(const uint8_t *bytes, size_t size, int rank, edgeps_diag *diag,
                        size_t *items, const uint8_t **first)
{
    size_t header = 4 + 4 * (size_t)rank;
    uint32_t magic = rank == 3 ? 0x803 : 0x801;
    if (size < header)
        return diag_fail(diag, EDGEPS_FORMAT, "byte 0: the header of %zu bytes is cut off", header);
    if (big_endian(bytes) != magic)
        return diag_fail(diag, EDGEPS_FORMAT, "byte 0: magic 0x%08x, not 0x%08x: no IDX file of %s",
                         big_endian(bytes), magic, rank == 3 ? "images" : "labels");
    size_t count = big_endian(bytes + 4), item = rank == 3 ? NN_IMAGE_VALUES : 1;
    for (int k = 1; k < rank; k++)
        if (big_endian(bytes + 4 + 4 * k) != NN_IMAGE_SIDE)
            return diag_fail(diag, EDGEPS_FORMAT, "byte %d: images of side %u, not %d", 4 + 4 * k,
                             big_endian(bytes + 4 + 4 * k), NN_IMAGE_SIDE);
    if (count == 0 || size - header != count * item)
        return diag_fail(diag, EDGEPS_FORMAT,
                         "byte 4: says %zu items of %zu bytes, the file has %zu", count, item,
                         size - header);
    for (size_t k = 0; rank == 1 && k < count; k++)
        if (bytes[header + k] >= NN_CLASSES)
            return diag_fail(diag, EDGEPS_FORMAT, "byte %zu: label %d is above %d", header + k,
                             bytes[header + k], NN_CLASSES - 1);
    *items = count;
    *first = bytes + header;
    return EDGEPS_OK;
}

static edgeps_err map_file(const char *path, edgeps_diag *diag, mapping *m)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return diag_fail(diag, EDGEPS_USAGE,
                         "%s: cannot be read: %s; fetch MNIST with ./dev setup, or name the folder "
                         "of the data with --data",
                         path, strerror(errno));
    void *bytes = MAP_FAILED;
    size_t size = 0;
    if (fstat(fd, &about) == 0 && about.st_size > 0) {
        size = (size_t)about.st_size;
        bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    }
    close(fd);
    if (bytes == MAP_FAILED)
        return diag_fail(diag, EDGEPS_FORMAT, "%s: is empty or no plain file; fetch it again",
                         path);
    m->bytes = bytes;
    m->size = size;
    return EDGEPS_OK;
}

static edgeps_err open_file(const char *dir, const char *name, int rank, edgeps_diag *diag,
                            mapping *m)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    edgeps_err err = map_file(path, diag, m);
    if (err)
        return err;
    err = nn_idx_check(m->bytes, m->size, rank, diag, &m->items, &m->first);
    if (err && diag) {
        diag_wrap(diag, err, "%s", path);
        size_t used = strlen(diag->text);
        snprintf(diag->text + used, sizeof diag->text - used, "; fetch it again");
    }
    return err;
}

edgeps_err nn_dataset_open(const char *dir, nn_kind reader, edgeps_diag *diag, nn_dataset **out)
{
    static const char *const names[2][2] = {
        {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
        {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
    };
    nn_dataset *d = mem_alloc(1, sizeof *d);
    edgeps_err err = d ? EDGEPS_OK : diag_fail(diag, EDGEPS_NOMEM, "no memory for a data set");
    if (!err)
        err = nn_input_of(reader, (nn_image){1, NN_IMAGE_SIDE}, diag, &d->image);
    for (int set = 0; !err && set < 2; set++) {
        err = open_file(dir, names[set][0], 3, diag, &d->images[set]);
        if (!err)
            err = open_file(dir, names[set][1], 1, diag, &d->labels[set]);
        if (!err && d->images[set].items != d->labels[set].items)
            err = diag_fail(diag, EDGEPS_FORMAT, "%s: %zu images but %zu labels in %s", dir,
                            d->images[set].items, d->labels[set].items, names[set][1]);
    }
    if (err)
        nn_dataset_close(d);
    else
        *out = d;
    return err;
}

void nn_dataset_close(nn_dataset *d)
{
    if (!d)
        return;
    for (int set = 0; set < 2; set++) {
        if (d->images[set].bytes)
            munmap(d->images[set].bytes, d->images[set].size);
        if (d->labels[set].bytes)
            munmap(d->labels[set].bytes, d->labels[set].size);
    }
    mem_free(d);
}

nn_image nn_dataset_image(const nn_dataset *d) { return d->image; }

size_t nn_dataset_count(const nn_dataset *d, nn_set set) { return d->images[set].items; }

const uint8_t *nn_dataset_labels(const nn_dataset *d, nn_set set) { return d->labels[set].first; }

void nn_dataset_batch(const nn_dataset *d, nn_set set, const uint32_t *indices, size_t count,
                      float *images, uint8_t *labels)
{
    for (size_t k = 0; k < count; k++) {
        const uint8_t *from = d->images[set].first + (size_t)indices[k] * NN_IMAGE_VALUES;
        float *to = images + k * nn_image_values(d->image);
        for (size_t v = 0; v < NN_IMAGE_VALUES; v++)
            to[v] = ((float)from[v] / 255 - MEAN) / DEVIATION;
        for (int c = 1; c < d->image.channels; c++)
            memcpy(to + (size_t)c * NN_IMAGE_VALUES, to, NN_IMAGE_VALUES * sizeof *to);
        labels[k] = d->labels[set].first[indices[k]];
    }
}
