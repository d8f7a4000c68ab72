#include "loop/test_end.h"

#include "base/log.h"
#include "base/rng.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#define FRAMES 400

typedef struct pair {
    loop *l;
    loop_listener *listener;
    acceptance accepted;
    end server[4];
    end client;
    int open_ends;
} pair;

static int set_up(void **state)
{
    pair *p = mem_alloc(1, sizeof *p);
    assert_int_equal(loop_make(NULL, &p->l), EDGEPS_OK);
    p->accepted.ends = p->server;
    p->listener = end_listen(p->l, &p->accepted);
    for (int i = 0; i < 4; i++)
        p->server[i].l = p->l;
    p->client.l = p->l;
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    pair *p = *state;
    loop_free(p->l);
    for (int i = 0; i < p->accepted.count; i++)
        assert_int_equal(p->server[i].closed, 1);
    mem_free(p);
    return 0;
}

static void connect_client(pair *p)
{
    int port = loop_listener_port(p->listener);
    assert_int_equal(loop_connect(p->l, "127.0.0.1", port, &end_handlers, &p->client, &p->client.c),
                     EDGEPS_OK);
}

/* Lets the loop run until `count` of the ends that are marked here have been closed. */
static void run_until_closed(pair *p, int count)
{
    p->open_ends = count;
    p->client.open_ends = p->server[0].open_ends = &p->open_ends;
    loop_run(p->l);
}

static struct {
    uint8_t *sent[FRAMES];
    uint64_t size[FRAMES];
} expected;

static void compare(end *e, const uint8_t *header, void *payload)
{
    int i = e->frames - 1;
    assert_memory_equal(header, &expected.size[i], 8);
    if (expected.size[i] > 0)
        assert_memory_equal(payload, expected.sent[i], expected.size[i]);
}

/* A frame that goes back keeps its payload until it is sent. */
static void *own_buffer(void *ctx, conn *c, const uint8_t *header, uint64_t bytes)
{
    (void)ctx;
    (void)c;
    (void)header;
    return mem_alloc(bytes, 1);
}

typedef struct loan {
    end *e;
    void *payload;
} loan;

static void returned(void *ctx, edgeps_err err)
{
    loan *lent = ctx;
    end_sent(lent->e, err);
    mem_free(lent->payload);
    mem_free(lent);
}

static void echo_frame(void *ctx, conn *c, const uint8_t *header, void *payload)
{
    end *e = ctx;
    loan *lent = mem_alloc(1, sizeof *lent);
    *lent = (loan){e, payload};
    e->frames++;
    conn_frame f = {.header = header, .payload = payload, .sent = returned, .ctx = lent};
    memcpy(&f.bytes, header, sizeof f.bytes);
    assert_int_equal(conn_send(c, &f), EDGEPS_OK);
}

static void accept_echo(void *ctx, conn *c)
{
    loop_handlers handlers = end_handlers;
    acceptance *a = ctx;
    end *e = &a->ends[a->count++];
    handlers.payload_buffer = own_buffer;
    handlers.frame = echo_frame;
    e->c = c;
    conn_attach(c, &handlers, e);
}

