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
    static const char *const models[] = {"lenet5", "mlp", "resnet20"};
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

/* Every shard begins where the one before it ends, and none is larger by more than the unit. */
static void check_shards(const job *j, int64_t shards)
{
    int64_t unit = j->transfer == JOB_PIPELINED ? j->chunk_bytes / JOB_VALUE_BYTES : 1;
    int64_t next = 0, wire = 0, least = INT64_MAX, most = 0;
    for (int64_t s = 0; s < shards; s++) {
        job shard = job_shard(j, s, shards);
        assert_int_equal(job_shard_first(j, s, shards), next);
        assert_int_equal(next % unit, 0);
        next += shard.parameter_count;
        wire += job_wire_bytes(&shard);
        int64_t units = (shard.parameter_count + unit - 1) / unit;
        least = units < least ? units : least;
        most = units > most ? units : most;
        job first = job_shard(j, 0, shards);
        assert_int_equal(shard.chunk_bytes, first.chunk_bytes);
        if (j->transfer == JOB_STORE_AND_FORWARD)
            assert_int_equal(job_chunk_count(&shard), 1);
    }
    assert_int_equal(next, j->parameter_count);
    assert_in_range(least, 1, most);
    assert_true(most - least <= 1);
    int64_t headers = j->transfer == JOB_PIPELINED ? job_chunk_count(j) : shards;
    assert_int_equal(wire, job_parameter_bytes(j) + headers * JOB_FRAME_BYTES);
}

static void shards_are_ranges_of_nearly_equal_size(void **state)
{
    (void)state;
    static const char *const models[] = {"lenet5", "mlp", "resnet20"};
    for (int k = 0; k < 2; k++)
        for (int t = JOB_PIPELINED; t <= JOB_STORE_AND_FORWARD; t++) {
            job j = make(models[k], (job_transfer)t);
            for (int64_t shards = 1; shards <= job_most_shards(&j) && shards <= 40; shards++)
                check_shards(&j, shards);
            job whole = job_shard(&j, 0, 1);
            assert_int_equal(whole.parameter_count, j.parameter_count);
            assert_int_equal(whole.chunk_bytes, j.chunk_bytes);
        }
}

/* By hand: 16 chunks of 4096 values, the last one of 266: 6 + 5 + 5 chunks. */
static void lenet5_in_three_shards(void **state)
{
    (void)state;
    job j = make("lenet5", JOB_PIPELINED);
    assert_int_equal(job_most_shards(&j), 16);
    assert_int_equal(job_shard(&j, 0, 3).parameter_count, 6 * 4096);
    assert_int_equal(job_shard(&j, 1, 3).parameter_count, 5 * 4096);
    assert_int_equal(job_shard(&j, 2, 3).parameter_count, 61706 - 11 * 4096);
}

static void rounds_cover_all_samples(void **state)
{
    (void)state;
    job j = make("mlp", JOB_PIPELINED);
    assert_int_equal(job_rounds(&j, 6), 157);
    assert_int_equal(job_rounds(&j, 1), 938);
    assert_int_equal(job_rounds(&j, 60000), 1);
    assert_int_equal(job_rounds(&j, 0), 1);
    j.local_steps = 4;
    assert_int_equal(job_rounds(&j, 1), 235); /* 60000 / 256 */
}

static void an_unknown_model_is_refused_with_the_known_ones(void **state)
{
    (void)state;
    job j = {.model = "untouched"};
    edgeps_diag diag;
    assert_int_equal(job_make("gpt", 1, 1, JOB_PIPELINED, &diag, &j), EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "choose one of: lenet5, mlp, resnet20"));
    assert_int_equal(job_make("mlp", 0, 1, JOB_PIPELINED, &diag, &j), EDGEPS_USAGE);
    assert_int_equal(job_make("mlp", 1, 0, JOB_PIPELINED, &diag, &j), EDGEPS_USAGE);
    assert_string_equal(j.model, "untouched");
}

static void a_number_is_a_model_of_so_many_parameters(void **state)
{
    (void)state;
    static const char *const refused[] = {"0", "1.5", "-3", "+3", "7x", "", "99999999999999999999"};
    job j = make("1000000", JOB_PIPELINED), known = make("lenet5", JOB_PIPELINED),
        counted = make("61706", JOB_PIPELINED);
    assert_int_equal(job_parameter_bytes(&j), 4000000);
    assert_string_equal(j.model, "1000000");
    assert_int_equal(job_global_need_bytes(&counted, 3), job_global_need_bytes(&known, 3));
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
        assert_int_equal(job_make(refused[k], 1, 1, JOB_PIPELINED, NULL, &j), EDGEPS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_add_up_to_the_parameters),
        cmocka_unit_test(lenet5_travels_in_sixteen_chunks_or_in_one),
        cmocka_unit_test(needs_are_what_a_server_stores),
        cmocka_unit_test(shards_are_ranges_of_nearly_equal_size),
        cmocka_unit_test(lenet5_in_three_shards),
        cmocka_unit_test(rounds_cover_all_samples),
        cmocka_unit_test(an_unknown_model_is_refused_with_the_known_ones),
        cmocka_unit_test(a_number_is_a_model_of_so_many_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
