#include "formats/json_int.h"

#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_BYTES 65536

static bool listed(const char *key, const char *const *keys)
{
    for (; *keys; keys++)
        if (strcmp(key, *keys) == 0)
            return true;
    return false;
}

static void join_keys(const char *const *keys, char *text, size_t size)
{
    size_t used = 0;
    for (; *keys && used < size; keys++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", *keys);
}

edgeps_err json_check_keys(const json_t *object, const char *const *keys, edgeps_diag *diag)
{
    if (!json_is_object(object))
        return diag_fail(diag, EDGEPS_FORMAT, "must be an object in braces");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        if (listed(key, keys))
            continue;
        char known[256] = "";
        join_keys(keys, known, sizeof known);
        return diag_fail(diag, EDGEPS_FORMAT, "%.40s: no such key; there are: %s", key, known);
    }
    return EDGEPS_OK;
}

edgeps_err json_parse(const char *text, size_t length, edgeps_diag *diag, json_t **out)
{
    json_error_t at;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &at);
    if (root) {
        *out = root;
        return EDGEPS_OK;
    }
    edgeps_err err =
        diag_fail(diag, EDGEPS_FORMAT, "line %d, column %d: %s", at.line, at.column, at.text);
    if (diag) {
        diag->line = at.line;
        diag->column = at.column;
    }
    return err;
}

static edgeps_err unreadable(const char *path, edgeps_diag *diag)
{
    return diag_fail(diag, EDGEPS_USAGE, "%s: cannot be read: %s", path, strerror(errno));
}

edgeps_err json_read_file(const char *path, int64_t most_bytes, edgeps_diag *diag, char **text,
                          size_t *length)
{
    FILE *file = fopen(path, "re");
    char *bytes = NULL;
    size_t used = 0, room = 0;
    if (!file)
        return unreadable(path, diag);
    edgeps_err err = EDGEPS_OK;
    for (size_t got = 1; !err && got; used += got) {
        char *more = mem_grow(bytes, used + READ_BYTES, 1, &room);
        if (!more) {
            err = diag_fail(diag, EDGEPS_NOMEM, "%s: no memory to read it", path);
            break;
        }
        bytes = more;
        got = fread(bytes + used, 1, room - used, file);
        if ((int64_t)(used + got) > most_bytes)
            err = diag_fail(diag, EDGEPS_USAGE, "%s: is larger than any such file", path);
    }
    if (!err && ferror(file))
        err = unreadable(path, diag);
    fclose(file);
    if (err) {
        mem_free(bytes);
        return err;
    }
    *text = bytes;
    *length = used;
    return EDGEPS_OK;
}

edgeps_err json_index(const void *owner, size_t count, json_name_of *name, edgeps_diag *diag,
                      json_t **out)
{
    json_t *index = json_object();
    edgeps_err err = index ? EDGEPS_OK : diag_fail(diag, EDGEPS_NOMEM, "no memory for names");
    for (size_t i = 0; !err && i < count; i++) {
        const char *text = name(owner, i);
        if (!text)
            err = diag_fail(diag, EDGEPS_FORMAT, "node %zu has no name", i);
        else if (json_object_get(index, text))
            err = diag_fail(diag, EDGEPS_FORMAT, "two nodes are called '%.63s'", text);
        else if (json_object_set_new(index, text, json_integer((json_int_t)i)))
            err = diag_fail(diag, EDGEPS_FORMAT, "node %zu: its name is not UTF-8", i);
    }
    if (err)
        json_decref(index);
    else
        *out = index;
    return err;
}

edgeps_err json_take_text(json_t *root, size_t flags, char **text)
{
    char *printed = json_dumps(root, flags);
    json_decref(root);
    char *copy = printed ? mem_copy_text(printed) : NULL;
    free(printed);
    if (!copy)
        return EDGEPS_NOMEM;
    *text = copy;
    return EDGEPS_OK;
}

void json_set_text(json_t *o, const char *key, const char *text)
{
    if (text)
        json_object_set_new(o, key, json_string(text));
}

void json_set_count(json_t *o, const char *key, uint64_t count)
{
    json_object_set_new(o, key, json_integer((json_int_t)count));
}

void json_set_real(json_t *o, const char *key, double value)
{
    if (isfinite(value))
        json_object_set_new(o, key, json_real(value));
}

void json_put_quoted(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        fputc(*text, file);
    }
    fputc('"', file);
}
