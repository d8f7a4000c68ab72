#include "formats/quantity.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void reads(quantity_kind kind, const char *text, double expected)
{
    double value = -1;
    edgeps_diag diag = {.text = ""};
    if (quantity_parse(kind, text, &diag, &value))
        fail_msg("'%s': %s", text, diag.text);
    if (value != expected)
        fail_msg("'%s' reads as %.17g, not %.17g", text, value, expected);
}

static void refuses(quantity_kind kind, const char *text, const char *words)
{
    double value = -1;
    edgeps_diag diag = {.text = ""};
    assert_int_equal(quantity_parse(kind, text, &diag, &value), EDGEPS_FORMAT);
    assert_true(value == -1);
    if (!strstr(diag.text, words))
        fail_msg("'%s': '%s' lacks '%s'", text, diag.text, words);
}

static void tells_bits_from_bytes_and_k_from_ki(void **state)
{
    (void)state;
    reads(QUANTITY_RATE, "20 Mbit/s", 2.5e6);
    reads(QUANTITY_RATE, "20 MB/s", 2e7);
    reads(QUANTITY_RATE, "1 kB/s", 1000);
    reads(QUANTITY_RATE, "1 KiB/s", 1024);
    reads(QUANTITY_RATE, "1 Kibit/s", 128);
    reads(QUANTITY_RATE, "0 bit/s", 0);
    reads(QUANTITY_SIZE, "512 MiB", 512.0 * 1024 * 1024);
    reads(QUANTITY_SIZE, "1.5 GB", 1.5e9);
    reads(QUANTITY_SIZE, "7B", 7);
    reads(QUANTITY_TIME, "15 ms", 15 * 1e-3);
    reads(QUANTITY_TIME, "2 min", 120);
    reads(QUANTITY_SPEED, "9e2 samples/s", 900);
}

static void a_bare_number_is_refused_with_an_example(void **state)
{
    (void)state;
    refuses(QUANTITY_RATE, "20", "'20' has no unit; write it like \"20 Mbit/s\"");
    refuses(QUANTITY_SIZE, "0", "no unit");
    refuses(QUANTITY_TIME, "1.5 ", "no unit");
}

static void foreign_units_and_numbers_that_are_none_are_refused(void **state)
{
    (void)state;
    refuses(QUANTITY_RATE, "20 Mbps", "unit 'Mbps' is not known");
    refuses(QUANTITY_RATE, "20 mbit/s", "not known");
    refuses(QUANTITY_RATE, "20 MiB", "not known");
    refuses(QUANTITY_SIZE, "1 Mbit", "not known");
    refuses(QUANTITY_TIME, "15 MS", "not known");
    refuses(QUANTITY_RATE, "-1 Mbit/s", "negative");
    const char *const nonsense[] = {"",         "fast",      "inf B/s", "nan B/s",
                                    "0x10 B/s", "1e999 B/s", "- B"};
    for (size_t k = 0; k < sizeof nonsense / sizeof *nonsense; k++)
        refuses(QUANTITY_RATE, nonsense[k], "is no quantity");
}

static void what_is_beyond_any_real_quantity_is_refused(void **state)
{
    (void)state;
    refuses(QUANTITY_TIME, "1e308 h", "beyond");
    refuses(QUANTITY_RATE, "1e10 GB/s", "beyond");
    refuses(QUANTITY_SIZE, "1e7 TB", "beyond");
    refuses(QUANTITY_SPEED, "1e-300 samples/s", "beyond");
    refuses(QUANTITY_TIME, "4.9e-324 ns", "beyond");
    reads(QUANTITY_TIME, "0 ns", 0);
    reads(QUANTITY_RATE, "1e9 GB/s", 1e18);
}

static void a_long_text_leaves_room_for_the_remedy(void **state)
{
    (void)state;
    char text[2000] = "5 ";
    memset(text + 2, 'z', sizeof text - 3);
    refuses(QUANTITY_RATE, text, "write it like \"20 Mbit/s\"");
    memset(text, 'z', sizeof text - 1);
    refuses(QUANTITY_RATE, text, "write it like \"20 Mbit/s\"");
}

