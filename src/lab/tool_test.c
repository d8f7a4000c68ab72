#include "lab/tool_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static edgeps_err run(const char *tool, const char *lines, edgeps_diag *diag)
{
    FILE *batch = tool_batch();
    assert_non_null(batch);
    fputs(lines, batch);
    edgeps_err err = tool_run(tool, batch, diag);
    fclose(batch);
    return err;
}

/* Where a machine has no iproute2 the rest of the test is skipped, with the reason. */
static void need(edgeps_err err, const edgeps_diag *diag)
{
    if (err != EDGEPS_UNSUPPORTED)
        return;
    print_message("skipped: %s\n", diag->text);
    skip();
}

static void runs_the_lines_of_a_batch(void **state)
{
    (void)state;
    edgeps_diag diag = {.text = ""};
    edgeps_err err = run("ip", "link show dev lo\nroute show\n", &diag);
    need(err, &diag);
    assert_int_equal(err, EDGEPS_OK);
}

static void a_line_that_fails_is_named_with_the_reason(void **state)
{
    (void)state;
    edgeps_diag diag = {.text = ""};
    edgeps_err err = run("ip", "link show dev lo\nlink show dev nowhere9\n", &diag);
    need(err, &diag);
    assert_int_equal(err, EDGEPS_IO);
    assert_string_equal(diag.text,
                        "ip link show dev nowhere9: Device \"nowhere9\" does not exist.");
}

static void a_tool_that_is_not_there_is_named(void **state)
{
    (void)state;
    edgeps_diag diag = {.text = ""};
    assert_int_equal(run("no-such-tool", "x\n", &diag), EDGEPS_UNSUPPORTED);
    assert_non_null(strstr(diag.text, "no-such-tool is not installed"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_the_lines_of_a_batch),
        cmocka_unit_test(a_line_that_fails_is_named_with_the_reason),
        cmocka_unit_test(a_tool_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
