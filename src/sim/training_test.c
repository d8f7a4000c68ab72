#include "sim/training.h"

#include "adapt/trace.h"
#include "base/mem.h"
#include "base/test_draws.h"
#include "cost/cost.h"
#include "network/generate.h"
#include "place/place.h"
#include "sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#define EPOCHS 6
#define ALGORITHM "storage" /* quick */
#define MOST_RECORDS 64

typedef struct records {
    size_t count;
    training_epoch epochs[MOST_RECORDS];
} records;

static void keep(void *context, const training_epoch *epoch)
{
    records *r = context;
    assert_true(r->count < MOST_RECORDS);
    r->epochs[r->count++] = *epoch;
}

static job small_job(job_transfer transfer)
{
    job j;
    assert_int_equal(job_make("mlp", 3000, 32, transfer, NULL, &j), EDGEPS_OK);
    return j;
}

static network *drawn_network(size_t nodes, uint64_t seed, int epochs)
{
    network *net;
    generate_options o = generate_defaults(GENERATE_THESIS, nodes, seed);
    o.epochs = epochs;
    assert_int_equal(generate_network(&o, NULL, &net), EDGEPS_OK);
    return net;
}

static training_options plain(adapt_mode policy)
{
    return (training_options){.epochs = EPOCHS,
                              .max_locals = 4,
                              .policy = policy,
                              .algorithm = ALGORITHM,
                              .seed = 1,
                              .silent_s = 3,
                              .network = cost_round_s};
}

static training_result run(const network *net, const job *j, const training_options *o)
{
    training_result r;
    edgeps_diag diag = {.text = ""};
    if (training_run(net, j, o, &diag, &r))
        fail_msg("%s", diag.text);
    return r;
}

static void add_event(network *net, network_event event)
{
    network_event *events = mem_resize(net->events, net->event_count + 1, sizeof *events);
    assert_non_null(events);
    events[net->event_count++] = event;
    net->events = events;
}

/* The problem of the network as it is, and a plan from scratch for it. */
static problem *problem_of(const network *net, const job *j, const bool *absent, int64_t rounds)
{
    problem *p;
    problem_options o = {.max_locals = 4, .absent = absent, .rounds = rounds};
    assert_int_equal(problem_make(net, j, &o, NULL, &p), EDGEPS_OK);
    return p;
}

static double fresh_round_s(const problem *p, plan *out)
{
    place_result placed;
    double round_s;
    place_options o = {.seed = 1};
    assert_int_equal(place_run(ALGORITHM, p, &o, NULL, &placed), EDGEPS_OK);
    assert_int_equal(cost_round_s(p, &placed.plan, &round_s), EDGEPS_OK);
    *out = placed.plan;
    placed.plan = (plan){.global = PLAN_NONE};
    place_result_free(&placed);
    return round_s;
}

static void assert_close(double a, double b)
{
    if (!(fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b))))
        fail_msg("%.12g is not %.12g", a, b);
}

/* ---- against the traces of adapt, which account in their own way ---- */

static adapt_account account_of(const network *net, const job *j, const char *policy)
{
    network *nets[EPOCHS];
    problem *epochs[EPOCHS];
    adapt_trace *t;
    adapt_account a;
    const plan *plans;
    size_t k = 0;
    adapt_trace_options o = {.algorithm = ALGORITHM, .seed = 1};
    for (int e = 0; e < EPOCHS; e++) {
        assert_int_equal(network_copy(net, &nets[e]), EDGEPS_OK);
        network_apply_epochs(nets[e], e + 1);
        epochs[e] = problem_of(nets[e], j, NULL, e ? epochs[0]->rounds : 0);
    }
    edgeps_diag diag = {.text = ""};
    if (adapt_trace_make((const problem *const *)epochs, EPOCHS, &o, &diag, &t))
        fail_msg("%s", diag.text);
    while (strcmp(adapt_policies[k].name, policy) != 0)
        k++;
    assert_int_equal(adapt_trace_plans(t, k, NULL, &plans), EDGEPS_OK);
    assert_int_equal(adapt_trace_judge(t, plans, &a), EDGEPS_OK);
    adapt_trace_free(t);
    for (int e = 0; e < EPOCHS; e++) {
        problem_free(epochs[e]);
        network_free(nets[e]);
    }
    return a;
}

