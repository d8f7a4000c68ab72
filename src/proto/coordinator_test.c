#include "proto/coordinator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

enum { NODES = 3, ROUNDS = 10 };

typedef struct world {
    coordinator c;
    coordinator_effects effects;
    plan pl;
} world;

static int set_up(void **state)
{
    static world made;
    made = (world){0};
    coordinator_options o = {
        .node_count = NODES, .epochs = 2, .rounds_per_epoch = ROUNDS, .silent_after_ns = 1000};
    assert_int_equal(coordinator_make(&o, &made.c), EDGEPS_OK);
    assert_int_equal(plan_make(NODES, &made.pl), EDGEPS_OK);
    made.pl.generation = 1;
    made.pl.global = 0;
    made.pl.parent[1] = made.pl.parent[2] = 1;
    *state = &made;
    return 0;
}

static int tear_down(void **state)
{
    world *o = *state;
    coordinator_free(&o->c);
    plan_free(&o->pl);
    return 0;
}

static void step(world *o, coordinator_event event)
{
    o->effects.count = 0;
    assert_int_equal(coordinator_step(&o->c, &event, &o->effects), EDGEPS_OK);
}

static const coordinator_effect *only(const world *o, coordinator_effect_kind kind)
{
    assert_int_equal(o->effects.count, 1);
    assert_int_equal(o->effects.items[0].kind, kind);
    return &o->effects.items[0];
}

static bool has(const world *o, coordinator_effect_kind kind)
{
    for (size_t k = 0; k < o->effects.count; k++)
        if (o->effects.items[k].kind == kind)
            return true;
    return false;
}

static void join_all(world *o)
{
    for (int32_t i = 0; i < NODES; i++)
        step(o, (coordinator_event){.kind = COORDINATOR_JOINED, .node = i});
    assert_int_equal(only(o, COORDINATOR_WANT_PLAN)->why, COORDINATOR_FIRST);
}

static void give_plan(world *o, size_t moves, bool restored)
{
    step(o, (coordinator_event){.kind = COORDINATOR_PLANNED,
                                .plan = &o->pl,
                                .move_count = moves,
                                .restored = restored});
}

static void ready(world *o, int32_t node)
{
    step(o, (coordinator_event){
                .kind = COORDINATOR_READY, .node = node, .generation = o->pl.generation});
}

/* In the first epoch of generation 1. */
static void start(world *o)
{
    join_all(o);
    give_plan(o, 0, false);
    step(o, (coordinator_event){.kind = COORDINATOR_COMMITTED});
    ready(o, 1);
    ready(o, 2);
    assert_int_equal(o->c.phase, COORDINATOR_TRAINING);
}

static void end_epoch(world *o, int64_t epoch)
{
    step(o, (coordinator_event){.kind = COORDINATOR_ROUND,
                                .generation = o->c.plan.generation,
                                .round = epoch * ROUNDS});
    for (int32_t i = 1; i < NODES; i++)
        if (o->c.present[i])
            step(o,
                 (coordinator_event){.kind = COORDINATOR_DONE, .node = i, .round = epoch * ROUNDS});
}

static void plans_moves_commits_and_announces_in_this_order(void **state)
{
    world *o = *state;
    join_all(o);
    give_plan(o, 2, false);
    assert_int_equal(only(o, COORDINATOR_MOVE)->index, 0);
    step(o, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = true});
    assert_int_equal(only(o, COORDINATOR_MOVE)->index, 1);
    step(o, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = true});
    assert_int_equal(only(o, COORDINATOR_COMMIT)->generation, 1);
    assert_int_equal(o->c.plan.generation, 0);
    step(o, (coordinator_event){.kind = COORDINATOR_COMMITTED});
    assert_int_equal(only(o, COORDINATOR_ANNOUNCE)->generation, 1);
}

