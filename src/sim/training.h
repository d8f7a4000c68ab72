/* Whole training runs under virtual time: a problem, a network and its scenario, and a policy of
 * re-placement, epoch by epoch. No gradients, no chunks: the unit is the round, whose time a
 * network model tells for the plan and the conditions of the moment. So a thousand nodes and fifty
 * epochs take seconds; the protocol in full, chunk by chunk, is in sim.h.
 *
 * - While conditions hold, a round takes what the network model says; when they change in the
 * middle of a round, the part that is left goes on at the speed of the new conditions.
 * - Between epochs the policy decides as the runtime does, from the conditions of that moment; its
 *   moves run one after another while the job stands still.
 * - A node that is down and has a role stops the round until it is back, or until it is noticed
 *   (world.h). Then the plan is repaired: the global server's state moves first, new local servers
 *   copy side by side, and the running round is made anew but for the gradients, which the
 *   workers keep. Nodes that are up again are taken in by the next plan between epochs; ADAPT_OFF
 *   makes none.
 * - An epoch whose plan has no room for its servers is lost, as in adapt/trace.h: it takes twice
 * the time of a plan from scratch.
 *
 * The same network, job and options give the same run.
 */
#ifndef EDGEPS_SIM_TRAINING_H
#define EDGEPS_SIM_TRAINING_H

#include "adapt/adapt.h"
#include "base/err.h"
#include "job/job.h"
#include "network/network.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The time of one round of a plan, as cost_round_s, by some model of the network. */
typedef edgeps_err training_network(const problem *p, const plan *pl, double *round_s);

/* An epoch as it went; lent to the observer. */
typedef struct training_epoch {
    int64_t epoch; /* from 1 */
    double begin_s;
    double train_s; /* rounds that counted */
    double move_s;
    double wait_s;    /* stood still for a node that is down, and rounds made anew */
    double lost_s;    /* the epoch is lost */
    const plan *plan; /* at its end */
    size_t locals;
    size_t workers;
    size_t moves; /* servers' states that travelled */
    int64_t moved_bytes;
    size_t losses;      /* nodes that were noticed to be gone */
    const char *reason; /* of the last change of plan; "": it stayed */
} training_epoch;

typedef struct training_options {
    int64_t epochs;
    size_t max_locals;
    adapt_mode policy;     /* ADAPT_OFF: nothing but repairs of what was lost */
    const char *algorithm; /* of place_algorithms */
    uint64_t seed;
    double hysteresis; /* these two as in adapt_options */
    double effort;
    double silent_s;
    training_network *network;                                   /* cost_round_s, or another */
    void (*observe)(void *context, const training_epoch *epoch); /* NULL: none */
    void *context;
} training_options;

typedef struct training_result {
    double total_s; /* the sum of the next four */
    double train_s;
    double move_s;
    double wait_s;
    double lost_s;
    int64_t rounds; /* of an epoch */
    size_t changes; /* of the plan */
    size_t moves;
    int64_t moved_bytes;
    size_t losses;
    size_t lost_epochs;
} training_result;

/* EDGEPS_INFEASIBLE says in which epoch no plan is left, or the job stands still for good.
 * O(epochs + events) rounds are played beside what the policy takes. */
edgeps_err training_run(const network *net, const job *j, const training_options *options,
                        edgeps_diag *diag, training_result *out);

#endif
