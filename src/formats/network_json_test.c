#include "formats/network_json.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEAD "{\"edgeps\": \"network/1\", \"name\": \"two\", \"nodes\": ["
#define NODE_A                                                                                     \
    "{\"name\": \"a\", \"up\": \"8 Mbit/s\", \"down\": \"2 MB/s\", \"compute\": \"900 "            \
    "samples/s\","                                                                                 \
    " \"free\": \"1 MiB\", \"latency\": \"3 ms\"}"
#define NODE_B                                                                                     \
    "{\"name\": \"b\", \"up\": \"1 MB/s\", \"down\": \"1 MB/s\", \"compute\": \"1 samples/s\","    \
    " \"sum\": \"1 GB/s\", \"free\": \"2 MiB\", \"serve\": false, \"latency\": \"2 ms\"}"
#define TWO HEAD NODE_A ", " NODE_B "]"

static edgeps_err parse(const char *text, edgeps_diag *diag, network **net)
{
    return network_json_parse(text, strlen(text), "net.json", diag, net);
}

static network *must_parse(const char *text)
{
    network *net = NULL;
    edgeps_diag diag = {.text = ""};
    if (parse(text, &diag, &net))
        fail_msg("%s", diag.text);
    return net;
}

static void refuses(const char *text, const char *words)
{
    network *net = NULL;
    edgeps_diag diag = {.text = ""};
    edgeps_err err = parse(text, &diag, &net);
    if (err != EDGEPS_FORMAT)
        fail_msg("%s gives '%s', not '%s'", text, err_text(err), words);
    assert_null(net);
    if (!strstr(diag.text, words))
        fail_msg("'%s' lacks '%s'", diag.text, words);
}

static void reads_nodes_links_and_scenario(void **state)
{
    (void)state;
    network *net =
        must_parse(TWO ", \"pairs\": [{\"from\": \"a\", \"to\": \"b\", \"cap\": \"1 kB/s\"}],"
                       " \"scenario\": [{\"epoch\": 2, \"node\": \"a\", \"free\": \"4 KiB\"},"
                       " {\"at\": \"1.5 s\", \"node\": \"b\", \"kill\": true}]}");
    assert_int_equal(net->count, 2);
    assert_true(net->nodes[0].up_bytes_per_s == 1e6);
    assert_true(net->nodes[0].down_bytes_per_s == 2e6);
    assert_true(net->nodes[0].serve && net->nodes[0].train);
    assert_true(isinf(net->nodes[0].sum_bytes_per_s));
    assert_false(net->nodes[1].serve);
    assert_true(fabs(net->latency_s[1] - 0.005) < 1e-15);
    assert_true(net->latency_s[0] == 0 && net->cap_bytes_per_s[1] == 1000);
    assert_true(isinf(net->cap_bytes_per_s[2]));
    assert_int_equal(net->event_count, 2);
    assert_int_equal(net->events[0].change, NETWORK_FREE);
    assert_true(net->events[0].value == 4096 && net->events[0].epoch == 2);
    assert_int_equal(net->events[1].change, NETWORK_KILL);
    assert_true(net->events[1].at_s == 1.5 && net->events[1].node == 1);
    network_free(net);
}

static void each_kind_of_event_is_written_as_it_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        network_change change;
        double value;
    } lines[] = {
        {"\"free\": \"1 KiB\"", NETWORK_FREE, 1024},
        {"\"fill\": \"2 KiB\"", NETWORK_FILL, 2048},
        {"\"up\": \"1 kB/s\"", NETWORK_UP, 1000},
        {"\"down\": \"8 kbit/s\"", NETWORK_DOWN, 1000},
        {"\"latency\": \"5 ms\"", NETWORK_LATENCY, 0.005},
        {"\"compute\": \"7 samples/s\"", NETWORK_COMPUTE, 7},
        {"\"kill\": true", NETWORK_KILL, 0},
        {"\"stop\": true", NETWORK_STOP, 0},
        {"\"continue\": true", NETWORK_CONTINUE, 0},
        {"\"cut\": true", NETWORK_CUT, 0},
        {"\"heal\": true", NETWORK_HEAL, 0},
    };
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        char text[1024], *again;
        snprintf(text, sizeof text, TWO ", \"scenario\": [{\"at\": \"9 s\", \"node\": \"b\", %s}]}",
                 lines[k].text);
        network *net = must_parse(text);
        assert_int_equal(network_json_text(net, &again), EDGEPS_OK);
        network_free(net);
        net = must_parse(again);
        assert_int_equal(net->events[0].change, lines[k].change);
        assert_true(net->events[0].value == lines[k].value);
        mem_free(again);
        network_free(net);
    }
    refuses(TWO ", \"scenario\": [{\"epoch\": 1, \"node\": \"a\", \"heal\": false}]}",
            "scenario[0]: heal: must be true");
    refuses(TWO ", \"scenario\": [{\"epoch\": 1, \"node\": \"a\", \"latency\": \"25 h\"}]}",
            "scenario[0]: latency: is more than a day");
}

