#include "coord/coord.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct place {
    char dir[300];
    char path[400];
} place;

static int set_up(void **state)
{
    static place p;
    strcpy(p.dir, EDGEPS_BINARY_DIR "/coord-XXXXXX");
    if (!mkdtemp(p.dir))
        return -1;
    snprintf(p.path, sizeof p.path, "%s/job.sqlite", p.dir);
    *state = &p;
    return 0;
}

static int tear_down(void **state)
{
    place *p = *state;
    char journal[420];
    snprintf(journal, sizeof journal, "%s-journal", p->path);
    unlink(journal);
    unlink(p->path);
    return rmdir(p->dir);
}

static coord *open_coord(const place *p)
{
    coord *c = NULL;
    edgeps_diag diag = {.text = ""};
    if (coord_open(p->path, &diag, &c))
        fail_msg("%s", diag.text);
    return c;
}

static void expect_latest(coord *c, uint64_t generation, const char *json)
{
    uint64_t got = 99;
    char *record = NULL;
    assert_int_equal(coord_latest(c, NULL, &got, &record), EDGEPS_OK);
    assert_int_equal(got, generation);
    if (json)
        assert_string_equal(record, json);
    else
        assert_null(record);
    mem_free(record);
}

static void an_empty_record_has_generation_zero(void **state)
{
    coord *c = open_coord(*state);
    expect_latest(c, 0, NULL);
    coord_close(c);
}

static void commits_only_on_top_of_the_generation_it_expects(void **state)
{
    coord *c = open_coord(*state);
    edgeps_diag diag;
    char *record = NULL;
    assert_int_equal(coord_commit(c, 0, 1, "{\"global\":3}", NULL), EDGEPS_OK);
    assert_int_equal(coord_commit(c, 1, 5, "{\"global\":4}", NULL), EDGEPS_OK);
    assert_int_equal(coord_commit(c, 1, 6, "{}", &diag), EDGEPS_PROTOCOL);
    assert_non_null(strstr(diag.text, "generation 5 is stored, not 1"));
    assert_int_equal(coord_commit(c, 7, 8, "{}", &diag), EDGEPS_PROTOCOL);
    expect_latest(c, 5, "{\"global\":4}");
    assert_int_equal(coord_record(c, 1, NULL, &record), EDGEPS_OK);
    assert_string_equal(record, "{\"global\":3}");
    mem_free(record);
    assert_int_equal(coord_record(c, 2, NULL, &record), EDGEPS_OK);
    assert_null(record);
    coord_close(c);
}

static void of_two_coordinators_one_is_refused(void **state)
{
    coord *first = open_coord(*state), *second = open_coord(*state);
    assert_int_equal(coord_commit(first, 0, 1, "\"first\"", NULL), EDGEPS_OK);
    assert_int_equal(coord_commit(second, 0, 1, "\"second\"", NULL), EDGEPS_PROTOCOL);
    expect_latest(second, 1, "\"first\"");
    assert_int_equal(coord_commit(second, 1, 2, "\"second\"", NULL), EDGEPS_OK);
    expect_latest(first, 2, "\"second\"");
    coord_close(first);
    coord_close(second);
}

static void all_is_there_after_it_is_opened_again(void **state)
{
    coord *c = open_coord(*state);
    char *value = NULL;
    assert_int_equal(coord_commit(c, 0, 1, "{}", NULL), EDGEPS_OK);
    assert_int_equal(coord_set(c, "seed", "17", NULL), EDGEPS_OK);
    assert_int_equal(coord_set(c, "network", "caf\xc3\xa9 'x' \"y\"\n", NULL), EDGEPS_OK);
    assert_int_equal(coord_set(c, "seed", "18", NULL), EDGEPS_OK);
    coord_close(c);
    c = open_coord(*state);
    expect_latest(c, 1, "{}");
    assert_int_equal(coord_get(c, "seed", NULL, &value), EDGEPS_OK);
    assert_string_equal(value, "18");
    mem_free(value);
    assert_int_equal(coord_get(c, "network", NULL, &value), EDGEPS_OK);
    assert_string_equal(value, "caf\xc3\xa9 'x' \"y\"\n");
    mem_free(value);
    assert_int_equal(coord_get(c, "nothing", NULL, &value), EDGEPS_OK);
    assert_null(value);
    coord_close(c);
}

/* Commits generation after generation and tells each that was acknowledged. */
static void commit_for_ever(const char *path, int pipe_end)
{
    coord *c = NULL;
    char json[4000];
    if (coord_open(path, NULL, &c))
        _exit(1);
    memset(json, 'x', sizeof json);
    for (uint64_t g = 1;; g++) {
        snprintf(json, sizeof json, "%3990llu", (unsigned long long)g);
        if (coord_commit(c, g - 1, g, json, NULL) != EDGEPS_OK ||
            write(pipe_end, &g, sizeof g) != sizeof g)
            _exit(1);
    }
}

