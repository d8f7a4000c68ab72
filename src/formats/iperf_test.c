#include "formats/iperf.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is looked at in a result: title, client, server, reverse, received bits/s, round trip in us,
 * whether the client sends, and more at the end. */
#define RESULT(title, client, server, reverse, bits, rtt, sends, more)                             \
    "{" title "\"start\": {\"connected\": [{\"local_host\": \"" client                             \
    "\", \"remote_host\": \"" server                                                               \
    "\"}], \"connecting_to\": {\"host\": \"x\"}, \"test_start\": {\"reverse\": " reverse           \
    "}}, \"end\": {\"streams\": [{\"sender\": {\"min_rtt\": " rtt ", \"sender\": " sends "}}], "   \
    "\"sum_sent\": {\"bits_per_second\": 99}, \"sum_received\": {\"bits_per_second\": " bits       \
    "}" more "}}"
#define FORWARD(client, server, bits) RESULT("", client, server, "0", bits, "4000", "true", "")

static const topology_options defaults = {0};
static char folder[64], files[16][64];
static size_t file_count;

static int set_up(void **state)
{
    (void)state;
    file_count = 0;
    snprintf(folder, sizeof folder, "/tmp/edgeps-iperf-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static void forget_all(void)
{
    char path[160];
    for (; file_count > 0; file_count--) {
        snprintf(path, sizeof path, "%s/%s", folder, files[file_count - 1]);
        unlink(path);
    }
}

static int tear_down(void **state)
{
    (void)state;
    forget_all();
    return rmdir(folder);
}

static void put(const char *file, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    snprintf(files[file_count++], sizeof files[0], "%s", file);
    FILE *to = fopen(path, "we");
    assert_non_null(to);
    fputs(text, to);
    assert_int_equal(fclose(to), 0);
}

/* One of the results that iperf3 3.12 gave. */
static void put_real(const char *name)
{
    char path[256], text[8192];
    snprintf(path, sizeof path, "%s/tests/iperf3/%s", EDGEPS_SOURCE_DIR, name);
    FILE *from = fopen(path, "re");
    assert_non_null(from);
    text[fread(text, 1, sizeof text - 1, from)] = '\0';
    fclose(from);
    put(name, text);
}

static network *load(topology_report *report)
{
    network *net;
    edgeps_diag diag = {.text = ""};
    if (network_iperf_load(folder, &defaults, &diag, &net, report))
        fail_msg("%s", diag.text);
    return net;
}

static size_t at(const network *net, const char *name)
{
    int64_t found = network_find(net, name);
    if (found < 0)
        fail_msg("no node %s", name);
    return (size_t)found;
}

static double cap_mbit(const network *net, const char *from, const char *to)
{
    return network_cap_bytes_per_s(net, at(net, from), at(net, to)) * 8 / 1e6;
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * fabs(b); }

/* The numbers stand in the files of tests/iperf3. */
static void real_results_give_the_rate_of_the_receiver(void **state)
{
    (void)state;
    topology_report report;
    put_real("lyon--oslo.json");
    put_real("lyon--oslo--reverse.json");
    put_real("title.json");
    network *net = load(&report);
    assert_int_equal(net->count, 3);
    assert_true(near(cap_mbit(net, "lyon", "oslo"), 50.301));
    assert_true(near(cap_mbit(net, "oslo", "lyon"), 51.376));
    assert_true(near(cap_mbit(net, "lyon", "bern"), 50.318));
    assert_true(near(cap_mbit(net, "bern", "lyon"), 50.318));
    assert_true(isinf(cap_mbit(net, "bern", "oslo")));
    assert_true(near(network_latency_s(net, at(net, "oslo"), at(net, "lyon")), 109e-6 / 2));
    assert_true(near(network_latency_s(net, at(net, "bern"), at(net, "lyon")), 52e-6 / 2));
    assert_true(near(net->nodes[at(net, "lyon")].up_bytes_per_s * 8, 50.318e6));
    assert_true(near(net->nodes[at(net, "lyon")].down_bytes_per_s * 8, 51.376e6));
    topology_report_free(&report);
    network_free(net);
}

static void directions_are_told_apart(void **state)
{
    (void)state;
    topology_report report;
    put("a--b.json", RESULT("", "1.1.1.1", "2.2.2.2", "0", "8e6", "4000", "true", ""));
    put("a--c.json", RESULT("", "1.1.1.1", "2.2.2.2", "1", "16e6", "0", "false", ""));
    put("x.json", RESULT("\"title\": \" b -> c \", ", "1.1.1.1", "2.2.2.2", "0", "24e6", "6000",
                         "true", ", \"sum_received_bidir_reverse\": {\"bits_per_second\": 32e6}"));
    network *net = load(&report);
    assert_true(cap_mbit(net, "a", "b") == 8 && isinf(cap_mbit(net, "b", "a")));
    assert_true(cap_mbit(net, "c", "a") == 16 && isinf(cap_mbit(net, "a", "c")));
    assert_true(cap_mbit(net, "b", "c") == 24 && cap_mbit(net, "c", "b") == 32);
    size_t c = at(net, "c");
    assert_true(net->nodes[c].up_bytes_per_s == 4e6 && net->nodes[c].down_bytes_per_s == 3e6);
    assert_true(network_latency_s(net, at(net, "a"), at(net, "b")) == 0.002);
    assert_true(network_latency_s(net, c, at(net, "b")) == 0.003);
    assert_true(network_latency_s(net, c, at(net, "a")) == 0);
    topology_report_free(&report);
    network_free(net);
}

static void repeated_measurements_are_averaged(void **state)
{
    (void)state;
    topology_report report;
    put("a--b--1.json", FORWARD("x", "y", "8e6"));
    put("a--b--2.json", FORWARD("x", "y", "16e6"));
    put("a--b.json", FORWARD("x", "y", "36e6"));
    put("b--a.json", FORWARD("x", "y", "5e6"));
    network *net = load(&report);
    assert_true(near(cap_mbit(net, "a", "b"), 20));
    topology_report_free(&report);
    network_free(net);
}

static void hosts_without_names_have_addresses(void **state)
{
    (void)state;
    topology_report report;
    put("1.json", FORWARD("10.0.0.1", "10.0.0.2", "8e6"));
    put("2.json", FORWARD("10.0.0.2", "10.0.0.1", "8e6"));
    network *net = load(&report);
    assert_true(cap_mbit(net, "10.0.0.1", "10.0.0.2") == 8);
    topology_report_free(&report);
    network_free(net);
    put("nodes.csv", "name,address,compute\nb,10.0.0.2,70 samples/s\na,10.0.0.1,\n");
    net = load(&report);
    assert_true(cap_mbit(net, "a", "b") == 8);
    assert_true(net->nodes[0].compute_samples_per_s == 70);
    topology_report_free(&report);
    network_free(net);
}

static void refuses(const char *file, const char *text, const char *words)
{
    network *net = NULL;
    topology_report report = {0};
    edgeps_diag diag = {.text = ""};
    forget_all();
    put(file, text);
    assert_int_equal(network_iperf_load(folder, &defaults, &diag, &net, &report), EDGEPS_FORMAT);
    assert_null(net);
    if (!strstr(diag.text, words) || !strstr(diag.text, file))
        fail_msg("'%s' lacks '%s'", diag.text, words);
}

static void broken_results_are_refused_with_file_and_remedy(void **state)
{
    (void)state;
    refuses("a--b.json", "{", "a--b.json: line 1, column 1: ");
    refuses("a--b.json", "{\"start\": 1, \"end\": {}}", "is no result of iperf3 --json");
    refuses("a--b.json", "{\"end\": {\"sum_sent\": 1,\n\"sum_sent\": 2}}",
            "iperf3 before 3.11 mixes both directions of --bidir up: measure with --reverse");
    refuses("a--b.json", FORWARD("x", "y", "0"), "is 0, nothing arrived; measure again");
    refuses("a--b.json", FORWARD("x", "y", "\"fast\""),
            "end.sum_received.bits_per_second: is miss");
    refuses("a--a.json", FORWARD("x", "y", "1e6"), "client and server are both 'a'");
    refuses("1.json", "{\"start\": {}, \"end\": {}}", "does not say who was connected");
    refuses("a--b.json",
            RESULT("", "x", "y", "0", "9", "1", "true", ", \"sum_received_bidir_reverse\": {}"),
            "end.sum_received_bidir_reverse.bits_per_second: is missing");
    edgeps_diag diag;
    network *net;
    topology_report report;
    forget_all();
    assert_int_equal(network_iperf_load(folder, &defaults, &diag, &net, &report), EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "holds no *.json"));
    put_real("failed.json");
    assert_int_equal(network_iperf_load(folder, &defaults, &diag, &net, &report), EDGEPS_FORMAT);
    assert_non_null(strstr(diag.text, "failed.json: the measurement failed: unable to connect to "
                                      "server: Connection refused; repeat it"));
    forget_all();
    put_real("server.json");
    assert_int_equal(network_iperf_load(folder, &defaults, &diag, &net, &report), EDGEPS_FORMAT);
    assert_non_null(strstr(diag.text, "server.json: is the server's side"));
    forget_all();
    put("a--b.json", FORWARD("x", "y", "8e6"));
    assert_int_equal(network_iperf_load(folder, &defaults, &diag, &net, &report), EDGEPS_FORMAT);
    assert_non_null(strstr(diag.text, "node 'b': has no up rate, and no pair tells one"));
    put("nodes.csv", "name\na\nc\n");
    assert_int_equal(network_iperf_load(folder, &defaults, &diag, &net, &report), EDGEPS_FORMAT);
    assert_non_null(strstr(diag.text, "nodes.csv: has no node of the name or address 'b'"));
}

/* Jansson does not allocate through our counters; what we allocate fails in turn. */
static void loading_survives_each_allocation_failing(void **state)
{
    (void)state;
    put("a--b.json", FORWARD("x", "y", "8e6"));
    put("b--a.json", FORWARD("x", "y", "8e6"));
    edgeps_err err = EDGEPS_NOMEM;
    for (long n = 1; err; n++) {
        network *net = NULL;
        topology_report report = {0};
        mem_fail_at(n);
        err = network_iperf_load(folder, &defaults, NULL, &net, &report);
        mem_fail_at(0);
        assert_true(err == EDGEPS_OK ? net != NULL : err == EDGEPS_NOMEM && !net);
        topology_report_free(&report);
        network_free(net);
    }
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(real_results_give_the_rate_of_the_receiver),
        UNIT(directions_are_told_apart),
        UNIT(repeated_measurements_are_averaged),
        UNIT(hosts_without_names_have_addresses),
        UNIT(broken_results_are_refused_with_file_and_remedy),
        UNIT(loading_survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
