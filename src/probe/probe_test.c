#include "probe/probe.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define TOKEN 0x1234abcdULL
#define SERVERS 3
#define PACE 10e6 /* bytes per second */

static const probe_how how = {.token = TOKEN, .settle_s = 0.05, .window_s = 0.2};

static void start(probe_server **servers, probe_peer *peers)
{
    for (int k = 0; k < SERVERS; k++) {
        assert_int_equal(probe_serve("127.0.0.1", TOKEN, NULL, &servers[k]), EDGEPS_OK);
        peers[k] = (probe_peer){
            .address = "127.0.0.1", .port = probe_port(servers[k]), .pace_bytes_per_s = PACE};
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
    start(servers, peers);
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
    start(servers, peers);
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
    start(servers, peers);
    probe_how stranger = how;
    stranger.token++;
    assert_int_equal(probe_ping(&stranger, peers, 1, &diag), EDGEPS_IO);
    assert_non_null(strstr(diag.text, "127.0.0.1:"));
    assert_int_equal(probe_send(&stranger, peers, SERVERS, &diag), EDGEPS_IO);
    stop(servers);
    assert_int_equal(probe_ping(&how, peers, 1, &diag), EDGEPS_IO);
    assert_non_null(strstr(diag.text, "refused"));
    assert_int_equal(probe_serve("203.0.113.1", TOKEN, &diag, &servers[0]), EDGEPS_IO);
    assert_non_null(strstr(diag.text, "cannot listen for probes at 203.0.113.1"));
}

static void survives_a_failing_allocation(void **state)
{
    (void)state;
    probe_server *server = NULL;
    mem_fail_at(1);
    assert_int_equal(probe_serve("127.0.0.1", TOKEN, NULL, &server), EDGEPS_NOMEM);
    mem_fail_at(0);
    assert_null(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_no_faster_than_it_is_told),
        cmocka_unit_test(tells_times_there_and_back),
        cmocka_unit_test(strangers_and_absent_servers_are_named),
        cmocka_unit_test(survives_a_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
