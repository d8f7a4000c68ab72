#include "proto/coordinator.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define MOST_FAILED_MOVES 5
#define LEAST_PAUSE_NS (500 * INT64_C(1000000)) /* ticks come more often */
#define MOST_FULL_PLANS 5
#define COMMIT_PAUSE_NS (500 * INT64_C(1000000))

edgeps_err coordinator_make(const coordinator_options *options, coordinator *out)
{
    size_t n = options->node_count;
    coordinator c = {.options = *options, .epoch = options->start_epoch + 1};
    c.committed_round = options->start_epoch * options->rounds_per_epoch;
    c.present = mem_alloc(n, sizeof *c.present);
    c.joined = mem_alloc(n, sizeof *c.joined);
    c.waiting = mem_alloc(n, sizeof *c.waiting);
    c.newcomer = mem_alloc(n, sizeof *c.newcomer);
    c.ready = mem_alloc(n, sizeof *c.ready);
    c.done = mem_alloc(n, sizeof *c.done);
    c.heard_ns = mem_alloc(n, sizeof *c.heard_ns);
    c.suspected = mem_alloc(n, sizeof *c.suspected);
    edgeps_err err =
        options->in_force ? plan_copy(options->in_force, &c.plan) : plan_make(n, &c.plan);
    if (err || plan_make(n, &c.next) || !c.present || !c.joined || !c.waiting || !c.newcomer ||
        !c.ready || !c.done || !c.heard_ns || !c.suspected) {
        coordinator_free(&c);
        return EDGEPS_NOMEM;
    }
    if (options->in_force)
        c.epoch_begun = options->epoch_begun;
    else
        c.plan.generation = options->start_generation;
    c.options.in_force = NULL;
    *out = c;
    return EDGEPS_OK;
}

void coordinator_free(coordinator *c)
{
    mem_free(c->present);
    mem_free(c->joined);
    mem_free(c->waiting);
    mem_free(c->newcomer);
    mem_free(c->ready);
    mem_free(c->done);
    mem_free(c->heard_ns);
    mem_free(c->suspected);
    plan_free(&c->plan);
    plan_free(&c->next);
    *c = (coordinator){0};
}

static void add(coordinator_effects *effects, coordinator_effect effect)
{
    assert(effects->count < COORDINATOR_MOST_EFFECTS);
    effects->items[effects->count++] = effect;
}

static int64_t goal(const coordinator *c) { return c->epoch * c->options.rounds_per_epoch; }

static bool works(const coordinator *c, size_t i)
{
    return c->present[i] && c->plan.parent[i] != PLAN_NONE;
}

static bool all_workers(const coordinator *c, const bool *flag)
{
    for (size_t i = 0; i < c->options.node_count; i++)
        if (works(c, i) && !flag[i] && !(c->options.spare_suspects && c->suspected[i]))
            return false;
    return true;
}

static void end(coordinator *c, coordinator_effects *effects, coordinator_effect_kind kind,
                coordinator_why why)
{
    c->phase = COORDINATOR_ENDED;
    add(effects, (coordinator_effect){.kind = kind, .why = why, .round = c->committed_round});
}

static void want_plan(coordinator *c, coordinator_effects *effects, coordinator_why why)
{
    for (size_t i = 0; i < c->options.node_count; i++)
        if (c->present[i]) {
            c->phase = COORDINATOR_PLANNING;
            c->stale = false;
            add(effects, (coordinator_effect){.kind = COORDINATOR_WANT_PLAN, .why = why});
            return;
        }
    end(c, effects, COORDINATOR_FAIL, COORDINATOR_NOBODY_LEFT);
}

static void begin_epoch(coordinator *c, coordinator_effects *effects)
{
    c->phase = COORDINATOR_TRAINING;
    c->epoch_begun = true;
    memset(c->done, 0, c->options.node_count * sizeof *c->done);
    add(effects, (coordinator_effect){.kind = COORDINATOR_EPOCH_BEGUN, .index = (size_t)c->epoch});
    add(effects, (coordinator_effect){.kind = COORDINATOR_ALLOW, .round = goal(c)});
}

