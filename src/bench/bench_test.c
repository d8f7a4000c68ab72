#include "bench/bench_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const bench_request usual = {.kind = GENERATE_TWO_TIER, .seed = 1, .seeds = 20};

static bench_case *cases_of(bench_table table, const bench_request *from, size_t *count)
{
    bench_request r = *from;
    bench_case *cases = NULL;
    r.table[table] = true;
    assert_int_equal(bench_cases(&r, &cases, count), EDGEPS_OK);
    return cases;
}

/* The value of a cell by the name of its column. */
static double number_at(const sheet *s, size_t row, const char *column)
{
    for (size_t k = 0; k < s->width; k++)
        if (strcmp(s->columns[k], column) == 0)
            return s->cells[row * s->width + k].number;
    fail_msg("no column %s", column);
    return NAN;
}

static void small_instances_go_through_every_setting(void **state)
{
    (void)state;
    bench_request r = usual;
    size_t count, references = 0, seen[4][2][2][2][3] = {{{{{0}}}}};
    r.seeds = 96;
    bench_case *cases = cases_of(BENCH_QUALITY, &r, &count);
    for (size_t k = 0; k < count; k++) {
        const bench_case *c = &cases[k];
        if (strcmp(c->algorithm, "exact") != 0)
            continue;
        references++;
        seen[c->nodes - 9][c->transfer][c->free_bytes > 2 << 20][c->spread > 5]
            [c->max_locals - 2]++;
    }
    assert_int_equal(references, 96);
    for (size_t k = 0; k < 96; k++)
        assert_int_equal((&seen[0][0][0][0][0])[k], 1);
    mem_free(cases);
}

static void large_networks_get_fewer_seeds_but_one(void **state)
{
    (void)state;
    size_t count, of_300 = 0, of_1000 = 0, of_10000 = 0;
    bench_case *cases = cases_of(BENCH_APPROX, &usual, &count);
    for (size_t k = 0; k < count; k++) {
        of_300 += cases[k].nodes == 300;
        of_1000 += cases[k].nodes == 1000;
        of_10000 += cases[k].nodes == 10000;
    }
    assert_int_equal(of_300, 20 * 4); /* two disciplines, with and without polish */
    assert_int_equal(of_1000, 6 * 4);
    assert_int_equal(of_10000, 1 * 4);
    mem_free(cases);
}

static void what_is_asked_replaces_what_is_usual(void **state)
{
    (void)state;
    bench_request r = usual;
    size_t count;
    r.nodes = (const size_t[]){7};
    r.node_count = 1;
    r.algorithms = (const char *const[]){"greedy"};
    r.algorithm_count = 1;
    r.deadline_s = 3;
    r.max_locals = 2;
    r.seeds = 1;
    bench_case *cases = cases_of(BENCH_APPROX, &r, &count);
    assert_int_equal(count, 4);
    for (size_t k = 0; k < count; k++) {
        assert_int_equal(cases[k].nodes, 7);
        assert_string_equal(cases[k].algorithm, "greedy");
        assert_true(cases[k].deadline_s == 3);
        assert_int_equal(cases[k].max_locals, 2);
    }
    mem_free(cases);
}

static bench_row row_of(const bench_case *c)
{
    bench_row row;
    assert_int_equal(bench_measure(c, NULL, &row), EDGEPS_OK);
    return row;
}

/* The reference is another search than the one that is compared with it. */
static void a_measured_row_agrees_with_brute(void **state)
{
    (void)state;
    bench_request r = usual;
    size_t count;
    r.nodes = (const size_t[]){6};
    r.node_count = 1;
    r.seeds = 1;
    bench_case *cases = cases_of(BENCH_QUALITY, &r, &count), brute = cases[0];
    brute.algorithm = "brute";
    bench_row rows[] = {row_of(&cases[0]), row_of(&cases[1]), row_of(&brute)};
    bench_compare(rows, 2);
    assert_int_equal(rows[2].err, EDGEPS_OK);
    assert_true(fabs(rows[1].best_s - rows[2].a.round_s) <= 1e-9 * rows[2].a.round_s);
    assert_true(bench_best_ratio(&rows[1]) >= 1 - 1e-9);
    assert_true(bench_proved_ratio(&rows[1]) >= bench_best_ratio(&rows[1]) * (1 - 1e-9));
    assert_true(rows[1].a.peak_bytes > 1 << 20);
    assert_true(rows[1].a.cpu_s > 0 && rows[1].a.wall_s > 0);
    mem_free(cases);
}

