#include "base/mem.h"
#include "proto/global.h"
#include "proto/local.h"
#include "proto/proto_fixture.h"

enum { CHUNKS = 2, GLOBAL = 9 };

typedef struct world {
    local l;
    global g;
    proto_effects effects;
} world;

static int set_up(void **state)
{
    static world made;
    made = (world){0};
    assert_int_equal(local_make(CHUNKS, &made.l), EDGEPS_OK);
    assert_int_equal(global_make(CHUNKS, &made.g), EDGEPS_OK);
    *state = &made;
    return 0;
}

static int tear_down(void **state)
{
    world *o = *state;
    local_free(&o->l);
    global_free(&o->g);
    proto_effects_free(&o->effects);
    return 0;
}

static void to_local(world *o, proto_event event)
{
    o->effects.count = 0;
    assert_int_equal(local_step(&o->l, &event, &o->effects), EDGEPS_OK);
}

static void to_global(world *o, proto_event event)
{
    o->effects.count = 0;
    assert_int_equal(global_step(&o->g, &event, &o->effects), EDGEPS_OK);
}

static void plan_local(world *o, uint64_t generation)
{
    const int32_t workers[] = {1, 2};
    o->effects.count = 0;
    assert_int_equal(local_plan(&o->l, &(local_part){generation, GLOBAL, workers, 2}, &o->effects),
                     EDGEPS_OK);
}

/* A child that has every chunk at `version`, at most 2. */
static proto_event attach(int32_t node, uint64_t generation, int64_t version)
{
    static const int64_t at[][CHUNKS] = {{-1, -1}, {0, 0}, {1, 1}, {2, 2}};
    return (proto_event){
        .kind = PROTO_ATTACH, .node = node, .generation = generation, .have = at[version + 1]};
}

static proto_event given(int32_t node, int64_t version, int64_t chunk)
{
    return (proto_event){
        .kind = PROTO_GIVEN, .node = node, .generation = 1, .round = version, .chunk = chunk};
}

static proto_event push(int32_t node, uint64_t generation, int64_t round, int64_t chunk)
{
    return (proto_event){.kind = PROTO_PUSHED,
                         .node = node,
                         .generation = generation,
                         .round = round,
                         .chunk = chunk,
                         .weight = node * 10};
}

/* A local server in generation 1, attached with both workers and parameters of version 0. */
static void start_local(world *o)
{
    const int64_t at_zero[CHUNKS] = {0, 0};
    plan_local(o, 1);
    local_restore(&o->l, at_zero);
    to_local(o, (proto_event){.kind = PROTO_ATTACHED, .generation = 1});
    to_local(o, attach(1, 1, 0));
    to_local(o, attach(2, 1, 0));
}

static proto_event summed(uint64_t generation, int64_t round, int64_t chunk)
{
    return (proto_event){
        .kind = PROTO_SUMMED, .generation = generation, .round = round, .chunk = chunk};
}

static void a_sum_goes_up_when_all_children_are_in_it(void **state)
{
    world *o = *state;
    start_local(o);
    to_local(o, push(1, 1, 1, 0));
    assert_int_equal(count_effects(&o->effects, PROTO_TAKE_FIRST), 1);
    assert_int_equal(count_effects(&o->effects, PROTO_SUM), 0);
    to_local(o, push(2, 1, 1, 0));
    assert_int_equal(count_effects(&o->effects, PROTO_TAKE), 1);
    assert_int_equal(nth_effect(&o->effects, PROTO_SUM, 0)->node, 2);
    to_local(o, summed(1, 1, 0));
    assert_true(nth_effect(&o->effects, PROTO_SEND_UP, 0)->weight == 30);
    to_local(o, summed(1, 1, 0));
    assert_int_equal(o->effects.count, 0);
}

static void a_repeated_chunk_is_dropped(void **state)
{
    world *o = *state;
    start_local(o);
    to_local(o, push(1, 1, 1, 0));
    to_local(o, push(1, 1, 1, 0));
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->why, PROTO_REPEATED);
    to_local(o, push(3, 1, 1, 0));
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->why, PROTO_NOT_A_CHILD);
    to_local(o, push(2, 2, 1, 0));
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->why, PROTO_OLD_GENERATION);
    to_local(o, push(2, 1, 0, 0));
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->why, PROTO_REPEATED);
    to_local(o, push(2, 1, 1, CHUNKS));
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->why, PROTO_BAD_CHUNK);
}

static void a_chunk_behind_the_sum_was_applied_long_ago(void **state)
{
    world *o = *state;
    start_local(o);
    to_local(o, push(1, 1, 2, 0));
    to_local(o, push(2, 1, 1, 0));
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->why, PROTO_TOO_LATE);
    to_local(o, push(2, 1, 2, 0));
    assert_int_equal(count_effects(&o->effects, PROTO_SUM), 1);
}

