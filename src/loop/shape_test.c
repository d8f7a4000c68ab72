/* Rates are measured against plain blocking sockets in threads of their own. The margins leave room
 * for a machine that is shared with other work. */
#include "loop/test_end.h"

#include "base/clock.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define CHUNK 16384
#define RATE 4e6
#define MEASURED_S 1.0

static double seconds(int64_t ns) { return (double)ns / CLOCK_NS_PER_S; }

static void expect_near(double value, double wanted, double margin)
{
    if (!(fabs(value - wanted) <= margin * wanted))
        fail_msg("%g is not within %g %% of %g", value, 100 * margin, wanted);
}

/* A sender that writes frames of CHUNK bytes as fast as the socket takes them. */
typedef struct flood {
    int port;
    pthread_t thread;
    atomic_bool stop;
} flood;

static void *run_flood(void *ctx)
{
    flood *f = ctx;
    static const uint8_t payload[CHUNK];
    const uint64_t bytes = CHUNK;
    int fd = plain_connect(f->port);
    while (!atomic_load(&f->stop))
        if (!plain_write(fd, &bytes, sizeof bytes) || !plain_write(fd, payload, sizeof payload))
            break;
    close(fd);
    return NULL;
}

typedef struct receiver {
    loop *l;
    acceptance accepted;
    end ends[3];
    double cap[3];
} receiver;

static void accept_shaped(void *ctx, conn *c)
{
    receiver *r = ctx;
    int i = r->accepted.count;
    end_accept(&r->accepted, c);
    conn_shape(c, INFINITY, r->cap[i]);
}

static void stop_loop(void *ctx) { loop_stop(ctx); }

static void run_for(loop *l, double for_s)
{
    assert_int_equal(loop_timer_start(l, (int64_t)(for_s * CLOCK_NS_PER_S), stop_loop, l, NULL),
                     EDGEPS_OK);
    loop_run(l);
}

/* Bytes per second of each of `count` flooding senders. */
static void measure_floods(receiver *r, int count, double *bytes_per_s)
{
    flood floods[3] = {{0}};
    loop_listener *listener = NULL;
    const loop_acceptor acceptor = {accept_shaped, r};
    uint64_t before[3];
    r->accepted.ends = r->ends;
    assert_int_equal(loop_listen(r->l, "127.0.0.1", 0, &acceptor, NULL, &listener), EDGEPS_OK);
    for (int i = 0; i < count; i++) {
        floods[i].port = loop_listener_port(listener);
        pthread_create(&floods[i].thread, NULL, run_flood, &floods[i]);
    }
    run_for(r->l, 0.2);
    assert_int_equal(r->accepted.count, count);
    for (int i = 0; i < count; i++)
        before[i] = r->ends[i].bytes;
    int64_t start_ns = clock_now_ns();
    run_for(r->l, MEASURED_S);
    double took_s = seconds(clock_now_ns() - start_ns);
    for (int i = 0; i < count; i++) {
        bytes_per_s[i] = (double)(r->ends[i].bytes - before[i]) / took_s;
        atomic_store(&floods[i].stop, true);
    }
    loop_free(r->l);
    for (int i = 0; i < count; i++)
        pthread_join(floods[i].thread, NULL);
}

static void senders_share_the_down_link_evenly(void **state)
{
    (void)state;
    receiver r = {.cap = {INFINITY, INFINITY}};
    double got[2];
    assert_int_equal(loop_make(NULL, &r.l), EDGEPS_OK);
    loop_set_rates(r.l, INFINITY, RATE);
    measure_floods(&r, 2, got);
    expect_near(got[0] + got[1], RATE, 0.05);
    expect_near(got[0], RATE / 2, 0.10);
    expect_near(got[1], RATE / 2, 0.10);
}

