/* The options by which several commands describe a job and the search for its placement, read into
 * values. */
#ifndef EDGEPS_CLI_SETTING_H
#define EDGEPS_CLI_SETTING_H

#include "base/err.h"
#include "place/place.h"

/* The options' values as given; `deadline` may be NULL. */
typedef struct setting_texts {
    const char *model;
    const char *transfer;
    const char *batch;
    const char *samples;
    const char *max_locals;
    const char *seed;
    const char *deadline;
} setting_texts;

typedef struct setting {
    job job;
    size_t max_locals;
    place_options place; /* seed and deadline */
} setting;

/* EDGEPS_USAGE names the option that is wrong. */
edgeps_err setting_read(const setting_texts *texts, edgeps_diag *diag, setting *out);

#endif
