/* What `edgeps topo check` says of a network, as JSON of version "check/1", described in
 * docs/network-file.md. */
#ifndef EDGEPS_FORMATS_CHECK_JSON_H
#define EDGEPS_FORMATS_CHECK_JSON_H

#include "base/err.h"
#include "job/job.h"

#include <stddef.h>
#include <stdint.h>

typedef enum check_severity {
    CHECK_HINT,    /* looks like a slip of the pen, and may be right */
    CHECK_WARNING, /* a node or a pair that a plan cannot use as the file says */
    CHECK_ERROR,   /* there is no plan */
    CHECK_SEVERITIES
} check_severity;

typedef struct check_finding {
    check_severity severity;
    const char *code; /* a word for programs, such as "cut-off" */
    const char *node; /* NULL: not about one node */
    char *text;
} check_finding;

/* Of nothing at all least is INFINITY. */
typedef struct check_range {
    double least;
    double median;
    double most;
} check_range;

/* Nodes that neither train nor serve count in `nodes` alone. Findings own their texts; all other
 * pointers are borrowed. */
typedef struct check_facts {
    const char *source;
    const char *network; /* NULL: nameless */
    size_t nodes;
    size_t train;
    size_t serve;
    size_t sites;
    check_range up_bytes_per_s;
    check_range down_bytes_per_s;
    check_range compute_samples_per_s; /* of nodes that train */
    check_range free_bytes;            /* of nodes that may serve */
    double least_latency_s;            /* one way, of directions with a path; INFINITY: none */
    double most_latency_s;
    const char *far_from; /* the direction with the most; NULL: none */
    const char *far_to;
    uint64_t directions;   /* from a node to another */
    uint64_t paths;        /* of them, with a rate above 0 */
    uint64_t one_way;      /* of these, without a path back */
    const struct job *job; /* NULL: none was asked about */
    check_finding *findings;
    size_t count;
    size_t room;
    size_t counts[CHECK_SEVERITIES];
} check_facts;

/* The caller frees `text` with mem_free. EDGEPS_NOMEM is the only failure. */
edgeps_err check_json_text(const check_facts *facts, char **text);

const char *check_severity_name(check_severity severity);

#endif