static void a_capped_sender_leaves_the_rest_to_the_others(void **state)
{
    (void)state;
    receiver r = {.cap = {RATE / 8, INFINITY, INFINITY}};
    double got[3];
    assert_int_equal(loop_make(NULL, &r.l), EDGEPS_OK);
    loop_set_rates(r.l, INFINITY, RATE);
    measure_floods(&r, 3, got);
    expect_near(got[0], RATE / 8, 0.10);
    expect_near(got[1], RATE * 7 / 16, 0.10);
    expect_near(got[2], RATE * 7 / 16, 0.10);
}

/* The other side of an up link: accepts and reads everything as it comes. */
typedef struct drain {
    int listening, port;
    pthread_t thread;
    int64_t first_ns, last_ns;
    uint64_t bytes;
} drain;

static void *run_drain(void *ctx)
{
    drain *d = ctx;
    static _Thread_local uint8_t buffer[65536];
    int fd = accept(d->listening, NULL, NULL);
    ssize_t n;
    while ((n = read(fd, buffer, sizeof buffer)) > 0) {
        d->last_ns = clock_now_ns();
        if (d->bytes == 0)
            d->first_ns = d->last_ns;
        d->bytes += (uint64_t)n;
    }
    close(fd);
    return NULL;
}

typedef struct sender {
    loop *l;
    end ends[3];
    drain drains[3];
    int open_frames;
} sender;

static void start_drains(sender *s, int count)
{
    assert_int_equal(loop_make(NULL, &s->l), EDGEPS_OK);
    for (int i = 0; i < count; i++) {
        drain *d = &s->drains[i];
        d->listening = plain_listen(&d->port);
        pthread_create(&d->thread, NULL, run_drain, d);
        assert_int_equal(
            loop_connect(s->l, "127.0.0.1", d->port, &end_handlers, &s->ends[i], &s->ends[i].c),
            EDGEPS_OK);
    }
}

static void end_drains(sender *s, int count)
{
    loop_free(s->l);
    for (int i = 0; i < count; i++) {
        pthread_join(s->drains[i].thread, NULL);
        close(s->drains[i].listening);
    }
}

static void sent_one(void *ctx, edgeps_err err)
{
    sender *s = ctx;
    assert_int_equal(err, EDGEPS_OK);
    if (--s->open_frames == 0)
        loop_stop(s->l);
}

static void queue(sender *s, int i, uint64_t bytes, int64_t delay_ns)
{
    static const uint8_t payload[1000000];
    uint8_t header[8];
    memcpy(header, &bytes, sizeof bytes);
    const conn_frame f = {.header = header,
                          .payload = payload,
                          .bytes = bytes,
                          .delay_ns = delay_ns,
                          .sent = sent_one,
                          .ctx = s};
    assert_int_equal(conn_send(s->ends[i].c, &f), EDGEPS_OK);
    s->open_frames++;
}

/* Flows of unlike frame sizes: bytes are shared evenly, not frames. */
static void receivers_share_the_up_link_evenly(void **state)
{
    (void)state;
    sender s = {0};
    start_drains(&s, 2);
    loop_set_rates(s.l, RATE, INFINITY);
    for (int i = 0; i < 2; i++)
        conn_shape(s.ends[i].c, INFINITY, INFINITY);
    for (int i = 0; i < 2; i++)
        queue(&s, 0, 1000000, 0);
    for (int i = 0; i < 500; i++)
        queue(&s, 1, 4000, 0);
    int64_t start_ns = clock_now_ns();
    loop_run(s.l);
    end_drains(&s, 2);
    expect_near(seconds(s.drains[0].last_ns - start_ns), 4e6 / RATE, 0.10);
    expect_near(seconds(s.drains[1].last_ns - start_ns), 4e6 / RATE, 0.10);
    assert_int_equal(s.drains[0].bytes, 2000016);
    assert_int_equal(s.drains[1].bytes, 2004000);
}

