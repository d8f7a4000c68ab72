#include "wire/codec.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void put_everything(wire_writer *w)
{
    wire_put_u8(w, 200);
    wire_put_u32(w, 0xdeadbeef);
    wire_put_u64(w, UINT64_MAX - 1);
    wire_put_i64(w, INT64_MIN);
    wire_put_f64(w, -0.1);
    wire_put_text(w, "Lyon, gare");
    wire_put_text(w, "");
    wire_put_bytes(w, "a\0b", 3);
    wire_put_bytes(w, NULL, 0);
}

static void what_was_put_is_got(void **state)
{
    (void)state;
    wire_writer w = {0};
    put_everything(&w);
    assert_int_equal(wire_writer_status(&w), EDGEPS_OK);
    wire_reader r = wire_reader_make(w.bytes, w.count);
    size_t count;
    assert_int_equal(wire_get_u8(&r), 200);
    assert_int_equal(wire_get_u32(&r), 0xdeadbeef);
    assert_true(wire_get_u64(&r) == UINT64_MAX - 1);
    assert_true(wire_get_i64(&r) == INT64_MIN);
    assert_true(wire_get_f64(&r) == -0.1);
    assert_string_equal(wire_get_text(&r), "Lyon, gare");
    assert_string_equal(wire_get_text(&r), "");
    const uint8_t *blob = wire_get_bytes(&r, &count);
    assert_int_equal(count, 3);
    assert_memory_equal(blob, "a\0b", 3);
    assert_non_null(wire_get_bytes(&r, &count));
    assert_int_equal(count, 0);
    assert_true(wire_reader_done(&r));
    wire_writer_free(&w);
}

static void numbers_are_little_endian(void **state)
{
    (void)state;
    wire_writer w = {0};
    wire_put_u32(&w, 0x01020304);
    wire_put_f64(&w, 1.0);
    wire_put_text(&w, "hi");
    static const uint8_t expected[] = {4,    3,    2, 1, 0, 0, 0,   0,   0, 0,
                                       0xf0, 0x3f, 2, 0, 0, 0, 'h', 'i', 0};
    assert_int_equal(w.count, sizeof expected);
    assert_memory_equal(w.bytes, expected, sizeof expected);
    wire_writer_free(&w);
}

static void get_everything(wire_reader *r)
{
    size_t count;
    wire_get_u8(r);
    wire_get_u32(r);
    wire_get_u64(r);
    wire_get_i64(r);
    wire_get_f64(r);
    wire_get_text(r);
    wire_get_text(r);
    wire_get_bytes(r, &count);
    wire_get_bytes(r, &count);
}

/* Each prefix stands in a block of its own, so a sanitizer sees one byte too far. */
static void a_message_cut_anywhere_is_refused(void **state)
{
    (void)state;
    wire_writer w = {0};
    put_everything(&w);
    for (size_t cut = 0; cut <= w.count; cut++) {
        uint8_t *prefix = mem_alloc(cut, 1);
        memcpy(prefix, w.bytes, cut);
        wire_reader r = wire_reader_make(prefix, cut);
        get_everything(&r);
        assert_int_equal(wire_reader_done(&r), cut == w.count);
        mem_free(prefix);
    }
    wire_writer_free(&w);
}

static void a_failed_reader_gives_zeros_for_ever(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0xff, 0xff, 0xff, 0xff, 1, 2, 3};
    wire_reader r = wire_reader_make(bytes, sizeof bytes);
    size_t count = 99;
    assert_null(wire_get_bytes(&r, &count));
    assert_int_equal(count, 0);
    assert_int_equal(wire_get_u8(&r), 0);
    assert_true(wire_get_f64(&r) == 0);
    assert_string_equal(wire_get_text(&r), "");
    assert_false(wire_reader_done(&r));
}

static void refuses_text_without_its_end_or_with_a_zero_inside(void **state)
{
    (void)state;
    static const uint8_t no_end[] = {2, 0, 0, 0, 'h', 'i', 'x'};
    wire_reader r = wire_reader_make(no_end, sizeof no_end);
    assert_string_equal(wire_get_text(&r), "");
    assert_true(r.failed);
    static const uint8_t inside[] = {2, 0, 0, 0, 'h', 0, 0};
    r = wire_reader_make(inside, sizeof inside);
    wire_get_text(&r);
    assert_true(r.failed);
    static const uint8_t good[] = {2, 0, 0, 0, 'h', 'i', 0};
    r = wire_reader_make(good, sizeof good);
    assert_string_equal(wire_get_text(&r), "hi");
    assert_true(wire_reader_done(&r));
}

static void bytes_left_over_are_not_done(void **state)
{
    (void)state;
    wire_reader r = wire_reader_make("ab", 2);
    wire_get_u8(&r);
    assert_false(wire_reader_done(&r));
    wire_get_u8(&r);
    assert_true(wire_reader_done(&r));
    r = wire_reader_make(NULL, 0);
    assert_true(wire_reader_done(&r));
}

static void a_large_message_grows_the_writer(void **state)
{
    (void)state;
    wire_writer w = {0};
    rng numbers = rng_make(7, 0);
    for (int i = 0; i < 100000; i++)
        wire_put_u64(&w, rng_next(&numbers));
    size_t count;
    uint8_t *bytes = wire_writer_take(&w, &count);
    assert_non_null(bytes);
    assert_int_equal(count, 800000);
    assert_null(w.bytes);
    numbers = rng_make(7, 0);
    wire_reader r = wire_reader_make(bytes, count);
    for (int i = 0; i < 100000; i++)
        assert_true(wire_get_u64(&r) == rng_next(&numbers));
    assert_true(wire_reader_done(&r));
    mem_free(bytes);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    uint8_t *bytes = NULL;
    long nth = 1;
    for (; !bytes; nth++) {
        wire_writer w = {0};
        size_t count = 77;
        mem_fail_at(nth);
        for (int i = 0; i < 50; i++)
            put_everything(&w);
        bytes = wire_writer_take(&w, &count);
        mem_fail_at(0);
        if (!bytes)
            assert_int_equal(count, 77);
        assert_null(w.bytes);
    }
    assert_true(nth > 3);
    mem_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_got),
        cmocka_unit_test(numbers_are_little_endian),
        cmocka_unit_test(a_message_cut_anywhere_is_refused),
        cmocka_unit_test(a_failed_reader_gives_zeros_for_ever),
        cmocka_unit_test(refuses_text_without_its_end_or_with_a_zero_inside),
        cmocka_unit_test(bytes_left_over_are_not_done),
        cmocka_unit_test(a_large_message_grows_the_writer),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
