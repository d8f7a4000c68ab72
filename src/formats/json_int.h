/* What the JSON readers and writers of this room share. */
#ifndef EDGEPS_FORMATS_JSON_INT_H
#define EDGEPS_FORMATS_JSON_INT_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Refuses what is no object, and any key that is not in the NULL-ended list. */
edgeps_err json_check_keys(const json_t *object, const char *const *keys, edgeps_diag *diag);

/* Keys used twice are refused. EDGEPS_FORMAT with line and column. */
edgeps_err json_parse(const char *text, size_t length, edgeps_diag *diag, json_t **out);

/* The whole file; the caller frees it with mem_free. EDGEPS_USAGE when it cannot be read. */
edgeps_err json_read_file(const char *path, int64_t most_bytes, edgeps_diag *diag, char **text,
                          size_t *length);

typedef const char *json_name_of(const void *owner, size_t node);

/* An object from each node's name to its number, to be let go with json_decref. EDGEPS_FORMAT where
 * a name is missing, used twice, or not UTF-8. */
edgeps_err json_index(const void *owner, size_t count, json_name_of *name, edgeps_diag *diag,
                      json_t **out);

/* Members of an object that is written; no text (NULL) and no finite number leave theirs out. */
void json_set_text(json_t *o, const char *key, const char *text);
void json_set_count(json_t *o, const char *key, uint64_t count);
void json_set_real(json_t *o, const char *key, double value);

/* A text without control characters in quotes, as JSON and DOT write it. */
void json_put_quoted(FILE *file, const char *text);

/* Prints `root` and lets it go. The text is freed with mem_free. EDGEPS_NOMEM. */
edgeps_err json_take_text(json_t *root, size_t flags, char **text);

#endif
