/* How good the plans are: small problems over heterogeneity, storage and most local servers, each
 * beside its best. The quick run takes a few of unequal nodes, all as one setting; the first
 * argument "long" takes all. */
#include "place/place_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/stats.h"

#include <math.h>
#include <string.h>

#define SETTINGS 12 /* equal nodes or not, storage ample or tight, 2 to 4 local servers */
#define ALL 200
#define QUICK_SEEDS 12

static const struct {
    const char *name;
    bool polish;
} entries[] = {
    {"approx", true},    {"rounding", true}, {"random", false}, {"uniform", false},
    {"greedy", false},   {"kmedian", false}, {"degree", false}, {"storage", false},
    {"gonzalez", false}, {"genetic", false}, {"pso", false},
};
#define ENTRIES (sizeof entries / sizeof *entries)
#define OURS 2 /* the first entries; the others are what they are compared with */

/* How often brute (4096 steps each time) and exact may ask whether to go on. Equal nodes leave both
 * with more plans than can be told apart. */
typedef struct patience {
    long brute, exact;
} patience;

static bool thorough;

static struct {
    size_t count[SETTINGS];               /* with a plan */
    bool proved[SETTINGS][ALL];           /* that the best is the best */
    double ratio[ENTRIES][SETTINGS][ALL]; /* to the best */
    size_t problems;
    size_t both; /* whose best both brute and exact proved */
    size_t infeasible;
} all;

static fixture_kind kind_of(uint64_t seed)
{
    return (fixture_kind){
        .count = 9 + seed / SETTINGS % 4,
        .uniform = seed % 2,
        .tight = seed / 2 % 2,
        .max_locals = 2 + seed / 4 % 3,
        .chunks = seed / 3 % 2 ? 1 : 6,
    };
}

static bool while_it_lasts(void *context, const place_progress *now)
{
    (void)now;
    return --*(long *)context > 0;
}

static place_result run(const char *name, const problem *p, place_options options)
{
    place_result r;
    assert_int_equal(place_run(name, p, &options, NULL, &r), EDGEPS_OK);
    return r;
}

/* The best time that brute or exact finds; INFINITY when there is no plan. Whoever comes to the end
 * must not be worse than the other, so two of them are equal. */
static double best_s(const problem *p, uint64_t seed, bool *proved)
{
    patience left = {.brute = 400, .exact = kind_of(seed).uniform ? 1000 : 10000};
    place_result brute =
        run("brute", p, (place_options){.progress = while_it_lasts, .context = &left.brute});
    place_result exact =
        run("exact", p, (place_options){.progress = while_it_lasts, .context = &left.exact});
    double brute_s = brute.status == PLACE_INFEASIBLE ? INFINITY : brute.cost.round_s;
    double exact_s = exact.status == PLACE_INFEASIBLE ? INFINITY : exact.cost.round_s;
    bool brute_done = !brute.stopped, exact_done = !exact.stopped;
    if ((brute_done && brute_s > exact_s * (1 + 1e-9)) ||
        (exact_done && exact_s > brute_s * (1 + 1e-9)))
        fail_msg("seed %d: brute %.17g, exact %.17g", (int)seed, brute_s, exact_s);
    *proved = brute_done || exact_done;
    all.both += brute_done && exact_done;
    place_result_free(&brute);
    place_result_free(&exact);
    return fmin(brute_s, exact_s);
}

static void measure_problem(uint64_t seed)
{
    problem *p = fixture_problem(seed, kind_of(seed));
    size_t setting = thorough ? seed % SETTINGS : 0, k = all.count[setting];
    double least_s = best_s(p, seed, &all.proved[setting][k]);
    for (size_t a = 0; a < ENTRIES; a++) {
        place_result r =
            run(entries[a].name, p, (place_options){.seed = seed, .no_polish = !entries[a].polish});
        assert_int_equal(r.status == PLACE_INFEASIBLE, least_s == INFINITY);
        all.ratio[a][setting][k] = r.cost.round_s / least_s;
        place_result_free(&r);
    }
    all.problems++;
    if (least_s < INFINITY)
        all.count[setting]++;
    else
        all.infeasible++;
    problem_free(p);
}

static int measure(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < (thorough ? ALL : QUICK_SEEDS); seed += thorough ? 1 : 2)
        measure_problem(seed);
    return 0;
}

/* The entry's ratios to a proved best, sorted; returns how many. */
static size_t collect(size_t entry, double values[ALL])
{
    size_t count = 0;
    for (size_t s = 0; s < SETTINGS; s++)
        for (size_t k = 0; k < all.count[s]; k++)
            if (all.proved[s][k])
                values[count++] = all.ratio[entry][s][k];
    stats_sort(values, count);
    return count;
}

static void exact_is_as_good_as_trying_all_plans(void **state)
{
    (void)state;
    double values[ALL];
    size_t proved = collect(0, values);
    print_message("%zu problems, %zu without a plan; the best proved of %zu, by both ways of %zu\n",
                  all.problems, all.infeasible, proved, all.both);
    assert_in_range(proved, all.problems / 2, all.problems);
    assert_in_range(all.both, all.problems / 5, all.problems);
}

static void approx_and_rounding_are_near_the_best(void **state)
{
    (void)state;
    double values[ALL], median[ENTRIES], worst[ENTRIES];
    for (size_t a = 0; a < ENTRIES; a++) {
        size_t count = collect(a, values);
        median[a] = stats_quantile(values, count, 0.5);
        worst[a] = values[count - 1];
        print_message("%-10s median %.4f mean %.4f worst %.4f\n", entries[a].name, median[a],
                      stats_mean(values, count), worst[a]);
        assert_true(values[0] > 1 - 1e-9);
    }
    assert_true(median[0] <= 1.01);
    assert_true(worst[0] <= 1.15);
    assert_true(median[1] <= 1.03);
}

static void no_baseline_is_better_in_the_mean_of_any_setting(void **state)
{
    (void)state;
    size_t better = 0;
    for (size_t s = 0; s < SETTINGS; s++) {
        for (size_t pair = 0; all.count[s] && pair < OURS * (ENTRIES - OURS); pair++) {
            size_t a = pair % OURS, b = OURS + pair / OURS;
            double ours = stats_mean(all.ratio[a][s], all.count[s]);
            double theirs = stats_mean(all.ratio[b][s], all.count[s]);
            if (ours <= theirs * (1 + 1e-9))
                continue;
            better++;
            print_message("setting %zu, %zu problems: %s %.4f, %s %.4f\n", s, all.count[s],
                          entries[a].name, ours, entries[b].name, theirs);
        }
    }
    assert_int_equal(better, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_is_as_good_as_trying_all_plans),
        cmocka_unit_test(approx_and_rounding_are_near_the_best),
        cmocka_unit_test(no_baseline_is_better_in_the_mean_of_any_setting),
    };
    thorough = argc > 1 && strcmp(argv[1], "long") == 0;
    return cmocka_run_group_tests(tests, measure, NULL);
}