static void frames_of_all_sizes_come_back_unchanged_and_in_order(void **state)
{
    pair *p = *state;
    rng r = rng_make(3, 0);
    loop_listener *listener;
    const loop_acceptor acceptor = {accept_echo, &p->accepted};
    assert_int_equal(loop_listen(p->l, "127.0.0.1", 0, &acceptor, NULL, &listener), EDGEPS_OK);
    assert_int_equal(loop_connect(p->l, "127.0.0.1", loop_listener_port(listener), &end_handlers,
                                  &p->client, &p->client.c),
                     EDGEPS_OK);
    for (int i = 0; i < FRAMES; i++) {
        expected.size[i] = i % 7 == 0 ? 0 : rng_below(&r, 1ull << (1 + i % 18));
        expected.sent[i] = mem_alloc(expected.size[i], 1);
        for (uint64_t k = 0; k < expected.size[i]; k++)
            expected.sent[i][k] = (uint8_t)rng_next(&r);
        assert_int_equal(end_send(&p->client, expected.sent[i], expected.size[i], 0), EDGEPS_OK);
    }
    p->client.on_frame = compare;
    p->client.stop_at_frames = FRAMES;
    loop_run(p->l);
    assert_int_equal(p->client.opened, 1);
    assert_int_equal(p->client.open_err, EDGEPS_OK);
    assert_int_equal(p->client.sent_ok, FRAMES);
    assert_int_equal(p->server[0].frames, FRAMES);
    assert_true(conn_queued_bytes(p->client.c) == 0);
    for (int i = 0; i < FRAMES; i++)
        mem_free(expected.sent[i]);
}

static void expect_end(const end *e, edgeps_err err, const char *words)
{
    assert_int_equal(e->closed, 1);
    assert_int_equal(e->close_err, err);
    if (!strstr(e->close_text, words))
        fail_msg("'%s' lacks '%s'", e->close_text, words);
}

/* A plain socket writes these bytes and closes; returns when the server's end is closed. */
static void feed(pair *p, const void *bytes, size_t count)
{
    int fd = plain_connect(loop_listener_port(p->listener));
    assert_true(fd >= 0);
    assert_true(plain_write(fd, bytes, count));
    close(fd);
    run_until_closed(p, 1);
}

static void garbage_closes_the_connection_with_a_reason(void **state)
{
    pair *p = *state;
    feed(p, "GET / HTTP/1.1\r\n\r\n", 18);
    expect_end(&p->server[0], EDGEPS_PROTOCOL, "127.0.0.1:");
    expect_end(&p->server[0], EDGEPS_PROTOCOL, ": a frame of ");
    assert_int_equal(p->server[0].frames, 0);
}

static void a_frame_too_large_is_refused_before_its_payload(void **state)
{
    pair *p = *state;
    uint64_t bytes = END_MAX_BYTES + 1;
    feed(p, &bytes, sizeof bytes);
    expect_end(&p->server[0], EDGEPS_PROTOCOL, "a frame of 4000001 bytes");
    assert_null(p->server[0].buffer);
}

static void half_a_frame_and_an_end_is_an_error(void **state)
{
    pair *p = *state;
    uint64_t message[4] = {8, 1, 100, 2};
    feed(p, message, sizeof message);
    expect_end(&p->server[0], EDGEPS_IO, "in the middle of a frame");
    assert_int_equal(p->server[0].frames, 1);
}

static void half_a_header_and_an_end_is_an_error(void **state)
{
    pair *p = *state;
    feed(p, "\1\0\0", 3);
    expect_end(&p->server[0], EDGEPS_IO, "in the middle of a frame");
}

static void an_end_between_frames_is_none(void **state)
{
    pair *p = *state;
    uint64_t message[3] = {8, 1, 0};
    feed(p, message, sizeof message);
    expect_end(&p->server[0], EDGEPS_OK, "closed by the peer");
    assert_int_equal(p->server[0].frames, 2);
    assert_int_equal(p->server[0].bytes, 8);
}

static void refuse(end *e, const uint8_t *header, void *payload)
{
    (void)header;
    (void)payload;
    conn_close(e->c);
}

static void a_connection_may_be_closed_from_its_own_callback(void **state)
{
    pair *p = *state;
    uint64_t message[6] = {8, 1, 8, 2, 8, 3};
    p->server[0].on_frame = refuse;
    feed(p, message, sizeof message);
    expect_end(&p->server[0], EDGEPS_OK, "closed here");
    assert_int_equal(p->server[0].frames, 1);
}

