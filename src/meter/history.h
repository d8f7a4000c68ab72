/* The events of a run, kept: what the summary at its end and `edgeps report` are made of.
 *
 * An event borrows its texts; a kept event owns them in one block. The history keeps every event
 * but the rounds, which only serve progress, in the order in which they happened: a few hundred
 * bytes an epoch.
 */
#ifndef EDGEPS_METER_HISTORY_H
#define EDGEPS_METER_HISTORY_H

#include "base/err.h"
#include "meter/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An event and the block that its texts lie in. A zeroed one is empty. */
typedef struct meter_kept {
    meter_event event;
    char *texts;
} meter_kept;

/* Copies the event with its texts; meter_kept_free releases the copy. A missing text (NULL) stays
 * missing. What `out` held before is not released. */
edgeps_err meter_keep(const meter_event *event, meter_kept *out);
void meter_kept_free(meter_kept *kept);

/* A zeroed history is an empty one; meter_history_free empties it. */
typedef struct meter_history {
    meter_kept *kept;
    size_t count;
    size_t room;
} meter_history;

/* Appends a copy of the event; METER_ROUND is let go. */
edgeps_err meter_history_add(meter_history *history, const meter_event *event);
void meter_history_free(meter_history *history);

/* The next event of `kind` at or after position *at, which moves behind it; NULL when there is
 * none. Begin with *at = 0; the pointer is good until the next meter_history_add. */
const meter_event *meter_history_next(const meter_history *history, meter_event_kind kind,
                                      size_t *at);

/* The faults of one kind. Times are from the fault to the next committed round; NAN: none. */
typedef struct meter_fault_summary {
    size_t count;
    size_t recovered;
    double median_s;
    double most_s;
} meter_fault_summary;

/* What a run comes to, with all its parts when it was resumed. Pointers are into the history. */
typedef struct meter_summary {
    const meter_event *start;      /* of the first part, or NULL */
    const meter_event *end;        /* of the last part, or NULL: still running, or cut off */
    const meter_event *checkpoint; /* the last, or NULL */
    int64_t last_epoch;            /* 0: none is over */
    size_t moves;
    size_t lost;
    meter_fault_summary faults[METER_FAULTS];
    int64_t moved_bytes;
    double moved_s;
    double seconds;  /* of all parts; a part without its end counts up to its last event */
    double accuracy; /* at the end, else of the last epoch that measured it; NAN without one */
    double prediction_error; /* mean of |measured / predicted - 1| over the epochs; NAN without */
} meter_summary;

/* O(events). */
meter_summary meter_summarize(const meter_history *history);

#endif
