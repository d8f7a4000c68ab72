#include "store/safetensors.h"

#include "base/mem.h"
#include "store/disk_int.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define METADATA "__metadata__"
#define LENGTH_BYTES 8
#define ALIGNMENT 64

static const struct {
    const char *name;
    uint64_t bytes;
} dtypes[] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
    {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
    {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8},
};

/* The index in `dtypes`, or -1. */
static int find_dtype(const char *name)
{
    for (size_t i = 0; name && i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return (int)i;
    return -1;
}

static edgeps_err read_shape(const json_t *shape, safetensors_tensor *t, edgeps_diag *diag)
{
    size_t rank = json_array_size(shape), i;
    json_t *extent;
    if (!json_is_array(shape) || rank > SAFETENSORS_MAX_RANK)
        return diag_fail(diag, EDGEPS_FORMAT, "tensor '%s': shape must be an array of at most %d",
                         t->name, SAFETENSORS_MAX_RANK);
    json_array_foreach(shape, i, extent)
    {
        if (!json_is_integer(extent) || json_integer_value(extent) < 0)
            return diag_fail(diag, EDGEPS_FORMAT, "tensor '%s': shape: not a size", t->name);
        t->shape[i] = json_integer_value(extent);
    }
    t->rank = rank;
    return EDGEPS_OK;
}

/* Bytes that shape and type ask for; false when they do not fit into 63 bits. */
static bool shape_bytes(const safetensors_tensor *t, uint64_t value_bytes, uint64_t *out)
{
    uint64_t bytes = value_bytes;
    for (size_t i = 0; i < t->rank; i++)
        if (__builtin_mul_overflow(bytes, (uint64_t)t->shape[i], &bytes) || bytes > INT64_MAX)
            return false;
    *out = bytes;
    return true;
}

static edgeps_err read_offsets(const json_t *offsets, safetensors_tensor *t, const uint8_t *data,
                               uint64_t data_bytes, edgeps_diag *diag)
{
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return diag_fail(diag, EDGEPS_FORMAT, "tensor '%s': data_offsets: two numbers", t->name);
    json_int_t from = json_integer_value(begin), to = json_integer_value(end);
    if (from < 0 || to < from || (uint64_t)to > data_bytes)
        return diag_fail(diag, EDGEPS_FORMAT,
                         "tensor '%s': bytes %" PRId64 " to %" PRId64 " are not in the file",
                         t->name, (int64_t)from, (int64_t)to);
    t->start = data + from;
    t->bytes = (uint64_t)(to - from);
    return EDGEPS_OK;
}

static edgeps_err read_tensor(const char *name, const json_t *entry, const uint8_t *data,
                              uint64_t data_bytes, edgeps_diag *diag, safetensors_tensor *t)
{
    uint64_t needed = 0;
    t->name = mem_copy_text(name);
    if (!t->name)
        return diag_fail(diag, EDGEPS_NOMEM, "safetensors header: out of memory");
    if (json_object_size(entry) != 3)
        return diag_fail(diag, EDGEPS_FORMAT,
                         "tensor '%s': must have dtype, shape and data_offsets", name);
    int dtype = find_dtype(json_string_value(json_object_get(entry, "dtype")));
    if (dtype < 0)
        return diag_fail(diag, EDGEPS_FORMAT, "tensor '%s': dtype is not known", name);
    t->dtype = dtypes[dtype].name;
    edgeps_err err = read_shape(json_object_get(entry, "shape"), t, diag);
    if (!err)
        err = read_offsets(json_object_get(entry, "data_offsets"), t, data, data_bytes, diag);
    if (err)
        return err;
    if (!shape_bytes(t, dtypes[dtype].bytes, &needed) || needed != t->bytes)
        return diag_fail(diag, EDGEPS_FORMAT,
                         "tensor '%s': has %" PRIu64 " bytes, not what its shape asks for", name,
                         t->bytes);
    return EDGEPS_OK;
}

static edgeps_err read_notes(json_t *notes, edgeps_diag *diag, safetensors *s)
{
    const char *key;
    json_t *text;
    if (!json_is_object(notes))
        return diag_fail(diag, EDGEPS_FORMAT, METADATA ": must be an object");
    s->notes = mem_alloc(json_object_size(notes), sizeof *s->notes);
    if (!s->notes)
        return diag_fail(diag, EDGEPS_NOMEM, "safetensors header: out of memory");
    json_object_foreach(notes, key, text)
    {
        if (!json_is_string(text))
            return diag_fail(diag, EDGEPS_FORMAT, METADATA ": '%s' must be a text", key);
        safetensors_note *note = &s->notes[s->note_count++];
        note->key = mem_copy_text(key);
        note->text = mem_copy_text(json_string_value(text));
        if (!note->key || !note->text)
            return diag_fail(diag, EDGEPS_NOMEM, "safetensors header: out of memory");
    }
    return EDGEPS_OK;
}

static int by_place(const void *left, const void *right)
{
    const safetensors_tensor *a = left, *b = right;
    if (a->start != b->start)
        return (const uint8_t *)a->start < (const uint8_t *)b->start ? -1 : 1;
    /* Empty tensors stand in front of the one that begins where they do. */
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/* Each byte belongs to exactly one tensor. */
static edgeps_err check_cover(const safetensors *s, const uint8_t *data, uint64_t data_bytes,
                              edgeps_diag *diag)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < s->tensor_count; i++) {
        const safetensors_tensor *t = &s->tensors[i];
        if (t->start != at)
            return diag_fail(diag, EDGEPS_FORMAT, "tensor '%s': %s", t->name,
                             (const uint8_t *)t->start < at ? "overlaps another one"
                                                            : "bytes before it belong to none");
        at += t->bytes;
    }
    if (at != data + data_bytes)
        return diag_fail(diag, EDGEPS_FORMAT, "%" PRIu64 " bytes at the end belong to no tensor",
                         data_bytes - (uint64_t)(at - data));
    return EDGEPS_OK;
}

