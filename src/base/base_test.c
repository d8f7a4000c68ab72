#include "base/err.h"
#include "base/file.h"
#include "base/heap.h"
#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void messages_are_wrapped_on_the_way_up_and_cut_when_too_long(void **state)
{
    (void)state;
    edgeps_diag diag;
    assert_int_equal(diag_fail(&diag, EDGEPS_FORMAT, "up: %d", 3), EDGEPS_FORMAT);
    assert_int_equal(diag_wrap(&diag, EDGEPS_FORMAT, "net.json: node %s", "a"), EDGEPS_FORMAT);
    assert_string_equal(diag.text, "net.json: node a: up: 3");
    for (int k = 0; k < 100; k++)
        diag_wrap(&diag, EDGEPS_FORMAT, "a long prefix");
    assert_int_equal(strlen(diag.text), sizeof diag.text - 1);
    assert_int_equal(diag_fail(NULL, EDGEPS_IO, "nobody listens"), EDGEPS_IO);
}

static void foreign_bytes_do_not_break_the_line(void **state)
{
    (void)state;
    edgeps_diag diag;
    diag_fail(&diag, EDGEPS_FORMAT, "'%s'", "a\nb\x1b[2J\x7fé");
    assert_string_equal(diag.text, "'a?b?[2J?é'");
    diag_wrap(&diag, EDGEPS_FORMAT, "%s", "c\rd");
    assert_string_equal(diag.text, "c?d: 'a?b?[2J?é'");
}

static void every_error_has_a_text_and_the_documented_exit_status(void **state)
{
    (void)state;
    for (int e = EDGEPS_OK; e <= EDGEPS_CANCELLED; e++)
        assert_true(strlen(err_text((edgeps_err)e)) > 0);
    assert_int_equal(err_exit_status(EDGEPS_OK), 0);
    assert_int_equal(err_exit_status(EDGEPS_IO), 1);
    assert_int_equal(err_exit_status(EDGEPS_FORMAT), 2);
    assert_int_equal(err_exit_status(EDGEPS_USAGE), 2);
    assert_int_equal(err_exit_status(EDGEPS_INFEASIBLE), 3);
    assert_int_equal(err_exit_status(EDGEPS_CANCELLED), 130);
}

static void memory_comes_zeroed_and_an_overflow_is_no_memory(void **state)
{
    (void)state;
    unsigned char *block = mem_alloc(1000, 3);
    for (size_t k = 0; k < 3000; k++)
        assert_int_equal(block[k], 0);
    mem_free(block);
    assert_null(mem_alloc(SIZE_MAX / 2, 3));
    assert_null(mem_resize(NULL, SIZE_MAX, 2));
    void *nothing = mem_alloc(0, 8);
    assert_non_null(nothing);
    mem_free(nothing);
}

static void an_array_doubles_and_keeps_what_it_holds(void **state)
{
    (void)state;
    size_t room = 0;
    int moves = 0;
    uint32_t *items = NULL;
    for (uint32_t k = 0; k < 100000; k++) {
        size_t before = room;
        items = mem_grow(items, k + 1, sizeof *items, &room);
        assert_non_null(items);
        items[k] = k;
        moves += room != before;
    }
    for (uint32_t k = 0; k < 100000; k++)
        assert_int_equal(items[k], k);
    assert_in_range(moves, 10, 17);
    size_t before = room;
    assert_null(mem_grow(items, SIZE_MAX / 2, sizeof *items, &room));
    assert_int_equal(room, before);
    items = mem_grow(items, 300000, sizeof *items, &room);
    assert_int_equal(room, 300000);
    mem_free(items);
}

static void the_nth_allocation_and_all_after_it_fail(void **state)
{
    (void)state;
    mem_fail_at(2);
    void *first = mem_alloc(1, 1), *second = mem_alloc(1, 1);
    char *third = mem_copy_text("x");
    assert_int_equal(mem_allocations(), 3);
    mem_fail_at(0);
    assert_non_null(first);
    assert_null(second);
    assert_null(third);
    mem_free(first);
}

static void the_heap_sorts_and_keeps_the_order_of_equals(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    heap h = {0};
    rng r = rng_make(1, 0);
    heap_item item, before = {.key = -1};
    for (uint64_t k = 0; k < COUNT; k++)
        assert_int_equal(heap_push(&h, (double)rng_below(&r, 50), k), EDGEPS_OK);
    for (int k = 0; k < COUNT; k++) {
        assert_true(heap_pop(&h, &item));
        assert_true(before.key < item.key || (before.key == item.key && before.id < item.id));
        before = item;
    }
    assert_false(heap_pop(&h, &item));
    heap_free(&h);
    mem_fail_at(1);
    assert_int_equal(heap_push(&h, 1, 1), EDGEPS_NOMEM);
    mem_fail_at(0);
    assert_int_equal(h.count, 0);
}

/* Mean and variance of many draws. */
static void moments(double (*draw)(rng *, double), double parameter, double *mean, double *variance)
{
    enum { DRAWS = 200000 };
    rng r = rng_make(7, 0);
    double sum = 0, squares = 0;
    for (int k = 0; k < DRAWS; k++) {
        double x = draw(&r, parameter);
        sum += x;
        squares += x * x;
    }
    *mean = sum / DRAWS;
    *variance = squares / DRAWS - *mean * *mean;
}