static void names_file_place_and_remedy(void **state)
{
    (void)state;
    refuses(HEAD "{\"name\": \"a\", \"up\": 20}]}",
            "net.json: nodes[0] 'a': down: is missing; give one, such as \"20 Mbit/s\"");
    refuses(HEAD NODE_A
            ", {\"name\": \"b\", \"up\": 20, \"down\": \"1 MB/s\", \"free\": \"1 B\"}]}",
            "nodes[1] 'b': up: a bare number has no unit");
    refuses(HEAD NODE_A ", {\"name\": \"b\", \"up\": \"-2 MB/s\", \"down\": \"1 MB/s\","
                        " \"free\": \"1 B\"}]}",
            "nodes[1] 'b': up: '-2 MB/s' is negative");
    refuses(HEAD NODE_A ", " NODE_A "]}", "nodes[1] 'a': name: is used twice");
    refuses(HEAD "{\"up\": \"1 B/s\"}]}", "nodes[0]: name: is missing");
    refuses(HEAD NODE_A ", {\"name\": \"b\", \"uplink\": \"1 B/s\"}]}", "uplink: no such key");
    refuses(HEAD "{\"name\": \"a\", \"up\": \"1 B/s\", \"down\": \"1 B/s\", \"free\": \"1 B\"}]}",
            "compute: a node that trains needs a speed");
    refuses(TWO ", \"pairs\": [{\"from\": \"a\", \"to\": \"x\", \"cap\": \"1 B/s\"}]}",
            "pairs[0]: to: no node is called 'x'");
    refuses(TWO ", \"pairs\": [{\"from\": \"a\", \"to\": \"a\"}]}", "pairs[0]: to: is the node");
    refuses(TWO ", \"latency\": [[\"0 s\", \"1 ms\"], [\"1 ms\", \"0 s\"]]}",
            "latency: is given by the matrix");
    refuses(TWO ", \"scenario\": [{\"epoch\": 1, \"node\": \"nowhere\", \"kill\": true}]}",
            "scenario[0]: node: no node is called 'nowhere'");
    refuses(TWO ", \"scenario\": [{\"node\": \"a\", \"kill\": true}]}", "to say when");
    refuses(TWO ", \"scenario\": [{\"epoch\": 1, \"node\": \"a\"}]}", "to say what");
    refuses(TWO ", \"scenario\": [{\"epoch\": 0, \"node\": \"a\", \"kill\": true}]}",
            "epoch: must be a whole number from 1");
    refuses("{\"nodes\": []}", "edgeps: is missing");
    refuses("{\"edgeps\": \"network/2\", \"nodes\": []}", "version 'network/2' is not known");
    refuses(HEAD "]}", "nodes: 1 to");
    refuses("[]", "must be an object");
}

static void what_is_said_twice_or_says_nothing_is_refused(void **state)
{
    (void)state;
    refuses(TWO ", \"pairs\": [{\"from\": \"a\", \"to\": \"b\"}]}", "pairs[0]: says nothing");
    refuses(TWO ", \"pairs\": [{\"from\": \"a\", \"to\": \"b\", \"cap\": \"1 B/s\"},"
                " {\"from\": \"a\", \"to\": \"b\", \"latency\": \"1 ms\"}]}",
            "pairs[1]: this direction is given twice");
    refuses(TWO ", \"scenario\": [{\"epoch\": 1, \"node\": \"a\", \"kill\": true,"
                " \"free\": \"1 B\"}]}",
            "exactly one of");
    network_free(must_parse(TWO
                            ", \"pairs\": [{\"from\": \"a\", \"to\": \"b\", \"cap\": \"1 B/s\"},"
                            " {\"from\": \"b\", \"to\": \"a\", \"cap\": \"1 B/s\"}]}"));
}

