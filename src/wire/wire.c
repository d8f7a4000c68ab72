#include "wire/wire.h"

#include "wire/bytes_int.h"

#include <inttypes.h>
#include <math.h>

#define XXH_STATIC_LINKING_ONLY /* the hash state may stand on the stack */
#include <xxhash.h>

/* Offsets of the fields; docs/protocol.md shows the same table. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_TYPE = 6,
    AT_JOB = 8,
    AT_GENERATION = 16,
    AT_ROUND = 24,
    AT_WEIGHT = 32,
    AT_LENGTH = 40,
    AT_SENDER = 48,
    AT_CHUNK = 52,
    AT_INCARNATION = 56,
    AT_CHECK = 60,
};

_Static_assert(AT_CHECK + 4 == WIRE_HEADER_BYTES, "the check ends the header");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "chunks of float32 travel as they lie in memory");

static uint32_t check_of(const uint8_t *header, const void *payload, uint64_t length)
{
    static const uint8_t no_check[4];
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, header, AT_CHECK);
    XXH3_64bits_update(&state, no_check, sizeof no_check);
    if (length > 0)
        XXH3_64bits_update(&state, payload, length);
    return (uint32_t)XXH3_64bits_digest(&state);
}

void wire_encode(const wire_header *h, const void *payload, uint8_t out[WIRE_HEADER_BYTES])
{
    bytes_put(out + AT_MAGIC, WIRE_MAGIC, 4);
    bytes_put(out + AT_VERSION, WIRE_VERSION, 2);
    bytes_put(out + AT_TYPE, h->type, 2);
    bytes_put(out + AT_JOB, h->job, 8);
    bytes_put(out + AT_GENERATION, h->generation, 8);
    bytes_put(out + AT_ROUND, (uint64_t)h->round, 8);
    bytes_put(out + AT_WEIGHT, bytes_of_double(h->weight), 8);
    bytes_put(out + AT_LENGTH, h->length, 8);
    bytes_put(out + AT_SENDER, h->sender, 4);
    bytes_put(out + AT_CHUNK, h->chunk, 4);
    bytes_put(out + AT_INCARNATION, h->incarnation, 4);
    bytes_put(out + AT_CHECK, check_of(out, payload, h->length), 4);
}

edgeps_err wire_decode(const uint8_t in[WIRE_HEADER_BYTES], uint64_t max_length, edgeps_diag *diag,
                       wire_header *out)
{
    uint32_t magic = (uint32_t)bytes_get(in + AT_MAGIC, 4);
    if (magic != WIRE_MAGIC)
        return diag_fail(diag, EDGEPS_PROTOCOL,
                         "not a frame of edgeps (it begins with %08" PRIx32 ")", magic);
    unsigned version = (unsigned)bytes_get(in + AT_VERSION, 2);
    if (version != WIRE_VERSION)
        return diag_fail(
            diag, EDGEPS_PROTOCOL,
            "protocol version %u, this program speaks %d; run the same edgeps everywhere", version,
            WIRE_VERSION);
    uint64_t length = bytes_get(in + AT_LENGTH, 8);
    if (length > max_length)
        return diag_fail(diag, EDGEPS_PROTOCOL,
                         "payload of %" PRIu64 " bytes, at most %" PRIu64 " are taken", length,
                         max_length);
    double weight = bytes_to_double(bytes_get(in + AT_WEIGHT, 8));
    if (!isfinite(weight) || weight < 0)
        return diag_fail(diag, EDGEPS_PROTOCOL, "weight %g, must be finite and not negative",
                         weight);
    *out = (wire_header){
        .type = (uint16_t)bytes_get(in + AT_TYPE, 2),
        .job = bytes_get(in + AT_JOB, 8),
        .generation = bytes_get(in + AT_GENERATION, 8),
        .round = (int64_t)bytes_get(in + AT_ROUND, 8),
        .weight = weight,
        .length = length,
        .sender = (uint32_t)bytes_get(in + AT_SENDER, 4),
        .chunk = (uint32_t)bytes_get(in + AT_CHUNK, 4),
        .incarnation = (uint32_t)bytes_get(in + AT_INCARNATION, 4),
    };
    return EDGEPS_OK;
}

bool wire_verify(const uint8_t in[WIRE_HEADER_BYTES], const void *payload, uint64_t length)
{
    return bytes_get(in + AT_CHECK, 4) == check_of(in, payload, length);
}

uint64_t wire_hash(const void *bytes, uint64_t count) { return XXH3_64bits(bytes, count); }