static edgeps_err read_entries(json_t *root, const uint8_t *data, uint64_t data_bytes,
                               edgeps_diag *diag, safetensors *s)
{
    const char *name;
    json_t *entry;
    edgeps_err err = EDGEPS_OK;
    s->tensors = mem_alloc(json_object_size(root), sizeof *s->tensors);
    if (!s->tensors)
        return diag_fail(diag, EDGEPS_NOMEM, "safetensors header: out of memory");
    json_object_foreach(root, name, entry)
    {
        if (strcmp(name, METADATA) == 0)
            err = read_notes(entry, diag, s);
        else
            err = read_tensor(name, entry, data, data_bytes, diag, &s->tensors[s->tensor_count++]);
        if (err)
            return err;
    }
    qsort(s->tensors, s->tensor_count, sizeof *s->tensors, by_place);
    return check_cover(s, data, data_bytes, diag);
}

static uint64_t read_length(const uint8_t *bytes)
{
    uint64_t length = 0;
    for (int i = 0; i < LENGTH_BYTES; i++)
        length |= (uint64_t)bytes[i] << (8 * i);
    return length;
}

edgeps_err safetensors_parse(const void *file, size_t count, edgeps_diag *diag, safetensors *out)
{
    const uint8_t *bytes = file;
    safetensors s = {0};
    json_error_t wrong;
    uint64_t length = count >= LENGTH_BYTES ? read_length(bytes) : 0;
    if (count < LENGTH_BYTES || length > count - LENGTH_BYTES ||
        length > SAFETENSORS_MAX_HEADER_BYTES)
        return diag_fail(diag, EDGEPS_FORMAT, "not a whole safetensors file");
    const char *text = (const char *)bytes + LENGTH_BYTES;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &wrong);
    if (!json_is_object(root) || text[0] != '{') {
        json_decref(root);
        return diag_fail(diag, EDGEPS_FORMAT, "safetensors header: %s",
                         root ? "not an object" : wrong.text);
    }
    uint64_t data_bytes = count - LENGTH_BYTES - length;
    edgeps_err err = read_entries(root, bytes + LENGTH_BYTES + length, data_bytes, diag, &s);
    json_decref(root);
    if (err)
        safetensors_free(&s);
    else
        *out = s;
    return err;
}

