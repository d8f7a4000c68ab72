/* For the writers of JSON that contains events. */
#ifndef EDGEPS_FORMATS_EVENT_JSON_INT_H
#define EDGEPS_FORMATS_EVENT_JSON_INT_H

#include "base/err.h"
#include "meter/event.h"

#include <jansson.h>

/* The fields of the event's kind, without the kind; the caller owns the reference. */
edgeps_err event_json_fields(const meter_event *event, edgeps_diag *diag, json_t **out);

/* A real number, or null where it is not finite. */
json_t *event_json_real(double value);

/* `value` as text with `flags` of json_dumps; the caller frees it with mem_free. */
edgeps_err event_json_dump(const json_t *value, size_t flags, char **text);

#endif
