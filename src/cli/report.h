/* What `edgeps report` prints about a run that is over, or still going on. */
#ifndef EDGEPS_CLI_REPORT_H
#define EDGEPS_CLI_REPORT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

/* Reads events.jsonl in `dir` and prints what happened and the summary to `out`: as text, or as one
 * JSON object. What is odd but does not hinder goes to `warnings`. Nothing is printed to `out` when
 * the file is missing (EDGEPS_USAGE) or damaged or empty (EDGEPS_FORMAT). */
edgeps_err report_print(const char *dir, bool json, FILE *out, FILE *warnings, edgeps_diag *diag);

#endif
