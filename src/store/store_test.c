#include "store/store.h"

#include "base/mem.h"
#include "store/test_folder.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

static store *open_store(const test_folder *folder, int64_t quota_bytes)
{
    store *s = NULL;
    edgeps_diag diag = {.text = ""};
    if (store_open(folder->path, quota_bytes, &diag, &s))
        fail_msg("%s", diag.text);
    return s;
}

static int64_t allocated_bytes(const test_folder *folder, const char *name)
{
    char path[600];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s.reserved", folder->path, name);
    return stat(path, &status) == 0 ? (int64_t)status.st_blocks * 512 : -1;
}

static void a_reservation_has_its_blocks_and_counts(void **state)
{
    const test_folder *folder = *state;
    store *s = open_store(folder, 100000);
    unsigned char *map = NULL;
    assert_int_equal(store_reserve(s, "global", 60000, NULL, (void **)&map), EDGEPS_OK);
    for (int i = 0; i < 60000; i++)
        assert_int_equal(map[i], 0);
    memset(map, 0xff, 60000);
    assert_true(allocated_bytes(folder, "global") >= 60000);
    assert_int_equal(store_used_bytes(s), 60000);
    assert_int_equal(store_quota_bytes(s), 100000);
    assert_int_equal(store_offered_bytes(s), 100000);
    store_release(s, "global");
    assert_int_equal(store_used_bytes(s), 0);
    assert_int_equal(folder_count(folder->path), 0);
    store_release(s, "global");
    store_close(s);
}

static void beyond_the_quota_nothing_is_made(void **state)
{
    const test_folder *folder = *state;
    store *s = open_store(folder, 10000);
    edgeps_diag diag;
    void *first = NULL, *second = &diag;
    assert_int_equal(store_reserve(s, "local", 7000, NULL, &first), EDGEPS_OK);
    assert_int_equal(store_reserve(s, "global", 3001, &diag, &second), EDGEPS_FULL);
    assert_ptr_equal(second, &diag);
    assert_non_null(strstr(diag.text, ": global needs 3001 bytes, 3000 of 10000 are free"));
    assert_int_equal(store_used_bytes(s), 7000);
    assert_int_equal(folder_count(folder->path), 1);
    assert_int_equal(store_reserve(s, "global", 3000, &diag, &second), EDGEPS_OK);
    store_set_quota(s, 5000);
    assert_int_equal(store_offered_bytes(s), 5000);
    assert_int_equal(store_used_bytes(s), 10000);
    store_release(s, "local");
    assert_int_equal(store_reserve(s, "local", 2001, &diag, &first), EDGEPS_FULL);
    assert_int_equal(store_reserve(s, "local", 2000, &diag, &first), EDGEPS_OK);
    store_close(s);
    assert_int_equal(folder_count(folder->path), 0);
}

static void names_are_checked_and_unique(void **state)
{
    const test_folder *folder = *state;
    store *s = open_store(folder, 10000);
    static const char *const bad[] = {"", ".", "..", "a/b", "a b", ".hidden"};
    void *map = NULL;
    for (int i = 0; i < 6; i++)
        assert_int_equal(store_reserve(s, bad[i], 10, NULL, &map), EDGEPS_USAGE);
    assert_int_equal(store_reserve(s, "a", 0, NULL, &map), EDGEPS_USAGE);
    assert_int_equal(store_reserve(s, "a", 10, NULL, &map), EDGEPS_OK);
    assert_int_equal(store_reserve(s, "a", 10, NULL, &map), EDGEPS_USAGE);
    assert_int_equal(store_reserve(s, "ab", 10, NULL, &map), EDGEPS_OK);
    store_release(s, "a");
    assert_int_equal(store_used_bytes(s), 10);
    store_close(s);
}

static void a_folder_has_one_owner(void **state)
{
    const test_folder *folder = *state;
    char wanted[700];
    edgeps_diag diag;
    store *second = NULL, *s = open_store(folder, 1000);
    snprintf(wanted, sizeof wanted, "%s: in use by another process; choose another folder",
             folder->path);
    assert_int_equal(store_open(folder->path, 1000, &diag, &second), EDGEPS_IO);
    assert_null(second);
    assert_string_equal(diag.text, wanted);
    store_close(s);
    s = open_store(folder, 1000);
    store_close(s);
}

static void makes_its_folder_but_not_that_ones_parent(void **state)
{
    const test_folder *folder = *state;
    char path[600];
    store *s = NULL;
    edgeps_diag diag;
    snprintf(path, sizeof path, "%s/a/b", folder->path);
    assert_int_equal(store_open(path, 1, &diag, &s), EDGEPS_IO);
    assert_non_null(strstr(diag.text, "No such file"));
    snprintf(path, sizeof path, "%s/a", folder->path);
    assert_int_equal(store_open(path, 1, NULL, &s), EDGEPS_OK);
    assert_string_equal(store_folder(s), path);
    store_close(s);
    assert_int_equal(rmdir(path), 0);
}

