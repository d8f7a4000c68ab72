#include "sim/training.h"

#include "adapt/history.h"
#include "base/mem.h"
#include "place/place.h"
#include "sim/world.h"

#include <math.h>
#include <stdio.h>

/* A lost epoch's time goes by, and it has to be made up for. */
#define LOST_EPOCH 2
/* Of a round: what is left of it is rounding. */
#define LEAST_LEFT 1e-9

typedef struct training {
    const training_options *o;
    const job *job;
    edgeps_diag *diag;
    world world;
    problem *p;  /* as the coordinator sees it */
    bool stands; /* the conditions are no problem at all: somebody is cut off from everyone */
    plan plan;
    adapt_history *history;
    int64_t *forecast;
    double done;      /* rounds of the epoch, with the part of the running one */
    double round_s;   /* of the plan in force, now; INFINITY: it stands still */
    bool repairs;     /* a lost node has a role */
    double partial_s; /* training time of the running round so far */
    training_epoch epoch;
    char reason[256];
    training_result sum;
} training;

/* ---- conditions ---- */

/* Brings the problem up to date. */
static edgeps_err look(training *t)
{
    problem *p;
    if (!t->world.changed)
        return t->stands ? EDGEPS_INFEASIBLE : EDGEPS_OK;
    edgeps_err err = world_problem(&t->world, t->job, t->o->max_locals, t->sum.rounds, t->diag, &p);
    t->stands = err == EDGEPS_INFEASIBLE;
    if (err)
        return err;
    problem_free(t->p);
    t->p = p;
    t->sum.rounds = p->rounds;
    return EDGEPS_OK;
}

/* Who of the plan is down, and whether the coordinator knows. */
static bool someone_is_down(training *t)
{
    bool down = false;
    t->repairs = false;
    for (size_t i = 0; i < t->plan.count; i++) {
        if (!world_is_down(&t->world, i) && !t->world.nodes[i].lost)
            continue;
        bool role = plan_has_role(&t->plan, i);
        down |= role;
        t->repairs |= role && t->world.nodes[i].lost;
    }
    return down;
}

static edgeps_err play(training *t, const plan *pl, double *round_s)
{
    edgeps_err err = t->o->network(t->p, pl, round_s);
    return err ? diag_fail(t->diag, err, "a round could not be played: %s", err_text(err)) : err;
}

static edgeps_err time_round(training *t)
{
    t->round_s = INFINITY;
    bool down = someone_is_down(t);
    edgeps_err err = look(t);
    if (err == EDGEPS_INFEASIBLE)
        return EDGEPS_OK;
    return err || down ? err : play(t, &t->plan, &t->round_s);
}

/* ---- plans ---- */

static edgeps_err no_plan(training *t, const char *why)
{
    return diag_fail(t->diag, EDGEPS_INFEASIBLE, "epoch %lld: no plan is left: %s",
                     (long long)t->epoch.epoch, why);
}

static edgeps_err from_scratch(training *t, place_result *out)
{
    place_options o = {.seed = t->o->seed};
    edgeps_err err = place_run(t->o->algorithm, t->p, &o, t->diag, out);
    if (err || out->status != PLACE_INFEASIBLE)
        return err;
    err = no_plan(t, out->reason);
    place_result_free(out);
    return err;
}

static edgeps_err place_first(training *t)
{
    place_result placed;
    edgeps_err err = from_scratch(t, &placed);
    if (err)
        return err;
    t->plan = placed.plan;
    t->plan.generation = 1;
    placed.plan = (plan){.global = PLAN_NONE};
    place_result_free(&placed);
    return EDGEPS_OK;
}

/* Time of the moves, one after another. In the middle of an epoch local servers get their state
 * when they attach to the global server, while their workers push to them. */
static double moves_s(const adapt_result *r, bool quiet)
{
    double sum_s = 0;
    for (size_t k = 0; k < r->move_count; k++)
        if (quiet || r->moves[k].role == ADAPT_GLOBAL)
            sum_s += r->moves[k].transfer_s;
    return sum_s;
}

