/* What the epochs so far say about the next ones: how long conditions last, and where free storage
 * is going.
 *
 * A node's conditions have changed when a rate or its speed is more than a tenth from where it was
 * at the last change, or when it can hold another kind of server than then; smaller changes are
 * noise. The history owns all it keeps.
 */
#ifndef EDGEPS_ADAPT_HISTORY_H
#define EDGEPS_ADAPT_HISTORY_H

#include "adapt/adapt.h"
#include "base/api.h"
#include "plan/plan.h"
#include "problem/problem.h"

EDGEPS_API_BEGIN

typedef struct adapt_history adapt_history;

/* Of `count` nodes, empty. adapt_history_free releases it. */
edgeps_err adapt_history_make(size_t count, adapt_history **out);
void adapt_history_free(adapt_history *h);

/* Adds the problem as it is measured at the start of an epoch, one epoch after the last. */
void adapt_history_add(adapt_history *h, const problem *measured);

/* Expected epochs until the conditions of one of `servers` nodes change, at least 1. With T
 * transitions between epochs seen and m changes of n nodes in all, `servers` nodes would have had
 * m servers / n; Laplace's rule of succession then gives (T + 1) / (m servers / n + 1). */
double adapt_history_horizon(const adapt_history *h, size_t servers);

/* Free bytes of each node that the next epoch is expected to have, never more than the last: last
 * value and trend, where the trend is twice the noise around it. Both are smoothed
 * exponentially (Holt 1957, with half of each new observation). */
void adapt_history_forecast(const adapt_history *h, int64_t *free_bytes);

/* Sets horizon, forecast and margin for an adjustment of `current` with `epochs_left` to go, the
 * next one included. The forecast is written to `free_bytes`, which the options borrow. */
void adapt_history_advise(const adapt_history *h, const plan *current, double epochs_left,
                          int64_t *free_bytes, adapt_options *options);

EDGEPS_API_END

#endif
