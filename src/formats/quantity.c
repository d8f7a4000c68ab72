#include "formats/quantity.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nothing real lies outside, and inside no sum or quotient of the cost model overflows. */
#define LEAST 1e-18
#define MOST 1e18

#define ROUNDS_TO_ONE 0.9995 /* to three digits */

typedef struct unit {
    const char *name;
    double value;
} unit;

/* In the order in which quantity_text prefers them. */
static const unit rates[] = {
    {"Mbit/s", 1e6 / 8}, {"kbit/s", 1e3 / 8}, {"bit/s", 1.0 / 8}, {"B/s", 1},
    {"Gbit/s", 1e9 / 8}, {"kB/s", 1e3},       {"MB/s", 1e6},      {"GB/s", 1e9},
    {"KiB/s", 0x1p10},   {"MiB/s", 0x1p20},   {"GiB/s", 0x1p30},  {"Kibit/s", 0x1p7},
    {"Mibit/s", 0x1p17}, {"Gibit/s", 0x1p27}, {NULL, 0},
};
static const unit sizes[] = {
    {"MiB", 0x1p20}, {"KiB", 0x1p10}, {"B", 1},    {"GiB", 0x1p30}, {"TiB", 0x1p40},
    {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9}, {"TB", 1e12},    {NULL, 0},
};
static const unit times[] = {
    {"ms", 1e-3}, {"us", 1e-6}, {"s", 1}, {"ns", 1e-9}, {"min", 60}, {"h", 3600}, {NULL, 0},
};
static const unit speeds[] = {{"samples/s", 1}, {NULL, 0}};

static const struct {
    const unit *units;
    const char *example;
} kinds[] = {
    [QUANTITY_RATE] = {rates, "\"20 Mbit/s\" or \"2.5 MB/s\""},
    [QUANTITY_SIZE] = {sizes, "\"512 MiB\" or \"1.5 GB\""},
    [QUANTITY_TIME] = {times, "\"15 ms\" or \"2 s\""},
    [QUANTITY_SPEED] = {speeds, "\"900 samples/s\""},
};

/* Numbers have a point in files, whatever the language of the host program. */
static locale_t enter_c_locale(locale_t *before)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    *before = uselocale(c);
    return c;
}

static void leave_c_locale(locale_t c, locale_t before)
{
    uselocale(before);
    if (c)
        freelocale(c);
}

/* strtod also reads "inf", "nan" and hexadecimal, which nobody means here. */
const char *quantity_number(const char *text, double *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    if (hexadecimal || !*digits || !strchr(".0123456789", *digits))
        return text;
    char *end;
    locale_t before, c = enter_c_locale(&before);
    double value = strtod(text, &end);
    leave_c_locale(c, before);
    if (!isfinite(value))
        return text;
    *out = value;
    return end;
}

edgeps_err quantity_parse(quantity_kind kind, const char *text, edgeps_diag *diag, double *out)
{
    const char *example = kinds[kind].example;
    double value = 0;
    const char *rest = quantity_number(text, &value);
    if (rest == text)
        return diag_fail(diag, EDGEPS_FORMAT, "'%.40s' is no quantity; write it like %s", text,
                         example);
    while (*rest == ' ')
        rest++;
    if (!*rest)
        return diag_fail(diag, EDGEPS_FORMAT, "'%.40s' has no unit; write it like %s", text,
                         example);
    for (const unit *u = kinds[kind].units; u->name; u++) {
        if (strcmp(u->name, rest) != 0)
            continue;
        if (value < 0)
            return diag_fail(diag, EDGEPS_FORMAT, "'%.40s' is negative", text);
        double scaled = value * u->value;
        if (value != 0 && !(scaled >= LEAST && scaled <= MOST))
            return diag_fail(diag, EDGEPS_FORMAT, "'%.40s' is beyond any real quantity", text);
        *out = scaled;
        return EDGEPS_OK;
    }
    return diag_fail(diag, EDGEPS_FORMAT,
                     "'%.40s': the unit '%.20s' is not known; write it like %s", text, rest,
                     example);
}

static void print(double value, quantity_kind kind, char text[QUANTITY_TEXT_BYTES])
{
    const unit *units = kinds[kind].units;
    for (int digits = 6; digits <= 15; digits += 9)
        for (const unit *u = units; u->name; u++) {
            double read, scaled = value / u->value;
            if (value != 0 && scaled < 1)
                continue;
            snprintf(text, QUANTITY_TEXT_BYTES, "%.*g %s", digits, scaled, u->name);
            if (!quantity_parse(kind, text, NULL, &read) && read == value)
                return;
        }
    const unit *base = units;
    while (base->value != 1)
        base++;
    snprintf(text, QUANTITY_TEXT_BYTES, "%.17g %s", value, base->name);
}

void quantity_text(quantity_kind kind, double value, char text[QUANTITY_TEXT_BYTES])
{
    locale_t before, c = enter_c_locale(&before);
    print(value, kind, text);
    leave_c_locale(c, before);
}

/* The largest unit in which the value, rounded, is 1 or more; `units` from small to large,
 * NULL-ended. */
static void print_short(double value, const unit *units, char text[QUANTITY_TEXT_BYTES])
{
    while (units[1].name && value >= ROUNDS_TO_ONE * units[1].value)
        units++;
    double amount = value / units->value;
    snprintf(text, QUANTITY_TEXT_BYTES, amount < 1000 ? "%.3g %s" : "%.0f %s", amount, units->name);
}

void quantity_short(quantity_kind kind, double value, char text[QUANTITY_TEXT_BYTES])
{
    static const unit usual_rates[] = {{"bit/s", 1.0 / 8},
                                       {"kbit/s", 1e3 / 8},
                                       {"Mbit/s", 1e6 / 8},
                                       {"Gbit/s", 1e9 / 8},
                                       {NULL, 0}};
    static const unit usual_sizes[] = {{"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20},
                                       {"GiB", 0x1p30}, {"TiB", 0x1p40}, {NULL, 0}};
    static const unit usual_times[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};
    static const unit *const usual[] = {[QUANTITY_RATE] = usual_rates,
                                        [QUANTITY_SIZE] = usual_sizes,
                                        [QUANTITY_TIME] = usual_times,
                                        [QUANTITY_SPEED] = speeds};
    locale_t before, c = enter_c_locale(&before);
    print_short(value, usual[kind], text);
    leave_c_locale(c, before);
}