static void a_cap_of_one_receiver_does_not_hold_the_other_up(void **state)
{
    (void)state;
    sender s = {0};
    start_drains(&s, 2);
    loop_set_rates(s.l, RATE, INFINITY);
    conn_shape(s.ends[0].c, RATE / 4, INFINITY);
    conn_shape(s.ends[1].c, INFINITY, INFINITY);
    queue(&s, 0, 500000, 0);
    for (int i = 0; i < 2; i++)
        queue(&s, 1, 750000, 0);
    int64_t start_ns = clock_now_ns();
    loop_run(s.l);
    end_drains(&s, 2);
    expect_near(seconds(s.drains[0].last_ns - start_ns), 0.5, 0.10);
    expect_near(seconds(s.drains[1].last_ns - start_ns), 0.5, 0.10);
}

/* At these rates a piece of a transfer takes longer than the pause after which a link counts as
 * idle: waiting for the one must not begin the wait for the other anew. */
static void a_slow_link_under_a_cap_lets_everything_pass(void **state)
{
    (void)state;
    const double caps[] = {RATE, RATE / 8, RATE / 16};
    for (int i = 0; i < 3; i++) {
        sender s = {0};
        start_drains(&s, 1);
        loop_set_rates(s.l, RATE / 8, INFINITY);
        conn_shape(s.ends[0].c, caps[i], INFINITY);
        queue(&s, 0, 100000, 0);
        int64_t start_ns = clock_now_ns();
        loop_run(s.l);
        end_drains(&s, 1);
        double slowest = fmin(caps[i], RATE / 8);
        expect_near(seconds(s.drains[0].last_ns - start_ns), 1e5 / slowest, 0.15);
    }
}

static void a_slow_down_link_under_a_cap_lets_everything_pass(void **state)
{
    (void)state;
    receiver r = {.cap = {RATE, RATE / 16}};
    double got[2];
    assert_int_equal(loop_make(NULL, &r.l), EDGEPS_OK);
    loop_set_rates(r.l, INFINITY, RATE / 8);
    measure_floods(&r, 2, got);
    expect_near(got[0] + got[1], RATE / 8, 0.15);
}

static void control_connections_pass_by_a_full_link(void **state)
{
    (void)state;
    sender s = {0};
    start_drains(&s, 2);
    loop_set_rates(s.l, RATE, INFINITY);
    conn_shape(s.ends[0].c, INFINITY, INFINITY);
    queue(&s, 0, 1000000, 0);
    for (int i = 0; i < 10; i++)
        queue(&s, 1, 100000, 0);
    int64_t start_ns = clock_now_ns();
    loop_run(s.l);
    end_drains(&s, 2);
    expect_near(seconds(s.drains[0].last_ns - start_ns), 1e6 / RATE, 0.10);
    assert_true(seconds(s.drains[1].last_ns - start_ns) < 0.1);
}

static void rates_that_change_apply_to_what_is_on_its_way(void **state)
{
    (void)state;
    sender s = {0};
    start_drains(&s, 1);
    loop_set_rates(s.l, 0, INFINITY);
    conn_shape(s.ends[0].c, INFINITY, INFINITY);
    queue(&s, 0, 500000, 0);
    run_for(s.l, 0.1);
    assert_int_equal(s.open_frames, 1);
    loop_set_rates(s.l, RATE, INFINITY);
    int64_t start_ns = clock_now_ns();
    run_for(s.l, 0.05);
    assert_int_equal(s.open_frames, 1);
    loop_set_rates(s.l, INFINITY, INFINITY);
    loop_run(s.l);
    end_drains(&s, 1);
    double took_s = seconds(s.drains[0].last_ns - start_ns);
    assert_true(took_s > 0.05 && took_s < 0.11);
}