static void an_epoch_begins_when_every_worker_is_ready(void **state)
{
    world *o = *state;
    join_all(o);
    give_plan(o, 0, false);
    step(o, (coordinator_event){.kind = COORDINATOR_COMMITTED});
    ready(o, 1);
    assert_int_equal(o->effects.count, 0);
    step(o, (coordinator_event){.kind = COORDINATOR_READY, .node = 2, .generation = 7});
    assert_int_equal(o->effects.count, 0);
    ready(o, 2);
    assert_true(has(o, COORDINATOR_EPOCH_BEGUN));
    assert_int_equal(o->effects.items[1].kind, COORDINATOR_ALLOW);
    assert_int_equal(o->effects.items[1].round, ROUNDS);
}

static void the_job_ends_after_its_epochs(void **state)
{
    world *o = *state;
    start(o);
    end_epoch(o, 1);
    assert_int_equal(only(o, COORDINATOR_SAVE)->round, ROUNDS);
    step(o, (coordinator_event){.kind = COORDINATOR_SAVED, .ok = true});
    assert_true(has(o, COORDINATOR_EPOCH_ENDED));
    assert_true(has(o, COORDINATOR_WANT_PLAN));
    give_plan(o, 0, false); /* the same generation: nothing changes */
    assert_true(has(o, COORDINATOR_EPOCH_BEGUN));
    end_epoch(o, 2);
    step(o, (coordinator_event){.kind = COORDINATOR_SAVED, .ok = true});
    assert_true(has(o, COORDINATOR_FINISH));
    assert_int_equal(o->c.phase, COORDINATOR_ENDED);
}

static void a_death_in_an_epoch_brings_a_new_generation_and_no_wait(void **state)
{
    world *o = *state;
    start(o);
    step(o, (coordinator_event){.kind = COORDINATOR_LOST, .node = 2});
    assert_int_equal(only(o, COORDINATOR_WANT_PLAN)->why, COORDINATOR_REPAIR);
    o->pl.generation = 2;
    o->pl.parent[2] = PLAN_NONE;
    give_plan(o, 0, false);
    step(o, (coordinator_event){.kind = COORDINATOR_COMMITTED});
    assert_true(has(o, COORDINATOR_ANNOUNCE));
    assert_true(has(o, COORDINATOR_ALLOW));
    assert_false(has(o, COORDINATOR_EPOCH_BEGUN));
    end_epoch(o, 1);
    assert_true(has(o, COORDINATOR_SAVE));
}

static void a_death_while_planning_makes_the_plan_stale(void **state)
{
    world *o = *state;
    join_all(o);
    step(o, (coordinator_event){.kind = COORDINATOR_LOST, .node = 2});
    assert_int_equal(o->effects.count, 0);
    give_plan(o, 1, false);
    assert_int_equal(only(o, COORDINATOR_WANT_PLAN)->why, COORDINATOR_REPAIR);
}

/* What the successor of a lost global server still finds among the living counts, no more. */
static void a_lost_global_server_leaves_the_rounds_that_its_successor_tells(void **state)
{
    world *o = *state;
    start(o);
    end_epoch(o, 1);
    step(o, (coordinator_event){.kind = COORDINATOR_SAVED, .ok = true});
    give_plan(o, 0, false);
    step(o,
         (coordinator_event){.kind = COORDINATOR_ROUND, .generation = 1, .round = 2 * ROUNDS - 1});
    step(o, (coordinator_event){.kind = COORDINATOR_LOST, .node = 0});
    o->pl.generation = 2;
    o->pl.global = 2;
    give_plan(o, 1, true);
    step(o, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = true});
    step(o, (coordinator_event){.kind = COORDINATOR_COMMITTED});
    assert_true(has(o, COORDINATOR_ANNOUNCE));
    assert_int_equal(o->c.epoch, 2);
    assert_int_equal(o->c.committed_round, ROUNDS);
    step(o,
         (coordinator_event){.kind = COORDINATOR_ROUND, .generation = 2, .round = 2 * ROUNDS - 1});
    assert_int_equal(o->c.committed_round, 2 * ROUNDS - 1);
    assert_false(has(o, COORDINATOR_SAVE));
    end_epoch(o, 2);
    assert_true(has(o, COORDINATOR_SAVE));
}

