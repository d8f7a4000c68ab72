#include "adapt/trace.h"

#include "adapt/adapt_fixture.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#define NO PLAN_NONE
#define MOST_EPOCHS 12

static const adapt_trace_options greedy = {.algorithm = "greedy", .seed = 1};

/* Problems of the same nodes, one an epoch. */
typedef struct course {
    problem *epochs[MOST_EPOCHS];
    size_t count;
    adapt_trace *trace;
} course;

static size_t policy(const char *name)
{
    for (size_t k = 0; k < adapt_policy_count; k++)
        if (strcmp(adapt_policies[k].name, name) == 0)
            return k;
    fail_msg("no policy %s", name);
    return 0;
}

static edgeps_err follow(course *c, const adapt_trace_options *options)
{
    return adapt_trace_make((const problem *const *)c->epochs, c->count, options, NULL, &c->trace);
}

static void end(course *c)
{
    adapt_trace_free(c->trace);
    for (size_t e = 0; e < c->count; e++)
        problem_free(c->epochs[e]);
}

static adapt_account account_of(course *c, const char *name)
{
    const plan *plans;
    adapt_account a;
    assert_int_equal(adapt_trace_plans(c->trace, policy(name), NULL, &plans), EDGEPS_OK);
    assert_int_equal(adapt_trace_judge(c->trace, plans, &a), EDGEPS_OK);
    return a;
}

static course still_course(size_t nodes, size_t count)
{
    course c = {.count = count};
    for (size_t e = 0; e < count; e++)
        c.epochs[e] = fixture_problem(nodes);
    return c;
}

/* The same nodes with storage, rates and speeds drawn anew now and then. */
static course random_course(rng *r, size_t nodes, size_t count)
{
    course c = {.count = count};
    problem *p = fixture_random_problem(r, nodes);
    int64_t room = job_global_need_bytes(&p->job, (int64_t)nodes);
    room += job_local_need_bytes(&p->job, (int64_t)nodes);
    for (size_t e = 0; e < count; e++) {
        problem *drawn = fixture_random_problem(r, nodes);
        for (size_t v = 0; v < nodes && e > 0; v++) {
            if (rng_below(r, 2))
                p->nodes[v].free_bytes = drawn->nodes[v].free_bytes;
            if (rng_below(r, 2))
                p->nodes[v].up_bytes_per_s = drawn->nodes[v].up_bytes_per_s;
        }
        if (e == 0)
            for (size_t v = 0; v < nodes; v++)
                p->nodes[v].free_bytes = room;
        assert_int_equal(problem_copy(p, &c.epochs[e]), EDGEPS_OK);
        problem_free(drawn);
    }
    problem_free(p);
    return c;
}

static void where_nothing_changes_nobody_moves(void **state)
{
    (void)state;
    course c = still_course(4, 3);
    assert_int_equal(follow(&c, &(adapt_trace_options){.algorithm = "brute"}), EDGEPS_OK);
    adapt_account still = account_of(&c, "static");
    assert_true(still.total_s == still.train_s && still.train_s > 0);
    for (size_t k = 0; k < adapt_policy_count; k++) {
        adapt_account a = account_of(&c, adapt_policies[k].name);
        assert_memory_equal(&a, &still, sizeof a);
    }
    assert_true(adapt_trace_offline_is_exact(c.trace));
    end(&c);
}

/* Worker 0, local server 1 that loses its room in epoch 2, global server 2, spare node 3. */
static course chain(void)
{
    course c = still_course(4, 3);
    int64_t local = job_local_need_bytes(&c.epochs[0]->job, 1);
    for (size_t e = 0; e < c.count; e++) {
        problem *p = c.epochs[e];
        p->worker_count = 1;
        for (size_t v = 0; v < 4; v++) {
            p->nodes[v].train = v == 0;
            p->nodes[v].serve = v > 0;
            p->nodes[v].free_bytes = local;
        }
        p->nodes[2].free_bytes = job_global_need_bytes(&p->job, 1);
        p->nodes[3].up_bytes_per_s = 9e5;
        if (e == 1)
            p->nodes[1].free_bytes = 0;
    }
    return c;
}