static void a_new_generation_drops_partial_sums(void **state)
{
    world *o = *state;
    start_local(o);
    to_local(o, push(1, 1, 1, 0));
    plan_local(o, 2);
    to_local(o, attach(1, 2, 0));
    to_local(o, attach(2, 2, 0));
    to_local(o, push(2, 2, 1, 0));
    assert_int_equal(count_effects(&o->effects, PROTO_TAKE_FIRST), 1);
    assert_int_equal(count_effects(&o->effects, PROTO_SUM), 0);
    to_local(o, push(1, 2, 1, 0));
    assert_int_equal(count_effects(&o->effects, PROTO_SUM), 1);
}

static void who_asks_before_its_generation_is_here_waits(void **state)
{
    world *o = *state;
    start_local(o);
    to_local(o, attach(2, 2, 0));
    assert_int_equal(o->effects.count, 0);
    to_local(o, attach(1, 3, 0));
    plan_local(o, 2);
    assert_int_equal(count_effects(&o->effects, PROTO_ACCEPT), 1);
    assert_int_equal(nth_effect(&o->effects, PROTO_ACCEPT, 0)->node, 2);
    plan_local(o, 3);
    assert_int_equal(nth_effect(&o->effects, PROTO_ACCEPT, 0)->node, 1);
    to_local(o, attach(1, 2, 0));
    assert_int_equal(nth_effect(&o->effects, PROTO_REFUSE, 0)->why, PROTO_OLD_GENERATION);
    to_local(o, attach(5, 3, 0));
    assert_int_equal(nth_effect(&o->effects, PROTO_REFUSE, 0)->why, PROTO_NOT_A_CHILD);
}

static void who_attaches_gets_what_is_newer_than_its_own(void **state)
{
    world *o = *state;
    start_local(o);
    to_local(o, (proto_event){.kind = PROTO_PULLED, .generation = 1, .round = 1, .chunk = 1});
    assert_int_equal(count_effects(&o->effects, PROTO_STORE), 1);
    assert_int_equal(count_effects(&o->effects, PROTO_SEND_DOWN), 2);
    to_local(o, (proto_event){.kind = PROTO_CHILD_LOST, .node = 1});
    to_local(o, attach(1, 1, 0));
    assert_int_equal(count_effects(&o->effects, PROTO_SEND_DOWN), 1);
    assert_int_equal(nth_effect(&o->effects, PROTO_SEND_DOWN, 0)->chunk, 1);
}

static void a_finished_sum_goes_up_again_after_the_parent_was_lost(void **state)
{
    world *o = *state;
    start_local(o);
    to_local(o, push(1, 1, 1, 0));
    to_local(o, push(2, 1, 1, 0));
    to_local(o, (proto_event){.kind = PROTO_PARENT_LOST});
    assert_int_equal(nth_effect(&o->effects, PROTO_CONNECT, 0)->node, GLOBAL);
    to_local(o, summed(1, 1, 0));
    assert_int_equal(o->effects.count, 0);
    to_local(o, (proto_event){.kind = PROTO_ATTACHED, .generation = 1});
    assert_int_equal(count_effects(&o->effects, PROTO_SEND_UP), 1);
}

static void start_global(world *o)
{
    const int32_t locals[] = {1};
    const int64_t at_zero[CHUNKS] = {0, 0};
    global_restore(&o->g, at_zero);
    assert_int_equal(global_plan(&o->g, 1, locals, 1, &o->effects), EDGEPS_OK);
    to_global(o, attach(1, 1, 0));
}

static void the_global_server_applies_a_chunk_once_and_sends_it_down(void **state)
{
    world *o = *state;
    start_global(o);
    to_global(o, push(1, 1, 1, 0));
    to_global(o, summed(1, 1, 0));
    assert_true(nth_effect(&o->effects, PROTO_APPLY, 0)->weight == 10);
    assert_int_equal(nth_effect(&o->effects, PROTO_SEND_DOWN, 0)->round, 1);
    assert_int_equal(count_effects(&o->effects, PROTO_ROUND_DONE), 0);
    to_global(o, push(1, 1, 1, 0));
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->why, PROTO_REPEATED);
    to_global(o, push(1, 1, 1, 1));
    to_global(o, summed(1, 1, 1));
    assert_int_equal(nth_effect(&o->effects, PROTO_ROUND_DONE, 0)->round, 1);
}

