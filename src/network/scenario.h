/* Scenarios drawn at random: how free storage, rates or speeds move around in time. Every value is
 * a part of what the network says, 1 - depth to 1 of it; docs/scenarios.md has the formulas.
 *
 * - walk: a random walk that is reflected at both ends.
 * - diurnal: a cosine, with a phase of its own for each node.
 * - burst: all or 1 - depth, by a Markov chain of two states (Gilbert, Bell System Technical
 *   Journal 39, 1960).
 */
#ifndef EDGEPS_NETWORK_SCENARIO_H
#define EDGEPS_NETWORK_SCENARIO_H

#include "base/err.h"
#include "network/network.h"

#include <stdint.h>

#define SCENARIO_MOST_EVENTS 10000000

typedef enum scenario_kind {
    SCENARIO_WALK,
    SCENARIO_DIURNAL,
    SCENARIO_BURST,
} scenario_kind;

/* In the order of the kinds, NULL at the end. */
extern const char *const scenario_kind_names[];

typedef struct scenario_options {
    scenario_kind kind;
    network_change what; /* NETWORK_FREE, NETWORK_UP, NETWORK_DOWN or NETWORK_COMPUTE */
    uint64_t seed;
    int64_t steps;
    double step_s; /* step k is k of these after training began; 0: at the start of epoch k + 1 */
    double depth;  /* above 0, below 1 */
    double period; /* in steps: of a day, and in the mean from burst to burst */
} scenario_options;

/* Puts the drawn lines behind the scenario that is there. Each node draws from a stream of its own;
 * the same options and network give the same lines. EDGEPS_USAGE: more than SCENARIO_MOST_EVENTS.
 */
edgeps_err scenario_generate(const scenario_options *o, edgeps_diag *diag, network *net);

#endif
