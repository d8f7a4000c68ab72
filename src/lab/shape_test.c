#include "lab/shape_int.h"

#include "lab/lab_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static char *text_of(const network *before, const network *net, const shape_end *end)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    if (before)
        shape_change(file, before, net, end);
    else
        shape_set(file, net, end);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void expect(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("'%s' is not in:\n%s", words, text);
}

static void expect_not(const char *text, const char *words)
{
    if (strstr(text, words))
        fail_msg("'%s' is in:\n%s", words, text);
}

/* 14.48 Mbit/s of payload are 15.14 Mbit/s of frames. */
static void the_wire_is_given_what_the_payload_needs(void **state)
{
    (void)state;
    network *net = fixture_network(3, 14.48 * MBIT);
    net->nodes[1].down_bytes_per_s = 1.448 * MBIT;
    char *up = text_of(NULL, net, &(shape_end){"data", 1, true});
    char *down = text_of(NULL, net, &(shape_end){"d1", 1, false});
    expect(up, "class replace dev data parent 1: classid 1:1 htb rate 15140000bit ceil "
               "15140000bit burst 3028 cburst 3028 ");
    expect(up, "parent 1:1 classid 1:10 htb rate 8bit ceil 15140000bit ");
    expect(up, "match ip dst 10.77.0.3/32 flowid 1:12\n");
    expect_not(up, "10.77.0.2/32"); /* not to itself */
    expect(down, "classid 1:1 htb rate 1514000bit ceil 1514000bit burst 3028 ");
    expect(down, "match ip src 10.77.255.254/32 flowid 1:f\n");
    free(down);
    free(up);
    network_free(net);
}

static void caps_hold_for_the_sender_and_a_pair_without_path_is_cut(void **state)
{
    (void)state;
    network *net = fixture_network(3, 14.48 * MBIT);
    network_set_cap_bytes_per_s(net, 0, 1, 1.448 * MBIT);
    network_set_cap_bytes_per_s(net, 0, 2, 0);
    char *up = text_of(NULL, net, &(shape_end){"data", 0, true});
    char *down = text_of(NULL, net, &(shape_end){"d1", 1, false});
    expect(up, "classid 1:11 htb rate 8bit ceil 1514000bit ");
    expect(up, "prio 2 u32 match ip dst 10.77.0.3/32 flowid 1:2\n");
    expect_not(up, "prio 2 u32 match ip dst 10.77.0.2/32");
    expect_not(down, "prio 2");
    free(down);
    free(up);
    network_free(net);
}

static void a_rate_of_nothing_cuts_all_and_a_later_one_heals(void **state)
{
    (void)state;
    const shape_end end = {"data", 0, true};
    network *net = fixture_network(2, 14.48 * MBIT), *cut = NULL;
    assert_int_equal(network_copy(net, &cut), EDGEPS_OK);
    cut->nodes[0].up_bytes_per_s = 0;
    char *none = text_of(NULL, cut, &end), *cuts = text_of(net, cut, &end),
         *heals = text_of(cut, net, &end), *same = text_of(net, net, &end);
    const char *all = "filter add dev data parent 1: protocol ip prio 1 u32 match u32 0 0 "
                      "flowid 1:2\n";
    expect(none, all);
    assert_string_equal(cuts, all);
    expect(heals, "filter del dev data parent 1: prio 1\n");
    expect(heals, "classid 1:11 htb rate 8bit ceil 15140000bit ");
    expect_not(same, "filter");
    free(same);
    free(heals);
    free(cuts);
    free(none);
    network_free(cut);
    network_free(net);
}

static void lumps_are_half_a_millisecond_within_a_frame_and_what_the_kernel_has(void **state)
{
    (void)state;
    assert_int_equal(shape_lump_bytes(MBIT), 1514);
    assert_int_equal(shape_lump_bytes(100 * MBIT), 6250);
    assert_int_equal(shape_lump_bytes(1e5 * MBIT), 65536);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wire_is_given_what_the_payload_needs),
        cmocka_unit_test(caps_hold_for_the_sender_and_a_pair_without_path_is_cut),
        cmocka_unit_test(a_rate_of_nothing_cuts_all_and_a_later_one_heals),
        cmocka_unit_test(lumps_are_half_a_millisecond_within_a_frame_and_what_the_kernel_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
