#include "node/host_int.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

#define FINISH_AGAIN_NS CLOCK_NS_PER_S
#define QUEUE_ROOM (sizeof((host *)0)->queue / sizeof(coordinator_event))

static void enqueue(host *h, coordinator_event event)
{
    event.now_ns = clock_now_ns();
    if (h->queue_count == QUEUE_ROOM)
        host_fail(h, diag_fail(h->diag, EDGEPS_INTERNAL, "too many events at once"));
    else
        h->queue[(h->queue_head + h->queue_count++) % QUEUE_ROOM] = event;
}

/* The local server with the most storage left keeps the optimizer's state in reserve, away from the
 * global server; a node that lacks the room leaves it. */
static int32_t choose_standby(const host *h, const plan *pl)
{
    int32_t best = PLAN_NONE;
    int64_t best_bytes = JOB_OPTIMIZER_SLOTS * job_parameter_bytes(&h->options->job);
    for (size_t j = 0; j < pl->count; j++) {
        if (!h->of_node[j] || pl->global == (int32_t)j || !plan_is_local(pl, j))
            continue;
        int64_t left = h->of_node[j]->last.free_bytes - plan_need_bytes(pl, &h->options->job, j);
        if (left >= best_bytes) {
            best = (int32_t)j;
            best_bytes = left;
        }
    }
    return best;
}

static void announce(host *h)
{
    size_t n = h->net->count;
    message_plan m = {.plan = h->coordinator.plan, .standby = h->standby};
    m.port = mem_alloc(n, sizeof *m.port);
    if (!m.port) {
        host_fail(h, diag_fail(h->diag, EDGEPS_NOMEM, "no memory for a plan"));
        return;
    }
    for (size_t i = 0; i < n; i++)
        m.port[i] = h->of_node[i] ? h->of_node[i]->last.port : 0;
    for (size_t i = 0; i < n; i++) {
        wire_writer w = {0};
        message_put_plan(&w, &m);
        host_send(h, i, MESSAGE_PLAN, m.plan.generation, 0, &w);
    }
    mem_free(m.port);
    takeover_done(h);
}

/* The plan that goes on was not planned anew. */
static void say_that_all_stay(host *h)
{
    planning *p = &h->planning;
    p->round_s = h->predicted_round_s;
    p->bound_s = 0;
    snprintf(p->reason, sizeof p->reason,
             "all servers stay, as their state cannot be moved: %.200s", p->cause);
}

static void commit(host *h, coordinator_why why)
{
    if (why == COORDINATOR_CANNOT_MOVE)
        say_that_all_stay(h);
    int32_t standby = choose_standby(h, &h->coordinator.next);
    edgeps_err err = record_plan(h, &h->coordinator.next, standby);
    if (record_can_wait(err) && h->coordinator.plan.global != PLAN_NONE) {
        record_warning(h, &h->unrecorded, "a new plan cannot be recorded, so it is not in force");
        enqueue(h, (coordinator_event){.kind = COORDINATOR_UNRECORDED});
        return;
    }
    if (err) {
        host_fail(h, err);
        return;
    }
    h->unrecorded = false;
    h->standby = standby;
    h->homeless = false;
    memset(h->released, 0, h->net->count * sizeof *h->released);
    h->predicted_round_s = h->planning.round_s;
    enqueue(h, (coordinator_event){.kind = COORDINATOR_COMMITTED});
}

static void begin_epoch(host *h, int64_t epoch)
{
    double move_s = h->tally.move_s;
    h->now_epoch = epoch;
    h->tally = (tally){.begun_ns = clock_now_ns(), .move_s = move_s};
    takeover_note_time(h, "epoch", epoch);
    scenario_strike(h, (int)epoch);
}

static void save(host *h, int64_t round)
{
    h->tally.measured_s = clock_since_s(h->tally.begun_ns);
    transfer_save(h, round);
}

