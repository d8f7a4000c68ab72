/* The network of a training run as it is at one moment of virtual time: what the scenario has made
 * of rates, speeds and storage, which nodes are down, and which of these the coordinator has
 * noticed. Private to sim.
 *
 * A node is down while its process is dead or frozen, or its links are cut. It is lost once that is
 * noticed: at once when its process has died, as its connections end; after `silent_s` otherwise.
 */
#ifndef EDGEPS_SIM_WORLD_H
#define EDGEPS_SIM_WORLD_H

#include "base/err.h"
#include "job/job.h"
#include "network/network.h"
#include "problem/problem.h"

#include <stdbool.h>

typedef struct world_node {
    network_presence is;
    bool lost;
    double heard_s; /* of a node that is down: when it was heard last */
} world_node;

typedef struct world {
    const network *file; /* whose scenario it is; borrowed */
    network *net;        /* as it is now */
    world_node *nodes;
    const network_event **timed; /* by time */
    size_t timed_count;
    size_t timed_next;
    double now_s; /* since training began */
    double silent_s;
    bool changed; /* since world_problem */
} world;

edgeps_err world_make(const network *file, double silent_s, world *out);
void world_free(world *w);

/* What the scenario says of the start of an epoch, in two parts: what the plan of the epoch can
 * know of, and what strikes nodes once it has begun. */
void world_set_epoch(world *w, int64_t epoch);
void world_strike_epoch(world *w, int64_t epoch);

bool world_is_down(const world *w, size_t node);

/* When the next timed event is due, or the next node that is down will be noticed; INFINITY:
 * nothing will. */
double world_next_s(const world *w);

/* The clock goes to `time_s`; whatever is due until then happens, each at its time. */
void world_advance(world *w, double time_s);

/* Nodes that are up again count as present from the next plan on. */
void world_take_back(world *w);

/* The problem that the coordinator sees: without the lost. EDGEPS_INFEASIBLE as problem_make. The
 * network it borrows from is `net`. */
edgeps_err world_problem(world *w, const job *j, size_t max_locals, int64_t rounds,
                         edgeps_diag *diag, problem **out);

#endif