static void nobody_there_is_told_to_opened_and_closed(void **state)
{
    pair *p = *state;
    int port = 0;
    int fd = plain_listen(&port);
    assert_true(fd >= 0);
    close(fd);
    p->client.open_ends = &p->open_ends;
    p->open_ends = 1;
    assert_int_equal(loop_connect(p->l, "127.0.0.1", port, &end_handlers, &p->client, &p->client.c),
                     EDGEPS_OK);
    assert_int_equal(end_send(&p->client, "hello", 5, 0), EDGEPS_OK);
    assert_int_equal(p->client.opened, 0);
    loop_run(p->l);
    assert_int_equal(p->client.opened, 1);
    assert_int_equal(p->client.open_err, EDGEPS_IO);
    assert_int_equal(p->client.sent_failed, 1);
    expect_end(&p->client, EDGEPS_IO, "connection refused");
}

static void a_host_that_is_none_is_told_the_same_way(void **state)
{
    pair *p = *state;
    p->client.open_ends = &p->open_ends;
    p->open_ends = 1;
    assert_int_equal(loop_connect(p->l, "256.1.1.1.", 1, &end_handlers, &p->client, &p->client.c),
                     EDGEPS_OK);
    loop_run(p->l);
    assert_int_equal(p->client.open_err, EDGEPS_IO);
    expect_end(&p->client, EDGEPS_IO, "256.1.1.1.");
}

static void a_port_in_use_is_refused_in_one_line(void **state)
{
    pair *p = *state;
    edgeps_diag diag;
    char wanted[100];
    loop_listener *second = NULL;
    int port = loop_listener_port(p->listener);
    const loop_acceptor acceptor = {end_accept, &p->accepted};
    assert_int_equal(loop_listen(p->l, "127.0.0.1", port, &acceptor, &diag, &second), EDGEPS_IO);
    assert_null(second);
    snprintf(wanted, sizeof wanted, "127.0.0.1:%d: address already in use; choose another port",
             port);
    assert_string_equal(diag.text, wanted);
}

static void listens_on_the_given_address_only(void **state)
{
    pair *p = *state;
    struct sockaddr_in to = {.sin_family = AF_INET};
    to.sin_port = htons((uint16_t)loop_listener_port(p->listener));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), -1);
    assert_int_equal(errno, ECONNREFUSED);
    close(fd);
}

/* The peer never reads, so most of the frames are still queued. */
static void closing_gives_each_queued_frame_its_sent_once(void **state)
{
    pair *p = *state;
    int port = 0;
    int fd = plain_listen(&port);
    uint8_t *payload = mem_alloc(END_MAX_BYTES, 1);
    assert_int_equal(loop_connect(p->l, "127.0.0.1", port, &end_handlers, &p->client, &p->client.c),
                     EDGEPS_OK);
    for (int i = 0; i < 20; i++)
        assert_int_equal(end_send(&p->client, payload, END_MAX_BYTES, 0), EDGEPS_OK);
    assert_true(conn_queued_bytes(p->client.c) == 20 * (8 + (uint64_t)END_MAX_BYTES));
    assert_int_equal(
        loop_timer_start(p->l, 30000000, (void (*)(void *))conn_close, p->client.c, NULL),
        EDGEPS_OK);
    run_until_closed(p, 1);
    expect_end(&p->client, EDGEPS_OK, "closed here");
    assert_int_equal(p->client.sent_ok + p->client.sent_failed, 20);
    assert_true(p->client.sent_failed > 5);
    mem_free(payload);
    close(fd);
}

/* Its kernel answers, but it takes nothing, as a process that was stopped. */
static void a_peer_that_takes_nothing_is_given_up_when_patience_ends(void **state)
{
    pair *p = *state;
    int port = 0;
    int fd = plain_listen(&port);
    uint8_t *payload = mem_alloc(END_MAX_BYTES, 1);
    assert_int_equal(loop_connect(p->l, "127.0.0.1", port, &end_handlers, &p->client, &p->client.c),
                     EDGEPS_OK);
    loop_set_patience(p->l, 0.3);
    for (int i = 0; i < 20; i++)
        assert_int_equal(end_send(&p->client, payload, END_MAX_BYTES, 0), EDGEPS_OK);
    run_until_closed(p, 1);
    expect_end(&p->client, EDGEPS_IO, "timed out");
    mem_free(payload);
    close(fd);
}

