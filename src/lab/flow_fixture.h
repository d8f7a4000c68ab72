/* What the lab is measured with in its tests, short ones and long ones. Measurements on a machine
 * that is busy with other things are repeated; a rate that is wrong is wrong each time. */
#ifndef EDGEPS_LAB_FLOW_FIXTURE_H
#define EDGEPS_LAB_FLOW_FIXTURE_H

#include <stddef.h>

/* Links of these rates: what users get is within `share` of what was asked, both ways. */
void fixture_expect_rates(const double *mbit, size_t count, double share);

/* Eight senders of unequal rates and loads into one link of `mbit`: the last byte arrives within
 * `share` of the time that max-min fair sharing takes. */
void fixture_expect_max_min(double mbit, double share);

#endif
