/* The problem as JSON of version "problem/1", described in docs/problem-file.md: all that an
 * outside placement algorithm needs, in base units. It answers with a plan (formats/plan_json.h).
 */
#ifndef EDGEPS_FORMATS_PROBLEM_JSON_H
#define EDGEPS_FORMATS_PROBLEM_JSON_H

#include "base/api.h"
#include "base/err.h"
#include "problem/problem.h"

#include <stdint.h>

EDGEPS_API_BEGIN

/* How the answer is asked for. */
typedef struct problem_json_request {
    uint64_t seed;
    double deadline_s; /* 0: none */
} problem_json_request;

/* The caller frees `text` with mem_free. EDGEPS_FORMAT where a node's name is missing, used twice,
 * or not UTF-8. */
edgeps_err problem_json_text(const problem *p, const problem_json_request *request,
                             edgeps_diag *diag, char **text);

EDGEPS_API_END

#endif
