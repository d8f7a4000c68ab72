#include "formats/event_json.h"

#include "base/mem.h"
#include "formats/event_json_int.h"
#include "formats/json_int.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A number above this, rounded to 15 digits, may be beyond the largest double. */
#define LARGEST_REAL 1e308

typedef enum field_type {
    TEXT,
    REAL,
    COUNT,  /* int64_t */
    SIZE,   /* size_t */
    WHOLE,  /* uint64_t */
    STATUS, /* int */
} field_type;

typedef struct field {
    const char *key;
    size_t offset;
    field_type type;
    unsigned kinds;
} field;

#define IN(kind) (1u << METER_##kind)
#define ALL (~0u)
#define HEALTH (IN(SUSPECT) | IN(CLEARED) | IN(FAULT) | IN(RECOVERED))

#define FIELD(name) #name, offsetof(meter_event, name)
#define MEASURED(name) #name, offsetof(meter_event, measured.name)

static const char *const kind_names[] = {
    [METER_START] = "start",       [METER_PLAN] = "plan",
    [METER_MOVE] = "move",         [METER_ROUND] = "round",
    [METER_EPOCH] = "epoch",       [METER_LOST] = "lost",
    [METER_BACK] = "back",         [METER_SCENARIO] = "scenario",
    [METER_ADVICE] = "advice",     [METER_CHECKPOINT] = "checkpoint",
    [METER_WARNING] = "warning",   [METER_END] = "end",
    [METER_TAKEOVER] = "takeover", [METER_LATE] = "late",
    [METER_SUSPECT] = "suspect",   [METER_CLEARED] = "cleared",
    [METER_FAULT] = "fault",       [METER_RECOVERED] = "recovered",
};

#define KIND_COUNT (sizeof kind_names / sizeof *kind_names)

/* In the order in which a line shows them. */
static const field fields[] = {
    {FIELD(time_s), REAL, ALL},
    {FIELD(epoch), COUNT,
     IN(PLAN) | IN(MOVE) | IN(ROUND) | IN(LOST) | IN(BACK) | HEALTH | IN(TAKEOVER) | IN(LATE) |
         IN(SCENARIO) | IN(ADVICE) | IN(CHECKPOINT)},
    {MEASURED(epoch), COUNT, IN(EPOCH)},
    {FIELD(generation), WHOLE, IN(PLAN) | IN(MOVE) | IN(EPOCH) | IN(TAKEOVER) | IN(END)},
    {FIELD(network), TEXT, IN(START)},
    {FIELD(model), TEXT, IN(START)},
    {FIELD(seed), WHOLE, IN(START)},
    {FIELD(epochs), COUNT, IN(START)},
    {FIELD(round), COUNT, IN(ROUND) | IN(LATE) | IN(RECOVERED)},
    {FIELD(rounds), COUNT, IN(START) | IN(ROUND)},
    {FIELD(workers), SIZE, IN(START)},
    {MEASURED(rounds), COUNT, IN(EPOCH)},
    {MEASURED(workers), SIZE, IN(EPOCH)},
    {MEASURED(samples), COUNT, IN(EPOCH)},
    {MEASURED(measured_s), REAL, IN(EPOCH)},
    {MEASURED(predicted_s), REAL, IN(EPOCH)},
    {MEASURED(compute_s), REAL, IN(EPOCH)},
    {MEASURED(push_s), REAL, IN(EPOCH)},
    {MEASURED(sum_s), REAL, IN(EPOCH)},
    {MEASURED(pull_s), REAL, IN(EPOCH)},
    {MEASURED(wait_s), REAL, IN(EPOCH)},
    {MEASURED(move_s), REAL, IN(EPOCH)},
    {MEASURED(loss), REAL, IN(EPOCH)},
    {MEASURED(accuracy), REAL, IN(EPOCH)},
    {FIELD(global), TEXT, IN(PLAN)},
    {FIELD(locals), TEXT, IN(PLAN)},
    {FIELD(predicted_round_s), REAL, IN(PLAN)},
    {FIELD(bound_s), REAL, IN(PLAN)},
    {FIELD(role), TEXT, IN(MOVE)},
    {FIELD(from), TEXT, IN(MOVE)},
    {FIELD(to), TEXT, IN(MOVE)},
    {FIELD(bytes), COUNT, IN(MOVE)},
    {FIELD(node), TEXT, IN(LOST) | IN(BACK) | HEALTH | IN(LATE) | IN(SCENARIO)},
    {FIELD(fault), TEXT, IN(LOST) | IN(FAULT) | IN(RECOVERED)},
    {FIELD(seconds), REAL, IN(MOVE) | IN(SUSPECT) | IN(RECOVERED) | IN(END)},
    {FIELD(frozen_s), REAL, IN(MOVE)},
    {FIELD(accuracy), REAL, IN(END)},
    {FIELD(status), STATUS, IN(END)},
    {FIELD(text), TEXT,
     IN(START) | IN(PLAN) | IN(MOVE) | IN(LOST) | IN(BACK) | IN(FAULT) | IN(TAKEOVER) | IN(LATE) |
         IN(SCENARIO) | IN(ADVICE) | IN(CHECKPOINT) | IN(WARNING) | IN(END)},
};

