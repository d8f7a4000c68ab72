/* A lane: the connections that want to send, or to receive, in the order of their turns.
 *
 * Deficit round robin: a connection whose turn it is may pass a quantum of bytes, over as many
 * frames as that covers, and then goes to the end. Who waits for its own cap keeps its place and
 * lets others pass; who is not shaped passes regardless of the link. One pass over the lane serves
 * each member at most once. The sending and the receiving side of a process have a lane each.
 */
#ifndef EDGEPS_LOOP_LANE_H
#define EDGEPS_LOOP_LANE_H

#include "loop/link.h"

#include <stddef.h>
#include <sys/queue.h>

struct conn;
typedef struct lane lane;

/* What became of an attempt to move bytes. */
typedef enum lane_result {
    LANE_MORE,    /* there may be more at once */
    LANE_LATER,   /* there will be more without the socket's help */
    LANE_BLOCKED, /* the socket takes no more: the member leaves until it does */
    LANE_EMPTY,   /* nothing is left: the member leaves */
} lane_result;

/* A connection's place in one lane. */
typedef struct lane_member {
    TAILQ_ENTRY(lane_member) places;
    struct conn *owner;
    lane *in;       /* NULL when not in the lane */
    link_clock cap; /* of this connection alone */
    int64_t turn_bytes;
    bool shaped;
    bool blocked;
} lane_member;

TAILQ_HEAD(lane_list, lane_member);

struct lane {
    struct lane_list members;
    size_t count;
    size_t blocked; /* shaped connections whose socket takes no more */
    bool receives;  /* what comes in lumps here has left the sender byte by byte */
    bool waited;    /* somebody waited for the link in this pass */
    link_clock link;
    /* Bytes that the connection would move at `now_ns`; 0 and `*wake_ns` when that is later. */
    int64_t (*wants)(struct conn *c, int64_t now_ns, int64_t *wake_ns);
    /* Moves at most `limit` bytes and says how many. May call the user, who may close any
     * connection. */
    lane_result (*move)(struct conn *c, int64_t limit, int64_t *moved);
};

/* Whether the bytes of a member are limited at all. */
bool lane_limits(const lane *l, const lane_member *m);

/* Joins at the end, or at the head to take up a turn that its socket has cut short: TCP delivers in
 * lumps, and who is out of bytes for a moment would lose its share. Who is in stays where it is. */
void lane_join(lane *l, lane_member *m);

/* Leaves for good, or until lane_join. Fine for who is not in. */
void lane_leave(lane *l, lane_member *m);

/* One pass. True when another one is worth while at once; lowers `*wake_ns` to the time at which a
 * member that waits can go on. */
bool lane_pass(lane *l, int64_t now_ns, int64_t *wake_ns);

#endif
