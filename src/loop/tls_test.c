/* Connections of members and strangers, over real sockets. */
#include "base/rng.h"
#include "loop/test_end.h"
#include "trust/trust_fixture.h"

#include <poll.h>
#include <stdio.h>

static char folder[64], other[64];
static trust *coordinator, *a, *foreign;

static int set_up(void **state)
{
    (void)state;
    trust_fixture_make(folder, "demo");
    trust_fixture_make(other, "demo");
    assert_int_equal(trust_load(folder, TRUST_COORDINATOR, NULL, &coordinator), EDGEPS_OK);
    assert_int_equal(trust_load(folder, "node/a", NULL, &a), EDGEPS_OK);
    assert_int_equal(trust_load(other, "node/a", NULL, &foreign), EDGEPS_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    trust_free(coordinator);
    trust_free(a);
    trust_free(foreign);
    trust_fixture_free(folder);
    trust_fixture_free(other);
    return 0;
}

/* One loop for both ends: its keys are changed between listening and connecting. */
typedef struct both {
    loop *l;
    loop_listener *listener;
    end ends[2], client;
    acceptance taken;
} both;

static void make_both(both *b)
{
    *b = (both){.taken = {.count = 0}};
    assert_int_equal(loop_make(NULL, &b->l), EDGEPS_OK);
    b->ends[0].l = b->ends[1].l = b->client.l = b->l;
    b->taken.ends = b->ends;
    b->listener = end_listen(b->l, &b->taken);
}

static void lead(both *b, const trust *keys, const char *expected)
{
    loop_secure(b->l, keys);
    assert_int_equal(loop_connect(b->l, "127.0.0.1", loop_listener_port(b->listener), &end_handlers,
                                  &b->client, &b->client.c),
                     EDGEPS_OK);
    if (expected)
        conn_expect(b->client.c, expected);
    loop_secure(b->l, coordinator);
}

static void check_payload(end *e, const uint8_t *header, void *payload)
{
    const uint8_t *bytes = payload;
    uint64_t count;
    memcpy(&count, header, sizeof count);
    for (uint64_t k = 0; k < count; k++)
        assert_true(bytes[k] == (uint8_t)(k * 31 + (uint64_t)e->frames));
}

static void send_numbered(end *from, int frames, uint64_t bytes, uint8_t *room)
{
    for (int n = 0; n < frames; n++) {
        uint8_t *payload = room + (uint64_t)n * bytes;
        for (uint64_t k = 0; k < bytes; k++)
            payload[k] = (uint8_t)(k * 31 + (uint64_t)n + 1);
        assert_int_equal(end_send(from, payload, bytes, 0), EDGEPS_OK);
    }
}

static void frames_arrive_whole_and_in_order(void **state)
{
    (void)state;
    static uint8_t room[12 * 500000];
    const uint64_t sizes[] = {1, 100, 16384, 500000};
    for (size_t k = 0; k < 4; k++)
        for (int shaped = 0; shaped < 2; shaped++) {
            both b;
            make_both(&b);
            if (shaped)
                loop_set_rates(b.l, 4e8, 4e8);
            lead(&b, a, TRUST_COORDINATOR);
            if (shaped)
                conn_shape(b.client.c, 3e8, 3e8);
            send_numbered(&b.client, 12, sizes[k], room);
            b.ends[0].stop_at_frames = 12;
            b.ends[0].on_frame = check_payload;
            loop_run(b.l);
            assert_int_equal(b.ends[0].bytes, 12 * sizes[k]);
            assert_string_equal(conn_member(b.ends[0].c), "node/a");
            assert_string_equal(conn_member(b.client.c), TRUST_COORDINATOR);
            loop_free(b.l);
            assert_int_equal(b.client.sent_ok, 12);
        }
}

/* Nobody hears of the stranger, and who calls learns why. */
static void expect_refusal(const trust *keys, const char *expected, const char *words)
{
    both b;
    int open_ends = 1;
    make_both(&b);
    b.client.open_ends = &open_ends;
    lead(&b, keys, expected);
    loop_run(b.l);
    if (!strstr(b.client.close_text, words))
        fail_msg("'%s' is not in: %s", words, b.client.close_text);
    loop_free(b.l);
    assert_int_equal(b.taken.count, 0);
    assert_int_equal(b.client.frames, 0);
}

static void strangers_are_refused_with_the_reason(void **state)
{
    (void)state;
    expect_refusal(a, "node/b", "its certificate is that of coordinator, not of node/b");
    expect_refusal(foreign, NULL, "is not from this job's authority");
}

/* A frame in plain text, and bytes of no protocol: closed at once, and members still come in. */
static void a_flood_of_garbage_leaves_members_alone(void **state)
{
    (void)state;
    enum { FLOOD = 450 }; /* more silent ones than may be at the door */
    static int fds[FLOOD];
    rng r = rng_make(5, 1);
    both b;
    uint8_t bytes[64], payload[100] = {0};
    make_both(&b);
    loop_secure(b.l, coordinator);
    for (int k = 0; k < FLOOD; k++) {
        fds[k] = plain_connect(loop_listener_port(b.listener));
        assert_true(fds[k] >= 0);
        for (size_t n = 0; n < sizeof bytes; n++)
            bytes[n] = (uint8_t)rng_next(&r);
        if (k % 3 == 0) /* the others stay silent */
            assert_true(plain_write(fds[k], bytes, sizeof bytes));
        if (k % 50 < 49)
            continue;
        lead(&b, a, TRUST_COORDINATOR);
        assert_int_equal(end_send(&b.client, payload, sizeof payload, 0), EDGEPS_OK);
        mem_free(b.ends[0].buffer);
        b.ends[0] = b.ends[1] = (end){.l = b.l, .stop_at_frames = 1};
        b.taken.count = 0;
        loop_run(b.l);
        assert_int_equal(b.taken.count, 1);
        assert_int_equal(b.ends[0].bytes, sizeof payload);
    }
    for (int k = 0; k < FLOOD; k++)
        close(fds[k]);
    loop_free(b.l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_arrive_whole_and_in_order),
        cmocka_unit_test(strangers_are_refused_with_the_reason),
        cmocka_unit_test(a_flood_of_garbage_leaves_members_alone),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
