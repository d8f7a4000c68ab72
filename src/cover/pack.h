/* Servers of several shards on nodes of limited storage, whatever the time: is there room for all?
 *
 * Each shard has one global server, local servers that join it, and its own share of every group of
 * workers on these. A node's servers of all shards share its storage. A mixed integer program, by
 * CBC.
 */
#ifndef EDGEPS_COVER_PACK_H
#define EDGEPS_COVER_PACK_H

#include "cover/cover.h"

/* Storage that a shard's servers need, in any unit. */
typedef struct cover_pack_need {
    double local;  /* of a local server without workers ... */
    double child;  /* ... and for each of them */
    double global; /* of the global server without local servers ... */
    double link;   /* ... and for each of them */
} cover_pack_need;

typedef struct cover_pack {
    size_t shard_count;
    size_t server_count;
    size_t group_count;          /* of workers with the same servers in reach */
    const cover_pack_need *need; /* per shard; equal shards stand side by side */
    const double *capacity;      /* per server */
    const uint32_t *group_size;
    const bool *reach;  /* [server * group_count + group] */
    const bool *joins;  /* [a * server_count + b], symmetric: one may be local to the other */
    size_t most_locals; /* of each shard */
    double deadline_s;  /* seconds after which the verdict is UNSURE; 0: none */
} cover_pack;

typedef struct cover_pack_answer {
    cover_verdict verdict; /* COVER_NO: up to CBC's tolerance, about 1e-6 of the largest need */
    uint32_t *global;      /* per shard, when the verdict is yes */
    uint32_t *load;        /* [(shard * group_count + group) * server_count + server]: workers */
} cover_pack_answer;

/* UNSURE when the instance is large or CBC's nodes or seconds are spent; else the same instance has
 * the same answer. cover_pack_answer_free releases it. EDGEPS_NOMEM, or EDGEPS_INTERNAL when CBC
 * breaks down. */
edgeps_err cover_pack_solve(const cover_pack *c, cover_pack_answer *out);

void cover_pack_answer_free(cover_pack_answer *a);

#endif
