/* Placement of a model in shards: the parameters are cut into contiguous ranges (job_shard), and
 * each shard has a global server, local servers and parents of its own. For models that no node can
 * hold, and for jobs in which the links of one global server hold everybody up.
 *
 * Any algorithm of the table places one shard at a time beside the others; local search under the
 * evaluator of all shards together follows (docs/algorithms/shards.md).
 */
#ifndef EDGEPS_PLACE_SHARDS_H
#define EDGEPS_PLACE_SHARDS_H

#include "base/api.h"
#include "place/place.h"
#include "plan/plan_set.h"

EDGEPS_API_BEGIN

#define PLACE_MOST_SHARDS 64 /* that PLACE_AUTO_SHARDS tries */
#define PLACE_AUTO_SHARDS 0

/* place_set_result_free releases the plans. */
typedef struct place_set_result {
    place_status status;
    struct plan_set set; /* empty when infeasible */
    cost_result cost;    /* of all shards in one round */
    /* Proved for every plan of the problem in so many shards; with PLACE_AUTO_SHARDS in any number
     * of them. 0: none is known. */
    double lower_bound_s;
    place_stop stopped;
    char reason[256]; /* why so many shards; or which constraint binds */
} place_set_result;

/* Places the problem in `shards` shards, each by the algorithm called `name` (as place_run takes
 * it), then (unless no_polish) improves all together. PLACE_AUTO_SHARDS: the least number that
 * fits, and larger ones as long as they are faster. One shard is place_run's plan. EDGEPS_USAGE for
 * a number that the job cannot be cut into. Generation of the plans: 1. */
edgeps_err place_shards(const char *name, const problem *p, size_t shards,
                        const place_options *options, edgeps_diag *diag, place_set_result *out);

/* True when a server of the whole model fits on no node that may serve, and the nodes together
 * offer what its shards need at least. */
bool place_shards_may_help(const problem *p);

void place_set_result_free(place_set_result *r);

EDGEPS_API_END

#endif
