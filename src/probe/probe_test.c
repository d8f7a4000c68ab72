#include "probe/probe.h"

#include "base/mem.h"
#include "trust/trust_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define TOKEN 0x1234abcdULL
#define SERVERS 3
#define PACE 10e6 /* bytes per second */

static const probe_how how = {.token = TOKEN, .settle_s = 0.05, .window_s = 0.2};

static void start(const trust *keys, probe_server **servers, probe_peer *peers)
{
    for (int k = 0; k < SERVERS; k++) {
        assert_int_equal(probe_serve("127.0.0.1", TOKEN, keys, NULL, &servers[k]), EDGEPS_OK);
        peers[k] = (probe_peer){.node = "a",
                                .address = "127.0.0.1",
                                .port = probe_port(servers[k]),
                                .pace_bytes_per_s = PACE};
    }
}

static void stop(probe_server **servers)
{
    for (int k = 0; k < SERVERS; k++)
        probe_stop(servers[k]);
}

/* Over loopback nothing but what the probe is told bounds it. */
static void sends_no_faster_than_it_is_told(void **state)
{
    (void)state;
    probe_server *servers[SERVERS];
    probe_peer peers[SERVERS];
    start(NULL, servers, peers);
    double together = 0;
    assert_int_equal(probe_send(&how, peers, SERVERS, NULL), EDGEPS_OK);
    for (int k = 0; k < SERVERS; k++)
        together += peers[k].rate_bytes_per_s;
    print_message("%.1f MB/s of 30\n", together / 1e6);
    assert_true(together > 0 && together < 1.1 * SERVERS * PACE);
    stop(servers);
}

static void tells_times_there_and_back(void **state)
{
    (void)state;
    probe_server *servers[SERVERS];
    probe_peer peers[SERVERS];
    start(NULL, servers, peers);
    assert_int_equal(probe_ping(&how, peers, SERVERS, NULL), EDGEPS_OK);
    for (int k = 0; k < SERVERS; k++)
        assert_true(peers[k].there_and_back_s > 0 && peers[k].there_and_back_s < 1);
    stop(servers);
}

static void strangers_and_absent_servers_are_named(void **state)
{
    (void)state;
    probe_server *servers[SERVERS];
    probe_peer peers[SERVERS];
    edgeps_diag diag = {.text = ""};
    start(NULL, servers, peers);
    probe_how stranger = how;
    stranger.token++;
    assert_int_equal(probe_ping(&stranger, peers, 1, &diag), EDGEPS_IO);
    assert_non_null(strstr(diag.text, "127.0.0.1:"));
    assert_int_equal(probe_send(&stranger, peers, SERVERS, &diag), EDGEPS_IO);
    stop(servers);
    assert_int_equal(probe_ping(&how, peers, 1, &diag), EDGEPS_IO);
    assert_non_null(strstr(diag.text, "refused"));
    assert_int_equal(probe_serve("203.0.113.1", TOKEN, NULL, &diag, &servers[0]), EDGEPS_IO);
    assert_non_null(strstr(diag.text, "cannot listen for probes at 203.0.113.1"));
}

static trust *load(const char *folder, const char *who)
{
    trust *t = NULL;
    edgeps_diag diag = {.text = ""};
    if (trust_load(folder, who, &diag, &t))
        fail_msg("%s", diag.text);
    return t;
}

static void members_of_a_job_probe_over_tls(void **state)
{
    (void)state;
    char folder[64];
    probe_server *servers[SERVERS];
    probe_peer peers[SERVERS];
    edgeps_diag diag = {.text = ""};
    trust_fixture_make(folder, "demo");
    trust *a = load(folder, "node/a"), *b = load(folder, "node/b");
    probe_how secret = how;
    secret.keys = b;
    start(a, servers, peers);
    if (probe_send(&secret, peers, SERVERS, &diag) || probe_ping(&secret, peers, SERVERS, &diag))
        fail_msg("%s", diag.text);
    for (int k = 0; k < SERVERS; k++) {
        assert_true(peers[k].rate_bytes_per_s > 0 && peers[k].rate_bytes_per_s < 1.1 * PACE);
        assert_true(peers[k].there_and_back_s > 0 && peers[k].there_and_back_s < 1);
    }
    peers[0].node = "b";
    assert_int_equal(probe_ping(&secret, peers, 1, &diag), EDGEPS_IO);
    assert_non_null(strstr(diag.text, "its certificate is that of node/a, not of node/b"));
    stop(servers);
    trust_free(a);
    trust_free(b);
    trust_fixture_free(folder);
}

/* Each knows the token. */
static void without_the_jobs_certificate_nothing_is_probed(void **state)
{
    (void)state;
    char folder[64], other[64];
    probe_server *servers[SERVERS];
    probe_peer peers[SERVERS];
    edgeps_diag diag = {.text = ""};
    trust_fixture_make(folder, "demo");
    trust_fixture_make(other, "demo");
    trust *a = load(folder, "node/a"), *stranger = load(other, "node/b");
    start(a, servers, peers);
    assert_int_equal(probe_ping(&how, peers, 1, &diag), EDGEPS_IO);
    assert_int_equal(probe_send(&how, peers, SERVERS, &diag), EDGEPS_IO);
    for (int k = 0; k < SERVERS; k++)
        assert_true(peers[k].rate_bytes_per_s == 0);
    probe_how foreign = how;
    foreign.keys = stranger;
    assert_int_equal(probe_ping(&foreign, peers, 1, &diag), EDGEPS_IO);
    assert_non_null(strstr(diag.text, "not from this job's authority"));
    stop(servers);
    /* Nor does a member tell anything to a server without it. */
    start(NULL, servers, peers);
    foreign.keys = a;
    assert_int_equal(probe_ping(&foreign, peers, 1, &diag), EDGEPS_IO);
    stop(servers);
    start(stranger, servers, peers);
    assert_int_equal(probe_ping(&foreign, peers, 1, &diag), EDGEPS_IO);
    assert_non_null(strstr(diag.text, "not from this job's authority"));
    stop(servers);
    trust_free(a);
    trust_free(stranger);
    trust_fixture_free(folder);
    trust_fixture_free(other);
}

static void survives_a_failing_allocation(void **state)
{
    (void)state;
    probe_server *server = NULL;
    mem_fail_at(1);
    assert_int_equal(probe_serve("127.0.0.1", TOKEN, NULL, NULL, &server), EDGEPS_NOMEM);
    mem_fail_at(0);
    assert_null(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_no_faster_than_it_is_told),
        cmocka_unit_test(tells_times_there_and_back),
        cmocka_unit_test(strangers_and_absent_servers_are_named),
        cmocka_unit_test(members_of_a_job_probe_over_tls),
        cmocka_unit_test(without_the_jobs_certificate_nothing_is_probed),
        cmocka_unit_test(survives_a_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
