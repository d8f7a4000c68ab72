/* The policies of re-placement between epochs. All but `offline` decide from what they have seen.
 */
#include "adapt/history.h"
#include "adapt/trace_int.h"

#include "base/mem.h"

#include <math.h>

static edgeps_err decide_static(adapt_trace *t, edgeps_diag *diag, plan *plans)
{
    (void)t;
    (void)diag;
    (void)plans; /* as they are */
    return EDGEPS_OK;
}

/* The plan before the one of this epoch. */
static const plan *in_force(const adapt_trace *t, const plan *plans, size_t epoch)
{
    return epoch ? &plans[epoch - 1] : &t->fresh[0];
}

static edgeps_err step(const adapt_trace *t, size_t epoch, const adapt_options *options,
                       edgeps_diag *diag, plan *plans)
{
    adapt_result r;
    edgeps_err err = adapt_step(t->epochs[epoch], in_force(t, plans, epoch), options, diag, &r);
    if (err)
        return err;
    trace_set(&plans[epoch], &r.plan);
    adapt_result_free(&r);
    return EDGEPS_OK;
}

static adapt_options options_of(const adapt_trace *t, adapt_mode mode)
{
    return (adapt_options){.mode = mode,
                           .algorithm = t->options.algorithm,
                           .seed = t->options.seed,
                           .hysteresis = t->options.hysteresis,
                           .pause_s = t->options.pause_s};
}

static edgeps_err decide_greedy_repair(adapt_trace *t, edgeps_diag *diag, plan *plans)
{
    adapt_options options = options_of(t, ADAPT_REPAIR);
    edgeps_err err = EDGEPS_OK;
    for (size_t e = 0; !err && e < t->count; e++) {
        err = trace_report(t, "greedy-repair", e, diag);
        if (!err)
            err = step(t, e, &options, diag, plans);
    }
    return err;
}

static edgeps_err adjust_epoch(const adapt_trace *t, size_t epoch, adapt_history *h,
                               int64_t *forecast, edgeps_diag *diag, plan *plans)
{
    adapt_options options = options_of(t, ADAPT_ADJUST);
    edgeps_err err = trace_report(t, "adjust", epoch, diag);
    if (err)
        return err;
    adapt_history_add(h, t->epochs[epoch]);
    adapt_history_advise(h, in_force(t, plans, epoch), (double)(t->count - epoch), forecast,
                         &options);
    return step(t, epoch, &options, diag, plans);
}

static edgeps_err decide_adjust(adapt_trace *t, edgeps_diag *diag, plan *plans)
{
    size_t nodes = t->epochs[0]->count;
    adapt_history *h = NULL;
    int64_t *forecast = mem_alloc(nodes, sizeof *forecast);
    edgeps_err err = forecast ? adapt_history_make(nodes, &h) : EDGEPS_NOMEM;
    for (size_t e = 0; !err && e < t->count; e++)
        err = adjust_epoch(t, e, h, forecast, diag, plans);
    adapt_history_free(h);
    mem_free(forecast);
    return err;
}

static edgeps_err replan_epoch(const adapt_trace *t, size_t epoch, plan *plans)
{
    const plan *old = in_force(t, plans, epoch), *next = &t->fresh[epoch];
    trace_change c = {.allowed = false};
    double old_s, next_s;
    edgeps_err err = trace_train_s(t, epoch, old, &old_s);
    if (!err)
        err = trace_train_s(t, epoch, next, &next_s);
    if (!err && next_s < INFINITY)
        err = trace_change_of(t, epoch, old, old_s < INFINITY, next, &c);
    if (!err)
        trace_set(&plans[epoch], c.allowed ? next : old);
    return err;
}

static edgeps_err decide_replan(adapt_trace *t, edgeps_diag *diag, plan *plans)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t e = 0; !err && e < t->count; e++) {
        err = trace_report(t, "replan", e, diag);
        if (!err)
            err = replan_epoch(t, e, plans);
    }
    return err;
}

const adapt_policy adapt_policies[] = {
    {"adjust", "repairs, and moves servers where it pays", decide_adjust},
    {"static", "never moves", decide_static},
    {"replan", "takes a plan from scratch in each epoch, whatever the moves take", decide_replan},
    {"greedy-repair", "repairs the cheapest way, and does nothing else", decide_greedy_repair},
    {"offline", "knows all epochs beforehand: the yardstick", trace_offline},
};
const size_t adapt_policy_count = sizeof adapt_policies / sizeof *adapt_policies;

_Static_assert(sizeof adapt_policies / sizeof *adapt_policies <= TRACE_MOST_POLICIES,
               "a trace keeps the plans of each policy");