/* What localedef makes of LC_NUMERIC with decimal_point ",". Few machines have such a locale. */
static const unsigned char numeric[] = {
    0x14, 0x11, 0x03, 0x20, 6,   0,    0,    0,   0x20, 0,    0,   0,   0x22, 0,    0,
    0,    0x23, 0,    0,    0,   0x24, 0,    0,   0,    0x28, 0,   0,   0,    0x2c, 0,
    0,    0,    0x2c, 0,    0,   0,    0x2c, 0,   0,    0,    0,   0,   0,    0,    'A',
    'N',  'S',  'I',  '_',  'X', '3',  '.',  '4', '-',  '1',  '9', '6', '8',  0};

static void enter_comma_locale(const char *dir)
{
    char path[64];
    snprintf(path, sizeof path, "%s/comma", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/comma/LC_NUMERIC", dir);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(numeric, 1, sizeof numeric, file), sizeof numeric);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(setenv("LOCPATH", dir, 1), 0);
    assert_non_null(setlocale(LC_NUMERIC, "comma"));
    assert_string_equal(localeconv()->decimal_point, ",");
    unlink(path);
    snprintf(path, sizeof path, "%s/comma", dir);
    rmdir(path);
    rmdir(dir);
}

static void a_point_stays_a_point_in_a_locale_with_commas(void **state)
{
    (void)state;
    char dir[] = "/tmp/edgeps-locale-XXXXXX", text[QUANTITY_TEXT_BYTES];
    assert_non_null(mkdtemp(dir));
    enter_comma_locale(dir);
    reads(QUANTITY_RATE, "2.5 MB/s", 2.5e6);
    refuses(QUANTITY_RATE, "2,5 MB/s", "unit ',5 MB/s' is not known");
    quantity_text(QUANTITY_RATE, 312500, text);
    assert_string_equal(text, "2.5 Mbit/s");
    assert_string_equal(localeconv()->decimal_point, ",");
    setlocale(LC_NUMERIC, "C");
}

static void what_is_written_reads_back_the_same(void **state)
{
    (void)state;
    rng r = rng_make(1, 0);
    for (int n = 0; n < 20000; n++) {
        quantity_kind kind = (quantity_kind)rng_below(&r, 4);
        double value = rng_uniform(&r) * pow(10, (double)rng_below(&r, 30) - 12);
        char text[QUANTITY_TEXT_BYTES];
        quantity_text(kind, value, text);
        reads(kind, text, value);
    }
    char text[QUANTITY_TEXT_BYTES];
    quantity_text(QUANTITY_RATE, 2.5e6, text);
    assert_string_equal(text, "20 Mbit/s");
    quantity_text(QUANTITY_SIZE, 1 << 20, text);
    assert_string_equal(text, "1 MiB");
    quantity_text(QUANTITY_TIME, 0, text);
    reads(QUANTITY_TIME, text, 0);
}

static void a_short_text_has_few_digits_and_the_largest_unit(void **state)
{
    (void)state;
    static const struct {
        quantity_kind kind;
        double value;
        const char *text;
    } cases[] = {
        {QUANTITY_RATE, 12345678, "98.8 Mbit/s"}, {QUANTITY_RATE, 0, "0 bit/s"},
        {QUANTITY_RATE, 125e9, "1000 Gbit/s"},    {QUANTITY_SIZE, 1023, "1023 B"},
        {QUANTITY_SIZE, 1024, "1 KiB"},           {QUANTITY_SIZE, 1.5 * 0x1p40, "1.5 TiB"},
        {QUANTITY_TIME, 0.0123, "12.3 ms"},       {QUANTITY_TIME, 3600, "3600 s"},
        {QUANTITY_RATE, 124.99e6, "1 Gbit/s"},    {QUANTITY_RATE, 124.9e6, "999 Mbit/s"},
        {QUANTITY_TIME, 2e-7, "0.2 us"},          {QUANTITY_SPEED, 123456, "123456 samples/s"},
    };
    char text[QUANTITY_TEXT_BYTES];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        quantity_short(cases[k].kind, cases[k].value, text);
        assert_string_equal(text, cases[k].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_bits_from_bytes_and_k_from_ki),
        cmocka_unit_test(a_bare_number_is_refused_with_an_example),
        cmocka_unit_test(foreign_units_and_numbers_that_are_none_are_refused),
        cmocka_unit_test(what_is_beyond_any_real_quantity_is_refused),
        cmocka_unit_test(a_long_text_leaves_room_for_the_remedy),
        cmocka_unit_test(a_point_stays_a_point_in_a_locale_with_commas),
        cmocka_unit_test(what_is_written_reads_back_the_same),
        cmocka_unit_test(a_short_text_has_few_digits_and_the_largest_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
