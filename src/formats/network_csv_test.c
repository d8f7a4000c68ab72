#include "formats/network_csv.h"

#include "base/mem.h"
#include "network/generate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const topology_options defaults = {0};
static const char *const files[] = {"nodes.csv", "rates.csv", "latency.csv"};
static char folder[64];

static void forget(const char *file)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    unlink(path);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/edgeps-csv-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof files / sizeof *files; k++)
        forget(files[k]);
    return rmdir(folder);
}

static void put(const char *file, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *to = fopen(path, "we");
    assert_non_null(to);
    fputs(text, to);
    assert_int_equal(fclose(to), 0);
}

static network *load(const topology_options *options, topology_report *report)
{
    network *net;
    edgeps_diag diag = {.text = ""};
    if (network_csv_load(folder, options, &diag, &net, report))
        fail_msg("%s", diag.text);
    return net;
}

static bool tells(const topology_report *report, const char *line)
{
    for (size_t k = 0; k < report->count; k++)
        if (strcmp(report->lines[k], line) == 0)
            return true;
    return false;
}

static void expect_equal(const network *a, const network *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const network_node *x = &a->nodes[i], *y = &b->nodes[i];
        assert_string_equal(x->name, y->name);
        assert_true(!x->address == !y->address);
        if (x->address)
            assert_string_equal(x->address, y->address);
        assert_true(x->up_bytes_per_s == y->up_bytes_per_s);
        assert_true(x->down_bytes_per_s == y->down_bytes_per_s);
        assert_true(x->compute_samples_per_s == y->compute_samples_per_s);
        assert_true(x->sum_bytes_per_s == y->sum_bytes_per_s);
        assert_true(x->free_bytes == y->free_bytes && x->train == y->train && x->serve == y->serve);
        for (size_t j = 0; j < a->count; j++) {
            assert_true(network_latency_s(a, i, j) == network_latency_s(b, i, j));
            assert_true(network_cap_bytes_per_s(a, i, j) == network_cap_bytes_per_s(b, i, j));
        }
    }
}

static void what_is_saved_loads_equal(void **state)
{
    (void)state;
    for (generate_kind kind = GENERATE_TWO_TIER; kind <= GENERATE_BARABASI_ALBERT; kind++) {
        network *net, *again;
        topology_report report;
        generate_options o = generate_defaults(kind, 25, 9);
        assert_int_equal(generate_network(&o, NULL, &net), EDGEPS_OK);
        mem_free(net->nodes[3].name);
        net->nodes[3].name = mem_copy_text("a \"quoted\", name");
        net->nodes[4].address = mem_copy_text("10.0.0.4");
        net->nodes[5].serve = false;
        net->nodes[6].train = false;
        net->nodes[7].sum_bytes_per_s = 1e8;
        assert_int_equal(network_csv_save(net, folder, NULL), EDGEPS_OK);
        again = load(&defaults, &report);
        expect_equal(net, again);
        topology_report_free(&report);
        network_free(net);
        network_free(again);
        tear_down(NULL);
        set_up(NULL);
    }
}

static void bare_numbers_take_the_unit_above_them(void **state)
{
    (void)state;
    topology_report report;
    put("nodes.csv", "name;up (Mbit/s);down (MB/s);compute;free (MiB);train\n"
                     "lyon;80;20;900 samples/s;8;1\n"
                     "oslo;1 Gbit/s;2.5;70 samples/s;0.5;true\n");
    put("rates.csv", "Mbit/s,oslo,lyon\nlyon,40,\noslo,-,1 kB/s\n");
    put("latency.csv", "ms\tlyon\toslo\nlyon\t0\t15\noslo\t17\t0\n");
    network *net = load(&defaults, &report);
    assert_true(net->nodes[0].up_bytes_per_s == 10e6 && net->nodes[0].down_bytes_per_s == 20e6);
    assert_true(net->nodes[1].up_bytes_per_s == 125e6 && net->nodes[1].down_bytes_per_s == 2.5e6);
    assert_int_equal(net->nodes[1].free_bytes, 512 * 1024);
    assert_true(network_cap_bytes_per_s(net, 0, 1) == 5e6);
    assert_true(network_cap_bytes_per_s(net, 1, 0) == 1000);
    assert_true(network_latency_s(net, 0, 1) == 0.015 && network_latency_s(net, 1, 0) == 0.017);
    assert_int_equal(report.count, 0);
    topology_report_free(&report);
    network_free(net);
}