/* Goes on when all that the present phase waits for is there. */
static void advance(coordinator *c, coordinator_effects *effects)
{
    if (c->phase == COORDINATOR_STARTING && all_workers(c, c->ready))
        begin_epoch(c, effects);
    if (c->phase == COORDINATOR_TRAINING && c->committed_round >= goal(c) &&
        all_workers(c, c->done)) {
        c->phase = COORDINATOR_SAVING;
        add(effects, (coordinator_effect){
                         .kind = COORDINATOR_SAVE, .round = goal(c), .index = (size_t)c->epoch});
    }
}

/* Whether training goes on by the plan in force until the next one is committed. */
static bool goes_on(const coordinator *c)
{
    bool whole = c->plan.global != PLAN_NONE && !c->restored && !c->releases;
    for (size_t i = 0; whole && i < c->options.node_count; i++)
        whole = c->present[i] || !plan_has_role(&c->plan, i);
    return whole;
}

/* Nodes that came back count as present once the plan in force does not mean their old process. */
static bool take_in(coordinator *c)
{
    bool any = false;
    for (size_t i = 0; i < c->options.node_count; i++) {
        if (!c->waiting[i] || plan_has_role(&c->plan, i))
            continue;
        c->waiting[i] = false;
        c->present[i] = c->newcomer[i] = any = true;
    }
    return any;
}

/* No plan has room for those who came back: the job goes on without them. */
static bool send_away(coordinator *c)
{
    bool any = false;
    for (size_t i = 0; i < c->options.node_count; i++) {
        any |= c->newcomer[i] && c->present[i];
        c->present[i] &= !c->newcomer[i];
        c->newcomer[i] = false;
    }
    return any;
}

/* Between the coordinator's requests. */
static void welcome_back(coordinator *c, coordinator_effects *effects)
{
    if ((c->phase == COORDINATOR_STARTING || c->phase == COORDINATOR_TRAINING) && take_in(c))
        want_plan(c, effects, COORDINATOR_RETURN);
}

/* Those who are here go on; whatever the coordinator before had begun and not committed begins
 * anew. */
static void take_over(coordinator *c, coordinator_effects *effects)
{
    bool gone = false;
    for (size_t i = 0; i < c->options.node_count; i++)
        gone |= plan_has_role(&c->plan, i) && !c->present[i];
    add(effects,
        (coordinator_effect){.kind = COORDINATOR_ANNOUNCE, .generation = c->plan.generation});
    if (!c->epoch_begun || gone || c->moved) {
        want_plan(c, effects, gone || c->moved ? COORDINATOR_REPAIR : COORDINATOR_NEXT_EPOCH);
        return;
    }
    c->phase = COORDINATOR_TRAINING;
    add(effects, (coordinator_effect){.kind = COORDINATOR_ALLOW, .round = goal(c)});
    advance(c, effects);
    welcome_back(c, effects);
}

/* Goes on from gathering when all have come whom the coordinator waits for. */
static void gathered(coordinator *c, coordinator_effects *effects)
{
    bool follows = c->plan.global != PLAN_NONE;
    for (size_t i = 0; i < c->options.node_count; i++)
        if (!c->joined[i] && (!follows || plan_has_role(&c->plan, i)))
            return;
    if (c->epoch > c->options.epochs)
        end(c, effects, COORDINATOR_FINISH, COORDINATOR_NEXT_EPOCH);
    else if (follows)
        take_over(c, effects);
    else
        want_plan(c, effects, COORDINATOR_FIRST);
}

static void joined(coordinator *c, const coordinator_event *event, coordinator_effects *effects)
{
    size_t node = (size_t)event->node;
    if (c->phase != COORDINATOR_GATHERING) {
        c->waiting[node] = !c->present[node];
        welcome_back(c, effects);
        return;
    }
    bool stands_in = c->plan.global != PLAN_NONE && !event->kept && plan_has_role(&c->plan, node);
    c->waiting[node] = stands_in;
    c->present[node] = !stands_in;
    c->joined[node] = true;
    c->moved |= event->unsettled;
    gathered(c, effects);
}

