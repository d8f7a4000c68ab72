/* Codecs for control payloads: a growing writer and a reader that cannot leave its bytes.
 *
 * Both remember the first failure, so a message is written or read field by field without a branch
 * and checked once at the end. Numbers are little endian. Text and bytes carry a u32 count in
 * front; text ends with a zero byte that the count leaves out, so the reader can lend it without a
 * copy.
 *
 *     wire_reader r = wire_reader_make(payload, length);
 *     uint32_t node = wire_get_u32(&r);
 *     const char *name = wire_get_text(&r);
 *     if (!wire_reader_done(&r))
 *         return diag_fail(diag, EDGEPS_PROTOCOL, "...");
 */
#ifndef EDGEPS_WIRE_CODEC_H
#define EDGEPS_WIRE_CODEC_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed writer is an empty one. It owns `bytes` until wire_writer_free or wire_writer_take. */
typedef struct wire_writer {
    uint8_t *bytes;
    size_t count;
    size_t room;
    bool failed; /* no memory, or a text or blob of 4 GiB and more */
} wire_writer;

void wire_put_u8(wire_writer *w, uint8_t value);
void wire_put_u32(wire_writer *w, uint32_t value);
void wire_put_u64(wire_writer *w, uint64_t value);
void wire_put_i64(wire_writer *w, int64_t value);
void wire_put_f64(wire_writer *w, double value);
void wire_put_text(wire_writer *w, const char *text);
void wire_put_bytes(wire_writer *w, const void *bytes, size_t count);

/* EDGEPS_OK when everything put is there, else EDGEPS_NOMEM. */
edgeps_err wire_writer_status(const wire_writer *w);

/* Hands the bytes to the caller (mem_free) and leaves an empty writer; NULL when it failed. */
uint8_t *wire_writer_take(wire_writer *w, size_t *count);

void wire_writer_free(wire_writer *w);

/* Reads `pos` to `end`. After a failure every get returns 0, "" or NULL. */
typedef struct wire_reader {
    const uint8_t *pos;
    const uint8_t *end;
    bool failed;
} wire_reader;

/* `bytes` stay the caller's and must outlive what the reader lends. */
wire_reader wire_reader_make(const void *bytes, size_t count);

uint8_t wire_get_u8(wire_reader *r);
uint32_t wire_get_u32(wire_reader *r);
uint64_t wire_get_u64(wire_reader *r);
int64_t wire_get_i64(wire_reader *r);
double wire_get_f64(wire_reader *r); /* any bit pattern, NaN and infinities too */

/* Lends a text, never NULL; fails on a text with a zero byte inside. */
const char *wire_get_text(wire_reader *r);

/* Lends `*count` bytes, possibly 0; NULL and 0 after a failure. */
const uint8_t *wire_get_bytes(wire_reader *r, size_t *count);

/* Whether all gets succeeded and nothing is left over. */
bool wire_reader_done(const wire_reader *r);

#endif
