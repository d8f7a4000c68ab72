/* What who measures says first, in the bytes of little-endian machines. */
#ifndef EDGEPS_PROBE_REQUEST_INT_H
#define EDGEPS_PROBE_REQUEST_INT_H

#include <stdint.h>

typedef enum request_kind { REQUEST_RATE = 1, REQUEST_PING } request_kind;

typedef struct request {
    uint64_t token;
    uint64_t kind;
    int64_t settle_ns;
    int64_t window_ns;
} request;

/* A ping goes back as it came; a rate's answer is the bytes that came and the time they took. */
typedef struct answer {
    int64_t bytes;
    int64_t took_ns;
} answer;

#define PING_BYTES 16

#endif
