#include "formats/event_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

const meter_event event_fixture[EVENT_FIXTURE_COUNT] = {
    {.kind = METER_START,
     .time_s = 0.25,
     .network = "métropole",
     .model = "lenet5",
     .seed = 7,
     .epochs = 5,
     .rounds = 40,
     .workers = 6,
     .text = "pipelined"},
    {.kind = METER_PLAN,
     .time_s = 1,
     .epoch = 1,
     .generation = 1,
     .global = "lyon",
     .locals = "lyon, nice",
     .predicted_round_s = 0.084,
     .bound_s = 0.075,
     .text = "the uplink of \"lyon\" is the limit"},
    {.kind = METER_MOVE,
     .time_s = 9.5,
     .epoch = 2,
     .generation = 2,
     .role = "global",
     .from = "lyon",
     .to = "paris",
     .bytes = (int64_t)5 << 40,
     .seconds = 0.1,
     .frozen_s = 0.01,
     .text = "storage of lyon: 1 MiB\tfree"},
    {.kind = METER_ROUND, .time_s = 9.75, .epoch = 2, .round = 3, .rounds = 40},
    {.kind = METER_EPOCH,
     .time_s = 12.125,
     .generation = 2,
     .measured = {.epoch = 2,
                  .rounds = 40,
                  .workers = 6,
                  .samples = 60000,
                  .measured_s = 3.4,
                  .predicted_s = 3.36,
                  .compute_s = 1.1,
                  .push_s = 1.2,
                  .sum_s = 0.3,
                  .pull_s = 0.7,
                  .wait_s = 0.2,
                  .move_s = 0.1,
                  .loss = 0.5,
                  .accuracy = 0.9714}},
    {.kind = METER_LOST,
     .time_s = 13,
     .epoch = 3,
     .node = "nice",
     .fault = "silent",
     .text = "silent: not heard for 3.0 s"},
    {.kind = METER_BACK,
     .time_s = 13.5,
     .epoch = 3,
     .node = "nice",
     .text = "a new process says hello"},
    {.kind = METER_SUSPECT, .time_s = 13.5, .epoch = 3, .node = "lyon", .seconds = 1.25},
    {.kind = METER_CLEARED, .time_s = 13.5, .epoch = 3, .node = "lyon"},
    {.kind = METER_FAULT,
     .time_s = 13.5,
     .epoch = 3,
     .node = "lyon",
     .fault = "slow",
     .text = "4 times the median"},
    {.kind = METER_RECOVERED,
     .time_s = 13.5,
     .epoch = 3,
     .round = 12,
     .node = "nice",
     .fault = "silent",
     .seconds = 3.5},
    {.kind = METER_TAKEOVER,
     .time_s = 13.75,
     .epoch = 3,
     .generation = 3,
     .text = "5 agents of 6 go on"},
    {.kind = METER_LATE,
     .time_s = 13.7,
     .epoch = 3,
     .round = 7,
     .node = "nice",
     .text = "its gradient came after the sum"},
    {.kind = METER_SCENARIO,
     .time_s = 14,
     .epoch = 3,
     .node = "lyon",
     .text = "free storage is 1 MiB"},
    {.kind = METER_ADVICE, .time_s = 15, .epoch = 3, .text = "move the global server to paris"},
    {.kind = METER_CHECKPOINT, .time_s = 16, .epoch = 3, .text = "run/checkpoint/3"},
    {.kind = METER_WARNING, .time_s = 17, .text = "the clock jumped"},
    {.kind = METER_END,
     .time_s = 18,
     .generation = 2,
     .seconds = 17.75,
     .accuracy = 0.9853,
     .status = 130,
     .text = "interrupted"},
};

static void assert_same_text(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a)
        assert_string_equal(a, b);
}

static void assert_same_real(double a, double b)
{
    assert_int_equal(isnan(a) != 0, isnan(b) != 0);
    if (!isnan(a))
        assert_true(fabs(a - b) <= 1e-14 * fabs(a));
}

static void assert_same_measured(const meter_epoch *a, const meter_epoch *b)
{
    assert_true(a->epoch == b->epoch);
    assert_true(a->rounds == b->rounds);
    assert_true(a->workers == b->workers);
    assert_true(a->samples == b->samples);
    assert_same_real(a->measured_s, b->measured_s);
    assert_same_real(a->predicted_s, b->predicted_s);
    assert_same_real(a->compute_s, b->compute_s);
    assert_same_real(a->push_s, b->push_s);
    assert_same_real(a->sum_s, b->sum_s);
    assert_same_real(a->pull_s, b->pull_s);
    assert_same_real(a->wait_s, b->wait_s);
    assert_same_real(a->move_s, b->move_s);
    assert_same_real(a->loss, b->loss);
    assert_same_real(a->accuracy, b->accuracy);
}

void assert_same_event(const meter_event *a, const meter_event *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_same_real(a->time_s, b->time_s);
    assert_true(a->epoch == b->epoch);
    assert_true(a->epochs == b->epochs);
    assert_true(a->round == b->round);
    assert_true(a->rounds == b->rounds);
    assert_true(a->workers == b->workers);
    assert_true(a->generation == b->generation);
    assert_true(a->seed == b->seed);
    assert_same_text(a->network, b->network);
    assert_same_text(a->model, b->model);
    assert_same_text(a->node, b->node);
    assert_same_text(a->fault, b->fault);
    assert_same_text(a->global, b->global);
    assert_same_text(a->locals, b->locals);
    assert_same_text(a->role, b->role);
    assert_same_text(a->from, b->from);
    assert_same_text(a->to, b->to);
    assert_same_text(a->text, b->text);
    assert_true(a->bytes == b->bytes);
    assert_same_real(a->seconds, b->seconds);
    assert_same_real(a->frozen_s, b->frozen_s);
    assert_same_real(a->predicted_round_s, b->predicted_round_s);
    assert_same_real(a->bound_s, b->bound_s);
    assert_same_real(a->accuracy, b->accuracy);
    assert_int_equal(a->status, b->status);
    assert_same_measured(&a->measured, &b->measured);
}