static void a_node_that_comes_back_waits_until_its_old_process_is_out_of_the_plan(void **state)
{
    world *o = *state;
    start(o);
    step(o, (coordinator_event){.kind = COORDINATOR_LOST, .node = 2});
    assert_int_equal(only(o, COORDINATOR_WANT_PLAN)->why, COORDINATOR_REPAIR);
    step(o, (coordinator_event){.kind = COORDINATOR_JOINED, .node = 2});
    assert_false(o->c.present[2]);
    o->pl.generation = 2;
    o->pl.parent[2] = PLAN_NONE;
    give_plan(o, 0, false);
    step(o, (coordinator_event){.kind = COORDINATOR_COMMITTED});
    assert_true(has(o, COORDINATOR_ANNOUNCE));
    assert_true(has(o, COORDINATOR_WANT_PLAN));
    assert_true(o->c.present[2]);
    o->pl.generation = 3;
    o->pl.parent[2] = 0;
    give_plan(o, 0, false);
    step(o, (coordinator_event){.kind = COORDINATOR_COMMITTED});
    assert_true(has(o, COORDINATOR_ALLOW));
    assert_int_equal(o->c.phase, COORDINATOR_TRAINING);
}

static void a_node_for_which_there_is_no_room_stays_out(void **state)
{
    world *o = *state;
    start(o);
    step(o, (coordinator_event){.kind = COORDINATOR_LOST, .node = 2});
    o->pl.generation = 2;
    o->pl.parent[2] = PLAN_NONE;
    give_plan(o, 0, false);
    step(o, (coordinator_event){.kind = COORDINATOR_COMMITTED});
    step(o, (coordinator_event){.kind = COORDINATOR_JOINED, .node = 2});
    assert_int_equal(only(o, COORDINATOR_WANT_PLAN)->why, COORDINATOR_RETURN);
    step(o, (coordinator_event){.kind = COORDINATOR_NO_PLAN});
    assert_int_equal(only(o, COORDINATOR_WANT_PLAN)->why, COORDINATOR_REPAIR);
    assert_false(o->c.present[2]);
    give_plan(o, 0, false); /* the same one */
    assert_int_equal(o->c.phase, COORDINATOR_TRAINING);
}

static void a_failed_move_is_planned_again_and_announced_even_if_nothing_changes(void **state)
{
    world *o = *state;
    start(o);
    end_epoch(o, 1);
    step(o, (coordinator_event){.kind = COORDINATOR_SAVED, .ok = true});
    o->pl.generation = 2;
    o->pl.global = 2;
    give_plan(o, 1, false);
    step(o, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = false});
    assert_int_equal(only(o, COORDINATOR_WANT_PLAN)->why, COORDINATOR_REPAIR);
    o->pl.generation = 1;
    o->pl.global = 0;
    give_plan(o, 0, false);
    assert_int_equal(only(o, COORDINATOR_COMMIT)->generation, 2);
}

/* As long as some succeed in between, no row of failures comes together. */
static void the_job_fails_when_five_moves_have_failed_before_a_commit(void **state)
{
    world *o = *state;
    start(o);
    for (int failed = 1; failed <= 5; failed++) {
        step(o, (coordinator_event){.kind = COORDINATOR_LOST, .node = 2});
        o->pl.generation = 2;
        give_plan(o, 2, false);
        step(o, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = true});
        assert_int_equal(only(o, COORDINATOR_MOVE)->index, 1);
        step(o, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = false});
        assert_true(has(o, failed < 5 ? COORDINATOR_WANT_PLAN : COORDINATOR_FAIL));
    }
}

