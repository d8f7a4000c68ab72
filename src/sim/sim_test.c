#include "sim/whim.h"

#include "base/mem.h"
#include "base/rng.h"
#include "cost/cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};

/* A random network of `count` nodes; latencies, pair caps and summing speeds included. */
static network *random_network(rng *r, size_t count)
{
    network *net;
    assert_int_equal(network_make(count, NULL, &net), EDGEPS_OK);
    for (size_t i = 0; i < count; i++) {
        network_node *node = &net->nodes[i];
        node->name = mem_copy_text(names[i]);
        node->up_bytes_per_s = 1e6 * (1 + 9 * rng_uniform(r));
        node->down_bytes_per_s = 1e6 * (1 + 9 * rng_uniform(r));
        node->compute_samples_per_s = 500 + 2000 * rng_uniform(r);
        node->sum_bytes_per_s = 1e7 * (1 + 9 * rng_uniform(r));
        node->free_bytes = INT64_C(1) << 40;
        node->train = i == 0 || rng_uniform(r) < 0.9;
        for (size_t j = 0; j < count; j++)
            if (j != i) {
                net->latency_s[i * count + j] = 0.02 * rng_uniform(r);
                if (rng_uniform(r) < 0.2)
                    net->cap_bytes_per_s[i * count + j] = 1e6 * (1 + rng_uniform(r));
            }
    }
    return net;
}

static problem *random_problem(rng *r, const network *net, int64_t rounds)
{
    job j;
    problem *p;
    job_transfer transfer = rng_uniform(r) < 0.5 ? JOB_PIPELINED : JOB_STORE_AND_FORWARD;
    assert_int_equal(
        job_make(rng_uniform(r) < 0.5 ? "lenet5" : "mlp", 4000, 64, transfer, NULL, &j), EDGEPS_OK);
    problem_options o = {.rounds = rounds};
    assert_int_equal(problem_make(net, &j, &o, NULL, &p), EDGEPS_OK);
    return p;
}

static edgeps_err plan_as_given(void *context, const bool *absent, const plan *in_force, plan *out)
{
    (void)absent;
    return plan_copy(in_force->generation ? in_force : context, out);
}

static void check_prediction(uint64_t seed)
{
    rng r = rng_make(seed, 0);
    network *net = random_network(&r, 2 + (size_t)rng_below(&r, 8));
    problem *p = random_problem(&r, net, 1);
    whim w = {.p = p, .random = r};
    bool absent[10] = {false};
    plan none = {.global = PLAN_NONE}, pl;
    assert_int_equal(whim_plan(&w, absent, &none, &pl), EDGEPS_OK);
    double predicted_s;
    assert_int_equal(cost_round_s(p, &pl, &predicted_s), EDGEPS_OK);
    sim_options o = {.epochs = 3, .seed = seed, .planner = plan_as_given, .context = &pl};
    sim_result result;
    edgeps_diag diag = {.text = ""};
    if (sim_run(p, &o, &diag, &result))
        fail_msg("seed %d: %s", (int)seed, diag.text);
    for (int64_t k = 0; k < result.rounds; k++)
        if (fabs(result.round_s[k] - predicted_s) > 1e-6 * predicted_s)
            fail_msg("seed %d: round %d takes %.9f s, predicted %.9f s", (int)seed, (int)k,
                     result.round_s[k], predicted_s);
    sim_result_free(&result);
    plan_free(&pl);
    problem_free(p);
    network_free(net);
}

static void a_simulated_round_takes_the_time_that_the_evaluator_predicts(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        check_prediction(seed);
}

typedef struct trial {
    size_t kills;
    size_t cuts;
    bool keep;
    bool back; /* each killed node comes back */
    proto_patience patience;
    double slowdown;
} trial;

