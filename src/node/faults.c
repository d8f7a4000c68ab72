/* Nodes that are dead, silent, slow or full, as the coordinator's process sees them: what the
 * events tell of them, and how long rounds stood still. */
#include "node/host_int.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"

#define SLOW_TIMES_MEDIAN 3

/* From `since_ns` on rounds may stand still. */
static void hurt(host *h, int32_t node, const char *fault, int64_t since_ns)
{
    h->health[node].fault = fault;
    h->health[node].since_ns = since_ns;
    h->health[node].generation = h->coordinator.plan.generation;
}

void faults_suspect(host *h, int32_t node)
{
    record_event(h, (meter_event){.kind = METER_SUSPECT,
                                  .epoch = h->now_epoch,
                                  .node = host_name(h, node),
                                  .seconds = clock_since_s(h->coordinator.heard_ns[node])});
    replan_check_measured(h); /* with a quorum nobody waits for it */
}

void faults_clear(host *h, int32_t node)
{
    record_event(
        h, (meter_event){.kind = METER_CLEARED, .epoch = h->now_epoch, .node = host_name(h, node)});
}

static void record_lost(host *h, int32_t node, const char *fault, const char *why)
{
    char text[300];
    snprintf(text, sizeof text, "%s: %s", fault, why);
    record_event(h, (meter_event){.kind = METER_LOST,
                                  .epoch = h->now_epoch,
                                  .node = host_name(h, node),
                                  .fault = fault,
                                  .text = text});
    transfer_lost(h, (size_t)node);
    replan_check_measured(h);
}

/* Its process is left to itself: should it go on, every server refuses its generation, and so does
 * the coordinator, which ends it. */
void faults_expel(host *h, int32_t node)
{
    member *m = h->of_node[node];
    char why[64];
    snprintf(why, sizeof why, "not heard for %.1f s", h->options->silent_s);
    h->of_node[node] = NULL;
    h->given_up[node] = true;
    if (m) {
        m->node = -1;
        conn_close(m->conn);
    }
    hurt(h, node, meter_faults[METER_SILENT], h->coordinator.heard_ns[node]);
    record_lost(h, node, meter_faults[METER_SILENT], why);
}

void faults_lost(host *h, int32_t node, const char *why)
{
    bool known = h->coordinator.present[node];
    bool suspected = h->coordinator.suspected[node];
    const char *fault = meter_faults[suspected ? METER_SILENT : METER_DEAD];
    hurt(h, node, fault, suspected ? h->coordinator.heard_ns[node] : clock_now_ns());
    h->of_node[node] = NULL;
    h->given_up[node] = true;
    drive_post(h, (coordinator_event){.kind = COORDINATOR_LOST, .node = node});
    if (known)
        record_lost(h, node, fault, why);
}

/* That an agent may have been asked to make room for: the one on its way, if there is one. */
static const plan *newest_plan(const coordinator *c)
{
    return c->next.generation > c->plan.generation ? &c->next : &c->plan;
}

bool faults_trouble(host *h, const member *m, const void *payload, uint64_t bytes)
{
    message_trouble t;
    if (!message_get_trouble(payload, bytes, &t))
        return false;
    if (h->coordinator.phase == COORDINATOR_GATHERING) {
        host_fail(h, diag_fail(h->diag, (edgeps_err)t.code, "%s", t.text));
        return true;
    }
    if (t.code != EDGEPS_FULL) {
        log_line(LOG_WARNING, "node %s cannot go on: %s", host_name(h, m->node), t.text);
        return false;
    }
    hurt(h, (int32_t)m->node, meter_faults[METER_FULL], clock_now_ns());
    h->health[m->node].room_bytes =
        plan_need_bytes(newest_plan(&h->coordinator), &h->options->job, (size_t)m->node);
    record_event(h, (meter_event){.kind = METER_FAULT,
                                  .epoch = h->now_epoch,
                                  .node = host_name(h, m->node),
                                  .fault = meter_faults[METER_FULL],
                                  .text = t.text});
    drive_post(h, (coordinator_event){.kind = COORDINATOR_FULL, .node = (int32_t)m->node});
    return true;
}

bool faults_late(host *h, const wire_header *header, const void *payload)
{
    message_late m;
    if (!message_get_late(payload, header->length, &m) || m.node >= h->net->count ||
        header->round < 1)
        return false;
    record_event(h, (meter_event){.kind = METER_LATE,
                                  .epoch = (header->round - 1) / h->rounds + 1,
                                  .round = (header->round - 1) % h->rounds + 1,
                                  .node = host_name(h, m.node),
                                  .text = m.role == MESSAGE_LOCAL
                                              ? "its gradient came after the sum"
                                              : "the sum of its workers came after the sum"});
    return true;
}

/* A round of the plan in force heals all that came before this plan, and what it does without. */
void faults_round(host *h, const wire_header *header)
{
    const plan *pl = &h->coordinator.plan;
    if (header->round <= h->newest_round) /* a server that begins tells where it begins */
        return;
    h->newest_round = header->round;
    if (header->generation != pl->generation)
        return;
    for (size_t i = 0; i < h->net->count; i++) {
        health *of = &h->health[i];
        if (!of->fault || (of->generation == pl->generation && plan_has_role(pl, i)))
            continue;
        record_event(h, (meter_event){.kind = METER_RECOVERED,
                                      .epoch = h->now_epoch,
                                      .round = (header->round - 1) % h->rounds + 1,
                                      .node = host_name(h, (int64_t)i),
                                      .fault = of->fault,
                                      .seconds = clock_since_s(of->since_ns)});
        of->fault = NULL;
    }
}

static void judge_speed(host *h, size_t node, double median_s)
{
    health *of = &h->health[node];
    bool was_slow = of->slow;
    char text[128];
    of->slow = of->worked_s > SLOW_TIMES_MEDIAN * median_s;
    if (!of->slow || was_slow)
        return;
    snprintf(text, sizeof text,
             "%.3g s of computing and pushing in the epoch, %.1f times the median", of->worked_s,
             of->worked_s / median_s);
    record_event(h, (meter_event){.kind = METER_FAULT,
                                  .epoch = h->now_epoch,
                                  .node = host_name(h, (int64_t)node),
                                  .fault = meter_faults[METER_SLOW],
                                  .text = text});
}

/* Each straggler once, until it is in time again. */
void faults_epoch(host *h)
{
    size_t count = 0;
    double *sorted = mem_alloc(h->net->count, sizeof *sorted);
    for (size_t i = 0; sorted && i < h->net->count; i++)
        if (h->health[i].worked_s > 0)
            sorted[count++] = h->health[i].worked_s;
    if (count > 2) { /* of two nobody can say which is the slow one */
        stats_sort(sorted, count);
        double median_s = stats_quantile(sorted, count, 0.5);
        for (size_t i = 0; i < h->net->count; i++)
            judge_speed(h, i, median_s);
    }
    for (size_t i = 0; i < h->net->count; i++) {
        h->health[i].worked_s = 0;
        h->health[i].room_bytes = 0;
    }
    mem_free(sorted);
}