static void the_account_adds_up_by_hand(void **state)
{
    (void)state;
    course c = chain();
    adapt_trace_options options = {.algorithm = "greedy", .pause_s = 3};
    assert_int_equal(follow(&c, &options), EDGEPS_OK);
    const problem *p = c.epochs[0];
    plan near = fixture_plan(2, 4, (int32_t[]){1, NO, NO, NO});
    plan far = fixture_plan(2, 4, (int32_t[]){3, NO, NO, NO});
    double near_s, far_s, bytes = (double)job_local_state_bytes(&p->job);
    assert_int_equal(cost_round_s(p, &near, &near_s), EDGEPS_OK);
    assert_int_equal(cost_round_s(p, &far, &far_s), EDGEPS_OK);
    double rounds = (double)p->rounds;

    adapt_account still = account_of(&c, "static");
    assert_int_equal(still.lost_epochs, 1);
    assert_true(fabs(still.train_s - 2 * rounds * near_s) < 1e-9);
    assert_true(fabs(still.lost_s - 2 * rounds * far_s) < 1e-9);

    adapt_account repair = account_of(&c, "greedy-repair");
    assert_int_equal(repair.moves, 1);
    assert_int_equal(repair.changes, 1);
    assert_int_equal(repair.lost_epochs, 0);
    assert_true(fabs(repair.train_s - rounds * (near_s + 2 * far_s)) < 1e-9);
    assert_true(fabs(repair.move_s - 3 - bytes / 1e6) < 1e-9);

    adapt_account replan = account_of(&c, "replan");
    assert_int_equal(replan.moves, 2);
    assert_int_equal(replan.moved_bytes, 2 * job_local_state_bytes(&p->job));
    assert_true(fabs(replan.move_s - 6 - bytes / 1e6 - bytes / 9e5) < 1e-9);
    plan_free(&near);
    plan_free(&far);
    end(&c);
}

/* A plan may change only for one that runs and fits beside those in force. */
static void changes_against_the_rules_are_worth_nothing(void **state)
{
    (void)state;
    course c = chain();
    assert_int_equal(follow(&c, &greedy), EDGEPS_OK);
    plan plans[3] = {fixture_plan(2, 4, (int32_t[]){1, NO, NO, NO}),
                     fixture_plan(2, 4, (int32_t[]){3, NO, NO, NO}),
                     fixture_plan(2, 4, (int32_t[]){1, NO, NO, NO})};
    adapt_account a;
    assert_int_equal(adapt_trace_judge(c.trace, plans, &a), EDGEPS_OK);
    assert_true(a.total_s < INFINITY);
    plans[0].parent[0] = 3;
    plans[1].parent[0] = 1; /* cannot run */
    assert_int_equal(adapt_trace_judge(c.trace, plans, &a), EDGEPS_OK);
    assert_true(a.total_s == INFINITY);
    for (size_t e = 0; e < 3; e++)
        plan_free(&plans[e]);
    end(&c);
}

static bool next_digit(plan *pl, const problem *p)
{
    for (size_t i = 0; i < p->count; i++) {
        if (!p->nodes[i].train)
            continue;
        if (++pl->parent[i] < (int32_t)p->count)
            return true;
        pl->parent[i] = 0;
    }
    if (++pl->global < (int32_t)p->count)
        return true;
    pl->global = 0;
    return false;
}

/* The least total of all sequences of plans. */
static double best_of_all_sequences(const course *c)
{
    plan plans[MOST_EPOCHS];
    double best_s = INFINITY;
    size_t e;
    for (e = 0; e < c->count; e++) {
        int32_t first[2];
        for (size_t v = 0; v < 2; v++)
            first[v] = c->epochs[e]->nodes[v].train ? 0 : NO;
        plans[e] = fixture_plan(0, 2, first);
    }
    do {
        adapt_account a;
        assert_int_equal(adapt_trace_judge(c->trace, plans, &a), EDGEPS_OK);
        best_s = fmin(best_s, a.total_s);
        e = 0;
        while (e < c->count && !next_digit(&plans[e], c->epochs[e]))
            e++;
    } while (e < c->count);
    for (e = 0; e < c->count; e++)
        plan_free(&plans[e]);
    return best_s;
}

static void offline_is_the_best_of_all_sequences(void **state)
{
    (void)state;
    rng r = rng_make(3, 0);
    int compared = 0, moved = 0, lost = 0;
    for (int round = 0; round < 25; round++) {
        course c = random_course(&r, 2, 3);
        if (follow(&c, &greedy) == EDGEPS_OK) {
            adapt_account a = account_of(&c, "offline");
            double best_s = best_of_all_sequences(&c);
            assert_true(adapt_trace_offline_is_exact(c.trace));
            assert_true(fabs(a.total_s - best_s) <= 1e-9 * best_s);
            compared++;
            moved += a.changes > 0;
            lost += a.lost_epochs > 0;
        }
        end(&c);
    }
    assert_true(compared > 12 && moved > 3 && lost > 3);
}

