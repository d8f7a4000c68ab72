/* Tensors in a file, in the safetensors format of Hugging Face (github.com/huggingface/safetensors,
 * "Format"): 8 bytes of header length, little endian; a JSON object; the tensors' bytes.
 *
 * Reading is strict: every byte after the header belongs to exactly one tensor, sizes agree with
 * shapes, and no key stands twice. Nothing is copied: tensors point into the file's bytes.
 */
#ifndef EDGEPS_STORE_SAFETENSORS_H
#define EDGEPS_STORE_SAFETENSORS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define SAFETENSORS_MAX_RANK 8
#define SAFETENSORS_MAX_HEADER_BYTES 100000000 /* the format's own limit */

typedef struct safetensors_tensor {
    const char *name;
    const char *dtype; /* "F32", ...; a static text */
    size_t rank;       /* 0 is a scalar */
    int64_t shape[SAFETENSORS_MAX_RANK];
    const void *start;
    uint64_t bytes;
} safetensors_tensor;

/* An entry of `__metadata__`. */
typedef struct safetensors_note {
    const char *key;
    const char *text;
} safetensors_note;

/* A file that was read: tensors in the order of their bytes. Owns the arrays and texts; the
 * tensors' bytes are those of the file. */
typedef struct safetensors {
    safetensors_tensor *tensors;
    size_t tensor_count;
    safetensors_note *notes;
    size_t note_count;
} safetensors;

/* Checks and reads a whole file in memory. EDGEPS_FORMAT names the first thing that is wrong.
 * O(count of header bytes). */
edgeps_err safetensors_parse(const void *file, size_t count, edgeps_diag *diag, safetensors *out);

void safetensors_free(safetensors *s);

/* The tensor or note of this name, or NULL. */
const safetensors_tensor *safetensors_find(const safetensors *s, const char *name);
const char *safetensors_note_text(const safetensors *s, const char *key);

/* The bytes in front of the tensors' own: length and header, padded with spaces so that tensors
 * begin at a multiple of 64. Each tensor's `bytes` must agree with its shape. The caller frees with
 * mem_free. EDGEPS_NOMEM. */
edgeps_err safetensors_header(const safetensors *s, uint8_t **header, size_t *count);

/* Makes the file `path`, or replaces its contents, and syncs it; after a failure it is not whole.
 */
edgeps_err safetensors_write(const char *path, const safetensors *s, edgeps_diag *diag);

#endif