static void a_search_that_refuses_leaves_a_row_that_says_so(void **state)
{
    (void)state;
    bench_case c = {.kind = GENERATE_TWO_TIER,
                    .nodes = 61,
                    .seed = 1,
                    .spread = 10,
                    .free_bytes = 8 << 20,
                    .max_locals = 3,
                    .algorithm = "rounding-min-t"};
    bench_row row = row_of(&c);
    sheet s = bench_row_sheet(&row, 1);
    assert_int_equal(row.err, EDGEPS_USAGE);
    assert_true(isnan(number_at(&s, 0, "round_s")));
    assert_int_equal(number_at(&s, 0, "n"), 61);
    sheet_free(&s);
}

/* Rows of a search that takes n^2 s and n^3 / 1e6 MiB. */
static void make_rows(bench_row rows[6])
{
    static const size_t nodes[] = {30, 100, 1000};
    for (size_t k = 0; k < 6; k++) {
        size_t size = nodes[k / 2];
        double n = (double)size;
        rows[k] = (bench_row){
            .c = {.table = BENCH_APPROX, .nodes = size, .seed = k % 2, .algorithm = "x"},
            .a = {.status = PLACE_FEASIBLE,
                  .round_s = 2 + (double)(k % 2),
                  .bound_s = 1,
                  .wall_s = size > 30 ? n * n : 1,
                  .cpu_s = n,
                  .peak_bytes = (int64_t)(n * n * n)},
            .best_s = NAN,
        };
    }
}

static void summaries_hold_medians_and_exponents(void **state)
{
    (void)state;
    bench_row rows[6];
    sheet s[BENCH_SUMMARIES];
    make_rows(rows);
    bench_summaries(rows, 6, s);
    assert_int_equal(s[0].count + s[1].count + s[2].count, 0);
    assert_int_equal(s[3].count, 3 * s[3].width);
    assert_int_equal(number_at(&s[3], 1, "n"), 100);
    assert_true(number_at(&s[3], 1, "median round / bound") == 2.5);
    assert_true(number_at(&s[3], 1, "worst round / bound") == 3);
    assert_int_equal(s[4].count, s[4].width);
    assert_true(fabs(number_at(&s[4], 0, "exponent of wall_s") - 2) < 1e-12);
    assert_true(fabs(number_at(&s[4], 0, "exponent of cpu_s") - 1) < 1e-12);
    assert_true(fabs(number_at(&s[4], 0, "exponent of peak_mib") - 3) < 1e-12);
    for (size_t k = 0; k < BENCH_SUMMARIES; k++)
        sheet_free(&s[k]);
}

static void a_figure_needs_two_sizes(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length;
    bench_row rows[6];
    make_rows(rows);
    FILE *out = open_memstream(&text, &length);
    assert_false(bench_figure(rows, 2, out));
    fflush(out);
    assert_int_equal(length, 0);
    assert_true(bench_figure(rows, 6, out));
    fclose(out);
    assert_non_null(strstr(text, "\n1000 1000 953.674\n"));
    assert_non_null(strstr(text, "set logscale xy"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_instances_go_through_every_setting),
        cmocka_unit_test(large_networks_get_fewer_seeds_but_one),
        cmocka_unit_test(what_is_asked_replaces_what_is_usual),
        cmocka_unit_test(a_measured_row_agrees_with_brute),
        cmocka_unit_test(a_search_that_refuses_leaves_a_row_that_says_so),
        cmocka_unit_test(summaries_hold_medians_and_exponents),
        cmocka_unit_test(a_figure_needs_two_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