static void delays_of_frames_queued_together_do_not_add_up(void **state)
{
    (void)state;
    sender s = {0};
    start_drains(&s, 1);
    int64_t start_ns = clock_now_ns();
    for (int i = 0; i < 10; i++)
        queue(&s, 0, 1000, 50000000);
    loop_run(s.l);
    end_drains(&s, 1);
    double took_s = seconds(s.drains[0].last_ns - start_ns);
    assert_true(s.drains[0].first_ns - start_ns >= 50000000);
    assert_true(took_s < 0.08);
    assert_int_equal(s.drains[0].bytes, 10080);
}

/* A shaped loop in a thread of its own sends `frames` of CHUNK bytes over a link with latency. */
typedef struct far_end {
    int port;
    pthread_t thread;
    int64_t start_ns;
} far_end;

enum { FAR_FRAMES = 60, LATENCY_NS = 20000000 };

static void *run_far_end(void *ctx)
{
    far_end *f = ctx;
    sender s = {0};
    assert_int_equal(loop_make(NULL, &s.l), EDGEPS_OK);
    loop_set_rates(s.l, RATE / 2, INFINITY);
    assert_int_equal(
        loop_connect(s.l, "127.0.0.1", f->port, &end_handlers, &s.ends[0], &s.ends[0].c),
        EDGEPS_OK);
    conn_shape(s.ends[0].c, INFINITY, INFINITY);
    f->start_ns = clock_now_ns();
    for (int i = 0; i < FAR_FRAMES; i++)
        queue(&s, 0, CHUNK, LATENCY_NS);
    loop_run(s.l);
    loop_free(s.l);
    return NULL;
}

/* Two senders of half the receiver's rate: up and down links are busy all the time, and what passes
 * both takes no longer than what passes one. */
static void links_in_a_row_take_the_time_of_the_slowest(void **state)
{
    (void)state;
    receiver r = {.cap = {INFINITY, INFINITY}};
    far_end ends[2] = {{0}};
    int open_ends = 2;
    loop_listener *listener = NULL;
    const loop_acceptor acceptor = {accept_shaped, &r};
    r.accepted.ends = r.ends;
    assert_int_equal(loop_make(NULL, &r.l), EDGEPS_OK);
    loop_set_rates(r.l, INFINITY, RATE);
    assert_int_equal(loop_listen(r.l, "127.0.0.1", 0, &acceptor, NULL, &listener), EDGEPS_OK);
    for (int i = 0; i < 2; i++) {
        r.ends[i].l = r.l;
        r.ends[i].open_ends = &open_ends;
        ends[i].port = loop_listener_port(listener);
        pthread_create(&ends[i].thread, NULL, run_far_end, &ends[i]);
    }
    loop_run(r.l);
    int64_t end_ns = clock_now_ns();
    for (int i = 0; i < 2; i++)
        pthread_join(ends[i].thread, NULL);
    loop_free(r.l);
    int64_t start_ns = ends[0].start_ns < ends[1].start_ns ? ends[0].start_ns : ends[1].start_ns;
    double bytes = (double)FAR_FRAMES * (CHUNK + 8);
    assert_int_equal(r.ends[0].frames + r.ends[1].frames, 2 * FAR_FRAMES);
    expect_near(seconds(end_ns - start_ns), LATENCY_NS * 1e-9 + 2 * bytes / RATE, 0.10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(senders_share_the_down_link_evenly),
        cmocka_unit_test(a_capped_sender_leaves_the_rest_to_the_others),
        cmocka_unit_test(receivers_share_the_up_link_evenly),
        cmocka_unit_test(a_cap_of_one_receiver_does_not_hold_the_other_up),
        cmocka_unit_test(a_slow_link_under_a_cap_lets_everything_pass),
        cmocka_unit_test(a_slow_down_link_under_a_cap_lets_everything_pass),
        cmocka_unit_test(control_connections_pass_by_a_full_link),
        cmocka_unit_test(rates_that_change_apply_to_what_is_on_its_way),
        cmocka_unit_test(links_in_a_row_take_the_time_of_the_slowest),
        cmocka_unit_test(delays_of_frames_queued_together_do_not_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
