#include "node/message.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* Every true prefix and every longer payload of a message is refused. */
#define ROUND_TRIP(name, message, again)                                                           \
    do {                                                                                           \
        wire_writer w = {0};                                                                       \
        message_put_##name(&w, &(message));                                                        \
        assert_int_equal(wire_writer_status(&w), EDGEPS_OK);                                       \
        for (size_t cut = 0; cut < w.count; cut++)                                                 \
            assert_false(message_get_##name(w.bytes, cut, &(again)));                              \
        wire_put_u8(&w, 0);                                                                        \
        assert_false(message_get_##name(w.bytes, w.count, &(again)));                              \
        assert_true(message_get_##name(w.bytes, w.count - 1, &(again)));                           \
        kept = w;                                                                                  \
    } while (0)

static wire_writer kept; /* the bytes that a decoded message lends its texts from */

static int drop_bytes(void **state)
{
    (void)state;
    wire_writer_free(&kept);
    kept = (wire_writer){0};
    return 0;
}

static void numbers_come_back_as_they_went(void **state)
{
    (void)state;
    message_done done = {-3, 5, 0.5, 1.25, 2.5, 3.75, -0.0}, done_again;
    ROUND_TRIP(done, done, done_again);
    assert_memory_equal(&done, &done_again, sizeof done);
    drop_bytes(NULL);
    message_state st = {MESSAGE_GLOBAL, 7, 0x1122334455667788, UINT64_MAX}, st_again;
    ROUND_TRIP(state, st, st_again);
    assert_true(st_again.role == 1 && st_again.children == 7 &&
                st_again.parameters_hash == st.parameters_hash &&
                st_again.velocity_hash == UINT64_MAX);
    drop_bytes(NULL);
    message_move move = {MESSAGE_LOCAL, 3, 65535, 4}, move_again;
    ROUND_TRIP(move, move, move_again);
    assert_true(move_again.node == 3 && move_again.port == 65535 && move_again.children == 4);
    drop_bytes(NULL);
    message_measured m = {.port = 7000, .free_bytes = INT64_MAX, .sum_s = 0.25}, m_again;
    ROUND_TRIP(measured, m, m_again);
    assert_true(m_again.port == 7000 && m_again.free_bytes == INT64_MAX && m_again.sum_s == 0.25);
    drop_bytes(NULL);
    message_set set = {2, 1e9}, set_again;
    ROUND_TRIP(set, set, set_again);
    assert_true(set_again.change == 2 && set_again.value == 1e9);
}

static void texts_come_back_as_they_went(void **state)
{
    (void)state;
    message_hello hello = {"lyon", UINT64_MAX, 3, 4, 1}, hello_again;
    ROUND_TRIP(hello, hello, hello_again);
    assert_string_equal(hello_again.name, "lyon");
    assert_true(hello_again.job == UINT64_MAX && hello_again.incarnation == 3 &&
                hello_again.generation == 4 && hello_again.servers == 1);
    drop_bytes(NULL);
    message_moved moved = {1, ""}, moved_again;
    ROUND_TRIP(moved, moved, moved_again);
    assert_true(moved_again.ok == 1);
    assert_string_equal(moved_again.text, "");
    drop_bytes(NULL);
    message_trouble t = {EDGEPS_FULL, "no room"}, t_again;
    ROUND_TRIP(trouble, t, t_again);
    assert_int_equal(t_again.code, EDGEPS_FULL);
    assert_string_equal(t_again.text, "no room");
}

static void impossible_values_are_refused(void **state)
{
    (void)state;
    wire_writer w = {0};
    message_state s;
    message_trouble t;
    message_set set;
    message_put_state(&w, &(message_state){.role = 2});
    assert_false(message_get_state(w.bytes, w.count, &s));
    wire_writer_free(&w);
    w = (wire_writer){0};
    message_put_trouble(&w, &(message_trouble){.code = EDGEPS_CANCELLED + 1, .text = ""});
    assert_false(message_get_trouble(w.bytes, w.count, &t));
    wire_writer_free(&w);
    w = (wire_writer){0};
    message_put_set(&w, &(message_set){.value = -1});
    assert_false(message_get_set(w.bytes, w.count, &set));
    wire_writer_free(&w);
}

static void a_welcome_comes_back_with_its_links(void **state)
{
    (void)state;
    const double peers[] = {1, 2, 3, 4, 5, 6};
    const char *const addresses[] = {"127.0.0.1", "10.77.0.2"};
    const char *const names[] = {"oslo", "lyon"};
    message_welcome m = {.job = 9,
                         .patience = {0.5, 7, 0.25, 3},
                         .node = 1,
                         .incarnation = 2,
                         .node_count = 2,
                         .model = "mlp",
                         .alpha = 0.5,
                         .rounds = 3,
                         .shard = 1,
                         .shard_count = 2,
                         .data_dir = "data dir",
                         .storage_dir = "run/nodes/1",
                         .free_bytes = 77,
                         .peers = peers,
                         .addresses = addresses,
                         .names = names};
    message_welcome again;
    ROUND_TRIP(welcome, m, again);
    assert_string_equal(again.data_dir, "data dir");
    assert_true(again.alpha == 0.5 && again.free_bytes == 77 && again.shard == 1);
    assert_memory_equal(again.peers, peers, sizeof peers);
    assert_string_equal(again.addresses[1], "10.77.0.2");
    assert_string_equal(again.names[0], "oslo");
    message_welcome_free(&again);
}

static void a_plan_comes_back_and_a_foreign_parent_is_refused(void **state)
{
    (void)state;
    int32_t parent[] = {PLAN_NONE, 2, 2};
    uint32_t port[] = {0, 7001, 7002};
    message_plan m = {.plan = {.generation = 5, .count = 3, .global = 0, .parent = parent},
                      .standby = 1,
                      .port = port};
    message_plan again;
    ROUND_TRIP(plan, m, again);
    assert_true(plan_equal(&m.plan, &again.plan));
    assert_true(again.plan.generation == 5 && again.standby == 1);
    assert_memory_equal(again.port, port, sizeof port);
    message_plan_free(&again);
    drop_bytes(NULL);
    parent[1] = 3;
    message_put_plan(&kept, &m);
    assert_false(message_get_plan(kept.bytes, kept.count, &again));
}

static void a_probe_and_its_answer_come_back(void **state)
{
    (void)state;
    message_probe m = {.kind = MESSAGE_RATE,
                       .token = 77,
                       .address = "10.0.0.1",
                       .model = "mlp",
                       .window_s = 0.5,
                       .restrained = 1,
                       .count = 2,
                       .names = {"oslo", "rome"},
                       .addresses = {"10.0.0.2", "10.0.0.3"},
                       .ports = {7, 8},
                       .paces = {1e6, 2e6}};
    message_probe again;
    ROUND_TRIP(probe, m, again);
    assert_true(again.kind == MESSAGE_RATE && again.token == 77 && again.ports[1] == 8 &&
                again.paces[1] == 2e6);
    assert_string_equal(again.names[1], "rome");
    assert_string_equal(again.addresses[1], "10.0.0.3");
    message_probed a = {.trouble = "", .port = 9, .free_bytes = 5, .count = 2, .values = {1, 2.5}};
    message_probed back;
    drop_bytes(NULL);
    ROUND_TRIP(probed, a, back);
    assert_true(back.port == 9 && back.free_bytes == 5 && back.values[1] == 2.5);
    drop_bytes(NULL);
    message_put_probe(&kept, &(message_probe){.address = "", .model = "", .window_s = -1});
    assert_false(message_get_probe(kept.bytes, kept.count, &again));
}

static void no_bytes_lead_a_decoder_astray(void **state)
{
    (void)state;
    rng r = rng_make(4, 0);
    for (int n = 0; n < 20000; n++) {
        uint8_t bytes[128];
        size_t count = (size_t)rng_below(&r, sizeof bytes);
        for (size_t k = 0; k < count; k++)
            bytes[k] = (uint8_t)(rng_below(&r, 4) ? rng_below(&r, 4) : rng_next(&r));
        message_welcome welcome;
        message_plan generation;
        if (message_get_welcome(bytes, count, &welcome))
            message_welcome_free(&welcome);
        if (message_get_plan(bytes, count, &generation)) {
            assert_true((size_t)generation.plan.global < generation.plan.count);
            message_plan_free(&generation);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(numbers_come_back_as_they_went, drop_bytes),
        cmocka_unit_test_teardown(texts_come_back_as_they_went, drop_bytes),
        cmocka_unit_test(impossible_values_are_refused),
        cmocka_unit_test_teardown(a_welcome_comes_back_with_its_links, drop_bytes),
        cmocka_unit_test_teardown(a_plan_comes_back_and_a_foreign_parent_is_refused, drop_bytes),
        cmocka_unit_test_teardown(a_probe_and_its_answer_come_back, drop_bytes),
        cmocka_unit_test(no_bytes_lead_a_decoder_astray),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
