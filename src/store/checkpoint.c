#include "store/checkpoint.h"

#include "base/log.h"
#include "base/mem.h"
#include "store/disk_int.h"
#include "store/folder_int.h"
#include "store/safetensors.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_STATIC_LINKING_ONLY /* the hash state may stand on the stack */
#include <xxhash.h>

#define FORMAT_NAME "edgeps-checkpoint"
#define FORMAT_VERSION "1"
#define MODEL_MAX_BYTES 255
#define PARAMETERS "parameters"
#define VELOCITY "optimizer.velocity"
#define OUT_OF_MEMORY "checkpoint: out of memory"

enum { FORMAT, VERSION, JOB, GENERATION, ROUND, EPOCH, MODEL, HASH, NOTES };

int64_t checkpoint_max_bytes(int64_t parameter_count)
{
    return CHECKPOINT_HEADER_MAX_BYTES + 2 * parameter_count * (int64_t)sizeof(float);
}

/* XXH3-64 over the tensors' bytes and then over what the notes say, each text with its zero byte: a
 * flipped bit anywhere is found. */
static uint64_t hash_of(const safetensors *s)
{
    static const char *const keys[] = {"job", "generation", "round", "epoch", "model"};
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (size_t i = 0; i < s->tensor_count; i++)
        if (s->tensors[i].bytes > 0)
            XXH3_64bits_update(&state, s->tensors[i].start, s->tensors[i].bytes);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *text = safetensors_note_text(s, keys[i]);
        XXH3_64bits_update(&state, text ? text : "", text ? strlen(text) + 1 : 1);
    }
    return XXH3_64bits_digest(&state);
}

static safetensors_tensor vector(const char *name, const float *values, int64_t count)
{
    return (safetensors_tensor){.name = name,
                                .dtype = "F32",
                                .rank = 1,
                                .shape = {count},
                                .start = values,
                                .bytes = (uint64_t)count * sizeof *values};
}

static edgeps_err write_file(const char *path, const checkpoint *c, edgeps_diag *diag)
{
    char numbers[NOTES][32];
    snprintf(numbers[JOB], sizeof *numbers, "%016" PRIx64, c->job);
    snprintf(numbers[GENERATION], sizeof *numbers, "%" PRIu64, c->generation);
    snprintf(numbers[ROUND], sizeof *numbers, "%" PRId64, c->round);
    snprintf(numbers[EPOCH], sizeof *numbers, "%" PRId64, c->epoch);
    safetensors_note notes[NOTES] = {
        [FORMAT] = {"format", FORMAT_NAME},  [VERSION] = {"version", FORMAT_VERSION},
        [JOB] = {"job", numbers[JOB]},       [GENERATION] = {"generation", numbers[GENERATION]},
        [ROUND] = {"round", numbers[ROUND]}, [EPOCH] = {"epoch", numbers[EPOCH]},
        [MODEL] = {"model", c->model},       [HASH] = {"xxh3", numbers[HASH]},
    };
    safetensors_tensor tensors[] = {vector(PARAMETERS, c->parameters, c->parameter_count),
                                    vector(VELOCITY, c->velocity, c->parameter_count)};
    const safetensors s = {tensors, 2, notes, NOTES};
    snprintf(numbers[HASH], sizeof *numbers, "%016" PRIx64, hash_of(&s));
    return safetensors_write(path, &s, diag);
}

edgeps_err checkpoint_prune(const char *dir, int keep, edgeps_diag *diag)
{
    folder_entry *entries = NULL;
    size_t count = 0;
    char path[FOLDER_PATH_BYTES];
    edgeps_err err = folder_list(dir, diag, &entries, &count);
    /* The oldest first: whenever a crash ends this, the newest is among those that are left. */
    for (size_t i = count; !err && i > (size_t)keep; i--) {
        err = folder_path(dir, entries[i - 1].generation, entries[i - 1].round, diag, path);
        if (!err)
            err = disk_remove(path, diag);
    }
    mem_free(entries);
    return err;
}

edgeps_err checkpoint_write(const char *dir, const checkpoint *c, int keep, edgeps_diag *diag)
{
    char path[FOLDER_PATH_BYTES], partial[FOLDER_PATH_BYTES];
    assert(keep >= 1);
    if (strlen(c->model) > MODEL_MAX_BYTES)
        return diag_fail(diag, EDGEPS_USAGE, "checkpoint: the model's name is too long");
    edgeps_err err = folder_path(dir, c->generation, c->round, diag, path);
    if (!err)
        err = folder_partial_path(dir, diag, partial);
    /* A crash between rename and removal leaves one too many. */
    if (!err)
        err = checkpoint_prune(dir, keep, diag);
    if (err)
        return err;
    err = write_file(partial, c, diag);
    if (!err)
        err = disk_rename(partial, path, diag);
    if (err) {
        unlink(partial);
        return err;
    }
    err = disk_sync_folder(dir, diag);
    return err ? err : checkpoint_prune(dir, keep, diag);
}

/* A note that must be there and be a whole number of this base. */
static edgeps_err read_number(const safetensors *s, const char *key, int base, edgeps_diag *diag,
                              uint64_t *out)
{
    const char *text = safetensors_note_text(s, key);
    char *end = NULL;
    errno = 0;
    uint64_t value = text && *text ? strtoull(text, &end, base) : 0;
    if (!end || *end || errno)
        return diag_fail(diag, EDGEPS_FORMAT, "'%s' is missing or no number", key);
    *out = value;
    return EDGEPS_OK;
}

