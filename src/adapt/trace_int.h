/* What the policies and their judge share. Private to adapt. */
#ifndef EDGEPS_ADAPT_TRACE_INT_H
#define EDGEPS_ADAPT_TRACE_INT_H

#include "adapt/adapt.h"
#include "adapt/trace.h"

#define TRACE_MOST_POLICIES 8

struct adapt_trace {
    const problem *const *epochs;
    size_t count;
    adapt_trace_options options;
    plan *fresh;    /* per epoch: the plan from scratch; no global server where none was found */
    double *lost_s; /* per epoch: what it takes if it is lost */
    plan *decided[TRACE_MOST_POLICIES]; /* per policy: its plans, or NULL */
    bool exact;
};

/* What it takes to go from one plan to another. */
typedef struct trace_change {
    bool allowed;
    double move_s; /* with the pause */
    size_t moves;
    int64_t bytes;
} trace_change;

/* `old_runs`: the old plan could run this epoch. That `next` can is not asked. */
edgeps_err trace_change_of(const adapt_trace *t, size_t epoch, const plan *old, bool old_runs,
                           const plan *next, trace_change *out);

/* Time of the epoch's rounds into *train_s, INFINITY when the plan cannot run. */
edgeps_err trace_train_s(const adapt_trace *t, size_t epoch, const plan *pl, double *train_s);

/* EDGEPS_CANCELLED when it is to stop. */
edgeps_err trace_report(const adapt_trace *t, const char *policy, size_t epoch, edgeps_diag *diag);

/* Replaces a plan by a copy of another of as many nodes. */
void trace_set(plan *to, const plan *from);

/* `count` plans, copies of `like`; trace_free_plans releases them. */
edgeps_err trace_make_plans(size_t count, const plan *like, plan **out);
void trace_free_plans(plan *plans, size_t count);

/* By dynamic programming; the other policies' plans are among its candidates. */
adapt_policy_function trace_offline;

#endif