static void changes_between_epochs_come_to_what_a_trace_comes_to(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        adapt_mode mode;
    } policies[] = {{"adjust", ADAPT_ADJUST},
                    {"static", ADAPT_OFF},
                    {"replan", ADAPT_REPLAN},
                    {"greedy-repair", ADAPT_REPAIR}};
    size_t moves = 0, lost = 0;
    const size_t draws = test_draws(3);
    for (uint64_t seed = 1; seed <= draws; seed++) {
        network *net = drawn_network(7, seed, EPOCHS);
        job j = small_job(seed % 2 ? JOB_PIPELINED : JOB_STORE_AND_FORWARD);
        for (size_t k = 0; k < sizeof policies / sizeof *policies; k++) {
            adapt_account a = account_of(net, &j, policies[k].name);
            training_options o = plain(policies[k].mode);
            training_result r = run(net, &j, &o);
            assert_close(r.train_s, a.train_s);
            assert_close(r.move_s, a.move_s);
            assert_close(r.lost_s, a.lost_s);
            assert_close(r.total_s, a.total_s);
            assert_int_equal(r.moves, a.moves);
            assert_int_equal(r.moved_bytes, a.moved_bytes);
            assert_int_equal(r.changes, a.changes);
            assert_int_equal(r.lost_epochs, a.lost_epochs);
            moves += r.moves;
            lost += r.lost_epochs;
        }
        network_free(net);
    }
    if (moves + 1 < 2 * draws || lost + 1 < draws)
        fail_msg("%d moves, %d lost epochs", (int)moves, (int)lost);
}

/* ---- by hand ---- */

static void a_change_in_the_middle_counts_from_its_moment(void **state)
{
    (void)state;
    network *net = drawn_network(6, 3, 1);
    job j = small_job(JOB_PIPELINED);
    problem *p = problem_of(net, &j, NULL, 0);
    plan pl;
    double before_s = fresh_round_s(p, &pl), after_s;
    double epoch_s = before_s * (double)p->rounds, at_s = 2.3 * epoch_s;
    uint32_t node = (uint32_t)pl.global;
    double slow = net->nodes[node].up_bytes_per_s / 20;
    add_event(net,
              (network_event){.node = node, .change = NETWORK_UP, .at_s = at_s, .value = slow});
    p->nodes[node].up_bytes_per_s = slow;
    assert_int_equal(cost_round_s(p, &pl, &after_s), EDGEPS_OK);
    assert_true(after_s > 1.5 * before_s);

    records seen = {0};
    training_options o = plain(ADAPT_OFF);
    o.epochs = 4;
    o.observe = keep;
    o.context = &seen;
    training_result r = run(net, &j, &o);
    assert_close(seen.epochs[1].train_s, epoch_s);
    assert_close(seen.epochs[2].train_s, 0.3 * epoch_s + 0.7 * (double)p->rounds * after_s);
    assert_close(seen.epochs[3].train_s, (double)p->rounds * after_s);
    assert_close(r.total_s, r.train_s);
    plan_free(&pl);
    problem_free(p);
    network_free(net);
}

/* Of the plan from scratch: a worker that serves nobody. */
static int32_t mere_worker(const plan *pl)
{
    for (size_t i = 0; i < pl->count; i++)
        if (pl->global != (int32_t)i && !plan_is_local(pl, i))
            return (int32_t)i;
    fail_msg("every node serves");
    return PLAN_NONE;
}

static void a_frozen_worker_holds_the_round_up_until_it_is_noticed(void **state)
{
    (void)state;
    network *net = drawn_network(9, 2, 1);
    job j = small_job(JOB_STORE_AND_FORWARD);
    problem *p = problem_of(net, &j, NULL, 0);
    plan pl;
    double round_s = fresh_round_s(p, &pl);
    int32_t worker = mere_worker(&pl);
    add_event(net, (network_event){
                       .node = (uint32_t)worker, .change = NETWORK_STOP, .at_s = 1.5 * round_s});
    records seen = {0};
    training_options o = plain(ADAPT_OFF);
    o.epochs = 2;
    o.observe = keep;
    o.context = &seen;
    training_result r = run(net, &j, &o);
    assert_int_equal(r.losses, 1);
    assert_int_equal(seen.epochs[0].losses, 1);
    assert_int_equal(seen.epochs[0].workers, p->worker_count - 1);
    /* It stood still for three seconds, and at most the half round was made again. */
    assert_true(seen.epochs[0].wait_s >= 3 && seen.epochs[0].wait_s <= 3 + 0.5 * round_s + 1e-9);
    assert_close(seen.epochs[1].wait_s + 1, 1);
    assert_close(r.total_s, r.train_s + r.move_s + r.wait_s);
    plan_free(&pl);
    problem_free(p);
    network_free(net);
}

