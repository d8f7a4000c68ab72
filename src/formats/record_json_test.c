#include "formats/record_json.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static network *net;
static job j;
static plan pl;

static int set_up(void **state)
{
    static const char *const names[] = {"hub", "ea\"st", "west"};
    (void)state;
    assert_int_equal(network_make(3, NULL, &net), EDGEPS_OK);
    for (int i = 0; i < 3; i++)
        net->nodes[i].name = mem_copy_text(names[i]);
    assert_int_equal(job_make("mlp", 100, 10, JOB_PIPELINED, NULL, &j), EDGEPS_OK);
    assert_int_equal(plan_make(3, &pl), EDGEPS_OK);
    pl.generation = 4;
    pl.global = 0;
    pl.parent[1] = pl.parent[2] = 1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    plan_free(&pl);
    network_free(net);
    return 0;
}

static edgeps_err write_record(uint64_t of_job, int32_t standby, char **text)
{
    record_json r = {.job = of_job, .standby = standby};
    plan_json_facts facts = {.network = net, .plan = &pl, .job = &j, .round_s = 1.5};
    return record_json_text(&r, &facts, text);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    static const uint64_t jobs[] = {0, 7, UINT64_MAX, 0x8000000000000001};
    for (size_t k = 0; k < 4; k++) {
        char *text;
        record_json r;
        int32_t standby = (int32_t)k - 1;
        assert_int_equal(write_record(jobs[k], standby, &text), EDGEPS_OK);
        assert_int_equal(record_json_parse(text, strlen(text), net, NULL, &r), EDGEPS_OK);
        assert_true(r.job == jobs[k] && r.round_s == 1.5);
        assert_int_equal(r.standby, standby);
        assert_int_equal(r.plan.generation, 4);
        assert_true(plan_equal(&r.plan, &pl));
        plan_free(&r.plan);
        mem_free(text);
    }
}

static void refuses(const char *text, const char *words)
{
    edgeps_diag diag = {.text = ""};
    record_json r;
    assert_int_equal(record_json_parse(text, strlen(text), net, &diag, &r), EDGEPS_FORMAT);
    if (!strstr(diag.text, words))
        fail_msg("'%s' is not in: %s", words, diag.text);
}

static void what_is_no_record_is_refused(void **state)
{
    (void)state;
    static const char plan_text[] = "\"plan\":{\"global\":\"hub\",\"parent\":{}}}";
    static const struct {
        const char *head, *words;
    } cases[] = {
        {"[", "line 1"},
        {"{\"edgeps\":\"plan/1\",", "version 'plan/1' is not known"},
        {"{\"edgeps\":\"record/1\",\"job\":\"12\",", "job: must be 16 hexadecimal digits"},
        {"{\"edgeps\":\"record/1\",\"job\":\"000000000000000g\",", "job: must be"},
        {"{\"edgeps\":\"record/1\",\"job\":\"0000000000000001\",\"standby\":\"nobody\",",
         "standby: must be"},
        {"{\"edgeps\":\"record/1\",\"more\":1,", "more: no such key"},
    };
    char text[256];
    record_json r;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        snprintf(text, sizeof text, "%s%s", cases[k].head, plan_text);
        refuses(text, cases[k].words);
    }
    refuses("{\"edgeps\":\"record/1\",\"job\":\"0000000000000001\"}", "must be an object");
    snprintf(text, sizeof text, "{\"edgeps\":\"record/1\",\"job\":\"0000000000000001\",%s",
             plan_text);
    assert_int_equal(record_json_parse(text, strlen(text), net, NULL, &r), EDGEPS_OK);
    plan_free(&r.plan);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(what_is_written_is_read),
        UNIT(what_is_no_record_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
