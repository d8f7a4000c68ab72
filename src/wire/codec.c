#include "wire/codec.h"

#include "base/mem.h"
#include "wire/bytes_int.h"

/* Room for `count` more bytes, counted as written; NULL after a failure. */
static uint8_t *grow(wire_writer *w, size_t count)
{
    if (w->failed)
        return NULL;
    uint8_t *bytes =
        count <= SIZE_MAX - w->count ? mem_grow(w->bytes, w->count + count, 1, &w->room) : NULL;
    if (!bytes) {
        w->failed = true;
        return NULL;
    }
    w->bytes = bytes;
    uint8_t *at = w->bytes + w->count;
    w->count += count;
    return at;
}

static void put_number(wire_writer *w, uint64_t value, int width)
{
    uint8_t *at = grow(w, (size_t)width);
    if (at)
        bytes_put(at, value, width);
}

void wire_put_u8(wire_writer *w, uint8_t value) { put_number(w, value, 1); }
void wire_put_u32(wire_writer *w, uint32_t value) { put_number(w, value, 4); }
void wire_put_u64(wire_writer *w, uint64_t value) { put_number(w, value, 8); }
void wire_put_i64(wire_writer *w, int64_t value) { put_number(w, (uint64_t)value, 8); }
void wire_put_f64(wire_writer *w, double value) { put_number(w, bytes_of_double(value), 8); }

void wire_put_bytes(wire_writer *w, const void *bytes, size_t count)
{
    if (count > UINT32_MAX) {
        w->failed = true;
        return;
    }
    wire_put_u32(w, (uint32_t)count);
    uint8_t *at = grow(w, count);
    if (at && count > 0)
        memcpy(at, bytes, count);
}

void wire_put_text(wire_writer *w, const char *text)
{
    wire_put_bytes(w, text, strlen(text));
    wire_put_u8(w, 0);
}

edgeps_err wire_writer_status(const wire_writer *w) { return w->failed ? EDGEPS_NOMEM : EDGEPS_OK; }

uint8_t *wire_writer_take(wire_writer *w, size_t *count)
{
    /* An empty message has a block too, so NULL means failure alone. */
    uint8_t *bytes = w->bytes || w->failed ? w->bytes : mem_alloc(1, 1);
    if (w->failed || !bytes) {
        wire_writer_free(w);
        return NULL;
    }
    *count = w->count;
    *w = (wire_writer){0};
    return bytes;
}

void wire_writer_free(wire_writer *w)
{
    mem_free(w->bytes);
    *w = (wire_writer){0};
}

wire_reader wire_reader_make(const void *bytes, size_t count)
{
    static const uint8_t nothing;
    const uint8_t *start = bytes ? bytes : &nothing;
    return (wire_reader){start, start + (bytes ? count : 0), false};
}

/* The next `count` bytes, or NULL when there are fewer. */
static const uint8_t *advance(wire_reader *r, size_t count)
{
    if (r->failed || count > (size_t)(r->end - r->pos)) {
        r->failed = true;
        return NULL;
    }
    const uint8_t *at = r->pos;
    r->pos += count;
    return at;
}

static uint64_t get_number(wire_reader *r, int width)
{
    const uint8_t *at = advance(r, (size_t)width);
    return at ? bytes_get(at, width) : 0;
}

uint8_t wire_get_u8(wire_reader *r) { return (uint8_t)get_number(r, 1); }
uint32_t wire_get_u32(wire_reader *r) { return (uint32_t)get_number(r, 4); }
uint64_t wire_get_u64(wire_reader *r) { return get_number(r, 8); }
int64_t wire_get_i64(wire_reader *r) { return (int64_t)get_number(r, 8); }
double wire_get_f64(wire_reader *r) { return bytes_to_double(get_number(r, 8)); }

const uint8_t *wire_get_bytes(wire_reader *r, size_t *count)
{
    size_t wanted = wire_get_u32(r);
    const uint8_t *at = advance(r, wanted);
    *count = at ? wanted : 0;
    return at;
}

const char *wire_get_text(wire_reader *r)
{
    size_t length;
    const uint8_t *at = wire_get_bytes(r, &length);
    const uint8_t *zero = advance(r, 1);
    if (!at || !zero || memchr(at, 0, length + 1) != zero) {
        r->failed = true;
        return "";
    }
    return (const char *)at;
}

bool wire_reader_done(const wire_reader *r) { return !r->failed && r->pos == r->end; }
