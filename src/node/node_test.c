#include "node/frame.h"
#include "node/node_fixture.h"
#include "trust/trust_fixture.h"

#include "base/mem.h"
#include "loop/loop.h"
#include "nn/dataset.h"
#include "nn/nn.h"
#include "nn/split.h"
#include "store/checkpoint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void must_run(fixture *f)
{
    edgeps_diag diag = {.text = ""};
    if (fixture_run(f, &diag))
        fail_msg("%s", diag.text);
}

/* The samples of all nodes but one, or of all of them. */
static size_t list_samples(const fixture *f, const nn_dataset *d, size_t without, uint32_t *indices)
{
    nn_partition parts;
    nn_split_way way = {f->options.dirichlet ? NN_SPLIT_DIRICHLET : NN_SPLIT_IID, f->options.alpha,
                        f->options.seed};
    size_t count = 0;
    assert_int_equal(nn_split(nn_dataset_labels(d, NN_TRAIN), nn_dataset_count(d, NN_TRAIN),
                              f->net->count, &way, &parts),
                     EDGEPS_OK);
    for (size_t p = 0; p < parts.parts; p++)
        for (size_t k = parts.offsets[p]; p != without && k < parts.offsets[p + 1]; k++)
            indices[count++] = parts.indices[k];
    nn_partition_free(&parts);
    return count;
}

#define NOBODY SIZE_MAX

/* One step of gradient descent on all samples at once, but those of one node, computed here in one
 * piece. */
static float *flat_step(const fixture *f, size_t without)
{
    size_t count = (size_t)nn_parameter_count(NN_MLP);
    float *parameters = mem_alloc(count, sizeof *parameters);
    float *gradient = mem_alloc(count, sizeof *gradient);
    nn_dataset *data;
    nn_model *model;
    double loss;
    assert_int_equal(nn_dataset_open(f->data, NN_MLP, NULL, &data), EDGEPS_OK);
    size_t samples = nn_dataset_count(data, NN_TRAIN);
    float *images = mem_alloc(samples * NN_IMAGE_VALUES, sizeof *images);
    uint8_t *labels = mem_alloc(samples, 1);
    uint32_t *indices = mem_alloc(samples, sizeof *indices);
    samples = list_samples(f, data, without, indices);
    nn_dataset_batch(data, NN_TRAIN, indices, samples, images, labels);
    assert_int_equal(nn_model_make(NN_MLP, nn_input(NN_MLP), NN_REF, samples, NULL, &model),
                     EDGEPS_OK);
    nn_initialise(NN_MLP, f->options.seed, parameters);
    assert_int_equal(
        nn_gradient(model, parameters, &(nn_batch){images, labels, samples}, gradient, &loss),
        EDGEPS_OK);
    for (size_t k = 0; k < count; k++)
        parameters[k] -= (float)(f->options.rate / (double)samples) * gradient[k];
    nn_model_free(model);
    nn_dataset_close(data);
    mem_free(images);
    mem_free(labels);
    mem_free(indices);
    mem_free(gradient);
    return parameters;
}

static double relative_distance(const float *a, const float *b, size_t count)
{
    double difference = 0, norm = 0;
    for (size_t k = 0; k < count; k++) {
        difference += ((double)a[k] - b[k]) * ((double)a[k] - b[k]);
        norm += (double)b[k] * b[k];
    }
    return sqrt(difference / norm);
}

static void a_tree_of_servers_equals_one_flat_weighted_average(void **state)
{
    (void)state;
    for (size_t locals = 1; locals <= 3; locals++) {
        fixture f;
        fixture_make(&f, 5, 300, 60); /* one round of unequal shards */
        f.options.dirichlet = true;
        f.options.alpha = 0.5;
        f.options.max_locals = locals;
        f.options.algorithm = "random";
        must_run(&f);
        float *tree = fixture_model(&f), *flat = flat_step(&f, NOBODY);
        double distance = relative_distance(tree, flat, (size_t)nn_parameter_count(NN_MLP));
        if (!(distance <= 1e-6))
            fail_msg("%d local servers: the parameters differ by %g", (int)locals, distance);
        mem_free(tree);
        mem_free(flat);
        fixture_free(&f);
    }
}

