#include "formats/scenario_file.h"

#include "base/mem.h"
#include "formats/network_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char three[] =
    "{\"edgeps\": \"network/1\", \"nodes\": ["
    "{\"name\": \"a\", \"up\": \"8 Mbit/s\", \"down\": \"2 MB/s\", \"compute\": \"900 samples/s\","
    " \"free\": \"1000 B\"},"
    "{\"name\": \"b\", \"up\": \"8 Mbit/s\", \"down\": \"2 MB/s\", \"compute\": \"900 samples/s\","
    " \"free\": \"2000 B\"},"
    "{\"name\": \"c\", \"up\": \"8 Mbit/s\", \"down\": \"2 MB/s\", \"compute\": \"900 samples/s\","
    " \"free\": \"4000 B\"}]}";

static const scenario_trace half_seconds = {1, NETWORK_DOWN, 0.5, 0};

static char path[64];

static void keep(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static network *fresh(void)
{
    network *net;
    assert_int_equal(network_json_parse(three, strlen(three), "three", NULL, &net), EDGEPS_OK);
    return net;
}

static void expect(const network *net, size_t k, network_event e)
{
    const network_event *is = &net->events[k];
    assert_true(k < net->event_count);
    assert_int_equal(is->node, e.node);
    assert_int_equal(is->change, e.change);
    assert_int_equal(is->epoch, e.epoch);
    assert_true(is->at_s == e.at_s && is->value == e.value);
}

static void fields_of_a_table_are_lines_of_the_scenario(void **state)
{
    (void)state;
    network *net = fresh();
    keep("node;at;up;stop\nb;1.5 s;16 kbit/s;\n\nc;2 s;1 MB/s;true\n");
    assert_int_equal(scenario_read_csv(path, NULL, net), EDGEPS_OK);
    assert_int_equal(net->event_count, 3);
    expect(net, 0, (network_event){1, NETWORK_UP, 0, 1.5, 2000});
    expect(net, 1, (network_event){2, NETWORK_UP, 0, 2, 1e6});
    expect(net, 2, (network_event){2, NETWORK_STOP, 0, 2, 0});
    keep("epoch,node,free\n7,a,3 B\n");
    assert_int_equal(scenario_read_csv(path, NULL, net), EDGEPS_OK);
    expect(net, 3, (network_event){0, NETWORK_FREE, 7, 0, 3});
    network_free(net);
}

/* Columns 10, 20, 5 and 0, 0, 8: peaks 20 and 8; node c follows the first again. */
static void what_others_store_is_taken_from_what_is_free(void **state)
{
    (void)state;
    network *net = fresh();
    keep("t_hour,app_0,app_1\n0,10,0\n1,20,0\n2,20,8\n");
    assert_int_equal(scenario_read_churn(path, 0.5, 0, NULL, net), EDGEPS_OK);
    assert_int_equal(net->event_count, 6);
    expect(net, 0, (network_event){0, NETWORK_FREE, 1, 0, 750});
    expect(net, 1, (network_event){1, NETWORK_FREE, 1, 0, 2000});
    expect(net, 2, (network_event){2, NETWORK_FREE, 1, 0, 3000});
    expect(net, 3, (network_event){0, NETWORK_FREE, 2, 0, 500});
    expect(net, 4, (network_event){2, NETWORK_FREE, 2, 0, 2000});
    expect(net, 5, (network_event){1, NETWORK_FREE, 3, 0, 1000});
    net->event_count = 0;
    assert_int_equal(scenario_read_churn(path, 1, 60, NULL, net), EDGEPS_OK);
    expect(net, 5, (network_event){1, NETWORK_FREE, 0, 120, 0});
    network_free(net);
}

static void packets_are_rates(void **state)
{
    (void)state;
    network *net = fresh();
    scenario_trace twice = half_seconds;
    keep("50\n100\n500\n600\n600\n1400\n1750");
    assert_int_equal(scenario_read_mahimahi(path, &half_seconds, NULL, net), EDGEPS_OK);
    assert_int_equal(net->event_count, 4);
    expect(net, 0, (network_event){1, NETWORK_DOWN, 0, 0, 3 * 1448 * 2});
    expect(net, 1, (network_event){1, NETWORK_DOWN, 0, 0.5, 2 * 1448 * 2});
    expect(net, 2, (network_event){1, NETWORK_DOWN, 0, 1, 1448 * 2});
    expect(net, 3, (network_event){1, NETWORK_DOWN, 0, 1.5, 1448 * 4}); /* in a quarter */
    net->event_count = 0;
    twice.step_s = twice.until_s = 3.5;
    assert_int_equal(scenario_read_mahimahi(path, &twice, NULL, net), EDGEPS_OK);
    assert_int_equal(net->event_count, 1);
    assert_true(net->events[0].value == 14 * 1448 / 3.5);
    network_free(net);
}

typedef edgeps_err read_any(edgeps_diag *diag, network *net);

static edgeps_err read_csv(edgeps_diag *diag, network *net)
{
    return scenario_read_csv(path, diag, net);
}

static edgeps_err read_churn(edgeps_diag *diag, network *net)
{
    return scenario_read_churn(path, 0.9, 0, diag, net);
}

static edgeps_err read_mahimahi(edgeps_diag *diag, network *net)
{
    return scenario_read_mahimahi(path, &half_seconds, diag, net);
}

static void refuses(read_any *read, const char *text, const char *words)
{
    network *net = fresh();
    edgeps_diag diag = {.text = ""};
    keep(text);
    assert_int_equal(read(&diag, net), EDGEPS_FORMAT);
    assert_int_equal(net->event_count, 0);
    if (!strstr(diag.text, words) || !strstr(diag.text, path))
        fail_msg("'%s' lacks '%s'", diag.text, words);
    network_free(net);
}

static void bad_files_are_refused_with_their_line(void **state)
{
    (void)state;
    refuses(read_csv, "node,up\na,1 B/s\n", "line 1: needs a column \"node\"");
    refuses(read_csv, "node,at,epoch\na,1 s,2\n", "line 1: needs a column");
    refuses(read_csv, "node,at,up\na,1 s,2 B/s\nz,1 s,2 B/s\n", "line 3: node: no node is called");
    refuses(read_csv, "node,at,up\na,1,2 B/s\n", "line 2: at: ");
    refuses(read_csv, "node,at,fast\na,1 s,2 B/s\n", "line 2: fast: no such key");
    refuses(read_csv, "node,at,kill\na,1 s,yes\n", "line 2: kill: must be true");
    refuses(read_csv, "node,epoch,kill\na,0,true\n", "line 2: epoch: must be a whole");
    refuses(read_csv, "node,at,node\na,1 s,b\n", "line 2: a field");
    refuses(read_churn, "t,x\n", "needs a line of names");
    refuses(read_churn, "t\n1\n", "needs a line of names");
    refuses(read_churn, "t,x\n0,1\n1,-1\n", "line 3: column 'x': '-1' is no amount");
    refuses(read_churn, "t,x\n0,1 GB\n", "line 2: column 'x': '1 GB' is no amount");
    refuses(read_mahimahi, "", "no line after 0 ms");
    refuses(read_mahimahi, "0\n0\n", "no line after 0 ms");
    refuses(read_mahimahi, "5\n4\n", "line 2: must be whole milliseconds");
    refuses(read_mahimahi, "5\n\n6\n", "line 2: must be whole milliseconds");
    refuses(read_mahimahi, "5\n6.5\n", "line 2: must be whole milliseconds");
    refuses(read_mahimahi, "99999999999999999999\n", "line 1: must be whole");
}

static void survives_each_allocation_failing(void **state)
{
    static const struct {
        read_any *read;
        const char *text;
    } files[] = {{read_csv, "node,at,up\na,1 s,2 B/s\n"},
                 {read_churn, "t,x\n0,1\n"},
                 {read_mahimahi, "10\n20\n"}};
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        network *net = fresh();
        keep(files[k].text);
        edgeps_err err = EDGEPS_NOMEM;
        for (long n = 1; err; n++) {
            mem_fail_at(n);
            err = files[k].read(NULL, net);
            mem_fail_at(0);
            assert_true(err == EDGEPS_OK || (err == EDGEPS_NOMEM && net->event_count == 0));
        }
        network_free(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_a_table_are_lines_of_the_scenario),
        cmocka_unit_test(what_others_store_is_taken_from_what_is_free),
        cmocka_unit_test(packets_are_rates),
        cmocka_unit_test(bad_files_are_refused_with_their_line),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    snprintf(path, sizeof path, "/tmp/edgeps-scenario-XXXXXX");
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return status;
}
