/* Many scripts with random faults, in search of one that breaks an invariant of the protocol. */
#ifndef EDGEPS_SIM_SEARCH_H
#define EDGEPS_SIM_SEARCH_H

#include "sim/script.h"

typedef struct search_options {
    uint64_t seed; /* run k draws its script from seed + k */
    size_t runs;
    size_t most_nodes;  /* 2 to SCRIPT_MOST_NODES */
    size_t most_faults; /* up to SCRIPT_MOST_FAULTS */
    sim_plant plant;
    void (*progress)(void *context, size_t done); /* NULL: none */
    void *context;
} search_options;

typedef struct search_result {
    size_t runs;   /* those that were made */
    size_t faults; /* in them */
    bool found;
    uint64_t seed;    /* of the first run, in order, that broke an invariant */
    script smallest;  /* what it shrank to */
    char broken[512]; /* the invariant, as the smallest one breaks it */
} search_result;

/* On all processors; the result is the same on any number of them. Ends with the first block of
 * runs in which one breaks an invariant. EDGEPS_NOMEM. */
edgeps_err search_run(const search_options *o, edgeps_diag *diag, search_result *out);

#endif
