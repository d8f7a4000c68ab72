/* The kinds of findings, a file each. All return EDGEPS_NOMEM or EDGEPS_OK. */
#ifndef EDGEPS_CLI_CHECK_INT_H
#define EDGEPS_CLI_CHECK_INT_H

#include "cli/check.h"
#include "formats/quantity.h"

edgeps_err check_add(check_facts *facts, check_severity severity, const char *code,
                     const char *node, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static inline bool check_takes_part(const network_node *node) { return node->train || node->serve; }

/* Paths and latencies: who reaches whom. */
edgeps_err check_paths(const network *net, check_facts *facts);

/* Ranges of what nodes have, and values far from the others'. */
edgeps_err check_values(const network *net, check_facts *facts);

/* Room for the job's servers, and a plan at all. */
edgeps_err check_storage(const check_request *request, check_facts *facts);

#endif
