/* A coordinator that is killed, or whose disk fails, at each system call of a commit: another
 * process finds the old generation or the next, whole. SQLite's calls are replaced through its own
 * table of system calls; its syncs, which are not in that table, by functions of this program. */
#include "coord/coord.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLED (-1)

static long calls, fail_from;
static int fail_errno;

static bool must_fail(void)
{
    calls++;
    if (fail_from == 0 || calls < fail_from)
        return false;
    if (fail_errno == KILLED)
        raise(SIGKILL);
    errno = fail_errno;
    return true;
}

/* Half of the bytes are down when it fails. */
static ssize_t pwrite_some(int fd, const void *bytes, size_t count, off_t at)
{
    if (fail_from > 0 && calls + 1 >= fail_from && pwrite(fd, bytes, count / 2, at) < 0)
        return -1;
    return must_fail() ? -1 : pwrite(fd, bytes, count, at);
}

static ssize_t write_some(int fd, const void *bytes, size_t count)
{
    if (fail_from > 0 && calls + 1 >= fail_from && write(fd, bytes, count / 2) < 0)
        return -1;
    return must_fail() ? -1 : write(fd, bytes, count);
}

static int truncate_it(int fd, off_t bytes) { return must_fail() ? -1 : ftruncate(fd, bytes); }
static int remove_it(const char *path) { return must_fail() ? -1 : unlink(path); }

int fdatasync(int fd) { return must_fail() ? -1 : (int)syscall(SYS_fdatasync, fd); }
int fsync(int fd) { return must_fail() ? -1 : (int)syscall(SYS_fsync, fd); }

typedef void (*any_function)(void);

static void replace_calls(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    static const struct {
        const char *name;
        any_function function;
    } table[] = {{"pwrite", (any_function)pwrite_some},
                 {"pwrite64", (any_function)pwrite_some},
                 {"write", (any_function)write_some},
                 {"ftruncate", (any_function)truncate_it},
                 {"unlink", (any_function)remove_it}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        int code = vfs->xSetSystemCall(vfs, table[k].name, table[k].function);
        assert_true(code == SQLITE_OK || code == SQLITE_NOTFOUND);
    }
}

static char dir[300], path[400];

static int set_up(void **state)
{
    (void)state;
    strcpy(dir, EDGEPS_BINARY_DIR "/coord-crash-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/job.sqlite", dir);
    return 0;
}

static void remove_files(void)
{
    char journal[420];
    snprintf(journal, sizeof journal, "%s-journal", path);
    unlink(journal);
    unlink(path);
}

static int tear_down(void **state)
{
    (void)state;
    remove_files();
    return rmdir(dir);
}

/* Records are longer than a page, so that a commit writes several. */
static const char *record_of(uint64_t generation)
{
    static char json[10000];
    memset(json, 'a' + (int)generation, sizeof json - 1);
    return json;
}

static void fill(void)
{
    coord *c = NULL;
    remove_files();
    assert_int_equal(coord_open(path, NULL, &c), EDGEPS_OK);
    assert_int_equal(coord_commit(c, 0, 1, record_of(1), NULL), EDGEPS_OK);
    coord_close(c);
}

/* The move's commit: the plan in which another node owns the state. Returns the wait status. */
static int commit_and_die(long nth, int error)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        coord *c = NULL;
        if (coord_open(path, NULL, &c))
            _exit(99);
        calls = 0;
        fail_errno = error;
        fail_from = nth;
        _exit(coord_commit(c, 1, 2, record_of(2), NULL));
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* What a restarted coordinator finds: one latest generation with its whole record, on top of which
 * it goes on; the one that died, had it lived, is refused from then on. */
static uint64_t take_over(void)
{
    coord *c = NULL;
    char *record = NULL;
    uint64_t generation = 0;
    edgeps_diag diag = {.text = ""};
    if (coord_open(path, &diag, &c))
        fail_msg("%s", diag.text);
    assert_int_equal(coord_latest(c, NULL, &generation, &record), EDGEPS_OK);
    assert_true(generation == 1 || generation == 2);
    assert_string_equal(record, record_of(generation));
    mem_free(record);
    assert_int_equal(coord_record(c, 1, NULL, &record), EDGEPS_OK);
    assert_string_equal(record, record_of(1));
    mem_free(record);
    assert_int_equal(coord_commit(c, generation, 3, record_of(3), NULL), EDGEPS_OK);
    assert_int_equal(coord_commit(c, 1, 2, record_of(2), NULL), EDGEPS_PROTOCOL);
    coord_close(c);
    return generation;
}

/* Killed, the commit is there from one call on and never before it; acknowledged, it stays. */
static void a_commit_that_is_killed_leaves_one_generation(void **state)
{
    bool turned = false;
    long nth = 1;
    (void)state;
    for (int status = -1;; nth++) {
        fill();
        status = commit_and_die(nth, KILLED);
        bool there = take_over() == 2;
        assert_false(turned && !there);
        turned = there;
        if (WIFEXITED(status)) {
            assert_int_equal(WEXITSTATUS(status), EDGEPS_OK);
            break;
        }
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    assert_true(turned);
    /* Journal and pages are written and synced, the journal is removed, the folder synced. */
    assert_true(nth > 10);
}

/* A call that fails and all after it: refused in one line, or acknowledged and there. */
static void a_commit_on_a_failing_disk_leaves_one_generation(void **state)
{
    static const int errors[] = {ENOSPC, EIO};
    (void)state;
    for (size_t k = 0; k < sizeof errors / sizeof *errors; k++) {
        long nth = 1, refused = 0;
        for (bool all = false; !all; nth++) {
            fill();
            int status = commit_and_die(nth, errors[k]);
            assert_true(WIFEXITED(status));
            int err = WEXITSTATUS(status);
            uint64_t generation = take_over();
            if (err == EDGEPS_OK)
                assert_int_equal(generation, 2);
            else
                assert_true(err == EDGEPS_FULL || err == EDGEPS_IO);
            refused += err != EDGEPS_OK;
            all = err == EDGEPS_OK && nth > 40;
        }
        assert_true(refused > 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_commit_that_is_killed_leaves_one_generation, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_commit_on_a_failing_disk_leaves_one_generation, set_up,
                                        tear_down),
    };
    replace_calls();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