#define FIELD_COUNT (sizeof fields / sizeof *fields)

static bool has(meter_event_kind kind, const field *f) { return f->kinds & (1u << kind); }

json_t *event_json_real(double value)
{
    return fabs(value) <= LARGEST_REAL ? json_real(value) : json_null();
}

static json_t *ascii_only(const char *text)
{
    char *copy = mem_copy_text(text);
    if (!copy)
        return NULL;
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    json_t *value = json_string(copy);
    mem_free(copy);
    return value;
}

static json_t *text_value(const char *text)
{
    if (!text)
        text = "";
    json_t *value = json_string(text);
    return value ? value : ascii_only(text);
}

/* The integer field as JSON has it, or -1 where JSON has no such count. */
static int64_t count_value(const field *f, const void *at)
{
    uint64_t whole;
    switch (f->type) {
    case COUNT:
        return *(const int64_t *)at;
    case STATUS:
        return *(const int *)at;
    case SIZE:
        whole = *(const size_t *)at;
        break;
    default:
        whole = *(const uint64_t *)at;
    }
    return whole <= INT64_MAX ? (int64_t)whole : -1;
}

static edgeps_err write_field(const meter_event *event, const field *f, edgeps_diag *diag,
                              json_t *object)
{
    const void *at = (const char *)event + f->offset;
    json_t *value = NULL;
    if (f->type == TEXT) {
        value = text_value(*(const char *const *)at);
    } else if (f->type == REAL) {
        value = event_json_real(*(const double *)at);
    } else {
        int64_t count = count_value(f, at);
        if (count < 0)
            return diag_fail(diag, EDGEPS_FORMAT, "%s: %s: must be from 0 to 9223372036854775807",
                             kind_names[event->kind], f->key);
        value = json_integer(count);
    }
    return json_object_set_new(object, f->key, value) ? EDGEPS_NOMEM : EDGEPS_OK;
}

static edgeps_err write_fields(const meter_event *event, edgeps_diag *diag, json_t *object)
{
    edgeps_err err = object ? EDGEPS_OK : EDGEPS_NOMEM;
    for (size_t i = 0; i < FIELD_COUNT && !err; i++)
        if (has(event->kind, &fields[i]))
            err = write_field(event, &fields[i], diag, object);
    return err;
}

edgeps_err event_json_fields(const meter_event *event, edgeps_diag *diag, json_t **out)
{
    json_t *object = json_object();
    edgeps_err err = write_fields(event, diag, object);
    if (err)
        json_decref(object);
    else
        *out = object;
    return err;
}

edgeps_err event_json_text(const meter_event *event, edgeps_diag *diag, char **line)
{
    json_t *object = json_object();
    json_t *kind = json_string(kind_names[event->kind]);
    edgeps_err err = json_object_set_new(object, "event", kind) ? EDGEPS_NOMEM : EDGEPS_OK;
    if (!err)
        err = write_fields(event, diag, object);
    if (err)
        json_decref(object);
    else
        err = json_take_text(object, JSON_COMPACT | EVENT_JSON_DIGITS, line);
    return err == EDGEPS_NOMEM ? diag_fail(diag, err, "%s", err_text(err)) : err;
}

