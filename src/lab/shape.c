#include "lab/shape_int.h"

#include "lab/lab.h"

#include <math.h>

#define FRAME_BYTES SHAPE_FRAME_BYTES
#define PAYLOAD_BYTES 1448 /* a full segment's, with IPv4, TCP and its time stamps around it */
#define BURST_S 1e-3       /* what an idle link saves up is a gift to each transfer */
#define MOST_BURST_BYTES 1e9
#define MOST_LUMP_BYTES 65536
#define LUMP_S 0.5e-3
#define CUT_CLASS 2
#define HUB_CLASS 15
#define FIRST_CLASS 16
#define CUT_ALL_PRIORITY 1
#define CUT_PAIR_PRIORITY 2
#define SMALL_PRIORITY 3
#define PEER_PRIORITY 4

int64_t shape_lump_bytes(double bytes_per_s)
{
    double lump = bytes_per_s * LUMP_S;
    return lump < FRAME_BYTES       ? FRAME_BYTES
           : lump > MOST_LUMP_BYTES ? MOST_LUMP_BYTES
                                    : (int64_t)lump;
}

static double rate_of(const network *net, const shape_end *end)
{
    const network_node *node = &net->nodes[end->node];
    return end->up ? node->up_bytes_per_s : node->down_bytes_per_s;
}

/* A sender also keeps the cap of the pair. Of LAB_HUB there is none. */
static double peer_rate(const network *net, const shape_end *end, size_t peer)
{
    double rate = rate_of(net, end);
    return peer == LAB_HUB || !end->up ? rate
                                       : fmin(rate, network_cap_bytes_per_s(net, end->node, peer));
}

/* HTB lets each class send a whole lump in its turn, whatever the quantum. So the quantum is that
 * of the largest lump: then turns are even in bytes. TCP cuts lumps to about a millisecond of a
 * flow's own rate, two segments at least; larger ones than two of the link's do not come. */
static int64_t quantum_bytes(const network *net, const shape_end *end)
{
    int64_t most = shape_lump_bytes(rate_of(net, end));
    if (end->up)
        return most;
    int64_t sent = 0;
    for (size_t i = 0; i < net->count; i++) {
        int64_t lump = shape_lump_bytes(net->nodes[i].up_bytes_per_s);
        sent = i != end->node && lump > sent ? lump : sent;
    }
    return sent < 4 * most ? sent : 4 * most;
}

/* "rate 8bit ceil ..." of what carries `least` for certain and `most` when there is room. A class
 * of rate 0 is refused; what is cut is led elsewhere. */
static void put_rates(FILE *batch, double least, double most, int64_t quantum)
{
    double wire = most * FRAME_BYTES / PAYLOAD_BYTES;
    double burst = fmin(fmax(2 * FRAME_BYTES, wire * BURST_S), MOST_BURST_BYTES);
    fprintf(batch, "rate %.0fbit ceil %.0fbit burst %.0f cburst %.0f quantum %lld\n",
            fmax(8 * least * FRAME_BYTES / PAYLOAD_BYTES, 8), fmax(8 * wire, 8), burst, burst,
            (long long)quantum);
}

static unsigned class_of(size_t peer)
{
    return peer == LAB_HUB ? HUB_CLASS : (unsigned)peer + FIRST_CLASS;
}

static void put_class(FILE *batch, const char *device, unsigned number, double most,
                      int64_t quantum)
{
    fprintf(batch, "class replace dev %s parent 1:1 classid 1:%x htb ", device, number);
    put_rates(batch, 1, most, quantum);
}

/* The root's class, and one per peer. */
static void put_classes(FILE *batch, const network *net, const shape_end *end)
{
    double rate = rate_of(net, end);
    int64_t quantum = quantum_bytes(net, end);
    fprintf(batch, "class replace dev %s parent 1: classid 1:1 htb ", end->device);
    put_rates(batch, rate, rate, quantum);
    put_class(batch, end->device, HUB_CLASS, peer_rate(net, end, LAB_HUB), quantum);
    for (size_t peer = 0; peer < net->count; peer++)
        if (peer != end->node)
            put_class(batch, end->device, class_of(peer), peer_rate(net, end, peer), quantum);
}

static void put_filter(FILE *batch, const shape_end *end, int priority, size_t peer)
{
    char address[LAB_ADDRESS_BYTES];
    lab_address(peer, address);
    fprintf(batch,
            "filter add dev %s parent 1: protocol ip prio %d u32 match ip %s %s/32 flowid 1:%x\n",
            end->device, priority, end->up ? "dst" : "src", address,
            priority == CUT_PAIR_PRIORITY ? CUT_CLASS : class_of(peer));
}

static void put_filters(FILE *batch, const network *net, const shape_end *end)
{
    for (size_t peer = 0; peer < net->count && end->up; peer++)
        if (peer != end->node && network_cap_bytes_per_s(net, end->node, peer) == 0)
            put_filter(batch, end, CUT_PAIR_PRIORITY, peer);
    fprintf(batch,
            "filter add dev %s parent 1: protocol ip prio %d u32 match u16 0 0xff80 at 2 "
            "flowid 1:\n",
            end->device, SMALL_PRIORITY);
    put_filter(batch, end, PEER_PRIORITY, LAB_HUB);
    for (size_t peer = 0; peer < net->count; peer++)
        if (peer != end->node)
            put_filter(batch, end, PEER_PRIORITY, peer);
}

static void put_cut(FILE *batch, const shape_end *end)
{
    fprintf(batch,
            "filter add dev %s parent 1: protocol ip prio %d u32 match u32 0 0 flowid 1:%x\n",
            end->device, CUT_ALL_PRIORITY, CUT_CLASS);
}

/* What meets no filter (ARP) passes. The cut class holds less than a frame, so it drops all. */
void shape_set(FILE *batch, const network *net, const shape_end *end)
{
    fprintf(batch, "qdisc add dev %s root handle 1: htb default ffff\n", end->device);
    put_classes(batch, net, end);
    put_class(batch, end->device, CUT_CLASS, 1, FRAME_BYTES);
    fprintf(batch, "qdisc add dev %s parent 1:%x bfifo limit 1\n", end->device, CUT_CLASS);
    put_filters(batch, net, end);
    if (rate_of(net, end) == 0)
        put_cut(batch, end);
}

void shape_change(FILE *batch, const network *before, const network *net, const shape_end *end)
{
    bool was_cut = rate_of(before, end) == 0, is_cut = rate_of(net, end) == 0;
    if (!is_cut)
        put_classes(batch, net, end);
    if (was_cut && !is_cut)
        fprintf(batch, "filter del dev %s parent 1: prio %d\n", end->device, CUT_ALL_PRIORITY);
    if (is_cut && !was_cut)
        put_cut(batch, end);
}