/* It stood still itself, and what the nodes have sent meanwhile is not read yet. */
static void a_coordinator_that_stood_still_expels_nobody(void **state)
{
    const int64_t second_ns = 1000000000;
    world *o = *state;
    o->c.options.silent_after_ns = 3 * second_ns;
    start(o);
    for (int32_t i = 0; i < NODES; i++)
        step(o, (coordinator_event){
                    .kind = COORDINATOR_HEARD, .node = i, .now_ns = second_ns * (i + 1) / 2});
    step(o, (coordinator_event){.kind = COORDINATOR_TICK, .now_ns = 2 * second_ns});
    step(o, (coordinator_event){.kind = COORDINATOR_TICK, .now_ns = 12 * second_ns});
    assert_int_equal(o->effects.count, 0);
    step(o, (coordinator_event){.kind = COORDINATOR_TICK, .now_ns = 13 * second_ns});
    assert_int_equal(o->effects.count, 0);
    /* The time before the pause counts: of the first it was 1.5 s. */
    step(o,
         (coordinator_event){.kind = COORDINATOR_TICK, .now_ns = 13 * second_ns + second_ns / 2});
    assert_true(has(o, COORDINATOR_EXPEL));
    assert_int_equal(o->effects.items[0].node, 0);
    assert_true(o->c.present[1]);
}

/* Generation 2 puts the global server of the second epoch on node 2, by one move. */
static void plan_a_move(world *o, bool releases)
{
    start(o);
    end_epoch(o, 1);
    step(o, (coordinator_event){.kind = COORDINATOR_SAVED, .ok = true});
    o->pl.generation = 2;
    o->pl.global = 2;
    step(o,
         (coordinator_event){
             .kind = COORDINATOR_PLANNED, .plan = &o->pl, .move_count = 1, .releases = releases});
}

static void an_epoch_begins_while_servers_move(void **state)
{
    world *o = *state;
    plan_a_move(o, false);
    assert_int_equal(o->effects.count, 3);
    assert_int_equal(o->effects.items[0].kind, COORDINATOR_EPOCH_BEGUN);
    assert_int_equal(o->effects.items[1].kind, COORDINATOR_ALLOW);
    assert_int_equal(o->effects.items[2].kind, COORDINATOR_MOVE);
    end_epoch(o, 2);
    assert_int_equal(o->effects.count, 0); /* all rounds are made before the move is */
    step(o, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = true});
    assert_int_equal(only(o, COORDINATOR_COMMIT)->generation, 2);
    step(o, (coordinator_event){.kind = COORDINATOR_COMMITTED});
    assert_false(has(o, COORDINATOR_EPOCH_BEGUN));
    assert_true(has(o, COORDINATOR_SAVE));
}

static void a_plan_that_cannot_be_recorded_leaves_the_one_in_force(void **state)
{
    world *o = *state;
    plan_a_move(o, false);
    step(o, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = true});
    only(o, COORDINATOR_COMMIT);
    step(o, (coordinator_event){.kind = COORDINATOR_UNRECORDED});
    assert_int_equal(only(o, COORDINATOR_ANNOUNCE)->generation, 1);
    assert_int_equal(o->c.phase, COORDINATOR_TRAINING);
    assert_int_equal(o->c.plan.global, 0);
    end_epoch(o, 2);
    only(o, COORDINATOR_SAVE);
}

static void where_the_plan_in_force_cannot_stay_the_record_is_tried_again(void **state)
{
    const int64_t pause_ns = 500 * INT64_C(1000000);
    world *o = *state;
    start(o);
    o->c.options.silent_after_ns = 0;
    step(o, (coordinator_event){.kind = COORDINATOR_LOST, .node = 2});
    o->pl.generation = 2;
    o->pl.parent[2] = PLAN_NONE;
    give_plan(o, 0, false);
    for (int64_t k = 0; k < 3; k++) {
        only(o, COORDINATOR_COMMIT);
        step(o, (coordinator_event){.kind = COORDINATOR_UNRECORDED, .now_ns = k * pause_ns + 1});
        assert_int_equal(o->effects.count, 0);
        step(o, (coordinator_event){.kind = COORDINATOR_TICK, .now_ns = (k + 1) * pause_ns});
        assert_int_equal(o->effects.count, 0);
        step(o, (coordinator_event){.kind = COORDINATOR_TICK, .now_ns = (k + 1) * pause_ns + 1});
    }
    step(o, (coordinator_event){.kind = COORDINATOR_UNRECORDED, .now_ns = 3 * pause_ns + 1});
    step(o, (coordinator_event){.kind = COORDINATOR_LOST, .node = 0});
    step(o, (coordinator_event){.kind = COORDINATOR_TICK, .now_ns = 5 * pause_ns});
    assert_int_equal(only(o, COORDINATOR_WANT_PLAN)->why, COORDINATOR_REPAIR);
}

