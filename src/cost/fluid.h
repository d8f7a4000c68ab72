/* A max-min fair fluid network in virtual time (progressive filling, Bertsekas and Gallager 1992,
 * section 6.5.2). Flows share each node's up and down link and the caps of node pairs. The
 * evaluator and the simulator run on this same fluid.
 *
 * The owner starts flows at the current time and advances to the next completion; rates are
 * recomputed when the set of flows changes. Flows between roles of one node do not come here.
 */
#ifndef EDGEPS_COST_FLUID_H
#define EDGEPS_COST_FLUID_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fluid fluid;

/* A network of `count` nodes; the arrays are copied. */
edgeps_err fluid_make(size_t count, const double *up_bytes_per_s, const double *down_bytes_per_s,
                      fluid **out);
void fluid_free(fluid *f);

/* Changes a node's links from now on. */
void fluid_set_node(fluid *f, size_t node, double up_bytes_per_s, double down_bytes_per_s);

/* Whether the node's up or down link has held down the rate of a flow at any time so far. Where it
 * has not, all would have gone the same had it been faster: max-min fair rates are those at which
 * every flow has a full link on which none is faster, and those links are others. */
bool fluid_up_has_limited(const fluid *f, size_t node);
bool fluid_down_has_limited(const fluid *f, size_t node);

double fluid_now_s(const fluid *f);

/* How often a rate was worked out so far, of any flow: what the fluid's time goes into. */
uint64_t fluid_settled(const fluid *f);

/* Starts a flow of `bytes` (> 0) now; `tag` comes back at its completion. All flows between the two
 * nodes in this direction share the pair cap, which must be the same for each; INFINITY: none. */
edgeps_err fluid_start(fluid *f, size_t from, size_t to, double cap_bytes_per_s, double bytes,
                       uint64_t tag);

/* Ends every flow with this tag without completion (a cut connection). */
void fluid_cancel(fluid *f, uint64_t tag);

/* The time of the next completion with the present set of flows; INFINITY when there is none. */
double fluid_next_s(fluid *f);

/* Moves the clock to `time_s` (>= now, <= fluid_next_s). */
void fluid_advance(fluid *f, double time_s);

/* Takes one flow that has completed by now: its tag, in order of start among equals; returns 0 when
 * there is none, else 1. */
int fluid_take(fluid *f, uint64_t *tag);

#endif
