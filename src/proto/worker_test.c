#include "proto/worker.h"

#include "base/mem.h"
#include "proto/proto_fixture.h"

enum { CHUNKS = 3, PARENT = 7 };

typedef struct world {
    worker w;
    proto_effects effects;
} world;

static int set_up(void **state)
{
    static world made;
    made = (world){0};
    assert_int_equal(worker_make(CHUNKS, &made.w), EDGEPS_OK);
    *state = &made;
    return 0;
}

static int tear_down(void **state)
{
    world *o = *state;
    worker_free(&o->w);
    proto_effects_free(&o->effects);
    return 0;
}

static void step(world *o, proto_event event)
{
    o->effects.count = 0;
    assert_int_equal(worker_step(&o->w, &event, &o->effects), EDGEPS_OK);
}

static void give_plan(world *o, uint64_t generation)
{
    o->effects.count = 0;
    assert_int_equal(worker_plan(&o->w, generation, PARENT, &o->effects), EDGEPS_OK);
}

static void pull_all(world *o, uint64_t generation, int64_t version)
{
    for (int64_t c = 0; c < CHUNKS; c++)
        step(o, (proto_event){
                    .kind = PROTO_PULLED, .generation = generation, .round = version, .chunk = c});
}

/* Attached in generation 1 with the initial parameters, allowed to run to round 10. */
static void start(world *o)
{
    give_plan(o, 1);
    step(o, (proto_event){.kind = PROTO_ATTACHED, .generation = 1});
    pull_all(o, 1, 0);
    step(o, (proto_event){.kind = PROTO_ALLOWED, .round = 10});
}

static void computes_once_it_is_attached_complete_and_allowed(void **state)
{
    world *o = *state;
    give_plan(o, 1);
    assert_int_equal(nth_effect(&o->effects, PROTO_CONNECT, 0)->node, PARENT);
    step(o, (proto_event){.kind = PROTO_ALLOWED, .round = 10});
    assert_int_equal(o->effects.count, 0);
    step(o, (proto_event){.kind = PROTO_ATTACHED, .generation = 1});
    assert_int_equal(o->effects.count, 0);
    pull_all(o, 1, 0);
    assert_int_equal(count_effects(&o->effects, PROTO_READY), 1);
    assert_int_equal(nth_effect(&o->effects, PROTO_COMPUTE, 0)->round, 1);
}

static void pushes_every_chunk_and_goes_on_when_all_are_back(void **state)
{
    world *o = *state;
    start(o);
    step(o, (proto_event){.kind = PROTO_COMPUTED, .round = 1, .weight = 64});
    assert_int_equal(count_effects(&o->effects, PROTO_SEND_UP), CHUNKS);
    assert_true(nth_effect(&o->effects, PROTO_SEND_UP, 2)->weight == 64);
    pull_all(o, 1, 1);
    assert_int_equal(nth_effect(&o->effects, PROTO_ROUND_DONE, 0)->round, 1);
    assert_int_equal(nth_effect(&o->effects, PROTO_COMPUTE, 0)->round, 2);
}

static void stops_at_the_last_allowed_round(void **state)
{
    world *o = *state;
    give_plan(o, 1);
    step(o, (proto_event){.kind = PROTO_ATTACHED, .generation = 1});
    step(o, (proto_event){.kind = PROTO_ALLOWED, .round = 1});
    pull_all(o, 1, 0);
    step(o, (proto_event){.kind = PROTO_COMPUTED, .round = 1, .weight = 1});
    pull_all(o, 1, 1);
    assert_int_equal(count_effects(&o->effects, PROTO_COMPUTE), 0);
    step(o, (proto_event){.kind = PROTO_ALLOWED, .round = 2});
    assert_int_equal(nth_effect(&o->effects, PROTO_COMPUTE, 0)->round, 2);
}

/* It may hold what only a server that was given up with it has made. */
static void who_is_left_out_begins_anew_with_nothing(void **state)
{
    world *o = *state;
    start(o);
    o->effects.count = 0;
    assert_int_equal(worker_plan(&o->w, 2, PROTO_NO_NODE, &o->effects), EDGEPS_OK);
    step(o, (proto_event){.kind = PROTO_COMPUTED, .round = 1, .weight = 1});
    give_plan(o, 3);
    step(o, (proto_event){.kind = PROTO_ATTACHED, .generation = 3});
    assert_int_equal(o->effects.count, 0); /* neither its gradient nor a pass */
    pull_all(o, 3, 4);
    assert_int_equal(nth_effect(&o->effects, PROTO_COMPUTE, 0)->round, 5);
}

static void a_new_edge_gets_only_the_chunks_that_are_not_applied(void **state)
{
    world *o = *state;
    start(o);
    step(o, (proto_event){.kind = PROTO_COMPUTED, .round = 1, .weight = 1});
    step(o, (proto_event){.kind = PROTO_PULLED, .generation = 1, .round = 1, .chunk = 1});
    give_plan(o, 2);
    assert_int_equal(nth_effect(&o->effects, PROTO_CONNECT, 0)->generation, 2);
    step(o, (proto_event){.kind = PROTO_ATTACHED, .generation = 2});
    assert_int_equal(count_effects(&o->effects, PROTO_SEND_UP), 2);
    assert_int_equal(nth_effect(&o->effects, PROTO_SEND_UP, 0)->chunk, 0);
    assert_int_equal(nth_effect(&o->effects, PROTO_SEND_UP, 1)->chunk, 2);
}