static void an_epoch_waits_for_moves_that_take_its_servers_away(void **state)
{
    world *o = *state;
    plan_a_move(o, true);
    only(o, COORDINATOR_MOVE);
    step(o, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = true});
    step(o, (coordinator_event){.kind = COORDINATOR_COMMITTED});
    ready(o, 1);
    ready(o, 2);
    assert_true(has(o, COORDINATOR_EPOCH_BEGUN));
}

static void a_loss_abandons_the_move_under_way(void **state)
{
    world *o = *state;
    plan_a_move(o, false);
    step(o, (coordinator_event){.kind = COORDINATOR_LOST, .node = 2});
    assert_int_equal(o->effects.count, 2);
    assert_int_equal(o->effects.items[0].kind, COORDINATOR_ABANDON);
    assert_int_equal(o->effects.items[1].why, COORDINATOR_REPAIR);
    step(o, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = true}); /* too late */
    assert_int_equal(o->effects.count, 0);
}

static void moves_that_fail_again_and_again_are_given_up(void **state)
{
    world *o = *state;
    plan_a_move(o, false);
    for (int k = 0; k < 4; k++) {
        step(o, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = false});
        assert_int_equal(only(o, COORDINATOR_WANT_PLAN)->why, COORDINATOR_REPAIR);
        give_plan(o, 1, false);
    }
    step(o, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = false});
    assert_int_equal(only(o, COORDINATOR_COMMIT)->why, COORDINATOR_CANNOT_MOVE);
    step(o, (coordinator_event){.kind = COORDINATOR_COMMITTED});
    assert_int_equal(o->c.phase, COORDINATOR_TRAINING);
    assert_int_equal(o->c.plan.generation, 2);
    assert_int_equal(o->c.plan.global, 0);
}

static void a_server_that_must_move_and_cannot_ends_the_job(void **state)
{
    world *o = *state;
    plan_a_move(o, true);
    for (int k = 0; k < 4; k++) {
        step(o, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = false});
        give_plan(o, 1, true);
    }
    step(o, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = false});
    assert_int_equal(only(o, COORDINATOR_FAIL)->why, COORDINATOR_CANNOT_MOVE);
}

static void who_is_not_heard_is_expelled(void **state)
{
    world *o = *state;
    start(o);
    for (int32_t i = 0; i < NODES; i++)
        step(o,
             (coordinator_event){.kind = COORDINATOR_HEARD, .node = i, .now_ns = i == 1 ? 0 : 900});
    step(o, (coordinator_event){.kind = COORDINATOR_TICK, .now_ns = 999});
    assert_int_equal(o->effects.count, 0);
    step(o, (coordinator_event){.kind = COORDINATOR_TICK, .now_ns = 1000});
    assert_int_equal(o->effects.count, 2);
    assert_int_equal(o->effects.items[0].kind, COORDINATOR_EXPEL);
    assert_int_equal(o->effects.items[0].node, 1);
    assert_int_equal(o->effects.items[1].kind, COORDINATOR_WANT_PLAN);
}

/* Times are in the unit of silent_after_ns. */
static void at(world *o, coordinator_event_kind kind, int64_t now_ns, int32_t node)
{
    step(o, (coordinator_event){.kind = kind, .now_ns = now_ns, .node = node});
}