static void lost(coordinator *c, const coordinator_event *event, coordinator_effects *effects)
{
    size_t node = (size_t)event->node;
    c->waiting[node] = c->newcomer[node] = c->suspected[node] = false;
    switch (c->phase) {
    case COORDINATOR_ENDED:
        return;
    case COORDINATOR_GATHERING:
        c->present[node] = false;
        c->joined[node] = true;
        gathered(c, effects);
        return;
    case COORDINATOR_PLANNING:
    case COORDINATOR_COMMITTING:
    case COORDINATOR_SAVING:
        c->stale |= c->present[node];
        c->present[node] = false;
        return;
    case COORDINATOR_MOVING:
    case COORDINATOR_STARTING:
    case COORDINATOR_TRAINING:
        if (c->present[node]) {
            c->present[node] = false;
            if (c->phase == COORDINATOR_MOVING)
                add(effects, (coordinator_effect){.kind = COORDINATOR_ABANDON});
            want_plan(c, effects, COORDINATOR_REPAIR);
        }
        return;
    }
}

/* While this process stood still it could hear nobody: that is not the nodes' silence. */
static void forgive_own_pause(coordinator *c, int64_t now_ns)
{
    int64_t limit_ns = c->options.silent_after_ns / 2, pause_ns = now_ns - c->ticked_ns;
    if (limit_ns < LEAST_PAUSE_NS)
        limit_ns = LEAST_PAUSE_NS;
    for (size_t i = 0; c->ticked_ns && pause_ns > limit_ns && i < c->options.node_count; i++)
        c->heard_ns[i] += pause_ns;
    c->ticked_ns = now_ns;
}

static void heard(coordinator *c, const coordinator_event *event, coordinator_effects *effects)
{
    c->heard_ns[event->node] = event->now_ns;
    if (c->suspected[event->node])
        add(effects, (coordinator_effect){.kind = COORDINATOR_CLEAR, .node = event->node});
    c->suspected[event->node] = false;
}

static void suspect(coordinator *c, size_t node, int64_t unheard_ns, coordinator_effects *effects)
{
    int64_t after_ns = c->options.suspect_after_ns;
    if (after_ns == 0 || unheard_ns < after_ns || c->suspected[node])
        return;
    c->suspected[node] = true;
    add(effects, (coordinator_effect){.kind = COORDINATOR_SUSPECT, .node = (int32_t)node});
    advance(c, effects);
}

/* Whoever was lost meanwhile has no role in the plan that is recorded. */
static void commit_again(coordinator *c, int64_t now_ns, coordinator_effects *effects)
{
    if (c->phase != COORDINATOR_COMMITTING || c->commit_again_ns == 0 ||
        now_ns < c->commit_again_ns)
        return;
    c->commit_again_ns = 0;
    if (c->stale)
        want_plan(c, effects, COORDINATOR_REPAIR);
    else
        add(effects,
            (coordinator_effect){.kind = COORDINATOR_COMMIT, .generation = c->next.generation});
}

static void tick(coordinator *c, const coordinator_event *event, coordinator_effects *effects)
{
    forgive_own_pause(c, event->now_ns);
    commit_again(c, event->now_ns, effects);
    if (c->options.silent_after_ns == 0 || c->phase == COORDINATOR_GATHERING ||
        c->phase == COORDINATOR_ENDED)
        return;
    /* A step has room for a few dozen effects; who is left over is found at the next tick. */
    size_t most = COORDINATOR_MOST_EFFECTS / 4;
    for (size_t i = 0; i < c->options.node_count && effects->count < most; i++) {
        int64_t unheard_ns = event->now_ns - c->heard_ns[i];
        if (!c->present[i])
            continue;
        if (unheard_ns < c->options.silent_after_ns) {
            suspect(c, i, unheard_ns, effects);
            continue;
        }
        add(effects, (coordinator_effect){.kind = COORDINATOR_EXPEL, .node = (int32_t)i});
        lost(c, &(coordinator_event){.kind = COORDINATOR_LOST, .node = (int32_t)i}, effects);
    }
}

/* The plan was made with more room than there is: it is made anew, and announced anew even if it is
 * the same. */
static void full(coordinator *c, coordinator_effects *effects)
{
    c->moved = c->stale = true;
    if (c->phase != COORDINATOR_STARTING && c->phase != COORDINATOR_TRAINING)
        return;
    if (++c->full_plans >= MOST_FULL_PLANS)
        end(c, effects, COORDINATOR_FAIL, COORDINATOR_CANNOT_MOVE);
    else
        want_plan(c, effects, COORDINATOR_REPAIR);
}

/* With the moves that lead to the next plan still to come, an epoch begins under the present one.
 */
