#include "network/scenario.h"

#include "base/mem.h"
#include "network/generate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#define NODES 4

static network *drawn(void)
{
    network *net;
    generate_options o = generate_defaults(GENERATE_WAXMAN, NODES, 3);
    assert_int_equal(generate_network(&o, NULL, &net), EDGEPS_OK);
    assert_int_equal(net->event_count, 0);
    return net;
}

static scenario_options options(scenario_kind kind, int64_t steps)
{
    return (scenario_options){
        .kind = kind, .what = NETWORK_UP, .seed = 7, .steps = steps, .depth = 0.6, .period = 20};
}

/* What a node's value is after each step, as a part of the file's. */
static double *parts_of(const network *net, uint32_t node, int64_t steps)
{
    double *parts = mem_alloc((size_t)steps + 1, sizeof *parts);
    size_t k = 0;
    for (int64_t step = 0; step <= steps; step++) {
        parts[step] = step ? parts[step - 1] : 1;
        for (; k < net->event_count && net->events[k].epoch <= step + 1; k++)
            if (net->events[k].node == node)
                parts[step] = net->events[k].value / net->nodes[node].up_bytes_per_s;
    }
    return parts;
}

static void every_value_is_between_what_is_left_and_all(void **state)
{
    (void)state;
    for (scenario_kind kind = 0; scenario_kind_names[kind]; kind++) {
        network *net = drawn();
        scenario_options o = options(kind, 500);
        double least = 1, most = 0;
        assert_int_equal(scenario_generate(&o, NULL, net), EDGEPS_OK);
        double *parts = parts_of(net, 1, o.steps);
        for (int64_t k = 1; k <= o.steps; k++) {
            assert_true(parts[k] >= 0.4 - 1e-6 && parts[k] <= 1);
            least = fmin(least, parts[k]);
            most = fmax(most, parts[k]);
        }
        assert_true(least < 0.45 && most > 0.95); /* and goes through all of it */
        mem_free(parts);
        network_free(net);
    }
}

static void a_day_is_as_long_as_the_period(void **state)
{
    (void)state;
    network *net = drawn();
    scenario_options o = options(SCENARIO_DIURNAL, 60);
    assert_int_equal(scenario_generate(&o, NULL, net), EDGEPS_OK);
    for (uint32_t i = 0; i < NODES; i++) {
        double *parts = parts_of(net, i, o.steps);
        for (int64_t k = 1; k + 20 <= o.steps; k++)
            assert_true(fabs(parts[k] - parts[k + 20]) < 1e-6);
        for (int64_t k = 1; k + 10 <= o.steps; k++) /* noon and midnight */
            assert_true(fabs(parts[k] + parts[k + 10] - 1.4) < 1e-6);
        mem_free(parts);
    }
    network_free(net);
}

/* A burst lasts a quarter of the period in the mean, and there is one in each. */
static void bursts_come_and_last_as_often_as_asked(void **state)
{
    (void)state;
    enum { STEPS = 40000 };
    network *net = drawn();
    scenario_options o = options(SCENARIO_BURST, STEPS);
    int64_t within = 0, bursts = 0;
    assert_int_equal(scenario_generate(&o, NULL, net), EDGEPS_OK);
    double *parts = parts_of(net, 0, o.steps);
    for (int64_t k = 1; k <= o.steps; k++) {
        within += parts[k] < 0.7;
        bursts += parts[k] < 0.7 && parts[k - 1] > 0.7;
    }
    assert_true(fabs((double)within / STEPS - 0.25) < 0.03);
    assert_true(fabs((double)bursts / STEPS - 0.05) < 0.005);
    mem_free(parts);
    network_free(net);
}

static void the_same_seed_gives_the_same_lines_behind_those_there(void **state)
{
    (void)state;
    network *a = drawn(), *b = drawn();
    scenario_options o = options(SCENARIO_WALK, 5);
    o.step_s = 2.5;
    network_event kill = {.node = 1, .change = NETWORK_KILL, .epoch = 2};
    assert_int_equal(network_add_events(a, &kill, 1), EDGEPS_OK);
    assert_int_equal(scenario_generate(&o, NULL, a), EDGEPS_OK);
    assert_int_equal(scenario_generate(&o, NULL, b), EDGEPS_OK);
    assert_int_equal(a->event_count, b->event_count + 1);
    assert_int_equal(a->events[0].change, NETWORK_KILL);
    for (size_t k = 0; k < b->event_count; k++) {
        const network_event *x = &a->events[k + 1], *y = &b->events[k];
        assert_true(x->node == y->node && x->at_s == y->at_s && x->value == y->value);
        size_t step = 1 + k / NODES;
        assert_true(x->epoch == 0 && x->at_s == (double)step * 2.5);
    }
    o.seed = 8;
    assert_int_equal(scenario_generate(&o, NULL, a), EDGEPS_OK);
    assert_true(a->events[a->event_count - 1].value != b->events[b->event_count - 1].value);
    network_free(a);
    network_free(b);
}

static void too_many_lines_and_no_memory_leave_the_scenario_alone(void **state)
{
    (void)state;
    network *net = drawn();
    edgeps_diag diag = {.text = ""};
    scenario_options o = options(SCENARIO_WALK, SCENARIO_MOST_EVENTS);
    assert_int_equal(scenario_generate(&o, &diag, net), EDGEPS_USAGE);
    o.steps = 3;
    mem_fail_at(0);
    assert_int_equal(scenario_generate(&o, &diag, net), EDGEPS_OK);
    long calls = mem_allocations();
    net->event_count = 0;
    for (long n = 1; n <= calls; n++) {
        mem_fail_at(n);
        assert_int_equal(scenario_generate(&o, &diag, net), EDGEPS_NOMEM);
        mem_fail_at(0);
        assert_int_equal(net->event_count, 0);
    }
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_between_what_is_left_and_all),
        cmocka_unit_test(a_day_is_as_long_as_the_period),
        cmocka_unit_test(bursts_come_and_last_as_often_as_asked),
        cmocka_unit_test(the_same_seed_gives_the_same_lines_behind_those_there),
        cmocka_unit_test(too_many_lines_and_no_memory_leave_the_scenario_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