static void what_is_not_said_is_filled_and_told(void **state)
{
    (void)state;
    topology_report report;
    put("rates.csv", "Mbit/s,a,b,c\na,,8,16\nb,24,,\nc,0,4,\n");
    network *net = load(&(topology_options){.compute_samples_per_s = 7,
                                            .free_bytes = 1 << 20,
                                            .link_latency_s = 0.003},
                        &report);
    assert_true(net->nodes[0].up_bytes_per_s == 2e6 && net->nodes[0].down_bytes_per_s == 3e6);
    assert_true(net->nodes[2].up_bytes_per_s == 0.5e6 && net->nodes[2].down_bytes_per_s == 2e6);
    assert_true(network_cap_bytes_per_s(net, 2, 0) == 0);
    assert_true(isinf(network_cap_bytes_per_s(net, 1, 2)));
    assert_true(network_latency_s(net, 1, 2) == 0.003);
    assert_true(net->nodes[1].compute_samples_per_s == 7 && net->nodes[1].free_bytes == 1 << 20);
    static const char *const lines[] = {
        "3 of 3 nodes have no up rate; the best of its pairs, or the default, is taken:",
        "  c: 4 Mbit/s",
        "3 of 3 nodes have no speed; the default is taken:",
        "  b: 7 samples/s",
        "1 of 6 directions have no rate; the nodes' alone limit them:",
        "  b -> c",
        "no direction has a latency; the nodes' own or the default is taken",
    };
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
        if (!tells(&report, lines[k]))
            fail_msg("not told: %s", lines[k]);
    topology_report_free(&report);
    network_free(net);
}

static void own_latencies_add_up_where_pairs_have_none(void **state)
{
    (void)state;
    topology_report report;
    put("nodes.csv", "name,up,down,latency (ms)\na,1 MB/s,1 MB/s,2\nb,1 MB/s,1 MB/s,3\n");
    network *net = load(&defaults, &report);
    assert_int_equal(net->site_count, 1);
    assert_true(fabs(network_latency_s(net, 0, 1) - 0.005) < 1e-15);
    topology_report_free(&report);
    network_free(net);
    put("latency.csv", "ms,a,b\na,,9\nb,,\n");
    net = load(&defaults, &report);
    assert_true(fabs(network_latency_s(net, 0, 1) - 0.009) < 1e-15);
    assert_true(fabs(network_latency_s(net, 1, 0) - 0.005) < 1e-15);
    topology_report_free(&report);
    network_free(net);
}

static void refuses(const char *file, const char *text, const char *words)
{
    network *net = NULL;
    topology_report report = {0};
    edgeps_diag diag = {.text = ""};
    put(file, text);
    assert_int_equal(network_csv_load(folder, &defaults, &diag, &net, &report), EDGEPS_FORMAT);
    assert_null(net);
    if (!strstr(diag.text, words))
        fail_msg("'%s' lacks '%s'", diag.text, words);
}