static edgeps_err read_numbers(const safetensors *s, edgeps_diag *diag, checkpoint *c,
                               uint64_t *hash)
{
    uint64_t round = 0, epoch = 0;
    edgeps_err err = read_number(s, "job", 16, diag, &c->job);
    if (!err)
        err = read_number(s, "generation", 10, diag, &c->generation);
    if (!err)
        err = read_number(s, "round", 10, diag, &round);
    if (!err)
        err = read_number(s, "epoch", 10, diag, &epoch);
    if (!err)
        err = read_number(s, "xxh3", 16, diag, hash);
    c->round = (int64_t)round;
    c->epoch = (int64_t)epoch;
    return err;
}

static bool is_vector(const safetensors_tensor *t)
{
    return t && strcmp(t->dtype, "F32") == 0 && t->rank == 1;
}

/* The two tensors of a file that is a whole checkpoint. */
static edgeps_err find_tensors(const safetensors *s, uint64_t hash, edgeps_diag *diag,
                               const safetensors_tensor **parameters,
                               const safetensors_tensor **velocity)
{
    const char *format = safetensors_note_text(s, "format");
    const char *version = safetensors_note_text(s, "version");
    const safetensors_tensor *p = safetensors_find(s, PARAMETERS);
    const safetensors_tensor *v = safetensors_find(s, VELOCITY);
    if (!format || strcmp(format, FORMAT_NAME) != 0)
        return diag_fail(diag, EDGEPS_FORMAT, "not a checkpoint of edgeps");
    if (!version || strcmp(version, FORMAT_VERSION) != 0)
        return diag_fail(diag, EDGEPS_FORMAT, "checkpoint version %s, this program reads %s",
                         version ? version : "?", FORMAT_VERSION);
    if (!is_vector(p) || !is_vector(v) || p > v || p->bytes != v->bytes || s->tensor_count != 2)
        return diag_fail(diag, EDGEPS_FORMAT, "not the tensors of a checkpoint");
    if (hash_of(s) != hash)
        return diag_fail(diag, EDGEPS_FORMAT, "damaged: the hash does not agree");
    *parameters = p;
    *velocity = v;
    return EDGEPS_OK;
}

static edgeps_err copy_out(const safetensors *s, const safetensors_tensor *parameters,
                           const safetensors_tensor *velocity, edgeps_diag *diag, checkpoint *c)
{
    const char *model = safetensors_note_text(s, "model");
    size_t count = (size_t)parameters->shape[0];
    c->parameter_count = parameters->shape[0];
    c->model = mem_copy_text(model ? model : "");
    c->parameters = mem_alloc(count, sizeof *c->parameters);
    c->velocity = mem_alloc(count, sizeof *c->velocity);
    if (!c->model || !c->parameters || !c->velocity)
        return diag_fail(diag, EDGEPS_NOMEM, OUT_OF_MEMORY);
    memcpy(c->parameters, parameters->start, parameters->bytes);
    memcpy(c->velocity, velocity->start, velocity->bytes);
    return EDGEPS_OK;
}

static edgeps_err load(const char *path, edgeps_diag *diag, checkpoint *out)
{
    const uint8_t *file = NULL;
    size_t count = 0;
    safetensors s = {0};
    checkpoint c = {0};
    uint64_t hash = 0;
    const safetensors_tensor *parameters = NULL, *velocity = NULL;
    edgeps_err err = disk_map(path, diag, &file, &count);
    if (err)
        return err;
    err = safetensors_parse(file, count, diag, &s);
    if (!err)
        err = read_numbers(&s, diag, &c, &hash);
    if (!err)
        err = find_tensors(&s, hash, diag, &parameters, &velocity);
    if (!err)
        err = copy_out(&s, parameters, velocity, diag, &c);
    if (!err)
        *out = c;
    else
        checkpoint_free(&c);
    safetensors_free(&s);
    disk_unmap(file, count);
    return diag_wrap(diag, err, "%s", path);
}

edgeps_err checkpoint_load_newest(const char *dir, edgeps_diag *diag, checkpoint *out)
{
    folder_entry *entries = NULL;
    size_t count = 0;
    char path[FOLDER_PATH_BYTES];
    edgeps_diag own;
    edgeps_err err = folder_list(dir, diag, &entries, &count);
    if (!err && count == 0)
        *out = (checkpoint){0};
    for (size_t i = 0; i < count; i++) {
        err = folder_path(dir, entries[i].generation, entries[i].round, &own, path);
        if (!err)
            err = load(path, &own, out);
        if (err != EDGEPS_FORMAT && err != EDGEPS_IO)
            break;
        log_line(LOG_WARNING, "skipped: %s", own.text);
    }
    if (err && count > 0)
        diag_fail(diag, err, "%s%s",
                  err == EDGEPS_NOMEM ? "" : "no whole checkpoint is left: ", own.text);
    mem_free(entries);
    return err;
}

void checkpoint_free(checkpoint *c)
{
    mem_free((void *)(uintptr_t)c->model);
    mem_free(c->parameters);
    mem_free(c->velocity);
    *c = (checkpoint){0};
}

edgeps_err checkpoint_used_bytes(const char *dir, edgeps_diag *diag, int64_t *bytes)
{
    folder_entry *entries = NULL;
    size_t count = 0;
    char partial[FOLDER_PATH_BYTES];
    struct stat status;
    edgeps_err err = folder_partial_path(dir, diag, partial);
    if (!err)
        err = folder_list(dir, diag, &entries, &count);
    if (err)
        return err;
    int64_t sum = stat(partial, &status) == 0 ? status.st_size : 0;
    for (size_t i = 0; i < count; i++)
        sum += entries[i].bytes;
    mem_free(entries);
    *bytes = sum;
    return EDGEPS_OK;
}