static void what_no_plan_could_be_computed_with_is_refused(void **state)
{
    (void)state;
    refuses(HEAD NODE_A ", {\"name\": \"b\", \"up\": \"1 B/s\", \"down\": \"1 B/s\","
                        " \"serve\": false, \"latency\": \"1e308 h\"}]}",
            "nodes[1] 'b': latency: '1e308 h' is beyond");
    refuses(HEAD NODE_A ", {\"name\": \"b\", \"up\": \"1 B/s\", \"down\": \"1 B/s\","
                        " \"serve\": false, \"latency\": \"25 h\"}]}",
            "nodes[1] 'b': latency: is more than a day");
    refuses(TWO ", \"scenario\": [{\"epoch\": 1, \"node\": \"a\", \"free\": \"1e300 B\"}]}",
            "scenario[0]: free: '1e300 B' is beyond");
    refuses(TWO ", \"scenario\": [{\"epoch\": 1, \"node\": \"a\","
                " \"compute\": \"0 samples/s\"}]}",
            "scenario[0]: compute: must be above 0");
    refuses(HEAD "{\"name\": \"a\", \"up\": \"1 B/s\", \"down\": \"1 B/s\", \"free\": \"1 B\","
                 " \"compute\": \"1 samples/s\", \"sum\": \"0 B/s\"}]}",
            "node 'a': sum: must be above 0");
}

static void a_matrix_holds_texts_with_units(void **state)
{
    (void)state;
#define BARE(name)                                                                                 \
    "{\"name\": \"" name "\", \"up\": \"1 B/s\", \"down\": \"1 B/s\","                             \
    " \"free\": \"1 B\", \"compute\": \"1 samples/s\"}"
#define MATRIX(rows) HEAD BARE("a") ", " BARE("b") "], \"latency\": " rows "}"
    network *net = must_parse(MATRIX("[[\"0 s\", \"1 ms\"], [\"2 ms\", \"0 s\"]]"));
    assert_true(net->latency_s[1] == 1e-3 && net->latency_s[2] == 2e-3);
    network_free(net);
    refuses(MATRIX("[[0, 1], [2, 0]]"), "latency[0][0]: a bare number has no unit");
    refuses(MATRIX("[[\"0 s\", null], [\"2 ms\", \"0 s\"]]"), "latency[0][1]: must be a text");
    refuses(MATRIX("[[\"0 s\", \"1 ms\"]]"), "latency: must be an array of 2 rows");
    refuses(MATRIX("[[\"0 s\"], [\"1 ms\"]]"), "latency[0]: must be an array of 2 texts");
    refuses(MATRIX("[[\"1 s\", \"1 ms\"], [\"2 ms\", \"0 s\"]]"), "latency[0][0]: a node is at no");
}

static void broken_json_is_told_with_line_and_column(void **state)
{
    (void)state;
    network *net = NULL;
    edgeps_diag diag;
    assert_int_equal(parse("{\n  \"edgeps\": \"network/1\",,\n}", &diag, &net), EDGEPS_FORMAT);
    assert_int_equal(diag.line, 2);
    assert_non_null(strstr(diag.text, "net.json: line 2, column"));
    assert_int_equal(parse("{\"edgeps\": 1, \"edgeps\": 2}", &diag, &net), EDGEPS_FORMAT);
    assert_non_null(strstr(diag.text, "duplicate"));
}

#define SITED                                                                                      \
    "{\"edgeps\": \"network/1\", \"sites\": [\"p\", \"q\"], \"nodes\": ["                          \
    "{\"name\": \"a\", \"site\": \"p\", \"up\": \"1 MB/s\", \"down\": \"1 MB/s\", \"latency\": "   \
    "\"1 ms\","                                                                                    \
    " \"compute\": \"5 samples/s\", \"free\": \"1 MiB\"},"                                         \
    "{\"name\": \"b\", \"site\": \"q\", \"up\": \"1 MB/s\", \"down\": \"1 MB/s\", \"latency\": "   \
    "\"2 ms\","                                                                                    \
    " \"compute\": \"5 samples/s\", \"free\": \"1 MiB\"},"                                         \
    "{\"name\": \"c\", \"site\": \"q\", \"up\": \"1 MB/s\", \"down\": \"1 MB/s\","                 \
    " \"compute\": \"5 samples/s\", \"free\": \"1 MiB\"}]"

