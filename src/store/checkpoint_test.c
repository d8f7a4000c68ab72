#include "store/checkpoint.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "store/disk_int.h"
#include "store/test_folder.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

#define COUNT 1000

static float parameters[COUNT], velocity[COUNT];

static checkpoint sample(uint64_t generation, int64_t round)
{
    rng r = rng_make(generation, (uint64_t)round);
    for (int i = 0; i < COUNT; i++) {
        parameters[i] = (float)rng_normal(&r);
        velocity[i] = (float)rng_normal(&r);
    }
    return (checkpoint){.generation = generation,
                        .round = round,
                        .epoch = round / 10,
                        .job = 0xfedcba9876543210,
                        .model = "mlp",
                        .parameter_count = COUNT,
                        .parameters = parameters,
                        .velocity = velocity};
}

static void write_one(const test_folder *folder, uint64_t generation, int64_t round, int keep)
{
    edgeps_diag diag = {.text = ""};
    checkpoint c = sample(generation, round);
    if (checkpoint_write(folder->path, &c, keep, &diag))
        fail_msg("%s", diag.text);
}

/* The newest is this one, to the last bit. */
static void expect_newest(const test_folder *folder, uint64_t generation, int64_t round)
{
    edgeps_diag diag = {.text = ""};
    checkpoint got;
    if (checkpoint_load_newest(folder->path, &diag, &got))
        fail_msg("%s", diag.text);
    assert_non_null(got.parameters);
    checkpoint c = sample(generation, round);
    assert_true(got.generation == generation && got.round == round && got.epoch == c.epoch);
    assert_true(got.job == c.job);
    assert_string_equal(got.model, "mlp");
    assert_int_equal(got.parameter_count, COUNT);
    assert_memory_equal(got.parameters, parameters, sizeof parameters);
    assert_memory_equal(got.velocity, velocity, sizeof velocity);
    checkpoint_free(&got);
}

static void path_of(const test_folder *folder, uint64_t generation, int64_t round, char *path)
{
    sprintf(path, "%s/checkpoint-g%llu-r%lld.safetensors", folder->path,
            (unsigned long long)generation, (long long)round);
}

static void the_newest_is_read_back_and_the_oldest_go(void **state)
{
    const test_folder *folder = *state;
    static const int64_t rounds[] = {8, 9, 10, 99, 100};
    for (int i = 0; i < 5; i++) {
        write_one(folder, 1, rounds[i], 2);
        expect_newest(folder, 1, rounds[i]);
        assert_int_equal(folder_count(folder->path), i == 0 ? 1 : 2);
    }
}

static void a_later_generation_is_newer_whatever_its_round(void **state)
{
    const test_folder *folder = *state;
    write_one(folder, 3, 120, 2);
    write_one(folder, 3, 121, 2);
    write_one(folder, 10, 100, 2);
    expect_newest(folder, 10, 100);
    write_one(folder, 10, 101, 2);
    assert_int_equal(folder_remove(folder->path, "-g3-"), 0);
    expect_newest(folder, 10, 101);
}

static void a_folder_without_checkpoints_is_no_error(void **state)
{
    const test_folder *folder = *state;
    checkpoint c = {.round = 5, .parameters = parameters};
    assert_int_equal(checkpoint_load_newest(folder->path, NULL, &c), EDGEPS_OK);
    assert_null(c.parameters);
    edgeps_diag diag;
    assert_int_equal(checkpoint_load_newest("/nowhere/at/all", &diag, &c), EDGEPS_IO);
    assert_string_equal(diag.text, "/nowhere/at/all: No such file or directory");
}

static void stays_within_the_bytes_that_were_promised(void **state)
{
    const test_folder *folder = *state;
    int64_t bytes = 0;
    char model[256];
    memset(model, 'm', 255);
    model[255] = '\0';
    checkpoint c = sample(UINT64_MAX, INT64_MAX);
    c.epoch = INT64_MAX;
    c.model = model;
    assert_int_equal(checkpoint_write(folder->path, &c, 1, NULL), EDGEPS_OK);
    assert_int_equal(checkpoint_used_bytes(folder->path, NULL, &bytes), EDGEPS_OK);
    assert_true(bytes > 2 * (int64_t)sizeof parameters);
    assert_true(bytes <= checkpoint_max_bytes(COUNT));
    assert_int_equal(checkpoint_max_bytes(COUNT), 8 * COUNT + 16384);
}

static void flip(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 0x10, file);
    fclose(file);
}

static long file_bytes(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (long)status.st_size;
}

/* Each byte of the header and some of the tensors. The spaces behind the header may hold other
 * white space; nothing else may pass unseen. */
static void a_damaged_one_is_skipped_for_the_next_older(void **state)
{
    const test_folder *folder = *state;
    char path[600];
    write_one(folder, 1, 7, 2);
    write_one(folder, 1, 8, 2);
    path_of(folder, 1, 8, path);
    long bytes = file_bytes(path);
    log_set_level(LOG_ERROR);
    for (long at = 0; at < bytes; at += at < bytes - 8 * COUNT ? 1 : 501) {
        flip(path, at);
        expect_newest(folder, 1, 7);
        flip(path, at);
    }
    expect_newest(folder, 1, 8);
    assert_int_equal(truncate(path, bytes - 1), 0);
    expect_newest(folder, 1, 7);
    assert_int_equal(truncate(path, 0), 0);
    expect_newest(folder, 1, 7);
    log_set_level(LOG_WARNING);
}

