/* A worker's connection to its server is cut in the middle of a push, and its next one in the
 * middle of a pull: every gradient counts exactly once. */
#include "node/node_fixture.h"

#include "base/mem.h"
#include "nn/nn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

enum { MOST_SOCKETS = 256, MIDDLE_BYTES = 100000, SERVER = 2, WORKER = 3 /* 127.0.0.x */ };

typedef struct cutter {
    int most;
    int cut;
    atomic_bool over;
    pthread_t thread;
} cutter;

static cutter scissors;
static edgeps_err (*start_agents)(void *launcher, int port, edgeps_diag *diag);

static bool is_at(const struct sockaddr_in *address, uint32_t host)
{
    return address->sin_family == AF_INET &&
           address->sin_addr.s_addr == htonl(INADDR_LOOPBACK - 1 + host);
}

/* The worker's end of its edge. */
static bool is_edge(int fd)
{
    struct sockaddr_in own = {0}, peer = {0};
    socklen_t own_size = sizeof own, peer_size = sizeof peer;
    return !getsockname(fd, (struct sockaddr *)&own, &own_size) &&
           !getpeername(fd, (struct sockaddr *)&peer, &peer_size) && is_at(&own, WORKER) &&
           is_at(&peer, SERVER);
}

/* The first edge brings all parameters before it pushes; what comes over the second one is an
 * update. */
static bool is_in_the_middle(const cutter *c, int fd)
{
    struct tcp_info about;
    socklen_t size = sizeof about;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &about, &size))
        return false;
    return (c->cut == 0 ? about.tcpi_bytes_acked : about.tcpi_bytes_received) > MIDDLE_BYTES;
}

static void *cut(void *context)
{
    cutter *c = context;
    while (!c->over && c->cut < c->most) {
        for (int fd = 3; fd < MOST_SOCKETS && c->cut < c->most; fd++)
            if (is_edge(fd) && is_in_the_middle(c, fd) && shutdown(fd, SHUT_RDWR) == 0)
                c->cut++;
        sched_yield();
    }
    return NULL;
}

static edgeps_err start_agents_and_cutter(void *launcher, int port, edgeps_diag *diag)
{
    assert_int_equal(pthread_create(&scissors.thread, NULL, cut, &scissors), 0);
    return start_agents(launcher, port, diag);
}

/* The model after two rounds. All servers are on the node with the better links; with two workers a
 * sum is the same to the last bit, whoever comes first. */
static float *train(job_transfer transfer, int cuts)
{
    static const char *const addresses[] = {"127.0.0.2", "127.0.0.3"};
    fixture f;
    edgeps_diag diag = {.text = ""};
    fixture_make(&f, 2, 40, 10);
    assert_int_equal(job_make("mlp", 40, 10, transfer, NULL, &f.options.job), EDGEPS_OK);
    f.options.node_addresses = addresses;
    f.options.max_locals = 1;
    f.options.emulate = true;
    for (size_t i = 0; i < 2; i++)
        f.net->nodes[i].up_bytes_per_s = f.net->nodes[i].down_bytes_per_s = i ? 1e7 : 2e7;
    start_agents = f.options.launch;
    f.options.launch = start_agents_and_cutter;
    scissors = (cutter){.most = cuts};
    edgeps_err err = fixture_run(&f, &diag);
    scissors.over = true;
    pthread_join(scissors.thread, NULL);
    if (err)
        fail_msg("%s", diag.text);
    assert_int_equal(scissors.cut, cuts);
    assert_int_equal(fixture_nth(&f, METER_EPOCH, 0)->measured.samples, 40);
    assert_int_equal(f.rounds, 2);
    assert_null(fixture_nth(&f, METER_LOST, 0));
    assert_null(fixture_nth(&f, METER_PLAN, 1));
    float *model = fixture_model(&f);
    fixture_free(&f);
    return model;
}

static void compare(job_transfer transfer)
{
    float *whole = train(transfer, 0), *cut_twice = train(transfer, 2);
    assert_memory_equal(whole, cut_twice, (size_t)nn_parameter_count(NN_MLP) * sizeof *whole);
    mem_free(whole);
    mem_free(cut_twice);
}

static void a_connection_cut_in_push_and_in_pull_changes_nothing(void **state)
{
    (void)state;
    compare(JOB_STORE_AND_FORWARD);
}

static void nor_does_it_where_chunks_are_pipelined(void **state)
{
    (void)state;
    compare(JOB_PIPELINED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_cut_in_push_and_in_pull_changes_nothing),
        cmocka_unit_test(nor_does_it_where_chunks_are_pipelined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
