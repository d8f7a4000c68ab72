/* Delays between nodes, where the kernel has no qdisc for them: in place of the bridge, one process
 * carries every frame from the cable that it comes out of to the cable of the node that it is for,
 * after the latency of that pair.
 *
 * It reads and writes the hub's ends of the cables through packet sockets, which a user namespace
 * allows where it has no TUN devices. A lump of segments passes as one frame with its virtio
 * header, so nothing is cut up or summed anew. What is written to a cable goes through the classes
 * of its end.
 */
#ifndef EDGEPS_LAB_RELAY_INT_H
#define EDGEPS_LAB_RELAY_INT_H

#include "base/err.h"
#include "network/network.h"

#include <stddef.h>
#include <stdint.h>

typedef struct relay relay;

/* Whether any pair of nodes with a path between them is apart. */
bool relay_is_needed(const network *net);

/* Takes hold of the cables d0, d1, ... and of the hub's own, "dh", all in the thread's network. The
 * network is lent. */
edgeps_err relay_make(const network *net, edgeps_diag *diag, relay **out);

/* Carries frames until that fails, or for ever. */
void relay_run(relay *r);

void relay_free(relay *r);

/* The node that an Ethernet frame is for, by the IPv4 address in it or that an ARP frame asks for;
 * `count` for the hub, -1: none. */
int64_t relay_target(const uint8_t *frame, size_t bytes, size_t count);

#endif
