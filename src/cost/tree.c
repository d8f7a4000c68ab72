#include "cost/round_int.h"

#include "base/mem.h"

/* The local servers of one shard. `number` holds the children of each node and is left with the
 * number of its local server. */
static void number_locals(const plan *pl, uint32_t shard, uint32_t *number, tree *t)
{
    size_t first = t->locals;
    for (size_t i = 0; i < pl->count; i++)
        number[i] = 0;
    for (size_t i = 0; i < pl->count; i++)
        if (pl->parent[i] != PLAN_NONE)
            number[pl->parent[i]]++;
    for (size_t j = 0; j < pl->count; j++)
        if (number[j])
            t->local_node[t->locals++] = (uint32_t)j;
    for (size_t l = first; l < t->locals; l++) {
        uint32_t j = t->local_node[l];
        t->local_shard[l] = shard;
        t->local_first[l + 1] = t->local_first[l] + number[j];
        number[j] = (uint32_t)l;
    }
    t->shard_first[shard + 1] = (uint32_t)t->locals;
}

static void number_workers(const plan *pl, const uint32_t *number, uint32_t *next, tree *t)
{
    for (size_t j = 0; j < pl->count; j++)
        next[j] = t->local_first[number[j]];
    for (size_t i = 0; i < pl->count; i++) {
        int32_t parent = pl->parent[i];
        if (parent == PLAN_NONE)
            continue;
        t->worker_local[next[parent]] = number[parent];
        t->worker_node[next[parent]++] = (uint32_t)i;
        t->workers++;
    }
}

static bool make_room(size_t shards, size_t members, tree *t)
{
    t->shard_job = mem_alloc(shards, sizeof *t->shard_job);
    t->global_node = mem_alloc(shards, sizeof *t->global_node);
    t->shard_first = mem_alloc(shards + 1, sizeof *t->shard_first);
    t->worker_node = mem_alloc(members, sizeof *t->worker_node);
    t->worker_local = mem_alloc(members, sizeof *t->worker_local);
    t->local_node = mem_alloc(members, sizeof *t->local_node);
    t->local_shard = mem_alloc(members, sizeof *t->local_shard);
    t->local_first = mem_alloc(members + 1, sizeof *t->local_first);
    return t->shard_job && t->global_node && t->shard_first && t->worker_node && t->worker_local &&
           t->local_node && t->local_shard && t->local_first;
}

edgeps_err tree_make(const job *j, const plan *plans, size_t shards, tree *out)
{
    edgeps_err err = EDGEPS_NOMEM;
    size_t count = plans[0].count;
    tree t = {.shards = shards};
    uint32_t *number = mem_alloc(2 * count, sizeof *number);
    if (!make_room(shards, shards * count, &t) || !number)
        goto out;
    for (size_t s = 0; s < shards; s++) {
        t.shard_job[s] = job_shard(j, (int64_t)s, (int64_t)shards);
        t.global_node[s] = (uint32_t)plans[s].global;
        size_t chunks = (size_t)job_chunk_count(&t.shard_job[s]);
        if (chunks > t.chunks)
            t.chunks = chunks;
        number_locals(&plans[s], (uint32_t)s, number, &t);
        number_workers(&plans[s], number, number + count, &t);
    }
    *out = t;
    t = (tree){0};
    err = EDGEPS_OK;
out:
    mem_free(number);
    tree_free(&t);
    return err;
}

void tree_free(tree *t)
{
    mem_free(t->shard_job);
    mem_free(t->global_node);
    mem_free(t->shard_first);
    mem_free(t->worker_node);
    mem_free(t->worker_local);
    mem_free(t->local_node);
    mem_free(t->local_shard);
    mem_free(t->local_first);
    *t = (tree){0};
}

void tree_ends(const tree *t, size_t connection, tree_stage *stage, size_t *member, uint32_t *from,
               uint32_t *to)
{
    *stage = TREE_PULL_WORKER;
    while (connection < tree_connection(t, *stage, 0))
        *stage = (tree_stage)(*stage - 1);
    *member = connection - tree_connection(t, *stage, 0);
    bool edge = *stage == TREE_PUSH_LOCAL || *stage == TREE_PULL_WORKER;
    uint32_t lower = edge ? t->worker_node[*member] : t->local_node[*member];
    uint32_t upper =
        edge ? t->local_node[t->worker_local[*member]] : t->global_node[t->local_shard[*member]];
    bool push = *stage == TREE_PUSH_LOCAL || *stage == TREE_PUSH_GLOBAL;
    *from = push ? lower : upper;
    *to = push ? upper : lower;
}
