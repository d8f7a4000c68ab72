/* What policies of re-placement make of a trace, as JSON of version "trace/1": the answer of
 * `edgeps plan --trace --json`, described in docs/algorithms/adjust.md. */
#ifndef EDGEPS_FORMATS_TRACE_JSON_H
#define EDGEPS_FORMATS_TRACE_JSON_H

#include "base/err.h"
#include "job/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One policy's account. A time that is not finite becomes null. */
typedef struct trace_json_row {
    const char *policy;
    double total_s;
    double train_s;
    double move_s;
    double lost_s;
    size_t changes;
    size_t moves;
    int64_t moved_bytes;
    size_t lost_epochs;
    double regret_s; /* total_s beyond that of `offline` */
} trace_json_row;

/* All pointers are borrowed. */
typedef struct trace_json_facts {
    const char *network; /* its name, or NULL */
    const job *job;
    const char *algorithm;
    uint64_t seed;
    size_t max_locals;
    size_t epochs;
    bool exact; /* `offline` looked at all plans */
    const trace_json_row *rows;
    size_t row_count;
} trace_json_facts;

/* The object as indented text without a line end; the caller frees it with mem_free. */
edgeps_err trace_json_text(const trace_json_facts *facts, char **text);

#endif
