/* A run's events as text for a person: what `edgeps run` prints while it goes and `edgeps report`
 * prints afterwards. On a terminal a progress line follows the rounds of the running epoch; it is
 * erased before anything else is written. Everything else is plain lines, so that a log file holds
 * the same text as the screen.
 */
#ifndef EDGEPS_CLI_SHOW_H
#define EDGEPS_CLI_SHOW_H

#include "meter/event.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct show show;

/* Writes to `out`, which stays the caller's; `terminal`: it understands ANSI escape sequences. NULL
 * when there is no memory. Errors of `out` stay in it for ferror. */
show *show_make(FILE *out, bool terminal);

/* A meter_observer; `context` is the show. Prints the event, for METER_END the summary too, and
 * flushes. Control characters in texts become "?". */
void show_event(void *context, const meter_event *event);

/* Prints the summary of the events seen so far, for a run whose end is missing. */
void show_summary(show *s);

void show_free(show *s);

#endif
