/* For the writer and reader of JSON that contains a plan. */
#ifndef EDGEPS_FORMATS_PLAN_JSON_INT_H
#define EDGEPS_FORMATS_PLAN_JSON_INT_H

#include "formats/plan_json.h"

#include <jansson.h>

/* The whole object; the caller owns the reference. NULL without memory. */
json_t *plan_json_object(const plan_json_facts *facts);

/* Reads into a plan that was made for the nodes of `index` (json_index). */
edgeps_err plan_json_read(const json_t *root, const json_t *index, edgeps_diag *diag, plan *pl);

#endif
