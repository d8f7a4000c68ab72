/* Reads a file of run events, one JSON line each, as `edgeps run` appends them. */
#ifndef EDGEPS_FORMATS_EVENT_FILE_H
#define EDGEPS_FORMATS_EVENT_FILE_H

#include "base/err.h"
#include "meter/event.h"

#include <stdbool.h>

/* Gives every event of the file to `observe` in order. A last line without line end that is no
 * event is the mark of a crash while writing: it is passed over and *cut set; *cut is left alone
 * otherwise. EDGEPS_FORMAT for every other damaged line, after the events in front of it were
 * given away; diag->line and the text name file and line. EDGEPS_USAGE where the file cannot be
 * opened, EDGEPS_IO, EDGEPS_NOMEM. */
edgeps_err event_file_read(const char *path, edgeps_diag *diag, meter_observer *observe,
                           void *context, bool *cut);

#endif
