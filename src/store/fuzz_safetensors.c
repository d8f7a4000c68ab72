/* Foreign files into the safetensors reader. What is accepted is written again: the new header with
 * the same data must read as the same tensors and notes. */
#include "store/safetensors.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void require(int fact)
{
    if (!fact)
        abort();
}

static void require_same(const safetensors *a, const safetensors *b)
{
    require(a->tensor_count == b->tensor_count && a->note_count == b->note_count);
    for (size_t i = 0; i < a->tensor_count; i++) {
        const safetensors_tensor *t = &a->tensors[i], *u = safetensors_find(b, t->name);
        require(u && t->dtype == u->dtype && t->rank == u->rank && t->bytes == u->bytes);
        require(memcmp(t->shape, u->shape, sizeof t->shape) == 0);
        require(memcmp(t->start, u->start, t->bytes) == 0);
    }
    for (size_t i = 0; i < a->note_count; i++) {
        const char *text = safetensors_note_text(b, a->notes[i].key);
        require(text && strcmp(text, a->notes[i].text) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    safetensors s, again;
    uint8_t *header = NULL;
    size_t header_bytes = 0, data_bytes = 0;
    if (safetensors_parse(bytes, count, NULL, &s))
        return 0;
    for (size_t i = 0; i < s.tensor_count; i++)
        data_bytes += s.tensors[i].bytes;
    require(data_bytes <= count);
    require(safetensors_header(&s, &header, &header_bytes) == EDGEPS_OK);
    uint8_t *file = mem_resize(header, header_bytes + data_bytes, 1);
    require(file != NULL);
    if (data_bytes > 0)
        memcpy(file + header_bytes, bytes + count - data_bytes, data_bytes);
    require(safetensors_parse(file, header_bytes + data_bytes, NULL, &again) == EDGEPS_OK);
    require_same(&s, &again);
    safetensors_free(&s);
    safetensors_free(&again);
    mem_free(file);
    return 0;
}
