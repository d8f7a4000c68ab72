/* What the two halves of the second network share. Private to sim. */
#ifndef EDGEPS_SIM_GRID_INT_H
#define EDGEPS_SIM_GRID_INT_H

#include "plan/plan.h"
#include "problem/problem.h"

#include <stddef.h>
#include <stdio.h>

/* Hosts are called h0, h1, ...; a zone with the up and down links of all, and a route for each
 * connection of the plan, in both directions. Latencies are not in it: a chunk that has left does
 * not hold up the next one, which in SimGrid it would. */
void grid_write_platform(const problem *p, const plan *pl, FILE *file);

/* Plays the round in SimGrid and ends the process: the time goes to `out`, an open file. */
_Noreturn void grid_play(const problem *p, const plan *pl, const char *platform, int out);

#endif
