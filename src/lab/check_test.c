#include "lab/check.h"

#include "base/mem.h"
#include "lab/lab_fixture.h"
#include "lab/storage_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void measure(const lab *l, lab_check *check)
{
    edgeps_diag diag = {.text = ""};
    if (lab_check_run(l, &diag, check))
        fail_msg("%s", diag.text);
}

static void expect(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("'%s' is not in:\n%s", words, text);
}

static char *table_of(const lab_check *check)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    lab_check_print(check, file);
    assert_int_equal(fclose(file), 0);
    return text;
}

/* Three nodes' links up and down and one pair with a cap; a pair without path is no path. */
static void measures_every_link_both_ways_and_every_capped_pair(void **state)
{
    (void)state;
    char dir[64], *text = NULL;
    lab *l = NULL;
    lab_check check;
    edgeps_diag diag = {.text = ""};
    network *net = fixture_network(3, 20 * MBIT);
    network_set_cap_bytes_per_s(net, 0, 1, 5 * MBIT);
    network_set_cap_bytes_per_s(net, 1, 2, 0);
    network_set_cap_bytes_per_s(net, 2, 0, 500 * MBIT); /* more than the links: none */
    fixture_up(net, dir, &l);
    measure(l, &check);
    assert_int_equal(check.link_count, 7);
    assert_int_equal(check.links_of, 7);
    assert_int_equal(check.path_count, 5);
    if (lab_check_verdict(&check, &diag))
        fail_msg("%s", diag.text);
    char *table = table_of(&check);
    expect(table, "pair a -> b");
    expect(table, "rates: 7 measured of 7, the worst ");
    expect(table, "latencies: 5 measured of 5, 0 of them off");
    expect(table, "storage: 3 measured of 3, the worst +0.00 % off");
    assert_int_equal(lab_check_json(&check, &text), EDGEPS_OK);
    json_t *o = json_loads(text, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(o, "congestion_control")), "reno");
    assert_string_equal(json_string_value(json_object_get(o, "latencies_by")), "nothing");
    assert_true(json_is_true(json_object_get(o, "within_tolerance")));
    assert_int_equal(json_array_size(json_object_get(o, "links")), 7);
    json_decref(o);
    mem_free(text);
    free(table);
    lab_check_free(&check);
    lab_close(l);
    assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    network_free(net);
}

/* Somebody gives node b a tenth less than the file says. */
static void a_link_that_is_not_as_asked_is_refused_by_name(void **state)
{
    (void)state;
    char dir[64];
    lab *l = NULL;
    lab_check check;
    edgeps_diag diag = {.text = ""};
    int status = -1;
    network *net = fixture_network(2, 20 * MBIT);
    fixture_up(net, dir, &l);
    char *argv[] = {"tc",   "class",     "change", "dev",   "data",   "classid", "1:1", "htb",
                    "rate", "18819kbit", "burst",  "10000", "cburst", "10000",   NULL};
    assert_int_equal(lab_exec(l, 1, argv, NULL, &status), EDGEPS_OK);
    assert_int_equal(status, 0);
    measure(l, &check);
    assert_int_equal(lab_check_verdict(&check, &diag), EDGEPS_INFEASIBLE);
    expect(diag.text, "up of b: asked 20 Mbit/s, measured 18");
    expect(diag.text, "--force goes on all the same");
    lab_check_free(&check);
    lab_close(l);
    assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    network_free(net);
}

/* Somebody gives node b's storage less than the file says. */
static void storage_that_is_not_as_asked_is_refused_by_name(void **state)
{
    (void)state;
    char dir[64];
    lab *l = NULL;
    lab_check check;
    edgeps_diag diag = {.text = ""};
    network *net = fixture_network(2, 20 * MBIT);
    fixture_up(net, dir, &l);
    assert_int_equal(storage_resize(lab_keeper(l), 1, 15 << 20, NULL), EDGEPS_OK);
    measure(l, &check);
    assert_int_equal(check.disk_count, 2);
    assert_int_equal(check.disks[1].measured_bytes, 15 << 20);
    assert_int_equal(lab_check_verdict(&check, &diag), EDGEPS_INFEASIBLE);
    expect(diag.text, "storage of b: asked 16777216 bytes, measured 15728640 (-6.2 %)");
    lab_check_free(&check);
    lab_close(l);
    assert_int_equal(lab_down(dir, NULL), EDGEPS_OK);
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_every_link_both_ways_and_every_capped_pair),
        cmocka_unit_test(a_link_that_is_not_as_asked_is_refused_by_name),
        cmocka_unit_test(storage_that_is_not_as_asked_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