/* The third node needs minutes for a gradient: one round is made without it. */
static void a_round_closes_at_its_time_out_with_the_weights_of_who_is_in(void **state)
{
    (void)state;
    static const proto_patience patiences[] = {
        {.quorum = 0.6, .timeout_ns = 100000000},
        {.quorum = 0.6, .timeout_ns = 100000000, .staleness = 2}};
    for (size_t k = 0; k < 2; k++) {
        fixture f;
        fixture_make(&f, 3, 300, 100);
        f.net->nodes[2].compute_samples_per_s = 1;
        f.options.emulate = true;
        f.options.dirichlet = true;
        f.options.alpha = 0.5;
        f.options.max_locals = 1;
        f.options.patience = patiences[k];
        must_run(&f);
        float *tree = fixture_model(&f), *flat = flat_step(&f, 2);
        double distance = relative_distance(tree, flat, (size_t)nn_parameter_count(NN_MLP));
        if (!(distance <= 1e-6))
            fail_msg("the parameters differ by %g", distance);
        assert_null(fixture_nth(&f, METER_LOST, 0));
        mem_free(tree);
        mem_free(flat);
        fixture_free(&f);
    }
}

/* One worker of four makes no gradient at all during the run; links and speeds are the others'. */
static void rounds_go_on_without_a_worker_that_stands_still(void **state)
{
    (void)state;
    fixture f;
    fixture_make(&f, 4, 1200, 20);
    f.net->nodes[3].compute_samples_per_s = 0.1;
    f.options.emulate = true;
    f.options.epochs = 4;
    f.options.max_locals = 1;
    f.options.patience = (proto_patience){.quorum = 0.75, .timeout_ns = 20000000};
    must_run(&f);
    const fixture_event *last = fixture_nth(&f, METER_EPOCH, 3);
    assert_non_null(last);
    assert_int_equal(f.rounds, 4 * 15);
    assert_int_equal(last->measured.workers, 4); /* the fourth told that the epoch is over */
    assert_true(last->measured.samples <= 900);
    assert_null(fixture_nth(&f, METER_LOST, 0));
    if (!(last->measured.accuracy > 0.8))
        fail_msg("accuracy %g", last->measured.accuracy);
    fixture_free(&f);
}

static void a_job_learns_and_records_what_happened(void **state)
{
    (void)state;
    fixture f;
    fixture_make(&f, 4, 1200, 20);
    f.options.epochs = 3;
    must_run(&f);
    assert_non_null(fixture_nth(&f, METER_START, 0));
    assert_int_equal(fixture_nth(&f, METER_PLAN, 0)->generation, 1);
    const fixture_event *last = fixture_nth(&f, METER_EPOCH, 2);
    assert_non_null(last);
    assert_null(fixture_nth(&f, METER_EPOCH, 3));
    assert_int_equal(last->measured.samples, 1200);
    assert_int_equal(last->measured.workers, 4);
    assert_true(last->measured.loss < fixture_nth(&f, METER_EPOCH, 0)->measured.loss);
    if (!(last->measured.accuracy > 0.8))
        fail_msg("accuracy %g", last->measured.accuracy);
    assert_non_null(fixture_nth(&f, METER_END, 0));
    fixture_free(&f);
}

static void path_of_checkpoints(const fixture *f, char *path, size_t size)
{
    snprintf(path, size, "%s/checkpoints", f->dir);
}

static fixture *hindered; /* by a file where its folder of checkpoints should be */
static meter_observer *observe_all;

