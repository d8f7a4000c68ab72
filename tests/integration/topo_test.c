/* `edgeps topo` as a user meets it: what it writes, and how it refuses. */
#include "integration/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char dir[64], path[96];

static int set_up(void **state)
{
    (void)state;
    folder_make(dir);
    snprintf(path, sizeof path, "%s/net.json", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(dir);
    return 0;
}

#define RUN(c, ...) command_run(&(c), (const char *const[]){__VA_ARGS__, NULL})

static void expect(const command *c, int status, const char *words)
{
    if (c->status != status || !strstr(c->text, words))
        fail_msg("status %d, expected %d with '%s':\n%s", c->status, status, words, c->text);
}

#define REFUSES(words, ...) command_refuses((const char *const[]){__VA_ARGS__, NULL}, 2, words)

static void a_generated_network_is_planned(void **state)
{
    (void)state;
    static const char *const kinds[] = {"two-tier", "thesis", "waxman", "barabasi-albert"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        command c;
        RUN(c, "topo", "generate", "--kind", kinds[k], "--nodes", "30", "-o", path);
        expect(&c, 0, "");
        assert_int_equal(c.length, 0);
        RUN(c, "plan", path, "--max-locals", "8");
        expect(&c, 0, "predicted: ");
    }
}

static void the_same_options_print_the_same_network(void **state)
{
    (void)state;
    command a, b;
    RUN(a, "topo", "generate", "--kind", "two-tier", "--nodes", "40", "--seed", "5");
    RUN(b, "topo", "generate", "--nodes", "40", "--seed", "5", "--kind", "two-tier");
    assert_int_equal(a.status, 0);
    assert_string_equal(a.text, b.text);
    RUN(b, "topo", "generate", "--kind", "two-tier", "--nodes", "40", "--seed", "6");
    assert_string_not_equal(a.text, b.text);
}

static void options_reach_the_network(void **state)
{
    (void)state;
    command c;
    RUN(c, "topo", "generate", "--kind", "two-tier", "--nodes", "6", "--sites", "2", "--spread",
        "1", "--rate", "800 Mbit/s", "--wan-rate", "30 Mbit/s", "--compute", "70 samples/s",
        "--free", "2 MiB", "--epochs", "2");
    assert_int_equal(c.status, 0);
    static const char *const words[] = {
        "\"up\": \"800 Mbit/s\"", "\"cap\": \"30 Mbit/s\"", "\"compute\": \"70 samples/s\"",
        "\"free\": \"2050 KiB\"", "\"epoch\": 2",           "\"site2\"\n"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        expect(&c, 0, words[k]);
    assert_null(strstr(c.text, "site3"));
}

static void put(const char *file, const char *text)
{
    FILE *to = fopen(file, "we");
    assert_non_null(to);
    fputs(text, to);
    assert_int_equal(fclose(to), 0);
}

static void read_back(const char *file, char *text, size_t size)
{
    FILE *from = fopen(file, "re");
    assert_non_null(from);
    text[fread(text, 1, size - 1, from)] = '\0';
    fclose(from);
}

/* NetworkX saved the list of edges under two names, and once with places instead of ids. */
static void one_graph_in_three_forms_gives_one_plan(void **state)
{
    (void)state;
#define EDGE(a, b) "{\"source\": " a ", \"target\": " b ", \"bandwidth\": \"20 Mbit\"}"
#define GRAPH(key, a, b, c)                                                                        \
    "{\"nodes\": [{\"id\": \"a\"}, {\"id\": \"b\"}, {\"id\": \"c\"}], \"" key                      \
    "\": [" EDGE(a, b) ", " EDGE(b, c) "]}"
    static const char *const forms[] = {
        GRAPH("links", "\"a\"", "\"b\"", "\"c\""),
        GRAPH("edges", "\"a\"", "\"b\"", "\"c\""),
        GRAPH("links", "0", "1", "2"),
    };
    static char plans[3][65536];
    char graph[96];
    command c;
    snprintf(graph, sizeof graph, "%s/graph.json", dir);
    for (size_t k = 0; k < 3; k++) {
        put(graph, forms[k]);
        RUN(c, "topo", "import", graph, "--out", path);
        expect(&c, 0, "every node computes 1000 samples/s");
        RUN(c, "plan", path, "--json");
        assert_int_equal(c.status, 0);
        snprintf(plans[k], sizeof plans[k], "%s", c.text);
    }
    assert_string_equal(plans[0], plans[1]);
    assert_string_equal(plans[0], plans[2]);
    put(graph, "{\"nodes\": [{\"id\": \"a\"}], \"arcs\": []}");
    REFUSES("graph.json: has neither \"edges\" nor \"links\"", "topo", "import", graph);
}

#define ZOO(edges)                                                                                 \
    "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\"><key attr.name=\"LinkSpeedRaw\" "    \
    "attr.type=\"double\" for=\"edge\" id=\"d1\"/><graph edgedefault=\"undirected\"><node "        \
    "id=\"0\"/><node id=\"1\"/><node id=\"2\"/><node id=\"3\"/>" edges "</graph></graphml>"
#define LINK(a, b, more) "<edge source=\"" a "\" target=\"" b "\">" more "</edge>"
#define SPEED(bits) "<data key=\"d1\">" bits "</data>"

/* Parallel links, links without a speed, and a node without links. */
static void gaps_of_a_multigraph_are_told_not_guessed(void **state)
{
    (void)state;
    char graph[96];
    command c;
    snprintf(graph, sizeof graph, "%s/graph.graphml", dir);
    put(graph, ZOO(LINK("0", "1", SPEED("8e6")) LINK("0", "1", SPEED("16e6")) LINK("1", "2", "")));
    REFUSES("2 of 6 link directions have no speed; give one for all of them, such as "
            "--default-rate",
            "topo", "import", graph);
    RUN(c, "topo", "import", graph, "--default-rate", "4 Mbit/s");
    expect(&c, 3, "1 of 4 nodes have no routes to and from all others, '3' the first");
    RUN(c, "topo", "import", graph, "--default-rate", "4 Mbit/s", "--drop-disconnected", "-o",
        path);
    expect(&c, 0, "2 of 6 link directions have no speed; 4 Mbit/s is taken:\n  1 -- 2\n");
    expect(&c, 0, "0 -> 1: 2 parallel links are one, 24 Mbit/s");
    expect(&c, 0, "3: left out");
    char text[8192];
    read_back(path, text, sizeof text);
    assert_non_null(strstr(text, "\"cap\": \"24 Mbit/s\""));
    RUN(c, "topo", "import", graph, "--default-rate", "4 Mbit/s", "--keep-disconnected", "-o",
        path);
    assert_int_equal(c.status, 0);
    RUN(c, "plan", path);
    expect(&c, 3, "node '3' is cut off");
}

/* The next quoted time, in seconds; NAN behind the last one. */
static double next_time_s(const char **text)
{
    char *unit;
    size_t skip = strcspn(*text, "0123456789");
    if (!(*text)[skip])
        return NAN;
    double value = strtod(*text + skip, &unit);
    *text = strchr(unit, '"');
    return value * (strncmp(unit, " ms", 3) == 0   ? 1e-3
                    : strncmp(unit, " us", 3) == 0 ? 1e-6
                    : strncmp(unit, " ns", 3) == 0 ? 1e-9
                                                   : 1);
}

/* Routes add in nanoseconds, so the last bit may differ. */
static void expect_same_times(const char *a, const char *b)
{
    size_t count = 0;
    for (;; count++) {
        double x = next_time_s(&a), y = next_time_s(&b);
        if (isnan(x) && isnan(y))
            break;
        if (!(fabs(x - y) < 1e-12))
            fail_msg("time %zu: %.17g and %.17g", count, x, y);
    }
    assert_int_equal(count, 64);
}

static void conversions_lead_back(void **state)
{
    (void)state;
    char folder[96], again[96], first[32768], second[32768];
    command c;
    snprintf(folder, sizeof folder, "%s/tables", dir);
    snprintf(again, sizeof again, "%s/again.json", dir);
    RUN(c, "topo", "generate", "--kind", "waxman", "--nodes", "8", "-o", path);
    assert_int_equal(c.status, 0);
    RUN(c, "topo", "convert", path, "--to", "csv", "-o", folder);
    expect(&c, 0, "");
    RUN(c, "topo", "convert", folder, "--to", "network", "-o", path);
    assert_int_equal(c.status, 0);
    RUN(c, "topo", "import", folder, "-o", again);
    assert_int_equal(c.status, 0);
    read_back(path, first, sizeof first);
    read_back(again, second, sizeof second);
    assert_string_equal(first, second);
    /* Of a network whose latencies are those of routes, the graph of pairs is one, too. */
    char graph[96];
    snprintf(graph, sizeof graph, "%s/graph.json", dir);
    RUN(c, "topo", "convert", path, "--to", "node-link", "-o", graph);
    expect(&c, 0, "");
    RUN(c, "topo", "import", graph, "-o", again);
    assert_int_equal(c.status, 0);
    read_back(again, second, sizeof second);
    char *pairs[] = {strstr(first, "\"latency\": ["), strstr(second, "\"latency\": [")};
    for (int k = 0; k < 2; k++) {
        assert_non_null(pairs[k]);
        *strstr(pairs[k], "\"pairs\"") = '\0';
    }
    expect_same_times(pairs[0], pairs[1]);
}

static void a_check_finds_what_a_plan_would_meet(void **state)
{
    (void)state;
    static const char twenty[] = EDGEPS_SOURCE_DIR "/examples/twenty-site.json";
    command c;
    RUN(c, "topo", "check", twenty);
    expect(&c, 0, "errors: 0, warnings: 0, hints: 0\n");
    RUN(c, "topo", "check", twenty, "--model", "lenet5");
    expect(&c, 0, "warning: alder: 256 KiB are free, a local server of one worker needs 499 KiB");
    RUN(c, "topo", "generate", "--kind", "thesis", "--nodes", "9", "--free", "200 KiB", "-o", path);
    assert_int_equal(c.status, 0);
    RUN(c, "topo", "check", path);
    expect(&c, 0, "errors: 0");
    RUN(c, "topo", "check", path, "--model", "lenet5");
    expect(&c, 3, "error: no plan: storage: the global server needs ");
    RUN(c, "plan", path);
    expect(&c, 3, "storage: the global server needs ");
#define NODE(name, up)                                                                             \
    "{\"name\": \"" name "\", \"up\": \"" up " Mbit/s\", \"down\": \"9 Mbit/s\", "                 \
    "\"compute\": \"9 samples/s\", \"free\": \"1 GiB\"}"
    put(path,
        "{\"edgeps\": \"network/1\", \"nodes\": [" NODE("a", "9") ", " NODE("b", "0") ", " NODE(
            "c", "9") "], \"pairs\": [{\"from\": \"c\", \"to\": \"a\", \"cap\": \"0 B/s\"}]}");
    RUN(c, "topo", "check", path);
    expect(&c, 3, "error: b: is cut off, its up rate is 0; give it rates above 0");
    expect(&c, 3, "error: c: has no path there and back");
    expect(&c, 3, "warning: pairs of places with a path in one direction only: 1, as from a to c");
    expect(&c, 3, "edgeps topo check: ");
    RUN(c, "topo", "check", path, "--json");
    expect(&c, 3, "{\n \"edgeps\": \"check/1\",\n \"source\": \"/tmp/");
    put(path, "{\"edgeps\": \"network/1\"}");
    REFUSES("net.json: nodes: ", "topo", "check", path);
}

static void a_plan_is_drawn_by_graphviz(void **state)
{
    (void)state;
    static const char six[] = EDGEPS_SOURCE_DIR "/examples/six-site.json";
    char plan[96], text[65536], path_before[4096];
    command c;
    snprintf(plan, sizeof plan, "%s/plan.json", dir);
    RUN(c, "plan", six, "--out", plan);
    assert_int_equal(c.status, 0);
    RUN(c, "topo", "draw", six, "--plan", plan, "--to", "dot");
    expect(&c, 0, "digraph \"six-site\" {");
    expect(&c, 0, "shape=doubleoctagon");
    RUN(c, "topo", "draw", six, "--plan", plan, "-o", path);
    expect(&c, 0, "");
    assert_int_equal(c.length, 0);
    read_back(path, text, sizeof text);
    assert_non_null(strstr(text, "<svg "));
    assert_non_null(strstr(text, ">depot</text>"));
    RUN(c, "topo", "draw", path, "--plan", plan);
    expect(&c, 2, "edgeps topo draw: ");
    REFUSES("/nonexistent", "topo", "draw", six, "--plan", "/nonexistent");
    put(plan, "{\"edgeps\": \"plan/1\", \"global\": \"nobody\"}");
    REFUSES("no node is called 'nobody'", "topo", "draw", six, "--plan", plan);
    /* Where Graphviz is not installed. */
    snprintf(path_before, sizeof path_before, "%s", getenv("PATH"));
    assert_int_equal(setenv("PATH", dir, 1), 0);
    command_refuses((const char *const[]){"topo", "draw", six, NULL}, 1,
                    "install the package graphviz, or write --to dot");
    assert_int_equal(setenv("PATH", path_before, 1), 0);
}

static void measurements_become_a_network(void **state)
{
    (void)state;
    char folder[96], file[192], text[8192];
    static const char *const results[] = {"lyon--oslo.json", "lyon--oslo--reverse.json",
                                          "failed.json"};
    command c;
    snprintf(folder, sizeof folder, "%s/results", dir);
    assert_int_equal(mkdir(folder, 0777), 0);
    REFUSES("results: holds none of nodes.csv, rates.csv and latency.csv", "topo", "import",
            folder);
    for (size_t k = 0; k < 3; k++) {
        snprintf(file, sizeof file, EDGEPS_SOURCE_DIR "/tests/iperf3/%s", results[k]);
        read_back(file, text, sizeof text);
        snprintf(file, sizeof file, "%s/%s", folder, results[k]);
        put(file, text);
    }
    REFUSES("failed.json: the measurement failed: unable to connect", "topo", "import", folder);
    assert_int_equal(remove(file), 0);
    RUN(c, "topo", "import", folder, "-o", path);
    expect(&c, 0, "2 of 2 nodes have no up rate; the best of its pairs, or the default, is taken:");
    expect(&c, 0, "  oslo: 51.376 Mbit/s");
    RUN(c, "topo", "import", folder, "-o", path, "--json");
    expect(&c, 0, "{\n \"edgeps\": \"import/1\"");
    RUN(c, "plan", path);
    expect(&c, 0, "predicted: ");
}

static void bad_usage_is_refused_with_the_option(void **state)
{
    (void)state;
    REFUSES("edgeps topo: no command given", "topo");
    REFUSES("edgeps topo: 'nonsense' is no command", "topo", "nonsense");
    REFUSES("edgeps topo generate: --kind: is missing", "topo", "generate");
    REFUSES("--kind: 'ring' is none of: two-tier, thesis, waxman, "
            "barabasi-albert",
            "topo", "generate", "--kind", "ring", "--nodes", "3");
    REFUSES("--nodes: is missing", "topo", "generate", "--kind", "thesis");
    REFUSES("--nodes: 0 is not within 1 and 100000", "topo", "generate", "--kind", "thesis",
            "--nodes", "0");
    REFUSES("'x.json': is no option", "topo", "generate", "x.json");
    REFUSES("--rate: '5' has no unit", "topo", "generate", "--kind", "thesis", "--nodes", "3",
            "--rate", "5");
    REFUSES("sites: 4 are more than the 3 nodes", "topo", "generate", "--kind", "two-tier",
            "--nodes", "3", "--sites", "4");
    REFUSES("no file or folder given", "topo", "import");
    REFUSES("/nonexistent: cannot be read: No such file", "topo", "import", "/nonexistent");
    REFUSES("--format: 'yaml' is none of: auto, graphml", "topo", "import", path, "--format",
            "yaml");
    REFUSES("is no folder, which --format csv needs", "topo", "import", path, "--format", "csv");
    REFUSES("is a folder, which is csv or iperf3", "topo", "import", dir, "--format", "gml");
    REFUSES("--json: needs --out", "topo", "import", path, "--json");
    REFUSES("--free: must be above 0, not '0 B'", "topo", "import", path, "--free", "0 B");
    REFUSES("--compute: must be above 0", "topo", "import", path, "--compute", "0 samples/s");
    REFUSES("--host-rate: must be above 0", "topo", "import", path, "--host-rate", "0 B/s");
    REFUSES("--default-rate: must be above 0", "topo", "import", path, "--default-rate", "0 B/s");
    REFUSES("exclude each other", "topo", "import", path, "--drop-disconnected",
            "--keep-disconnected");
    REFUSES("--default-rate: '1' has no unit", "topo", "import", path, "--default-rate", "1");
    REFUSES("edgeps topo check: no network file given", "topo", "check");
    REFUSES("edgeps topo check: model 'gpt' is not known", "topo", "check", path, "--model", "gpt");
    REFUSES("edgeps topo draw: no network file given", "topo", "draw");
    REFUSES("--to: 'png' is none of: svg, dot", "topo", "draw", path, "--to", "png");
    REFUSES("--to: is missing", "topo", "convert", path);
    REFUSES("--to: 'png' is none of: network, csv, node-link", "topo", "convert", path, "--to",
            "png");
    REFUSES("--to csv: needs --out FOLDER", "topo", "convert", path, "--to", "csv");
    REFUSES("-o: needs a value", "topo", "generate", "-o");
    REFUSES("-x: no such option", "topo", "generate", "-x");
}

static void an_unwritable_file_is_a_failure(void **state)
{
    (void)state;
    command c;
    RUN(c, "topo", "generate", "--kind", "thesis", "--nodes", "3", "-o", "/nonexistent/x");
    expect(&c, 1, "/nonexistent/x cannot be written: No such file or directory");
    RUN(c, "topo", "generate", "--kind", "thesis", "--nodes", "3", "-o", "/dev/full");
    expect(&c, 1, "/dev/full cannot be written: No space left on device");
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_generated_network_is_planned),
        UNIT(the_same_options_print_the_same_network),
        UNIT(options_reach_the_network),
        UNIT(one_graph_in_three_forms_gives_one_plan),
        UNIT(gaps_of_a_multigraph_are_told_not_guessed),
        UNIT(conversions_lead_back),
        UNIT(a_check_finds_what_a_plan_would_meet),
        UNIT(a_plan_is_drawn_by_graphviz),
        UNIT(measurements_become_a_network),
        UNIT(bad_usage_is_refused_with_the_option),
        UNIT(an_unwritable_file_is_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