static double total_with(const network *drawn, const job *j, const network_event *events,
                         size_t count, training_result *out)
{
    network *net;
    assert_int_equal(network_copy(drawn, &net), EDGEPS_OK);
    for (size_t k = 0; k < count; k++)
        add_event(net, events[k]);
    training_options o = plain(ADAPT_OFF);
    o.epochs = 2;
    *out = run(net, j, &o);
    network_free(net);
    return out->total_s;
}

static void who_is_back_before_it_is_missed_costs_its_absence_alone(void **state)
{
    (void)state;
    network *net = drawn_network(9, 2, 1);
    job j = small_job(JOB_STORE_AND_FORWARD);
    problem *p = problem_of(net, &j, NULL, 0);
    plan pl;
    double round_s = fresh_round_s(p, &pl), at_s = 1.5 * round_s;
    uint32_t worker = (uint32_t)mere_worker(&pl);
    static const network_change pairs[2][2] = {{NETWORK_STOP, NETWORK_CONTINUE},
                                               {NETWORK_CUT, NETWORK_HEAL}};
    training_result calm, r;
    double calm_s = total_with(net, &j, NULL, 0, &calm);
    for (size_t k = 0; k < 2; k++) {
        network_event e[] = {{worker, pairs[k][0], 0, at_s, 0},
                             {worker, pairs[k][1], 0, at_s + 2, 0}};
        assert_close(total_with(net, &j, e, 2, &r), calm_s + 2);
        assert_close(r.wait_s, 2);
        assert_int_equal(r.losses, 0);
        e[1].at_s = at_s + 3.5; /* longer than the three seconds of silence */
        total_with(net, &j, e, 2, &r);
        assert_int_equal(r.losses, 1);
    }
    plan_free(&pl);
    problem_free(p);
    network_free(net);
}

static void a_job_that_stands_still_for_good_says_so(void **state)
{
    (void)state;
    network *net = drawn_network(6, 3, 1);
    job j = small_job(JOB_PIPELINED);
    edgeps_diag diag = {.text = ""};
    training_result r;
    training_options o = plain(ADAPT_OFF);
    for (uint32_t i = 0; i < net->count; i++)
        add_event(net, (network_event){.node = i, .change = NETWORK_UP, .at_s = 0.01, .value = 0});
    assert_int_equal(training_run(net, &j, &o, &diag, &r), EDGEPS_INFEASIBLE);
    assert_non_null(strstr(diag.text, "stands still for good"));
    network_free(net);
}

/* ---- against the protocol, chunk by chunk ---- */

typedef struct adjuster {
    const network *net;
    const job *j;
    int64_t rounds;
} adjuster;

/* A sim_planner that repairs as the training does. */
static edgeps_err adjust(void *context, const bool *absent, const plan *in_force, plan *out)
{
    const adjuster *a = context;
    problem *p = problem_of(a->net, a->j, absent, a->rounds);
    adapt_options o = {
        .mode = ADAPT_REPAIR, .algorithm = ALGORITHM, .seed = 1, .horizon_epochs = 2};
    adapt_result r;
    edgeps_err err;
    if (in_force->generation == 0) {
        fresh_round_s(p, out);
        out->generation = 1;
        problem_free(p);
        return EDGEPS_OK;
    }
    err = adapt_step(p, in_force, &o, NULL, &r);
    if (!err)
        err = plan_copy(&r.plan, out);
    adapt_result_free(&r);
    problem_free(p);
    return err;
}

typedef struct loss {
    const network *net;
    const problem *p;
    const job *j;
    uint32_t node;
    double at_s;
} loss;

/* Whole time of two epochs by the protocol in full, the node's death included if so wanted. */
static double full_s(const loss *l, bool dies)
{
    sim_fault fault = {.at_s = l->at_s, .node = (int32_t)l->node, .kind = SIM_KILL};
    adjuster a = {l->net, l->j, l->p->rounds};
    sim_options o = {.epochs = 3,
                     .seed = 1,
                     .planner = adjust,
                     .context = &a,
                     .faults = &fault,
                     .fault_count = dies};
    sim_result r;
    edgeps_diag diag = {.text = ""};
    if (sim_run(l->p, &o, &diag, &r))
        fail_msg("%s", diag.text);
    double total_s = r.total_s;
    sim_result_free(&r);
    return total_s;
}