static void a_frozen_global_server_applies_nothing_until_the_next_generation(void **state)
{
    world *o = *state;
    const int32_t locals[] = {1};
    start_global(o);
    to_global(o, push(1, 1, 1, 0));
    global_freeze(&o->g);
    to_global(o, summed(1, 1, 0));
    assert_int_equal(o->effects.count, 0);
    assert_int_equal(o->g.have.of[0], 0);
    assert_int_equal(global_plan(&o->g, 2, locals, 1, &o->effects), EDGEPS_OK);
    to_global(o, attach(1, 2, 0));
    to_global(o, push(1, 2, 1, 0));
    to_global(o, summed(2, 1, 0));
    assert_int_equal(count_effects(&o->effects, PROTO_APPLY), 1);
}

static void a_thawed_global_server_applies_what_arrived_once(void **state)
{
    world *o = *state;
    start_global(o);
    global_freeze(&o->g);
    to_global(o, push(1, 1, 1, 0));
    to_global(o, summed(1, 1, 0));
    to_global(o, push(1, 1, 1, 1)); /* whose additions are not done */
    assert_int_equal(count_effects(&o->effects, PROTO_APPLY), 0);
    o->effects.count = 0;
    assert_int_equal(global_thaw(&o->g, &o->effects), EDGEPS_OK);
    assert_int_equal(count_effects(&o->effects, PROTO_APPLY), 1);
    assert_int_equal(nth_effect(&o->effects, PROTO_APPLY, 0)->chunk, 0);
    assert_int_equal(nth_effect(&o->effects, PROTO_SEND_DOWN, 0)->round, 1);
    to_global(o, summed(1, 1, 1));
    assert_int_equal(nth_effect(&o->effects, PROTO_ROUND_DONE, 0)->round, 1);
    o->effects.count = 0;
    assert_int_equal(global_thaw(&o->g, &o->effects), EDGEPS_OK);
    assert_int_equal(o->effects.count, 0);
}

static void a_thawed_global_server_asks_again_for_what_it_did_not_take(void **state)
{
    world *o = *state;
    start_global(o);
    to_global(o, (proto_event){.kind = PROTO_CHILD_LOST, .node = 1});
    to_global(o, attach(1, 1, 1));
    assert_int_equal(count_effects(&o->effects, PROTO_ASK), CHUNKS);
    global_freeze(&o->g);
    to_global(o, given(1, 1, 0));
    assert_int_equal(o->effects.count, 0);
    o->effects.count = 0;
    assert_int_equal(global_thaw(&o->g, &o->effects), EDGEPS_OK);
    assert_int_equal(count_effects(&o->effects, PROTO_ASK), CHUNKS);
    to_global(o, given(1, 1, 0));
    assert_int_equal(count_effects(&o->effects, PROTO_STORE), 1);
}

static void a_successor_asks_one_child_for_each_newer_chunk_and_passes_it_on(void **state)
{
    world *o = *state;
    const int32_t locals[] = {1, 2};
    const int64_t at_zero[CHUNKS] = {0, 0};
    const int64_t ahead[CHUNKS] = {2, 1};
    global_restore(&o->g, at_zero);
    assert_int_equal(global_plan(&o->g, 1, locals, 2, &o->effects), EDGEPS_OK);
    assert_int_equal(nth_effect(&o->effects, PROTO_ROUND_DONE, 0)->round, 0);
    to_global(o, attach(1, 1, 1));
    assert_int_equal(count_effects(&o->effects, PROTO_ASK), CHUNKS);
    assert_int_equal(nth_effect(&o->effects, PROTO_ASK, 0)->node, 1);
    /* The second child has one chunk that is newer still; the other one is on its way. */
    to_global(o, (proto_event){.kind = PROTO_ATTACH, .node = 2, .generation = 1, .have = ahead});
    assert_int_equal(count_effects(&o->effects, PROTO_ASK), 1);
    assert_int_equal(nth_effect(&o->effects, PROTO_ASK, 0)->node, 2);
    assert_int_equal(nth_effect(&o->effects, PROTO_ASK, 0)->chunk, 0);
    to_global(o, given(2, 2, 0));
    assert_int_equal(nth_effect(&o->effects, PROTO_STORE, 0)->before, 0);
    assert_int_equal(count_effects(&o->effects, PROTO_SEND_DOWN), 1);
    assert_int_equal(nth_effect(&o->effects, PROTO_SEND_DOWN, 0)->node, 1);
    to_global(o, given(1, 1, 0));
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->why, PROTO_REPEATED);
    to_global(o, given(1, 1, 1));
    assert_int_equal(count_effects(&o->effects, PROTO_STORE), 1);
    assert_int_equal(count_effects(&o->effects, PROTO_SEND_DOWN), 0); /* both have it */
    to_global(o, push(1, 1, 2, 0));
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->why, PROTO_TOO_LATE);
}

