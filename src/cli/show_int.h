/* The lines of a show, without its state. */
#ifndef EDGEPS_CLI_SHOW_INT_H
#define EDGEPS_CLI_SHOW_INT_H

#include "meter/event.h"
#include "meter/history.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* One line of text and a line end; control characters become "?". */
void show_line(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "0.084 s", "12.3 s", "340 s", "0.5 ms"; "?" for what is not a number. */
void show_seconds(double seconds, char *text, size_t size);

/* "512 B", "1.2 MiB". */
void show_bytes(int64_t bytes, char *text, size_t size);

/* The lines of an event that is neither a round nor an epoch nor the end; nothing for a checkpoint.
 * `again`: the start of a further part of the run. */
void show_event_lines(FILE *out, const meter_event *event, bool again);

void show_epoch_header(FILE *out);
void show_epoch_row(FILE *out, const meter_event *event);
void show_summary_lines(FILE *out, const meter_history *history);

#endif