/* ... and as the training counts, but for the time in which the successor's state comes out of the
 * checkpoint, which the protocol's simulation takes as nothing. */
static double course_s(const loss *l, bool dies, double *last_round_s)
{
    records seen = {0};
    network *net;
    training_options o = plain(ADAPT_REPAIR);
    o.epochs = 3;
    o.observe = keep;
    o.context = &seen;
    assert_int_equal(network_copy(l->net, &net), EDGEPS_OK);
    if (dies)
        add_event(net, (network_event){.node = l->node, .change = NETWORK_KILL, .at_s = l->at_s});
    training_result r = run(net, l->j, &o);
    network_free(net);
    *last_round_s = seen.epochs[2].train_s;
    return r.total_s - r.move_s;
}

static void a_lost_node_costs_what_the_protocol_costs(void **state)
{
    (void)state;
    double worst = 0, sum = 0;
    size_t globals = 0, locals = 0;
    const size_t draws = test_draws(24);
    for (uint64_t seed = 1; seed <= draws; seed++) {
        network *net = drawn_network(8, seed, 1);
        job j = small_job(seed % 2 ? JOB_PIPELINED : JOB_STORE_AND_FORWARD);
        j.sample_count = 8 * j.batch_samples; /* one round an epoch, as rounds overlap a little */
        problem *p = problem_of(net, &j, NULL, 0);
        plan pl;
        double round_s = fresh_round_s(p, &pl);
        uint32_t node = seed % 3 ? (uint32_t)pl.global : (uint32_t)(seed % net->count);
        globals += pl.global == (int32_t)node;
        locals += plan_is_local(&pl, node);
        loss l = {net, p, &j, node, (1 + 0.1 * (double)(seed % 10)) * round_s};
        double after_s, full = full_s(&l, true) - full_s(&l, false);
        double off_s = course_s(&l, true, &after_s) - course_s(&l, false, &round_s) - full;
        double off = off_s / fmax(round_s, after_s);
        if (fabs(off) > 1)
            fail_msg("seed %d: %+.3f rounds off", (int)seed, off);
        worst = fmax(worst, fabs(off));
        sum += off;
        plan_free(&pl);
        problem_free(p);
        network_free(net);
    }
    assert_true(globals > draws / 4 && locals > draws / 5);
    print_message("%+.3f rounds off in the mean, the worst %.3f\n", sum / (double)draws, worst);
    assert_true(fabs(sum / (double)draws) < 0.25);
}

static void the_same_seed_gives_the_same_run(void **state)
{
    (void)state;
    network *net = drawn_network(12, 5, EPOCHS);
    job j = small_job(JOB_PIPELINED);
    training_options o = plain(ADAPT_ADJUST);
    training_result a = run(net, &j, &o), b = run(net, &j, &o);
    assert_memory_equal(&a, &b, sizeof a);
    network_free(net);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    network *net = drawn_network(3, 5, 2);
    job j = small_job(JOB_STORE_AND_FORWARD);
    training_options o = plain(ADAPT_REPAIR);
    o.epochs = 2;
    add_event(net, (network_event){.node = 1, .change = NETWORK_KILL, .at_s = 0.1});
    edgeps_err err = EDGEPS_NOMEM;
    /* Every one at first, then ever fewer: planning makes the same ones again and again. */
    for (long n = 1; err == EDGEPS_NOMEM; n += 1 + n / 50) {
        training_result r;
        mem_fail_at(n);
        err = training_run(net, &j, &o, NULL, &r);
        mem_fail_at(0);
    }
    assert_int_equal(err, EDGEPS_OK);
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_between_epochs_come_to_what_a_trace_comes_to),
        cmocka_unit_test(a_change_in_the_middle_counts_from_its_moment),
        cmocka_unit_test(a_frozen_worker_holds_the_round_up_until_it_is_noticed),
        cmocka_unit_test(who_is_back_before_it_is_missed_costs_its_absence_alone),
        cmocka_unit_test(a_job_that_stands_still_for_good_says_so),
        cmocka_unit_test(a_lost_node_costs_what_the_protocol_costs),
        cmocka_unit_test(the_same_seed_gives_the_same_run),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
