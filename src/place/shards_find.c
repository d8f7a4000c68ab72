/* Room for the servers of all shards, whatever the time (cover/pack.h). */
#include "place/shards_int.h"

#include "base/mem.h"
#include "cover/pack.h"

#include <math.h>
#include <string.h>

/* Workers with the same servers in reach are one group; servers are the nodes that may serve. */
typedef struct packing {
    const place_ground *gr;
    cover_pack c;
    uint32_t *node;     /* per server */
    uint32_t *group_of; /* per node */
    cover_pack_need *need;
    double *capacity;
    uint32_t *group_size;
    bool *reach;
    bool *joins;
} packing;

static void free_packing(packing *k)
{
    mem_free(k->node);
    mem_free(k->group_of);
    mem_free(k->need);
    mem_free(k->capacity);
    mem_free(k->group_size);
    mem_free(k->reach);
    mem_free(k->joins);
}

static bool same_servers(const packing *k, size_t a, size_t b)
{
    for (size_t j = 0; j < k->c.server_count; j++)
        if (place_path(k->gr, k->node[j], a) != place_path(k->gr, k->node[j], b))
            return false;
    return true;
}

/* first[g]: a worker of group g. */
static void group_workers(packing *k, uint32_t *first)
{
    for (size_t w = 0; w < k->gr->worker_count; w++) {
        uint32_t i = k->gr->workers[w];
        size_t g = 0;
        while (g < k->c.group_count && !same_servers(k, first[g], i))
            g++;
        first[g] = g == k->c.group_count ? i : first[g];
        k->c.group_count += g == k->c.group_count;
        k->group_size[g]++;
        k->group_of[i] = (uint32_t)g;
    }
}

/* Needs are linear in the number of children. In units of the largest global server's: CBC's
 * tolerances suit numbers about 1. */
static void fill_needs(packing *k, size_t shards)
{
    const problem *p = k->gr->p;
    job largest = job_shard(&p->job, 0, (int64_t)shards);
    double unit = (double)job_global_need_bytes(&largest, 0);
    for (size_t s = 0; s < shards; s++) {
        job part = job_shard(&p->job, (int64_t)s, (int64_t)shards);
        double local = (double)job_local_need_bytes(&part, 0);
        double global = (double)job_global_need_bytes(&part, 0);
        k->need[s] = (cover_pack_need){
            .local = local / unit,
            .child = ((double)job_local_need_bytes(&part, 1) - local) / unit,
            .global = global / unit,
            .link = ((double)job_global_need_bytes(&part, 1) - global) / unit,
        };
    }
    for (size_t j = 0; j < k->c.server_count; j++)
        k->capacity[j] = (double)p->nodes[k->node[j]].free_bytes / unit;
}

static void fill_packing(packing *k, size_t shards, uint32_t *first)
{
    const place_ground *gr = k->gr;
    for (size_t j = 0; j < gr->count; j++)
        if (gr->p->nodes[j].serve)
            k->node[k->c.server_count++] = (uint32_t)j;
    size_t n = k->c.server_count;
    group_workers(k, first);
    fill_needs(k, shards);
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++)
            k->joins[a * n + b] = place_joins(gr, k->node[a], k->node[b]);
        for (size_t g = 0; g < k->c.group_count; g++)
            k->reach[a * k->c.group_count + g] = place_path(gr, k->node[a], first[g]);
    }
    k->c.shard_count = shards;
    k->c.need = k->need;
    k->c.capacity = k->capacity;
    k->c.group_size = k->group_size;
    k->c.reach = k->reach;
    k->c.joins = k->joins;
    k->c.most_locals = gr->p->max_locals;
}

static edgeps_err make_packing(const place_ground *gr, size_t shards, packing *out)
{
    size_t n = gr->count;
    packing k = {.gr = gr};
    uint32_t *first = mem_alloc(n, sizeof *first);
    k.node = mem_alloc(n, sizeof *k.node);
    k.group_of = mem_alloc(n, sizeof *k.group_of);
    k.need = mem_alloc(shards, sizeof *k.need);
    k.capacity = mem_alloc(n, sizeof *k.capacity);
    k.group_size = mem_alloc(n, sizeof *k.group_size);
    k.reach = mem_alloc(n * n, sizeof *k.reach);
    k.joins = mem_alloc(n * n, sizeof *k.joins);
    bool all =
        first && k.node && k.group_of && k.need && k.capacity && k.group_size && k.reach && k.joins;
    if (all) {
        fill_packing(&k, shards, first);
        *out = k;
    } else {
        free_packing(&k);
    }
    mem_free(first);
    return all ? EDGEPS_OK : EDGEPS_NOMEM;
}

/* Takes a place of the worker's group, and says where. */
static int32_t take_place(const packing *k, uint32_t *load, size_t group)
{
    for (size_t j = 0; j < k->c.server_count; j++) {
        uint32_t *left = &load[group * k->c.server_count + j];
        if (*left > 0) {
            --*left;
            return (int32_t)k->node[j];
        }
    }
    return PLAN_NONE;
}

static void read_answer(const packing *k, const cover_pack_answer *a, plan_set *set)
{
    size_t loads = k->c.group_count * k->c.server_count;
    for (size_t s = 0; s < set->count; s++) {
        plan *pl = &set->shards[s];
        pl->global = (int32_t)k->node[a->global[s]];
        for (size_t i = 0; i < pl->count; i++)
            pl->parent[i] = PLAN_NONE;
        for (size_t w = 0; w < k->gr->worker_count; w++) {
            uint32_t i = k->gr->workers[w];
            pl->parent[i] = take_place(k, a->load + s * loads, k->group_of[i]);
        }
    }
}

edgeps_err shards_find(const problem *p, const place_watch *watch, plan_set *set,
                       place_found *found)
{
    place_ground gr;
    packing k;
    cover_pack_answer a;
    edgeps_err err = place_ground_make(p, &gr);
    if (err)
        return err;
    err = make_packing(&gr, set->count, &k);
    if (!err) {
        k.c.deadline_s = place_watch_share_s(watch, 1);
        err = cover_pack_solve(&k.c, &a);
        if (!err) {
            *found = a.verdict == COVER_NO ? PLACE_NONE : PLACE_GAVE_UP;
            if (a.verdict == COVER_YES)
                read_answer(&k, &a, set);
            /* CBC's tolerance may let a few bytes too many pass. */
            if (a.verdict == COVER_YES && plan_set_check(set, p, NULL) == EDGEPS_OK)
                *found = PLACE_FOUND;
            cover_pack_answer_free(&a);
        }
        free_packing(&k);
    }
    place_ground_free(&gr);
    return err;
}
