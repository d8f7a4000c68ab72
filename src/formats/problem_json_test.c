#include "formats/problem_json.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <string.h>

/* Two sites, a node that does not train, one without a limit to its sums, a pair without path. */
static problem *small(void)
{
    static const char *const names[] = {"hub", "ea\"st", "w\xc3\xa9st"};
    problem *p;
    assert_int_equal(problem_blank(3, &p), EDGEPS_OK);
    assert_int_equal(job_make("mlp", 100, 10, JOB_PIPELINED, NULL, &p->job), EDGEPS_OK);
    p->max_locals = 2;
    p->rounds = 5;
    for (uint32_t i = 0; i < 3; i++)
        p->nodes[i] = (problem_node){.name = names[i],
                                     .train = i != 0,
                                     .serve = i != 2,
                                     .up_bytes_per_s = 1e6 / (3 + i),
                                     .down_bytes_per_s = 2e6 / (7 + i),
                                     .compute_s = 0.1 * i,
                                     .sum_bytes_per_s = i ? 1e9 / 7 : INFINITY,
                                     .free_bytes = (INT64_C(1) << 60) + i,
                                     .site = i / 2,
                                     .access_s = 0.001 * i};
    for (size_t k = 0; k < 9; k++)
        p->latency_s[k] = 0.01 / (1 + (double)k);
    p->cap_bytes_per_s[1] = 0;
    p->cap_bytes_per_s[3] = 1e5 / 3;
    return p;
}

static json_t *read_back(const problem *p, problem_json_request request)
{
    char *text = NULL;
    assert_int_equal(problem_json_text(p, &request, NULL, &text), EDGEPS_OK);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    mem_free(text);
    return root;
}

static int64_t whole(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static bool same(const json_t *value, double expected)
{
    return isfinite(expected) ? json_is_real(value) && json_real_value(value) == expected
                              : json_is_null(value);
}

static void every_value_reads_back_to_the_last_digit(void **state)
{
    (void)state;
    problem *p = small();
    json_t *root = read_back(p, (problem_json_request){.seed = 9, .deadline_s = 0.1});
    assert_int_equal(whole(root, "seed"), 9);
    assert_true(same(json_object_get(root, "deadline_s"), 0.1));
    assert_int_equal(whole(root, "max_locals"), 2);
    assert_int_equal(whole(root, "rounds"), 5);
    for (size_t i = 0; i < 3; i++) {
        const problem_node *node = &p->nodes[i];
        const json_t *o = json_array_get(json_object_get(root, "nodes"), i);
        assert_string_equal(json_string_value(json_object_get(o, "name")), node->name);
        assert_int_equal(json_is_true(json_object_get(o, "train")), node->train);
        assert_int_equal(json_is_true(json_object_get(o, "serve")), node->serve);
        assert_true(same(json_object_get(o, "up_bytes_per_s"), node->up_bytes_per_s));
        assert_true(same(json_object_get(o, "down_bytes_per_s"), node->down_bytes_per_s));
        assert_true(same(json_object_get(o, "compute_s"), node->compute_s));
        assert_true(same(json_object_get(o, "sum_bytes_per_s"), node->sum_bytes_per_s));
        assert_true(same(json_object_get(o, "access_s"), node->access_s));
        assert_int_equal(whole(o, "free_bytes"), node->free_bytes);
        assert_int_equal(whole(o, "site"), node->site);
    }
    for (size_t k = 0; k < 9; k++) {
        const json_t *latency = json_object_get(root, "latency_s");
        const json_t *cap = json_object_get(root, "cap_bytes_per_s");
        assert_true(same(json_array_get(json_array_get(latency, k / 3), k % 3), p->latency_s[k]));
        assert_true(same(json_array_get(json_array_get(cap, k / 3), k % 3), p->cap_bytes_per_s[k]));
    }
    json_decref(root);
    problem_free(p);
}

/* The bytes of chunks and the storage of servers can be worked out from what is there. */
static void a_reader_can_work_out_chunks_and_storage(void **state)
{
    (void)state;
    problem *p = small();
    json_t *root = read_back(p, (problem_json_request){.seed = 1});
    const json_t *j = json_object_get(root, "job");
    const json_t *local = json_object_get(root, "local_need_bytes");
    const json_t *global = json_object_get(root, "global_need_bytes");
    assert_null(json_object_get(root, "deadline_s"));
    assert_string_equal(json_string_value(json_object_get(j, "model")), "mlp");
    assert_string_equal(json_string_value(json_object_get(j, "transfer")), "pipelined");
    int64_t bytes = 0, left = whole(j, "parameter_bytes");
    for (int64_t c = 0; c < whole(j, "chunk_count"); c++) {
        int64_t payload = left < whole(j, "chunk_bytes") ? left : whole(j, "chunk_bytes");
        bytes += payload + whole(j, "frame_bytes");
        left -= payload;
    }
    assert_int_equal(left, 0);
    assert_int_equal(bytes, job_wire_bytes(&p->job));
    for (int64_t children = 0; children < 100; children += 7) {
        assert_int_equal(whole(local, "fixed") + children * whole(local, "per_child"),
                         job_local_need_bytes(&p->job, children));
        assert_int_equal(whole(global, "fixed") + children * whole(global, "per_child"),
                         job_global_need_bytes(&p->job, children));
    }
    json_decref(root);
    problem_free(p);
}

static void names_must_tell_the_nodes_apart(void **state)
{
    (void)state;
    static const char *const bad[][2] = {{NULL, "node 1 has no name"},
                                         {"hub", "two nodes are called 'hub'"},
                                         {"\xff", "node 1: its name is not UTF-8"}};
    problem *p = small();
    for (size_t k = 0; k < 3; k++) {
        char *text = NULL;
        edgeps_diag diag;
        p->nodes[1].name = bad[k][0];
        assert_int_equal(problem_json_text(p, &(problem_json_request){0}, &diag, &text),
                         EDGEPS_FORMAT);
        assert_string_equal(diag.text, bad[k][1]);
        assert_null(text);
    }
    problem_free(p);
}

static void no_memory_for_the_text_is_told(void **state)
{
    (void)state;
    problem *p = small();
    char *text = NULL;
    mem_fail_at(1);
    assert_int_equal(problem_json_text(p, &(problem_json_request){0}, NULL, &text), EDGEPS_NOMEM);
    mem_fail_at(0);
    assert_null(text);
    problem_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_reads_back_to_the_last_digit),
        cmocka_unit_test(a_reader_can_work_out_chunks_and_storage),
        cmocka_unit_test(names_must_tell_the_nodes_apart),
        cmocka_unit_test(no_memory_for_the_text_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
