/* A process that is killed, or whose disk fails, at each step of writing and of dropping
 * checkpoints; what it left is read by another process, as after a restart. */
#include "store/checkpoint.h"
#include "store/disk_int.h"
#include "store/store.h"
#include "store/test_folder.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#define COUNT 100
#define QUOTA_BYTES (INT64_C(1) << 20)

/* What a step of the job does to its folder. */
typedef struct deed {
    edgeps_err (*run)(store *s);
    int64_t before, after; /* rounds of the newest checkpoint; 0: none */
    size_t most_files;     /* beside the file that is being written */
} deed;

static checkpoint state_of(int64_t round, float parameters[COUNT], float velocity[COUNT])
{
    for (int i = 0; i < COUNT; i++) {
        parameters[i] = (float)(round * 1000 + i);
        velocity[i] = -parameters[i];
    }
    return (checkpoint){.generation = 1,
                        .round = round,
                        .epoch = round,
                        .job = 7,
                        .model = "mlp",
                        .parameter_count = COUNT,
                        .parameters = parameters,
                        .velocity = velocity};
}

static edgeps_err write_round(store *s, int64_t round)
{
    float parameters[COUNT], velocity[COUNT];
    checkpoint c = state_of(round, parameters, velocity);
    return store_write_checkpoint(s, &c, 2, NULL);
}

static edgeps_err write_third(store *s) { return write_round(s, 3); }
static edgeps_err drop_all(store *s) { return store_drop_checkpoints(s, NULL); }

/* A server's state comes in by a move: the reservation, then the first checkpoint of its own. */
static edgeps_err move_in(store *s)
{
    void *map;
    edgeps_err err = store_reserve(s, "global", 4096, NULL, &map);
    return err ? err : write_third(s);
}

static void fill(const test_folder *folder, const deed *d)
{
    store *s;
    folder_remove(folder->path, "");
    assert_int_equal(store_open(folder->path, QUOTA_BYTES, NULL, &s), EDGEPS_OK);
    for (int64_t round = 1; round <= d->before; round++)
        assert_int_equal(write_round(s, round), EDGEPS_OK);
    store_close(s);
}

/* In a process of its own; returns its wait status. */
static int die_at(const test_folder *folder, const deed *d, long nth, int error)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        store *s;
        if (store_open(folder->path, QUOTA_BYTES, NULL, &s))
            _exit(99);
        disk_fail_at(nth, error);
        edgeps_err err = d->run(s);
        disk_fail_at(0, 0);
        _exit(err);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* The round of the newest checkpoint, which is whole to the last bit; 0 when there is none. */
static int64_t newest(const char *dir)
{
    float parameters[COUNT], velocity[COUNT];
    edgeps_diag diag = {.text = ""};
    checkpoint got;
    if (checkpoint_load_newest(dir, &diag, &got))
        fail_msg("%s", diag.text);
    if (!got.parameters)
        return 0;
    int64_t round = got.round;
    checkpoint c = state_of(round, parameters, velocity);
    assert_int_equal(got.epoch, c.epoch);
    assert_int_equal(got.parameter_count, COUNT);
    assert_memory_equal(got.parameters, parameters, sizeof parameters);
    assert_memory_equal(got.velocity, velocity, sizeof velocity);
    checkpoint_free(&got);
    return round;
}

/* The next owner opens the folder, finds one valid state, and can go on from it. */
static int64_t open_again(const test_folder *folder, const deed *d)
{
    store *s;
    edgeps_diag diag = {.text = ""};
    if (store_open(folder->path, QUOTA_BYTES, &diag, &s))
        fail_msg("%s", diag.text);
    int64_t round = newest(folder->path);
    assert_true((size_t)folder_count(folder->path) <= d->most_files + 1);
    assert_int_equal(write_round(s, 9), EDGEPS_OK);
    assert_int_equal(newest(folder->path), 9);
    assert_int_equal(folder_count(folder->path), round ? 2 : 1);
    store_close(s);
    return round;
}

/* Every step k; returns how many the deed has. Once the newer state was seen after a death at some
 * step it is seen after each later one. */
static long at_each_step(const test_folder *folder, const deed *d, int error)
{
    bool turned = false;
    for (long nth = 1;; nth++) {
        fill(folder, d);
        int status = die_at(folder, d, nth, error);
        int64_t round = open_again(folder, d);
        assert_true(round == d->before || round == d->after);
        assert_false(turned && round == d->before);
        turned = round == d->after;
        if (WIFEXITED(status) && WEXITSTATUS(status) == EDGEPS_OK) {
            assert_true(turned);
            return nth - 1;
        }
        if (error == DISK_KILL)
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        else
            assert_int_equal(WEXITSTATUS(status), error == ENOSPC ? EDGEPS_FULL : EDGEPS_IO);
    }
}

static const int errors[] = {DISK_KILL, ENOSPC, EDQUOT, EIO};

/* Create, three writes, fsync, rename, open and fsync of the folder, removal of the oldest. */
static void a_checkpoint_leaves_the_newest_or_the_one_before(void **state)
{
    const deed d = {.run = write_third, .before = 2, .after = 3, .most_files = 3};
    for (size_t k = 0; k < sizeof errors / sizeof *errors; k++)
        if (errors[k] != EDQUOT)
            assert_int_equal(at_each_step(*state, &d, errors[k]), 9);
}

static void a_state_that_moves_in_is_there_whole_or_not_at_all(void **state)
{
    const deed d = {.run = move_in, .before = 0, .after = 3, .most_files = 2};
    assert_int_equal(at_each_step(*state, &d, DISK_KILL), 8);
    assert_int_equal(at_each_step(*state, &d, ENOSPC), 8);
}

/* The older goes first, so what a killed owner leaves is its newest state or none. */
static void dropping_leaves_the_newest_or_none(void **state)
{
    const deed d = {.run = drop_all, .before = 2, .after = 0, .most_files = 2};
    for (size_t k = 0; k < sizeof errors / sizeof *errors; k++)
        if (errors[k] != ENOSPC && errors[k] != EDQUOT)
            assert_int_equal(at_each_step(*state, &d, errors[k]), 2);
}

static void a_full_disk_leaves_the_old_state_and_nothing_half_written(void **state)
{
    const test_folder *folder = *state;
    const deed d = {.run = write_third, .before = 2, .after = 3, .most_files = 2};
    for (long nth = 1; nth <= 5; nth++) {
        fill(folder, &d);
        int status = die_at(folder, &d, nth, ENOSPC);
        assert_int_equal(WEXITSTATUS(status), EDGEPS_FULL);
        assert_int_equal(newest(folder->path), 2);
        assert_int_equal(folder_count(folder->path), 2);
        assert_int_equal(open_again(folder, &d), 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_checkpoint_leaves_the_newest_or_the_one_before),
        WITH_FOLDER(a_state_that_moves_in_is_there_whole_or_not_at_all),
        WITH_FOLDER(dropping_leaves_the_newest_or_none),
        WITH_FOLDER(a_full_disk_leaves_the_old_state_and_nothing_half_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
