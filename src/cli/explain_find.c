#include "cli/explain.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/parallel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST_GAIN 1e-9 /* of the round; less is rounding */
#define SHOW_NS (CLOCK_NS_PER_S / 5)

/* Looks at the clock, and tells a person at a terminal how far it is. */
typedef struct watch {
    const char *what;
    int64_t end_ns; /* 0: none */
    int64_t shown_ns;
    bool terminal;
    bool shown;
} watch;

static bool go_on(void *context, double done_fraction)
{
    watch *w = context;
    int64_t now_ns = clock_now_ns();
    if (w->terminal && now_ns - w->shown_ns >= SHOW_NS) {
        fprintf(stderr, "\r%s: %2.0f %%\033[K", w->what, 100 * done_fraction);
        w->shown_ns = now_ns;
        w->shown = true;
    }
    return !w->end_ns || now_ns < w->end_ns;
}

static void end_watch(watch *w)
{
    if (w->shown)
        fputs("\r\033[K", stderr);
    w->shown = false;
}

static edgeps_err find_roles(const problem *p, const plan *pl, explain *e)
{
    place_reasons reasons;
    edgeps_err err = place_explain(p, pl, &reasons);
    if (err)
        return err;
    e->roles = mem_alloc(reasons.count, sizeof *e->roles);
    for (size_t k = 0; e->roles && k < reasons.count; k++) {
        const place_role *r = &reasons.roles[k];
        e->roles[k] = (explain_role){
            .node = p->nodes[r->node].name,
            .role = r->global ? "global" : "local",
            .candidates = r->candidates,
            .left = r->left,
            .substitute = r->substitute == PLAN_NONE ? NULL : p->nodes[r->substitute].name,
            .substitute_s = r->substitute_s,
            .without_s = r->without_s,
        };
    }
    e->facts.roles = e->roles;
    e->facts.role_count = reasons.count;
    place_reasons_free(&reasons);
    return e->roles ? EDGEPS_OK : EDGEPS_NOMEM;
}

static const char *resource_name(cost_resource resource)
{
    switch (resource) {
    case COST_UP:
        return "up";
    case COST_DOWN:
        return "down";
    case COST_WORK:
        return "compute";
    default:
        return "sum";
    }
}

/* The two lists, each the largest gain first, become one. */
static edgeps_err merge_gains(const problem *p, explain *e)
{
    size_t count = e->speed.count + e->room.count, s = 0, r = 0;
    e->gains = mem_alloc(count, sizeof *e->gains);
    e->gain_node = mem_alloc(count, sizeof *e->gain_node);
    if (!e->gains || !e->gain_node)
        return EDGEPS_NOMEM;
    for (size_t k = 0; k < count; k++) {
        const cost_gain *speed = &e->speed.gains[s];
        const place_room_gain *room = &e->room.gains[r];
        bool first = s < e->speed.count && (r == e->room.count || speed->gain_s >= room->gain_s);
        e->gain_node[k] = first ? (uint32_t)speed->node : room->node;
        e->gains[k] = (explain_gain){
            .resource = first ? resource_name(speed->resource) : "storage",
            .node = p->nodes[e->gain_node[k]].name,
            .gain_s = first ? speed->gain_s : room->gain_s,
            .change = first || !room->change[0] ? NULL : room->change,
            .replanned_s = INFINITY,
        };
        s += first;
        r += !first;
    }
    e->facts.gains = e->gains;
    e->facts.gain_count = count;
    return EDGEPS_OK;
}

static void count_gains(const explain_request *request, explain *e)
{
    explain_facts *f = &e->facts;
    double least_s = LEAST_GAIN * f->round_s;
    for (size_t k = 0; k < f->gain_count; k++) {
        f->gains_listed += k < request->top && e->gains[k].gain_s > least_s;
        f->longer += e->gains[k].gain_s < -least_s;
    }
    f->idle = e->speed.idle + e->room.idle;
    f->left = e->speed.left + e->room.left;
}

