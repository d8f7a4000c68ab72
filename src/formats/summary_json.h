/* What a run came to as one JSON object: the answer of `edgeps report --json`. docs/events.md
 * describes it. */
#ifndef EDGEPS_FORMATS_SUMMARY_JSON_H
#define EDGEPS_FORMATS_SUMMARY_JSON_H

#include "base/err.h"
#include "meter/history.h"

/* The object as indented text without a line end; the caller frees it with mem_free. EDGEPS_FORMAT
 * for an event that event_json_text refuses, EDGEPS_NOMEM. O(events). */
edgeps_err summary_json_text(const meter_history *history, edgeps_diag *diag, char **text);

#endif