/* All that was trained is here alone: what has no room waits for it. */
static void finish(void *ctx)
{
    host *h = ctx;
    if (h->ended)
        return;
    edgeps_err err = record_model(h);
    bool waits = err == EDGEPS_FULL;
    if (waits)
        record_warning(h, &h->unwritten, "the job is done and waits for room");
    if (waits && loop_timer_start(h->loop, FINISH_AGAIN_NS, finish, h, NULL))
        err = diag_fail(h->diag, EDGEPS_NOMEM, "no memory for a timer");
    else if (waits)
        return;
    if (err)
        host_fail(h, err);
    else
        host_end(h);
}

static void fail(host *h, coordinator_why why)
{
    if (why == COORDINATOR_IMPOSSIBLE)
        host_fail(h, diag_fail(h->diag, EDGEPS_INFEASIBLE, "no plan keeps all constraints: %s",
                               h->planning.reason));
    else if (why == COORDINATOR_NOBODY_LEFT)
        host_fail(h, diag_fail(h->diag, EDGEPS_IO, "no node is left"));
    else if (why == COORDINATOR_CANNOT_MOVE)
        host_fail(h, diag_fail(h->diag, EDGEPS_IO, "the servers' state cannot be moved"));
    else
        host_fail(h, diag_fail(h->diag, EDGEPS_IO, "the checkpoint of the epoch is lost"));
}

static void carry_out(host *h, const coordinator_effect *effect)
{
    switch (effect->kind) {
    case COORDINATOR_WANT_PLAN:
        replan_want(h, effect->why);
        break;
    case COORDINATOR_MOVE:
        transfer_move(h, effect->index);
        break;
    case COORDINATOR_ABANDON:
        transfer_abandon(h);
        break;
    case COORDINATOR_COMMIT:
        commit(h, effect->why);
        break;
    case COORDINATOR_ANNOUNCE:
        announce(h);
        break;
    case COORDINATOR_ALLOW:
        host_send_all(h, MESSAGE_ALLOW, effect->round);
        break;
    case COORDINATOR_EPOCH_BEGUN:
        begin_epoch(h, (int64_t)effect->index);
        break;
    case COORDINATOR_EPOCH_ENDED:
        record_epoch(h, (int64_t)effect->index);
        faults_epoch(h);
        break;
    case COORDINATOR_SAVE:
        save(h, effect->round);
        break;
    case COORDINATOR_SUSPECT:
        faults_suspect(h, effect->node);
        break;
    case COORDINATOR_CLEAR:
        faults_clear(h, effect->node);
        break;
    case COORDINATOR_EXPEL:
        faults_expel(h, effect->node);
        break;
    case COORDINATOR_FINISH:
        finish(h);
        break;
    case COORDINATOR_FAIL:
        fail(h, effect->why);
        break;
    }
}

void drive_post(host *h, coordinator_event event)
{
    if (!h->ended)
        enqueue(h, event);
    if (h->stepping)
        return; /* the step under way goes on with it */
    h->stepping = true;
    while (h->queue_count && !h->ended) {
        coordinator_event next = h->queue[h->queue_head];
        h->queue_head = (h->queue_head + 1) % QUEUE_ROOM;
        h->queue_count--;
        coordinator_effects effects = {.count = 0};
        if (coordinator_step(&h->coordinator, &next, &effects))
            host_fail(h, diag_fail(h->diag, EDGEPS_NOMEM, "no memory for a plan"));
        for (size_t k = 0; k < effects.count && !h->ended; k++)
            carry_out(h, &effects.items[k]);
    }
    h->stepping = false;
}

/* On a connection that carries nothing else; of a process that was given up it says nothing. */
bool drive_heard(host *h, member *m, const wire_header *header)
{
    uint32_t node = header->sender;
    bool good = node < h->net->count && header->job == h->stamp.job &&
                header->incarnation == h->incarnation[node] && !h->given_up[node] &&
                frame_speaks_for(m->conn, h->names[node]);
    m->pulse |= good;
    if (good)
        drive_post(h, (coordinator_event){.kind = COORDINATOR_HEARD, .node = (int32_t)node});
    return good;
}
