/* The options by which several commands describe a job and the search for its placement: their
 * rows, and their reading into values. In a command's table they come first. */
#ifndef EDGEPS_CLI_SETTING_H
#define EDGEPS_CLI_SETTING_H

#include "base/err.h"
#include "cli/options.h"
#include "place/place.h"

enum {
    SETTING_MODEL,
    SETTING_ALGO,
    SETTING_SEED,
    SETTING_MAX_LOCALS,
    SETTING_TRANSFER,
    SETTING_BATCH,
    SETTING_LOCAL_STEPS,
    SETTING_SAMPLES,
    SETTING_DEADLINE,
    SETTING_OPTIONS /* the first of the command's own */
};

#define SETTING_ROWS                                                                               \
    [SETTING_MODEL] = {"model", "NAME", "lenet5", "lenet5, mlp, or a number of parameters",        \
                       false},                                                                     \
    [SETTING_ALGO] = {"algo", "NAME", "approx",                                                    \
                      "placement algorithm; edgeps plan --help lists them", false},                \
    [SETTING_SEED] = {"seed", "N", "1", "the same seed gives the same answer", false},             \
    [SETTING_MAX_LOCALS] = {"max-locals", "K", "4", "most local servers", false},                  \
    [SETTING_TRANSFER] = {"transfer", "HOW", "pipelined", "pipelined or store-and-forward",        \
                          false},                                                                  \
    [SETTING_BATCH] = {"batch", "N", "32", "samples of an average worker in a step", false},       \
    [SETTING_LOCAL_STEPS] = {"local-steps", "T", "1", "steps that a worker makes in a round",      \
                             false},                                                               \
    [SETTING_SAMPLES] = {"samples", "N", "60000", "training samples of all workers", false},       \
    [SETTING_DEADLINE] = {"deadline", "TIME", NULL, "stop searching after, such as \"5 s\"",       \
                          false}

#define SETTING_MOST_STEPS 65536

typedef struct setting {
    job job;
    size_t max_locals;
    place_options place; /* seed and deadline */
} setting;

/* Reads values[SETTING_...]; only that of the deadline may be NULL. EDGEPS_USAGE names the option
 * that is wrong. */
edgeps_err setting_read(const char *const *values, edgeps_diag *diag, setting *out);

/* One of "pipelined" and "store-and-forward". */
edgeps_err setting_transfer(const char *text, edgeps_diag *diag, job_transfer *out);

#endif
