/* The edges of a drawing against what is known of the network without it. */
#include "formats/network_dot.h"

#include "base/mem.h"
#include "base/rng.h"
#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST 12

static network *bare_network(size_t count)
{
    network *net;
    assert_int_equal(network_make(count, NULL, &net), EDGEPS_OK);
    for (size_t i = 0; i < count; i++) {
        char name[8];
        snprintf(name, sizeof name, "v%zu", i);
        net->nodes[i].name = mem_copy_text(name);
        net->nodes[i].up_bytes_per_s = 2.5e6;
        net->nodes[i].down_bytes_per_s = 5e6;
        net->nodes[i].compute_samples_per_s = 900;
        net->nodes[i].free_bytes = 4 << 20;
    }
    return net;
}

static char *draw(const network *net, const plan *pl, const job *j)
{
    char *text;
    assert_int_equal(network_dot_text(net, pl, j, &text), EDGEPS_OK);
    return text;
}

static size_t count_words(const char *text, const char *words)
{
    size_t count = 0;
    for (; (text = strstr(text, words)) != NULL; text += strlen(words))
        count++;
    return count;
}

static bool has_edge(const char *dot, size_t from, size_t to)
{
    char edge[64];
    snprintf(edge, sizeof edge, " n%zu -> n%zu [", from, to);
    return strstr(dot, edge) != NULL;
}

static void expect(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("no '%s' in:\n%s", words, text);
}

/* Pairs of a random tree have the latency and the narrowest rate of their only route. */
static void only_the_links_of_a_tree_are_drawn(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        rng r = rng_make(seed, 3);
        size_t count = 2 + rng_below(&r, MOST - 1), above[MOST] = {0};
        network *net = bare_network(count);
        for (size_t i = 1; i < count; i++) {
            above[i] = rng_below(&r, i);
            double cap = 1e6 * (1 + (double)rng_below(&r, 9));
            double time_s = 0.001 * (1 + (double)rng_below(&r, 9));
            for (size_t k = 0; k < i; k++) {
                size_t via = above[i];
                double first = k == via ? INFINITY : network_cap_bytes_per_s(net, k, via);
                double first_s = k == via ? 0 : network_latency_s(net, k, via);
                network_set_cap_bytes_per_s(net, k, i, fmin(first, cap));
                network_set_cap_bytes_per_s(net, i, k, fmin(first, cap));
                network_set_latency_s(net, k, i, first_s + time_s);
                network_set_latency_s(net, i, k, first_s + time_s);
            }
        }
        char *dot = draw(net, NULL, NULL);
        assert_int_equal(count_words(dot, " -> "), count - 1);
        for (size_t i = 1; i < count; i++)
            assert_true(has_edge(dot, above[i], i));
        mem_free(dot);
        network_free(net);
    }
}

static void a_plan_is_drawn_as_its_tree(void **state)
{
    (void)state;
    const int32_t parents[] = {0, 0, 2, 2, 0, PLAN_NONE};
    network *net = bare_network(6);
    plan pl;
    job j;
    assert_int_equal(plan_make(6, &pl), EDGEPS_OK);
    memcpy(pl.parent, parents, sizeof parents);
    pl.global = 2;
    network_set_latency_s(net, 1, 0, 0.003);
    network_set_latency_s(net, 0, 1, 0.004);
    char *dot = draw(net, &pl, NULL);
    /* Workers of other nodes, and the local server that is not at the global one. */
    static const size_t edges[][2] = {{0, 1}, {2, 3}, {0, 4}, {2, 0}};
    assert_int_equal(count_words(dot, " -> "), 4);
    for (size_t k = 0; k < 4; k++)
        assert_true(has_edge(dot, edges[k][0], edges[k][1]));
    assert_int_equal(count_words(dot, "doubleoctagon"), 1);
    expect(dot, " n2 [shape=doubleoctagon");
    expect(dot, "<br/>global and local server<br/>900 samples/s<br/>4 MiB free</font>");
    expect(dot, " n0 [shape=box");
    expect(dot, " n1 [shape=ellipse");
    expect(dot, " n5 [shape=ellipse fillcolor=white color=\"#777777\"");
    expect(dot, "label=\"↑20 Mbit/s\\n↓20 Mbit/s\\n3 ms / 4 ms\"]");
    mem_free(dot);
    assert_int_equal(job_make("lenet5", 60000, 32, JOB_PIPELINED, NULL, &j), EDGEPS_OK);
    char words[64];
    snprintf(words, sizeof words, "<br/>%.0f KiB of 4 MiB free",
             (double)job_local_need_bytes(&j, 3) / 1024);
    dot = draw(net, &pl, &j);
    expect(dot, words);
    mem_free(dot);
    plan_free(&pl);
    network_free(net);
}

static void sites_stand_between_nodes(void **state)
{
    (void)state;
    network *net;
    assert_int_equal(network_make_sites(3, 2, NULL, &net), EDGEPS_OK);
    net->site_names = mem_alloc(2, sizeof *net->site_names);
    net->site_names[0] = mem_copy_text("R&D \"<here>\"");
    net->site_names[1] = mem_copy_text("far");
    for (size_t i = 0; i < 3; i++) {
        char name[8] = {(char)('a' + i)};
        net->nodes[i].name = mem_copy_text(name);
        net->nodes[i].site = i > 0;
    }
    net->latency_s[1] = net->latency_s[2] = 0.02;
    net->cap_bytes_per_s[2] = 0;
    net->name = mem_copy_text("a \\ \"quoted\" name");
    char *dot = draw(net, NULL, NULL);
    expect(dot, "digraph \"a \\\\ \\\"quoted\\\" name\" {");
    expect(dot,
           " s0 [shape=circle fillcolor=\"#EEEEEE\" label=<<b>R&amp;D &quot;&lt;here&gt;&quot;");
    expect(dot, " s0 -> n0 [dir=none");
    expect(dot, " s1 -> n1 [dir=none");
    expect(dot, " s1 -> n2 [dir=none");
    expect(dot, "dir=forward label=<R&amp;D &quot;&lt;here&gt;&quot; → 20 ms<br/>far → no path>]");
    assert_int_equal(count_words(dot, " -> "), 4);
    mem_free(dot);
    network_free(net);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    network *net = bare_network(2);
    char *text = NULL;
    mem_fail_at(1);
    assert_int_equal(network_dot_text(net, NULL, NULL, &text), EDGEPS_NOMEM);
    mem_fail_at(0);
    assert_null(text);
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_links_of_a_tree_are_drawn),
        cmocka_unit_test(a_plan_is_drawn_as_its_tree),
        cmocka_unit_test(sites_stand_between_nodes),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
