#include "meter/meter.h"

#include <math.h>
#include <stdbool.h>

meter_record meter_nothing(uint32_t node)
{
    return (meter_record){
        .node = node,
        .free_bytes = METER_NO_BYTES,
        .compute_samples_per_s = NAN,
        .up_bytes_per_s = NAN,
        .down_bytes_per_s = NAN,
    };
}

static bool acceptable_rate(double measured)
{
    return isnan(measured) || (measured >= 0 && measured < INFINITY);
}

static bool acceptable(const network *net, const meter_record *r)
{
    return r->node < net->count && r->free_bytes >= METER_NO_BYTES &&
           acceptable_rate(r->compute_samples_per_s) && acceptable_rate(r->up_bytes_per_s) &&
           acceptable_rate(r->down_bytes_per_s);
}

/* A value of zero or infinity is no measurement to start from: the first one replaces it. */
static void smooth(double *believed, double measured)
{
    if (isnan(measured))
        return;
    bool usable = *believed > 0 && *believed < INFINITY;
    *believed = usable ? *believed + METER_WEIGHT * (measured - *believed) : measured;
}

edgeps_err meter_correct(const network *net, const meter_record *records, size_t count,
                         network **out)
{
    network *corrected = NULL;
    for (size_t k = 0; k < count; k++)
        if (!acceptable(net, &records[k]))
            return EDGEPS_FORMAT;
    edgeps_err err = network_copy(net, &corrected);
    if (err)
        return err;
    for (size_t k = 0; k < count; k++) {
        const meter_record *r = &records[k];
        network_node *node = &corrected->nodes[r->node];
        if (r->free_bytes != METER_NO_BYTES)
            node->free_bytes = r->free_bytes;
        smooth(&node->compute_samples_per_s, r->compute_samples_per_s);
        smooth(&node->up_bytes_per_s, r->up_bytes_per_s);
        smooth(&node->down_bytes_per_s, r->down_bytes_per_s);
    }
    *out = corrected;
    return EDGEPS_OK;
}