static void takes_nothing_of_another_generation_or_a_second_time(void **state)
{
    world *o = *state;
    start(o);
    step(o, (proto_event){.kind = PROTO_COMPUTED, .round = 1, .weight = 1});
    proto_event pulled = {.kind = PROTO_PULLED, .generation = 2, .round = 1};
    step(o, pulled);
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->why, PROTO_OLD_GENERATION);
    pulled.generation = 1;
    step(o, pulled);
    assert_int_equal(count_effects(&o->effects, PROTO_STORE), 1);
    step(o, pulled);
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->why, PROTO_REPEATED);
    pulled.chunk = CHUNKS;
    step(o, pulled);
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->why, PROTO_BAD_CHUNK);
}

static void an_older_plan_changes_nothing(void **state)
{
    world *o = *state;
    start(o);
    give_plan(o, 1);
    assert_int_equal(o->effects.count, 0);
    assert_true(o->w.attached);
}

static void gives_what_a_parent_asks_for_even_while_it_computes(void **state)
{
    world *o = *state;
    proto_event asked = {.kind = PROTO_ASKED, .generation = 1, .chunk = 1};
    give_plan(o, 1);
    step(o, (proto_event){.kind = PROTO_ATTACHED, .generation = 1});
    step(o, asked); /* has nothing yet */
    assert_int_equal(o->effects.count, 0);
    start(o);
    assert_int_equal(o->w.state, WORKER_COMPUTING);
    step(o, asked);
    assert_int_equal(nth_effect(&o->effects, PROTO_GIVE, 0)->chunk, 1);
    assert_int_equal(nth_effect(&o->effects, PROTO_GIVE, 0)->round, 0);
    asked.generation = 2;
    step(o, asked);
    assert_int_equal(o->effects.count, 0);
    asked = (proto_event){.kind = PROTO_ASKED, .generation = 1, .chunk = CHUNKS};
    step(o, asked);
    assert_int_equal(o->effects.count, 0);
}

/* Chunk 0 is at round 2 already, the others are not: round 2 goes on without this worker. */
static void who_comes_in_the_middle_of_a_round_passes_and_joins_the_next(void **state)
{
    world *o = *state;
    give_plan(o, 1);
    step(o, (proto_event){.kind = PROTO_ALLOWED, .round = 10});
    step(o, (proto_event){.kind = PROTO_ATTACHED, .generation = 1});
    proto_event pulled = {.kind = PROTO_PULLED, .generation = 1, .round = 2, .chunk = 0};
    step(o, pulled);
    assert_int_equal(count_effects(&o->effects, PROTO_PASS), 0); /* knows nothing of the others */
    for (pulled.chunk = 1, pulled.round = 1; pulled.chunk < CHUNKS; pulled.chunk++) {
        step(o, pulled);
        assert_int_equal(count_effects(&o->effects, PROTO_PASS), 1);
        assert_int_equal(nth_effect(&o->effects, PROTO_PASS, 0)->chunk, pulled.chunk);
        assert_int_equal(nth_effect(&o->effects, PROTO_PASS, 0)->round, 2);
    }
    /* A new edge has not heard of it. */
    step(o, (proto_event){.kind = PROTO_PARENT_LOST});
    step(o, (proto_event){.kind = PROTO_ATTACHED, .generation = 1});
    assert_int_equal(count_effects(&o->effects, PROTO_PASS), CHUNKS - 1);
    for (pulled.chunk = 1, pulled.round = 2; pulled.chunk < CHUNKS; pulled.chunk++)
        step(o, pulled);
    assert_int_equal(nth_effect(&o->effects, PROTO_ROUND_DONE, 0)->round, 2);
    assert_int_equal(nth_effect(&o->effects, PROTO_COMPUTE, 0)->round, 3);
}

static void a_lost_parent_is_sought_again(void **state)
{
    world *o = *state;
    start(o);
    step(o, (proto_event){.kind = PROTO_COMPUTED, .round = 1, .weight = 1});
    step(o, (proto_event){.kind = PROTO_PARENT_LOST});
    assert_int_equal(nth_effect(&o->effects, PROTO_CONNECT, 0)->node, PARENT);
    step(o, (proto_event){.kind = PROTO_ATTACHED, .generation = 1});
    assert_int_equal(count_effects(&o->effects, PROTO_SEND_UP), CHUNKS);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(computes_once_it_is_attached_complete_and_allowed),
        UNIT(pushes_every_chunk_and_goes_on_when_all_are_back),
        UNIT(stops_at_the_last_allowed_round),
        UNIT(who_is_left_out_begins_anew_with_nothing),
        UNIT(a_new_edge_gets_only_the_chunks_that_are_not_applied),
        UNIT(takes_nothing_of_another_generation_or_a_second_time),
        UNIT(an_older_plan_changes_nothing),
        UNIT(gives_what_a_parent_asks_for_even_while_it_computes),
        UNIT(who_comes_in_the_middle_of_a_round_passes_and_joins_the_next),
        UNIT(a_lost_parent_is_sought_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
