/* Frames: what travels between agents, byte by byte (docs/protocol.md).
 *
 * A frame is a header of 64 bytes and `length` bytes of payload. Numbers are little endian. The
 * check covers header and payload: the low half of XXH3-64 (Collet, xxHash 0.8). Nothing here
 * allocates, copies a payload or knows a socket; what a type means is the sender's and receiver's
 * affair. Control payloads are written and read with wire/codec.h, chunks of float32 travel as they
 * lie in memory.
 */
#ifndef EDGEPS_WIRE_WIRE_H
#define EDGEPS_WIRE_WIRE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define WIRE_HEADER_BYTES 64
#define WIRE_MAGIC 0x50474445u /* "EDGP" as bytes on the wire */
#define WIRE_VERSION 1

typedef struct wire_header {
    uint16_t type;
    uint64_t job;
    uint64_t generation; /* of the plan that the sender follows */
    int64_t round;
    double weight;   /* samples behind a gradient; finite, not negative */
    uint64_t length; /* payload bytes */
    uint32_t sender; /* index of the node in the network */
    uint32_t chunk;
    uint32_t incarnation; /* counts the starts of the sender's process */
} wire_header;

/* Writes the header of a frame, its check included. `payload` holds `h->length` bytes and may be
 * NULL when that is 0. O(length), for the check. */
void wire_encode(const wire_header *h, const void *payload, uint8_t out[WIRE_HEADER_BYTES]);

/* Reads a header and refuses (EDGEPS_PROTOCOL) a foreign magic, another version, a payload above
 * `max_length` bytes, and a weight that is negative or not finite. The check is not looked at: the
 * payload is not here yet. */
edgeps_err wire_decode(const uint8_t in[WIRE_HEADER_BYTES], uint64_t max_length, edgeps_diag *diag,
                       wire_header *out);

/* Whether the check agrees with header and payload. O(length). */
bool wire_verify(const uint8_t in[WIRE_HEADER_BYTES], const void *payload, uint64_t length);

/* XXH3-64 of `count` bytes: what two ends compare after a state has travelled. O(count). */
uint64_t wire_hash(const void *bytes, uint64_t count);

#endif
