#include "base/mem.h"
#include "proto/global.h"
#include "proto/local.h"
#include "proto/proto_fixture.h"
#include "proto/worker.h"

enum { CHUNKS = 2, GLOBAL = 9, WORKERS = 3 };

#define MS INT64_C(1000000)

static const int32_t children[WORKERS] = {1, 2, 3};
static const int64_t at[][CHUNKS] = {{0, 0}, {1, 1}, {2, 2}, {3, 3}};

typedef struct world {
    local l;
    proto_effects effects;
    int64_t now_ns;
} world;

static int set_up(void **state)
{
    static world made;
    made = (world){.now_ns = MS};
    assert_int_equal(local_make(CHUNKS, &made.l), EDGEPS_OK);
    made.l.family.patience = (proto_patience){.quorum = 0.5, .timeout_ns = 500 * MS};
    *state = &made;
    return 0;
}

static int tear_down(void **state)
{
    world *o = *state;
    local_free(&o->l);
    proto_effects_free(&o->effects);
    return 0;
}

static void step(world *o, proto_event event)
{
    event.now_ns = o->now_ns;
    event.generation = 1;
    o->effects.count = 0;
    assert_int_equal(local_step(&o->l, &event, &o->effects), EDGEPS_OK);
}

static void attach(world *o, int32_t node)
{
    step(o, (proto_event){.kind = PROTO_ATTACH, .node = node, .have = at[0], .whole = true});
}

/* In generation 1, attached, with parameters of version 0 and the first `count` workers. */
static void start(world *o, int32_t count)
{
    local_restore(&o->l, at[0]);
    assert_int_equal(local_plan(&o->l, &(local_part){1, GLOBAL, children, WORKERS}, &o->effects),
                     EDGEPS_OK);
    step(o, (proto_event){.kind = PROTO_ATTACHED});
    for (int32_t k = 0; k < count; k++)
        attach(o, children[k]);
}

/* A worker's weight is ten times its node. */
static void push(world *o, int32_t node, int64_t round, int64_t chunk)
{
    step(o, (proto_event){.kind = PROTO_PUSHED,
                          .node = node,
                          .round = round,
                          .chunk = chunk,
                          .weight = 10 * node});
}

static void be_late(world *o, int64_t round)
{
    step(o, (proto_event){.kind = PROTO_LATE, .round = round});
}

static void pull_all(world *o, int64_t version)
{
    for (int64_t c = 0; c < CHUNKS; c++)
        step(o, (proto_event){.kind = PROTO_PULLED, .round = version, .chunk = c});
}

static void after_its_time_a_sum_closes_with_a_quorum_and_the_weights_of_who_is_in(void **state)
{
    world *o = *state;
    start(o, WORKERS);
    push(o, 1, 1, 0);
    assert_true(nth_effect(&o->effects, PROTO_ARM, 0)->after_ns == 500 * MS);
    assert_int_equal(nth_effect(&o->effects, PROTO_ARM, 0)->round, 1);
    push(o, 1, 1, 1);
    assert_int_equal(count_effects(&o->effects, PROTO_ARM), 0); /* once a round */
    push(o, 2, 1, 0);
    assert_int_equal(count_effects(&o->effects, PROTO_SUM), 0); /* two of three, but in time */
    be_late(o, 1);
    assert_int_equal(count_effects(&o->effects, PROTO_SUM), 1); /* chunk 1 has one of three */
    assert_int_equal(nth_effect(&o->effects, PROTO_SUM, 0)->chunk, 0);
    step(o, (proto_event){.kind = PROTO_SUMMED, .round = 1, .chunk = 0});
    assert_true(nth_effect(&o->effects, PROTO_SEND_UP, 0)->weight == 30);
    push(o, 3, 1, 0);
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->why, PROTO_TOO_LATE);
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->node, 3);
    push(o, 3, 1, 1);
    assert_int_equal(nth_effect(&o->effects, PROTO_SUM, 0)->chunk, 1);
    step(o, (proto_event){.kind = PROTO_SUMMED, .round = 1, .chunk = 1});
    assert_true(nth_effect(&o->effects, PROTO_SEND_UP, 0)->weight == 40);
}

static void everyone_in_time_needs_no_time_out(void **state)
{
    world *o = *state;
    start(o, WORKERS);
    push(o, 1, 1, 0);
    push(o, 2, 1, 0);
    push(o, 3, 1, 0);
    assert_int_equal(count_effects(&o->effects, PROTO_SUM), 1);
    be_late(o, 1);
    assert_int_equal(count_effects(&o->effects, PROTO_SUM), 0);
    pull_all(o, 1);
    be_late(o, 1); /* of a round that is over */
    push(o, 1, 2, 0);
    push(o, 2, 2, 0);
    be_late(o, 1);
    assert_int_equal(count_effects(&o->effects, PROTO_SUM), 0);
    be_late(o, 2);
    assert_int_equal(count_effects(&o->effects, PROTO_SUM), 1);
}

