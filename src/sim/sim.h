/* The simulator: a whole training job in virtual time, in one process. The coordinator's and the
 * roles' state machines are the very code of the daemon (`proto`); clock, network, disks and
 * gradients are virtual. Every run replays from its seed.
 *
 * A gradient is one number per chunk, drawn from (seed, worker, round, chunk); sums wrap around
 * modulo 2^64. The simulator keeps book of what each sum takes and knows what each applied one must
 * be, so a gradient that is lost, counted twice or taken into two rounds ends the run with
 * EDGEPS_INTERNAL and the place; so does a sum that closed below its quorum, a worker that computes
 * on parameters that are not the round's, and a chunk that is applied again although a node of the
 * tree still holds it.
 */
#ifndef EDGEPS_SIM_SIM_H
#define EDGEPS_SIM_SIM_H

#include "base/err.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "proto/proto.h"

typedef enum sim_fault_kind {
    SIM_KILL,    /* the node's process dies; its edges break */
    SIM_RESTART, /* a killed node comes back: a new process that holds nothing */
    SIM_CUT,     /* the edges of the node's roles to their parents break once; it lives on */
    SIM_FULL,    /* the node refuses the next state that moves to it: there is no room */
    SIM_UNSAVED, /* the coordinator's next checkpoint is not written: its disk is full */
    /* With an amount: */
    SIM_STOP,   /* the node's process stands still so long; what comes waits for it */
    SIM_DELAY,  /* nothing between the node and its parents or the coordinator arrives so long */
    SIM_TWICE,  /* what arrives from the node's roles and their parents so long comes twice */
    SIM_CLOCK,  /* the node's clock jumps ahead by so much; node 0's is the coordinator's, too */
    SIM_FREEZE, /* the coordinator's process stands still so long */
    SIM_FOLLOW, /* the coordinator is killed, and another takes over after so long */
} sim_fault_kind;

#define SIM_FAULT_KINDS (SIM_FOLLOW + 1)

static inline bool sim_fault_has_amount(sim_fault_kind kind) { return kind >= SIM_STOP; }

typedef struct sim_fault {
    double at_s; /* after the first epoch began */
    int32_t node;
    sim_fault_kind kind;
    double amount_s; /* of kinds that have one */
} sim_fault;

/* Errors to plant, each of which the checks must find: that they can. */
typedef enum sim_plant {
    SIM_NO_PLANT,
    SIM_ADDS_DROPPED,   /* servers add what the protocol tells them to drop */
    SIM_FORGETS_HELD,   /* what came while a process stood still is lost */
    SIM_FORGETS_LATE,   /* so is what a slow network holds back */
    SIM_BLAMES_SILENCE, /* the coordinator counts time in which it stood still as silence */
    SIM_FORGETS_DONE,   /* a coordinator that takes over does not hear what was told before */
    SIM_HALF_SAVES,     /* a checkpoint that is not written spoils the older one */
} sim_plant;

/* Makes the next plan: `absent` flags the nodes that are gone, `in_force` is the present plan
 * (generation 0: none yet). Returns in `out` a plan with a higher generation, or one of the same
 * generation to keep the present one; EDGEPS_INFEASIBLE when there is none. */
typedef edgeps_err sim_planner(void *context, const bool *absent, const plan *in_force, plan *out);

#define SIM_MOST_STALENESS 3

typedef struct sim_options {
    int64_t epochs;
    uint64_t seed;
    sim_planner *planner;
    void *context;
    double most_control_delay_s; /* plans reach each node after a random delay up to this */
    double detect_s;             /* from a death to the coordinator's knowledge */
    double reconnect_s;          /* from a broken edge to the next attempt; 0: 10 ms */
    proto_patience patience;     /* staleness up to SIM_MOST_STALENESS */
    double most_slowdown;        /* each gradient takes up to so many times longer, at random and
                                    mostly little; 0: none */
    const sim_fault *faults;
    size_t fault_count;
    double silent_s;   /* agents send heartbeats, and a node that is not heard for so long is gone;
                          0: no heartbeats, no silence */
    double progress_s; /* so long at most until the next round, while nothing befalls anybody; 0: no
                          such limit */
    double most_s;     /* virtual time after which the run counts as hung; 0: 1e6 */
    sim_plant plant;
} sim_options;

/* sim_result_free releases the array. */
typedef struct sim_result {
    double *round_s; /* per committed round: from the previous round's end at all workers (or the
                        epoch's beginning) to its own end */
    int64_t rounds;
    double total_s; /* virtual, from the first epoch's beginning */
    uint64_t generations;
    uint64_t dropped_chunks;
    uint64_t early_chunks;    /* applied without some worker that had not passed */
    uint64_t stale_chunks;    /* gradients in a later round than their own */
    uint64_t missed_rounds;   /* over while a worker computed an older one; summed over workers */
    uint64_t lost_globals;    /* losses of the global server that a generation answered */
    uint64_t passes;          /* chunks that a worker who came in the middle of a round passed */
    uint64_t given_up;        /* processes that were not heard */
    uint64_t followers;       /* coordinators after the first */
    uint64_t repeated_rounds; /* of which a chunk was applied a second time */
} sim_result;

edgeps_err sim_run(const problem *p, const sim_options *options, edgeps_diag *diag,
                   sim_result *out);

void sim_result_free(sim_result *r);

#endif