static void who_is_not_heard_for_a_while_is_suspected_once_and_cleared_when_heard(void **state)
{
    world *o = *state;
    o->c.options.suspect_after_ns = 300;
    start(o);
    at(o, COORDINATOR_HEARD, 0, 0);
    at(o, COORDINATOR_HEARD, 200, 1);
    at(o, COORDINATOR_HEARD, 200, 2);
    at(o, COORDINATOR_TICK, 299, 0);
    assert_int_equal(o->effects.count, 0);
    at(o, COORDINATOR_TICK, 300, 0);
    assert_int_equal(only(o, COORDINATOR_SUSPECT)->node, 0);
    at(o, COORDINATOR_TICK, 301, 0);
    assert_int_equal(o->effects.count, 0);
    at(o, COORDINATOR_HEARD, 302, 0);
    assert_int_equal(only(o, COORDINATOR_CLEAR)->node, 0);
    at(o, COORDINATOR_TICK, 500, 0);
    assert_int_equal(o->effects.count, 2);
    at(o, COORDINATOR_TICK, 1199, 0);
    assert_int_equal(only(o, COORDINATOR_SUSPECT)->node, 0);
    at(o, COORDINATOR_TICK, 1200, 0);
    assert_int_equal(o->effects.items[0].kind, COORDINATOR_EXPEL);
    assert_int_equal(o->effects.items[0].node, 1);
}

/* Worker 2 is stopped: with a quorum rounds go on, and so do epochs. */
static void an_epoch_ends_without_a_suspect_where_rounds_do(void **state)
{
    world *o = *state;
    for (int spare = 0; spare < 2; spare++) {
        if (spare) {
            tear_down(state);
            set_up(state);
        }
        o->c.options.suspect_after_ns = 300;
        o->c.options.spare_suspects = spare;
        start(o);
        for (int32_t i = 0; i < NODES; i++)
            at(o, COORDINATOR_HEARD, i == 2 ? 0 : 300, i);
        step(o, (coordinator_event){.kind = COORDINATOR_ROUND, .generation = 1, .round = ROUNDS});
        step(o, (coordinator_event){.kind = COORDINATOR_DONE, .node = 1, .round = ROUNDS});
        assert_int_equal(o->effects.count, 0);
        at(o, COORDINATOR_TICK, 310, 0);
        assert_int_equal(o->effects.items[0].kind, COORDINATOR_SUSPECT);
        assert_int_equal(has(o, COORDINATOR_SAVE), spare);
    }
}

static void a_node_without_room_for_its_server_brings_a_plan_that_is_announced(void **state)
{
    world *o = *state;
    start(o);
    at(o, COORDINATOR_FULL, 0, 1);
    assert_int_equal(only(o, COORDINATOR_WANT_PLAN)->why, COORDINATOR_REPAIR);
    assert_true(o->c.present[1]);
    give_plan(o, 0, false); /* the same one: a server may wait for it */
    assert_int_equal(only(o, COORDINATOR_COMMIT)->generation, 2);
    at(o, COORDINATOR_FULL, 0, 1); /* of the generation before */
    assert_int_equal(o->effects.count, 0);
    step(o, (coordinator_event){.kind = COORDINATOR_COMMITTED});
    assert_true(has(o, COORDINATOR_WANT_PLAN));
}

static void plans_for_which_there_is_never_room_end_the_job(void **state)
{
    world *o = *state;
    start(o);
    for (int k = 0; k < 20 && o->c.phase != COORDINATOR_ENDED; k++) {
        at(o, COORDINATOR_FULL, 0, 1);
        if (o->c.phase == COORDINATOR_ENDED)
            break;
        o->pl.generation++;
        give_plan(o, 0, false);
        step(o, (coordinator_event){.kind = COORDINATOR_COMMITTED});
    }
    assert_int_equal(only(o, COORDINATOR_FAIL)->why, COORDINATOR_CANNOT_MOVE);
}

static void the_job_fails_when_nobody_or_no_plan_is_left(void **state)
{
    world *o = *state;
    start(o);
    step(o, (coordinator_event){.kind = COORDINATOR_LOST, .node = 1});
    step(o, (coordinator_event){.kind = COORDINATOR_NO_PLAN});
    assert_int_equal(only(o, COORDINATOR_FAIL)->why, COORDINATOR_IMPOSSIBLE);
    step(o, (coordinator_event){.kind = COORDINATOR_LOST, .node = 0});
    assert_int_equal(o->effects.count, 0);
}

