/* Private to p-center. */
#ifndef EDGEPS_COVER_PCENTER_INT_H
#define EDGEPS_COVER_PCENTER_INT_H

#include "cover/pcenter.h"

/* Exchanges centers one by one until all points are within the radius of one, or `steps` are spent
 * (fewer where many points are in reach); *covered says which. `open` holds the centers, at least
 * one, and is changed. The same every time for the same input. O(points^2) distances, then about
 * (points in reach)^2 a step. */
edgeps_err pcenter_swap(const pcenter_instance *c, double radius, size_t steps, bool *open,
                        bool *covered);

#endif
