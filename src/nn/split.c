#include "nn/split.h"

#include "base/mem.h"
#include "base/rng.h"
#include "nn/nn.h"

#include <math.h>

void nn_round_range(size_t shard_count, size_t rounds, size_t round, size_t *first, size_t *count)
{
    *first = shard_count * round / rounds;
    *count = shard_count * (round + 1) / rounds - *first;
}

/* The samples being dealt out. */
typedef struct deal {
    const uint8_t *labels;
    size_t count;
    size_t parts;
    rng random;
    uint32_t *order; /* of the samples, at random */
    uint32_t *owner; /* per sample: its part */
    size_t *size;    /* per part */
    double *share;   /* per part, of one label */
} deal;

/* Draws the shares of a label, in proportion to Gamma(alpha), and returns their sum. All draws
 * underflow when alpha is tiny, where Dirichlet's limit gives the label to one part. */
static double draw_shares(deal *d, double alpha)
{
    double sum = 0;
    for (size_t p = 0; p < d->parts; p++)
        sum += d->share[p] = rng_gamma(&d->random, alpha);
    if (sum == 0)
        sum = d->share[rng_below(&d->random, d->parts)] = 1;
    return sum;
}

/* A label's samples, in random order, are cut at the cumulated shares. */
static void own_by_dirichlet(deal *d, double alpha)
{
    for (int label = 0; label < NN_CLASSES; label++) {
        size_t of_label = 0, seen = 0, part = 0;
        double sum = draw_shares(d, alpha), cumulated = d->share[0] / sum;
        for (size_t k = 0; k < d->count; k++)
            of_label += d->labels[k] == label;
        for (size_t k = 0; k < d->count; k++) {
            if (d->labels[d->order[k]] != label)
                continue;
            double at = ((double)seen++ + 0.5) / (double)of_label;
            while (part + 1 < d->parts && at > cumulated)
                cumulated += d->share[++part] / sum;
            d->owner[d->order[k]] = (uint32_t)part;
        }
    }
}

static void own_equally(deal *d)
{
    for (size_t k = 0; k < d->count; k++)
        d->owner[d->order[k]] = (uint32_t)(k * d->parts / d->count);
}

/* A part without samples takes one from the largest. */
static void fill_empty_parts(deal *d)
{
    for (size_t k = 0; k < d->count; k++)
        d->size[d->owner[k]]++;
    for (size_t p = 0; p < d->parts; p++) {
        if (d->size[p])
            continue;
        size_t largest = 0, k = 0;
        for (size_t q = 1; q < d->parts; q++)
            if (d->size[q] > d->size[largest])
                largest = q;
        while (d->owner[d->order[k]] != largest)
            k++;
        d->owner[d->order[k]] = (uint32_t)p;
        d->size[largest]--;
        d->size[p]++;
    }
}

/* Fills the partition; the sizes become the places of each part's next sample. */
static void list_parts(deal *d, nn_partition *p)
{
    p->offsets[0] = 0;
    for (size_t q = 0; q < d->parts; q++) {
        p->offsets[q + 1] = p->offsets[q] + d->size[q];
        d->size[q] = p->offsets[q];
    }
    for (size_t k = 0; k < d->count; k++)
        p->indices[d->size[d->owner[d->order[k]]]++] = d->order[k];
}

static edgeps_err deal_out(deal *d, const nn_split_way *way, nn_partition *p)
{
    p->offsets = mem_alloc(d->parts + 1, sizeof *p->offsets);
    p->indices = mem_alloc(d->count, sizeof *p->indices);
    d->order = mem_alloc(d->count, sizeof *d->order);
    d->owner = mem_alloc(d->count, sizeof *d->owner);
    d->size = mem_alloc(d->parts, sizeof *d->size);
    d->share = mem_alloc(d->parts, sizeof *d->share);
    if (!p->offsets || !p->indices || !d->order || !d->owner || !d->size || !d->share)
        return EDGEPS_NOMEM;
    d->random = rng_make(way->seed, 99);
    rng_permutation(&d->random, d->count, d->order);
    if (way->kind == NN_SPLIT_DIRICHLET)
        own_by_dirichlet(d, way->alpha);
    else
        own_equally(d);
    fill_empty_parts(d);
    list_parts(d, p);
    return EDGEPS_OK;
}

edgeps_err nn_split(const uint8_t *labels, size_t sample_count, size_t parts,
                    const nn_split_way *way, nn_partition *out)
{
    if (parts < 1 || sample_count < parts)
        return EDGEPS_USAGE;
    if (way->kind == NN_SPLIT_DIRICHLET && !(way->alpha > 0 && isfinite(way->alpha)))
        return EDGEPS_USAGE;
    deal d = {.labels = labels, .count = sample_count, .parts = parts};
    nn_partition p = {.parts = parts};
    edgeps_err err = deal_out(&d, way, &p);
    if (err)
        nn_partition_free(&p);
    else
        *out = p;
    mem_free(d.order);
    mem_free(d.owner);
    mem_free(d.size);
    mem_free(d.share);
    return err;
}

void nn_partition_free(nn_partition *p)
{
    mem_free(p->offsets);
    mem_free(p->indices);
    *p = (nn_partition){0};
}
