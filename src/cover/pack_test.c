#include "cover/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"

#include <string.h>

#define SERVERS 3
#define GROUPS 2
#define SHARDS 2
#define WORKERS 3 /* the first two of one group */
#define WAYS 81   /* of a shard: a global server, and a server of each worker */

typedef struct world {
    cover_pack c;
    cover_pack_need need[SHARDS];
    double capacity[SERVERS];
    uint32_t group_size[GROUPS];
    bool reach[SERVERS * GROUPS];
    bool joins[SERVERS * SERVERS];
} world;

static void draw_world(uint64_t seed, world *w)
{
    rng r = rng_make(seed, 31);
    cover_pack_need need = {(double)(1 + rng_below(&r, 4)), (double)rng_below(&r, 3),
                            (double)(1 + rng_below(&r, 8)), (double)rng_below(&r, 3)};
    w->need[0] = w->need[1] = need;
    w->need[0].global += (double)rng_below(&r, 2);
    w->group_size[0] = 2;
    w->group_size[1] = 1;
    for (size_t j = 0; j < SERVERS; j++)
        w->capacity[j] = (double)rng_below(&r, 26);
    for (size_t k = 0; k < SERVERS * GROUPS; k++)
        w->reach[k] = rng_below(&r, 4) > 0;
    for (size_t a = 0; a < SERVERS; a++)
        for (size_t b = 0; b <= a; b++)
            w->joins[a * SERVERS + b] = w->joins[b * SERVERS + a] = a == b || rng_below(&r, 4) > 0;
    w->c = (cover_pack){.shard_count = SHARDS,
                        .server_count = SERVERS,
                        .group_count = GROUPS,
                        .need = w->need,
                        .capacity = w->capacity,
                        .group_size = w->group_size,
                        .reach = w->reach,
                        .joins = w->joins,
                        .most_locals = 1 + rng_below(&r, SERVERS)};
}

/* Adds what the servers of a shard take; false when they break a rule besides. `load`: workers of
 * each group on each server. */
static bool take(const world *w, size_t shard, size_t global, const uint32_t *load, double *taken)
{
    const cover_pack_need *need = &w->need[shard];
    size_t locals = 0;
    for (size_t j = 0; j < SERVERS; j++) {
        uint32_t children = load[j] + load[SERVERS + j];
        for (size_t g = 0; g < GROUPS; g++)
            if (load[g * SERVERS + j] && !w->reach[j * GROUPS + g])
                return false;
        if (children && !w->joins[j * SERVERS + global])
            return false;
        locals += children > 0;
        taken[j] += children ? need->local + children * need->child : 0;
    }
    taken[global] += need->global + (double)locals * need->link;
    return locals <= w->c.most_locals;
}

static bool fits(const world *w, const double *taken)
{
    for (size_t j = 0; j < SERVERS; j++)
        if (taken[j] > w->capacity[j])
            return false;
    return true;
}

static bool take_way(const world *w, size_t shard, size_t way, double *taken)
{
    uint32_t load[GROUPS * SERVERS] = {0};
    size_t global = way % SERVERS;
    for (size_t i = 0; i < WORKERS; i++) {
        way /= SERVERS;
        load[(i == 2) * SERVERS + way % SERVERS]++;
    }
    return take(w, shard, global, load, taken);
}

static bool some_way_fits(const world *w)
{
    for (size_t a = 0; a < WAYS; a++) {
        double alone[SERVERS] = {0};
        if (!take_way(w, 0, a, alone) || !fits(w, alone))
            continue;
        for (size_t b = 0; b < WAYS; b++) {
            double taken[SERVERS];
            memcpy(taken, alone, sizeof taken);
            if (take_way(w, 1, b, taken) && fits(w, taken))
                return true;
        }
    }
    return false;
}

static void packs_exactly_when_some_way_fits(void **state)
{
    (void)state;
    int yes = 0, no = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        world w;
        cover_pack_answer a;
        double taken[SERVERS] = {0};
        draw_world(seed, &w);
        assert_int_equal(cover_pack_solve(&w.c, &a), EDGEPS_OK);
        if ((a.verdict == COVER_YES) != some_way_fits(&w) || a.verdict == COVER_UNSURE)
            fail_msg("world %d: verdict %d", (int)seed, (int)a.verdict);
        for (size_t s = 0; s < SHARDS && a.verdict == COVER_YES; s++) {
            const uint32_t *load = a.load + s * GROUPS * SERVERS;
            assert_true(take(&w, s, a.global[s], load, taken));
            for (size_t g = 0; g < GROUPS; g++)
                assert_int_equal(load[g * SERVERS] + load[g * SERVERS + 1] + load[g * SERVERS + 2],
                                 w.group_size[g]);
        }
        assert_true(a.verdict != COVER_YES || fits(&w, taken));
        yes += a.verdict == COVER_YES;
        no += a.verdict == COVER_NO;
        cover_pack_answer_free(&a);
    }
    assert_in_range(yes, 50, 250);
    assert_in_range(no, 50, 250);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    world w;
    edgeps_err err = EDGEPS_NOMEM;
    long nth = 0;
    draw_world(2, &w);
    while (err == EDGEPS_NOMEM) {
        cover_pack_answer a = {.verdict = COVER_UNSURE};
        mem_fail_at(++nth);
        err = cover_pack_solve(&w.c, &a);
        mem_fail_at(0);
        if (err == EDGEPS_NOMEM)
            assert_null(a.load);
        else
            cover_pack_answer_free(&a);
    }
    assert_int_equal(err, EDGEPS_OK);
    assert_in_range(nth, 10, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packs_exactly_when_some_way_fits),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
