#include "node/prober.h"

#include "base/mem.h"
#include "base/test_port.h"
#include "node/agent.h"
#include "trust/trust_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#define AGENTS 3
#define MOST 60e6 /* bytes per second */

static const char *const names[AGENTS] = {"oslo", "lyon", "rome"};

static network *make_net(void)
{
    network *net = NULL;
    assert_int_equal(network_make(AGENTS, NULL, &net), EDGEPS_OK);
    for (size_t i = 0; i < AGENTS; i++) {
        net->nodes[i].name = mem_copy_text(names[i]);
        assert_non_null(net->nodes[i].name);
    }
    net->nodes[2].train = false;
    return net;
}

static void *live(void *context)
{
    edgeps_diag diag = {.text = ""};
    agent_run(context, &diag); /* it ends when who probed it has gone */
    return NULL;
}

static void start(pthread_t *threads, agent_options *agents, size_t count, const prober_options *o)
{
    for (size_t k = 0; k < count; k++) {
        agents[k] = (agent_options){.name = names[k],
                                    .host = "127.0.0.1",
                                    .port = o->port,
                                    .certs = o->certs,
                                    .wait_s = 0.6};
        assert_int_equal(pthread_create(&threads[k], NULL, live, &agents[k]), 0);
    }
}

static void measure_fleet(const prober_options *o)
{
    pthread_t threads[AGENTS];
    agent_options agents[AGENTS];
    prober_found found;
    edgeps_diag diag = {.text = ""};
    start(threads, agents, AGENTS, o);
    if (prober_run(o, &diag, &found))
        fail_msg("%s", diag.text);
    for (size_t i = 0; i < AGENTS; i++) {
        print_message("%s: %.1f up, %.1f down of %.1f MB/s\n", names[i],
                      found.up_bytes_per_s[i] / 1e6, found.down_bytes_per_s[i] / 1e6, MOST / 1e6);
        assert_true(found.up_bytes_per_s[i] > 0 && found.up_bytes_per_s[i] < 1.2 * MOST);
        assert_true(found.down_bytes_per_s[i] > 0 && found.down_bytes_per_s[i] < 1.2 * MOST);
        assert_true(found.free_bytes[i] > 0);
        assert_true(found.samples_per_s[i] == 0);
        for (size_t j = 0; j < AGENTS; j++) {
            double there = found.latency_s[i * AGENTS + j], back = found.latency_s[j * AGENTS + i];
            assert_true(there == back && (i == j ? there == 0 : there > 0));
        }
    }
    prober_free(&found);
    for (size_t k = 0; k < AGENTS; k++)
        pthread_join(threads[k], NULL);
}

/* Over loopback a probe is as fast as it may be, which is known. */
static void a_fleet_measures_itself_as_fast_as_it_may(void **state)
{
    (void)state;
    char folder[64];
    edgeps_err err = EDGEPS_OK;
    network *net = make_net();
    prober_options o = {.net = net,
                        .address = "127.0.0.1",
                        .port = test_port(),
                        .settle_s = 0.01,
                        .window_s = 0.04,
                        .most_bytes_per_s = MOST,
                        .patience_s = 30};
    measure_fleet(&o);
    trust_fixture_make(folder, "demo");
    for (size_t k = 0; !err && k < AGENTS; k++) {
        char who[TRUST_MAX_WHO + 1];
        assert_true(trust_node(names[k], who));
        err = cert_make_member(folder, who, 1, false, NULL);
    }
    assert_int_equal(err, EDGEPS_OK);
    o.certs = folder;
    measure_fleet(&o);
    trust_fixture_free(folder);
    network_free(net);
}

static void who_does_not_call_is_named(void **state)
{
    (void)state;
    pthread_t threads[AGENTS];
    agent_options agents[AGENTS];
    prober_found found;
    edgeps_diag diag = {.text = ""};
    network *net = make_net();
    const prober_options o = {
        .net = net, .address = "127.0.0.1", .port = test_port(), .patience_s = 0.3};
    start(threads, agents, 1, &o);
    assert_int_equal(prober_run(&o, &diag, &found), EDGEPS_IO);
    assert_non_null(strstr(diag.text, "'rome': its agent did not call within 0.3 s"));
    pthread_join(threads[0], NULL);
    net->count = 1;
    assert_int_equal(prober_run(&o, &diag, &found), EDGEPS_USAGE);
    net->count = AGENTS;
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fleet_measures_itself_as_fast_as_it_may),
        cmocka_unit_test(who_does_not_call_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
