#include "formats/network_sketch.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/edgeps-sketch-XXXXXX";

static int write_file(const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    return fclose(file);
}

static int set_up(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    return close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    return 0;
}

static void tells_what_is_left_out(void **state)
{
    (void)state;
    network_sketch s;
    edgeps_diag diag = {.text = ""};
    write_file("{\"edgeps\": \"network/1\", \"nodes\": [{\"name\": \"a\"},"
               "{\"name\": \"b\", \"up\": \"2 MB/s\", \"free\": \"1 MB\", \"train\": false},"
               "{\"name\": \"c\", \"down\": \"3 MB/s\", \"compute\": \"5 samples/s\","
               " \"serve\": false}],"
               "\"scenario\": [{\"epoch\": 2, \"node\": \"b\", \"free\": \"7 B\"}]}");
    if (network_sketch_load(path, &diag, &s))
        fail_msg("%s", diag.text);
    assert_true(s.gaps[0].up && s.gaps[0].down && s.gaps[0].compute && s.gaps[0].free);
    assert_true(!s.gaps[1].up && s.gaps[1].down && !s.gaps[1].compute && !s.gaps[1].free);
    assert_true(s.gaps[2].up && !s.gaps[2].down && !s.gaps[2].compute && !s.gaps[2].free);
    assert_true(s.net->nodes[1].up_bytes_per_s == 2e6 && s.net->nodes[2].down_bytes_per_s == 3e6);
    assert_string_equal(s.net->nodes[2].name, "c");
    assert_int_equal(s.net->event_count, 1);
    assert_true(s.latency);
    network_set_latency_s(s.net, 0, 2, 0.5); /* each is a site of its own */
    assert_true(network_latency_s(s.net, 0, 2) == 0.5 && network_latency_s(s.net, 0, 1) == 0);
    network_sketch_free(&s);
}

static void any_word_of_latencies_stands(void **state)
{
    (void)state;
    network_sketch s;
    write_file("{\"edgeps\": \"network/1\", \"nodes\": [{\"name\": \"a\"},"
               "{\"name\": \"b\", \"latency\": \"2 ms\"}]}");
    assert_int_equal(network_sketch_load(path, NULL, &s), EDGEPS_OK);
    assert_false(s.latency);
    assert_true(network_latency_s(s.net, 0, 1) == 2e-3);
    network_sketch_free(&s);
}

static void all_else_is_refused_as_ever(void **state)
{
    (void)state;
    network_sketch s;
    edgeps_diag diag = {.text = ""};
    write_file("{\"edgeps\": \"network/1\", \"nodes\": [{\"name\": \"a\", \"speed\": 1}, 7]}");
    assert_int_equal(network_sketch_load(path, &diag, &s), EDGEPS_FORMAT);
    assert_non_null(strstr(diag.text, "speed"));
    write_file("{\"edgeps\": ");
    assert_int_equal(network_sketch_load(path, &diag, &s), EDGEPS_FORMAT);
    assert_non_null(strstr(diag.text, path));
    assert_int_equal(network_sketch_load("/nonexistent", &diag, &s), EDGEPS_USAGE);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    edgeps_err err = EDGEPS_NOMEM;
    write_file("{\"edgeps\": \"network/1\", \"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}]}");
    for (long n = 1; err == EDGEPS_NOMEM; n++) {
        network_sketch s = {.net = NULL};
        mem_fail_at(n);
        err = network_sketch_load(path, NULL, &s);
        mem_fail_at(0);
        network_sketch_free(&s);
    }
    assert_int_equal(err, EDGEPS_OK);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(tells_what_is_left_out),
        UNIT(any_word_of_latencies_stands),
        UNIT(all_else_is_refused_as_ever),
        UNIT(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
