/* The record of a generation: what a coordinator must find to go on where another was killed. One
 * JSON object of version "record/1": the job that the plan belongs to, the standby, and the plan as
 * in plan_json.h. */
#ifndef EDGEPS_FORMATS_RECORD_JSON_H
#define EDGEPS_FORMATS_RECORD_JSON_H

#include "base/err.h"
#include "formats/plan_json.h"

typedef struct record_json {
    uint64_t job;
    int32_t standby;  /* a node, or PLAN_NONE */
    double round_s;   /* that the plan promises */
    struct plan plan; /* owned when read */
} record_json;

/* Of the record only job and standby are written; the plan and its times are the facts'. The caller
 * frees `text` with mem_free. EDGEPS_NOMEM. */
edgeps_err record_json_text(const record_json *record, const plan_json_facts *facts, char **text);

/* Reads a record for the nodes of this network. EDGEPS_FORMAT names the place. */
edgeps_err record_json_parse(const char *text, size_t length, const struct network *net,
                             edgeps_diag *diag, record_json *out);

#endif