static edgeps_err take_plan(training *t, const adapt_result *r, bool quiet)
{
    double taken_s = moves_s(r, quiet);
    plan next;
    edgeps_err err = plan_copy(&r->plan, &next);
    if (err)
        return err;
    plan_free(&t->plan);
    t->plan = next;
    for (size_t k = 0; k < r->move_count; k++)
        if (r->moves[k].from != r->moves[k].to) {
            t->epoch.moves++;
            t->epoch.moved_bytes += r->moves[k].bytes;
        }
    t->sum.changes++;
    t->epoch.move_s += taken_s;
    snprintf(t->reason, sizeof t->reason, "%s", r->reason);
    world_advance(&t->world, t->world.now_s + taken_s);
    return EDGEPS_OK;
}

static edgeps_err step(training *t, adapt_options *o, bool quiet)
{
    adapt_result r;
    o->algorithm = t->o->algorithm;
    o->seed = t->o->seed;
    o->hysteresis = t->o->hysteresis;
    o->effort = t->o->effort;
    edgeps_err err = adapt_step(t->p, &t->plan, o, t->diag, &r);
    if (err)
        return err;
    if (r.changed)
        err = take_plan(t, &r, quiet);
    else if (t->repairs)
        err = no_plan(t, r.reason);
    adapt_result_free(&r);
    return err;
}

/* Without its dead the job cannot go on as planned, whatever the policy. */
static adapt_mode mode_of(const training *t)
{
    return t->repairs && t->o->policy == ADAPT_OFF ? ADAPT_ADJUST : t->o->policy;
}

static double epochs_left(const training *t) { return (double)(t->o->epochs - t->epoch.epoch + 1); }

static edgeps_err decide(training *t)
{
    adapt_options o = {.mode = mode_of(t)};
    adapt_history_add(t->history, t->p);
    if (o.mode == ADAPT_OFF)
        return EDGEPS_OK;
    if (o.mode == ADAPT_ADJUST)
        adapt_history_advise(t->history, &t->plan, epochs_left(t), t->forecast, &o);
    return step(t, &o, true);
}

static edgeps_err repair(training *t)
{
    adapt_options o = {.mode = mode_of(t), .horizon_epochs = epochs_left(t)};
    double slowest_s = 0;
    edgeps_err err = look(t);
    if (!err)
        err = step(t, &o, false);
    if (!err)
        err = time_round(t);
    if (err)
        return err == EDGEPS_INFEASIBLE ? diag_wrap(t->diag, err, "after a loss") : err;
    for (size_t i = 0; i < t->p->count; i++)
        slowest_s = fmax(slowest_s, t->p->nodes[i].compute_s);
    double kept_s = fmin(t->partial_s, slowest_s);
    t->epoch.train_s -= t->partial_s - kept_s;
    t->epoch.wait_s += t->partial_s - kept_s;
    t->partial_s = kept_s;
    t->done = floor(t->done) + fmin(kept_s / t->round_s, 1);
    return EDGEPS_OK;
}

/* ---- epochs ---- */

static edgeps_err stand_still(training *t)
{
    return diag_fail(
        t->diag, EDGEPS_INFEASIBLE,
        "epoch %lld: after %.3f s the training stands still for good: a path or a node "
        "of its plan is gone, and no later event brings it back",
        (long long)t->epoch.epoch, t->world.now_s);
}

/* Goes on to the end of the epoch, or to the next thing that happens. */
static edgeps_err go_on(training *t)
{
    double left = (double)t->sum.rounds - t->done, from_s = t->world.now_s;
    double end_s = from_s + left * t->round_s;
    double until_s = fmin(end_s, world_next_s(&t->world));
    if (until_s == INFINITY)
        return stand_still(t);
    world_advance(&t->world, until_s);
    double spent_s = until_s - from_s;
    if (t->round_s == INFINITY) {
        t->epoch.wait_s += spent_s;
        return EDGEPS_OK;
    }
    double before = t->done;
    t->epoch.train_s += spent_s;
    t->done = until_s == end_s ? (double)t->sum.rounds : before + spent_s / t->round_s;
    bool same_round = floor(t->done) == floor(before);
    t->partial_s = same_round ? t->partial_s + spent_s : (t->done - floor(t->done)) * t->round_s;
    return EDGEPS_OK;
}