static void move_on(coordinator *c, coordinator_effects *effects)
{
    if (c->next_move < c->move_count && !c->epoch_begun && goes_on(c) && all_workers(c, c->ready))
        begin_epoch(c, effects);
    if (c->next_move < c->move_count) {
        c->phase = COORDINATOR_MOVING;
        c->moved = true;
        add(effects, (coordinator_effect){.kind = COORDINATOR_MOVE, .index = c->next_move++});
        return;
    }
    c->phase = COORDINATOR_COMMITTING;
    add(effects,
        (coordinator_effect){.kind = COORDINATOR_COMMIT, .generation = c->next.generation});
}

static void keep_plan(coordinator *c, coordinator_effects *effects)
{
    c->phase = c->epoch_begun ? COORDINATOR_TRAINING : COORDINATOR_STARTING;
    memset(c->newcomer, 0, c->options.node_count * sizeof *c->newcomer);
    advance(c, effects);
    welcome_back(c, effects);
}

static edgeps_err planned(coordinator *c, const coordinator_event *event,
                          coordinator_effects *effects)
{
    if (c->phase != COORDINATOR_PLANNING)
        return EDGEPS_OK;
    if (c->stale) {
        want_plan(c, effects, COORDINATOR_REPAIR);
        return EDGEPS_OK;
    }
    bool same = event->plan->generation == c->plan.generation;
    if (same && !c->moved) {
        keep_plan(c, effects);
        return EDGEPS_OK;
    }
    plan copy;
    edgeps_err err = plan_copy(event->plan, &copy);
    if (err)
        return err;
    copy.generation += same; /* announced anew, so that frozen servers go on */
    plan_free(&c->next);
    c->next = copy;
    c->move_count = event->move_count;
    c->next_move = 0;
    c->restored = event->restored;
    c->releases = event->releases;
    move_on(c, effects);
    return EDGEPS_OK;
}

/* The plan in force is announced anew, so that who made room for the other one gives it back. */
static edgeps_err stay(coordinator *c, coordinator_effects *effects)
{
    plan same;
    edgeps_err err = plan_copy(&c->plan, &same);
    if (err)
        return err;
    same.generation++;
    plan_free(&c->next);
    c->next = same;
    c->failed_moves = 0;
    c->phase = COORDINATOR_COMMITTING;
    add(effects, (coordinator_effect){.kind = COORDINATOR_COMMIT,
                                      .why = COORDINATOR_CANNOT_MOVE,
                                      .generation = same.generation});
    return EDGEPS_OK;
}

static edgeps_err moved(coordinator *c, const coordinator_event *event,
                        coordinator_effects *effects)
{
    if (c->phase != COORDINATOR_MOVING)
        return EDGEPS_OK;
    c->failed_moves += !event->ok; /* since the last commit: what comes before may always succeed */
    if (event->ok && !c->stale)
        move_on(c, effects);
    else if (c->failed_moves < MOST_FAILED_MOVES)
        want_plan(c, effects, COORDINATOR_REPAIR);
    else if (goes_on(c))
        return stay(c, effects);
    else
        end(c, effects, COORDINATOR_FAIL, COORDINATOR_CANNOT_MOVE);
    return EDGEPS_OK;
}

static void committed(coordinator *c, coordinator_effects *effects)
{
    if (c->phase != COORDINATOR_COMMITTING)
        return;
    plan in_force = c->next;
    c->next = c->plan;
    c->plan = in_force;
    memset(c->ready, 0, c->options.node_count * sizeof *c->ready);
    c->moved = false;
    c->failed_moves = 0;
    /* The last epoch's end is sure; what of this epoch somebody alive still holds, the successor
     * of the lost global server will tell. */
    if (c->restored)
        c->committed_round = goal(c) - c->options.rounds_per_epoch;
    add(effects,
        (coordinator_effect){.kind = COORDINATOR_ANNOUNCE, .generation = c->plan.generation});
    if (c->stale) {
        want_plan(c, effects, COORDINATOR_REPAIR);
        return;
    }
    c->phase = COORDINATOR_STARTING;
    if (c->epoch_begun) {
        c->phase = COORDINATOR_TRAINING;
        add(effects, (coordinator_effect){.kind = COORDINATOR_ALLOW, .round = goal(c)});
    }
    memset(c->newcomer, 0, c->options.node_count * sizeof *c->newcomer);
    advance(c, effects);
    welcome_back(c, effects);
}

