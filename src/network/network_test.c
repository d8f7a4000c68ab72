#include "network/network.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

static int set_up(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    network *net;
    assert_int_equal(network_make(3, NULL, &net), EDGEPS_OK);
    net->name = mem_copy_text("three");
    for (int i = 0; i < 3; i++) {
        network_node *node = &net->nodes[i];
        node->name = mem_copy_text(names[i]);
        node->up_bytes_per_s = 100 + i;
        node->down_bytes_per_s = 200 + i;
        node->compute_samples_per_s = 10;
        node->free_bytes = 1000;
    }
    net->events = mem_alloc(4, sizeof *net->events);
    net->event_count = 4;
    net->events[0] = (network_event){0, NETWORK_FREE, 1, 0, 50};
    net->events[1] = (network_event){1, NETWORK_UP, 2, 0, 7};
    net->events[2] = (network_event){0, NETWORK_FREE, 2, 0, 60};
    net->events[3] = (network_event){2, NETWORK_KILL, 2, 0, 0};
    *state = net;
    return 0;
}

static int tear_down(void **state)
{
    network_free(*state);
    return 0;
}

static void a_rate_is_the_narrowest_of_up_down_and_cap(void **state)
{
    network *net = *state;
    assert_true(network_rate_bytes_per_s(net, 0, 1) == 100);
    net->cap_bytes_per_s[0 * 3 + 1] = 5;
    assert_true(network_rate_bytes_per_s(net, 0, 1) == 5);
    assert_true(network_rate_bytes_per_s(net, 1, 0) == 101);
    net->nodes[0].down_bytes_per_s = 1;
    assert_true(network_rate_bytes_per_s(net, 1, 0) == 1);
    assert_true(isinf(network_rate_bytes_per_s(net, 2, 2)));
}

static void nodes_are_found_by_name(void **state)
{
    assert_int_equal(network_find(*state, "c"), 2);
    assert_int_equal(network_find(*state, "d"), -1);
}

static void the_scenario_changes_what_is_due_up_to_an_epoch(void **state)
{
    network *net = *state;
    network_apply_epochs(net, 1);
    assert_int_equal(net->nodes[0].free_bytes, 50);
    assert_true(net->nodes[1].up_bytes_per_s == 101);
    network_apply_epochs(net, 2);
    assert_int_equal(net->nodes[0].free_bytes, 60);
    assert_true(net->nodes[1].up_bytes_per_s == 7);
    network_apply(net, &(network_event){2, NETWORK_DOWN, 0, 1, 8});
    network_apply(net, &(network_event){2, NETWORK_COMPUTE, 0, 1, 9});
    network_apply(net, &(network_event){1, NETWORK_FILL, 0, 1, 300});
    assert_int_equal(net->nodes[1].free_bytes, 700);
    network_apply(net, &(network_event){1, NETWORK_FILL, 0, 1, 1e18});
    assert_int_equal(net->nodes[1].free_bytes, 0);
    network_apply(net, &(network_event){1, NETWORK_LATENCY, 0, 1, 0.25});
    assert_true(network_latency_s(net, 0, 1) == 0.25 && network_latency_s(net, 1, 2) == 0.25);
    assert_true(network_latency_s(net, 0, 2) == 0);
    assert_true(net->nodes[2].down_bytes_per_s == 8 && net->nodes[2].compute_samples_per_s == 9);
}

static bool away_after(const network_change *changes, size_t count)
{
    network_presence node = {false};
    for (size_t k = 0; k < count; k++)
        network_follow(&node, &(network_event){0, changes[k], 1, 0, 0});
    return network_is_away(&node);
}

static void a_node_is_back_when_all_that_keeps_it_away_has_ended(void **state)
{
    static const network_change back[] = {NETWORK_STOP, NETWORK_CUT, NETWORK_CONTINUE,
                                          NETWORK_HEAL};
    static const network_change dead[] = {NETWORK_KILL, NETWORK_CONTINUE, NETWORK_HEAL};
    static const network_change harmless[] = {NETWORK_HEAL, NETWORK_CONTINUE, NETWORK_FREE};
    (void)state;
    assert_true(away_after(back, 1) && away_after(back, 2) && away_after(back, 3));
    assert_false(away_after(back, 4));
    assert_true(away_after(dead, 3));
    assert_false(away_after(harmless, 3));
}

static void a_copy_is_equal_and_independent(void **state)
{
    network *net = *state, *copy;
    net->latency_s[1] = 0.5;
    assert_int_equal(network_copy(net, &copy), EDGEPS_OK);
    network_apply_epochs(net, 2);
    net->latency_s[1] = 1;
    net->nodes[0].name[0] = 'z';
    assert_int_equal(copy->nodes[0].free_bytes, 1000);
    assert_string_equal(copy->nodes[0].name, "a");
    assert_string_equal(copy->name, "three");
    assert_true(copy->latency_s[1] == 0.5);
    assert_int_equal(copy->event_count, 4);
    network_free(copy);
}

static void copying_survives_each_allocation_failing(void **state)
{
    edgeps_err err = EDGEPS_NOMEM;
    for (long n = 1; err; n++) {
        network *copy = NULL;
        mem_fail_at(n);
        err = network_copy(*state, &copy);
        mem_fail_at(0);
        assert_true(err == EDGEPS_OK ? copy != NULL : copy == NULL);
        network_free(copy);
    }
}

static void refuses(const network *net, const char *words)
{
    edgeps_diag diag = {.text = ""};
    assert_int_equal(network_check(net, &diag), EDGEPS_FORMAT);
    if (!strstr(diag.text, words))
        fail_msg("'%s' lacks '%s'", diag.text, words);
}

static void what_no_reader_may_let_through_is_refused(void **state)
{
    network *net = *state;
    assert_int_equal(network_check(net, NULL), EDGEPS_OK);
    net->nodes[1].up_bytes_per_s = -1;
    refuses(net, "node 'b': up: must not be negative");
    net->nodes[1].up_bytes_per_s = NAN;
    refuses(net, "node 'b': up: must not be negative");
    net->nodes[1].up_bytes_per_s = 1;
    net->nodes[1].sum_bytes_per_s = 0;
    refuses(net, "node 'b': sum: must be above 0");
    net->nodes[1].sum_bytes_per_s = INFINITY;
    net->nodes[1].name[0] = '\n';
    refuses(net, "names have no control characters");
    net->nodes[1].name[0] = 'b';
    net->nodes[2].compute_samples_per_s = 0;
    refuses(net, "node 'c': compute: a node that trains needs a speed");
    net->nodes[2].train = false;
    assert_int_equal(network_check(net, NULL), EDGEPS_OK);
    net->nodes[0].train = net->nodes[1].train = false;
    refuses(net, "none has \"train\": true");
    net->nodes[2].name[0] = 'a';
    refuses(net, "the name is used twice");
    net->nodes[2].name[0] = '\0';
    net->nodes[0].train = true;
    refuses(net, "node 3: has no name");
    network *none;
    assert_int_equal(network_make(0, NULL, &none), EDGEPS_FORMAT);
    assert_int_equal(network_make(NETWORK_MAX_NODES + 1, NULL, &none), EDGEPS_FORMAT);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_rate_is_the_narrowest_of_up_down_and_cap),
        UNIT(nodes_are_found_by_name),
        UNIT(the_scenario_changes_what_is_due_up_to_an_epoch),
        cmocka_unit_test(a_node_is_back_when_all_that_keeps_it_away_has_ended),
        UNIT(a_copy_is_equal_and_independent),
        UNIT(copying_survives_each_allocation_failing),
        UNIT(what_no_reader_may_let_through_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
