/* The virtual network of the simulator: the edges of the tree, each a connection with one first-in
 * first-out queue per direction, over the cost room's max-min fluid. Chunks take their bytes' time
 * on the links and a latency; control messages take the latency alone; an edge within one node
 * takes no time. Private to sim. */
#ifndef EDGEPS_SIM_WIRES_H
#define EDGEPS_SIM_WIRES_H

#include "base/heap.h"
#include "cost/fluid.h"
#include "problem/problem.h"
#include "proto/proto.h"

typedef enum wires_direction { WIRES_UP, WIRES_DOWN } wires_direction;

/* What travels. `payload` stands for the chunk's numbers: sums of it wrap around modulo 2^64. What
 * the event lends outlives the run. */
typedef struct wires_message {
    proto_event event;
    double bytes; /* 0: control */
    uint64_t payload;
} wires_message;

/* A message at the far end of its edge. */
typedef struct wires_arrival {
    uint32_t edge;
    wires_direction direction;
    wires_message message;
} wires_arrival;

typedef struct wires wires;

/* An edge is named by the child's role and node: workers' edges are 0..count-1, local servers'
 * count..2 count-1. */
edgeps_err wires_make(const problem *p, wires **out);
void wires_free(wires *w);

void wires_open(wires *w, uint32_t edge, int32_t child, int32_t parent);

/* Ends the edge; everything under way on it is gone. */
void wires_close(wires *w, uint32_t edge);

bool wires_is_open(const wires *w, uint32_t edge);
int32_t wires_parent(const wires *w, uint32_t edge);

/* Nothing arrives on the edge before `until_s`; then all that is not lost comes in order. */
void wires_hold(wires *w, uint32_t edge, double until_s, bool loses);

/* Messages sent on a closed edge vanish. */
edgeps_err wires_send(wires *w, uint32_t edge, wires_direction direction, wires_message message);

/* Time of the next thing that happens on the network; INFINITY: nothing will. */
double wires_next_s(wires *w);

/* Moves to `time_s` (<= wires_next_s) and starts what can start. */
edgeps_err wires_advance(wires *w, double time_s);

/* Takes one message that has arrived by now. */
bool wires_take(wires *w, wires_arrival *out);

#endif
