#include "nn/split.h"

#include "base/mem.h"
#include "base/rng.h"
#include "nn/nn.h"

void nn_round_range(size_t shard_count, size_t rounds, size_t round, size_t *first, size_t *count)
{
    *first = shard_count * round / rounds;
    *count = shard_count * (round + 1) / rounds - *first;
}

/* owner[k]: the part of sample k. A label's samples, in random order, are cut at the cumulated
 * shares. */
/* NOLINTNEXTLINE(readability-function-size): scratch and the shares' law are nn_split's */
static void own_by_dirichlet(const uint8_t *labels, size_t count, size_t parts, double alpha,
                             rng *r, const uint32_t *order, double *share, uint32_t *owner)
{
    for (int label = 0; label < NN_CLASSES; label++) {
        size_t of_label = 0, seen = 0, part = 0;
        double sum = 0, cumulated;
        for (size_t k = 0; k < count; k++)
            of_label += labels[k] == label;
        for (size_t p = 0; p < parts; p++)
            sum += share[p] = rng_gamma(r, alpha);
        cumulated = share[0] / sum;
        for (size_t k = 0; k < count; k++) {
            if (labels[order[k]] != label)
                continue;
            double at = ((double)seen++ + 0.5) / (double)of_label;
            while (part + 1 < parts && at > cumulated)
                cumulated += share[++part] / sum;
            owner[order[k]] = (uint32_t)part;
        }
    }
}

/* A part without samples takes one from the largest. */
static void fill_empty_parts(size_t count, size_t parts, const uint32_t *order, uint32_t *owner,
                             size_t *size)
{
    for (size_t p = 0; p < parts; p++)
        size[p] = 0;
    for (size_t k = 0; k < count; k++)
        size[owner[k]]++;
    for (size_t p = 0; p < parts; p++) {
        if (size[p])
            continue;
        size_t largest = 0, k = 0;
        for (size_t q = 1; q < parts; q++)
            if (size[q] > size[largest])
                largest = q;
        while (owner[order[k]] != largest)
            k++;
        owner[order[k]] = (uint32_t)p;
        size[largest]--;
        size[p]++;
    }
}

static void list_parts(size_t count, const uint32_t *order, const uint32_t *owner, size_t *next,
                       nn_partition *p)
{
    p->offsets[0] = 0;
    for (size_t q = 0; q < p->parts; q++) {
        p->offsets[q + 1] = p->offsets[q] + next[q];
        next[q] = p->offsets[q];
    }
    for (size_t k = 0; k < count; k++)
        p->indices[next[owner[order[k]]]++] = order[k];
}

/* NOLINTNEXTLINE(readability-function-size): seven, and none of them belongs to another */
edgeps_err nn_split(const uint8_t *labels, size_t sample_count, size_t parts, nn_split_kind kind,
                    double alpha, uint64_t seed, nn_partition *out)
{
    if (parts < 1 || sample_count < parts)
        return EDGEPS_USAGE;
    nn_partition p = {.parts = parts};
    p.offsets = mem_alloc(parts + 1, sizeof *p.offsets);
    p.indices = mem_alloc(sample_count, sizeof *p.indices);
    uint32_t *order = mem_alloc(sample_count, sizeof *order);
    uint32_t *owner = mem_alloc(sample_count, sizeof *owner);
    size_t *size = mem_alloc(parts, sizeof *size);
    double *share = mem_alloc(parts, sizeof *share);
    edgeps_err err =
        p.offsets && p.indices && order && owner && size && share ? EDGEPS_OK : EDGEPS_NOMEM;
    if (!err) {
        rng r = rng_make(seed, 99);
        rng_permutation(&r, sample_count, order);
        if (kind == NN_SPLIT_DIRICHLET)
            own_by_dirichlet(labels, sample_count, parts, alpha, &r, order, share, owner);
        else
            for (size_t k = 0; k < sample_count; k++)
                owner[order[k]] = (uint32_t)(k * parts / sample_count);
        fill_empty_parts(sample_count, parts, order, owner, size);
        list_parts(sample_count, order, owner, size, &p);
        *out = p;
        p = (nn_partition){0};
    }
    nn_partition_free(&p);
    mem_free(order);
    mem_free(owner);
    mem_free(size);
    mem_free(share);
    return err;
}

void nn_partition_free(nn_partition *p)
{
    mem_free(p->offsets);
    mem_free(p->indices);
    *p = (nn_partition){0};
}