static edgeps_err train(training *t)
{
    edgeps_err err = EDGEPS_OK;
    t->done = t->partial_s = 0;
    while (!err && t->done < (double)t->sum.rounds - LEAST_LEFT) {
        err = time_round(t);
        if (!err)
            err = t->repairs ? repair(t) : go_on(t);
    }
    return err;
}

static edgeps_err lose(training *t)
{
    place_result placed;
    double round_s;
    edgeps_err err = from_scratch(t, &placed);
    if (err)
        return err;
    err = play(t, &placed.plan, &round_s);
    place_result_free(&placed);
    t->epoch.lost_s = LOST_EPOCH * (double)t->sum.rounds * round_s;
    t->sum.lost_epochs++;
    world_advance(&t->world, t->world.now_s + t->epoch.lost_s);
    return err;
}

static size_t count_lost(const training *t)
{
    size_t lost = 0;
    for (size_t i = 0; i < t->world.net->count; i++)
        lost += t->world.nodes[i].lost;
    return lost;
}

static void add_epoch(training *t)
{
    training_epoch *e = &t->epoch;
    training_result *s = &t->sum;
    s->train_s += e->train_s;
    s->move_s += e->move_s;
    s->wait_s += e->wait_s;
    s->lost_s += e->lost_s;
    s->moves += e->moves;
    s->moved_bytes += e->moved_bytes;
    s->losses += e->losses;
    e->plan = &t->plan;
    e->locals = plan_local_count(&t->plan);
    e->workers = 0;
    for (size_t i = 0; i < t->plan.count; i++)
        e->workers += t->plan.parent[i] != PLAN_NONE;
    e->reason = t->reason;
    if (t->o->observe)
        t->o->observe(t->o->context, e);
}

static edgeps_err run_epoch(training *t, int64_t epoch)
{
    t->epoch = (training_epoch){.epoch = epoch, .begin_s = t->world.now_s};
    t->reason[0] = '\0';
    world_set_epoch(&t->world, epoch);
    if (t->o->policy != ADAPT_OFF)
        world_take_back(&t->world);
    size_t lost = count_lost(t);
    edgeps_err err = look(t);
    if (err)
        return diag_wrap(t->diag, err, "epoch %lld", (long long)epoch);
    if (epoch == 1)
        err = place_first(t);
    someone_is_down(t);
    if (!err)
        err = decide(t);
    if (err)
        return err;
    bool fits = plan_check(&t->plan, t->p, NULL) == EDGEPS_OK;
    world_strike_epoch(&t->world, epoch);
    err = fits ? train(t) : lose(t);
    t->epoch.losses = count_lost(t) - lost;
    if (!err)
        add_epoch(t);
    return err;
}

edgeps_err training_run(const network *net, const job *j, const training_options *options,
                        edgeps_diag *diag, training_result *out)
{
    training t = {.o = options, .job = j, .diag = diag, .plan = {.global = PLAN_NONE}};
    edgeps_err err = world_make(net, options->silent_s, &t.world);
    t.forecast = mem_alloc(net->count, sizeof *t.forecast);
    if (!err)
        err = t.forecast ? adapt_history_make(net->count, &t.history) : EDGEPS_NOMEM;
    for (int64_t e = 1; !err && e <= options->epochs; e++)
        err = run_epoch(&t, e);
    if (err == EDGEPS_NOMEM)
        diag_fail(diag, err, "no memory to simulate a training of %zu nodes", net->count);
    if (!err) {
        *out = t.sum;
        out->total_s = t.world.now_s;
    }
    adapt_history_free(t.history);
    mem_free(t.forecast);
    plan_free(&t.plan);
    problem_free(t.p);
    world_free(&t.world);
    return err;
}