static void says_so_when_all_are_damaged(void **state)
{
    const test_folder *folder = *state;
    char path[600];
    edgeps_diag diag;
    checkpoint c = {.round = 77};
    write_one(folder, 1, 1, 1);
    path_of(folder, 1, 1, path);
    flip(path, file_bytes(path) - 1);
    log_set_level(LOG_ERROR);
    assert_int_equal(checkpoint_load_newest(folder->path, &diag, &c), EDGEPS_FORMAT);
    log_set_level(LOG_WARNING);
    assert_int_equal(c.round, 77);
    assert_non_null(strstr(diag.text, "no whole checkpoint is left"));
    assert_non_null(strstr(diag.text, "the hash does not agree"));
}

/* Whichever step fails, the folder holds the older one whole, or both, and no half file. */
static void survives_each_step_on_the_disk_failing(void **state)
{
    const test_folder *folder = *state;
    static const int errors[] = {ENOSPC, EIO};
    for (int k = 0; k < 2; k++) {
        edgeps_err err = EDGEPS_IO;
        long nth = 0;
        while (err) {
            folder_remove(folder->path, "");
            write_one(folder, 1, 1, 2);
            checkpoint c = sample(1, 2);
            edgeps_diag diag = {.text = ""};
            disk_fail_at(++nth, errors[k]);
            err = checkpoint_write(folder->path, &c, 2, &diag);
            disk_fail_at(0, 0);
            if (!err)
                break;
            assert_int_equal(err, errors[k] == ENOSPC ? EDGEPS_FULL : EDGEPS_IO);
            assert_non_null(strstr(diag.text, folder->path));
            bool renamed = folder_count(folder->path) == 2;
            expect_newest(folder, 1, renamed ? 2 : 1);
        }
        /* create, 3 writes, fsync, rename, open and fsync of the folder */
        assert_int_equal(nth, 9);
        expect_newest(folder, 1, 2);
    }
}

static void survives_each_allocation_failing(void **state)
{
    const test_folder *folder = *state;
    long nth = 0;
    checkpoint c = sample(1, 1), got = {.round = 77};
    for (edgeps_err err = EDGEPS_NOMEM; err;) {
        mem_fail_at(++nth);
        err = checkpoint_write(folder->path, &c, 2, NULL);
        mem_fail_at(0);
        assert_true(err == EDGEPS_OK || err == EDGEPS_NOMEM);
    }
    assert_true(nth > 2);
    nth = 0;
    for (edgeps_err err = EDGEPS_NOMEM; err;) {
        mem_fail_at(++nth);
        err = checkpoint_load_newest(folder->path, NULL, &got);
        mem_fail_at(0);
        if (err)
            assert_true(err == EDGEPS_NOMEM && got.round == 77);
    }
    assert_true(nth > 10);
    checkpoint_free(&got);
}

/* Copies the "```hex" block of the document into the folder as a checkpoint's file. */
static void decodes_the_documented_example(void **state)
{
    const test_folder *folder = *state;
    char path[600], line[256];
    bool inside = false;
    checkpoint c;
    path_of(folder, 3, 41, path);
    FILE *document = fopen(EDGEPS_SOURCE_DIR "/docs/checkpoint-format.md", "r");
    FILE *file = fopen(path, "wb");
    assert_true(document && file);
    while (fgets(line, sizeof line, document)) {
        if (strncmp(line, "```", 3) == 0)
            inside = strncmp(line, "```hex", 6) == 0;
        char *at = inside ? strchr(line, ' ') : NULL;
        for (char *end = NULL; at; at = end) {
            unsigned long byte = strtoul(at, &end, 16);
            if (end == at)
                break;
            fputc((int)byte, file);
        }
    }
    fclose(document);
    fclose(file);
    assert_int_equal(checkpoint_load_newest(folder->path, NULL, &c), EDGEPS_OK);
    assert_non_null(c.parameters);
    assert_true(c.generation == 3 && c.round == 41 && c.epoch == 2);
    assert_true(c.job == 0x1122334455667788);
    assert_string_equal(c.model, "tiny");
    assert_int_equal(c.parameter_count, 2);
    assert_true(c.parameters[0] == 1.0f && c.parameters[1] == -2.5f);
    assert_true(c.velocity[0] == 0.25f && c.velocity[1] == 0.0f);
    checkpoint_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(the_newest_is_read_back_and_the_oldest_go),
        WITH_FOLDER(a_later_generation_is_newer_whatever_its_round),
        WITH_FOLDER(a_folder_without_checkpoints_is_no_error),
        WITH_FOLDER(stays_within_the_bytes_that_were_promised),
        WITH_FOLDER(a_damaged_one_is_skipped_for_the_next_older),
        WITH_FOLDER(says_so_when_all_are_damaged),
        WITH_FOLDER(survives_each_step_on_the_disk_failing),
        WITH_FOLDER(survives_each_allocation_failing),
        WITH_FOLDER(decodes_the_documented_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
