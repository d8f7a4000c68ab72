/* From what was measured in an epoch to the network that the next plan is made for.
 *
 * Storage is what a node says it is. Rates and speeds are noisy, so a measurement moves the value
 * believed so far only part of the way (exponential smoothing): a lasting change counts in full
 * after a few epochs, one odd epoch does not upset the plan.
 */
#ifndef EDGEPS_METER_METER_H
#define EDGEPS_METER_METER_H

#include "base/api.h"
#include "base/err.h"
#include "network/network.h"

#include <stddef.h>
#include <stdint.h>

EDGEPS_API_BEGIN

#define METER_WEIGHT 0.5 /* of the measured value against the one believed so far */
#define METER_NO_BYTES (-1)

/* What one node measured in an epoch; METER_NO_BYTES and NAN stand for "not measured". A link's
 * rate belongs here only if the link was the limit: a flow that waited for others says nothing. */
typedef struct meter_record {
    uint32_t node;
    int64_t free_bytes;
    double compute_samples_per_s;
    double up_bytes_per_s;
    double down_bytes_per_s;
} meter_record;

/* A record of `node` in which nothing is measured yet. */
meter_record meter_nothing(uint32_t node);

/* A copy of `net`, the network as believed so far, corrected by the records in their order; the
 * caller frees it. EDGEPS_FORMAT when a record names no node of the network or a rate is negative
 * or infinite. O(count squared + records). */
edgeps_err meter_correct(const network *net, const meter_record *records, size_t count,
                         network **out);

EDGEPS_API_END

#endif