static void sites_stand_for_their_nodes(void **state)
{
    (void)state;
    network *net =
        must_parse(SITED ", \"latency\": [[\"1 ms\", \"10 ms\"], [\"20 ms\", \"4 ms\"]],"
                         " \"pairs\": [{\"from\": \"q\", \"to\": \"p\", \"cap\": \"3 B/s\"},"
                         " {\"from\": \"q\", \"to\": \"q\", \"cap\": \"9 B/s\"}]}");
    assert_int_equal(net->site_count, 2);
    assert_true(fabs(network_latency_s(net, 0, 1) - 0.013) < 1e-15);
    assert_true(fabs(network_latency_s(net, 1, 0) - 0.023) < 1e-15);
    assert_true(fabs(network_latency_s(net, 2, 1) - 0.006) < 1e-15);
    assert_true(network_latency_s(net, 1, 1) == 0);
    assert_true(network_cap_bytes_per_s(net, 1, 0) == 3 && network_cap_bytes_per_s(net, 2, 0) == 3);
    assert_true(network_cap_bytes_per_s(net, 1, 2) == 9 &&
                isinf(network_cap_bytes_per_s(net, 1, 1)));
    assert_true(isinf(network_cap_bytes_per_s(net, 0, 1)));
    network_free(net);
}

static void sites_are_named_once_and_known(void **state)
{
    (void)state;
    refuses(SITED ", \"latency\": [[\"1 ms\"]]}", "latency: must be an array of 2 rows");
    refuses(SITED ", \"pairs\": [{\"from\": \"a\", \"to\": \"p\", \"cap\": \"1 B/s\"}]}",
            "pairs[0]: from: must be one of the file's \"sites\"");
    refuses("{\"edgeps\": \"network/1\", \"sites\": [\"p\", \"p\"], \"nodes\": [{}]}",
            "sites[1] 'p': is named twice");
    refuses("{\"edgeps\": \"network/1\", \"sites\": [], \"nodes\": [{}]}",
            "sites: must be an array");
    refuses("{\"edgeps\": \"network/1\", \"sites\": [\"p\"], \"nodes\": [{\"name\": \"a\","
            " \"site\": \"z\", \"up\": \"1 B/s\", \"down\": \"1 B/s\", \"free\": \"1 B\"}]}",
            "nodes[0] 'a': site: no site is called 'z'");
    refuses(HEAD "{\"name\": \"a\", \"site\": \"p\", \"up\": \"1 B/s\", \"down\": \"1 B/s\","
                 " \"free\": \"1 B\"}]}",
            "site: the file names no \"sites\"");
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    (void)state;
    network *net = NULL;
    edgeps_diag diag;
    assert_int_equal(network_json_load("/nonexistent/net.json", &diag, &net), EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "/nonexistent/net.json: cannot be read: No such file"));
}

static void assert_same(const network *a, const network *b)
{
    size_t pairs = a->site_count * a->site_count;
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->site_count, b->site_count);
    assert_memory_equal(a->latency_s, b->latency_s, pairs * sizeof(double));
    assert_memory_equal(a->cap_bytes_per_s, b->cap_bytes_per_s, pairs * sizeof(double));
    assert_int_equal(a->event_count, b->event_count);
    for (size_t k = 0; k < a->event_count; k++) {
        assert_int_equal(a->events[k].change, b->events[k].change);
        assert_int_equal(a->events[k].node, b->events[k].node);
        assert_true(a->events[k].value == b->events[k].value);
        assert_true(a->events[k].at_s == b->events[k].at_s);
    }
    for (size_t i = 0; i < a->count; i++) {
        assert_string_equal(a->nodes[i].name, b->nodes[i].name);
        assert_true(a->nodes[i].up_bytes_per_s == b->nodes[i].up_bytes_per_s);
        assert_true(a->nodes[i].down_bytes_per_s == b->nodes[i].down_bytes_per_s);
        assert_true(a->nodes[i].compute_samples_per_s == b->nodes[i].compute_samples_per_s);
        assert_true(a->nodes[i].sum_bytes_per_s == b->nodes[i].sum_bytes_per_s);
        assert_int_equal(a->nodes[i].free_bytes, b->nodes[i].free_bytes);
        assert_int_equal(a->nodes[i].site, b->nodes[i].site);
        assert_true(a->nodes[i].access_s == b->nodes[i].access_s);
        assert_int_equal(a->nodes[i].train, b->nodes[i].train);
        assert_int_equal(a->nodes[i].serve, b->nodes[i].serve);
    }
}

