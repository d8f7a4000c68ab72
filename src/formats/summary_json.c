#include "formats/summary_json.h"

#include "formats/event_json_int.h"
#include "formats/json_int.h"

#include <stdbool.h>

/* The events of one kind as an array under `key`. */
static edgeps_err put_events(const meter_history *history, meter_event_kind kind, const char *key,
                             edgeps_diag *diag, json_t *object)
{
    json_t *array = json_array();
    size_t at = 0;
    if (json_object_set_new(object, key, array))
        return EDGEPS_NOMEM;
    for (const meter_event *e; (e = meter_history_next(history, kind, &at));) {
        json_t *fields = NULL;
        edgeps_err err = event_json_fields(e, diag, &fields);
        if (err)
            return err;
        if (json_array_append_new(array, fields))
            return EDGEPS_NOMEM;
    }
    return EDGEPS_OK;
}

static edgeps_err put_event(const meter_event *event, const char *key, edgeps_diag *diag,
                            json_t *object)
{
    json_t *fields = NULL;
    edgeps_err err = event ? event_json_fields(event, diag, &fields) : EDGEPS_OK;
    if (err)
        return err;
    fields = event ? fields : json_null();
    return json_object_set_new(object, key, fields) ? EDGEPS_NOMEM : EDGEPS_OK;
}

static edgeps_err put_numbers(const meter_summary *s, json_t *object)
{
    bool failed =
        json_object_set_new(object, "complete", json_boolean(s->end != NULL)) ||
        json_object_set_new(object, "seconds", event_json_real(s->seconds)) ||
        json_object_set_new(object, "accuracy", event_json_real(s->accuracy)) ||
        json_object_set_new(object, "prediction_error", event_json_real(s->prediction_error)) ||
        json_object_set_new(object, "moved_bytes", json_integer(s->moved_bytes)) ||
        json_object_set_new(object, "moved_s", event_json_real(s->moved_s));
    return failed ? EDGEPS_NOMEM : EDGEPS_OK;
}

static edgeps_err put_faults(const meter_summary *s, json_t *object)
{
    json_t *faults = json_object();
    bool failed = json_object_set_new(object, "faults", faults);
    for (size_t k = 0; k < METER_FAULTS && !failed; k++) {
        const meter_fault_summary *f = &s->faults[k];
        json_t *one = json_object();
        failed = json_object_set_new(faults, meter_faults[k], one) ||
                 json_object_set_new(one, "count", json_integer((json_int_t)f->count)) ||
                 json_object_set_new(one, "recovered", json_integer((json_int_t)f->recovered)) ||
                 json_object_set_new(one, "median_s", event_json_real(f->median_s)) ||
                 json_object_set_new(one, "most_s", event_json_real(f->most_s));
    }
    return failed ? EDGEPS_NOMEM : EDGEPS_OK;
}

static edgeps_err put_lists(const meter_history *history, edgeps_diag *diag, json_t *object)
{
    static const struct {
        meter_event_kind kind;
        const char *key;
    } lists[] = {
        {METER_PLAN, "plans"},
        {METER_MOVE, "moves"},
        {METER_EPOCH, "epochs"},
        {METER_LOST, "lost"},
        {METER_BACK, "back"},
        {METER_SUSPECT, "suspects"},
        {METER_CLEARED, "cleared"},
        {METER_FAULT, "troubles"},
        {METER_RECOVERED, "recoveries"},
        {METER_LATE, "late"},
        {METER_TAKEOVER, "takeovers"},
        {METER_SCENARIO, "changes"},
        {METER_ADVICE, "advice"},
        {METER_WARNING, "warnings"},
        {METER_CHECKPOINT, "checkpoints"},
    };
    edgeps_err err = EDGEPS_OK;
    for (size_t i = 0; i < sizeof lists / sizeof *lists && !err; i++)
        err = put_events(history, lists[i].kind, lists[i].key, diag, object);
    return err;
}

edgeps_err summary_json_text(const meter_history *history, edgeps_diag *diag, char **text)
{
    meter_summary summary = meter_summarize(history);
    json_t *object = json_object();
    edgeps_err err = put_numbers(&summary, object);
    if (!err)
        err = put_faults(&summary, object);
    if (!err)
        err = put_event(summary.start, "start", diag, object);
    if (!err)
        err = put_event(summary.end, "end", diag, object);
    if (!err)
        err = put_lists(history, diag, object);
    if (err)
        json_decref(object);
    else
        err = json_take_text(object, JSON_INDENT(2) | EVENT_JSON_DIGITS, text);
    return err == EDGEPS_NOMEM ? diag_fail(diag, err, "%s", err_text(err)) : err;
}
