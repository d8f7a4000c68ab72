#include "formats/event_file.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GOOD "{\"event\":\"warning\",\"time_s\":1,\"text\":\"a\"}"

/* What the file gave away: the first letter of each text. */
typedef struct seen {
    char letters[16];
    size_t count;
} seen;

static void note(void *context, const meter_event *event)
{
    seen *s = context;
    assert_true(s->count + 1 < sizeof s->letters);
    s->letters[s->count++] = event->text[0];
}

static edgeps_err read_text(const char *text, size_t length, edgeps_diag *diag, seen *s, bool *cut)
{
    char path[] = "/tmp/edgeps-event-file-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), (ssize_t)length);
    close(fd);
    edgeps_err err = event_file_read(path, diag, note, s, cut);
    unlink(path);
    return err;
}

static void gives_every_event_in_order(void **state)
{
    (void)state;
    const char *text = GOOD "\n{\"event\":\"warning\",\"time_s\":2,\"text\":\"b\"}\n" GOOD;
    seen s = {0};
    bool cut = false;
    assert_int_equal(read_text(text, strlen(text), NULL, &s, &cut), EDGEPS_OK);
    assert_string_equal(s.letters, "aba");
    assert_false(cut);
}

/* Every place where a crash may have cut the last line off. */
static void tolerates_a_last_line_that_was_cut_off(void **state)
{
    (void)state;
    const char *text = GOOD "\n" GOOD;
    size_t first = strlen(GOOD "\n");
    for (size_t length = first + 1; length < strlen(text); length++) {
        seen s = {0};
        bool cut = false;
        assert_int_equal(read_text(text, length, NULL, &s, &cut), EDGEPS_OK);
        assert_true(cut);
        assert_string_equal(s.letters, "a");
    }
    seen s = {0};
    bool cut = false;
    assert_int_equal(read_text(GOOD "\n\0\0\0", first + 3, NULL, &s, &cut), EDGEPS_OK);
    assert_true(cut);
}

static void names_file_and_line_of_any_other_damage(void **state)
{
    (void)state;
    const char *texts[] = {GOOD "\n{\"event\":\"warning\"\n" GOOD "\n", GOOD "\n{\"event\"\n",
                           GOOD "\n\n" GOOD "\n"};
    for (size_t i = 0; i < 3; i++) {
        seen s = {0};
        bool cut = false;
        edgeps_diag diag = {0};
        assert_int_equal(read_text(texts[i], strlen(texts[i]), &diag, &s, &cut), EDGEPS_FORMAT);
        assert_string_equal(s.letters, "a");
        assert_false(cut);
        assert_int_equal(diag.line, 2);
        assert_non_null(strstr(diag.text, "/edgeps-event-file-"));
        assert_non_null(strstr(diag.text, ": line 2: column "));
    }
}

static void names_a_file_that_cannot_be_read(void **state)
{
    (void)state;
    seen s = {0};
    bool cut = false;
    edgeps_diag diag = {0};
    assert_int_equal(event_file_read("/nowhere/events.jsonl", &diag, note, &s, &cut), EDGEPS_USAGE);
    assert_string_equal(diag.text, "/nowhere/events.jsonl: No such file or directory");
    assert_int_equal(event_file_read("/", &diag, note, &s, &cut), EDGEPS_IO);
    assert_string_equal(diag.text, "/: Is a directory");
}

static void reports_that_memory_is_short(void **state)
{
    (void)state;
    seen s = {0};
    bool cut = false;
    mem_fail_at(1);
    edgeps_err err = read_text(GOOD, strlen(GOOD), NULL, &s, &cut);
    mem_fail_at(0);
    assert_int_equal(err, EDGEPS_NOMEM);
    assert_false(cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_every_event_in_order),
        cmocka_unit_test(tolerates_a_last_line_that_was_cut_off),
        cmocka_unit_test(names_file_and_line_of_any_other_damage),
        cmocka_unit_test(names_a_file_that_cannot_be_read),
        cmocka_unit_test(reports_that_memory_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