/* How many policies are more than 1 % behind offline; none is before it. */
static int compare_with_offline(course *c, int round)
{
    adapt_account best = account_of(c, "offline");
    int behind = 0;
    for (size_t k = 0; k < adapt_policy_count; k++) {
        adapt_account a = account_of(c, adapt_policies[k].name);
        if (a.total_s == INFINITY)
            fail_msg("round %d: %s breaks the rules", round, adapt_policies[k].name);
        assert_true(a.total_s >= best.total_s * (1 - 1e-12));
        assert_true(fabs(a.total_s - a.train_s - a.move_s - a.lost_s) <= 1e-12 * a.total_s);
        behind += a.total_s > best.total_s * 1.01;
    }
    return behind;
}

static void nobody_beats_offline(void **state)
{
    (void)state;
    rng r = rng_make(4, 0);
    int followed = 0, behind = 0;
    for (int round = 0; round < 20; round++) {
        course c = random_course(&r, 2 + rng_below(&r, 4), 5);
        if (follow(&c, &greedy) == EDGEPS_OK) {
            behind += compare_with_offline(&c, round);
            followed++;
        }
        end(&c);
    }
    assert_true(followed > 10 && behind > 10);
}

/* What adjusts never loses an epoch that some plan could have run. */
static void only_what_adapts_keeps_running(void **state)
{
    (void)state;
    rng r = rng_make(5, 0);
    size_t lost[8] = {0}, most = 0;
    for (int round = 0; round < 20; round++) {
        course c = random_course(&r, 4, 5);
        if (follow(&c, &greedy) == EDGEPS_OK) {
            size_t hopeless = 0;
            for (size_t e = 0; e < c.count; e++) {
                adapt_result one;
                plan nothing = fixture_plan(NO, 4, (int32_t[]){NO, NO, NO, NO});
                one = fixture_step(c.epochs[e], &nothing, (adapt_options){.mode = ADAPT_ADJUST});
                hopeless += one.infeasible;
                adapt_result_free(&one);
                plan_free(&nothing);
            }
            for (size_t k = 0; k < adapt_policy_count; k++)
                lost[k] += account_of(&c, adapt_policies[k].name).lost_epochs;
            most += hopeless;
        }
        end(&c);
    }
    assert_int_equal(lost[policy("adjust")], most);
    assert_int_equal(lost[policy("greedy-repair")], most);
    assert_true(lost[policy("static")] > most);
}

/* Servers that open or go from one plan to the next, and the bytes of their states. */
static size_t recount(const plan *old, const plan *next, const job *j, int64_t *bytes)
{
    size_t moves = old->global != next->global;
    *bytes += moves ? job_global_state_bytes(j) : 0;
    for (size_t v = 0; v < next->count; v++) {
        bool opens = plan_is_local(next, v) && !plan_is_local(old, v);
        *bytes += opens ? job_local_state_bytes(j) : 0;
        moves += opens;
    }
    return moves;
}

/* A local server that opens beside the old global one finds its state there. */
static void moved_bytes_are_the_states_that_travelled(void **state)
{
    (void)state;
    rng r = rng_make(6, 0);
    size_t seen = 0;
    for (int round = 0; round < 20; round++) {
        course c = random_course(&r, 5, 4);
        for (size_t k = 0; k < 4 * 5; k++) /* any plan fits beside any other: no stop-overs */
            c.epochs[k / 5]->nodes[k % 5].free_bytes = INT64_MAX / 2;
        if (follow(&c, &greedy) == EDGEPS_OK) {
            const plan *plans;
            const job *j = &c.epochs[0]->job;
            adapt_account a = account_of(&c, "replan");
            int64_t bytes = 0;
            size_t moves = 0;
            assert_int_equal(adapt_trace_plans(c.trace, policy("replan"), NULL, &plans), EDGEPS_OK);
            for (size_t e = 1; e < c.count; e++)
                moves += recount(&plans[e - 1], &plans[e], j, &bytes);
            seen += moves;
            assert_true(a.moves <= moves);
            assert_int_equal(bytes - a.moved_bytes,
                             (int64_t)(moves - a.moves) * job_local_state_bytes(j));
        }
        end(&c);
    }
    assert_true(seen > 10);
}

/* Later epochs do not change earlier decisions of anyone but offline. */
static void only_offline_knows_the_future(void **state)
{
    (void)state;
    rng r = rng_make(7, 0);
    for (int round = 0; round < 20; round++) {
        course a = random_course(&r, 4, 5), b = {.count = 5};
        for (size_t e = 0; e < 5; e++)
            assert_int_equal(problem_copy(a.epochs[e], &b.epochs[e]), EDGEPS_OK);
        for (size_t v = 0; v < 4; v++) {
            b.epochs[3]->nodes[v].up_bytes_per_s *= 0.3;
            b.epochs[4]->nodes[v].free_bytes = 0;
        }
        if (follow(&a, &greedy) == EDGEPS_OK && follow(&b, &greedy) == EDGEPS_OK)
            for (size_t k = 0; k < adapt_policy_count; k++) {
                const plan *of_a, *of_b;
                if (k == policy("offline"))
                    continue;
                assert_int_equal(adapt_trace_plans(a.trace, k, NULL, &of_a), EDGEPS_OK);
                assert_int_equal(adapt_trace_plans(b.trace, k, NULL, &of_b), EDGEPS_OK);
                for (size_t e = 0; e < 3; e++)
                    assert_true(plan_equal(&of_a[e], &of_b[e]));
            }
        end(&a);
        end(&b);
    }
}

