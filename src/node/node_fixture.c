#include "node/node_fixture.h"

#include "base/mem.h"
#include "nn/synthetic.h"
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

static void *run_agent(void *options)
{
    edgeps_diag diag = {.text = ""};
    agent_run(options, &diag);
    return NULL;
}

static edgeps_err start_agents(void *launcher, int port, edgeps_diag *diag)
{
    fixture *f = launcher;
    (void)diag;
    for (size_t i = 0; i < f->net->count; i++) {
        f->agents[i] = (agent_options){.name = f->net->nodes[i].name,
                                       .host = "127.0.0.1",
                                       .port = port,
                                       .certs = f->options.certs};
        assert_int_equal(pthread_create(&f->threads[i], NULL, run_agent, &f->agents[i]), 0);
        f->started++;
    }
    return EDGEPS_OK;
}

static void no_signal(void *launcher, size_t node, int signo)
{
    (void)launcher;
    (void)node;
    (void)signo;
}

static const char *or_empty(const char *text) { return text ? text : ""; }

static void observe(void *observer, const meter_event *event)
{
    fixture *f = observer;
    f->rounds += event->kind == METER_ROUND;
    if (event->kind == METER_ROUND || f->event_count == FIXTURE_MOST_EVENTS)
        return;
    fixture_event *e = &f->events[f->event_count++];
    *e = (fixture_event){.kind = event->kind,
                         .epoch = event->epoch,
                         .generation = event->generation,
                         .bytes = event->bytes,
                         .seconds = event->seconds,
                         .frozen_s = event->frozen_s,
                         .rounds = f->rounds,
                         .measured = event->measured};
    snprintf(e->text, sizeof e->text, "%s %s %s %s %s", or_empty(event->node),
             or_empty(event->role), or_empty(event->from), or_empty(event->to),
             or_empty(event->text));
}

void fixture_make(fixture *f, size_t count, int64_t samples, int64_t batch)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    *f = (fixture){0};
    snprintf(f->dir, sizeof f->dir, "/tmp/edgeps-node-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->data, sizeof f->data, "%s/data", f->dir);
    assert_int_equal(mkdir(f->data, 0700), 0);
    assert_int_equal(nn_synthetic_write(f->data, (size_t)samples, 200, 5, NULL), EDGEPS_OK);
    assert_int_equal(network_make(count, NULL, &f->net), EDGEPS_OK);
    for (size_t i = 0; i < count; i++) {
        network_node *node = &f->net->nodes[i];
        node->name = mem_copy_text(names[i]);
        node->up_bytes_per_s = node->down_bytes_per_s = 1e8;
        node->compute_samples_per_s = 1e5;
        node->free_bytes = INT64_C(64) << 20;
    }
    f->options = (host_options){.epochs = 1,
                                .algorithm = "greedy",
                                .max_locals = 2,
                                .seed = 3,
                                .rate = 0.05,
                                .momentum = 0.9,
                                .reference_backend = true,
                                .adjust = ADAPT_ADJUST,
                                .suspect_s = 20,
                                .silent_s = 20,
                                .data_dir = f->data,
                                .out_dir = f->dir,
                                .launch = start_agents,
                                .signal_node = no_signal,
                                .launcher = f,
                                .observe = observe,
                                .observer = f};
    assert_int_equal(job_make("mlp", samples, batch, JOB_PIPELINED, NULL, &f->options.job),
                     EDGEPS_OK);
}

static void make_folder(const fixture *f, const char *part)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", f->dir, part);
    mkdir(path, 0700);
}

edgeps_err fixture_run(fixture *f, edgeps_diag *diag)
{
    make_folder(f, "nodes");
    make_folder(f, "checkpoints");
    make_folder(f, "plans");
    f->options.net = f->net;
    f->started = f->event_count = f->rounds = 0;
    edgeps_err err = host_run(&f->options, diag);
    for (size_t i = 0; i < f->started; i++)
        pthread_join(f->threads[i], NULL);
    return err;
}

const fixture_event *fixture_nth(const fixture *f, meter_event_kind kind, size_t n)
{
    for (size_t k = 0; k < f->event_count; k++)
        if (f->events[k].kind == kind && n-- == 0)
            return &f->events[k];
    return NULL;
}

float *fixture_model(const fixture *f)
{
    char path[128];
    checkpoint cp;
    snprintf(path, sizeof path, "%s/checkpoints", f->dir);
    assert_int_equal(checkpoint_load_newest(path, NULL, &cp), EDGEPS_OK);
    float *parameters = mem_alloc((size_t)cp.parameter_count, sizeof *parameters);
    assert_non_null(parameters);
    memcpy(parameters, cp.parameters, (size_t)cp.parameter_count * sizeof *parameters);
    checkpoint_free(&cp);
    return parameters;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

void fixture_free(fixture *f)
{
    nftw(f->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    network_free(f->net);
}
