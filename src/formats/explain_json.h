/* What `edgeps explain` says of a plan, as JSON of version "explain/1", described in
 * docs/explain.md. */
#ifndef EDGEPS_FORMATS_EXPLAIN_JSON_H
#define EDGEPS_FORMATS_EXPLAIN_JSON_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* A server and what would be without it. INFINITY and NULL leave a field out. */
typedef struct explain_role {
    const char *node;
    const char *role;       /* "global", "local" */
    size_t candidates;      /* other nodes that could take it */
    size_t left;            /* of them that might be better than `substitute` and were not played */
    const char *substitute; /* the best of them */
    double substitute_s;    /* the round with it */
    double without_s;       /* the round with the workers at the other local servers */
} explain_role;

/* One change of one resource. */
typedef struct explain_gain {
    const char *resource; /* "up", "down", "compute", "sum", "storage" */
    const char *node;
    double gain_s;      /* of the round: the same plan, or with storage, what `change` says */
    const char *change; /* NULL: nothing but the resource changes */
    double replanned_s; /* the round when the plan is improved for it; INFINITY: not asked */
} explain_gain;

/* The network without one node. */
typedef struct explain_without {
    const char *node;
    const char *reason; /* why there is no plan; NULL: there is one */
    const char *global;
    double round_s;
    double epoch_s;
} explain_without;

/* All pointers are borrowed. */
typedef struct explain_facts {
    const char *network;
    const char *transfer;
    double round_s;
    double epoch_s;
    int64_t rounds; /* of an epoch */
    const char *bottleneck;
    const explain_role *roles;
    size_t role_count;
    double rate_bytes_per_s; /* the changes that were tried */
    double storage_bytes;
    double speed_factor;
    const explain_gain *gains; /* the largest first */
    size_t gain_count;
    size_t gains_listed; /* of them in `gains` of the file and in the table */
    size_t longer;       /* changes that make the round longer */
    size_t idle;         /* changes proved to gain nothing */
    size_t left;         /* changes not tried for lack of time */
    double replanned_s;  /* the round of the plan improved as things are; INFINITY: not asked */
    const explain_without *without; /* NULL: not asked */
} explain_facts;

/* The caller frees `text` with mem_free. EDGEPS_NOMEM is the only failure. */
edgeps_err explain_json_text(const explain_facts *facts, char **text);

#endif