static void a_peer_that_vanishes_fails_what_is_queued_but_its_last_word_is_heard(void **state)
{
    pair *p = *state;
    int port = 0;
    int listening = plain_listen(&port);
    uint8_t *payload = mem_alloc(END_MAX_BYTES, 1);
    assert_int_equal(loop_connect(p->l, "127.0.0.1", port, &end_handlers, &p->client, &p->client.c),
                     EDGEPS_OK);
    for (int i = 0; i < 20; i++)
        assert_int_equal(end_send(&p->client, payload, END_MAX_BYTES, 0), EDGEPS_OK);
    p->client.stop_at_open = 1;
    loop_run(p->l);
    int fd = accept(listening, NULL, NULL);
    static const uint64_t last_word[2] = {8, 1};
    assert_true(plain_write(fd, last_word, sizeof last_word));
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(fd);
    run_until_closed(p, 1);
    assert_int_equal(p->client.close_err, EDGEPS_IO);
    assert_int_equal(p->client.frames, 1);
    assert_int_equal(p->client.sent_ok + p->client.sent_failed, 20);
    mem_free(payload);
    close(listening);
}

static void speaks_version_six_of_the_internet_protocol(void **state)
{
    pair *p = *state;
    loop_listener *listener = NULL;
    const loop_acceptor acceptor = {end_accept, &p->accepted};
    char wanted[50];
    if (loop_listen(p->l, "::1", 0, &acceptor, NULL, &listener) != EDGEPS_OK) {
        print_message("no address of version 6 here\n");
        skip();
    }
    int port = loop_listener_port(listener);
    assert_int_equal(loop_connect(p->l, "::1", port, &end_handlers, &p->client, &p->client.c),
                     EDGEPS_OK);
    snprintf(wanted, sizeof wanted, "[::1]:%d", port);
    assert_string_equal(conn_peer_text(p->client.c), wanted);
    p->server[0].stop_at_frames = 1;
    assert_int_equal(end_send(&p->client, "six", 3, 0), EDGEPS_OK);
    loop_run(p->l);
    assert_int_equal(p->server[0].bytes, 3);
}

static void only_who_asks_for_it_leaves_from_the_source(void **state)
{
    pair *p = *state;
    loop_handlers from_source = end_handlers;
    end second = {.l = p->l};
    int port = loop_listener_port(p->listener);
    from_source.from_source = true;
    assert_int_equal(loop_set_source(p->l, "127.0.0.2", NULL), EDGEPS_OK);
    connect_client(p);
    p->server[0].stop_at_frames = p->server[1].stop_at_frames = 1;
    assert_int_equal(end_send(&p->client, "plain", 5, 0), EDGEPS_OK);
    loop_run(p->l);
    assert_non_null(strstr(conn_peer_text(p->server[0].c), "127.0.0.1:"));
    assert_int_equal(loop_connect(p->l, "127.0.0.1", port, &from_source, &second, &second.c),
                     EDGEPS_OK);
    assert_int_equal(end_send(&second, "bound", 5, 0), EDGEPS_OK);
    loop_run(p->l);
    assert_non_null(strstr(conn_peer_text(p->server[1].c), "127.0.0.2:"));
    conn_close(second.c);
    second.open_ends = &p->open_ends;
    p->open_ends = 1;
    loop_run(p->l);
    assert_int_equal(second.closed, 1);
}

/* The limit leaves no descriptor for the accepted side; the loop drops the connection and sleeps.
 */