/* A coordinator in the place of a killed one, which had the plan of the fixture in force. */
static void follow(world *o, int64_t epochs_over, bool epoch_begun)
{
    coordinator_options options = {.node_count = NODES,
                                   .epochs = 2,
                                   .rounds_per_epoch = ROUNDS,
                                   .start_epoch = epochs_over,
                                   .silent_after_ns = 1000,
                                   .in_force = &o->pl,
                                   .epoch_begun = epoch_begun};
    coordinator_free(&o->c);
    assert_int_equal(coordinator_make(&options, &o->c), EDGEPS_OK);
}

static void keep(world *o, int32_t node, bool unsettled)
{
    step(o, (coordinator_event){
                .kind = COORDINATOR_JOINED, .node = node, .kept = true, .unsettled = unsettled});
}

static void a_follower_lets_everybody_go_on(void **state)
{
    world *o = *state;
    follow(o, 0, true);
    keep(o, 0, false);
    ready(o, 1);
    keep(o, 1, false);
    assert_int_equal(o->effects.count, 0);
    keep(o, 2, false);
    assert_int_equal(o->effects.count, 2);
    assert_int_equal(o->effects.items[0].kind, COORDINATOR_ANNOUNCE);
    assert_int_equal(o->effects.items[0].generation, 1);
    assert_int_equal(o->effects.items[1].kind, COORDINATOR_ALLOW);
    assert_int_equal(o->effects.items[1].round, ROUNDS);
    end_epoch(o, 1);
    assert_int_equal(only(o, COORDINATOR_SAVE)->round, ROUNDS);
}

/* What was told to the coordinator before is told again, in any order, before all are here. */
static void a_follower_hears_of_an_epoch_that_ended_meanwhile(void **state)
{
    world *o = *state;
    follow(o, 0, true);
    for (int32_t i = 0; i < NODES; i++) {
        keep(o, i, false);
        if (i == 0)
            end_epoch(o, 1);
        if (i == 1)
            step(o, (coordinator_event){.kind = COORDINATOR_DONE, .node = 1, .round = ROUNDS});
    }
    step(o, (coordinator_event){.kind = COORDINATOR_DONE, .node = 2, .round = ROUNDS});
    assert_int_equal(only(o, COORDINATOR_SAVE)->round, ROUNDS);
}

static void a_follower_plans_for_an_epoch_that_had_not_begun(void **state)
{
    world *o = *state;
    follow(o, 1, false);
    for (int32_t i = 0; i < NODES; i++)
        keep(o, i, false);
    assert_int_equal(o->effects.count, 2);
    assert_int_equal(o->effects.items[0].kind, COORDINATOR_ANNOUNCE);
    assert_int_equal(o->effects.items[1].why, COORDINATOR_NEXT_EPOCH);
    assert_int_equal(o->c.epoch, 2);
}

static void a_follower_replaces_those_who_do_not_come(void **state)
{
    world *o = *state;
    follow(o, 0, true);
    keep(o, 0, false);
    keep(o, 1, false);
    step(o, (coordinator_event){.kind = COORDINATOR_LOST, .node = 2});
    assert_true(has(o, COORDINATOR_ANNOUNCE));
    assert_int_equal(o->effects.items[1].why, COORDINATOR_REPAIR);
    o->pl.generation = 2;
    o->pl.parent[2] = PLAN_NONE;
    give_plan(o, 0, false);
    step(o, (coordinator_event){.kind = COORDINATOR_COMMITTED});
    assert_int_equal(o->effects.items[1].kind, COORDINATOR_ALLOW);
}

/* Its server does not go on in the generation that it is frozen in. */
static void a_follower_begins_a_generation_where_a_move_was_under_way(void **state)
{
    world *o = *state;
    follow(o, 0, true);
    keep(o, 0, true);
    keep(o, 1, false);
    keep(o, 2, false);
    assert_int_equal(o->effects.items[1].kind, COORDINATOR_WANT_PLAN);
    give_plan(o, 0, false);
    assert_int_equal(only(o, COORDINATOR_COMMIT)->generation, 2);
}

