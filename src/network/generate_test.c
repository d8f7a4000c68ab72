#include "network/generate.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static network *generate(generate_options o)
{
    network *net;
    edgeps_diag diag = {.text = ""};
    if (generate_network(&o, &diag, &net))
        fail_msg("%s", diag.text);
    assert_int_equal(network_check(net, NULL), EDGEPS_OK);
    return net;
}

static network *generate_kind_of(generate_kind kind, size_t nodes, uint64_t seed)
{
    return generate(generate_defaults(kind, nodes, seed));
}

/* FNV-1a, a double at a time. */
static void mix(uint64_t *hash, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    *hash = (*hash ^ bits) * 0x100000001b3u;
    *hash ^= *hash >> 29;
}

static uint64_t hash_of(const network *net)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < net->count; i++) {
        const network_node *node = &net->nodes[i];
        mix(&hash, node->up_bytes_per_s);
        mix(&hash, node->down_bytes_per_s);
        mix(&hash, node->compute_samples_per_s);
        mix(&hash, node->access_s);
        mix(&hash, (double)node->free_bytes);
        mix(&hash, node->site);
    }
    for (size_t k = 0; k < net->site_count * net->site_count; k++) {
        mix(&hash, net->latency_s[k]);
        mix(&hash, net->cap_bytes_per_s[k]);
    }
    for (size_t k = 0; k < net->event_count; k++)
        mix(&hash, net->events[k].value);
    return hash;
}

