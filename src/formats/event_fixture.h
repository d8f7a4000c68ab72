/* One event of every kind, for tests. */
#ifndef EDGEPS_FORMATS_EVENT_FIXTURE_H
#define EDGEPS_FORMATS_EVENT_FIXTURE_H

#include "meter/event.h"

#define EVENT_FIXTURE_COUNT 18

/* In the order of meter_event_kind; every field of the kind differs from 0. */
extern const meter_event event_fixture[EVENT_FIXTURE_COUNT];

/* Fails the test where one field of `a` is not that of `b`; NAN equals NAN, reals may differ by
 * 1e-14 of their size. */
void assert_same_event(const meter_event *a, const meter_event *b);

#endif