static void nothing_closes_early_before_every_child_has_told_what_it_holds(void **state)
{
    world *o = *state;
    start(o, 2);
    push(o, 1, 1, 0);
    push(o, 2, 1, 0);
    be_late(o, 1);
    assert_int_equal(count_effects(&o->effects, PROTO_SUM), 0);
    /* The third holds the very round: it is asked for, and the sum is of no use. */
    step(o, (proto_event){.kind = PROTO_ATTACH, .node = 3, .have = at[1], .whole = true});
    assert_int_equal(count_effects(&o->effects, PROTO_ASK), CHUNKS);
    assert_int_equal(count_effects(&o->effects, PROTO_SUM), 0);
    assert_int_equal(count_effects(&o->effects, PROTO_HAVE), 0);
    for (int64_t c = 0; c < CHUNKS; c++)
        step(o, (proto_event){.kind = PROTO_GIVEN, .node = 3, .round = 1, .chunk = c});
    assert_true(o->l.family.whole);
    assert_int_equal(count_effects(&o->effects, PROTO_HAVE), 1); /* so the parent may, too */
    push(o, 1, 2, 0);
    push(o, 2, 2, 0);
    be_late(o, 2);
    assert_int_equal(count_effects(&o->effects, PROTO_SUM), 1);
}

static void who_passed_is_not_waited_for(void **state)
{
    world *o = *state;
    o->l.family.patience.quorum = 1;
    start(o, WORKERS);
    push(o, 1, 1, 0);
    step(o, (proto_event){.kind = PROTO_PASSED, .node = 2, .round = 1, .chunk = 0});
    be_late(o, 1);
    assert_int_equal(count_effects(&o->effects, PROTO_SUM), 0);
    push(o, 3, 1, 0);
    assert_int_equal(nth_effect(&o->effects, PROTO_SUM, 0)->node, 2);
}

/* Rounds that take 40, 60, 50 ms from their beginning to two of three workers, however long the
 * third one takes. */
static void the_time_out_follows_the_median_of_the_last_rounds(void **state)
{
    static const int64_t took_ns[] = {40 * MS, 60 * MS, 50 * MS};
    world *o = *state;
    o->l.family.patience = (proto_patience){.quorum = 0.5, .times_median = 3};
    start(o, WORKERS);
    for (int64_t r = 1; r <= 3; r++) {
        int64_t opened_ns = o->now_ns;
        o->now_ns += 10 * MS;
        push(o, 1, r, 0);
        assert_int_equal(count_effects(&o->effects, PROTO_ARM), r > 1);
        push(o, 1, r, 1);
        o->now_ns = opened_ns + took_ns[r - 1];
        push(o, 2, r, 0);
        push(o, 2, r, 1);
        o->now_ns += 1000 * MS;
        push(o, 3, r, 0);
        push(o, 3, r, 1);
        pull_all(o, r);
    }
    push(o, 1, 4, 0);
    assert_true(nth_effect(&o->effects, PROTO_ARM, 0)->after_ns == 150 * MS);
}

static void the_global_server_waits_twice_as_long(void **state)
{
    world *o = *state;
    global g;
    assert_int_equal(global_make(CHUNKS, &g), EDGEPS_OK);
    g.family.patience = o->l.family.patience;
    global_restore(&g, at[0]);
    assert_int_equal(global_plan(&g, 1, children, 2, &o->effects), EDGEPS_OK);
    proto_event event = {.kind = PROTO_ATTACH, .node = 1, .generation = 1, .have = at[0]};
    assert_int_equal(global_step(&g, &event, &o->effects), EDGEPS_OK);
    o->effects.count = 0;
    event = (proto_event){
        .kind = PROTO_PUSHED, .node = 1, .generation = 1, .round = 1, .weight = 10, .now_ns = MS};
    assert_int_equal(global_step(&g, &event, &o->effects), EDGEPS_OK);
    assert_true(nth_effect(&o->effects, PROTO_ARM, 0)->after_ns == 1000 * MS);
    global_free(&g);
}

/* Workers 1 and 2 made round 1; the third one's gradient of it comes in round 2. */
static void a_late_gradient_counts_once_in_the_round_that_runs(void **state)
{
    world *o = *state;
    o->l.family.patience.staleness = 1;
    start(o, WORKERS);
    pull_all(o, 1);
    push(o, 3, 1, 0);
    assert_int_equal(nth_effect(&o->effects, PROTO_TAKE_FIRST, 0)->round, 2);
    assert_int_equal(nth_effect(&o->effects, PROTO_TAKE_FIRST, 0)->before, 1);
    assert_int_equal(count_effects(&o->effects, PROTO_ARM), 0); /* nobody has begun round 2 */
    push(o, 3, 1, 0);
    assert_int_equal(count_effects(&o->effects, PROTO_DROP), 1);
    push(o, 3, 2, 0); /* has its share in round 2 */
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->why, PROTO_REPEATED);
    push(o, 1, 2, 0);
    push(o, 2, 2, 0);
    assert_int_equal(nth_effect(&o->effects, PROTO_SUM, 0)->node, 3);
    step(o, (proto_event){.kind = PROTO_SUMMED, .round = 2, .chunk = 0});
    assert_true(nth_effect(&o->effects, PROTO_SEND_UP, 0)->weight == 60);
}

