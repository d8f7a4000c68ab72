#include "base/filter.h"

#include "base/clock.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static edgeps_diag diag;

static filter_output good(const char *command, const char *input)
{
    const filter_limits limits = {.most_bytes = 8 * MIB};
    filter_output out;
    if (filter_run(command, input, &limits, &diag, &out))
        fail_msg("%s: %s", command, diag.text);
    assert_int_equal(out.text[out.length], 0);
    return out;
}

static void says(const char *command, const char *input, const char *text, int exit_status)
{
    filter_output out = good(command, input);
    assert_string_equal(out.text, text);
    assert_int_equal(out.length, strlen(text));
    assert_int_equal(out.exit_status, exit_status);
    mem_free(out.text);
}

static void a_command_reads_the_input_and_its_output_comes_back(void **state)
{
    (void)state;
    says("cat", "", "", 0);
    says("tr a-z A-Z", "words\n", "WORDS\n", 0);
    says("sort | head -n 1; exit 7", "b\na\n", "a\n", 7);
    says("printf x; exec >&-; sleep 0.1", "", "x", 0);
    says("exit 300", "", "", 300 % 256);
    says("-no-such-command- 2>&-", "", "", 127);
}

static void more_than_a_pipe_holds_passes_both_ways(void **state)
{
    (void)state;
    char *input = mem_alloc(4 * MIB + 1, 1);
    for (size_t k = 0; k < 4 * MIB; k++)
        input[k] = (char)('a' + k % 23);
    filter_output out = good("cat", input);
    assert_int_equal(out.length, 4 * MIB);
    assert_memory_equal(out.text, input, 4 * MIB);
    mem_free(out.text);
    mem_free(input);
}

static void a_command_that_does_not_read_does_no_harm(void **state)
{
    (void)state;
    char *input = mem_alloc(MIB + 1, 1);
    memset(input, 'x', MIB);
    says("exec <&-; echo done", input, "done\n", 0);
    mem_free(input);
}

/* The caller's own arrangements are not the command's; signals above 28 are the C library's. */
static void no_signal_is_blocked_or_ignored(void **state)
{
    (void)state;
    sigset_t all, before;
    sigfillset(&all);
    void (*handler)(int) = signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &all, &before);
    filter_output out = good("grep -E '^Sig(Blk|Ign)' /proc/self/status | grep -vc '0000000$'", "");
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, handler);
    assert_string_equal(out.text, "0\n");
    mem_free(out.text);
}

static void fails(const char *command, filter_limits limits, edgeps_err err, const char *words)
{
    filter_output out = {.length = 99};
    diag.text[0] = '\0';
    assert_int_equal(filter_run(command, "in", &limits, &diag, &out), err);
    assert_string_equal(diag.text, words);
    assert_int_equal(out.length, 99);
}

static void a_death_by_signal_and_too_much_output_are_told(void **state)
{
    (void)state;
    const filter_limits limits = {.most_bytes = 100000};
    fails("kill -9 $$", limits, EDGEPS_IO, "the command was killed by signal 9");
    fails("yes", limits, EDGEPS_FORMAT, "the command wrote more than 100000 bytes");
}

/* Zombies count as gone: an orphan's new parent may take its time to collect it. */
static bool runs(long pid)
{
    char name[64], line[256] = "";
    snprintf(name, sizeof name, "/proc/%ld/stat", pid);
    FILE *stat = fopen(name, "re");
    if (!stat)
        return false;
    if (!fgets(line, sizeof line, stat))
        line[0] = '\0';
    fclose(stat);
    return line[0] && !strstr(line, ") Z ");
}

/* The command has written its number and that of a child; both end now. */
static void are_gone(const char *path)
{
    char line[64] = "", *rest = line;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    for (int k = 0; k < 2; k++) {
        long pid = strtol(rest, &rest, 10);
        assert_in_range(pid, 2, INT32_MAX);
        int64_t end_ns = clock_now_ns() + INT64_C(20) * CLOCK_NS_PER_S;
        while (runs(pid) && clock_now_ns() < end_ns)
            usleep(1000);
        assert_false(runs(pid));
    }
}

static bool until_written(void *path) { return access(path, F_OK) != 0; }

static void an_unwanted_command_is_killed_with_all_it_started(void **state)
{
    (void)state;
    char path[] = "/tmp/edgeps-filter-XXXXXX", pids[64], command[256];
    assert_non_null(mkdtemp(path));
    snprintf(pids, sizeof pids, "%s/pids", path);
    snprintf(command, sizeof command,
             "sleep 1000 & echo $$ $! >%s.new; mv %s.new %s; exec sleep 1000", pids, pids, pids);
    fails(command, (filter_limits){.most_bytes = 10, .go_on = until_written, .watched = pids},
          EDGEPS_CANCELLED, "the command was told to stop");
    are_gone(pids);
    unlink(pids);
    /* Left behind by a command that ended well. */
    snprintf(command, sizeof command, "sleep 1000 & echo $$ $! >%s; echo fine", pids);
    says(command, "", "fine\n", 0);
    are_gone(pids);
    unlink(pids);
    rmdir(path);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    const filter_limits limits = {.most_bytes = MIB};
    edgeps_err err = EDGEPS_NOMEM;
    long nth = 0;
    while (err == EDGEPS_NOMEM) {
        filter_output out = {.length = 99};
        mem_fail_at(++nth);
        err = filter_run("head -c 300000 /dev/zero", "", &limits, &diag, &out);
        mem_fail_at(0);
        assert_int_equal(out.length, err ? 99 : 300000);
        if (!err)
            mem_free(out.text);
    }
    assert_int_equal(err, EDGEPS_OK);
    assert_in_range(nth, 3, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_reads_the_input_and_its_output_comes_back),
        cmocka_unit_test(more_than_a_pipe_holds_passes_both_ways),
        cmocka_unit_test(a_command_that_does_not_read_does_no_harm),
        cmocka_unit_test(no_signal_is_blocked_or_ignored),
        cmocka_unit_test(a_death_by_signal_and_too_much_output_are_told),
        cmocka_unit_test(an_unwanted_command_is_killed_with_all_it_started),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
