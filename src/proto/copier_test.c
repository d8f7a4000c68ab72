#include "proto/copier.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { CHUNKS = 64 };

typedef struct world {
    copier c;
    versions have;
    int64_t target[CHUNKS]; /* versions that arrived */
    bool frozen;
    int64_t applied;     /* chunks of all rounds so far */
    int64_t frozen_sent; /* chunks sent when the server was frozen */
    int64_t sent;
} world;

static void set_up(world *o, bool follows)
{
    *o = (world){.sent = 0};
    assert_int_equal(copier_make(CHUNKS, follows, &o->c), EDGEPS_OK);
    assert_int_equal(versions_make(CHUNKS, &o->have), EDGEPS_OK);
    versions_fill(&o->have, 0);
}

static void tear_down(world *o)
{
    copier_free(&o->c);
    versions_free(&o->have);
}

/* The server applies its next chunk. */
static void apply(world *o)
{
    versions_raise(&o->have, o->applied % CHUNKS, o->applied / CHUNKS + 1);
    o->applied++;
}

/* One step of the copy; true at its end. */
static bool step(world *o)
{
    int64_t chunk;
    switch (copier_next(&o->c, &o->have, &chunk)) {
    case COPIER_SEND:
        o->target[chunk] = o->have.of[chunk];
        o->sent++;
        o->frozen_sent += o->frozen;
        return false;
    case COPIER_FREEZE:
        assert_false(o->frozen);
        o->frozen = true;
        return false;
    case COPIER_END:
        return true;
    }
    return false;
}

/* `chunks_per_step` chunks are applied while one is sent. */
static void run(world *o, double chunks_per_step)
{
    for (int64_t steps = 1; !step(o); steps++)
        while (!o->frozen && (double)o->applied + 1 <= chunks_per_step * (double)steps)
            apply(o);
}

static void the_target_has_what_the_server_ends_with_at_any_speed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        world o;
        rng r = rng_make(seed, 0);
        set_up(&o, true);
        run(&o, 3 * rng_uniform(&r) * rng_uniform(&r));
        assert_true(o.frozen);
        for (int64_t k = 0; k < CHUNKS; k++)
            assert_int_equal(o.target[k], o.have.of[k]);
        if (o.sent > 6 * CHUNKS)
            fail_msg("seed %d: %d chunks are sent for %d", (int)seed, (int)o.sent, CHUNKS);
        tear_down(&o);
    }
}

static void a_server_at_rest_is_copied_once(void **state)
{
    (void)state;
    world o;
    set_up(&o, true);
    run(&o, 0);
    assert_int_equal(o.sent, CHUNKS);
    assert_int_equal(o.frozen_sent, 0);
    tear_down(&o);
}

static void little_is_sent_in_frost_where_sending_is_quicker_than_rounds(void **state)
{
    (void)state;
    world o;
    set_up(&o, true);
    run(&o, 0.3);
    assert_true(o.applied > 0);
    assert_true(o.frozen_sent <= CHUNKS / 8);
    tear_down(&o);
}

static void where_rounds_are_quicker_it_does_not_chase_them(void **state)
{
    (void)state;
    world o;
    set_up(&o, true);
    run(&o, 2.5);
    assert_true(o.have.top >= 2);
    assert_true(o.sent <= 2 * CHUNKS); /* once while it serves, once frozen */
    tear_down(&o);
}

static void a_state_that_is_not_followed_is_sent_once_whatever_happens(void **state)
{
    (void)state;
    world o;
    set_up(&o, false);
    run(&o, 2);
    assert_int_equal(o.sent, CHUNKS);
    assert_false(o.frozen);
    tear_down(&o);
}

static void survives_its_allocation_failing(void **state)
{
    (void)state;
    copier c;
    mem_fail_at(1);
    assert_int_equal(copier_make(CHUNKS, true, &c), EDGEPS_NOMEM);
    mem_fail_at(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_target_has_what_the_server_ends_with_at_any_speed),
        cmocka_unit_test(a_server_at_rest_is_copied_once),
        cmocka_unit_test(little_is_sent_in_frost_where_sending_is_quicker_than_rounds),
        cmocka_unit_test(where_rounds_are_quicker_it_does_not_chase_them),
        cmocka_unit_test(a_state_that_is_not_followed_is_sent_once_whatever_happens),
        cmocka_unit_test(survives_its_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