static void broken_tables_are_refused_with_place_and_remedy(void **state)
{
    (void)state;
    network *net;
    topology_report report;
    edgeps_diag diag = {.text = ""};
    assert_int_equal(network_csv_load(folder, &defaults, &diag, &net, &report), EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "holds none of nodes.csv, rates.csv and latency.csv"));
    refuses("nodes.csv", "name\n", "nodes.csv: has no row of a node");
    refuses("nodes.csv", "name,colour\na,b\n", "nodes.csv: line 1: no column is called 'colour'");
    refuses("nodes.csv", "name,up,up\na,,\n", "line 1: the column 'up' is there twice");
    refuses("nodes.csv", "up\n1 MB/s\n", "nodes.csv: line 2: name: is missing");
    refuses("nodes.csv", "name,up\na,1 MB/s\nb,5\n", "nodes.csv: line 3: up: '5' has no unit");
    refuses("nodes.csv", "name,up (parsec)\na,5\n", "the unit 'parsec' is not known");
    refuses("nodes.csv", "name,train\na,maybe\n", "line 2: train: 'maybe' must be true or false");
    refuses("nodes.csv", "name\nM\xfcnchen\n", "nodes.csv: is not UTF-8; convert the file");
    refuses("nodes.csv", "name\na\nb\n", "node 'a': has no up rate, and no pair tells one");
    refuses("nodes.csv", "name,up,down\na,1 B/s,1 B/s\na,1 B/s,1 B/s\n", "the name is used twice");
    forget("nodes.csv");
    refuses("rates.csv", "MB/s,a,b\na,,1\nc,1,\n", "rates.csv: line 1: no node is called 'b'");
    refuses("rates.csv", "MB/s,a,a\na,,1\nb,1,\n", "rates.csv: line 1: 'a' has two columns");
    refuses("rates.csv", "MB/s,a,b\na,,1\nb,x,\n", "rates.csv: line 3: to a: 'x' is no quantity");
    refuses("rates.csv", "MB/s,a,b\na,,1\n,1,\n", "line 3: the row has no name");
    refuses("rates.csv", "MB/s,a,b\na,,1\nb,1,\na,,1\n", "line 4: 'a' has two rows");
    put("rates.csv", "MB/s,a,b\na,,1\nb,1,\n");
    refuses("latency.csv", "ms,a,b\na,,1\nc,1,\n", "latency.csv: line 3: no node is called 'c'");
    refuses("latency.csv", "ms,a,b\na,,-1\n", "latency.csv: line 2: to b: '-1 ms' is negative");
}

static void loading_survives_each_allocation_failing(void **state)
{
    (void)state;
    put("nodes.csv", "name,address\na,x\nb,\n");
    put("rates.csv", "MB/s,a,b\na,,1\nb,1,\n");
    edgeps_err err = EDGEPS_NOMEM;
    for (long n = 1; err; n++) {
        network *net = NULL;
        topology_report report = {0};
        mem_fail_at(n);
        err = network_csv_load(folder, &defaults, NULL, &net, &report);
        mem_fail_at(0);
        assert_true(err == EDGEPS_OK ? net != NULL : err == EDGEPS_NOMEM && !net);
        topology_report_free(&report);
        network_free(net);
    }
}

static void an_unwritable_folder_is_a_failure(void **state)
{
    (void)state;
    edgeps_diag diag = {.text = ""};
    network *net;
    generate_options o = generate_defaults(GENERATE_THESIS, 3, 1);
    assert_int_equal(generate_network(&o, NULL, &net), EDGEPS_OK);
    assert_int_equal(network_csv_save(net, "/nonexistent/x", &diag), EDGEPS_IO);
    assert_non_null(strstr(diag.text, "/nonexistent/x: cannot be made: No such file"));
    assert_int_equal(network_csv_save(net, "/dev/null", &diag), EDGEPS_IO);
    assert_non_null(strstr(diag.text, "/dev/null/nodes.csv: cannot be written"));
    network_free(net);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(what_is_saved_loads_equal),
        UNIT(bare_numbers_take_the_unit_above_them),
        UNIT(what_is_not_said_is_filled_and_told),
        UNIT(own_latencies_add_up_where_pairs_have_none),
        UNIT(broken_tables_are_refused_with_place_and_remedy),
        UNIT(loading_survives_each_allocation_failing),
        UNIT(an_unwritable_folder_is_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