/* The constants come from gcc and clang alike. */
static void a_seed_gives_one_network_with_every_compiler(void **state)
{
    (void)state;
    static const struct {
        generate_kind kind;
        uint64_t hash;
    } known[] = {
        {GENERATE_TWO_TIER, 0x88341146728950e2},
        {GENERATE_THESIS, 0x4434168ab50ac6c1},
        {GENERATE_WAXMAN, 0x77a413a015ecc39e},
        {GENERATE_BARABASI_ALBERT, 0xccc211b99ac59b35},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        network *net = generate_kind_of(known[k].kind, 200, 7);
        network *other = generate_kind_of(known[k].kind, 200, 8);
        if (hash_of(net) != known[k].hash)
            fail_msg("kind %d: 0x%llx", (int)known[k].kind, (unsigned long long)hash_of(net));
        assert_true(hash_of(other) != known[k].hash);
        network_free(net);
        network_free(other);
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov-Smirnov: the logarithms of `values` are uniform within low..high; 1.95 / sqrt(n) is
 * passed by chance once in a thousand. Sorts the values. */
static void expect_log_uniform(double *values, size_t count, double low, double high)
{
    qsort(values, count, sizeof *values, ascending);
    double worst = 0;
    for (size_t k = 0; k < count; k++) {
        double expected = log(values[k] / low) / log(high / low);
        worst = fmax(worst, fabs(expected - ((double)k + 0.5) / (double)count));
    }
    if (!(worst < 1.95 / sqrt((double)count)))
        fail_msg("%g to %g: distance %g", low, high, worst);
}

static void values_are_log_uniform_around_their_middles(void **state)
{
    (void)state;
    enum { N = 5000 };
    generate_options o = generate_defaults(GENERATE_THESIS, N, 3);
    network *net = generate(o);
    double *down = mem_alloc(N, sizeof *down), *part = mem_alloc(N, sizeof *part);
    double *speed = mem_alloc(N, sizeof *speed), *room = mem_alloc(N, sizeof *room);
    for (size_t i = 0; i < N; i++) {
        down[i] = net->nodes[i].down_bytes_per_s;
        part[i] = net->nodes[i].up_bytes_per_s / down[i];
        speed[i] = net->nodes[i].compute_samples_per_s;
        room[i] = (double)net->nodes[i].free_bytes;
    }
    double root = sqrt(o.spread);
    expect_log_uniform(down, N, o.rate_bytes_per_s / root, o.rate_bytes_per_s * root);
    expect_log_uniform(part, N, 1 / o.spread, 1);
    expect_log_uniform(speed, N, o.compute_samples_per_s / root, o.compute_samples_per_s * root);
    expect_log_uniform(room, N, (double)o.free_bytes / root, (double)o.free_bytes * root);
    mem_free(down);
    mem_free(part);
    mem_free(speed);
    mem_free(room);
    network_free(net);
}

static void without_spread_all_nodes_are_equal(void **state)
{
    (void)state;
    generate_options o = generate_defaults(GENERATE_TWO_TIER, 30, 1);
    o.spread = 1;
    network *net = generate(o);
    for (size_t i = 0; i < net->count; i++) {
        const network_node *node = &net->nodes[i];
        assert_true(node->up_bytes_per_s == 125e6 && node->down_bytes_per_s == 125e6);
        assert_true(node->compute_samples_per_s == 1000 && node->access_s == 200e-6);
        assert_int_equal(node->free_bytes, 8190 * 1024);
    }
    for (size_t k = 0; k < net->site_count * net->site_count; k++)
        assert_true(isinf(net->cap_bytes_per_s[k]) || net->cap_bytes_per_s[k] == 6.25e6);
    network_free(net);
}

static void each_kind_of_value_can_have_a_spread_of_its_own(void **state)
{
    (void)state;
    generate_options o = generate_defaults(GENERATE_THESIS, 50, 4), own = o;
    own.rate_spread = own.compute_spread = own.free_spread = 1;
    own.asymmetry = 2;
    network *net = generate(o), *changed = generate(own);
    for (size_t i = 0; i < net->count; i++) {
        const network_node *was = &net->nodes[i], *is = &changed->nodes[i];
        assert_true(is->down_bytes_per_s == o.rate_bytes_per_s);
        assert_true(is->up_bytes_per_s >= is->down_bytes_per_s / 2);
        double part = log(is->up_bytes_per_s / is->down_bytes_per_s) / log(2);
        double was_part = log(was->up_bytes_per_s / was->down_bytes_per_s) / log(10);
        assert_true(fabs(part - was_part) < 0.02);
        assert_true(is->compute_samples_per_s == o.compute_samples_per_s);
        assert_int_equal(is->free_bytes, changed->nodes[0].free_bytes);
        assert_true(is->access_s == was->access_s);
    }
    network_free(net);
    network_free(changed);
}

static void storage_is_drawn_anew_for_every_epoch(void **state)
{
    (void)state;
    enum { N = 4000, EPOCHS = 5 };
    network *net = generate_kind_of(GENERATE_THESIS, N, 11);
    assert_int_equal(net->event_count, N * (EPOCHS - 1));
    double previous[N], sum = 0;
    for (size_t i = 0; i < N; i++)
        previous[i] = log((double)net->nodes[i].free_bytes / (8 << 20)) / log(10);
    for (int epoch = 2; epoch <= EPOCHS; epoch++) {
        network_apply_epochs(net, epoch);
        for (size_t i = 0; i < N; i++) {
            double value = log((double)net->nodes[i].free_bytes / (8 << 20)) / log(10);
            assert_in_range(net->nodes[i].free_bytes, (8 << 20) / 3.2, (8 << 20) * 3.2);
            sum += value * previous[i];
            previous[i] = value;
        }
    }
    /* Products of independent values of variance 1/12: five standard deviations around 0. */
    assert_true(fabs(sum) < 5 * sqrt(N * (EPOCHS - 1)) / 12);
    network_free(net);
}

static void sites_are_near_inside_and_far_apart(void **state)
{
    (void)state;
    network *net = generate_kind_of(GENERATE_TWO_TIER, 400, 5);
    size_t n = net->site_count, members[20] = {0}, unequal = 0;
    assert_int_equal(n, 20);
    for (size_t i = 0; i < net->count; i++)
        members[net->nodes[i].site]++;
    for (size_t s = 0; s < n; s++) {
        assert_true(members[s] > 0);
        assert_true(isinf(net->cap_bytes_per_s[s * n + s]) && net->latency_s[s * n + s] == 0);
        for (size_t t = 0; t < n; t++) {
            double there = net->latency_s[s * n + t], back = net->latency_s[t * n + s];
            unequal += there != back;
            assert_true(s == t || (there > 0 && there <= 1.21 * back));
            for (size_t u = 0; u < n; u++) /* cables keep the triangle inequality */
                assert_true(there <=
                            1.22 * (net->latency_s[s * n + u] + net->latency_s[u * n + t]));
        }
    }
    assert_true(unequal > n * (n - 1) / 2);
    network_free(net);
}

/* Every cap is explained by one up rate of the sender's site and one down rate of the receiver's,
 * and these differ. */
static void wan_caps_come_from_the_rates_of_two_sites(void **state)
{
    (void)state;
    network *net = generate_kind_of(GENERATE_TWO_TIER, 900, 6);
    size_t n = net->site_count, asymmetric = 0;
    double up[30] = {0}, down[30] = {0};
    assert_int_equal(n, 30);
    for (size_t s = 0; s < n; s++)
        for (size_t t = 0; t < n; t++)
            if (s != t) {
                up[s] = fmax(up[s], net->cap_bytes_per_s[s * n + t]);
                down[t] = fmax(down[t], net->cap_bytes_per_s[s * n + t]);
            }
    for (size_t s = 0; s < n; s++)
        for (size_t t = 0; t < n; t++)
            if (s != t) {
                assert_true(net->cap_bytes_per_s[s * n + t] == fmin(up[s], down[t]));
                asymmetric += net->cap_bytes_per_s[s * n + t] != net->cap_bytes_per_s[t * n + s];
            }
    assert_true(asymmetric > n * (n - 1) / 2);
    network_free(net);
}

/* Pairs see a graph's best routes: latencies keep the triangle inequality, are the same both ways
 * like the cables, and where a way over a third site is as short, one such way is as narrow. */
static void graph_pairs_are_routes(void **state)
{
    (void)state;
    for (generate_kind kind = GENERATE_WAXMAN; kind <= GENERATE_BARABASI_ALBERT; kind++) {
        generate_options o = generate_defaults(kind, 90, 3);
        o.sites = 45;
        o.beta = 0.2;
        network *net = generate(o);
        size_t n = net->site_count, over = 0, direct = 0;
        assert_int_equal(n, 45);
        const double *latency = net->latency_s, *cap = net->cap_bytes_per_s;
        for (size_t s = 0; s < n; s++)
            for (size_t t = 0; t < n; t++) {
                double here = latency[s * n + t];
                bool as_short = false, as_narrow = false;
                assert_true(here == latency[t * n + s]);
                assert_true(s == t ? here == 0 && isinf(cap[s * n + t])
                                   : isfinite(cap[s * n + t]) && cap[s * n + t] > 0);
                for (size_t u = 0; u < n; u++) {
                    double detour = latency[s * n + u] + latency[u * n + t];
                    assert_true(here <= detour + 1e-9);
                    if (s == t || u == s || u == t || detour > here + 1e-9)
                        continue;
                    as_short = true;
                    as_narrow |= cap[s * n + t] == fmin(cap[s * n + u], cap[u * n + t]);
                }
                assert_true(as_narrow == as_short);
                over += as_short;
                direct += s != t && !as_short;
            }
        assert_true(over > n && direct >= 2 * (n - 1));
        network_free(net);
    }
}

static void the_nodes_of_a_small_network_begin_a_larger_one(void **state)
{
    (void)state;
    network *small = generate_kind_of(GENERATE_THESIS, 10, 2);
    network *large = generate_kind_of(GENERATE_THESIS, 1000, 2);
    for (size_t i = 0; i < small->count; i++) {
        assert_true(small->nodes[i].up_bytes_per_s == large->nodes[i].up_bytes_per_s);
        assert_int_equal(small->nodes[i].free_bytes, large->nodes[i].free_bytes);
    }
    network_free(small);
    network_free(large);
}

static void ten_thousand_nodes_need_a_hundred_sites(void **state)
{
    (void)state;
    network *net;
    generate_options o = generate_defaults(GENERATE_TWO_TIER, 10000, 1);
    assert_int_equal(generate_network(&o, NULL, &net), EDGEPS_OK);
    assert_int_equal(net->site_count, 100);
    network_free(net);
}

static void refuses(generate_options o, edgeps_err expected, const char *words)
{
    network *net = NULL;
    edgeps_diag diag = {.text = ""};
    assert_int_equal(generate_network(&o, &diag, &net), expected);
    assert_null(net);
    if (!strstr(diag.text, words))
        fail_msg("'%s' lacks '%s'", diag.text, words);
}

static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    generate_options o = generate_defaults(GENERATE_TWO_TIER, 10, 1);
    generate_options bad = o;
    bad.nodes = 0;
    refuses(bad, EDGEPS_FORMAT, "nodes: 1 to");
    bad = o;
    bad.spread = 0.5;
    refuses(bad, EDGEPS_USAGE, "spread: 0.5 is not within 1 and");
    bad.spread = NAN;
    refuses(bad, EDGEPS_USAGE, "spread: nan");
    bad = o;
    bad.wan_bytes_per_s = 0;
    refuses(bad, EDGEPS_USAGE, "wan-rate: must be above 0");
    bad = o;
    bad.free_bytes = INT64_MAX;
    refuses(bad, EDGEPS_USAGE, "free: must be above 0 and at most 1e+15");
    bad = o;
    bad.epochs = 1000001;
    refuses(bad, EDGEPS_USAGE, "epochs: 1000001 of 10 nodes");
    bad = o;
    bad.sites = 11;
    refuses(bad, EDGEPS_USAGE, "sites: 11 are more than the 10 nodes");
    bad = o;
    bad.alpha = 0;
    refuses(bad, EDGEPS_USAGE, "alpha: must be above 0");
    bad = o;
    bad.beta = 1.5;
    refuses(bad, EDGEPS_USAGE, "beta within 0 and 1");
    bad = o;
    bad.links = 0;
    refuses(bad, EDGEPS_USAGE, "links: 0 is not within 1 and");
}

static void generating_survives_each_allocation_failing(void **state)
{
    (void)state;
    for (generate_kind kind = GENERATE_TWO_TIER; kind <= GENERATE_BARABASI_ALBERT; kind++) {
        generate_options o = generate_defaults(kind, 9, 1);
        o.epochs = 3;
        edgeps_err err = EDGEPS_NOMEM;
        for (long n = 1; err; n++) {
            network *net = NULL;
            mem_fail_at(n);
            err = generate_network(&o, NULL, &net);
            mem_fail_at(0);
            assert_true(err == EDGEPS_OK ? net != NULL : err == EDGEPS_NOMEM && !net);
            network_free(net);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_gives_one_network_with_every_compiler),
        cmocka_unit_test(values_are_log_uniform_around_their_middles),
        cmocka_unit_test(without_spread_all_nodes_are_equal),
        cmocka_unit_test(each_kind_of_value_can_have_a_spread_of_its_own),
        cmocka_unit_test(storage_is_drawn_anew_for_every_epoch),
        cmocka_unit_test(sites_are_near_inside_and_far_apart),
        cmocka_unit_test(wan_caps_come_from_the_rates_of_two_sites),
        cmocka_unit_test(graph_pairs_are_routes),
        cmocka_unit_test(the_nodes_of_a_small_network_begin_a_larger_one),
        cmocka_unit_test(ten_thousand_nodes_need_a_hundred_sites),
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(generating_survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