static void what_is_later_than_its_bound_or_may_be_in_another_sum_is_refused(void **state)
{
    world *o = *state;
    o->l.family.patience.staleness = 1;
    start(o, WORKERS);
    pull_all(o, 2);
    push(o, 3, 1, 0); /* two rounds late */
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->why, PROTO_TOO_LATE);
    step(o,
         (proto_event){.kind = PROTO_PUSHED, .node = 3, .round = 2, .weight = 30, .again = true});
    assert_int_equal(nth_effect(&o->effects, PROTO_DROP, 0)->why, PROTO_REPEATED);
}

/* All children are late: their gradients wait until one of them begins the round. */
static void late_gradients_alone_make_no_round(void **state)
{
    world *o = *state;
    o->l.family.patience.staleness = 1;
    start(o, WORKERS);
    pull_all(o, 1);
    for (int32_t k = 1; k <= WORKERS; k++) {
        push(o, k, 1, 0);
        assert_int_equal(count_effects(&o->effects, PROTO_SUM), 0);
    }
    push(o, 2, 2, 0);
    assert_int_equal(nth_effect(&o->effects, PROTO_SUM, 0)->node, 3);
}

static void worker_takes(worker *w, proto_effects *effects, proto_event event)
{
    event.generation = 1;
    effects->count = 0;
    assert_int_equal(worker_step(w, &event, effects), EDGEPS_OK);
}

/* A worker that computes round 1 while chunk 0 goes on to round 1, chunk 1 to round 2. */
static void check_straggler(int64_t staleness, size_t pushes)
{
    worker w;
    proto_effects effects = {.count = 0};
    assert_int_equal(worker_make(CHUNKS, &w), EDGEPS_OK);
    w.staleness = staleness;
    assert_int_equal(worker_plan(&w, 1, 7, &effects), EDGEPS_OK);
    worker_takes(&w, &effects, (proto_event){.kind = PROTO_ATTACHED});
    worker_takes(&w, &effects, (proto_event){.kind = PROTO_ALLOWED, .round = 9});
    for (int64_t c = 0; c < CHUNKS; c++)
        worker_takes(&w, &effects, (proto_event){.kind = PROTO_PULLED, .round = 0, .chunk = c});
    assert_int_equal(w.state, WORKER_COMPUTING);
    worker_takes(&w, &effects, (proto_event){.kind = PROTO_PULLED, .round = 1, .chunk = 0});
    assert_int_equal(count_effects(&effects, PROTO_ROUND_MISSED), 0);
    worker_takes(&w, &effects, (proto_event){.kind = PROTO_PULLED, .round = 1, .chunk = 1});
    assert_int_equal(nth_effect(&effects, PROTO_ROUND_MISSED, 0)->round, 1);
    worker_takes(&w, &effects, (proto_event){.kind = PROTO_PULLED, .round = 2, .chunk = 1});
    worker_takes(&w, &effects, (proto_event){.kind = PROTO_COMPUTED, .round = 1, .weight = 5});
    assert_int_equal(count_effects(&effects, PROTO_SEND_UP), pushes);
    assert_int_equal(count_effects(&effects, PROTO_HAVE), 1);
    assert_int_equal(count_effects(&effects, PROTO_DROP), pushes == 0);
    /* After a cut nothing of a round that is over goes up again. */
    worker_takes(&w, &effects, (proto_event){.kind = PROTO_PARENT_LOST});
    worker_takes(&w, &effects, (proto_event){.kind = PROTO_ATTACHED});
    assert_int_equal(count_effects(&effects, PROTO_SEND_UP), 0);
    worker_free(&w);
    proto_effects_free(&effects);
}

static void a_worker_pushes_only_what_may_still_count(void **state)
{
    (void)state;
    check_straggler(0, 0);
    check_straggler(1, 1);
    check_straggler(2, 2);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(after_its_time_a_sum_closes_with_a_quorum_and_the_weights_of_who_is_in),
        UNIT(everyone_in_time_needs_no_time_out),
        UNIT(nothing_closes_early_before_every_child_has_told_what_it_holds),
        UNIT(who_passed_is_not_waited_for),
        UNIT(the_time_out_follows_the_median_of_the_last_rounds),
        UNIT(the_global_server_waits_twice_as_long),
        UNIT(a_late_gradient_counts_once_in_the_round_that_runs),
        UNIT(what_is_later_than_its_bound_or_may_be_in_another_sum_is_refused),
        UNIT(late_gradients_alone_make_no_round),
        UNIT(a_worker_pushes_only_what_may_still_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
