/* From one plan to the next: which servers' state must travel, how long that takes, and in which
 * order there is room for it. Private to adapt.
 *
 * A node is gone when it may not serve: its servers have no state to give and hold no storage.
 */
#ifndef EDGEPS_ADAPT_MOVES_INT_H
#define EDGEPS_ADAPT_MOVES_INT_H

#include "adapt/adapt.h"

/* Two plans of one problem and the workers of each node's local server in both. */
typedef struct transition {
    const problem *p;
    const plan *old;
    const plan *next;
    const int32_t *old_children;
    const int32_t *next_children;
    size_t old_locals;
    size_t next_locals;
} transition;

/* True when the node has no server state to give. */
bool moves_gone(const transition *t, int32_t node);

/* The local server on `v` is in the old plan only. */
bool moves_closes(const transition *t, size_t v);

int64_t moves_local_need(const transition *t, int32_t children);
int64_t moves_global_need(const transition *t, const plan *pl, size_t locals, size_t node);

/* The node that the next global server gets its state from; PLAN_NONE, which stands for the last
 * checkpoint, where the old one is gone or has no path to it. */
int32_t moves_global_source(const transition *t);

/* Time of one transfer; a checkpoint comes at the rate of the target's down link. */
double moves_transfer_s(const transition *t, const adapt_move *m);

/* True when every node that receives a server, or keeps one that grows, has room for the servers of
 * both plans: then nothing needs to be released before the next plan is committed. */
bool moves_coexist(const transition *t);

/* Most moves that a transition can have, each with a stop-over. */
size_t moves_room(const transition *t);

/* Lists the moves into `moves`, by node, local servers first; returns their number. The global
 * server comes first when its state comes from a checkpoint, because new local servers then copy
 * from it. `*move_s`: all transfers one after another. */
size_t moves_list(const transition *t, adapt_move *moves, double *move_s);

typedef enum moves_order_kind {
    MOVES_TOGETHER,      /* any order is safe */
    MOVES_ONE_BY_ONE,    /* safe if moves that say so release their source at once */
    MOVES_WITH_STOPOVER, /* likewise, and some states wait on third nodes */
    MOVES_IMPOSSIBLE,    /* no such order exists: all have been searched */
    MOVES_NOT_FOUND,     /* there are too many to search all */
} moves_order_kind;

/* Puts the moves into a safe order, the one with the fewest stop-overs. As it was where there is
 * none. At most 2^16 states of the moves are searched: orders of up to 16 moves; with stop-overs,
 * all places that can matter for up to 4 moves, and fewer for more. Longer lists are ordered
 * greedily. */
edgeps_err moves_order(const transition *t, adapt_move *moves, size_t *count,
                       moves_order_kind *kind);

#endif
