#include "job/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static job make(const char *model, job_transfer transfer)
{
    job j;
    assert_int_equal(job_make(model, 60000, 64, transfer, NULL, &j), EDGEPS_OK);
    return j;
}

static void chunks_add_up_to_the_parameters(void **state)
{
    (void)state;
    static const char *const models[] = {"lenet5", "mlp"};
    for (int k = 0; k < 2; k++)
        for (int t = JOB_PIPELINED; t <= JOB_STORE_AND_FORWARD; t++) {
            job j = make(models[k], (job_transfer)t);
            int64_t payload = 0, wire = 0;
            for (int64_t c = 0; c < job_chunk_count(&j); c++) {
                assert_in_range(job_chunk_payload_bytes(&j, c), 1, j.chunk_bytes);
                payload += job_chunk_payload_bytes(&j, c);
                wire += job_chunk_wire_bytes(&j, c);
            }
            assert_int_equal(payload, job_parameter_bytes(&j));
            assert_int_equal(wire, job_wire_bytes(&j));
            assert_int_equal(wire, payload + 64 * job_chunk_count(&j));
        }
}

static void lenet5_travels_in_sixteen_chunks_or_in_one(void **state)
{
    (void)state;
    job pipelined = make("lenet5", JOB_PIPELINED), whole = make("lenet5", JOB_STORE_AND_FORWARD);
    assert_int_equal(job_parameter_bytes(&pipelined), 246824);
    assert_int_equal(job_chunk_count(&pipelined), 16);
    assert_int_equal(job_chunk_payload_bytes(&pipelined, 15), 246824 - 15 * 16384);
    assert_int_equal(job_chunk_count(&whole), 1);
    assert_int_equal(job_wire_bytes(&whole), 246888);
}

/* By hand, for LeNet-5 with chunks of 16384 bytes. */
static void needs_are_what_a_server_stores(void **state)
{
    (void)state;
    job j = make("lenet5", JOB_PIPELINED);
    assert_int_equal(job_local_need_bytes(&j, 3), 2 * 246824 + 3 * 16384);
    int64_t checkpoints = 3 * (2 * INT64_C(246824) + 16384);
    assert_int_equal(job_global_need_bytes(&j, 2), 3 * 246824 + 2 * 16384 + checkpoints);
    assert_int_equal(job_local_state_bytes(&j), 246824);
    assert_int_equal(job_global_state_bytes(&j), 2 * 246824);
}

static void rounds_cover_all_samples(void **state)
{
    (void)state;
    job j = make("mlp", JOB_PIPELINED);
    assert_int_equal(job_rounds(&j, 6), 157);
    assert_int_equal(job_rounds(&j, 1), 938);
    assert_int_equal(job_rounds(&j, 60000), 1);
    assert_int_equal(job_rounds(&j, 0), 1);
}

static void an_unknown_model_is_refused_with_the_known_ones(void **state)
{
    (void)state;
    job j = {.model = "untouched"};
    edgeps_diag diag;
    assert_int_equal(job_make("gpt", 1, 1, JOB_PIPELINED, &diag, &j), EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "choose one of: lenet5, mlp"));
    assert_int_equal(job_make("mlp", 0, 1, JOB_PIPELINED, &diag, &j), EDGEPS_USAGE);
    assert_int_equal(job_make("mlp", 1, 0, JOB_PIPELINED, &diag, &j), EDGEPS_USAGE);
    assert_string_equal(j.model, "untouched");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_add_up_to_the_parameters),
        cmocka_unit_test(lenet5_travels_in_sixteen_chunks_or_in_one),
        cmocka_unit_test(needs_are_what_a_server_stores),
        cmocka_unit_test(rounds_cover_all_samples),
        cmocka_unit_test(an_unknown_model_is_refused_with_the_known_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
