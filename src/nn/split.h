/* How the samples are shared out to workers, and a shard to rounds. */
#ifndef EDGEPS_NN_SPLIT_H
#define EDGEPS_NN_SPLIT_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

typedef enum nn_split_kind {
    NN_SPLIT_IID,       /* shuffled, shards of near-equal size */
    NN_SPLIT_DIRICHLET, /* each label's samples by Dirichlet(alpha) shares (Hsu et al. 2019) */
} nn_split_kind;

typedef struct nn_split_way {
    nn_split_kind kind;
    double alpha; /* of NN_SPLIT_DIRICHLET, above 0 */
    uint64_t seed;
} nn_split_way;

/* Part p has the samples indices[offsets[p]] .. indices[offsets[p + 1] - 1]. */
typedef struct nn_partition {
    size_t parts;
    size_t *offsets; /* (parts + 1) */
    uint32_t *indices;
} nn_partition;

/* Every sample goes to exactly one part, and every part gets at least one: EDGEPS_USAGE when there
 * are fewer samples than parts, or when `alpha` of a Dirichlet split is not positive and finite.
 * The same for a seed everywhere. O(labels x (samples + parts)), and O(samples + parts) for each
 * part that the draw left empty. */
edgeps_err nn_split(const uint8_t *labels, size_t sample_count, size_t parts,
                    const nn_split_way *way, nn_partition *out);
void nn_partition_free(nn_partition *p);

/* The slice of a shard that belongs to a round (from 0): near-equal slices that cover the shard
 * once in `rounds` rounds; empty for some rounds when the shard is smaller than that. */
void nn_round_range(size_t shard_count, size_t rounds, size_t round, size_t *first, size_t *count);

#endif
