#include "wire/wire.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The example of docs/protocol.md. */
static const wire_header example = {
    .type = 7,
    .job = 0x1122334455667788,
    .generation = 3,
    .round = 41,
    .weight = 64.0,
    .length = 8,
    .sender = 5,
    .chunk = 2,
    .incarnation = 1,
};
static const float example_payload[2] = {1.0f, -2.5f};

/* Collects the hexadecimal bytes of the first "```hex" block; lines are "offset  bytes". */
static size_t documented_bytes(const char *path, uint8_t *out, size_t room)
{
    FILE *file = fopen(path, "r");
    char line[256];
    size_t count = 0;
    bool inside = false;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "```", 3) == 0) {
            if (inside)
                break;
            inside = strncmp(line, "```hex", 6) == 0;
            continue;
        }
        char *at = strchr(line, ' ');
        for (char *end = NULL; inside && at && count < room; at = end) {
            unsigned long byte = strtoul(at, &end, 16);
            if (end == at)
                break;
            out[count++] = (uint8_t)byte;
        }
    }
    fclose(file);
    return count;
}

static void assert_same_header(const wire_header *a, const wire_header *b)
{
    assert_int_equal(a->type, b->type);
    assert_true(a->job == b->job && a->generation == b->generation && a->round == b->round);
    assert_true(a->weight == b->weight && a->length == b->length);
    assert_true(a->sender == b->sender && a->chunk == b->chunk);
    assert_int_equal(a->incarnation, b->incarnation);
}

static void decodes_the_documented_example(void **state)
{
    (void)state;
    uint8_t frame[128];
    wire_header h;
    size_t count = documented_bytes(EDGEPS_SOURCE_DIR "/docs/protocol.md", frame, sizeof frame);
    assert_int_equal(count, WIRE_HEADER_BYTES + sizeof example_payload);
    assert_int_equal(wire_decode(frame, 8, NULL, &h), EDGEPS_OK);
    assert_same_header(&h, &example);
    assert_memory_equal(frame + WIRE_HEADER_BYTES, example_payload, sizeof example_payload);
    assert_true(wire_verify(frame, frame + WIRE_HEADER_BYTES, h.length));
    uint8_t encoded[WIRE_HEADER_BYTES];
    wire_encode(&example, example_payload, encoded);
    assert_memory_equal(encoded, frame, sizeof encoded);
}

static void any_header_survives_the_round_trip(void **state)
{
    (void)state;
    rng r = rng_make(1, 0);
    static uint8_t payload[1000];
    for (int i = 0; i < 2000; i++) {
        wire_header h = {
            .type = (uint16_t)rng_next(&r),
            .job = rng_next(&r),
            .generation = rng_next(&r),
            .round = (int64_t)rng_next(&r),
            .weight = rng_uniform(&r) * 1e9,
            .length = rng_below(&r, sizeof payload + 1),
            .sender = (uint32_t)rng_next(&r),
            .chunk = (uint32_t)rng_next(&r),
            .incarnation = (uint32_t)rng_next(&r),
        };
        uint8_t bytes[WIRE_HEADER_BYTES];
        wire_header back;
        wire_encode(&h, payload, bytes);
        assert_int_equal(wire_decode(bytes, sizeof payload, NULL, &back), EDGEPS_OK);
        assert_same_header(&back, &h);
        assert_true(wire_verify(bytes, payload, h.length));
    }
}

/* One-shot hash over a contiguous copy, against the streamed one of the module. */
static void check_is_the_low_half_of_xxh3_over_the_frame(void **state)
{
    (void)state;
    uint8_t frame[WIRE_HEADER_BYTES + sizeof example_payload];
    wire_encode(&example, example_payload, frame);
    memcpy(frame + WIRE_HEADER_BYTES, example_payload, sizeof example_payload);
    uint32_t stored = (uint32_t)frame[60] | (uint32_t)frame[61] << 8 | (uint32_t)frame[62] << 16 |
                      (uint32_t)frame[63] << 24;
    memset(frame + 60, 0, 4);
    assert_int_equal(stored, (uint32_t)XXH3_64bits(frame, sizeof frame));
}

static void check_sees_each_flipped_bit(void **state)
{
    (void)state;
    uint8_t frame[WIRE_HEADER_BYTES + sizeof example_payload];
    uint8_t *payload = frame + WIRE_HEADER_BYTES;
    wire_encode(&example, example_payload, frame);
    memcpy(payload, example_payload, sizeof example_payload);
    for (size_t bit = 0; bit < 8 * sizeof frame; bit++) {
        frame[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        assert_false(wire_verify(frame, payload, sizeof example_payload));
        frame[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    assert_true(wire_verify(frame, payload, sizeof example_payload));
    assert_false(wire_verify(frame, payload, sizeof example_payload - 1));
}

static void expect_refusal(const uint8_t *bytes, uint64_t max_length, const char *words)
{
    edgeps_diag diag;
    wire_header h = {.type = 99};
    assert_int_equal(wire_decode(bytes, max_length, &diag, &h), EDGEPS_PROTOCOL);
    assert_int_equal(h.type, 99);
    if (!strstr(diag.text, words))
        fail_msg("'%s' lacks '%s'", diag.text, words);
}

static void says_why_a_header_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[WIRE_HEADER_BYTES];
    wire_encode(&example, example_payload, bytes);
    expect_refusal(bytes, 7, "payload of 8 bytes, at most 7");
    bytes[4] = 2;
    expect_refusal(bytes, 8, "protocol version 2, this program speaks 1");
    memcpy(bytes, "GET / HTTP", 10);
    expect_refusal(bytes, 8, "not a frame of edgeps");
    static const double weights[] = {-1, NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 4; i++) {
        wire_header h = example;
        h.weight = weights[i];
        wire_encode(&h, example_payload, bytes);
        expect_refusal(bytes, 8, "weight");
    }
}

static void a_length_of_64_bits_is_refused_not_truncated(void **state)
{
    (void)state;
    uint8_t bytes[WIRE_HEADER_BYTES];
    wire_encode(&example, example_payload, bytes);
    memset(bytes + 40, 0xff, 8);
    expect_refusal(bytes, 1 << 30, "payload of 18446744073709551615 bytes");
    memcpy(bytes + 40, "\0\0\0\0\1\0\0\0", 8);
    expect_refusal(bytes, UINT32_MAX, "payload of 4294967296 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_the_documented_example),
        cmocka_unit_test(any_header_survives_the_round_trip),
        cmocka_unit_test(check_is_the_low_half_of_xxh3_over_the_frame),
        cmocka_unit_test(check_sees_each_flipped_bit),
        cmocka_unit_test(says_why_a_header_is_refused),
        cmocka_unit_test(a_length_of_64_bits_is_refused_not_truncated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