static void run_trial(uint64_t seed, const trial *t, sim_result *result)
{
    rng r = rng_make(seed, 2);
    network *net = random_network(&r, 4 + (size_t)rng_below(&r, 6));
    problem *p = random_problem(&r, net, 4);
    whim w = {.p = p, .random = rng_make(seed, 3), .keep = t->keep};
    sim_fault faults[16];
    for (size_t k = 0; k < t->kills + t->cuts; k++)
        faults[k] = (sim_fault){.at_s = 8 * rng_uniform(&r),
                                .node = (int32_t)rng_below(&r, p->count),
                                .kind = k < t->kills ? SIM_KILL : SIM_CUT};
    size_t count = t->kills + t->cuts;
    for (size_t k = 0; t->back && k < t->kills; k++) {
        faults[count] = faults[k];
        faults[count].kind = SIM_RESTART;
        faults[count++].at_s += 3 * rng_uniform(&r);
    }
    sim_options o = {.epochs = 3,
                     .seed = seed,
                     .planner = whim_plan,
                     .context = &w,
                     .most_control_delay_s = 0.05,
                     .detect_s = 0.1,
                     .patience = t->patience,
                     .most_slowdown = t->slowdown,
                     .faults = faults,
                     .fault_count = count};
    edgeps_diag diag = {.text = ""};
    edgeps_err err = sim_run(p, &o, &diag, result);
    /* All who train may be dead: then the job says so. */
    if (err && !(err == EDGEPS_INFEASIBLE && t->kills > 1))
        fail_msg("seed %d: %s: %s", (int)seed, err_text(err), diag.text);
    if (err)
        *result = (sim_result){0};
    else
        assert_int_equal(result->rounds, 12);
    problem_free(p);
    network_free(net);
}

static void every_round_counts_each_gradient_once_whichever_node_dies(void **state)
{
    (void)state;
    uint64_t generations = 0, lost_globals = 0, repeated = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        sim_result result;
        run_trial(seed, &(trial){.kills = 1, .keep = true}, &result);
        generations += result.generations;
        lost_globals += result.lost_globals;
        repeated += result.repeated_rounds;
        if (result.repeated_rounds > result.lost_globals)
            fail_msg("seed %d: %d rounds are repeated", (int)seed, (int)result.repeated_rounds);
        sim_result_free(&result);
    }
    assert_true(generations > 200); /* most deaths came in time to matter */
    assert_true(lost_globals > 10);
    print_message("%d global servers lost, %d rounds repeated in part\n", (int)lost_globals,
                  (int)repeated);
}

static void several_deaths_and_cuts_at_once_neither_hang_nor_miscount(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        sim_result result;
        run_trial(seed, &(trial){.kills = 2, .cuts = 6, .keep = seed % 2}, &result);
        sim_result_free(&result);
    }
}

static void nodes_that_come_back_join_at_the_next_round(void **state)
{
    (void)state;
    uint64_t passes = 0, generations = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        sim_result result;
        run_trial(
            seed,
            &(trial){.kills = 1 + seed % 3, .cuts = seed % 4, .keep = seed % 5 != 0, .back = true},
            &result);
        passes += result.passes;
        generations += result.generations;
        sim_result_free(&result);
    }
    assert_true(passes > 100);
    assert_true(generations > 900);
}

static void cut_edges_are_resumed_and_repeated_chunks_are_dropped(void **state)
{
    (void)state;
    uint64_t dropped = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        sim_result result;
        run_trial(seed, &(trial){.cuts = 10, .keep = true}, &result);
        assert_int_equal(result.generations, 1);
        dropped += result.dropped_chunks;
        sim_result_free(&result);
    }
    assert_true(dropped > 0);
}

static void servers_that_move_after_each_epoch_lose_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        sim_result result;
        run_trial(seed, &(trial){.keep = false}, &result);
        assert_int_equal(result.generations, 3);
        sim_result_free(&result);
    }
}

/* The same slow workers, waited for and not. */
static void rounds_go_on_without_stragglers_and_late_gradients_count_once(void **state)
{
    (void)state;
    uint64_t early = 0, missed = 0, stale = 0;
    double waiting_s = 0, quorum_s = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        sim_result r;
        trial t = {.keep = true, .slowdown = 20};
        run_trial(seed, &t, &r);
        assert_int_equal(r.early_chunks + r.missed_rounds + r.stale_chunks, 0);
        waiting_s += r.total_s;
        sim_result_free(&r);
        t.patience =
            (proto_patience){.quorum = 0.6, .times_median = 0.25, .staleness = (int64_t)(seed % 3)};
        run_trial(seed, &t, &r);
        early += r.early_chunks;
        missed += r.missed_rounds;
        assert_true(seed % 3 || r.stale_chunks == 0);
        stale += r.stale_chunks;
        quorum_s += r.total_s;
        sim_result_free(&r);
    }
    print_message("%.0f s waiting for all, %.0f s with a quorum; %d sums closed early, %d rounds "
                  "missed, %d late gradients taken\n",
                  waiting_s, quorum_s, (int)early, (int)missed, (int)stale);
    assert_true(early > 1000);
    assert_true(missed > 50);
    assert_true(stale > 50);
    assert_true(quorum_s < 0.8 * waiting_s);
}

