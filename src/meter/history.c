#include "meter/history.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

const char *const meter_faults[METER_FAULTS] = {
    [METER_DEAD] = "dead",
    [METER_SILENT] = "silent",
    [METER_SLOW] = "slow",
    [METER_FULL] = "full",
};

static const size_t text_offsets[] = {
    offsetof(meter_event, fault), offsetof(meter_event, network), offsetof(meter_event, model),
    offsetof(meter_event, node),  offsetof(meter_event, global),  offsetof(meter_event, locals),
    offsetof(meter_event, role),  offsetof(meter_event, from),    offsetof(meter_event, to),
    offsetof(meter_event, text),
};

#define TEXT_COUNT (sizeof text_offsets / sizeof *text_offsets)

static const char **text_of(meter_event *event, size_t which)
{
    return (const char **)(void *)((char *)event + text_offsets[which]);
}

edgeps_err meter_keep(const meter_event *event, meter_kept *out)
{
    meter_event copy = *event;
    size_t bytes = 0;
    for (size_t i = 0; i < TEXT_COUNT; i++)
        if (*text_of(&copy, i))
            bytes += strlen(*text_of(&copy, i)) + 1;
    char *block = mem_alloc(bytes, 1);
    if (!block)
        return EDGEPS_NOMEM;
    char *end = block;
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        const char **text = text_of(&copy, i);
        if (!*text)
            continue;
        size_t length = strlen(*text) + 1;
        *text = memcpy(end, *text, length);
        end += length;
    }
    *out = (meter_kept){.event = copy, .texts = block};
    return EDGEPS_OK;
}

void meter_kept_free(meter_kept *kept)
{
    mem_free(kept->texts);
    *kept = (meter_kept){0};
}

static edgeps_err make_room(meter_history *history)
{
    meter_kept *grown = mem_grow(history->kept, history->count + 1, sizeof *grown, &history->room);
    if (!grown)
        return EDGEPS_NOMEM;
    history->kept = grown;
    return EDGEPS_OK;
}

edgeps_err meter_history_add(meter_history *history, const meter_event *event)
{
    if (event->kind == METER_ROUND)
        return EDGEPS_OK;
    edgeps_err err = make_room(history);
    if (!err)
        err = meter_keep(event, &history->kept[history->count]);
    if (!err)
        history->count++;
    return err;
}

void meter_history_free(meter_history *history)
{
    for (size_t i = 0; i < history->count; i++)
        meter_kept_free(&history->kept[i]);
    mem_free(history->kept);
    *history = (meter_history){0};
}

const meter_event *meter_history_next(const meter_history *history, meter_event_kind kind,
                                      size_t *at)
{
    while (*at < history->count) {
        const meter_event *event = &history->kept[(*at)++].event;
        if (event->kind == kind)
            return event;
    }
    return NULL;
}

/* Saturates: a damaged file must not make the sum overflow. */
static int64_t add_bytes(int64_t sum, int64_t bytes)
{
    int64_t total;
    return __builtin_add_overflow(sum, bytes, &total) ? INT64_MAX : total;
}

static void add_event(meter_summary *s, const meter_event *event)
{
    switch (event->kind) {
    case METER_START:
        s->start = s->start ? s->start : event;
        s->end = NULL;
        break;
    case METER_MOVE:
        s->moves++;
        s->moved_bytes = add_bytes(s->moved_bytes, event->bytes);
        if (isfinite(event->seconds))
            s->moved_s += event->seconds;
        break;
    case METER_EPOCH:
        s->last_epoch = event->measured.epoch;
        if (!isnan(event->measured.accuracy))
            s->accuracy = event->measured.accuracy;
        break;
    case METER_LOST:
        s->lost++;
        break;
    case METER_CHECKPOINT:
        s->checkpoint = event;
        break;
    case METER_END:
        s->end = event;
        if (!isnan(event->accuracy))
            s->accuracy = event->accuracy;
        break;
    default:
        break;
    }
}

/* Time begins anew with every part of a resumed run. */
static double total_seconds(const meter_history *history)
{
    double earlier_s = 0, part_s = 0;
    for (size_t i = 0; i < history->count; i++) {
        const meter_event *event = &history->kept[i].event;
        if (event->kind == METER_START) {
            earlier_s += part_s;
            part_s = 0;
        }
        bool told = event->kind == METER_END && !isnan(event->seconds);
        double at_s = told ? event->seconds : event->time_s;
        part_s = isnan(at_s) ? part_s : at_s;
    }
    return earlier_s + part_s;
}

static double mean_prediction_error(const meter_history *history)
{
    double sum = 0;
    size_t count = 0, at = 0;
    for (const meter_event *e; (e = meter_history_next(history, METER_EPOCH, &at));) {
        double error = fabs(e->measured.measured_s / e->measured.predicted_s - 1);
        if (!(e->measured.predicted_s > 0) || !isfinite(error))
            continue;
        sum += error;
        count++;
    }
    return count ? sum / (double)count : NAN;
}

static bool is_of(const meter_event *event, const char *fault)
{
    return event->fault && strcmp(event->fault, fault) == 0;
}

/* The `rank`-th smallest of the recoveries, from 0: found by counting, faults are few. */
static double recovery_at(const meter_history *history, const char *fault, size_t rank)
{
    size_t at = 0;
    for (const meter_event *e; (e = meter_history_next(history, METER_RECOVERED, &at));) {
        size_t other = 0, below = 0, equal = 0;
        for (const meter_event *o; (o = meter_history_next(history, METER_RECOVERED, &other));) {
            below += is_of(o, fault) && o->seconds < e->seconds;
            equal += is_of(o, fault) && o->seconds == e->seconds;
        }
        if (is_of(e, fault) && below <= rank && rank < below + equal)
            return e->seconds;
    }
    return NAN;
}

static meter_fault_summary sum_up_faults(const meter_history *history, const char *fault)
{
    meter_fault_summary s = {.median_s = NAN, .most_s = NAN};
    for (size_t i = 0; i < history->count; i++) {
        const meter_event *e = &history->kept[i].event;
        if (!is_of(e, fault))
            continue;
        s.count += e->kind == METER_LOST || e->kind == METER_FAULT;
        s.recovered += e->kind == METER_RECOVERED && !isnan(e->seconds);
    }
    if (s.recovered == 0)
        return s;
    s.median_s = (recovery_at(history, fault, (s.recovered - 1) / 2) +
                  recovery_at(history, fault, s.recovered / 2)) /
                 2;
    s.most_s = recovery_at(history, fault, s.recovered - 1);
    return s;
}

meter_summary meter_summarize(const meter_history *history)
{
    meter_summary s = {.accuracy = NAN};
    for (size_t i = 0; i < history->count; i++)
        add_event(&s, &history->kept[i].event);
    s.seconds = total_seconds(history);
    for (size_t k = 0; k < METER_FAULTS; k++)
        s.faults[k] = sum_up_faults(history, meter_faults[k]);
    s.prediction_error = mean_prediction_error(history);
    return s;
}
