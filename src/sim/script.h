/* A run of the virtual cluster as a few numbers: which network and job are drawn, and what goes
 * wrong when. As a text a script is a file of its own:
 *
 *     edgeps-script 1
 *     seed 17
 *     nodes 4
 *     rounds 3
 *     fault 0.25 kill 2
 *
 * Plans come from a planner that knows no reason: servers stand anywhere and move after each epoch
 * or stay, as the seed has it, so that generations differ as much as they can.
 */
#ifndef EDGEPS_SIM_SCRIPT_H
#define EDGEPS_SIM_SCRIPT_H

#include "sim/sim.h"

#define SCRIPT_MOST_FAULTS 32
#define SCRIPT_MOST_NODES 64
#define SCRIPT_MOST_ROUNDS 100
#define SCRIPT_EPOCHS 3
#define SCRIPT_TEXT_BYTES 4096 /* room for the longest */

typedef struct script {
    uint64_t seed;
    size_t nodes;   /* 2 to SCRIPT_MOST_NODES */
    int64_t rounds; /* of each of the SCRIPT_EPOCHS epochs, 1 to SCRIPT_MOST_ROUNDS */
    size_t fault_count;
    sim_fault faults[SCRIPT_MOST_FAULTS];
    sim_plant plant; /* not part of the text */
} script;

/* Any script of at most this many nodes and faults; the same one for the same seed. */
script script_draw(uint64_t seed, size_t most_nodes, size_t most_faults);

/* Runs it. EDGEPS_INTERNAL names the invariant that broke. That the job gave up is such a breach,
 * too, unless every node that trains was killed. */
edgeps_err script_run(const script *s, edgeps_diag *diag);

/* The smallest script found that still breaks an invariant, by leaving out faults, then nodes, then
 * rounds, and by rounding the faults' times; `s` does break one. */
edgeps_err script_shrink(const script *s, script *out);

void script_text(const script *s, char text[SCRIPT_TEXT_BYTES]);

/* EDGEPS_FORMAT names the line. */
edgeps_err script_parse(const char *text, edgeps_diag *diag, script *out);

#endif
