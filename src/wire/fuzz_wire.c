/* Foreign bytes into the frame decoder and the payload reader. Beyond "no crash": a header that is
 * accepted encodes to the same bytes (its check aside), and a message that the reader accepts
 * wholly is what the writer would have written. */
#include "wire/codec.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void require(int fact)
{
    if (!fact)
        abort();
}

static void check_header(const uint8_t *bytes, size_t count)
{
    wire_header h;
    uint8_t again[WIRE_HEADER_BYTES];
    const uint8_t *payload = bytes + WIRE_HEADER_BYTES;
    size_t length = count - WIRE_HEADER_BYTES;
    bool agrees = wire_verify(bytes, payload, length);
    if (wire_decode(bytes, length, NULL, &h) || h.length != length)
        return;
    wire_encode(&h, payload, again);
    require(memcmp(again, bytes, WIRE_HEADER_BYTES - 4) == 0);
    require(agrees == (memcmp(again, bytes, WIRE_HEADER_BYTES) == 0));
}

/* Copies one field of kind `op` from the reader to the writer. */
static void copy_field(wire_reader *r, wire_writer *w, uint8_t op)
{
    size_t count;
    const uint8_t *blob;
    switch (op % 7) {
    case 0:
        wire_put_u8(w, wire_get_u8(r));
        break;
    case 1:
        wire_put_u32(w, wire_get_u32(r));
        break;
    case 2:
        wire_put_u64(w, wire_get_u64(r));
        break;
    case 3:
        wire_put_i64(w, wire_get_i64(r));
        break;
    case 4:
        wire_put_f64(w, wire_get_f64(r));
        break;
    case 5:
        wire_put_text(w, wire_get_text(r));
        break;
    default:
        blob = wire_get_bytes(r, &count);
        wire_put_bytes(w, blob, count);
    }
}

/* The first 8 bytes choose the fields' kinds, the rest is the message. */
static void check_reader(const uint8_t *bytes, size_t count)
{
    wire_reader r = wire_reader_make(bytes + 8, count - 8);
    wire_writer w = {0};
    for (int i = 0; i < 8; i++) {
        copy_field(&r, &w, bytes[i]);
        require(r.pos >= bytes + 8 && r.pos <= bytes + count);
    }
    if (wire_reader_done(&r))
        require(w.count == count - 8 && memcmp(w.bytes, bytes + 8, w.count) == 0);
    wire_writer_free(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    if (count >= WIRE_HEADER_BYTES)
        check_header(bytes, count);
    if (count >= 8)
        check_reader(bytes, count);
    return 0;
}
