#include "formats/plan_json.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <string.h>

typedef struct world {
    network *net;
    problem *p;
    job j;
    plan pl;
} world;

static int set_up(void **state)
{
    static world w;
    static const char *const names[] = {"hub", "ea\"st", "west"};
    assert_int_equal(network_make(3, NULL, &w.net), EDGEPS_OK);
    for (int i = 0; i < 3; i++)
        w.net->nodes[i].name = mem_copy_text(names[i]);
    assert_int_equal(job_make("mlp", 100, 10, JOB_PIPELINED, NULL, &w.j), EDGEPS_OK);
    assert_int_equal(problem_blank(3, &w.p), EDGEPS_OK);
    for (int i = 0; i < 3; i++)
        w.p->nodes[i].name = names[i];
    assert_int_equal(plan_make(3, &w.pl), EDGEPS_OK);
    w.pl.generation = 4;
    w.pl.global = 0;
    w.pl.parent[1] = w.pl.parent[2] = 1;
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    world *w = *state;
    plan_free(&w->pl);
    problem_free(w->p);
    network_free(w->net);
    return 0;
}

static char *text_of(const world *w)
{
    static const char *const phases[] = {"compute", "push to local"}, *const reasons[] = {"why"};
    const double seconds[] = {0.25, 0.5};
    char *text = NULL;
    plan_json_facts f = {.network = w->net,
                         .plan = &w->pl,
                         .job = &w->j,
                         .algorithm = "approx",
                         .seed = 3,
                         .max_locals = 2,
                         .round_s = 1.5,
                         .epoch_s = 15,
                         .phase_names = phases,
                         .phase_s = seconds,
                         .phase_count = 2,
                         .bottleneck = "down link of hub",
                         .lower_bound_s = 1.2,
                         .reasons = reasons,
                         .reason_count = 1};
    assert_int_equal(plan_json_text(&f, &text), EDGEPS_OK);
    return text;
}

static void says_roles_predictions_and_reasons(void **state)
{
    char *text = text_of(*state);
    json_t *o = json_loads(text, 0, NULL);
    assert_non_null(o);
    assert_int_equal(json_integer_value(json_object_get(o, "generation")), 4);
    assert_string_equal(json_string_value(json_object_get(o, "global")), "hub");
    assert_string_equal(json_string_value(json_array_get(json_object_get(o, "locals"), 0)),
                        "ea\"st");
    json_t *parent = json_object_get(o, "parent"), *predicted = json_object_get(o, "predicted");
    assert_string_equal(json_string_value(json_object_get(parent, "west")), "ea\"st");
    assert_null(json_object_get(parent, "hub"));
    assert_true(json_real_value(json_object_get(predicted, "round_s")) == 1.5);
    json_t *phases = json_object_get(predicted, "phases");
    assert_true(json_real_value(json_object_get(phases, "push to local")) == 0.5);
    assert_true(json_real_value(json_object_get(o, "proved_ratio")) == 1.25);
    assert_int_equal(json_array_size(json_object_get(o, "reasons")), 1);
    json_decref(o);
    mem_free(text);
}

static void the_roles_read_back(void **state)
{
    world *w = *state;
    char *text = text_of(w);
    plan again;
    assert_int_equal(plan_json_parse(text, strlen(text), w->p, NULL, &again), EDGEPS_OK);
    assert_true(plan_equal(&w->pl, &again));
    assert_int_equal(again.generation, 4);
    plan_free(&again);
    mem_free(text);
}

/* Two shards of one tree: what each says adds up to the model and its needs. */
static void shards_add_up_to_the_model(void **state)
{
    const world *w = *state;
    const plan two[] = {w->pl, w->pl};
    plan_json_facts f = {.network = w->net, .plan = two, .shard_count = 2, .job = &w->j};
    char *text = NULL;
    assert_int_equal(plan_json_text(&f, &text), EDGEPS_OK);
    json_t *o = json_loads(text, 0, NULL), *shards = json_object_get(o, "shards");
    int64_t parameters = 0, need_bytes = 0;
    assert_null(json_object_get(o, "global"));
    assert_int_equal(json_array_size(shards), 2);
    for (size_t s = 0; s < 2; s++) {
        json_t *shard = json_array_get(shards, s), *needs = json_object_get(shard, "need_bytes");
        assert_int_equal(json_integer_value(json_object_get(shard, "first_parameter")), parameters);
        assert_string_equal(json_string_value(json_object_get(shard, "global")), "hub");
        parameters += json_integer_value(json_object_get(shard, "parameters"));
        need_bytes += json_integer_value(json_object_get(needs, "hub"));
    }
    assert_int_equal(parameters, w->j.parameter_count);
    json_t *needs = json_object_get(o, "need_bytes");
    assert_int_equal(json_integer_value(json_object_get(needs, "hub")), need_bytes);
    json_decref(o);
    mem_free(text);
}

static void refuses(const world *w, const char *text, const char *words)
{
    plan pl;
    edgeps_diag diag = {.text = ""};
    assert_int_equal(plan_json_parse(text, strlen(text), w->p, &diag, &pl), EDGEPS_FORMAT);
    if (!strstr(diag.text, words))
        fail_msg("'%s' lacks '%s'", diag.text, words);
}

static void names_what_is_wrong_with_a_plan_file(void **state)
{
    const world *w = *state;
    refuses(w, "{", "line 1");
    refuses(w, "{\"global\": \"x\", \"parent\": {}}", "global: no node is called 'x'");
    refuses(w, "{\"parent\": {}}", "global: must be the name");
    refuses(w, "{\"global\": \"hub\"}", "parent: must be an object");
    refuses(w, "{\"global\": \"hub\", \"parent\": {\"y\": \"hub\"}}", "no node is called 'y'");
    refuses(w, "{\"global\": \"hub\", \"parent\": {\"west\": 3}}", "parent: must be the name");
    refuses(w, "{\"global\": \"hub\", \"generation\": -1, \"parent\": {}}", "generation");
    refuses(w, "{\"shards\": []}", "shards: a plan in several shards does not go here");
    refuses(w, "{\"glob\": 1}", "glob: no such key");
    refuses(w, "{\"edgeps\": \"plan/2\", \"global\": \"hub\", \"parent\": {}}",
            "edgeps: version 'plan/2' is not known");
    refuses(w, "{\"edgeps\": 1, \"global\": \"hub\", \"parent\": {}}", "edgeps: version '' is");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(says_roles_predictions_and_reasons, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shards_add_up_to_the_model, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_roles_read_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_what_is_wrong_with_a_plan_file, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
