/* For the writers of JSON that contains events. */
#ifndef EDGEPS_FORMATS_EVENT_JSON_INT_H
#define EDGEPS_FORMATS_EVENT_JSON_INT_H

#include "base/err.h"
#include "meter/event.h"

#include <jansson.h>

/* For the flags of every text with events in it: real numbers with 15 digits, "0.1", not
 * "0.10000000000000001". */
#define EVENT_JSON_DIGITS JSON_REAL_PRECISION(15)

/* The fields of the event's kind, without the kind; the caller owns the reference. */
edgeps_err event_json_fields(const meter_event *event, edgeps_diag *diag, json_t **out);

/* A real number, or null where it is not finite. */
json_t *event_json_real(double value);

#endif