/* The child dies with a reservation; its checkpoint stays, the rest is swept. */
static void what_a_killed_owner_left_is_swept(void **state)
{
    const test_folder *folder = *state;
    static float values[100];
    const checkpoint c = {
        .round = 1, .model = "m", .parameter_count = 100, .parameters = values, .velocity = values};
    pid_t child = fork();
    if (child == 0) {
        void *map = NULL;
        store *s = NULL;
        if (store_open(folder->path, 100000, NULL, &s) ||
            store_reserve(s, "global", 5000, NULL, &map) || store_write_checkpoint(s, &c, 2, NULL))
            _exit(1);
        raise(SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_true(allocated_bytes(folder, "global") > 0);
    store *s = open_store(folder, 100000);
    assert_int_equal(folder_count(folder->path), 1);
    assert_true(store_used_bytes(s) > 800 && store_used_bytes(s) <= checkpoint_max_bytes(100));
    store_close(s);
}

/* Room for exactly what the global server is planned with: the kept ones and the one being written.
 */
static void checkpoints_count_against_the_quota(void **state)
{
    const test_folder *folder = *state;
    enum { COUNT = 5000, KEEP = 2 };
    static float values[COUNT];
    checkpoint c = {
        .model = "m", .parameter_count = COUNT, .parameters = values, .velocity = values};
    edgeps_diag diag;
    store *s = open_store(folder, (KEEP + 1) * checkpoint_max_bytes(COUNT));
    for (c.round = 0; c.round < 5; c.round++)
        assert_int_equal(store_write_checkpoint(s, &c, KEEP, NULL), EDGEPS_OK);
    assert_int_equal(folder_count(folder->path), KEEP);
    store_set_quota(s, store_used_bytes(s) + checkpoint_max_bytes(COUNT) - 1);
    assert_int_equal(store_write_checkpoint(s, &c, KEEP, &diag), EDGEPS_FULL);
    assert_non_null(strstr(diag.text, "a checkpoint needs 56384 bytes, 56383 of "));
    checkpoint got;
    assert_int_equal(checkpoint_load_newest(folder->path, NULL, &got), EDGEPS_OK);
    assert_int_equal(got.round, 4);
    checkpoint_free(&got);
    store_close(s);
}

/* A file system of 256 KiB in a mount namespace of the child's own. */
static int on_a_small_file_system(const test_folder *folder)
{
    static float values[10000];
    const checkpoint c = {.round = 2,
                          .model = "m",
                          .parameter_count = 10000,
                          .parameters = values,
                          .velocity = values};
    checkpoint small = c;
    store *s = NULL;
    edgeps_diag diag;
    void *map = NULL;
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", folder->path, "tmpfs", 0, "size=256k") != 0)
        return 77;
    small.round = 1;
    small.parameter_count = 1000;
    if (store_open(folder->path, 100000000, NULL, &s) || store_offered_bytes(s) > 262144 ||
        store_reserve(s, "big", 300000, &diag, &map) != EDGEPS_FULL || map)
        return 1;
    if (!strstr(diag.text, "300000 bytes") || folder_count(folder->path) != 0)
        return 2;
    if (store_write_checkpoint(s, &small, 2, NULL) || store_reserve(s, "most", 200000, NULL, &map))
        return 3;
    if (store_write_checkpoint(s, &c, 2, &diag) != EDGEPS_FULL || folder_count(folder->path) != 2)
        return 4;
    checkpoint got = {0};
    if (checkpoint_load_newest(folder->path, NULL, &got) || got.round != 1)
        return 5;
    checkpoint_free(&got);
    store_release(s, "most");
    if (store_write_checkpoint(s, &c, 2, NULL))
        return 6;
    store_close(s);
    return 0;
}

static void a_full_file_system_leaves_the_older_checkpoint(void **state)
{
    const test_folder *folder = *state;
    pid_t child = fork();
    if (child == 0)
        _exit(unshare(CLONE_NEWNS) != 0 ? 77 : on_a_small_file_system(folder));
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("mounting a file system is not allowed here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void survives_each_allocation_failing(void **state)
{
    const test_folder *folder = *state;
    store *s = NULL;
    void *map = NULL;
    long nth = 0;
    while (!s) {
        mem_fail_at(++nth);
        edgeps_err err = store_open(folder->path, 10000, NULL, &s);
        mem_fail_at(0);
        assert_int_equal(err == EDGEPS_OK, s != NULL);
    }
    assert_int_equal(nth, 3);
    mem_fail_at(1);
    assert_int_equal(store_reserve(s, "a", 100, NULL, &map), EDGEPS_NOMEM);
    mem_fail_at(0);
    assert_null(map);
    assert_int_equal(folder_count(folder->path), 0);
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_reservation_has_its_blocks_and_counts),
        WITH_FOLDER(beyond_the_quota_nothing_is_made),
        WITH_FOLDER(names_are_checked_and_unique),
        WITH_FOLDER(a_folder_has_one_owner),
        WITH_FOLDER(makes_its_folder_but_not_that_ones_parent),
        WITH_FOLDER(what_a_killed_owner_left_is_swept),
        WITH_FOLDER(checkpoints_count_against_the_quota),
        WITH_FOLDER(a_full_file_system_leaves_the_older_checkpoint),
        WITH_FOLDER(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
