/* The lines for `tc` that give the two ends of a node's cable their rates.
 *
 * HTB with a class per peer: flows to or from different peers share the rate evenly, whatever their
 * number, and what one leaves the others take, so that many flows over many links come out max-min
 * fair. The network's rates are goodput; on the wire a full segment carries 1448 bytes of payload
 * in a frame of 1514, so the wire is given 1514/1448 of the rate. Frames below 128 bytes, which
 * are acknowledgements nearly always, pass beside the classes: so what flows one way takes nothing
 * from the other way's rate.
 */
#ifndef EDGEPS_LAB_SHAPE_INT_H
#define EDGEPS_LAB_SHAPE_INT_H

#include "network/network.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SHAPE_FRAME_BYTES 1514
#define SHAPE_QUEUE_FRAMES 70 /* of each class, beside what is on its way */
#define SHAPE_QUEUE_MOST_FRAMES 20000

/* One direction of one node's link. */
typedef struct shape_end {
    const char *device;
    size_t node;
    bool up;
} shape_end;

/* Shapes a fresh device. */
void shape_set(FILE *batch, const network *net, const shape_end *end);

/* From the rate of `before` to that of `net`; other things of the two networks are equal. */
void shape_change(FILE *batch, const network *before, const network *net, const shape_end *end);

/* The largest burst that a sender of this rate hands down at once, in bytes: about half a
 * millisecond's worth, so that segmentation in lumps costs no exactness where rates are small and
 * saves work where they are great. */
int64_t shape_lump_bytes(double bytes_per_s);

#endif
