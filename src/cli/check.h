/* What stands in a network's way to train: errors, because of which there is no plan; warnings, of
 * nodes and pairs that no plan can use; hints, of values that look like a slip of the pen. With a
 * job also whether its servers find room. The network is one that network_check has let through.
 *
 * Two nodes can work together when there is a path both ways and one of them may serve: nothing
 * travels through a third. A plan needs every worker in one part of the graph of such pairs.
 */
#ifndef EDGEPS_CLI_CHECK_H
#define EDGEPS_CLI_CHECK_H

#include "formats/check_json.h"
#include "network/network.h"

typedef struct check_request {
    const network *net;
    const struct job *job; /* NULL: storage is not judged */
    size_t max_locals;     /* of the job */
} check_request;

/* EDGEPS_NOMEM. The facts borrow from the request; check_free releases what is theirs. */
edgeps_err check_find(const check_request *request, edgeps_diag *diag, check_facts *out);
void check_free(check_facts *facts);

/* Summary and findings as text for a person, on standard output. */
void check_print(const check_facts *facts);

#endif