static void out_of_descriptors_drops_the_connection_and_lives_on(void **state)
{
    pair *p = *state;
    struct rlimit before, low;
    char byte;
    struct sockaddr_in to = {.sin_family = AF_INET};
    to.sin_port = htons((uint16_t)loop_listener_port(p->listener));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    getrlimit(RLIMIT_NOFILE, &before);
    low = before;
    low.rlim_cur = (rlim_t)fd + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(loop_timer_start(p->l, 20000000, (void (*)(void *))loop_stop, p->l, NULL),
                     EDGEPS_OK);
    log_set_level(LOG_ERROR);
    loop_run(p->l);
    log_set_level(LOG_WARNING);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(p->accepted.count, 0);
    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
    close(fd);
    connect_client(p);
    p->server[0].stop_at_frames = 1;
    assert_int_equal(end_send(&p->client, "on", 2, 0), EDGEPS_OK);
    loop_run(p->l);
    assert_int_equal(p->server[0].bytes, 2);
}

static void a_closed_connection_takes_no_more_frames(void **state)
{
    pair *p = *state;
    connect_client(p);
    conn_close(p->client.c);
    conn_close(p->client.c);
    assert_int_equal(end_send(&p->client, "x", 1, 0), EDGEPS_IO);
    run_until_closed(p, 1);
    assert_int_equal(p->client.sent_ok + p->client.sent_failed, 0);
    assert_int_equal(p->client.closed, 1);
    assert_int_equal(p->client.open_err, EDGEPS_CANCELLED);
}

static void the_end_of_the_loop_gives_the_last_callbacks(void **state)
{
    (void)state;
    loop *l = NULL;
    int open_ends = 1;
    end server[1] = {{0}}, client = {0};
    acceptance a = {server, 0};
    assert_int_equal(loop_make(NULL, &l), EDGEPS_OK);
    loop_listener *listener = end_listen(l, &a);
    assert_int_equal(loop_connect(l, "127.0.0.1", loop_listener_port(listener), &end_handlers,
                                  &client, &client.c),
                     EDGEPS_OK);
    assert_int_equal(end_send(&client, "abc", 3, 0), EDGEPS_OK);
    /* A callback may ask for the stop that is under way already. */
    client.l = l;
    client.open_ends = &open_ends;
    loop_free(l);
    assert_int_equal(client.sent_failed, 1);
    expect_end(&client, EDGEPS_CANCELLED, "the program ends");
}

int main(void)
{
#define WITH_PAIR(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_PAIR(frames_of_all_sizes_come_back_unchanged_and_in_order),
        WITH_PAIR(garbage_closes_the_connection_with_a_reason),
        WITH_PAIR(a_frame_too_large_is_refused_before_its_payload),
        WITH_PAIR(half_a_frame_and_an_end_is_an_error),
        WITH_PAIR(half_a_header_and_an_end_is_an_error),
        WITH_PAIR(an_end_between_frames_is_none),
        WITH_PAIR(a_connection_may_be_closed_from_its_own_callback),
        WITH_PAIR(nobody_there_is_told_to_opened_and_closed),
        WITH_PAIR(a_host_that_is_none_is_told_the_same_way),
        WITH_PAIR(a_port_in_use_is_refused_in_one_line),
        WITH_PAIR(listens_on_the_given_address_only),
        WITH_PAIR(closing_gives_each_queued_frame_its_sent_once),
        WITH_PAIR(a_peer_that_takes_nothing_is_given_up_when_patience_ends),
        WITH_PAIR(a_peer_that_vanishes_fails_what_is_queued_but_its_last_word_is_heard),
        WITH_PAIR(speaks_version_six_of_the_internet_protocol),
        WITH_PAIR(only_who_asks_for_it_leaves_from_the_source),
        WITH_PAIR(out_of_descriptors_drops_the_connection_and_lives_on),
        WITH_PAIR(a_closed_connection_takes_no_more_frames),
        cmocka_unit_test(the_end_of_the_loop_gives_the_last_callbacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
