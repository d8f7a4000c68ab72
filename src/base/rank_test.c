#include "base/rank.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#define NUMBERS ((size_t)40)

/* The smallest key by looking at all; INFINITY when there is none. */
static double least(const double *key)
{
    double found = INFINITY;
    for (size_t i = 0; i < NUMBERS; i++)
        found = fmin(found, key[i]);
    return found;
}

static void the_first_has_always_the_smallest_key(void **state)
{
    (void)state;
    rank r = {0};
    rng draw = rng_make(1, 0);
    double key[NUMBERS];
    size_t present = 0;
    assert_int_equal(rank_reserve(&r, NUMBERS), EDGEPS_OK);
    for (size_t i = 0; i < NUMBERS; i++)
        key[i] = INFINITY;
    for (int step = 0; step < 20000; step++) {
        uint32_t id = (uint32_t)rng_below(&draw, NUMBERS);
        bool was = key[id] < INFINITY;
        if (rng_below(&draw, 3)) {
            key[id] = (double)rng_below(&draw, 50);
            rank_set(&r, id, key[id]);
            present += !was;
        } else {
            key[id] = INFINITY;
            rank_remove(&r, id);
            present -= was;
        }
        assert_int_equal(r.count, present);
        if (present > 0) {
            assert_true(r.items[0].key == least(key));
            assert_true(key[r.items[0].id] == r.items[0].key);
        }
    }
    rank_clear(&r);
    assert_int_equal(r.count, 0);
    rank_set(&r, 3, 1);
    assert_int_equal(r.items[0].id, 3);
    rank_free(&r);
}

static void reserving_keeps_what_is_there(void **state)
{
    (void)state;
    rank r = {0};
    assert_int_equal(rank_reserve(&r, 2), EDGEPS_OK);
    rank_set(&r, 1, 5);
    for (long n = 1; n <= 2; n++) {
        mem_fail_at(n);
        assert_int_equal(rank_reserve(&r, 100), EDGEPS_NOMEM);
        mem_fail_at(0);
        assert_int_equal(r.room, 2);
    }
    assert_int_equal(rank_reserve(&r, 100), EDGEPS_OK);
    rank_set(&r, 99, 4);
    assert_int_equal(r.items[0].id, 99);
    rank_remove(&r, 99);
    assert_int_equal(r.items[0].id, 1);
    rank_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_has_always_the_smallest_key),
        cmocka_unit_test(reserving_keeps_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
