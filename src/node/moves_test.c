/* Servers that move while things go wrong between their old node and their new one. */
#include "node/node_fixture.h"

#include "base/clock.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { NODES = 4, SOURCE = 2, MOST_SOCKETS = 512, MOST_LISTENERS = 16 };

/* Shuts down connections that the source opens to other agents: the first as soon as it is seen,
 * the others when a part of a state is through. While the source carries all servers it opens none
 * but to send their state. */
typedef struct cutter {
    int most; /* connections to cut */
    int cut;
    int port; /* of the coordinator */
    atomic_bool over;
    pthread_t thread;
} cutter;

static in_port_t list_listeners(in_port_t ports[MOST_LISTENERS])
{
    in_port_t count = 0;
    for (int fd = 3; fd < MOST_SOCKETS && count < MOST_LISTENERS; fd++) {
        int listens = 0;
        socklen_t size = sizeof listens;
        struct sockaddr_in at = {0};
        socklen_t length = sizeof at;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) || !listens ||
            getsockname(fd, (struct sockaddr *)&at, &length) || at.sin_family != AF_INET)
            continue;
        ports[count++] = at.sin_port;
    }
    return count;
}

static bool is_state_edge(const cutter *c, int fd)
{
    struct sockaddr_in own = {0}, peer = {0};
    socklen_t own_size = sizeof own, peer_size = sizeof peer;
    in_port_t ports[MOST_LISTENERS];
    if (getsockname(fd, (struct sockaddr *)&own, &own_size) ||
        getpeername(fd, (struct sockaddr *)&peer, &peer_size) || own.sin_family != AF_INET ||
        own.sin_addr.s_addr != htonl(INADDR_LOOPBACK + 1 + SOURCE) ||
        peer.sin_port == htons((in_port_t)c->port))
        return false;
    in_port_t count = list_listeners(ports);
    for (in_port_t k = 0; k < count; k++)
        if (ports[k] == peer.sin_port)
            return true;
    return false;
}

static bool is_far_enough(const cutter *c, int fd)
{
    struct tcp_info about;
    socklen_t size = sizeof about;
    return c->cut == 0 || (!getsockopt(fd, IPPROTO_TCP, TCP_INFO, &about, &size) &&
                           about.tcpi_bytes_acked > 100000);
}

static void *cut(void *context)
{
    cutter *c = context;
    while (!c->over && c->cut < c->most) {
        for (int fd = 3; fd < MOST_SOCKETS && c->cut < c->most; fd++)
            if (is_state_edge(c, fd) && is_far_enough(c, fd) && shutdown(fd, SHUT_RDWR) == 0)
                c->cut++;
        sched_yield();
    }
    return NULL;
}

static cutter scissors;
static edgeps_err (*start_agents)(void *launcher, int port, edgeps_diag *diag);

static edgeps_err start_agents_and_cutter(void *launcher, int port, edgeps_diag *diag)
{
    scissors.port = port;
    assert_int_equal(pthread_create(&scissors.thread, NULL, cut, &scissors), 0);
    return start_agents(launcher, port, diag);
}

/* Four nodes at addresses of their own; the source's links are the best, so all servers begin
 * there, until its storage falls before the second epoch. A state takes a good while, a round of
 * few samples much less, on a full machine too. */
static void make(fixture *f, const char *addresses[NODES], int cuts)
{
    fixture_make(f, NODES, 80, 10);
    addresses[0] = "127.0.0.2";
    addresses[1] = "127.0.0.3";
    addresses[2] = "127.0.0.4";
    addresses[3] = "127.0.0.5";
    f->options.node_addresses = addresses;
    f->options.epochs = 3;
    f->options.max_locals = 1;
    f->options.emulate = true;
    for (size_t i = 0; i < NODES; i++)
        f->net->nodes[i].up_bytes_per_s = f->net->nodes[i].down_bytes_per_s =
            i == SOURCE ? 8e6 : 4e6;
    f->net->events = mem_alloc(1, sizeof *f->net->events);
    f->net->event_count = 1;
    f->net->events[0] =
        (network_event){.node = SOURCE, .change = NETWORK_FREE, .epoch = 2, .value = 100000};
    scissors = (cutter){.most = cuts};
    start_agents = f->options.launch;
    f->options.launch = start_agents_and_cutter;
}

static void run(fixture *f)
{
    edgeps_diag diag = {.text = ""};
    edgeps_err err = fixture_run(f, &diag);
    scissors.over = true;
    pthread_join(scissors.thread, NULL);
    if (err)
        fail_msg("%s", diag.text);
}

static void a_broken_state_connection_is_reported_and_the_move_made_again(void **state)
{
    (void)state;
    fixture f;
    const char *addresses[NODES];
    make(&f, addresses, 2);
    run(&f);
    assert_int_equal(scissors.cut, 2);
    for (size_t k = 0; k < 2; k++) {
        const fixture_event *warning = fixture_nth(&f, METER_WARNING, k);
        assert_non_null(warning);
        assert_non_null(strstr(warning->text, "could not move to"));
    }
    assert_null(fixture_nth(&f, METER_LOST, 0)); /* source and target live */
    const fixture_event *move = fixture_nth(&f, METER_MOVE, 0);
    assert_non_null(move);
    assert_non_null(strstr(move->text, " c "));
    assert_non_null(fixture_nth(&f, METER_EPOCH, 2));
    fixture_free(&f);
}

/* Only the last node has room for the global server, and the path to it is slow; as it does not
 * train, it slows no round. */
static void make_slow_target(fixture *f, const char *addresses[NODES])
{
    make(f, addresses, 0);
    const job *j = &f->options.job;
    for (size_t i = 0; i < NODES; i++)
        if (i != SOURCE)
            f->net->nodes[i].free_bytes =
                i == NODES - 1 ? job_global_need_bytes(j, NODES) : job_local_need_bytes(j, NODES);
    f->net->nodes[NODES - 1].train = false;
    network_set_cap_bytes_per_s(f->net, SOURCE, NODES - 1, 4e5);
    f->options.epochs = 2;
}

static void a_server_is_copied_while_it_serves(void **state)
{
    (void)state;
    fixture f;
    const char *addresses[NODES];
    make_slow_target(&f, addresses);
    size_t rounds = (size_t)job_rounds(&f.options.job, NODES - 1);
    run(&f);
    assert_int_equal(f.rounds, 2 * rounds);
    fixture_event move = {.kind = METER_START};
    for (size_t n = 0; fixture_nth(&f, METER_MOVE, n); n++)
        if (strstr(fixture_nth(&f, METER_MOVE, n)->text, "global c d"))
            move = *fixture_nth(&f, METER_MOVE, n);
    assert_int_equal(move.kind, METER_MOVE);
    size_t meanwhile = move.rounds - rounds;
    print_message("%zu of %zu rounds while the global server moves, in %.3f s; %.3f s of them it "
                  "stands still\n",
                  meanwhile, rounds, move.seconds, move.frozen_s);
    assert_true(meanwhile >= 1);
    assert_true(move.frozen_s < 2.0 / 3 * move.seconds);
    assert_int_equal(fixture_nth(&f, METER_EPOCH, 1)->measured.samples, 80);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_state_connection_is_reported_and_the_move_made_again),
        cmocka_unit_test(a_server_is_copied_while_it_serves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
