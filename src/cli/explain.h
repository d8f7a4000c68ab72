/* The parts of `edgeps explain`: finding out (explain_find.c) and printing (explain_text.c). */
#ifndef EDGEPS_CLI_EXPLAIN_H
#define EDGEPS_CLI_EXPLAIN_H

#include "cost/sensitivity.h"
#include "formats/explain_json.h"
#include "place/explain.h"

typedef struct explain_request {
    cost_step step;
    int64_t storage_bytes;
    size_t top;           /* changes that are listed */
    bool replan;          /* improve the plan for each of these */
    place_options search; /* seed and deadline of all of it */
} explain_request;

/* What is found out; the facts borrow from the rest of it, and names from the problem. */
typedef struct explain {
    explain_facts facts;
    char bottleneck[256];
    explain_role *roles;
    explain_gain *gains;
    uint32_t *gain_node; /* per gain */
    cost_sensitivity speed;
    place_room_gains room;
} explain;

/* Fills in a zeroed `e` for a plan that plan_check accepts, which stays as it is. explain_free
 * releases it, also after a failure. EDGEPS_NOMEM is the only failure. */
edgeps_err explain_find(const problem *p, const plan *pl, const explain_request *request,
                        explain *e);
void explain_free(explain *e);

/* As a table on standard output. */
void explain_print(const explain_facts *facts);

#endif