static void check_round_trip(const char *text)
{
    network *net = must_parse(text);
    char *written = NULL;
    assert_int_equal(network_json_text(net, &written), EDGEPS_OK);
    network *again = must_parse(written);
    assert_same(net, again);
    mem_free(written);
    network_free(net);
    network_free(again);
}

static void what_is_written_reads_back_equal(void **state)
{
    (void)state;
    check_round_trip(TWO
                     ", \"pairs\": [{\"from\": \"a\", \"to\": \"b\", \"latency\": \"1.2345 ms\"},"
                     " {\"from\": \"b\", \"to\": \"a\", \"cap\": \"0 B/s\"}],"
                     " \"scenario\": [{\"at\": \"0.1 s\", \"node\": \"a\", \"up\": \"3 Mbit/s\"},"
                     " {\"epoch\": 3, \"node\": \"a\", \"compute\": \"7 samples/s\"}]}");
    check_round_trip(TWO "}");
    check_round_trip(SITED "}");
    check_round_trip(SITED ", \"latency\": [[\"1 ms\", \"10 ms\"], [\"20 ms\", \"4 ms\"]],"
                           " \"pairs\": [{\"from\": \"q\", \"to\": \"q\", \"cap\": \"9 B/s\"}]}");
}

static void every_example_is_read_and_written_back(void **state)
{
    (void)state;
    static const char *const files[] = {"hand-case", "six-site", "twenty-site"};
    for (size_t k = 0; k < 3; k++) {
        char path[4096], *text = NULL;
        edgeps_diag diag = {.text = ""};
        network *net, *again;
        snprintf(path, sizeof path, "%s/examples/%s.json", EDGEPS_SOURCE_DIR, files[k]);
        if (network_json_load(path, &diag, &net))
            fail_msg("%s", diag.text);
        assert_int_equal(network_json_text(net, &text), EDGEPS_OK);
        again = must_parse(text);
        assert_same(net, again);
        mem_free(text);
        network_free(net);
        network_free(again);
    }
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    edgeps_err err = EDGEPS_NOMEM;
    for (long n = 1; err == EDGEPS_NOMEM; n++) {
        network *net = NULL;
        mem_fail_at(n);
        err = parse(TWO ", \"pairs\": [{\"from\": \"a\", \"to\": \"b\", \"cap\": \"1 B/s\"}],"
                        " \"scenario\": [{\"epoch\": 1, \"node\": \"a\", \"kill\": true}]}",
                    NULL, &net);
        mem_fail_at(0);
        assert_true(err == EDGEPS_OK ? net != NULL : net == NULL);
        network_free(net);
    }
    assert_int_equal(err, EDGEPS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_nodes_links_and_scenario),
        cmocka_unit_test(each_kind_of_event_is_written_as_it_is_read),
        cmocka_unit_test(names_file_place_and_remedy),
        cmocka_unit_test(what_is_said_twice_or_says_nothing_is_refused),
        cmocka_unit_test(what_no_plan_could_be_computed_with_is_refused),
        cmocka_unit_test(a_matrix_holds_texts_with_units),
        cmocka_unit_test(broken_json_is_told_with_line_and_column),
        cmocka_unit_test(sites_stand_for_their_nodes),
        cmocka_unit_test(sites_are_named_once_and_known),
        cmocka_unit_test(a_file_that_cannot_be_read_is_named),
        cmocka_unit_test(what_is_written_reads_back_equal),
        cmocka_unit_test(every_example_is_read_and_written_back),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
