/* Quantities with units, as people write them in files and on the command line: "20 Mbit/s",
 * "512 MiB", "15 ms", "900 samples/s". Bits and bytes, k (1000) and Ki (1024) are told apart; a
 * bare number is refused. Values are bytes per second, bytes, seconds, and samples per second.
 * The decimal separator is a point in every locale.
 */
#ifndef EDGEPS_FORMATS_QUANTITY_H
#define EDGEPS_FORMATS_QUANTITY_H

#include "base/api.h"
#include "base/err.h"

#include <stddef.h>

EDGEPS_API_BEGIN

typedef enum quantity_kind {
    QUANTITY_RATE,  /* bytes per second */
    QUANTITY_SIZE,  /* bytes */
    QUANTITY_TIME,  /* seconds */
    QUANTITY_SPEED, /* samples per second */
} quantity_kind;

#define QUANTITY_TEXT_BYTES 64

/* Reads a quantity: 0, or 1e-18 to 1e18. Refuses a missing or foreign unit, a negative value and
 * what is no number, with an example of what to write. EDGEPS_FORMAT. */
edgeps_err quantity_parse(quantity_kind kind, const char *text, edgeps_diag *diag, double *out);

/* Writes a value of that range so that quantity_parse reads back exactly the same one. */
void quantity_text(quantity_kind kind, double value, char text[QUANTITY_TEXT_BYTES]);

/* Writes a value with few digits, for reading: "34.1 Mbit/s", "512 KiB", "1.5 ms". */
void quantity_short(quantity_kind kind, double value, char text[QUANTITY_TEXT_BYTES]);

/* Reads a plain number at the beginning of `text` and returns what follows it; `text` itself, and
 * no value, where there is none. "inf", "nan" and hexadecimal are none. */
const char *quantity_number(const char *text, double *out);

EDGEPS_API_END

#endif