void safetensors_free(safetensors *s)
{
    for (size_t i = 0; i < s->tensor_count; i++)
        mem_free((void *)(uintptr_t)s->tensors[i].name);
    for (size_t i = 0; i < s->note_count; i++) {
        mem_free((void *)(uintptr_t)s->notes[i].key);
        mem_free((void *)(uintptr_t)s->notes[i].text);
    }
    mem_free(s->tensors);
    mem_free(s->notes);
    *s = (safetensors){0};
}

const safetensors_tensor *safetensors_find(const safetensors *s, const char *name)
{
    for (size_t i = 0; i < s->tensor_count; i++)
        if (strcmp(s->tensors[i].name, name) == 0)
            return &s->tensors[i];
    return NULL;
}

const char *safetensors_note_text(const safetensors *s, const char *key)
{
    for (size_t i = 0; i < s->note_count; i++)
        if (strcmp(s->notes[i].key, key) == 0)
            return s->notes[i].text;
    return NULL;
}

/* The header as JSON, or NULL. jansson's functions pass NULL on, so one check at the end will do.
 */
static json_t *header_json(const safetensors *s)
{
    json_t *root = json_object(), *notes = json_object();
    int failed = 0;
    uint64_t offset = 0;
    for (size_t i = 0; i < s->note_count; i++)
        failed |= json_object_set_new(notes, s->notes[i].key, json_string(s->notes[i].text));
    failed |= json_object_set_new(root, METADATA, notes);
    for (size_t i = 0; i < s->tensor_count; i++) {
        const safetensors_tensor *t = &s->tensors[i];
        json_t *shape = json_array();
        for (size_t k = 0; k < t->rank; k++)
            failed |= json_array_append_new(shape, json_integer(t->shape[k]));
        json_t *entry =
            json_pack("{s:s, s:o, s:[I,I]}", "dtype", t->dtype, "shape", shape, "data_offsets",
                      (json_int_t)offset, (json_int_t)offset + (json_int_t)t->bytes);
        failed |= json_object_set_new(root, t->name, entry);
        offset += t->bytes;
    }
    if (!failed)
        return root;
    json_decref(root);
    return NULL;
}

edgeps_err safetensors_header(const safetensors *s, uint8_t **header, size_t *count)
{
    json_t *root = header_json(s);
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    size_t length = text ? strlen(text) : 0;
    size_t total = (LENGTH_BYTES + length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint8_t *made = text ? mem_alloc(total, 1) : NULL;
    if (made) {
        memset(made, ' ', total);
        for (int i = 0; i < LENGTH_BYTES; i++)
            made[i] = (uint8_t)((total - LENGTH_BYTES) >> (8 * i));
        memcpy(made + LENGTH_BYTES, text, length);
        *header = made;
        *count = total;
    }
    free(text);
    json_decref(root);
    return made ? EDGEPS_OK : EDGEPS_NOMEM;
}

edgeps_err safetensors_write(const char *path, const safetensors *s, edgeps_diag *diag)
{
    uint8_t *header = NULL;
    size_t count = 0;
    int fd = -1;
    edgeps_err err = safetensors_header(s, &header, &count);
    if (err)
        return diag_fail(diag, err, "%s: no memory for its header", path);
    err = disk_create(path, diag, &fd);
    if (!err)
        err = disk_write(fd, header, count, path, diag);
    for (size_t k = 0; !err && k < s->tensor_count; k++)
        err = disk_write(fd, s->tensors[k].start, s->tensors[k].bytes, path, diag);
    if (!err)
        err = disk_sync(fd, path, diag);
    if (fd >= 0)
        close(fd);
    mem_free(header);
    return err;
}
