/* A run event as one line of JSON, and back: the lines of run/events.jsonl, of `edgeps run --json`
 * and of the dashboard's stream. docs/events.md lists kinds, fields and units;
 * docs/schema/events-1.schema.json is the same for machines.
 *
 * A line has the fields of its kind and no other. Real numbers carry 15 significant digits; what
 * is not a finite number (not measured, diverged) is null and reads back as NAN. Counts, the seed
 * and the generation are integers from 0 to 2^63 - 1.
 */
#ifndef EDGEPS_FORMATS_EVENT_JSON_H
#define EDGEPS_FORMATS_EVENT_JSON_H

#include "base/err.h"
#include "meter/event.h"
#include "meter/history.h"

#include <stddef.h>

/* The event as JSON text without line end, freed by the caller with mem_free. A missing text
 * becomes ""; in a text that is not UTF-8 (a path may be anything) each byte outside ASCII becomes
 * "?". EDGEPS_FORMAT for a negative count or one above 2^63 - 1, EDGEPS_NOMEM. */
edgeps_err event_json_text(const meter_event *event, edgeps_diag *diag, char **line);

/* Reads one line of `length` bytes; the caller frees `out` with meter_kept_free. Fields that the
 * kind does not have are 0 in the event, fields unknown to this version are passed over.
 * EDGEPS_FORMAT for what is no JSON object, an unknown kind, a missing field, a field of another
 * type; the diagnosis names kind and field, not the file. */
edgeps_err event_json_parse(const char *line, size_t length, edgeps_diag *diag, meter_kept *out);

#endif