/* All is as if nothing had been moved: sources that stand still go on when they hear their own
 * generation. The end of the epoch brings another plan. */
static void unrecorded(coordinator *c, const coordinator_event *event, coordinator_effects *effects)
{
    if (c->phase != COORDINATOR_COMMITTING)
        return;
    if (!goes_on(c) || c->full_plans > 0) {
        c->commit_again_ns = event->now_ns + COMMIT_PAUSE_NS;
        return;
    }
    c->moved = false;
    c->failed_moves = 0;
    add(effects,
        (coordinator_effect){.kind = COORDINATOR_ANNOUNCE, .generation = c->plan.generation});
    keep_plan(c, effects);
}

static void saved(coordinator *c, const coordinator_event *event, coordinator_effects *effects)
{
    if (c->phase != COORDINATOR_SAVING)
        return;
    if (!event->ok) {
        if (c->stale)
            want_plan(c, effects, COORDINATOR_REPAIR);
        else
            end(c, effects, COORDINATOR_FAIL, COORDINATOR_CANNOT_SAVE);
        return;
    }
    add(effects, (coordinator_effect){.kind = COORDINATOR_EPOCH_ENDED, .index = (size_t)c->epoch});
    c->epoch_begun = false;
    if (c->epoch == c->options.epochs) {
        end(c, effects, COORDINATOR_FINISH, COORDINATOR_NEXT_EPOCH);
        return;
    }
    c->epoch++;
    take_in(c);
    want_plan(c, effects, c->stale ? COORDINATOR_REPAIR : COORDINATOR_NEXT_EPOCH);
}

edgeps_err coordinator_step(coordinator *c, const coordinator_event *event,
                            coordinator_effects *effects)
{
    bool of_node = event->kind == COORDINATOR_JOINED || event->kind == COORDINATOR_LOST ||
                   event->kind == COORDINATOR_HEARD || event->kind == COORDINATOR_READY ||
                   event->kind == COORDINATOR_FULL || event->kind == COORDINATOR_DONE;
    if (of_node && (event->node < 0 || (size_t)event->node >= c->options.node_count))
        return EDGEPS_OK;
    switch (event->kind) {
    case COORDINATOR_JOINED:
        c->heard_ns[event->node] = event->now_ns;
        joined(c, event, effects);
        return EDGEPS_OK;
    case COORDINATOR_LOST:
        lost(c, event, effects);
        return EDGEPS_OK;
    case COORDINATOR_HEARD:
        heard(c, event, effects);
        return EDGEPS_OK;
    case COORDINATOR_TICK:
        tick(c, event, effects);
        return EDGEPS_OK;
    case COORDINATOR_PLANNED:
        return planned(c, event, effects);
    case COORDINATOR_NO_PLAN:
        if (c->phase != COORDINATOR_PLANNING)
            return EDGEPS_OK;
        if (send_away(c) || c->stale)
            want_plan(c, effects, COORDINATOR_REPAIR);
        else
            end(c, effects, COORDINATOR_FAIL, COORDINATOR_IMPOSSIBLE);
        return EDGEPS_OK;
    case COORDINATOR_MOVED:
        return moved(c, event, effects);
    case COORDINATOR_COMMITTED:
        committed(c, effects);
        return EDGEPS_OK;
    case COORDINATOR_UNRECORDED:
        unrecorded(c, event, effects);
        return EDGEPS_OK;
    case COORDINATOR_READY:
        c->ready[event->node] |= event->generation == c->plan.generation;
        advance(c, effects);
        return EDGEPS_OK;
    case COORDINATOR_FULL:
        full(c, effects);
        return EDGEPS_OK;
    case COORDINATOR_ROUND:
        if (event->generation == c->plan.generation && event->round > c->committed_round) {
            c->committed_round = event->round;
            c->full_plans = 0;
        }
        advance(c, effects);
        return EDGEPS_OK;
    case COORDINATOR_DONE:
        c->done[event->node] |= c->epoch_begun && event->round >= goal(c);
        advance(c, effects);
        return EDGEPS_OK;
    case COORDINATOR_SAVED:
        saved(c, event, effects);
        return EDGEPS_OK;
    }
    return EDGEPS_OK;
}