static void a_new_process_does_not_stand_in_for_the_one_of_the_plan(void **state)
{
    world *o = *state;
    follow(o, 0, true);
    keep(o, 0, false);
    keep(o, 1, false);
    step(o, (coordinator_event){.kind = COORDINATOR_JOINED, .node = 2});
    assert_int_equal(o->effects.items[1].why, COORDINATOR_REPAIR);
    assert_false(o->c.present[2]);
    o->pl.generation = 2;
    o->pl.parent[2] = PLAN_NONE;
    give_plan(o, 0, false);
    step(o, (coordinator_event){.kind = COORDINATOR_COMMITTED});
    assert_int_equal(o->effects.items[o->effects.count - 1].why, COORDINATOR_RETURN);
    assert_true(o->c.present[2]);
}

/* A node without a role comes when it likes, and is there for the next plan. */
static void a_follower_does_not_wait_for_who_has_no_role(void **state)
{
    world *o = *state;
    o->pl.parent[2] = PLAN_NONE;
    follow(o, 0, true);
    keep(o, 0, false);
    keep(o, 1, false);
    assert_true(has(o, COORDINATOR_ALLOW));
    keep(o, 2, false);
    assert_int_equal(only(o, COORDINATOR_WANT_PLAN)->why, COORDINATOR_RETURN);
}

static void a_follower_finishes_where_only_the_end_was_missing(void **state)
{
    world *o = *state;
    follow(o, 2, false);
    for (int32_t i = 0; i < NODES; i++)
        keep(o, i, false);
    only(o, COORDINATOR_FINISH);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(plans_moves_commits_and_announces_in_this_order),
        UNIT(an_epoch_begins_when_every_worker_is_ready),
        UNIT(the_job_ends_after_its_epochs),
        UNIT(a_death_in_an_epoch_brings_a_new_generation_and_no_wait),
        UNIT(a_death_while_planning_makes_the_plan_stale),
        UNIT(a_lost_global_server_leaves_the_rounds_that_its_successor_tells),
        UNIT(a_node_that_comes_back_waits_until_its_old_process_is_out_of_the_plan),
        UNIT(a_node_for_which_there_is_no_room_stays_out),
        UNIT(a_failed_move_is_planned_again_and_announced_even_if_nothing_changes),
        UNIT(the_job_fails_when_five_moves_have_failed_before_a_commit),
        UNIT(a_coordinator_that_stood_still_expels_nobody),
        UNIT(an_epoch_begins_while_servers_move),
        UNIT(a_plan_that_cannot_be_recorded_leaves_the_one_in_force),
        UNIT(where_the_plan_in_force_cannot_stay_the_record_is_tried_again),
        UNIT(an_epoch_waits_for_moves_that_take_its_servers_away),
        UNIT(a_loss_abandons_the_move_under_way),
        UNIT(moves_that_fail_again_and_again_are_given_up),
        UNIT(a_server_that_must_move_and_cannot_ends_the_job),
        UNIT(who_is_not_heard_is_expelled),
        UNIT(who_is_not_heard_for_a_while_is_suspected_once_and_cleared_when_heard),
        UNIT(an_epoch_ends_without_a_suspect_where_rounds_do),
        UNIT(a_node_without_room_for_its_server_brings_a_plan_that_is_announced),
        UNIT(plans_for_which_there_is_never_room_end_the_job),
        UNIT(the_job_fails_when_nobody_or_no_plan_is_left),
        UNIT(a_follower_lets_everybody_go_on),
        UNIT(a_follower_hears_of_an_epoch_that_ended_meanwhile),
        UNIT(a_follower_plans_for_an_epoch_that_had_not_begun),
        UNIT(a_follower_replaces_those_who_do_not_come),
        UNIT(a_follower_begins_a_generation_where_a_move_was_under_way),
        UNIT(a_new_process_does_not_stand_in_for_the_one_of_the_plan),
        UNIT(a_follower_does_not_wait_for_who_has_no_role),
        UNIT(a_follower_finishes_where_only_the_end_was_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
