/* Why a plan has its servers where they are, and what more storage would be good for: the plan
 * beside its neighbours, each judged by the evaluator.
 */
#ifndef EDGEPS_PLACE_EXPLAIN_H
#define EDGEPS_PLACE_EXPLAIN_H

#include "cost/sensitivity.h"
#include "place/place.h"

/* A server of the plan and what would be without it, all else being as it is. */
typedef struct place_role {
    uint32_t node;
    bool global;
    size_t candidates;   /* other nodes that could take the role, with all its workers */
    size_t left;         /* of them that might be better than `substitute`: too many to play */
    int32_t substitute;  /* the best of them, PLAN_NONE without any */
    double substitute_s; /* the round with it; INFINITY without any */
    double without_s;    /* the round with a local server's workers at the others: at the nearest
                            that have room, or all at one; INFINITY: there is no room, or it is the
                            global server */
} place_role;

/* place_reasons_free releases it. */
typedef struct place_reasons {
    place_role *roles; /* the global server first, then the local servers by node */
    size_t count;
} place_reasons;

/* Of a plan that plan_check accepts. EDGEPS_NOMEM is the only failure. */
edgeps_err place_explain(const problem *p, const plan *pl, place_reasons *out);
void place_reasons_free(place_reasons *r);

/* What a node could do for the plan if more of its storage were free. */
typedef struct place_room_gain {
    uint32_t node;
    double gain_s;    /* of the round, by one change that only the storage forbade; 0: by none */
    char change[192]; /* in words; empty where nothing gains */
} place_room_gain;

/* place_room_gains_free releases it. */
typedef struct place_room_gains {
    place_room_gain *gains; /* the largest first; every node whose storage can bind at all */
    size_t count;
    size_t idle; /* nodes that may serve and have room for any role there is */
    size_t left; /* nodes not looked at when `go_on` said stop */
} place_room_gains;

/* Tries, for every node with `more_bytes` more of free storage, all single changes that become
 * possible by it: re-attaching a worker, moving, splitting, closing, opening a server, moving the
 * global one. EDGEPS_NOMEM is the only failure. */
edgeps_err place_find_room_gains(const problem *p, const plan *pl, int64_t more_bytes,
                                 cost_go_on *go_on, void *context, place_room_gains *out);
void place_room_gains_free(place_room_gains *g);

/* Local search from a plan that plan_check accepts; *pl becomes the best plan found, *round_s its
 * time. EDGEPS_NOMEM is the only failure. */
edgeps_err place_improve(const problem *p, const place_options *options, plan *pl, double *round_s);

#endif