static edgeps_err find_gains(const problem *p, const plan *pl, const explain_request *request,
                             explain *e)
{
    watch w = {.terminal = isatty(STDERR_FILENO), .shown_ns = clock_now_ns()};
    if (request->search.deadline_s > 0)
        w.end_ns = w.shown_ns + (int64_t)(request->search.deadline_s * CLOCK_NS_PER_S);
    w.what = "playing rounds with faster links and nodes";
    edgeps_err err = cost_find_gains(p, pl, &request->step, go_on, &w, &e->speed);
    w.what = "trying more storage";
    if (!err && request->storage_bytes > 0)
        err = place_find_room_gains(p, pl, request->storage_bytes, go_on, &w, &e->room);
    end_watch(&w);
    if (!err)
        err = merge_gains(p, e);
    if (!err)
        count_gains(request, e);
    return err;
}

typedef struct replan {
    const problem *p;
    const plan *from;
    const explain_request *request;
    explain *e;
} replan;

static void change_node(const explain_request *request, const char *resource, problem_node *node)
{
    if (strcmp(resource, "storage") == 0)
        node->free_bytes += request->storage_bytes;
    else if (strcmp(resource, "up") == 0)
        cost_improve(node, COST_UP, &request->step);
    else if (strcmp(resource, "down") == 0)
        cost_improve(node, COST_DOWN, &request->step);
    else
        cost_improve(node, strcmp(resource, "sum") == 0 ? COST_SUMMING : COST_WORK, &request->step);
}

static edgeps_err replan_gain(void *context, size_t thread, size_t item)
{
    replan *r = context;
    problem changed;
    plan better;
    (void)thread;
    edgeps_err err = problem_lend(r->p, &changed);
    if (err)
        return err;
    change_node(r->request, r->e->gains[item].resource, &changed.nodes[r->e->gain_node[item]]);
    err = plan_copy(r->from, &better);
    if (!err) {
        err = place_improve(&changed, &r->request->search, &better, &r->e->gains[item].replanned_s);
        plan_free(&better);
    }
    problem_unlend(&changed);
    return err;
}

/* The plan is improved as things are, and from there once more for each change that is listed. */
static edgeps_err replan_gains(const problem *p, const plan *pl, const explain_request *request,
                               explain *e)
{
    plan better;
    replan r = {.p = p, .from = &better, .request = request, .e = e};
    size_t count = e->facts.gains_listed;
    edgeps_err err = plan_copy(pl, &better);
    if (err)
        return err;
    err = place_improve(p, &request->search, &better, &e->facts.replanned_s);
    if (!err)
        err = parallel_run(parallel_threads(count), count, replan_gain, &r, NULL);
    plan_free(&better);
    return err;
}

edgeps_err explain_find(const problem *p, const plan *pl, const explain_request *request,
                        explain *e)
{
    cost_result cost;
    edgeps_err err = cost_evaluate(p, pl, &cost);
    if (err)
        return err;
    cost_bottleneck_text(&cost.bottleneck, p, e->bottleneck, sizeof e->bottleneck);
    e->facts = (explain_facts){
        .transfer = job_transfer_name(p->job.transfer),
        .round_s = cost.round_s,
        .epoch_s = cost.epoch_s,
        .rounds = p->rounds,
        .bottleneck = e->bottleneck,
        .rate_bytes_per_s = request->step.rate_bytes_per_s,
        .storage_bytes = (double)request->storage_bytes,
        .speed_factor = request->step.speed_factor,
        .replanned_s = INFINITY,
    };
    err = find_roles(p, pl, e);
    if (!err)
        err = find_gains(p, pl, request, e);
    if (!err && request->replan)
        err = replan_gains(p, pl, request, e);
    return err;
}

void explain_free(explain *e)
{
    mem_free(e->roles);
    mem_free(e->gains);
    mem_free(e->gain_node);
    cost_sensitivity_free(&e->speed);
    place_room_gains_free(&e->room);
}