static void make_way(void *observer, const meter_event *event)
{
    char path[128];
    observe_all(observer, event);
    if (event->kind != METER_WARNING)
        return;
    path_of_checkpoints(hindered, path, sizeof path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void a_checkpoint_that_cannot_be_written_is_told_and_the_next_one_is(void **state)
{
    (void)state;
    fixture f;
    char path[128];
    checkpoint cp;
    fixture_make(&f, 3, 300, 50);
    f.options.epochs = 2;
    path_of_checkpoints(&f, path, sizeof path);
    FILE *obstacle = fopen(path, "we");
    assert_non_null(obstacle);
    fclose(obstacle);
    hindered = &f;
    observe_all = f.options.observe;
    f.options.observe = make_way;
    must_run(&f);
    const fixture_event *warning = fixture_nth(&f, METER_WARNING, 0);
    assert_non_null(warning);
    assert_non_null(strstr(warning->text, "no checkpoint of epoch 1, the one before stays: "));
    assert_null(fixture_nth(&f, METER_WARNING, 1));
    assert_int_equal(fixture_nth(&f, METER_CHECKPOINT, 0)->epoch, 2);
    assert_non_null(fixture_nth(&f, METER_EPOCH, 1));
    assert_int_equal(checkpoint_load_newest(path, NULL, &cp), EDGEPS_OK);
    assert_int_equal(cp.epoch, 2);
    checkpoint_free(&cp);
    fixture_free(&f);
}

/* The third node takes 0.8 s for a gradient, the two others what this machine takes. */
static void a_straggler_is_told_once_until_it_is_in_time_again(void **state)
{
    (void)state;
    fixture f;
    fixture_make(&f, 3, 6, 2);
    f.net->nodes[2].compute_samples_per_s = 2.5;
    f.options.emulate = true;
    f.options.epochs = 2;
    must_run(&f);
    const fixture_event *fault = fixture_nth(&f, METER_FAULT, 0);
    assert_non_null(fault);
    assert_int_equal(strncmp(fault->text, "c ", 2), 0);
    assert_null(fixture_nth(&f, METER_FAULT, 1));
    fixture_free(&f);
}

/* Storage of the node that carries the global server falls below what a server needs. */
static void plan_a_shortage(fixture *f, const char *node)
{
    f->net->events = mem_alloc(1, sizeof *f->net->events);
    f->net->event_count = 1;
    f->net->events[0] = (network_event){.node = (uint32_t)network_find(f->net, node),
                                        .change = NETWORK_FREE,
                                        .epoch = 2,
                                        .value = 100000};
}

static int64_t checkpoint_bytes_of(const fixture *f, const char *node)
{
    char path[128];
    int64_t bytes = -1;
    snprintf(path, sizeof path, "%s/nodes/%d", f->dir, (int)network_find(f->net, node));
    assert_int_equal(checkpoint_used_bytes(path, NULL, &bytes), EDGEPS_OK);
    return bytes;
}

static void the_global_server_moves_when_its_storage_falls_and_nothing_is_lost(void **state)
{
    (void)state;
    fixture f;
    fixture_make(&f, 4, 400, 50);
    f.options.epochs = 3;
    for (size_t i = 0; i < 4; i++)
        f.net->nodes[i].up_bytes_per_s = f.net->nodes[i].down_bytes_per_s = i == 2 ? 2e8 : 1e8;
    plan_a_shortage(&f, "c");
    must_run(&f);
    const fixture_event *move = NULL;
    for (size_t n = 0; fixture_nth(&f, METER_MOVE, n); n++)
        if (strstr(fixture_nth(&f, METER_MOVE, n)->text, "global c "))
            move = fixture_nth(&f, METER_MOVE, n);
    assert_non_null(move);
    assert_int_equal(move->epoch, 2);
    assert_int_equal(move->bytes, job_global_state_bytes(&f.options.job));
    assert_int_equal(checkpoint_bytes_of(&f, "c"), 0); /* the old copy is released */
    float *moved = fixture_model(&f);
    fixture_free(&f);

    fixture still;
    fixture_make(&still, 4, 400, 50);
    still.options.epochs = 3;
    must_run(&still);
    float *unmoved = fixture_model(&still);
    /* Another order of additions is all that a move may change. */
    double distance = relative_distance(moved, unmoved, (size_t)nn_parameter_count(NN_MLP));
    if (!(distance < 1e-4))
        fail_msg("the move changed the parameters by %g", distance);
    mem_free(moved);
    mem_free(unmoved);
    fixture_free(&still);
}

static void without_adjusting_the_job_says_what_it_would_do(void **state)
{
    (void)state;
    fixture f;
    fixture_make(&f, 4, 400, 50);
    f.options.epochs = 2;
    f.options.adjust = ADAPT_OFF;
    for (size_t i = 0; i < 4; i++)
        f.net->nodes[i].up_bytes_per_s = f.net->nodes[i].down_bytes_per_s = i == 2 ? 2e8 : 1e8;
    plan_a_shortage(&f, "c");
    must_run(&f);
    const fixture_event *advice = fixture_nth(&f, METER_ADVICE, 0);
    assert_non_null(advice);
    assert_non_null(strstr(advice->text, "storage of c"));
    assert_null(fixture_nth(&f, METER_PLAN, 1));
    fixture_free(&f);
}

static void a_resumed_job_goes_on_from_the_last_checkpoint(void **state)
{
    (void)state;
    fixture f;
    fixture_make(&f, 3, 300, 50);
    f.options.epochs = 2;
    must_run(&f);
    f.options.epochs = 3;
    f.options.resume = true;
    must_run(&f);
    assert_int_equal(fixture_nth(&f, METER_EPOCH, 0)->measured.epoch, 3);
    assert_null(fixture_nth(&f, METER_EPOCH, 1));
    assert_int_equal(fixture_nth(&f, METER_PLAN, 0)->generation, 2);
    float *resumed = fixture_model(&f);
    fixture_free(&f);

    fixture whole;
    fixture_make(&whole, 3, 300, 50);
    whole.options.epochs = 3;
    must_run(&whole);
    float *once = fixture_model(&whole);
    double distance = relative_distance(resumed, once, (size_t)nn_parameter_count(NN_MLP));
    if (!(distance < 1e-4))
        fail_msg("the resumed job differs by %g", distance);
    mem_free(resumed);
    mem_free(once);
    fixture_free(&whole);
}

static void a_port_in_use_is_named(void **state)
{
    (void)state;
    fixture f;
    edgeps_diag diag = {.text = ""};
    loop *l;
    loop_listener *taken;
    fixture_make(&f, 2, 100, 50);
    assert_int_equal(loop_make(NULL, &l), EDGEPS_OK);
    assert_int_equal(loop_listen(l, "127.0.0.1", 0, &(loop_acceptor){0}, NULL, &taken), EDGEPS_OK);
    f.options.port = loop_listener_port(taken);
    assert_int_equal(fixture_run(&f, &diag), EDGEPS_USAGE);
    assert_non_null(strstr(diag.text, "address already in use"));
    loop_free(l);
    fixture_free(&f);
}

static void too_little_storage_everywhere_is_infeasible(void **state)
{
    (void)state;
    fixture f;
    edgeps_diag diag = {.text = ""};
    fixture_make(&f, 3, 100, 20);
    for (size_t i = 0; i < 3; i++)
        f.net->nodes[i].free_bytes = 1000;
    assert_int_equal(fixture_run(&f, &diag), EDGEPS_INFEASIBLE);
    assert_non_null(strstr(diag.text, "storage"));
    fixture_free(&f);
}

/* A true member of the job that says another's name. */
typedef struct impostor {
    const char *certs;
    int port;
    trust *keys;
    loop *l;
    conn *c;
    int frames;
    pthread_t thread;
} impostor;

static void *no_buffer(void *ctx, conn *c, const uint8_t *header, uint64_t bytes)
{
    impostor *i = ctx;
    (void)c;
    (void)header;
    (void)bytes;
    i->frames++;
    return NULL;
}

static void no_frame(void *ctx, conn *c, const uint8_t *header, void *payload)
{
    impostor *i = ctx;
    (void)c;
    (void)header;
    (void)payload;
    i->frames++;
}

static void end_loop(void *ctx, conn *c, edgeps_err err, const char *text)
{
    impostor *i = ctx;
    (void)c;
    (void)err;
    (void)text;
    loop_stop(i->l);
}

static void *pretend(void *ctx)
{
    impostor *i = ctx;
    wire_writer w = {0};
    loop_handlers h = {.framing = frame_framing,
                       .payload_buffer = no_buffer,
                       .frame = no_frame,
                       .closed = end_loop};
    if (trust_load(i->certs, "node/b", NULL, &i->keys) || loop_make(NULL, &i->l))
        return NULL;
    loop_secure(i->l, i->keys);
    message_put_hello(&w, &(message_hello){.name = "a"});
    if (loop_connect(i->l, "127.0.0.1", i->port, &h, i, &i->c) == EDGEPS_OK &&
        frame_send(i->c, &(frame_stamp){.sender = 0}, MESSAGE_HELLO, 0, 0, &w) == EDGEPS_OK)
        loop_run(i->l);
    return NULL; /* the loop is freed when no other thread takes its descriptors over */
}

static impostor rogue;
static edgeps_err (*start_true_agents)(void *launcher, int port, edgeps_diag *diag);

static edgeps_err let_in(void *launcher, int port, edgeps_diag *diag)
{
    rogue.port = port;
    assert_int_equal(pthread_create(&rogue.thread, NULL, pretend, &rogue), 0);
    return start_true_agents(launcher, port, diag);
}

static void who_says_another_s_name_is_turned_away(void **state)
{
    (void)state;
    fixture f;
    char certs[64];
    edgeps_diag diag = {.text = ""};
    fixture_make(&f, 2, 400, 20);
    trust_fixture_make(certs, "demo");
    f.options.certs = certs;
    rogue = (impostor){.certs = certs};
    start_true_agents = f.options.launch;
    f.options.launch = let_in;
    if (fixture_run(&f, &diag))
        fail_msg("%s", diag.text);
    pthread_join(rogue.thread, NULL);
    assert_non_null(rogue.l);
    loop_free(rogue.l);
    trust_free(rogue.keys);
    assert_int_equal(rogue.frames, 0);
    const fixture_event *refusal = fixture_nth(&f, METER_WARNING, 0);
    assert_non_null(refusal);
    assert_non_null(strstr(refusal->text, "its certificate is that of node/b, not of 'a'"));
    trust_fixture_free(certs);
    fixture_free(&f);
}

/* Two workers: their sum does not depend on who comes first, so the runs agree to the last bit. */
static void enciphered_training_gives_the_same_model(void **state)
{
    (void)state;
    fixture f;
    char certs[64];
    edgeps_diag diag = {.text = ""};
    float *models[2];
    fixture_make(&f, 2, 400, 20);
    trust_fixture_make(certs, "demo");
    for (int k = 0; k < 2; k++) {
        f.options.certs = k ? certs : NULL;
        if (fixture_run(&f, &diag))
            fail_msg("%s", diag.text);
        models[k] = fixture_model(&f);
    }
    assert_memory_equal(models[0], models[1], (size_t)job_parameter_bytes(&f.options.job));
    mem_free(models[0]);
    mem_free(models[1]);
    trust_fixture_free(certs);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_says_another_s_name_is_turned_away),
        cmocka_unit_test(enciphered_training_gives_the_same_model),
        cmocka_unit_test(a_tree_of_servers_equals_one_flat_weighted_average),
        cmocka_unit_test(a_round_closes_at_its_time_out_with_the_weights_of_who_is_in),
        cmocka_unit_test(rounds_go_on_without_a_worker_that_stands_still),
        cmocka_unit_test(a_job_learns_and_records_what_happened),
        cmocka_unit_test(a_checkpoint_that_cannot_be_written_is_told_and_the_next_one_is),
        cmocka_unit_test(a_straggler_is_told_once_until_it_is_in_time_again),
        cmocka_unit_test(the_global_server_moves_when_its_storage_falls_and_nothing_is_lost),
        cmocka_unit_test(without_adjusting_the_job_says_what_it_would_do),
        cmocka_unit_test(a_resumed_job_goes_on_from_the_last_checkpoint),
        cmocka_unit_test(a_port_in_use_is_named),
        cmocka_unit_test(too_little_storage_everywhere_is_infeasible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