/* The message quotes the line, and a terminal obeys control characters. */
static edgeps_err make_printable(edgeps_diag *diag, edgeps_err err)
{
    for (char *c = diag ? diag->text : ""; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
            *c = '?';
    return err;
}

static edgeps_err load_object(const char *line, size_t length, edgeps_diag *diag, json_t **out)
{
    json_error_t error;
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
    if (!object && (!error.text[0] || json_error_code(&error) == json_error_out_of_memory))
        return diag_fail(diag, EDGEPS_NOMEM, "%s", err_text(EDGEPS_NOMEM));
    if (!object) {
        diag_fail(diag, EDGEPS_FORMAT, "column %d: %s", error.column, error.text);
        return make_printable(diag, EDGEPS_FORMAT);
    }
    *out = object; /* json_loadb takes only objects and arrays; an array has no kind */
    return EDGEPS_OK;
}

static edgeps_err find_kind(const json_t *object, edgeps_diag *diag, meter_event_kind *out)
{
    const char *name = json_string_value(json_object_get(object, "event"));
    if (!name)
        return diag_fail(diag, EDGEPS_FORMAT, "no event: an object with a text \"event\" is due");
    for (size_t kind = 0; kind < KIND_COUNT; kind++) {
        if (strcmp(name, kind_names[kind]) != 0)
            continue;
        *out = (meter_event_kind)kind;
        return EDGEPS_OK;
    }
    diag_fail(diag, EDGEPS_FORMAT, "event: no kind is called \"%.40s\"", name);
    return make_printable(diag, EDGEPS_FORMAT);
}

static bool read_count(const json_t *value, const field *f, void *at)
{
    json_int_t count = json_integer_value(value);
    if (!json_is_integer(value) || count < 0 || (f->type == STATUS && count > INT_MAX))
        return false;
    if (f->type == COUNT)
        *(int64_t *)at = count;
    else if (f->type == SIZE)
        *(size_t *)at = (size_t)count;
    else if (f->type == WHOLE)
        *(uint64_t *)at = (uint64_t)count;
    else
        *(int *)at = (int)count;
    return true;
}

/* False where `value` is not of the field's type. Texts stay the JSON value's. */
static bool read_field(const json_t *value, const field *f, meter_event *event)
{
    void *at = (char *)event + f->offset;
    switch (f->type) {
    case TEXT:
        *(const char **)at = json_string_value(value);
        return json_is_string(value);
    case REAL:
        *(double *)at = json_is_null(value) ? (double)NAN : json_number_value(value);
        return json_is_null(value) || json_is_number(value);
    default:
        return read_count(value, f, at);
    }
}

static edgeps_err read_fields(const json_t *object, edgeps_diag *diag, meter_event *event)
{
    static const char *const due[] = {[TEXT] = "a text", [REAL] = "a number or null"};
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const field *f = &fields[i];
        if (!has(event->kind, f))
            continue;
        const char *kind = kind_names[event->kind];
        const json_t *value = json_object_get(object, f->key);
        if (!value)
            return diag_fail(diag, EDGEPS_FORMAT, "%s: %s: missing", kind, f->key);
        if (!read_field(value, f, event))
            return diag_fail(diag, EDGEPS_FORMAT, "%s: %s: must be %s", kind, f->key,
                             f->type <= REAL ? due[f->type] : "a whole number, 0 or more");
    }
    return EDGEPS_OK;
}

edgeps_err event_json_parse(const char *line, size_t length, edgeps_diag *diag, meter_kept *out)
{
    json_t *object = NULL;
    meter_event event = {0};
    edgeps_err err = load_object(line, length, diag, &object);
    if (!err)
        err = find_kind(object, diag, &event.kind);
    if (!err)
        err = read_fields(object, diag, &event);
    if (!err) {
        err = meter_keep(&event, out);
        if (err)
            diag_fail(diag, err, "%s", err_text(err));
    }
    json_decref(object);
    return err;
}