/* Half a second is borne, two are not; a killed coordinator is followed. */
static void the_silent_are_given_up_and_a_killed_coordinator_is_followed(void **state)
{
    (void)state;
    uint64_t given_up = 0, followers = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        rng r = rng_make(seed, 2);
        network *net = random_network(&r, 5);
        problem *p = random_problem(&r, net, 4);
        whim w = {.p = p, .random = rng_make(seed, 3), .keep = seed % 2};
        bool is_long = seed % 3 == 0;
        const sim_fault faults[] = {
            {.at_s = 3 * rng_uniform(&r),
             .node = (int32_t)rng_below(&r, 5),
             .kind = seed % 2 ? SIM_STOP : SIM_DELAY,
             .amount_s = is_long ? 2 : 0.5},
            {.at_s = 3 * rng_uniform(&r), .kind = SIM_FOLLOW, .amount_s = 0.3}};
        sim_options o = {.epochs = 3,
                         .seed = seed,
                         .planner = whim_plan,
                         .context = &w,
                         .detect_s = 0.1,
                         .silent_s = 1,
                         .progress_s = 100,
                         .faults = faults,
                         .fault_count = 2};
        sim_result result;
        edgeps_diag diag = {.text = ""};
        if (sim_run(p, &o, &diag, &result))
            fail_msg("seed %d: %s", (int)seed, diag.text);
        assert_int_equal(result.rounds, 12);
        given_up += result.given_up;
        followers += result.followers;
        sim_result_free(&result);
        problem_free(p);
        network_free(net);
    }
    print_message("%d given up, %d followers\n", (int)given_up, (int)followers);
    assert_in_range(given_up, 10, 20);
    assert_in_range(followers, 50, 60);
}

static void a_run_replays_from_its_seed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        sim_result a, b;
        trial t = {.kills = 1, .cuts = 2, .keep = true};
        run_trial(seed, &t, &a);
        run_trial(seed, &t, &b);
        assert_true(a.total_s == b.total_s);
        assert_int_equal(a.dropped_chunks, b.dropped_chunks);
        assert_memory_equal(a.round_s, b.round_s, (size_t)a.rounds * sizeof *a.round_s);
        sim_result_free(&a);
        sim_result_free(&b);
    }
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    rng r = rng_make(5, 0);
    network *net = random_network(&r, 4);
    problem *p = random_problem(&r, net, 2);
    whim w = {.p = p};
    bool absent[4] = {false};
    plan none = {.global = PLAN_NONE}, pl;
    assert_int_equal(whim_plan(&w, absent, &none, &pl), EDGEPS_OK);
    sim_options o = {.epochs = 2, .seed = 5, .planner = plan_as_given, .context = &pl};
    edgeps_err err = EDGEPS_NOMEM;
    for (long n = 1; err == EDGEPS_NOMEM; n++) {
        sim_result result;
        mem_fail_at(n);
        err = sim_run(p, &o, NULL, &result);
        mem_fail_at(0);
        if (!err)
            sim_result_free(&result);
    }
    assert_int_equal(err, EDGEPS_OK);
    plan_free(&pl);
    problem_free(p);
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_simulated_round_takes_the_time_that_the_evaluator_predicts),
        cmocka_unit_test(every_round_counts_each_gradient_once_whichever_node_dies),
        cmocka_unit_test(several_deaths_and_cuts_at_once_neither_hang_nor_miscount),
        cmocka_unit_test(nodes_that_come_back_join_at_the_next_round),
        cmocka_unit_test(cut_edges_are_resumed_and_repeated_chunks_are_dropped),
        cmocka_unit_test(servers_that_move_after_each_epoch_lose_nothing),
        cmocka_unit_test(rounds_go_on_without_stragglers_and_late_gradients_count_once),
        cmocka_unit_test(the_silent_are_given_up_and_a_killed_coordinator_is_followed),
        cmocka_unit_test(a_run_replays_from_its_seed),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