static void what_was_acknowledged_survives_a_kill(void **state)
{
    const place *p = *state;
    int ends[2];
    uint64_t acknowledged = 0, g = 0, stored = 0;
    char *record = NULL;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0)
        commit_for_ever(p->path, ends[1]);
    close(ends[1]);
    while (read(ends[0], &g, sizeof g) == sizeof g) {
        acknowledged = g;
        if (g == 20)
            kill(child, SIGKILL);
    }
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    coord *c = open_coord(p);
    assert_int_equal(coord_latest(c, NULL, &stored, &record), EDGEPS_OK);
    /* The one that was being committed may be there too. */
    assert_in_range(stored, acknowledged, acknowledged + 1);
    assert_int_equal(strtoull(record, NULL, 10), stored);
    assert_int_equal(strlen(record), 3990);
    mem_free(record);
    assert_int_equal(coord_commit(c, stored, stored + 1, "{}", NULL), EDGEPS_OK);
    coord_close(c);
}

static void expect_refusal(const place *p, edgeps_err err, const char *words)
{
    edgeps_diag diag = {.text = ""};
    coord *c = NULL;
    assert_int_equal(coord_open(p->path, &diag, &c), err);
    assert_null(c);
    assert_ptr_equal(strstr(diag.text, p->path), diag.text);
    assert_null(strchr(diag.text, '\n'));
    if (!strstr(diag.text, words))
        fail_msg("'%s' lacks '%s'", diag.text, words);
}

static void a_file_of_something_else_is_refused_in_one_line(void **state)
{
    const place *p = *state;
    FILE *file = fopen(p->path, "w");
    for (int i = 0; i < 500; i++)
        fprintf(file, "not a database\n");
    fclose(file);
    expect_refusal(p, EDGEPS_FORMAT, "file is not a database; restore it");
}

static void a_database_of_something_else_is_refused(void **state)
{
    const place *p = *state;
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(p->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE songs (title)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    expect_refusal(p, EDGEPS_FORMAT, "a database of something else");
}

static void a_damaged_page_is_noticed_at_opening(void **state)
{
    const place *p = *state;
    char json[2000], garbage[4096];
    coord *c = open_coord(p);
    memset(json, 'j', sizeof json);
    json[sizeof json - 1] = '\0';
    for (uint64_t g = 1; g <= 10; g++)
        assert_int_equal(coord_commit(c, g - 1, g, json, NULL), EDGEPS_OK);
    coord_close(c);
    memset(garbage, 0xa5, sizeof garbage);
    FILE *file = fopen(p->path, "r+b");
    fseek(file, 4096, SEEK_SET);
    fwrite(garbage, sizeof garbage, 1, file);
    fclose(file);
    expect_refusal(p, EDGEPS_FORMAT, "damaged; restore it");
}

static void a_folder_that_is_not_there_is_named(void **state)
{
    place elsewhere = {.path = "/nowhere/at/all/job.sqlite"};
    (void)state;
    expect_refusal(&elsewhere, EDGEPS_IO, "unable to open");
}

static void survives_each_allocation_failing(void **state)
{
    const place *p = *state;
    coord *c = NULL;
    char *value = NULL;
    long nth = 0;
    while (!c) {
        mem_fail_at(++nth);
        edgeps_err err = coord_open(p->path, NULL, &c);
        mem_fail_at(0);
        assert_int_equal(err, c ? EDGEPS_OK : EDGEPS_NOMEM);
    }
    assert_int_equal(nth, 4);
    assert_int_equal(coord_set(c, "k", "v", NULL), EDGEPS_OK);
    mem_fail_at(1);
    assert_int_equal(coord_get(c, "k", NULL, &value), EDGEPS_NOMEM);
    mem_fail_at(0);
    assert_null(value);
    coord_close(c);
}

int main(void)
{
#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_PLACE(an_empty_record_has_generation_zero),
        WITH_PLACE(commits_only_on_top_of_the_generation_it_expects),
        WITH_PLACE(of_two_coordinators_one_is_refused),
        WITH_PLACE(all_is_there_after_it_is_opened_again),
        WITH_PLACE(what_was_acknowledged_survives_a_kill),
        WITH_PLACE(a_file_of_something_else_is_refused_in_one_line),
        WITH_PLACE(a_database_of_something_else_is_refused),
        WITH_PLACE(a_damaged_page_is_noticed_at_opening),
        WITH_PLACE(a_folder_that_is_not_there_is_named),
        WITH_PLACE(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
