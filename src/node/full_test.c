/* An agent whose storage does not hold the server that a plan gives it, before a coordinator that
 * is played here. */
#include "node/frame.h"
#include "node/message.h"
#include "node/node_fixture.h"

#include "base/mem.h"
#include "loop/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { JOB = 77, ROOM = 1000 };

typedef struct stage {
    loop *loop;
    loop_listener *door;
    conn *control;
    frame_stamp stamp;
    fixture f;
    uint8_t payload[4096];
    uint32_t trouble;
    char why[256];
    uint64_t attached; /* generation of the worker that asked its parent */
} stage;

static void send(stage *s, uint16_t type, uint64_t generation, wire_writer *w)
{
    assert_int_equal(frame_send(s->control, &s->stamp, type, generation, 0, w), EDGEPS_OK);
}

static void welcome(stage *s)
{
    static const double peers[] = {0, 0, INFINITY, INFINITY, INFINITY, INFINITY};
    static const char *const addresses[] = {"127.0.0.1", "127.0.0.1"};
    static const char *const names[] = {"a", "b"};
    char storage[96];
    wire_writer w = {0};
    snprintf(storage, sizeof storage, "%s/storage", s->f.dir);
    message_put_welcome(&w, &(message_welcome){.job = JOB,
                                               .incarnation = 1,
                                               .node_count = 2,
                                               .model = "mlp",
                                               .reference_backend = 1,
                                               .sample_count = 100,
                                               .batch_samples = 50,
                                               .local_steps = 1,
                                               .rounds = 1,
                                               .shard_count = 2,
                                               .data_dir = s->f.data,
                                               .storage_dir = storage,
                                               .up_bytes_per_s = INFINITY,
                                               .down_bytes_per_s = INFINITY,
                                               .samples_per_s = 1e6,
                                               .free_bytes = ROOM,
                                               .silent_s = 20,
                                               .beat_s = 20,
                                               .peers = peers,
                                               .addresses = addresses,
                                               .names = names});
    send(s, MESSAGE_WELCOME, 0, &w);
}

/* Node a is the only worker; `server` carries both servers. */
static void announce(stage *s, uint64_t generation, int32_t server)
{
    int32_t parents[] = {server, PLAN_NONE};
    uint32_t ports[] = {0, (uint32_t)loop_listener_port(s->door)};
    wire_writer w = {0};
    message_plan m = {
        .plan = {.count = 2, .global = server, .parent = parents, .generation = generation},
        .standby = PLAN_NONE,
        .port = ports};
    message_put_plan(&w, &m);
    send(s, MESSAGE_PLAN, generation, &w);
}

static void *payload_buffer(void *ctx, conn *c, const uint8_t *header, uint64_t bytes)
{
    stage *s = ctx;
    (void)c;
    (void)header;
    return bytes <= sizeof s->payload ? s->payload : NULL;
}

static void hear(void *ctx, conn *c, const uint8_t *header, void *payload)
{
    stage *s = ctx;
    wire_header h = frame_header(header);
    message_trouble trouble;
    switch (h.type) {
    case MESSAGE_HELLO:
        s->control = c;
        welcome(s);
        break;
    case MESSAGE_MEASURED:
        announce(s, 1, 0);
        break;
    case MESSAGE_TROUBLE:
        assert_true(message_get_trouble(payload, h.length, &trouble));
        s->trouble = trouble.code;
        snprintf(s->why, sizeof s->why, "%s", trouble.text);
        announce(s, 2, 1);
        break;
    case MESSAGE_ATTACH:
        s->attached = h.generation;
        send(s, MESSAGE_STOP, 0, NULL);
        break;
    default:
        break;
    }
}

/* The agent goes when it is told; so does the stage, whatever it was that ended. */
static void closed(void *ctx, conn *c, edgeps_err err, const char *text)
{
    stage *s = ctx;
    (void)err;
    (void)text;
    if (c == s->control)
        loop_stop(s->loop);
}

static void accepted(void *ctx, conn *c)
{
    loop_handlers handlers = {.framing = frame_framing,
                              .payload_buffer = payload_buffer,
                              .frame = hear,
                              .closed = closed};
    conn_attach(c, &handlers, ctx);
}

static void *run_agent(void *options)
{
    edgeps_diag diag = {.text = ""};
    return agent_run(options, &diag) ? NULL : options;
}

static void an_agent_without_room_for_a_server_says_so_and_stays_a_worker(void **state)
{
    (void)state;
    static stage s;
    pthread_t thread;
    void *good = NULL;
    s = (stage){.stamp = {.job = JOB, .sender = UINT32_MAX}};
    fixture_make(&s.f, 2, 100, 50);
    assert_int_equal(loop_make(NULL, &s.loop), EDGEPS_OK);
    assert_int_equal(
        loop_listen(s.loop, "127.0.0.1", 0, &(loop_acceptor){accepted, &s}, NULL, &s.door),
        EDGEPS_OK);
    agent_options o = {.name = "a", .host = "127.0.0.1", .port = loop_listener_port(s.door)};
    assert_int_equal(pthread_create(&thread, NULL, run_agent, &o), 0);
    loop_run(s.loop);
    loop_free(s.loop);
    pthread_join(thread, &good);
    assert_int_equal(s.trouble, EDGEPS_FULL);
    if (!strstr(s.why, "1000"))
        fail_msg("%s", s.why);
    assert_int_equal(s.attached, 2);
    assert_ptr_equal(good, &o);
    fixture_free(&s.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_without_room_for_a_server_says_so_and_stays_a_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