static void another_child_is_asked_when_the_asked_one_is_lost(void **state)
{
    world *o = *state;
    const int32_t locals[] = {1, 2};
    const int64_t at_zero[CHUNKS] = {0, 0};
    global_restore(&o->g, at_zero);
    assert_int_equal(global_plan(&o->g, 1, locals, 2, &o->effects), EDGEPS_OK);
    to_global(o, attach(1, 1, 2));
    to_global(o, attach(2, 1, 1));
    assert_int_equal(count_effects(&o->effects, PROTO_ASK), 0);
    to_global(o, (proto_event){.kind = PROTO_CHILD_LOST, .node = 1});
    assert_int_equal(count_effects(&o->effects, PROTO_ASK), CHUNKS);
    assert_int_equal(nth_effect(&o->effects, PROTO_ASK, 0)->node, 2);
    assert_int_equal(nth_effect(&o->effects, PROTO_ASK, 0)->round, 1);
}

static void a_local_server_tells_its_parent_what_it_learnt_from_a_worker(void **state)
{
    world *o = *state;
    start_local(o);
    to_local(o, (proto_event){.kind = PROTO_CHILD_LOST, .node = 1});
    to_local(o, attach(1, 1, 1));
    assert_int_equal(count_effects(&o->effects, PROTO_ASK), CHUNKS);
    to_local(o, given(1, 1, 0));
    assert_int_equal(count_effects(&o->effects, PROTO_STORE), 1);
    assert_int_equal(count_effects(&o->effects, PROTO_HAVE), 1);
    assert_int_equal(nth_effect(&o->effects, PROTO_SEND_DOWN, 0)->node, 2);
    /* Not attached itself, it tells when it is. */
    to_local(o, (proto_event){.kind = PROTO_PARENT_LOST});
    to_local(o, given(1, 1, 1));
    assert_int_equal(count_effects(&o->effects, PROTO_HAVE), 0);
    to_local(o, (proto_event){.kind = PROTO_ATTACHED, .generation = 1});
    assert_int_equal(count_effects(&o->effects, PROTO_HAVE), 1);
    to_local(o, (proto_event){.kind = PROTO_ASKED, .generation = 1, .chunk = 1});
    assert_int_equal(nth_effect(&o->effects, PROTO_GIVE, 0)->round, 1);
}

static proto_event passed(int32_t node, int64_t round, int64_t chunk)
{
    return (proto_event){.kind = PROTO_PASSED,
                         .node = node,
                         .generation = 1,
                         .round = round,
                         .chunk = chunk,
                         .weight = 0};
}

static void a_sum_is_complete_without_who_passed(void **state)
{
    world *o = *state;
    start_local(o);
    to_local(o, passed(1, 1, 0));
    assert_int_equal(o->effects.count, 0);
    to_local(o, push(2, 1, 1, 0));
    assert_int_equal(count_effects(&o->effects, PROTO_TAKE_FIRST), 1);
    assert_int_equal(nth_effect(&o->effects, PROTO_SUM, 0)->node, 1);
    to_local(o, summed(1, 1, 0));
    assert_true(nth_effect(&o->effects, PROTO_SEND_UP, 0)->weight == 20);
    to_local(o, push(1, 1, 1, 0)); /* has passed */
    assert_int_equal(count_effects(&o->effects, PROTO_DROP), 1);
    /* Where all pass the server passes, too. */
    to_local(o, passed(1, 1, 1));
    to_local(o, passed(2, 1, 1));
    assert_int_equal(nth_effect(&o->effects, PROTO_SUM, 0)->node, 0);
    to_local(o, summed(1, 1, 1));
    assert_int_equal(nth_effect(&o->effects, PROTO_PASS, 0)->chunk, 1);
    assert_int_equal(count_effects(&o->effects, PROTO_SEND_UP), 0);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_sum_goes_up_when_all_children_are_in_it),
        UNIT(a_repeated_chunk_is_dropped),
        UNIT(a_chunk_behind_the_sum_was_applied_long_ago),
        UNIT(a_new_generation_drops_partial_sums),
        UNIT(who_asks_before_its_generation_is_here_waits),
        UNIT(who_attaches_gets_what_is_newer_than_its_own),
        UNIT(a_finished_sum_goes_up_again_after_the_parent_was_lost),
        UNIT(the_global_server_applies_a_chunk_once_and_sends_it_down),
        UNIT(a_successor_asks_one_child_for_each_newer_chunk_and_passes_it_on),
        UNIT(another_child_is_asked_when_the_asked_one_is_lost),
        UNIT(a_local_server_tells_its_parent_what_it_learnt_from_a_worker),
        UNIT(a_sum_is_complete_without_who_passed),
        UNIT(a_frozen_global_server_applies_nothing_until_the_next_generation),
        UNIT(a_thawed_global_server_applies_what_arrived_once),
        UNIT(a_thawed_global_server_asks_again_for_what_it_did_not_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
