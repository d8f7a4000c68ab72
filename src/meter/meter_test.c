#include "meter/meter.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

static network *two_nodes(void)
{
    network *net = NULL;
    assert_int_equal(network_make(2, NULL, &net), EDGEPS_OK);
    for (size_t i = 0; i < 2; i++) {
        net->nodes[i].name = mem_copy_text(i ? "east" : "west");
        net->nodes[i].up_bytes_per_s = 1000;
        net->nodes[i].down_bytes_per_s = 2000;
        net->nodes[i].compute_samples_per_s = 100;
        net->nodes[i].free_bytes = 5000;
    }
    net->latency_s[1] = 0.25;
    return net;
}

static network *corrected(const network *net, meter_record record)
{
    network *out = NULL;
    assert_int_equal(meter_correct(net, &record, 1, &out), EDGEPS_OK);
    return out;
}

static void assert_same_node(const network_node *a, const network_node *b)
{
    assert_string_equal(a->name, b->name);
    assert_true(a->up_bytes_per_s == b->up_bytes_per_s);
    assert_true(a->down_bytes_per_s == b->down_bytes_per_s);
    assert_true(a->compute_samples_per_s == b->compute_samples_per_s);
    assert_true(a->free_bytes == b->free_bytes);
}

static void what_was_not_measured_stays(void **state)
{
    (void)state;
    network *net = two_nodes(), *got = corrected(net, meter_nothing(1));
    assert_same_node(&got->nodes[0], &net->nodes[0]);
    assert_same_node(&got->nodes[1], &net->nodes[1]);
    assert_true(got->latency_s[1] == 0.25);
    network_free(got);
    network_free(net);
}

static void storage_is_taken_as_it_is_and_only_of_its_node(void **state)
{
    (void)state;
    network *net = two_nodes();
    meter_record r = meter_nothing(1);
    r.free_bytes = 0;
    network *got = corrected(net, r);
    assert_int_equal(got->nodes[1].free_bytes, 0);
    assert_same_node(&got->nodes[0], &net->nodes[0]);
    assert_int_equal(net->nodes[1].free_bytes, 5000);
    network_free(got);
    network_free(net);
}

static void rates_move_half_way_and_a_lasting_change_arrives(void **state)
{
    (void)state;
    network *net = two_nodes();
    meter_record r = meter_nothing(0);
    r.compute_samples_per_s = 50;
    r.up_bytes_per_s = 3000;
    r.down_bytes_per_s = 0;
    network *got = corrected(net, r);
    assert_true(got->nodes[0].compute_samples_per_s == 75);
    assert_true(got->nodes[0].up_bytes_per_s == 2000);
    assert_true(got->nodes[0].down_bytes_per_s == 1000);
    for (int epoch = 0; epoch < 10; epoch++) {
        network *next = corrected(got, r);
        network_free(got);
        got = next;
    }
    assert_true(fabs(got->nodes[0].compute_samples_per_s - 50) < 0.1);
    network_free(got);
    network_free(net);
}

/* Noise of 20 %, seen over many epochs, leaves less than that in the belief. */
static void noise_is_damped(void **state)
{
    (void)state;
    network *net = two_nodes();
    double largest = 0;
    for (int epoch = 0; epoch < 50; epoch++) {
        meter_record r = meter_nothing(0);
        r.up_bytes_per_s = epoch % 2 ? 800 : 1200;
        network *next = corrected(net, r);
        network_free(net);
        net = next;
        largest = fmax(largest, fabs(net->nodes[0].up_bytes_per_s - 1000));
    }
    assert_true(largest <= 101);
    network_free(net);
}

static void the_first_measurement_replaces_a_value_without_meaning(void **state)
{
    (void)state;
    network *net = two_nodes();
    net->nodes[0].up_bytes_per_s = INFINITY;
    net->nodes[0].compute_samples_per_s = 0;
    meter_record r = meter_nothing(0);
    r.up_bytes_per_s = 700;
    r.compute_samples_per_s = 30;
    network *got = corrected(net, r);
    assert_true(got->nodes[0].up_bytes_per_s == 700);
    assert_true(got->nodes[0].compute_samples_per_s == 30);
    network_free(got);
    network_free(net);
}

static void refuses_records_that_make_no_sense(void **state)
{
    (void)state;
    network *net = two_nodes(), *got = NULL;
    meter_record bad[5];
    for (uint32_t k = 0; k < 5; k++)
        bad[k] = meter_nothing(0);
    bad[0].node = 2;
    bad[1].up_bytes_per_s = -1;
    bad[2].down_bytes_per_s = INFINITY;
    bad[3].compute_samples_per_s = -INFINITY;
    bad[4].free_bytes = -2;
    for (int k = 0; k < 5; k++) {
        meter_record records[2] = {meter_nothing(1), bad[k]};
        assert_int_equal(meter_correct(net, records, 2, &got), EDGEPS_FORMAT);
        assert_null(got);
    }
    network_free(net);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    network *net = two_nodes();
    for (long n = 1;; n++) {
        network *got = NULL;
        mem_fail_at(n);
        edgeps_err err = meter_correct(net, NULL, 0, &got);
        mem_fail_at(0);
        if (!err) {
            network_free(got);
            break;
        }
        assert_int_equal(err, EDGEPS_NOMEM);
        assert_null(got);
    }
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_measured_stays),
        cmocka_unit_test(storage_is_taken_as_it_is_and_only_of_its_node),
        cmocka_unit_test(rates_move_half_way_and_a_lasting_change_arrives),
        cmocka_unit_test(noise_is_damped),
        cmocka_unit_test(the_first_measurement_replaces_a_value_without_meaning),
        cmocka_unit_test(refuses_records_that_make_no_sense),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
