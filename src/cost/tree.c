#include "cost/round_int.h"

#include "base/mem.h"

static void number_locals(const plan *pl, uint32_t *number, tree *t)
{
    for (size_t j = 0; j < pl->count; j++)
        if (number[j])
            t->local_node[t->locals++] = (uint32_t)j;
    for (size_t l = 0; l < t->locals; l++) {
        uint32_t j = t->local_node[l];
        t->local_first[l + 1] = t->local_first[l] + number[j];
        number[j] = (uint32_t)l;
    }
}

static void number_workers(const plan *pl, const uint32_t *number, uint32_t *next, tree *t)
{
    for (size_t l = 0; l < t->locals; l++)
        next[l] = t->local_first[l];
    for (size_t i = 0; i < pl->count; i++) {
        if (pl->parent[i] == PLAN_NONE)
            continue;
        uint32_t l = number[pl->parent[i]];
        t->worker_local[next[l]] = l;
        t->worker_node[next[l]++] = (uint32_t)i;
        t->workers++;
    }
}

edgeps_err tree_make(const plan *pl, tree *out)
{
    edgeps_err err = EDGEPS_NOMEM;
    tree t = {.global = (uint32_t)pl->global};
    uint32_t *number = mem_alloc(pl->count, sizeof *number); /* children, then the local's number */
    uint32_t *next = mem_alloc(pl->count, sizeof *next);
    t.worker_node = mem_alloc(pl->count, sizeof *t.worker_node);
    t.worker_local = mem_alloc(pl->count, sizeof *t.worker_local);
    t.local_node = mem_alloc(pl->count, sizeof *t.local_node);
    t.local_first = mem_alloc(pl->count + 1, sizeof *t.local_first);
    if (!number || !next || !t.worker_node || !t.worker_local || !t.local_node || !t.local_first)
        goto out;
    for (size_t i = 0; i < pl->count; i++)
        if (pl->parent[i] != PLAN_NONE)
            number[pl->parent[i]]++;
    number_locals(pl, number, &t);
    number_workers(pl, number, next, &t);
    *out = t;
    t = (tree){0};
    err = EDGEPS_OK;
out:
    mem_free(number);
    mem_free(next);
    tree_free(&t);
    return err;
}

void tree_free(tree *t)
{
    mem_free(t->worker_node);
    mem_free(t->worker_local);
    mem_free(t->local_node);
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
    uint32_t upper = edge ? t->local_node[t->worker_local[*member]] : t->global;
    bool push = *stage == TREE_PUSH_LOCAL || *stage == TREE_PUSH_GLOBAL;
    *from = push ? lower : upper;
    *to = push ? upper : lower;
}