/* Two nodes take turns in being a little faster: the server stays where it is. */
static void noise_does_not_make_the_servers_swing(void **state)
{
    (void)state;
    course c = still_course(4, 10);
    for (size_t e = 0; e < c.count; e++) {
        problem *p = c.epochs[e];
        p->worker_count = 1;
        for (size_t v = 0; v < 4; v++) {
            p->nodes[v].train = v == 0;
            p->nodes[v].serve = v > 1;
        }
        p->nodes[2].up_bytes_per_s = 1e6 * (e % 2 ? 1.03 : 0.97);
        p->nodes[3].up_bytes_per_s = 1e6 * (e % 2 ? 0.97 : 1.03);
    }
    assert_int_equal(follow(&c, &(adapt_trace_options){.algorithm = "brute"}), EDGEPS_OK);
    assert_true(account_of(&c, "adjust").changes <= 1);
    assert_true(account_of(&c, "replan").changes > 3);
    end(&c);
}

/* The storage of the server's node falls by the epoch: it goes while it still fits, once. */
static void a_fall_of_storage_is_seen_coming(void **state)
{
    (void)state;
    course c = chain();
    int64_t local = job_local_need_bytes(&c.epochs[0]->job, 1);
    for (; c.count < 9; c.count++)
        assert_int_equal(problem_copy(c.epochs[0], &c.epochs[c.count]), EDGEPS_OK);
    for (size_t e = 0; e < 9; e++) {
        c.epochs[e]->nodes[1].free_bytes = local + local / 4 * (5 - (int64_t)e);
        c.epochs[e]->nodes[3].free_bytes = 2 * local;
    }
    assert_int_equal(follow(&c, &greedy), EDGEPS_OK);
    const plan *plans;
    assert_int_equal(adapt_trace_plans(c.trace, policy("adjust"), NULL, &plans), EDGEPS_OK);
    assert_int_equal(plans[3].parent[0], 1);
    assert_int_equal(plans[5].parent[0], 3); /* epoch 6 still has room, epoch 7 has none */
    assert_int_equal(account_of(&c, "adjust").changes, 1);
    assert_int_equal(account_of(&c, "adjust").lost_epochs, 0);
    end(&c);
}

static bool stop_at_two(void *context, const char *name, size_t epoch)
{
    (void)name;
    ++*(int *)context;
    return epoch < 2;
}

static void progress_may_stop_it(void **state)
{
    (void)state;
    int calls = 0;
    course c = still_course(3, 3);
    edgeps_diag diag;
    adapt_trace_options options = {
        .algorithm = "greedy", .progress = stop_at_two, .context = &calls};
    assert_int_equal(
        adapt_trace_make((const problem *const *)c.epochs, c.count, &options, &diag, &c.trace),
        EDGEPS_CANCELLED);
    assert_int_equal(calls, 2);
    assert_string_equal(diag.text, "interrupted in epoch 2 of placement");
    c.trace = NULL;
    end(&c);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    bool done = false;
    for (long n = 1; !done; n += n < 400 ? 1 : 37) {
        course c = chain();
        const plan *plans = NULL;
        adapt_account a;
        edgeps_diag diag;
        mem_fail_at(n);
        edgeps_err err = follow(&c, &greedy);
        if (!err)
            err = adapt_trace_plans(c.trace, policy("offline"), &diag, &plans);
        if (!err)
            err = adapt_trace_judge(c.trace, plans, &a);
        mem_fail_at(0);
        assert_true(!err || err == EDGEPS_NOMEM);
        done = !err;
        end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_nothing_changes_nobody_moves),
        cmocka_unit_test(the_account_adds_up_by_hand),
        cmocka_unit_test(changes_against_the_rules_are_worth_nothing),
        cmocka_unit_test(offline_is_the_best_of_all_sequences),
        cmocka_unit_test(nobody_beats_offline),
        cmocka_unit_test(only_what_adapts_keeps_running),
        cmocka_unit_test(moved_bytes_are_the_states_that_travelled),
        cmocka_unit_test(only_offline_knows_the_future),
        cmocka_unit_test(noise_does_not_make_the_servers_swing),
        cmocka_unit_test(a_fall_of_storage_is_seen_coming),
        cmocka_unit_test(progress_may_stop_it),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