static double uniform(rng *r, double unused)
{
    (void)unused;
    return rng_uniform(r);
}

static double normal(rng *r, double unused)
{
    (void)unused;
    return rng_normal(r);
}

static void random_numbers_have_the_moments_of_their_distributions(void **state)
{
    (void)state;
    double mean, variance;
    moments(uniform, 0, &mean, &variance);
    assert_true(fabs(mean - 0.5) < 0.005 && fabs(variance - 1.0 / 12) < 0.002);
    moments(normal, 0, &mean, &variance);
    assert_true(fabs(mean) < 0.01 && fabs(variance - 1) < 0.02);
    static const double shapes[] = {0.1, 0.9, 1, 5};
    for (size_t k = 0; k < 4; k++) { /* Gamma(a, 1) has mean and variance a */
        moments(rng_gamma, shapes[k], &mean, &variance);
        assert_true(fabs(mean - shapes[k]) < 0.02 * (1 + shapes[k]));
        assert_true(fabs(variance - shapes[k]) < 0.05 * (1 + shapes[k]));
    }
}

/* Series that the authors' reference programs print, as other implementations' tests have them:
 * splitmix64 from 1234567 and xoshiro256** from the state 1, 2, 3, 4. */
static void the_numbers_are_those_of_the_published_generators(void **state)
{
    (void)state;
    static const uint64_t mixed[] = {6457827717110365317u, 3203168211198807973u,
                                     9817491932198370423u, 4593380528125082431u};
    static const uint64_t next[] = {11520,
                                    0,
                                    1509978240,
                                    1215971899390074240,
                                    1216172134540287360,
                                    607988272756665600,
                                    16172922978634559625u,
                                    8476171486693032832,
                                    10595114339597558777u,
                                    2904607092377533576};
    /* The first value of splitmix64 from this seed is 1234567, from which the state is made. */
    rng r = rng_make(11906536674387683726u, 0);
    assert_memory_equal(r.state, mixed, sizeof mixed);
    r = (rng){{1, 2, 3, 4}};
    for (size_t k = 0; k < sizeof next / sizeof *next; k++)
        assert_true(rng_next(&r) == next[k]);
}

static void seeds_and_streams_tell_generators_apart(void **state)
{
    (void)state;
    rng a = rng_make(1, 0), same = rng_make(1, 0), stream = rng_make(1, 1), seed = rng_make(2, 0);
    size_t equal = 0;
    for (int k = 0; k < 100; k++) {
        uint64_t x = rng_next(&a);
        assert_true(x == rng_next(&same));
        equal += x == rng_next(&stream);
        equal += x == rng_next(&seed);
    }
    assert_int_equal(equal, 0);
}

static void below_is_uniform_and_permutations_are_permutations(void **state)
{
    (void)state;
    rng r = rng_make(3, 0);
    size_t seen[7] = {0};
    for (int k = 0; k < 70000; k++)
        seen[rng_below(&r, 7)]++;
    for (int k = 0; k < 7; k++)
        assert_in_range(seen[k], 9600, 10400);
    uint32_t order[100];
    uint64_t sum = 0;
    rng_permutation(&r, 100, order);
    for (int k = 0; k < 100; k++)
        sum += UINT64_C(1) << (order[k] % 50);
    assert_true(sum == 2 * ((UINT64_C(1) << 50) - 1));
}

static void a_file_that_cannot_be_written_is_named(void **state)
{
    (void)state;
    char path[] = "/tmp/edgeps-file-XXXXXX", text[16] = "";
    edgeps_diag diag = {.text = ""};
    close(mkstemp(path));
    assert_int_equal(file_write_text(path, "longer before", &diag), EDGEPS_OK);
    assert_int_equal(file_write_text(path, "whole", &diag), EDGEPS_OK);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text - 1, file), 5);
    fclose(file);
    unlink(path);
    assert_string_equal(text, "whole");
    assert_int_equal(file_write_text("/nowhere/file", "x", &diag), EDGEPS_IO);
    assert_string_equal(diag.text, "/nowhere/file: cannot be written: No such file or directory");
    assert_int_equal(file_write_text("/dev/full", "x", &diag), EDGEPS_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_cannot_be_written_is_named),
        cmocka_unit_test(messages_are_wrapped_on_the_way_up_and_cut_when_too_long),
        cmocka_unit_test(foreign_bytes_do_not_break_the_line),
        cmocka_unit_test(every_error_has_a_text_and_the_documented_exit_status),
        cmocka_unit_test(memory_comes_zeroed_and_an_overflow_is_no_memory),
        cmocka_unit_test(an_array_doubles_and_keeps_what_it_holds),
        cmocka_unit_test(the_nth_allocation_and_all_after_it_fail),
        cmocka_unit_test(the_heap_sorts_and_keeps_the_order_of_equals),
        cmocka_unit_test(random_numbers_have_the_moments_of_their_distributions),
        cmocka_unit_test(the_numbers_are_those_of_the_published_generators),
        cmocka_unit_test(seeds_and_streams_tell_generators_apart),
        cmocka_unit_test(below_is_uniform_and_permutations_are_permutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
